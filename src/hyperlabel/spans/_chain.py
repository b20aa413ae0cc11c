r"""Tags of tokens as chains: legal sequences of B, I and O, their best path and their probabilities.

Tags are numbered B = 2 t, I = 2 t + 1 of type t, and O last; K of them. Tokens that nobody marks are O, so the marked
tokens between them are independent runs. A run of tags y has the score

    sum_i s_i(y_i) + sum_i w(y_{i-1}, y_i),   w(a, b) = 1/2 log(P(b | a) / P(b)),

with O before and after it. s are log-scores of the tags of a token; P is counted from soft labels. The half keeps
what neighbors share from counting twice: both tokens have votes of the same LFs. I follows only B or I of its type.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64

_CELLS = 1 << 21  # pairs of tags of tokens that are judged at a time
_SMOOTHING = 0.1  # bigrams that are added to each count
_FORBIDDEN = -1e9


def legal_bigrams(n_tags: int) -> NDArray[np.bool_]:
    """Return which tag may follow which. -> (K, K).

    >>> legal_bigrams(3).astype(int).tolist()
    [[1, 1, 1], [1, 1, 1], [1, 0, 1]]
    """
    tag = np.arange(n_tags)
    inside = (tag % 2 == 1) & (tag < n_tags - 1)
    return np.asarray(~inside | ((tag[:, None] // 2 == tag // 2) & (tag < n_tags - 1)[:, None]))


@dataclass(frozen=True)
class Runs:
    """Runs of consecutive marked tokens of a document, the longest first."""

    starts: NDArray[np.intp]  # (r,) first token of each run, counted among the marked tokens
    lengths: NDArray[np.intp]  # (r,)

    @classmethod
    def find(cls, first: NDArray[np.bool_]) -> "Runs":
        """Find the runs from whether a token is the first of its run. (t,)."""
        starts = np.flatnonzero(first)
        lengths = np.diff(np.append(starts, len(first)))
        order = np.argsort(-lengths, kind="stable")
        return cls(starts[order], lengths[order])

    def blocks(self, n_tags: int) -> Iterator["Runs"]:
        """Yield the runs in parts of few tokens, fewer if there are many tags."""
        size, total = max(1, _CELLS // n_tags**2), np.cumsum(self.lengths)
        cuts = np.unique(np.searchsorted(total, np.arange(size, int(total[-1]), size)))
        for part in np.split(np.arange(len(self.starts)), cuts):
            if len(part):
                yield Runs(self.starts[part], self.lengths[part])

    @cached_property
    def tokens(self) -> NDArray[np.intp]:
        """The tokens of all runs, run by run."""
        return np.repeat(self.starts - self._before, self.lengths) + np.arange(int(self.lengths.sum()))

    @property
    def _before(self) -> NDArray[np.intp]:
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    @property
    def local(self) -> "Runs":
        """The same runs, counted among their own tokens."""
        return Runs(self._before, self.lengths)

    def steps(self) -> Iterator[NDArray[np.intp]]:
        """Yield the first token of every run, then the second of those that have one, and so on."""
        longest = int(self.lengths[0]) if len(self.lengths) else 0
        counts = np.searchsorted(-self.lengths, -np.arange(longest), "left")
        return (self.starts[:count] + step for step, count in enumerate(counts))


def weigh_bigrams(counts: Float64) -> Float64:
    """Return the weights of neighbors from their counts, half of their log-odds; illegal ones weigh next to nothing."""
    smoothed = counts + _SMOOTHING
    share = smoothed / smoothed.sum(1, keepdims=True)
    weights = 0.5 * np.log(share * (smoothed.sum() / smoothed.sum(0)))
    return np.where(legal_bigrams(len(counts)), weights, _FORBIDDEN)


def best_path(scores: Float64, runs: Runs, weights: Float64) -> NDArray[np.int16]:
    """Return the tags of the best legal path of each run. (t, K) -> (t,)."""
    back, best = np.empty(scores.shape, np.int16), np.empty(len(scores), np.int16)
    steps = list(runs.steps())
    score = scores[steps[0]] + weights[-1]
    for tokens in steps[1:]:
        paths = score[: len(tokens), :, None] + weights
        back[tokens] = paths.argmax(1)
        score[: len(tokens)] = paths.max(1) + scores[tokens]
    tag = (score + weights[:, -1]).argmax(1)
    for step in range(len(steps) - 1, -1, -1):
        tokens = steps[step]
        best[tokens] = tag[: len(tokens)]
        if step:
            tag[: len(tokens)] = back[tokens, tag[: len(tokens)]]
    return best


def marginals(scores: Float64, runs: Runs, weights: Float64) -> tuple[Float64, Float64]:
    """Return the probabilities of tags, and the weight of what follows each. (t, K) -> (t, K), (t, K).

    The second is s_i(y) plus all that follows, as a factor, each row scaled by a constant.
    """
    factor, moves = np.exp(scores - scores.max(1, keepdims=True)), np.exp(weights)
    ahead, behind = np.empty_like(factor), np.empty_like(factor)
    steps = list(runs.steps())
    ahead[steps[0]] = moves[-1] * factor[steps[0]]
    for tokens in steps[1:]:
        before = ahead[tokens - 1]
        ahead[tokens] = (before / before.sum(1, keepdims=True)) @ moves * factor[tokens]
    lasts = runs.starts + runs.lengths - 1
    behind[lasts] = moves[:, -1]
    for tokens in steps[:0:-1]:
        behind[tokens] = _scale(behind[tokens] * factor[tokens])
        behind[tokens - 1] = behind[tokens] @ moves.T
    behind[steps[0]] = _scale(behind[steps[0]] * factor[steps[0]])
    return _scale(ahead * behind / np.maximum(factor, 1e-300)), behind


def _scale(rows: Float64) -> Float64:
    return np.asarray(rows / rows.sum(1, keepdims=True), np.float64)


def span_probabilities(
    tags: NDArray[np.integer], runs: Runs, marginal: Float64, behind: Float64, weights: Float64
) -> tuple[NDArray[np.intp], NDArray[np.intp], Float64]:
    """Find the spans of tags and their probabilities. -> first and last token of each, (s,) probabilities.

    P(span) = P(B) times P(I | the tag before) for each further token, times P(not I | the last tag).
    """
    t, outside = np.arange(len(tags)), marginal.shape[1] - 1
    is_last = np.zeros(len(tags), bool)
    is_last[runs.starts + runs.lengths - 1] = True
    follows = np.append(t[1:], 0)  # of the last token of a run, another run's: not used
    onward = np.exp(weights[tags]) * behind[follows]  # (t, K) ways to go on from the tag of each token
    inside = np.minimum(tags | 1, outside)
    stay = np.where(is_last, 0.0, np.clip(onward[t, inside] / onward.sum(1), 0, 1))
    firsts = np.flatnonzero((tags % 2 == 0) & (tags < outside))
    goes_on = np.append(tags[1:] % 2 == 1, False) & ~is_last & (np.append(tags[1:], outside) < outside)
    lasts = np.flatnonzero((tags < outside) & ~goes_on)
    logs = np.append(0.0, np.cumsum(np.log(np.maximum(stay, 1e-300))))
    chain = np.exp(logs[lasts] - logs[firsts])
    return firsts, lasts, marginal[firsts, tags[firsts]] * chain * (1 - stay[lasts])
