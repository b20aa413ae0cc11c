"""`hyperlabel audit`: which items to label by hand to judge the labels."""

from typing import Annotated

from hyperlabel.cli._options import ModelOptions, Option, OutputOptions, StrataNumber, TableOptions, VotesName

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
    output: OutputOptions,
) -> None:
    """Draw random items of VOTES to label by hand.

    A csv in random order: the identifier of each item, or its row starting at 0, and the columns that are not votes.
    Add a column 'gold' with the class of each item, and give the file to `hyperlabel certify`, or to `label --gold`,
    but not to both: items that judge labels must not teach them. Items that have --gold are not drawn.

    Example: hyperlabel audit votes.csv -n 200 > audit.csv
    """
    from hyperlabel.cli._inputs import open_inputs
    from hyperlabel.data import write_table
    from hyperlabel.trust import audit_sample

    with open_inputs(votes, modeling, reading, output, gold=modeling.gold) as inputs:
        gold, source = inputs.labels["gold"], inputs.source
        sample = audit_sample(source.votes, number, gold=gold, strata=strata, model=inputs.model, seed=seed)
        rows = sample.places.tolist()
        names = source.name_items(rows)
        others = [name for name in source.frame.columns if name not in (names.name, *source.votes.lf_names)]
        table = names.to_frame().hstack(source.frame[rows, others].get_columns())
        inputs.messages.raise_if_strict()
        write_table(table, "-")
