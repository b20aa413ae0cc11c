"""`label_spans`: votes on spans in, spans with probabilities out.

An LF votes B or I on the tokens that it marks, and abstains elsewhere. Tokens that nobody marks are O. A label model
judges the patterns of marked tokens, and `hyperlabel.spans._chain` makes legal spans of what it says.

Without a stated model, majority vote judges the patterns. Where LFs overlap, it is only the start: where a marked token
has more than two votes on average, votes can be outvoted, and the silence of an LF on what others mark says something
too. Then two rounds follow: the shares of B, I and silence of each LF under each tag are counted from the soft labels
(smoothed), and tokens are judged anew, by prior x likelihood of all votes and silences. Votes of a token are not
independent; together they count as two independent ones, so that the log-likelihood is multiplied by 2 / (mean number
of votes). Below two votes nothing is estimated: LFs that find different spans cannot judge each other.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, show, show_some
from hyperlabel.data import Patterns, Votes, smallest_type
from hyperlabel.errors import ParameterError
from hyperlabel.models import LabelModel, MajorityVote, choose_model
from hyperlabel.spans._chain import Runs, best_path, marginals, span_probabilities, weigh_bigrams
from hyperlabel.spans._documents import NO_MARKS, Marks, SpanDocuments, is_among, read_documents
from hyperlabel.spans._labels import SpanLabels
from hyperlabel.spans._read import read_spans
from hyperlabel.spans._support import describe_spans, recalibrate, weigh_support

INDEPENDENT = 2.0
"""The votes of a token count as this many independent ones, at most; with no more, nobody can be outvoted."""

_ROUNDS = 2
_SMOOTHING = 0.1  # tokens that are added to each count
_LEAST = 1e-6  # the least probability of a tag
_KNOWN = 30.0  # by how much the score of a known tag exceeds that of others


def label_spans(
    documents: Any,
    *,
    model: LabelModel | str | None = None,
    gold: object = None,
    types: Sequence[str] | None = None,
) -> SpanLabels:
    """Turn votes on spans of tokens into spans with probabilities.

    Args:
        documents: Mappings with `tokens` and `votes`, a mapping from LF to spans `[start, end, type]` (end excluded);
            or with `text` in place of tokens, whose spans count characters and are aligned to words (`TOKEN`); spaCy
            Docs whose span groups are LFs; or the path of a file that `read_spans` reads. An LF without a span in a
            document abstains on its tokens.
        model: The label model that judges the votes on each token, or its short name; a fitted one, such as `model` of
            an earlier result, judges in its state. If not given, majority vote, refined by what the votes say about
            the LFs where a marked token has more than two votes on average.
        gold: The true spans of some documents: the key that holds them (`"gold"`), a mapping from document to spans, or
            one list of spans per document, None for unknown. These documents keep them; the probabilities of all other
            spans are corrected by them, and spans that are unlikely then are left out.
        types: The types of spans, in the order of the result; votes for others are left out, with a warning.

    Returns:
        One list of spans for each document, with probabilities and the LFs behind them.

    >>> documents = [
    ...     {"tokens": ["Ada", "Lovelace", "in", "London"], "votes": {"a": [[0, 2, "PER"]], "b": [[3, 4, "LOC"]]}},
    ...     {"tokens": ["London", "calls"], "votes": {"a": [[0, 1, "LOC"]], "b": [[0, 1, "LOC"]]}},
    ... ]
    >>> labels = label_spans(documents)
    >>> [[span[:3] for span in spans] for spans in labels.spans]
    [[(0, 2, 'PER'), (3, 4, 'LOC')], [(0, 1, 'LOC')]]
    """
    if types is not None and (isinstance(types, str) or not all(isinstance(name, str) for name in types)):
        raise ParameterError(f"types is {show(types)}; expected a list of names, such as ['PER', 'LOC']")
    read = read_documents(read_spans(documents), types)
    true, known = (NO_MARKS, np.zeros(len(read), bool)) if gold is None else read.read_truth(gold, "gold")
    if not len(read.votes.start) + len(true.start):
        return SpanLabels(read, NO_MARKS, np.empty(0), None)
    judge = TokenJudge.fit(MarkedTokens.find(read, true, known), model)
    if known.any():
        spans, probability = _correct(judge, read, true, known)
    else:
        spans, probability = judge.find_spans(read)
    return SpanLabels(read, spans, probability, judge.model)


def _correct(
    judge: "TokenJudge", documents: SpanDocuments, true: Marks, has_gold: NDArray[np.bool_]
) -> tuple[Marks, Float64]:
    """Find spans; correct their probabilities by what would be found in the documents with gold without their gold.

    Spans whose probability is less than half of the F1 there are left out: they would lower the F1.
    """
    spans, probability = judge.find_spans(documents)
    guesses, before = replace(judge, marked=judge.marked.without_gold()).find_spans(documents)
    judged = has_gold[documents.locate(guesses.start)[0]]
    guesses, before = guesses.take(judged), before[judged]
    right = is_among(guesses, true)
    features = describe_spans(spans, probability, documents)
    corrected = recalibrate(features, describe_spans(guesses, before, documents), right)
    probability = np.where(has_gold[documents.locate(spans.start)[0]], 1.0, corrected)
    kept = probability >= right.sum() / max(1, len(right) + len(true.start))
    return spans.take(kept), probability[kept]


@dataclass(frozen=True, eq=False)
class MarkedTokens:
    """Tokens that an LF or gold marks, and the patterns of their votes."""

    token: NDArray[np.int64]  # (t,) numbers of the tokens, counted through all documents
    runs: Runs
    patterns: Patterns  # p of them; classes are B and I of each type
    known: NDArray[np.int16]  # (t,) the true tag where gold knows it, else -1
    n_tokens: int  # of all documents

    @classmethod
    def find(cls, documents: SpanDocuments, gold: Marks, has_gold: NDArray[np.bool_]) -> "MarkedTokens":
        """Find the marked tokens; `gold` has the true spans of the documents of a mask."""
        is_marked = np.zeros(documents.n_tokens, bool)
        for tokens, _, _ in chain(paint(documents.votes), paint(gold)):
            is_marked[tokens] = True
        token = np.flatnonzero(is_marked)
        row = np.cumsum(is_marked, dtype=np.int32) - 1
        k, m = 2 * len(documents.types), len(documents.lf_names)
        cells = np.full((len(token), m), -1, smallest_type(k))
        for tokens, owner, tag in paint(documents.votes):
            cells[row[tokens], owner] = tag
        known = np.where(has_gold[documents.locate(token)[0]], k, -1).astype(np.int16)
        for tokens, _, tag in paint(gold):
            known[row[tokens]] = tag
        first = np.append(True, np.diff(token) > 1)[: len(token)] | ~documents.joined[token]
        names = tuple(f"{mark}-{name}" for name in documents.types for mark in "BI")
        votes = Votes.from_parts(names, documents.lf_names, cells, stated=True)
        return cls(token, Runs.find(first), Patterns.from_votes(votes), known, documents.n_tokens)

    def without_gold(self) -> "MarkedTokens":
        """Return the same as if gold were not known: tokens that no LF marks are O."""
        silent = np.diff(self.patterns.starts)[self.pattern] == 0
        return replace(self, known=np.where(silent, self.patterns.n_classes, -1).astype(np.int16))

    @property
    def n_tags(self) -> int:
        """B and I of each type, and O."""
        return self.patterns.n_classes + 1

    @cached_property
    def pattern(self) -> NDArray[np.intp]:
        """The pattern of each marked token. (t,)."""
        assert self.patterns.inverse is not None
        return np.asarray(self.patterns.inverse, np.intp)

    @property
    def mean_votes(self) -> float:
        """Votes on a token that an LF marks, on average."""
        counts, votes = self.patterns.counts, np.diff(self.patterns.starts)
        return float(counts @ votes) / max(1, int(counts @ (votes > 0)))


def paint(marks: Marks) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the first token of all spans, the source of each, and its tag; then the second where there is one, ..."""
    step, size = 0, marks.end - marks.start
    while len(size):
        yield marks.start + step, marks.source, 2 * marks.type + (step > 0)
        step += 1
        marks, size = marks.take(size > step), size[size > step]


