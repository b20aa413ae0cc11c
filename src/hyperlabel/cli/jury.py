"""`hyperlabel jury`: a long table of judgments in, one row per item and a report card per judge out."""

from typing import Annotated

import typer

from hyperlabel.cli.options import JsonManner, JuryOptions, Option

TABLE_HELP = "A table with one row per judgment: csv, tsv, JSON lines, parquet, Arrow, DuckDB, - for standard input."
OUT_HELP = "Write one row per item to a csv, tsv, JSON lines, parquet or Arrow file; else csv to standard output."
CARD_HELP = "Write the report card of the judges to a file as well."
CURVE_HELP = "Write how many labels the best 1, 2, 3... judges keep to a file."
KEEP_HELP = "Say which judges are enough to keep this share of the labels."


def jury(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP, show_default=False)],
    *,
    judging: JuryOptions,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    card: Annotated[str | None, Option(metavar="FILE", help=CARD_HELP)] = None,
    curve: Annotated[str | None, Option(metavar="FILE", help=CURVE_HELP)] = None,
    keep: Annotated[float | None, Option(metavar="SHARE", help=KEEP_HELP)] = None,
    manner: JsonManner,
) -> None:
    """Turn judgments into a label per item and a card per judge.

    A judge has one vote per item: what most of its judgments say. Failed and unparsable judgments abstain and are
    counted. The result has the item, label, confidence, contested, dissenters and p_<class> for each class.

    Example: hyperlabel jury judgments.csv --item id --judge model --vote verdict -o verdicts.csv
    """
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import check_output
    from hyperlabel.cli.terminal import say, say_warnings
    from hyperlabel.cli.verdicts import check_results, decide, print_card, summarize, verdict_rows
    from hyperlabel.shown import printable
    from hyperlabel.tables import write_table

    done = Summary(judging.model)
    for target in (out, card, curve):
        check_output(target)
    check_results(out, card, curve, keep)
    with say_warnings(strict=manner.strict) as said:
        verdicts = decide(table, judging)
        enough = None if keep is None else verdicts.enough(keep)
        said.settle()
        write_table(verdict_rows(verdicts, out), out or "-", argument="--out")
    if not manner.json:
        print_card(verdicts)
    if card is not None:
        write_table(verdicts.judges.to_polars(), card, argument="--card")
    if curve is not None:
        write_table(verdicts.curve.to_polars(), curve, argument="--curve")
    if enough is not None:
        say(f"enough to keep {keep:.0%} of the labels: {', '.join(enough)}")
    if out not in (None, "-"):
        say(f"wrote {printable(out)}: {len(verdicts):,} rows")
    if manner.json:
        done.print(aside=out in (None, "-"), **summarize(verdicts, enough))
