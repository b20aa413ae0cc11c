"""`hyperlabel analyze`: what each LF is worth."""

from typing import Annotated

from hyperlabel.cli.options import Manner, ModelName, Option, TableOptions, TruthName, VotesName

OUT_HELP = "Write the table of LFs to a file as well: csv, tsv, JSON lines, parquet, Arrow."


def analyze(
    votes: VotesName,
    *,
    truth: TruthName = None,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    model: ModelName = "hlm2",
    reading: TableOptions,
    manner: Manner,
) -> None:
    """Show what each LF of VOTES is worth.

    Coverage, overlaps and conflicts; precision against --truth, estimated accuracy without it; how many labels change
    when the LF is left out; and pairs of LFs that say the same thing twice.
    """
    from hyperlabel.cli.analysis import lf_table, print_pairs, print_totals, read_analysis
    from hyperlabel.cli.tables import Selection, check_output
    from hyperlabel.cli.terminal import output, say, say_warnings
    from hyperlabel.tables import write_table

    check_output(out)
    with say_warnings(strict=manner.strict):
        source, analysis = read_analysis(votes, Selection.parse(reading), truth, model)
        say(source.taken.describe())
    summary = analysis.summary()
    output.print(lf_table(summary.to_polars()))
    print_pairs(analysis)
    print_totals(analysis)
    if out is not None:
        write_table(summary.to_polars(), out, argument="--out")
        say(f"wrote {out}: {len(summary):,} rows")
