"""The example of `hyperlabel demo`: which package is a sentence from?

The items are the first sentences of the documentation of the installed NumPy, Polars and matplotlib, so that
nothing is downloaded. Eleven keyword rules vote. They are ordinary rules: most are good, two are wrong more
than a quarter of the time, and over a third of the items have no vote. The truth is used only for the scores and in
place of the person who labels by hand.

The rules were chosen to make every step visible. They are not a benchmark; docs/benchmarks.md has those.
"""

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.table import Table

from hyperlabel.classify import fill_labels
from hyperlabel.cli.tables import make_folder
from hyperlabel.cli.terminal import console, say
from hyperlabel.labels import Labels
from hyperlabel.labels.added import add_labels
from hyperlabel.lf import apply_lfs, keyword_lf
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.models import HyperLabelModel, MajorityVote
from hyperlabel.reports import report
from hyperlabel.studio.demo import sentence_table
from hyperlabel.tables import write_table
from hyperlabel.trust import Certificate, audit_sample, certify
from hyperlabel.votes import Votes

MODULES = {
    "numpy": ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.strings", "numpy.polynomial"),
    "polars": ("polars",),
    "matplotlib": tuple(
        f"matplotlib.{name}"
        for name in ("axes", "axis", "collections", "colors", "figure", "image", "legend", "lines", "patches")
    )
    + ("matplotlib.pyplot", "matplotlib.text", "matplotlib.ticker"),
}

RULES: dict[str, tuple[str, tuple[str, ...]]] = {
    # name: (class, words)
    "arrays": ("numpy", ("array", "arrays", "ndarray", "dtype")),
    "elementwise": ("numpy", ("element-wise", "axis", "input")),
    "polynomials": ("numpy", ("polynomial", "Chebyshev", "Hermite", "Legendre", "Laguerre", "coefficients")),
    "masks": ("numpy", ("masked", "mask")),
    "chance": ("numpy", ("distribution", "random", "samples")),
    "frames": ("polars", ("column", "columns", "DataFrame", "LazyFrame")),
    "queries": ("polars", ("expression", "expressions", "null", "lazy", "query")),
    "verbs": ("polars", ("group", "join", "sort", "rolling", "schema")),
    "drawing": ("matplotlib", ("plot", "figure", "axes", "legend", "subplot")),
    "looks": ("matplotlib", ("color", "line", "tick", "label", "font", "artist", "marker")),
    "setters": ("matplotlib", ("set", "get")),
}

N_GOLD, N_AUDIT, ERROR = 20, 100, 0.1
_WIDTH = 76  # columns of the tables

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Loop:
    """The steps of the demo, each computed when it is needed."""

    frame: pl.DataFrame  # one row per item: id, text, truth

    @cached_property
    def votes(self) -> Votes:
        """What the rules say."""
        lfs = [keyword_lf(list(words), label, name=name) for name, (label, words) in RULES.items()]
        votes: Votes = apply_lfs(lfs, self.frame)
        return votes

    @property
    def table(self) -> pl.DataFrame:
        """Ids, texts, votes and truth."""
        columns: pl.DataFrame = self.votes.to_polars().select(list(RULES))
        return self.frame.select("id", "text").hstack(columns).hstack(self.frame.select("truth"))

    @cached_property
    def truth(self) -> NDArray[Any]:
        """The package of each item. (n,)."""
        return self.frame["truth"].to_numpy()

    @cached_property
    def has_votes(self) -> Mask:
        """Whether any rule votes on an item. (n,)."""
        voted: Mask = np.asarray((self.votes.to_numpy() >= 0).any(1))
        return voted

    @cached_property
    def model(self) -> HyperLabelModel:
        """The model that has read the votes, without gold."""
        return HyperLabelModel().fit(self.votes)

    @cached_property
    def gold(self) -> dict[str, str]:
        """The items that the model suggests, as a person would label them."""
        return self._ask(self.model.suggest(self.votes, N_GOLD))

    @cached_property
    def taught(self) -> HyperLabelModel:
        """The model that has read the votes and the gold."""
        return HyperLabelModel().fit(self.votes, self.gold)

    @cached_property
    def certificate(self) -> Certificate:
        """What a random sample says about the labels of votes and gold."""
        audited = self._ask(audit_sample(self.votes, N_AUDIT, gold=self.gold).items)
        return certify(HyperLabelModel(), self.votes, audited, error=ERROR, learn=self.gold)

    @cached_property
    def filled(self) -> Labels:
        """Labels of all items, by texts where there are no votes."""
        return fill_labels(self.taught, self.votes, self.frame["text"].to_list(), self.gold)

    def score(self, labels: NDArray[Any], items: Mask) -> float:
        """Share of right labels among some items."""
        return float((labels == self.truth)[items].mean())

    def _ask(self, items: NDArray[Any]) -> dict[str, str]:
        """What a person says about items, by their ids: votes on rows with ids name items by them."""
        truth = dict(self.frame.select("id", "truth").iter_rows())
        return {str(item): truth[item] for item in items}


def run_demo(out: Path) -> None:
    """Show the steps, and write what they give to a folder."""
    make_folder(out)
    loop = Loop(sentence_table(MODULES))
    _show_rules(loop)
    _show_labels(loop)
    _show_gold(loop)
    _show_certificate(loop)
    _show_filled(loop)
    _write(loop, out)


def _show_rules(loop: Loop) -> None:
    n = len(loop.frame)
    say(f"1. {n:,} sentences from the documentation of {', '.join(MODULES)}. Which package is each from?")
    say(f"   {len(RULES)} rules vote by keywords; {loop.has_votes.mean():.0%} of the items get a vote.")
    table = _new_table("rule", "votes for", "items", "words")
    for name, count in zip(RULES, LFAnalysis(loop.votes).votes.tolist(), strict=True):
        label, words = RULES[name]
        table.add_row(name, label, f"{count:,}", ", ".join(words))
    console.print(table)


