"""`hyperlabel audit`: which items to label by hand to judge the labels."""

from typing import Annotated

from hyperlabel.cli.options import Manner, ModelOptions, Option, StrataNumber, TableOptions, VotesName

NUMBER_HELP = "How many items."
SEED_HELP = "Another seed draws other items."


def audit(
    votes: VotesName,
    *,
    number: Annotated[int, Option("--number", "-n", metavar="NUMBER", help=NUMBER_HELP)] = 200,
    strata: StrataNumber = 1,
    seed: Annotated[int, Option(metavar="NUMBER", help=SEED_HELP)] = 0,
    modeling: ModelOptions,
    reading: TableOptions,
    manner: Manner,
) -> None:
    """Draw random items of VOTES to label by hand.

    Give them to `hyperlabel certify` when they have gold. A csv in random order: the identifier of each item, or its
    row starting at 0, and the columns that are not votes. Items that have --gold are not drawn. These items judge
    labels: no model may learn from them. For items that teach, see `hyperlabel suggest`.

    Example: hyperlabel audit votes.csv -n 200 > audit.csv
    """
    from hyperlabel.cli.auditing import draw_rows
    from hyperlabel.cli.models import state_model
    from hyperlabel.cli.tables import Selection
    from hyperlabel.cli.terminal import say_warnings
    from hyperlabel.tables import write_table

    selection = Selection.parse(reading)
    estimator = state_model(modeling, selection.classes)
    with say_warnings(strict=manner.strict) as said:
        source, rows = draw_rows(votes, selection.of_model(estimator), estimator, modeling.gold, number, strata, seed)
        said.lines.append(source.taken.describe())
        said.settle()
        write_table(rows, "-")
