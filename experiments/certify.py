"""Do certificates and intervals hold? 1,000 random samples of gold from every real set with truth.

python -m experiments certify  --data DATA --out experiments/results/certify.md
python -m experiments estimate --data DATA --out experiments/results/estimate.md

The items of a set are those with votes whose truth is known. Each draw takes gold of 200 of them, or of half where
there are fewer than 400, and the default model labels all without it. A certificate is broken if more of the accepted
labels are wrong than it states; that may happen in 10 % of the draws. An interval should hold the truth in 90 %.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from experiments.markdown import table
from hyperlabel._core import f1
from hyperlabel.data import Labels
from hyperlabel.trust import (
    Estimates,
    GoldSample,
    Ranking,
    Strata,
    estimate_sample,
    observe,
    predict_quantities,
    search,
    share_out,
    strata_of,
)

DRAWS, GOLD = 1000, 200
ERRORS = (0.05, 0.1, 0.2)
CONFIDENCE = 0.9


@dataclass(frozen=True, eq=False)
class Judged:
    """Labels of items whose truth is known."""

    name: str
    k: int
    labels: Labels
    truth: NDArray[np.int64]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether each label is wrong."""
        return self.labels.best != self.truth

    @property
    def n_gold(self) -> int:
        """Gold items of a draw."""
        return min(GOLD, len(self.truth) // 2)

    def draw(self, seed: int) -> NDArray[np.intp]:
        """Places of random gold items."""
        return np.random.default_rng(seed).choice(len(self.truth), self.n_gold, replace=False)

    def draw_strata(self, seed: int, stratum: NDArray[np.int64]) -> NDArray[np.intp]:
        """Places of random gold items, drawn as `audit_sample` does in several strata."""
        rng, takes = np.random.default_rng(seed), share_out(self.n_gold, np.bincount(stratum)).tolist()
        drawn = [rng.permutation(np.flatnonzero(stratum == h))[:take] for h, take in enumerate(takes)]
        return np.concatenate(drawn)


def judge(each: DataSet) -> Judged:
    """The labels that the default model gives a set."""
    known = each.truth >= 0
    labels = hl.HyperLabelModel(n_classes=each.k).label(each.votes[known])
    return Judged(each.name, each.k, labels, each.truth[known])


def certify(
    judged: Judged, error: float, strata: int = 1, draws: int = DRAWS, *, once: bool = False
) -> tuple[float, float]:
    """Shares: of draws whose certificate is broken, and of items accepted, in the mean."""
    labels, wrong, stratum = judged.labels, judged.wrong, strata_of(judged.labels, strata)
    ranking = Ranking.of(labels.confidence, labels.best >= 0, stratum)
    errors = np.cumsum(np.bincount(ranking.level[ranking.level >= 0], wrong[ranking.level >= 0]))
    broken, shares = [], []
    for seed in range(draws):
        gold = judged.draw(seed) if strata == 1 else judged.draw_strata(seed, stratum)
        best = search(ranking.steps(gold, wrong[gold], once=once), error, 1 - CONFIDENCE, once=once)
        items = 0 if best is None else best.total.items
        shares.append(items / len(labels))
        broken.append(best is not None and errors[best.level] > error * items)
    return float(np.mean(broken)), float(np.mean(shares))


def estimate(judged: Judged, draws: int = DRAWS) -> dict[str, tuple[float, float, float]]:
    """For accuracy, shares and F1: how often intervals hold the truth, with the model and alone, and how much narrower.

    Of the shares of the classes, the lowest coverage counts.
    """
    labels, truth, k = judged.labels, judged.truth, judged.k
    predicted, called = predict_quantities(labels, k), np.eye(k + 1)[labels.best][:, :k]
    overall, shares = predicted.mean(0), called.mean(0)
    found = []
    for seed in range(draws):
        gold = judged.draw(seed)
        strata = Strata(np.array([len(truth)]), np.zeros(len(gold), np.int64))
        sample = GoldSample(observe(truth[gold], labels.best[gold], k), called[gold], strata)
        found.append(estimate_sample(sample, predicted[gold], overall, shares, range(k), CONFIDENCE))
    exact = {"accuracy": float((~judged.wrong).mean()), "F1": f1(truth, labels.best, k)}
    exact |= {f"share of {c}": float((truth == c).mean()) for c in range(k)}
    return {name: figures for name in exact if (figures := _cover(found, name, exact[name])) is not None}


def _cover(found: list[Estimates], name: str, exact: float) -> tuple[float, float, float] | None:
    rows = [each for estimates in found for own, each in estimates.rows() if own == name]
    if len(rows) < len(found) / 2:
        return None
    holds = [[pair.low - 1e-12 <= exact <= pair.high + 1e-12 for pair in each] for each in rows]
    widths = np.array([[pair.width for pair in each] for each in rows]).mean(0)
    with_model, alone = np.mean(holds, axis=0).tolist()
    return with_model, alone, float(1 - widths[0] / widths[1])


def run_certify(data: Path, strata: int = 1, draws: int = DRAWS, *, once: bool = False) -> str:
    """Certificates by set, for several errors."""
    rows = []
    for each in load_datasets(data):
        judged = judge(each)
        cells = [certify(judged, error, strata, draws, once=once) for error in ERRORS]
        figures = [f"{100 * value:.1f}" for cell in cells for value in cell]
        rows.append(
            [judged.name, f"{len(judged.truth):,}", str(judged.n_gold), f"{100 * judged.wrong.mean():.1f}", *figures]
        )
    columns = [name for error in ERRORS for name in (f"broken, {error:.0%}", f"accepted, {error:.0%}")]
    means = np.mean([[float(cell) for cell in row[3:]] for row in rows], axis=0)
    most = np.max([[float(cell) for cell in row[4::2]] for row in rows], axis=0)
    rows.append(["**mean**", "", "", *(f"{value:.1f}" for value in means)])
    said = ", ".join(f"{value:.1f} % at {error:.0%}" for value, error in zip(most, ERRORS, strict=True))
    head = ["set", "items", "gold", "wrong labels", *columns]
    return table(head, rows) + f"\n\nFigures in percent of draws or items. Most often broken on any set: {said}."


def run_estimate(data: Path) -> str:
    """Coverage of intervals by set, and how much narrower they are than those of the sample alone."""
    rows = []
    for each in load_datasets(data):
        judged = judge(each)
        found = estimate(judged)
        shares = np.array([figures for name, figures in found.items() if name.startswith("share")])
        worst = (*shares[:, :2].min(0).tolist(), float(shares[:, 2].mean()))
        parts = [found["accuracy"], worst, found.get("F1")]
        cells = [f"{100 * value:.1f}" if part else "" for part in parts for value in (part or (0, 0, 0))]
        rows.append([judged.name, str(judged.n_gold), *cells])
    columns = [f"{name}: {what}" for name in ("accuracy", "shares", "F1") for what in ("holds", "alone", "narrower")]
    means = [[float(cell) for cell in column if cell] for column in zip(*(row[2:] for row in rows), strict=True)]
    rows.append(["**mean**", "", *(f"{np.mean(column):.1f}" for column in means)])
    rows.append(["**least**", "", *(f"{np.min(column):.1f}" for column in means)])
    said = "Figures in percent. Shares: the lowest coverage of any class, and the mean of how much narrower."
    return table(["set", "gold", *columns], rows) + f"\n\n{said}"
