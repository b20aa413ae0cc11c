"""`hyperlabel suggest`: which items to label by hand next."""

from typing import Annotated

from hyperlabel.cli.options import Manner, ModelOptions, Option, TableOptions, VotesName

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
    from hyperlabel.cli.models import state_model
    from hyperlabel.cli.suggestions import suggest_rows
    from hyperlabel.cli.tables import Selection
    from hyperlabel.cli.terminal import say_warnings
    from hyperlabel.tables import write_table

    selection = Selection.parse(reading)
    estimator = state_model(modeling, selection.classes)
    with say_warnings(strict=manner.strict) as said:
        source, rows = suggest_rows(votes, selection.of_model(estimator), estimator, modeling.gold, number)
        said.lines.append(source.taken.describe())
        said.settle()
        write_table(rows, "-")
