"""A fitted model as sums over the votes of a row, which SQL can express.

For a row with `size` votes, `s_c` is the sum over its votes of `table[lf, vote, c]`. The probabilities of the classes
that the model learned about are the softmax of `bias_c + scale * size ** power * s_c`, maybe mixed with the shares of
the votes; or, for models that share out votes, `s_c` over the sum of all. Gold items of the same votes are added;
`weight` says for how many items the probabilities count.
"""

from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from hyperlabel._core import Float64, softmax
from hyperlabel.data import Patterns, Rows
from hyperlabel.errors import ParameterError
from hyperlabel.models import (
    BalancedVote,
    ConfusionModel,
    FitContext,
    HyperLabelModel,
    LabelModel,
    MajorityVote,
    strip_prefix,
    unpack_context,
)

TOLERANCE = 1e-9  # how much a formula and its model may differ
_LOG_ZERO = -1e4  # the logarithm of a number that rounds to exactly 0
_TRIED = 500  # random rows on which the two are compared
REMEDY = "Export its patterns with their labels instead: --table, pattern_table"


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over votes."""

    table: Float64  # (m, c, c) what a vote of each LF, for each of c classes, adds to each of them
    bias: Float64  # (c,) what is added to each class; not for shares
    scale: float = 1.0  # the factor of the sums, for a row with one vote
    power: float = 0.0  # how the factor changes with the number of votes
    shares: bool = False  # whether probabilities are shares of the sums, not their softmax
    vote_weight: float = 0.0  # how much shares of the votes count beside the softmax, 0 to 1


@dataclass(frozen=True, eq=False)
class GoldRows:
    """Rows whose probabilities are mixed with gold."""

    patterns: Patterns  # the vote rows
    added: Float64  # (g, k) gold items of each row and class, weighted
    weight: float  # for how many gold items the probabilities count
    # Whether rows and classes are only those that the model learned about: then gold counts before votes for other
    # classes take their share.
    inner: bool = False

    def mix(self, probabilities: Float64, patterns: Patterns) -> None:
        """Add gold to the probabilities of patterns. Changes (p, k) probabilities."""
        index = patterns.find(self.patterns)
        rows = np.flatnonzero((index >= 0) & patterns.has_votes)
        added = self.added[index[rows]]
        probabilities[rows] = (self.weight * probabilities[rows] + added) / (self.weight + added.sum(1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula for the probabilities of any row."""

    context: FitContext  # the classes and LFs
    sums: Sums  # for the classes that the model learned about
    gold: GoldRows | None = None  # rows with gold; None if there are none

    def probabilities(self, patterns: Patterns) -> Float64:
        """Compute probabilities by the formula, as SQL does. -> (p, k)."""
        inner = self.context.restrict(patterns)
        judged = _judge(self.sums, inner)
        if self.gold is not None and self.gold.inner:
            self.gold.mix(judged, inner)
        shares = self.context.expand(judged, patterns)
        shares[~patterns.has_votes] = 1 / patterns.n_classes
        if self.gold is not None and not self.gold.inner:
            self.gold.mix(shares, patterns)
        return shares


def _judge(sums: Sums, inner: Patterns) -> Float64:
    """Compute probabilities of the classes that were learned; the result for rows without votes is not used."""
    size = np.maximum(np.diff(inner.starts), 1)[:, None]
    summed = np.zeros((inner.n_patterns, inner.n_classes))
    np.add.at(summed, inner.row, sums.table[inner.lf, inner.vote])
    if sums.shares:
        shares: Float64 = summed / np.maximum(summed.sum(1, keepdims=True), np.finfo(float).tiny)
        return shares
    cast = np.zeros_like(summed)
    np.add.at(cast, (inner.row, inner.vote), 1)
    judged = softmax(sums.bias + sums.scale * size**sums.power * summed)
    return np.asarray((1 - sums.vote_weight) * judged + sums.vote_weight * cast / size)


