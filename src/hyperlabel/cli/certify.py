"""`hyperlabel certify`: which labels you can rely on."""

from typing import Annotated

from hyperlabel.cli.options import AuditOptions, JsonManner, Option, StrataNumber, TableOptions, VotesName

OUT_HELP = (
    "All rows and columns, with 'label', 'confidence', 'accepted': csv, tsv, JSON lines, parquet or Arrow; - is csv on "
    "standard output."
)
ERROR_HELP = "The largest share of wrong labels among those accepted."
CONFIDENCE_HELP = "The probability that the error holds."
CLASS_HELP = "Bound the error of each class separately; each class has its own threshold."


def certify(
    votes: VotesName,
    *,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    error: Annotated[float, Option(metavar="SHARE", help=ERROR_HELP)] = 0.05,
    confidence: Annotated[float, Option(metavar="SHARE", help=CONFIDENCE_HELP)] = 0.9,
    by_class: Annotated[bool, Option("--by-class", help=CLASS_HELP)] = False,
    strata: StrataNumber = 1,
    modeling: AuditOptions,
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Find the labels of VOTES that a random sample certifies.

    At most the share --error of them is wrong, with probability --confidence. Draw the items with `hyperlabel audit`
    and label them by hand. Gold that the model learns from cannot certify: give it as --learn.

    Example: hyperlabel certify votes.parquet --gold audit.csv --error 0.05 -o certified.parquet
    """
    from hyperlabel.cli.auditing import certify_table, open_audit
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import check_output
    from hyperlabel.cli.terminal import print_lines, say, say_warnings
    from hyperlabel.shown import printable
    from hyperlabel.tables import write_table
    from hyperlabel.trust import certify as find

    summary = Summary(modeling.model)
    check_output(out)
    with say_warnings(strict=manner.strict) as said:
        audit = open_audit(votes, modeling, reading)
        certificate = find(
            *audit.judged,
            error,
            confidence,
            by_class=by_class,
            learn=audit.learn,
            strata=strata,
            metric=audit.metric,
        )
        said.lines.append(audit.source.taken.describe())
        said.settle()
        if out is not None:
            write_table(certify_table(audit.source.frame, certificate), out, argument="--out")
    aside = out == "-"
    if manner.json:
        summary.add_taken(audit.source.taken)
        summary.print(aside=aside, **certificate.to_dict())
    elif aside:
        say(printable(str(certificate)))
    else:
        print_lines(certificate)
    if out is not None and not aside:
        say(f"wrote {printable(out)}: {audit.source.votes.n_items:,} rows")
