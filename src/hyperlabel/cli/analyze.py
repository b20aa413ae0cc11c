"""`hyperlabel analyze`: what each LF is worth."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli.options import ClassNames, LfNames, LongNames, ModelName, Option, TruthName, VotesPath

OUT_HELP = "Write the table of LFs to a csv, tsv or parquet file as well."


def analyze(
    votes: VotesPath,
    truth: TruthName = None,
    out: Annotated[Path | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    model: ModelName = "hlm2",
    classes: ClassNames = None,
    lfs: LfNames = None,
    long: LongNames = None,
) -> None:
    """Show what each LF of VOTES is worth.

    Coverage, overlaps and conflicts; precision against --truth, estimated accuracy without it; how many labels change
    when the LF is left out; and pairs of LFs that say the same thing twice.
    """
    from hyperlabel.cli.analysis import lf_table, print_pairs, print_totals, read_analysis
    from hyperlabel.cli.tables import Selection, check_output, write_table
    from hyperlabel.cli.terminal import output, say

    check_output(out)
    _, analysis = read_analysis(votes, Selection.parse(lfs=lfs, long=long, classes=classes), truth, model)
    summary = analysis.summary()
    output.print(lf_table(summary.to_polars()))
    print_pairs(analysis)
    print_totals(analysis)
    if out is not None:
        write_table(summary.to_polars(), out)
        say(f"wrote {out}: {len(summary):,} rows")