def _show_labels(loop: Loop) -> None:
    say("2. Labels from the votes alone, in one pass: hl.HyperLabelModel().label(votes)")
    labels = loop.model.label(loop.votes)
    table = _new_table("item", "votes", "label", "confidence", "truth")
    for row in _contested(loop):
        cast = Counter(vote for vote in loop.table.select(list(RULES)).row(row) if vote)
        counts = "\n".join(f"{count} {label}" for label, count in cast.most_common())
        shown = loop.frame["text"][row], counts, labels.labels[row], f"{labels.confidence[row]:.2f}"
        table.add_row(*map(str, shown), loop.truth[row])
    console.print(table)
    most = MajorityVote().fit_predict(loop.votes)
    right = f"majority vote {_score(loop, most)}, hyperlabel {_score(loop, labels.labels)}"
    say(f"   Right labels, of items with votes: {right}")


def _contested(loop: Loop, most: int = 3) -> list[int]:
    """A few items on which at least three rules vote, and not for the same class."""
    codes = loop.votes.to_numpy()
    differ = [row for row, cast in enumerate(codes) if (cast >= 0).sum() > 2 and len(set(cast[cast >= 0])) > 1]
    first = {codes[row].tobytes(): row for row in sorted(differ, key=lambda row: -len(loop.frame["text"][row]))}
    return sorted(first.values())[:most]  # one of each pattern


def _show_gold(loop: Loop) -> None:
    say(f"3. {N_GOLD} hand labels for the items that model.suggest(votes, {N_GOLD}) names. What is each rule worth?")
    before, after = (LFAnalysis(loop.votes, loop.truth, model=model) for model in (loop.model, loop.taught))
    table = _new_table("rule", "votes for", "estimated", f"with {N_GOLD} gold", "in truth")
    figures = (before.estimated_accuracy, after.estimated_accuracy, after.precision)
    for name, *shares in zip(RULES, *figures, strict=True):
        table.add_row(name, RULES[name][0], *(f"{share:.0%}" for share in shares))
    console.print(table)
    others = loop.has_votes & ~loop.frame["id"].is_in(list(loop.gold)).to_numpy()
    models = ("majority vote", MajorityVote()), ("hyperlabel", loop.model), (f"with {N_GOLD} gold", loop.taught)
    right = [f"{name} {loop.score(model.predict(loop.votes), others):.1%}" for name, model in models]
    say(f"   Right labels, of items with votes and no gold: {', '.join(right)}")


def _show_certificate(loop: Loop) -> None:
    found, items = loop.certificate, loop.certificate.accepted
    say(f"4. A certificate, from {N_AUDIT} random items labeled by hand: hl.certify(model, votes, gold, error={ERROR})")
    say(f"   {found}")
    if items.any():
        say(f"   In truth, {1 - loop.score(found.labels.labels, items):.1%} of them are wrong.")


def _show_filled(loop: Loop) -> None:
    rest = ~loop.has_votes
    say("5. Labels for the items without votes, by their texts: hl.fill_labels(model, votes, texts)")
    largest = max(loop.score(np.full(len(loop.truth), label), rest) for label in MODULES)
    right = f"{loop.score(loop.filled.labels, rest):.1%} (always the most frequent package: {largest:.1%})"
    say(f"   {rest.sum():,} items. Right labels: {right}")


def _write(loop: Loop, out: Path) -> None:
    gold = {"id": list(loop.gold), "gold": list(loop.gold.values())}
    files: Mapping[str, pl.DataFrame] = {
        "votes.csv": loop.table,
        "gold.csv": pl.DataFrame(gold),
        "labels.csv": add_labels(loop.table, loop.filled),
    }
    for name, frame in files.items():
        write_table(frame, out / name)
    page = report(
        loop.votes,
        loop.frame["text"].to_list(),
        loop.truth,
        loop.gold,
        title="Which package is a sentence from?",
        certificate=loop.certificate,
        table="votes.csv",
    )
    page.save(out / "report.html")
    _draw(loop, out / "demo.png")
    say(f"6. Wrote {', '.join(files)}, report.html and demo.png to {out}. Open report.html in a browser.")
    path = shlex.quote(str(out / "votes.csv"))
    say(f"   The same labels: hyperlabel label {path} --gold {shlex.quote(str(out / 'gold.csv'))} --text text -o x.csv")


def _draw(loop: Loop, path: Path) -> None:
    """Left: what each rule is worth, estimated and in truth. Right: the certificate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    before, after = (LFAnalysis(loop.votes, loop.truth, model=model) for model in (loop.model, loop.taught))
    names = list(RULES)
    left.hlines(names, after.precision, before.estimated_accuracy, color="0.85", zorder=0)
    left.scatter(before.estimated_accuracy, names, marker="o", facecolors="none", edgecolors="C0", label="estimated")
    left.scatter(after.estimated_accuracy, names, color="C0", label=f"with {N_GOLD} gold labels")
    left.scatter(after.precision, names, color="C1", marker="D", label="in truth")
    left.invert_yaxis()
    left.set(xlim=(0.5, 1.02), xlabel="share of a rule's votes that are right", title="What each rule is worth")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, frameon=False)
    loop.certificate.plot(right)
    right.set_title(f"A certificate from {N_AUDIT} random labels")
    figure.savefig(path, dpi=110)


def _score(loop: Loop, labels: NDArray[Any]) -> str:
    return f"{loop.score(labels, loop.has_votes):.1%}"


def _new_table(*header: str) -> Table:
    return Table(*header, width=_WIDTH)
