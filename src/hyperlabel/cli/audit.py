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
    from hyperlabel.cli.models import read_options
    from hyperlabel.cli.tables import name_items, open_labeled
    from hyperlabel.cli.terminal import say_warnings
    from hyperlabel.tables import write_table
    from hyperlabel.trust import audit_sample

    model, selection, _ = read_options(modeling, reading)
    with say_warnings(strict=manner.strict) as said:
        source, known = open_labeled(votes, selection, {"gold": modeling.gold})
        sample = audit_sample(source.votes, number, gold=known["gold"], strata=strata, model=model, seed=seed)
        places = sample.places.tolist()
        named = name_items(source, places)
        others = [name for name in source.frame.columns if name not in (named.name, *source.votes.lf_names)]
        rows = named.to_frame().hstack(source.frame[places, others].get_columns())
        said.lines.append(source.taken.describe())
        said.settle()
        write_table(rows, "-")
