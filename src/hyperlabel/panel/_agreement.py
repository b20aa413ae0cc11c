"""Agreement of judges beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha, for classes with an order or not.

Flows in: (n, m) class numbers of n items and m judges, -1 for no vote. Flows out: 1 for judges who always agree, 0 for
judges who agree as often as by chance, less for those who agree less; NaN if there is too little to tell.

With an order, alpha is that of squared distances between the values of classes. Its ordinal form takes the mean rank of
a class among all votes as its value (K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011), so that both
forms are sums of squares.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64

Cells = NDArray[np.integer]


class Agreement(NamedTuple):
    """Agreement of the judges of a panel.

    Attributes:
        krippendorff_alpha: Of all judges, for classes without an order.
        fleiss_kappa: Of all judges.
        cohen_kappa: The mean over pairs of judges, weighted by the items that both judge.
        pairs: (m, m) Cohen's kappa of each pair.
        shared: (m, m) items that both of a pair judge.
        used: (m,) votes of each judge that count here: those on items that another judge votes on, too.
        ordinal_alpha: Krippendorff's alpha for classes with an order; NaN without one.
        interval_alpha: Krippendorff's alpha for classes that are numbers with an order; NaN for others.
        weighted_kappa: Like `cohen_kappa`, with quadratic weights, for classes with an order; NaN without one.
    """

    krippendorff_alpha: float
    fleiss_kappa: float
    cohen_kappa: float
    pairs: Float64
    shared: Float64
    used: NDArray[np.int64]
    ordinal_alpha: float = float("nan")
    interval_alpha: float = float("nan")
    weighted_kappa: float = float("nan")


def measure_agreement(cells: Cells, k: int, ordered: Sequence[object] | None = None) -> Agreement:
    """All statistics of a panel at once; `ordered` holds the k classes, if they have an order.

    >>> round(measure_agreement(np.array([[0, 0, 0], [1, 1, 1], [1, 1, 0]]), 2).cohen_kappa, 3)
    0.6
    """
    pairs, shared = pairwise_kappa(cells, k)
    voted = cells >= 0
    used = (voted & (voted.sum(1) > 1)[:, None]).sum(0).astype(np.int64)
    mean = _weighted_mean(pairs, np.triu(shared, 1))
    plain = Agreement(krippendorff_alpha(cells, k), fleiss_kappa(cells, k), mean, pairs, shared, used)
    if ordered is None:
        return plain
    numbers = all(isinstance(c, int | float) for c in ordered)
    interval = interval_alpha(cells, np.array(ordered, float)) if numbers else float("nan")
    weighted = _weighted_mean(weighted_kappa(cells, k), np.triu(shared, 1))
    return plain._replace(ordinal_alpha=ordinal_alpha(cells, k), interval_alpha=interval, weighted_kappa=weighted)


def mean_kappa(agreement: Agreement) -> Float64:
    """Each judge's agreement with the others: the mean of its pairs, weighted by the items they share. -> (m,)."""
    weights = agreement.shared * (1 - np.eye(len(agreement.shared)))
    return np.array([_weighted_mean(row, weight) for row, weight in zip(agreement.pairs, weights, strict=True)])


def _weighted_mean(values: Float64, weights: Float64) -> float:
    counted = ~np.isnan(values) & (weights > 0)
    total = weights[counted].sum()
    return float((values[counted] * weights[counted]).sum() / total) if total else float("nan")


def cohen_kappa(one: Cells, other: Cells, k: int) -> float:
    """Cohen's kappa of two judges, on the items that both judge. (n,), (n,) class numbers.

    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2), 3)
    0.5
    """
    return float(pairwise_kappa(np.stack([one, other], 1), k)[0][0, 1])


def pairwise_kappa(cells: Cells, k: int) -> tuple[Float64, Float64]:
    """Cohen's kappa of each pair of judges, and the number of items that both judge. (n, m) -> (m, m), (m, m)."""
    voted = (cells >= 0).astype(np.float64)
    shared = voted.T @ voted
    agreed, chance = np.zeros_like(shared), np.zeros_like(shared)
    for c in range(k):
        chosen = (cells == c).astype(np.float64)
        agreed += chosen.T @ chosen
        cast = chosen.T @ voted  # (m, m) votes for c of one judge where the other votes too
        chance += cast * cast.T
    items = np.where(shared > 0, shared, np.nan)
    return _beyond(agreed / items, chance / items**2), shared


