"""The analysis of LFs that a command asks for, and how it is shown in a terminal."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Table

from hyperlabel.cli.models import read_options
from hyperlabel.cli.options import ModelOptions, TableOptions
from hyperlabel.cli.tables import VotesInput, open_labeled
from hyperlabel.cli.terminal import console, log, output, say
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.shown import printable

_HEADS = {  # column of the summary -> its heading, short enough for a terminal
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
_NAME_WIDTH = 22  # letters of an LF's name that stay on one line
_CLASSES_WIDTH = 40  # letters of all names of classes that an LF votes for
_PAIRS = 20  # shown at most; the total is printed


def read_analysis(
    votes: str, reading: TableOptions, truth: str | None, modeling: ModelOptions
) -> tuple[VotesInput, LFAnalysis]:
    """Votes read with the options that commands share, analyzed by a model; everything slow is already computed."""
    model, selection, metric = read_options(modeling, reading)
    source, known = open_labeled(votes, selection, {"truth": truth, "gold": modeling.gold})
    if modeling.gold is not None:
        model.fit(source.votes, known["gold"])
    log.info("analyzing %s by %s", votes, modeling.model)
    with console.status("looking at the votes without each LF"):
        analysis = LFAnalysis(source.votes, known["truth"], model=model, metric=metric)
        _ = analysis.labels, analysis.leave_one_out()
    return source, analysis


def count_labels(analysis: LFAnalysis) -> dict[Any, int]:
    """How many items the model gives each label; None for none."""
    counts = np.bincount(analysis.labels + 1, analysis.patterns.counts, len(analysis.classes) + 1)
    return {name: int(n) for name, n in zip((None, *analysis.classes), counts, strict=True) if n}


def print_analysis(analysis: LFAnalysis) -> None:
    """All tables and what they mean."""
    classes = pl.Series("polarity", map(show_classes, analysis.polarity), pl.String)
    output.print(lf_table(analysis.summary().to_polars().with_columns(classes), output.width))
    print_pairs(analysis)
    print_totals(analysis)


def show_classes(classes: Sequence[object]) -> str:
    """The classes that an LF votes for, or only how many if their names are long.

    >>> show_classes(["ham", "spam"]), show_classes(["complaints about food", "complaints about beds"])
    ('ham, spam', '2 classes')
    """
    named = ", ".join(map(str, classes))
    return named if len(classes) < 2 or len(named) <= _CLASSES_WIDTH else f"{len(classes)} classes"


def lf_table(summary: pl.DataFrame, width: int) -> Table:
    """The summary of all LFs; shares in percent. Names are folded so that all figures fit into the width."""
    table = plain_table(caption="figures in percent")
    shown = [name for name in _HEADS if name in summary.columns]
    figures = {name: max(5, *map(len, _HEADS[name].split("\n"))) for name in shown[2:]}  # 100.0 is the widest
    named = min(_NAME_WIDTH, max(len(printable(name)) for name in summary["lf"]))
    room = width - named - 1 - sum(wide + 1 for wide in figures.values())
    table.add_column(_HEADS["lf"], overflow="fold", min_width=named)
    table.add_column(_HEADS["polarity"], overflow="fold", max_width=max(room, len(_HEADS["polarity"])))
    for name, wide in figures.items():
        table.add_column(_HEADS[name], justify="right", min_width=wide)
    for row in summary.select(shown).iter_rows():
        table.add_row(*(printable(value) if isinstance(value, str) else percent(value) for value in row))
    return table


def plain_table(*heads: str, **settings: Any) -> Table:
    """A table with one rule and little else, since width is scarce."""
    return Table(*heads, box=SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False, **settings)


def percent(share: Any) -> str:
    """A share in percent, without the sign; empty where there is none.

    >>> percent(0.1234), percent(float("nan"))
    ('12.3', '')
    """
    return "" if math.isnan(share) else f"{100 * share:.1f}"


def print_pairs(analysis: LFAnalysis) -> None:
    """The most dependent pairs of LFs, if there are any."""
    pairs = analysis.dependent_pairs()
    if not len(pairs):
        return
    table = plain_table("LF", "other LF", "kind", "same\nvotes", "depen-\ndence")
    table.columns[3].justify = table.columns[4].justify = "right"
    for column in table.columns[:2]:
        column.overflow = "fold"
    for row in list(pairs.rows())[:_PAIRS]:
        table.add_row(
            printable(row["lf"]),
            printable(row["other"]),
            row["kind"],
            f"{row['similarity']:.2f}",
            f"{row['dependence']:.2f}",
        )
    output.print("\nLFs that say the same thing twice:\n", table, sep="\n")
    if len(pairs) > _PAIRS:
        say(f"these are the {_PAIRS} most dependent of {len(pairs):,} such pairs")


def print_totals(analysis: LFAnalysis) -> None:
    """Figures about all LFs together, and what the numbers mean."""
    patterns, n = analysis.patterns, analysis.n_items
    shares = [patterns.counts @ part / n for part in (patterns.has_votes, analysis.overlapping, analysis.conflicting)]
    say(
        f"{n:,} items, {analysis.n_lfs:,} LFs, {patterns.n_classes} classes, {patterns.n_patterns:,} patterns; "
        f"{shares[0]:.1%} of the items have votes, {shares[1]:.1%} two or more, {shares[2]:.1%} votes that conflict"
    )
    say("est. acc.: share of the LF's votes that are the model's label; changed labels: when the LF is left out")
    say("alone: share of the LF's votes where no other LF votes; where it is high, est. acc. says little")
    looked_at = analysis.leave_one_out().n_items
    if looked_at < n:
        say(f"changed labels are estimated from {looked_at:,} items drawn at random")
