r"""Probabilities of spans: the chain judges bounds and types, the number of LFs whether something is there at all.

Nobody votes for "no span", so the chain of tags takes it for granted that the votes on a token mean something:

    P(span) = P(these bounds, this type | something is there) P(something is there).

LFs are right with a probability between 1/2 and 1, 3/4 on average, so that a vote multiplies the odds by 3, and a vote
that is usually there and missing divides them by 3:

    P(something is there) = sigmoid(log 3 (n - max(0, u - n))).

n is the number of independent votes behind the span: each LF counts 1 / (sum of its correlations with the LFs behind
it, itself included), correlations being those of voting for spans of one type, or 0 if negative. u is the mean of n
over all spans that these LFs are behind. An LF that is always alone has 3/4: nothing can confirm or refute it. With
gold, a logistic regression on the log-odds, the type and the LFs behind a span corrects the probabilities.
"""

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, sigmoid
from hyperlabel.spans._documents import Marks, SpanDocuments, find_lfs_behind

_VOTE = np.log(3.0)  # log-odds of a vote that is right in three of four cases
_LEAST = 1e-6  # the least probability whose log-odds are used
_STEPS = 20  # of Newton's method
_PRIOR = 4.0  # precision of the weights a priori


def weigh_support(spans: Marks, votes: Marks, n_lfs: int) -> Float64:
    """Return the probability that something is there, for each span. -> (s,).

    >>> spans = Marks(*np.array([[0, 5], [1, 6], [0, 0], [0, 0]]))
    >>> votes = Marks(*np.array([[0, 0, 5], [1, 1, 6], [0, 0, 0], [0, 1, 0]]))
    >>> weigh_support(spans, votes, 2).round(2).tolist()  # two LFs vote for the first span, one for the second
    [0.9, 0.63]
    """
    behind = find_lfs_behind(spans, votes, n_lfs)
    kinds = spans.type.astype("<u4").view(np.uint8).reshape(-1, 4)
    packed = np.column_stack([kinds, np.packbits(behind, axis=1)])
    _, first, inverse, counts = np.unique(packed, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return _weigh_patterns(behind[first].astype(np.float64), spans.type[first], counts)[inverse.ravel()]


def _weigh_patterns(behind: Float64, kind: NDArray[np.int64], counts: NDArray[np.intp]) -> Float64:
    """Return the same for distinct patterns (p, m) of LFs on spans of a type, and how often they occur. -> (p,)."""
    shares = behind * _share_votes(behind, kind, counts)
    n = shares.sum(1)
    usual = (counts * n) @ behind / np.maximum(counts @ behind, 1)  # (m,)
    expected = shares @ usual / np.maximum(n, _LEAST)
    return np.asarray(sigmoid(_VOTE * (n - np.maximum(0, expected - n))))


def _share_votes(behind: Float64, kind: NDArray[np.int64], counts: NDArray[np.intp]) -> Float64:
    """Return 1 / the sum of correlations of each LF with those behind the same span. -> (p, m)."""
    centered = behind.copy()
    for each in np.unique(kind):
        rows = kind == each
        centered[rows] -= np.average(behind[rows], 0, counts[rows])
    products = (centered * counts[:, None]).T @ centered
    scale = np.sqrt(np.diag(products))
    correlations = np.clip(products / (np.outer(scale, scale) + 1), 0, 1)  # the 1 keeps few spans from proving copies
    np.fill_diagonal(correlations, 1)
    return np.asarray(1 / np.maximum(behind @ correlations, 1))


def recalibrate(features: Float64, judged: Float64, right: NDArray[np.bool_]) -> Float64:
    """Return probabilities, corrected by spans of which it is known whether they are right. (s, f), (j, f) -> (s,).

    Logistic regression on the features of `describe_spans`. A priori the log-odds stay as they are: the first weight is
    1 and the others are 0, each with the variance 1/4.
    """
    prior = np.zeros(judged.shape[1])
    prior[0] = 1
    weights = prior
    for _ in range(_STEPS):
        mean = sigmoid(judged @ weights)
        slope = judged.T @ (right - mean) - _PRIOR * (weights - prior)
        curve = (judged * (mean * (1 - mean))[:, None]).T @ judged + _PRIOR * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights = weights + step / max(1.0, float(np.abs(step).max()))
    return np.asarray(sigmoid(features @ weights))


def describe_spans(spans: Marks, probability: Float64, documents: SpanDocuments) -> Float64:
    """Return the log-odds of each span, 1, its type, and the LFs behind it as zeros and ones. -> (s, f)."""
    inside = np.clip(probability, _LEAST, 1 - _LEAST)
    kinds = np.eye(len(documents.types))[spans.type]
    behind = find_lfs_behind(spans, documents.votes, len(documents.lf_names))
    return np.column_stack([np.log(inside / (1 - inside)), np.ones(len(kinds)), kinds, behind])