def weighted_kappa(cells: Cells, k: int, weights: Literal["linear", "quadratic"] = "quadratic") -> Float64:
    """Cohen's kappa of each pair of judges, where being off by more classes counts more. (n, m) -> (m, m).

    >>> cells = np.array([[0, 0], [1, 2], [2, 2], [3, 3]])
    >>> round(float(weighted_kappa(cells, 4)[0, 1]), 3)
    0.9
    """
    voted = (cells >= 0).astype(np.float64)
    shared = voted.T @ voted
    chosen = [(cells == c).astype(np.float64) for c in range(k)]
    cast = np.stack([each.T @ voted for each in chosen])  # (k, m, m) votes of one judge where the other votes too
    observed, expected = np.zeros_like(shared), np.zeros_like(shared)
    for c in range(k):
        off = np.abs(np.arange(k) - c) ** (2.0 if weights == "quadratic" else 1.0)
        observed += chosen[c].T @ (off[cells] * voted)
        expected += cast[c] * np.tensordot(off, cast, 1).T
    return np.asarray(1 - observed * shared / np.where(expected > 0, expected, np.nan))


def fleiss_kappa(cells: Cells, k: int) -> float:
    """Fleiss' kappa of all judges.

    Items with fewer than two votes are left out. If items have different numbers of votes, each item counts once in
    the agreement and each vote once in the shares of the classes.

    >>> round(fleiss_kappa(np.array([[0, 0], [1, 1], [0, 1]]), 2), 3)
    0.333
    """
    counts = _count_several(cells, k)
    if not len(counts):
        return float("nan")
    votes = counts.sum(1)
    agreed = (counts * (counts - 1)).sum(1) / (votes * (votes - 1))
    shares = counts.sum(0) / counts.sum()
    return float(_beyond(agreed.mean(), (shares**2).sum()))


def krippendorff_alpha(cells: Cells, k: int) -> float:
    """Krippendorff's alpha of all judges, for classes without an order; any vote may be missing.

    >>> round(krippendorff_alpha(np.array([[0, 0], [1, 1], [0, 1]]), 2), 3)
    0.444
    """
    counts = _count_several(cells, k)
    if not len(counts):
        return float("nan")
    votes, totals = counts.sum(1), counts.sum(0)
    n = totals.sum()
    agreed = ((counts * (counts - 1)).sum(1) / (votes - 1)).sum() / n
    return float(_beyond(agreed, (totals * (totals - 1)).sum() / (n * (n - 1))))


def ordinal_alpha(cells: Cells, k: int) -> float:
    """Krippendorff's alpha of all judges, for k classes in their order.

    >>> round(ordinal_alpha(np.array([[0, 0], [1, 2], [2, 2]]), 3), 3)
    0.778
    """
    totals = _count_several(cells, k).sum(0)
    return interval_alpha(cells, totals.cumsum() - totals / 2)


def interval_alpha(cells: Cells, values: Float64) -> float:
    """Krippendorff's alpha of all judges, for classes that are numbers. (n, m), (k,) values of the classes.

    >>> round(interval_alpha(np.array([[0, 0], [1, 2], [2, 2]]), np.array([1.0, 2.0, 3.0])), 3)
    0.828
    """
    counts = _count_several(cells, len(values))
    if not len(counts):
        return float("nan")
    n, votes = counts.sum(), counts.sum(1)
    centered = values - counts.sum(0) @ values / n  # so that the sums of squares keep their digits
    within = (votes * (counts @ centered**2) - (counts @ centered) ** 2) / (votes - 1)
    between = counts.sum(0) @ centered**2 * n - (counts.sum(0) @ centered) ** 2
    return float(1 - within.sum() / n / (between / (n * (n - 1)))) if between > 0 else float("nan")


def count_classes(cells: Cells, k: int) -> Float64:
    """Count the judges that vote for each class. (n, m) -> (n, k)."""
    return np.stack([(cells == c).sum(1) for c in range(k)], 1).astype(np.float64)


def _count_several(cells: Cells, k: int) -> Float64:
    """The same, of the items with two votes or more."""
    counts = count_classes(cells, k)
    return np.asarray(counts[counts.sum(1) > 1])


def _beyond(agreed: Float64 | float, chance: Float64 | float) -> Float64:
    """Agreement beyond chance; NaN if chance explains everything."""
    room = np.where(np.asarray(chance) < 1, 1 - np.asarray(chance), np.nan)
    return np.asarray((agreed - chance) / room)
