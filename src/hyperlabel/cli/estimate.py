"""`hyperlabel estimate`: how good the labels are."""

from typing import Annotated

from hyperlabel.cli.options import AuditOptions, JsonManner, Option, StrataNumber, TableOptions, VotesName

CONFIDENCE_HELP = "The probability that an interval holds the truth."


def estimate(
    votes: VotesName,
    *,
    confidence: Annotated[float, Option(metavar="SHARE", help=CONFIDENCE_HELP)] = 0.9,
    strata: StrataNumber = 1,
    modeling: AuditOptions,
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Estimate accuracy, F1 and class shares, with intervals.

    They come from gold of random items, as for `hyperlabel certify`, and from the model's labels of all items.

    Example: hyperlabel estimate votes.parquet --gold audit.csv
    """
    from hyperlabel.cli.auditing import open_audit
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.terminal import print_lines, say, say_warnings
    from hyperlabel.trust import estimate as find

    summary = Summary(modeling.model)
    with say_warnings(strict=manner.strict):
        audit = open_audit(votes, modeling, reading)
        found = find(*audit.judged, confidence, learn=audit.learn, strata=strata, metric=audit.metric)
        say(audit.source.taken.describe())
    if manner.json:
        summary.add_taken(audit.source.taken)
        summary.print(**found.to_dict())
    else:
        print_lines(found)
