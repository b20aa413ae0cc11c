"""`hyperlabel suggest`: which items to label by hand next."""

from typing import Annotated

from hyperlabel.cli._options import ModelOptions, Option, OutputOptions, TableOptions, VotesName
from hyperlabel.errors import ParameterError

NUMBER_HELP = "How many items."


def suggest(
    votes: VotesName,
    *,
    number: Annotated[int, Option("--number", "-n", metavar="NUMBER", help=NUMBER_HELP)] = 20,
    modeling: ModelOptions,
    reading: TableOptions,
    output: OutputOptions,
) -> None:
    """Print the items of VOTES whose gold labels would help most.

    A csv, most helpful first: the identifier of each item, or its row starting at 0, and its votes. Items that have
    --gold are left out. Label them, add them to the gold, and ask again.

    Example: hyperlabel suggest votes.csv -n 50 --gold gold.csv > next.csv
    """
    from hyperlabel.cli._inputs import open_inputs
    from hyperlabel.data import write_table

    if number < 1:
        raise ParameterError(f"--number is {number}; expected at least 1")
    with open_inputs(votes, modeling, reading, output, gold=modeling.gold) as inputs:
        model, source, gold = inputs.model, inputs.source, inputs.labels["gold"]
        if not model.is_fitted:
            model.fit(source.votes, gold)
        suggested = model.suggest(source.votes, number, gold).tolist()
        items = range(source.votes.n_items) if source.votes.items is None else source.votes.items.tolist()
        row_of = {item: row for row, item in enumerate(items)}
        rows = [row_of[item] for item in suggested]
        cast = source.votes[rows].to_polars()[list(source.votes.lf_names)]
        inputs.messages.raise_if_strict()
        write_table(cast.insert_column(0, source.name_items(rows)), "-")
