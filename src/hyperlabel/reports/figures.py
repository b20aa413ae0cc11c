"""The numbers of the report, all computed on patterns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel import metrics
from hyperlabel.kernels import Float64
from hyperlabel.labels import Labels
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.models import LabelModel, label_model

_BINS = 24  # in the histogram


@dataclass(frozen=True)
class Scores:
    """How well labels agree with the truth, over the items whose truth is known; an item without a label is wrong."""

    items: int  # their number
    accuracy: float  # share of right labels
    f1: float  # F1 of the second of two classes, macro F1 of more
    brier: float  # mean squared distance of the probabilities from the truth


def score(analysis: LFAnalysis) -> tuple[Scores, Scores] | None:
    """Scores of the model and of majority vote; None if no truth is known."""
    truth = analysis.truth
    if truth is None or not truth.any():
        return None
    models: list[LabelModel] = [analysis.model, label_model("mv").fitted_on(analysis.patterns)]
    own, majority = (_score(model.label_patterns(analysis.patterns, analysis.metric), truth) for model in models)
    return own, majority


def _score(labels: Labels, truth: NDArray[np.int64]) -> Scores:
    """Scores of the labels of p patterns, given the (p, k) items of each pattern and true class."""
    pattern, true_class = np.nonzero(truth)
    counts, called = truth[pattern, true_class], labels.best[pattern]
    return Scores(
        items=int(counts.sum()),
        accuracy=metrics.accuracy(true_class, called, counts),
        f1=metrics.f1(true_class, called, truth.shape[1], counts),
        brier=metrics.brier(true_class, labels.probabilities[pattern], counts),
    )


def count_confidence(analysis: LFAnalysis) -> tuple[NDArray[np.int64], float, float]:
    """Histogram of the confidence of all items with votes: (b,) counts, and where the bins begin and end."""
    voted = np.flatnonzero(analysis.patterns.has_votes)
    confidence = analysis.probabilities[voted].max(1)
    low = 1 / analysis.patterns.n_classes
    high = min(1.0, np.ceil(float(confidence.max(initial=low)) * 20) / 20)
    high = max(high, low + 0.05) if low < 1 else low + 0.05
    counts, _ = np.histogram(confidence, _BINS, (low, high), weights=analysis.patterns.counts[voted])
    return counts.astype(np.int64), low, high


def rank_contested(analysis: LFAnalysis, most: int) -> NDArray[np.intp]:
    """Patterns with votes that conflict, closest best two classes first. -> (at most `most`,)."""
    contested = np.flatnonzero(analysis.conflicting)
    if not len(contested):
        return contested
    best = np.sort(analysis.probabilities[contested], 1)
    order = np.lexsort((-analysis.patterns.counts[contested], best[:, -1] - best[:, -2]))
    return contested[order[:most]]


def example_items(inverse: NDArray[np.integer], patterns: NDArray[np.intp]) -> list[int]:
    """The first item of each pattern. (n,), (q,) -> q items."""
    return [int((inverse == pattern).argmax()) for pattern in patterns]


def conflict_shares(analysis: LFAnalysis, lfs: NDArray[np.intp]) -> Float64:
    """Share of one LF's votes on which the other LF votes for another class; coverage on the diagonal. -> (q, q).

    NaN where two LFs never vote on the same item.
    """
    pairs = np.ix_(lfs, lfs)
    votes = np.maximum(analysis.votes[lfs, None], 1)
    shares = np.where(analysis.shared[pairs] > 0, analysis.pair_conflicts[pairs] / votes, np.nan)
    np.fill_diagonal(shares, analysis.coverage[lfs])
    return shares
