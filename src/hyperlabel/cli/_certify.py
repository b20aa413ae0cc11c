"""`hyperlabel certify`: which labels you can rely on."""

from typing import Annotated, Any

from hyperlabel.cli._options import AuditOptions, JsonOptions, Option, StrataNumber, TableOptions, VotesName

OUT_HELP = (
    "All rows and columns, with 'label', 'confidence', 'accepted': csv, tsv, JSON lines, parquet or Arrow; - is csv on "
    "standard output."
)
ERROR_HELP = "The largest share of wrong labels among those accepted."
CONFIDENCE_HELP = "The probability that the error holds."
ONCE_HELP = "You look once, with a number of labels chosen before: accepts more, and holds for this look alone."
CLASS_HELP = "Bound the error of each class separately; each class has its own threshold."


def certify(
    votes: VotesName,
    *,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    error: Annotated[float, Option(metavar="SHARE", help=ERROR_HELP)] = 0.05,
    confidence: Annotated[float, Option(metavar="SHARE", help=CONFIDENCE_HELP)] = 0.9,
    by_class: Annotated[bool, Option("--by-class", help=CLASS_HELP)] = False,
    once: Annotated[bool, Option("--once", help=ONCE_HELP)] = False,
    strata: StrataNumber = 1,
    modeling: AuditOptions,
    reading: TableOptions,
    output: JsonOptions,
) -> None:
    """Find the labels of VOTES that a random sample certifies.

    At most the share --error of them is wrong, with probability --confidence, however often you ask while labels come
    in. Draw the items with `hyperlabel audit`
    and label them by hand. Gold that the model learns from cannot certify: give it as --learn.

    Example: hyperlabel certify votes.parquet --gold audit.csv --error 0.05 -o certified.parquet
    """
    import polars as pl

    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import open_audit
    from hyperlabel.cli._terminal import print_lines, say
    from hyperlabel.data import add_labels, check_target, free_names, write_table
    from hyperlabel.trust import certify as find_certificate

    if out is not None:
        check_target(out, "--out")
    with open_audit(votes, modeling, reading, output) as inputs:
        gold, learn = inputs.labels["gold"], inputs.labels["learn"]
        options: Any = {"by_class": by_class, "learn": learn, "strata": strata, "metric": inputs.metric, "once": once}
        certificate = find_certificate(inputs.model, inputs.votes, gold, error, confidence, **options)
        inputs.messages.raise_if_strict()
        if out is not None:
            frame = inputs.source.frame
            table = add_labels(frame.rename(free_names(frame.columns, ["accepted"])), certificate.labels)
            accepted = pl.Series("accepted", certificate.accepted)
            write_table(table.with_columns(accepted), out, argument="--out")
    if output.json:
        inputs.summary.print(aside=out == "-", **certificate.to_dict())
    elif out == "-":
        say(printable(str(certificate)))
    else:
        print_lines(certificate)
    if out not in (None, "-"):
        say(f"wrote {printable(out)}: {inputs.votes.n_items:,} rows")