@dataclass(frozen=True, eq=False)
class TokenJudge:
    """Scores of the tags of marked tokens, and of neighbors."""

    marked: MarkedTokens
    by_pattern: Float64  # (p, K) log-scores of the tags
    weights: Float64  # (K, K) of neighbors
    model: LabelModel | None

    @classmethod
    def fit(cls, marked: MarkedTokens, model: LabelModel | str | None) -> "TokenJudge":
        """Judge the patterns by a label model, or by the votes alone; count neighbors from the result."""
        fitted, probabilities = _judge_patterns(choose_model("mv" if model is None else model), marked)
        scores = np.log(np.maximum(np.pad(probabilities, ((0, 0), (0, 1))), _LEAST))
        judge = cls(marked, scores, np.zeros((marked.n_tags, marked.n_tags)), None if model is None else fitted)
        neighbors, _ = judge._count(lambda block: _soften(judge.scores(block)))
        judge = replace(judge, weights=weigh_bigrams(neighbors))
        if model is None and marked.mean_votes > INDEPENDENT:
            for _ in range(_ROUNDS):
                judge = judge._improve()
        return judge

    def find_spans(self, documents: SpanDocuments) -> tuple[Marks, Float64]:
        """Find the spans of all documents, in order, and their probabilities."""
        token, blocks = self.marked.token, self.marked.runs.blocks(self.marked.n_tags)
        parts = [self._find_in(block) for block in blocks]
        first, last, tag, probability = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(first)
        start, end, kind = token[first[order]], token[last[order]] + 1, tag[order] // 2
        spans = Marks(start, end, kind, np.zeros_like(start))
        return spans, probability[order] * weigh_support(spans, documents.votes, len(documents.lf_names))

    def _find_in(self, block: Runs) -> tuple[NDArray[Any], ...]:
        """Return first and last token, first tag and probability of the spans of some runs."""
        scores, runs, weights = self.scores(block), block.local, self.weights
        tags = best_path(scores, runs, weights)
        firsts, lasts, probability = span_probabilities(tags, runs, *marginals(scores, runs, weights), weights)
        return block.tokens[firsts], block.tokens[lasts], tags[firsts].astype(np.int64), probability

    def scores(self, block: Runs) -> Float64:
        """Return the scores of the tokens of some runs; a known tag excels. -> (t, K)."""
        scores = self.by_pattern[self.marked.pattern[block.tokens]]
        known = self.marked.known[block.tokens]
        rows = np.flatnonzero(known >= 0)
        scores[rows] = -_KNOWN
        scores[rows, known[rows]] = 0
        return scores

    def _improve(self) -> "TokenJudge":
        """Judge the LFs by the soft labels of all tokens, then the tokens anew."""
        neighbors, tags = self._count(lambda block: marginals(self.scores(block), block.local, self.weights)[0])
        return replace(self, by_pattern=_score_patterns(self.marked, tags), weights=weigh_bigrams(neighbors))

    def _count(self, soft_labels: Callable[[Runs], Float64]) -> tuple[Float64, Float64]:
        """Count neighbors, and the tags of each pattern, from soft labels of runs. -> (K, K), (p, K)."""
        marked, k = self.marked, self.marked.n_tags
        neighbors, tags = np.zeros((k, k)), np.zeros_like(self.by_pattern)
        neighbors[-1, -1] = max(1, marked.n_tokens - len(marked.token) - len(marked.runs.starts))
        for block in marked.runs.blocks(marked.n_tags):
            soft, pattern = soft_labels(block), marked.pattern[block.tokens]
            neighbors += _count_bigrams(soft, block.local)
            for tag in range(k):
                tags[:, tag] += np.bincount(pattern, soft[:, tag], len(tags))
        return neighbors, tags


