"""`hyperlabel suggest`: which items to label by hand next."""

from typing import Annotated

from hyperlabel.cli.options import Manner, ModelOptions, Option, TableOptions, VotesName
from hyperlabel.errors import ParameterError

NUMBER_HELP = "How many items."


def suggest(
    votes: VotesName,
    *,
    number: Annotated[int, Option("--number", "-n", metavar="NUMBER", help=NUMBER_HELP)] = 20,
    modeling: ModelOptions,
    reading: TableOptions,
    manner: Manner,
) -> None:
    """Print the items of VOTES whose gold labels would help most.

    A csv, most helpful first: the identifier of each item, or its row starting at 0, and its votes. Items that have
    --gold are left out. Label them, add them to the gold, and ask again.

    Example: hyperlabel suggest votes.csv -n 50 --gold gold.csv > next.csv
    """
    from hyperlabel.cli.models import read_options
    from hyperlabel.cli.tables import name_items, open_labeled
    from hyperlabel.cli.terminal import say_warnings
    from hyperlabel.tables import write_table

    model, selection, _ = read_options(modeling, reading)
    if number < 1:
        raise ParameterError(f"--number is {number}; expected at least 1")
    with say_warnings(strict=manner.strict) as said:
        source, known = open_labeled(votes, selection, {"gold": modeling.gold})
        if not model.is_fitted:
            model.fit(source.votes, known["gold"])
        suggested = model.suggest(source.votes, number, known["gold"]).tolist()
        items = range(source.votes.n_items) if source.votes.items is None else source.votes.items.tolist()
        place = {item: row for row, item in enumerate(items)}
        places = [place[item] for item in suggested]
        votes_of = source.votes[places].to_polars()[list(source.votes.lf_names)]
        rows = votes_of.insert_column(0, name_items(source, places))
        said.lines.append(source.taken.describe())
        said.settle()
        write_table(rows, "-")
