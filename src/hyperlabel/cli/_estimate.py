"""`hyperlabel estimate`: how good the labels are."""

from typing import Annotated, Any

from hyperlabel.cli._options import AuditOptions, JsonOptions, Option, StrataNumber, TableOptions, VotesName

CONFIDENCE_HELP = "The probability that an interval holds the truth."
REPEATED_HELP = "You look again and again while gold comes in: wider intervals, which hold at all looks together."


def estimate(
    votes: VotesName,
    *,
    confidence: Annotated[float, Option(metavar="SHARE", help=CONFIDENCE_HELP)] = 0.9,
    strata: StrataNumber = 1,
    repeated: Annotated[bool, Option("--repeated", help=REPEATED_HELP)] = False,
    modeling: AuditOptions,
    reading: TableOptions,
    output: JsonOptions,
) -> None:
    """Estimate accuracy, F1 and class shares, with intervals.

    They come from gold of random items, as for `hyperlabel certify`, and from the model's labels of all items.

    Example: hyperlabel estimate votes.parquet --gold audit.csv
    """
    from hyperlabel.cli._inputs import open_audit
    from hyperlabel.trust import estimate as find_estimate

    with open_audit(votes, modeling, reading, output) as inputs:
        gold = inputs.labels["gold"]
        options: Any = {
            "learn": inputs.labels["learn"],
            "strata": strata,
            "metric": inputs.metric,
            "once": not repeated,
        }
        figures = find_estimate(inputs.model, inputs.votes, gold, confidence, **options)
    inputs.print(figures, output, figures.to_dict())