def _judge_patterns(model: LabelModel, marked: MarkedTokens) -> tuple[LabelModel, Float64]:
    """Return a model that has read the votes, and gold, a fitted one as it is; and what it says. -> (p, k)."""
    patterns, known = marked.patterns, marked.known
    if model.is_fitted:
        patterns = model.read(patterns)
        if patterns.classes != marked.patterns.classes:
            raise ParameterError(
                f"model knows the tags {show_some(patterns.classes)}; expected {show_some(marked.patterns.classes)}. "
                "State the types that it was fitted with"
            )
    elif (known >= 0).any() and not isinstance(model, MajorityVote):  # it would look gold up, without O
        inside = np.where(known < patterns.n_classes, known, -1).astype(np.int64)
        model = copy.copy(model).fit_patterns(patterns, patterns.count_labels(inside))
    else:
        model = model.fitted_on(patterns)
    return model, model.pattern_probabilities(patterns)


def _soften(scores: Float64) -> Float64:
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(shares / shares.sum(1, keepdims=True))


def _count_bigrams(soft: Float64, runs: Runs) -> Float64:
    """Count tags and their neighbors, with O before and after each run. (t, K) -> (K, K)."""
    lasts = runs.starts + runs.lengths - 1
    inner = np.ones(len(soft), bool)
    inner[lasts] = False
    before = np.flatnonzero(inner)
    counts = soft[before].T @ soft[before + 1]
    counts[-1] += soft[runs.starts].sum(0)
    counts[:, -1] += soft[lasts].sum(0)
    return np.asarray(counts)


def _score_patterns(marked: MarkedTokens, by_pattern: Float64) -> Float64:
    """Return log prior + the tempered log-likelihood of votes and silences, from soft counts. (p, K) -> (p, K).

    Silence is common to all patterns: every LF is silent first, and each vote adds what it has more than silence.
    """
    patterns, (p, k) = marked.patterns, by_pattern.shape
    totals = by_pattern.sum(0)
    totals[-1] += marked.n_tokens - len(marked.token)
    cell = patterns.lf * (k - 1) + patterns.vote
    votes = np.stack(
        [np.bincount(cell, by_pattern[patterns.row, tag], patterns.n_lfs * (k - 1)) for tag in range(k)], 1
    )
    votes = votes.reshape(patterns.n_lfs, k - 1, k)
    silent = np.log(totals - votes.sum(1) + _SMOOTHING)  # (m, K)
    gains = np.log(votes + _SMOOTHING) - silent[:, None, :]  # (m, k, K)
    normal = patterns.n_lfs * np.log(totals + k * _SMOOTHING)
    likelihood = np.tile(silent.sum(0) - normal, (p, 1))
    for tag in range(k):
        likelihood[:, tag] += np.bincount(patterns.row, gains[patterns.lf, patterns.vote, tag], p)
    temper = INDEPENDENT / marked.mean_votes
    return np.asarray(np.log(totals / totals.sum() + _LEAST) + temper * likelihood)
