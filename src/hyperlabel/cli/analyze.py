"""`hyperlabel analyze`: what each LF is worth."""

from typing import Annotated

from hyperlabel.cli.options import JsonManner, ModelOptions, Option, TableOptions, TruthName, VotesName

OUT_HELP = "Write the table of LFs to a file as well: csv, tsv, JSON lines, parquet, Arrow."


def analyze(
    votes: VotesName,
    *,
    truth: TruthName = None,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    modeling: ModelOptions,
    reading: TableOptions,
    manner: JsonManner,
) -> None:
    """Show what each LF of VOTES is worth.

    Coverage, overlaps and conflicts; precision against --truth, estimated accuracy without it; how many labels change
    when the LF is left out; and pairs of LFs that say the same thing twice.

    Example: hyperlabel analyze votes.csv --truth truth
    """
    from hyperlabel.cli.analysis import count_labels, print_analysis, read_analysis
    from hyperlabel.cli.summary import Summary
    from hyperlabel.cli.tables import check_output
    from hyperlabel.cli.terminal import say, say_warnings
    from hyperlabel.shown import printable
    from hyperlabel.tables import write_table

    done = Summary(modeling.model)
    check_output(out)
    with say_warnings(strict=manner.strict) as said:
        source, analysis = read_analysis(votes, reading, truth, modeling)
        said.lines.append(source.taken.describe())
    summary = analysis.summary()
    if not manner.json:
        print_analysis(analysis)
    if out is not None:
        write_table(summary.to_polars(), out, argument="--out")
        say(f"wrote {printable(out)}: {len(summary):,} rows")
    if manner.json:
        done.add_taken(source.taken)
        done.add_labels(count_labels(analysis))
        done.print(lf_summary=summary.to_polars().to_dicts())