def find_formula(model: LabelModel) -> Formula:
    """Find the formula of a fitted model; refuse it unless it is exact on random rows and on those with gold.

    >>> from hyperlabel import label_model
    >>> find_formula(label_model("mv").fit([[0, 1], [1, 1]])).sums.shares
    True
    """
    arrays, header = model.to_arrays()
    if "seen" not in header:
        raise ParameterError(f"{model!r} is not fitted; fit it first")
    context = unpack_context(strip_prefix(arrays, "seen"), header["seen"])
    if context.outcomes is not None:
        raise ParameterError(
            f"{model!r} learned from votes such as {context.outcomes.names[0]!r}, which are not one class, and SQL has "
            f"no formula for them. {REMEDY}"
        )
    if context.ordinal:
        raise ParameterError(
            f"{model!r} leans to the median of ordered classes, and SQL has no formula for that. {REMEDY}"
        )
    formula = find_sums(model, context)
    if formula is None:
        raise ParameterError(f"{model!r} does not judge a row by a sum over its votes. {REMEDY}")
    if formula.gold is None and context.gold is not None:  # models that look it up count probabilities as one item
        formula = replace(formula, gold=GoldRows(context.gold.patterns, context.gold.counts.astype(np.float64), 1.0))
    _compare(formula, model)
    return formula


@singledispatch
def find_sums(model: object, context: FitContext) -> Formula | None:
    """Find the sums that a model judges by; None if it does not judge by sums."""
    return None


@find_sums.register
def _(model: MajorityVote, context: FitContext) -> Formula:
    c = len(context.active)
    return Formula(context, Sums(np.tile(np.eye(c), (context.n_lfs, 1, 1)), np.zeros(c), shares=True))


@find_sums.register
def _(model: BalancedVote, context: FitContext) -> Formula:
    weights = np.maximum(model.class_votes_, 1) ** -float(model.power)
    return Formula(context, Sums(np.tile(np.diag(weights), (context.n_lfs, 1, 1)), np.zeros(len(weights)), shares=True))


@find_sums.register
def _(model: ConfusionModel, context: FitContext) -> Formula:
    """Log-probabilities of votes; if abstaining is informative, it counts wherever the LF does not vote."""
    voting = _log(model.confusion_.transpose(0, 2, 1))  # (m, vote, class)
    silence = _log(np.where(model.abstain_is_outcome_[:, None], 1 - model.confusion_.sum(2), 1))
    return Formula(context, Sums(voting - silence[:, None], _log(model.class_balance_) + silence.sum(0)))


def _log(probabilities: Float64) -> Float64:
    """Return logarithms that stay finite where a probability is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Float64 = np.maximum(np.log(np.maximum(probabilities, 0)), _LOG_ZERO)
    return logs


@find_sums.register
def _(model: HyperLabelModel, context: FitContext) -> Formula | None:
    evidence = getattr(model.state_, "evidence", None)  # hlm3 has it; the paper's network does not
    if evidence is None:
        return None
    c = len(context.active)
    table = np.reshape(evidence.table, (-1, c, c))
    sums = Sums(table, evidence.bias, evidence.scale, evidence.power, vote_weight=evidence.vote_weight)
    gold = model.state_.gold
    if gold is None:
        return Formula(context, sums)
    added = gold.counts * evidence.gold_worth
    return Formula(context, sums, GoldRows(gold.patterns, added, evidence.gold_weight, inner=True))


def _compare(formula: Formula, model: LabelModel) -> None:
    """Refuse a formula that differs from the model."""
    # Rows with few and many votes, for all LFs and classes.
    context, rng = formula.context, np.random.default_rng(0)
    m, k = context.n_lfs, len(context.classes)
    cells = np.where(rng.random((_TRIED, m)) < rng.random((_TRIED, 1)), rng.integers(0, k, (_TRIED, m)), -1)
    counts = np.ones(_TRIED, np.int64)
    rows = Patterns(Rows.from_cells(cells), counts, m, k, None, context.lf_names, tuple(context.classes))
    if formula.gold is not None:
        gold = formula.gold.patterns
        own = Rows(gold.starts, gold.lf, context.active[gold.vote]) if formula.gold.inner else gold.rows
        rows = rows.with_rows(rows.rows.concatenate(own), np.ones(rows.n_patterns + gold.n_patterns, np.int64))
    difference = np.abs(formula.probabilities(rows) - model.pattern_probabilities(rows)).max(initial=0)
    if not difference <= TOLERANCE:
        raise ParameterError(f"{model!r} judges rows by more than sums over votes (off by {difference:.1e}). {REMEDY}")
