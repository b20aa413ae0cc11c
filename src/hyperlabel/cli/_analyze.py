"""`hyperlabel analyze`: what each LF is worth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from hyperlabel.cli._options import JsonOptions, ModelOptions, Option, TableOptions, TruthName, VotesName

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from hyperlabel.lf import LFAnalysis

OUT_HELP = "Write the table of LFs to a file as well: csv, tsv, JSON lines, parquet, Arrow."
HEADS = {  # column of the summary -> its heading, short enough for a terminal
    "lf": "LF",
    "polarity": "votes for",
    "coverage": "cover-\nage",
    "overlaps": "over-\nlaps",
    "conflicts": "con-\nflicts",
    "precision": "preci-\nsion",
    "estimated_accuracy": "est.\nacc.",
    "alone": "alone",
    "label_changes": "changed\nlabels",
}
NAME_WIDTH = 22  # letters of an LF's name that stay on one line
CLASSES_WIDTH = 40  # letters of all names of classes that an LF votes for
MOST_PAIRS = 20  # shown at most; the total is printed


def analyze(
    votes: VotesName,
    *,
    truth: TruthName = None,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    modeling: ModelOptions,
    reading: TableOptions,
    output: JsonOptions,
) -> None:
    """Show what each LF of VOTES is worth.

    Coverage, overlaps and conflicts; precision against --truth, estimated accuracy without it; how many labels change
    when the LF is left out; and pairs of LFs that say the same thing twice.

    Example: hyperlabel analyze votes.csv --truth truth
    """
    import numpy as np

    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import open_inputs
    from hyperlabel.cli._terminal import console, say, say_step
    from hyperlabel.data import check_target, write_table
    from hyperlabel.lf import LFAnalysis

    if out is not None:
        check_target(out, "--out")
    with open_inputs(votes, modeling, reading, output, truth=truth, gold=modeling.gold) as inputs:
        if modeling.gold is not None:
            inputs.model.fit(inputs.votes, inputs.labels["gold"])
        say_step(f"analyzing {votes} by {modeling.model}")
        with console.status("looking at the votes without each LF"):
            analysis = LFAnalysis(inputs.votes, inputs.labels["truth"], model=inputs.model, metric=inputs.metric)
            _ = analysis.labels, analysis.leave_one_out()  # computed now, for their warnings
    table = analysis.summary().to_polars()
    if not output.json:
        print_analysis(analysis)
    if out is not None:
        write_table(table, out, argument="--out")
        say(f"wrote {printable(out)}: {len(table):,} rows")
    if output.json:
        counts = np.bincount(analysis.labels + 1, analysis.patterns.counts, len(analysis.classes) + 1).astype(int)
        names = (None, *analysis.classes)
        inputs.summary.add_labels(dict(zip(names, counts.tolist(), strict=True)), analysis.classes)
        inputs.summary.print(lf_summary=table.to_dicts())


def print_analysis(analysis: "LFAnalysis") -> None:
    """Print the table of LFs, the most dependent pairs if there are any, figures about all LFs, and what they mean."""
    import polars as pl

    from hyperlabel._core import printable
    from hyperlabel.cli._terminal import output, plain_table, say

    classes = pl.Series("polarity", map(show_classes, analysis.polarity), pl.String)
    output.print(lf_table(analysis.summary().to_polars().with_columns(classes), output.width))
    pairs = analysis.dependent_pairs()
    if len(pairs):
        table = plain_table("LF", "other LF", "kind", "same\nvotes", "depen-\ndence")
        table.columns[0].overflow = table.columns[1].overflow = "fold"
        table.columns[3].justify = table.columns[4].justify = "right"
        for row in list(pairs.rows())[:MOST_PAIRS]:
            figures = (f"{row[name]:.2f}" for name in ("similarity", "dependence"))
            table.add_row(printable(row["lf"]), printable(row["other"]), row["kind"], *figures)
        output.print("\nLFs that say the same thing twice:\n", table, sep="\n")
    if len(pairs) > MOST_PAIRS:
        say(f"these are the {MOST_PAIRS} most dependent of {len(pairs):,} such pairs")
    patterns, n = analysis.patterns, analysis.n_items
    shares = [patterns.counts @ part / n for part in (patterns.has_votes, analysis.overlapping, analysis.conflicting)]
    say(
        f"{n:,} items, {analysis.n_lfs:,} LFs, {patterns.n_classes} classes, {patterns.n_patterns:,} patterns; "
        f"{shares[0]:.1%} of the items have votes, {shares[1]:.1%} two or more, {shares[2]:.1%} votes that conflict"
    )
    say("est. acc.: share of the LF's votes that are the model's label; changed labels: when the LF is left out")
    say(analysis.estimate_note)
    say("alone: share of the LF's votes where no other LF votes; where it is high, est. acc. says little")
    sampled = analysis.leave_one_out().n_items
    if sampled < n:
        say(f"changed labels are estimated from {sampled:,} items drawn at random")


def show_classes(classes: Sequence[object]) -> str:
    """Return the classes that an LF votes for, or only how many if their names are long.

    >>> show_classes(["ham", "spam"]), show_classes(["complaints about food", "complaints about beds"])
    ('ham, spam', '2 classes')
    """
    names = ", ".join(map(str, classes))
    return names if len(classes) < 2 or len(names) <= CLASSES_WIDTH else f"{len(classes)} classes"


def lf_table(summary: "pl.DataFrame", width: int) -> "Table":
    """Return a table of all LFs, shares in percent; names are folded so that all figures fit into the width."""
    from hyperlabel._core import printable
    from hyperlabel.cli._terminal import percent, plain_table

    table = plain_table(caption="figures in percent")
    columns = [name for name in HEADS if name in summary.columns]
    figures = {name: max(5, *map(len, HEADS[name].split("\n"))) for name in columns[2:]}  # 100.0 is the widest
    name_width = min(NAME_WIDTH, max(len(printable(name)) for name in summary["lf"]))
    room = width - name_width - 1 - sum(wide + 1 for wide in figures.values())
    table.add_column(HEADS["lf"], overflow="fold", min_width=name_width)
    table.add_column(HEADS["polarity"], overflow="fold", max_width=max(room, len(HEADS["polarity"])))
    for name, wide in figures.items():
        table.add_column(HEADS[name], justify="right", min_width=wide)
    for row in summary.select(columns).iter_rows():
        table.add_row(*(printable(value) if isinstance(value, str) else percent(value) for value in row))
    return table
