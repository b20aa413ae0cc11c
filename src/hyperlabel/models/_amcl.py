"""Adversarial multi-class learning by a convex combination of the LFs (AMCL-CC).

A. Mazzetto, C. Cousins, D. Sam, S. H. Bach and E. Upfal, "Adversarial Multi Class Learning under Weak
Supervision with Performance Guarantees", ICML 2021. Each LF j is a classifier v_j that gives an item a
distribution over classes, and the model is h = sum_j weight_j v_j with weights on the simplex. Gold tells the
risk (half the Brier score) of each LF. The labels of the other items are unknown, but every labeling under
which each LF's risk is within a slack of its risk on gold is possible; the weights minimize the loss under the
worst of these labelings. The worst labeling is a linear program, the weights follow by projected subgradient
steps, and the weights with the lowest worst loss are kept.

In the method, LFs do not abstain. As in appendix G of R. Wu et al., "Learning Hyper Label Model for
Programmatic Weak Supervision", ICLR 2023, an abstention is filled with the label of the majority vote, tied
classes sharing it equally; or, with `fill="uniform"`, with the uniform distribution. Items without votes are left
out. Items with equal votes are one item with a weight in the linear program, and many patterns become equal once
they are filled. As in that appendix, the random forest takes over where there is no solution: where no labeling
is within the slacks, or the program is too large.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64
from hyperlabel.data import Patterns, Votes
from hyperlabel.errors import ConvergenceWarning, require
from hyperlabel.models._base import LabelModel
from hyperlabel.models._majority import count_classes
from hyperlabel.models._parameters import choice, number
from hyperlabel.models._random_forest import RandomForest, usable_gold
from hyperlabel.models._state import strip_prefix, with_prefix

Fill = Literal["majority", "uniform"]

_SLACK_SCALE, _SLACK_FAILURE = 0.1, 0.1  # from the authors' code: a scale, and a probability of failure


@dataclass(kw_only=True, eq=False, repr=False)
class AMCL(LabelModel):
    """Adversarial multi-class learning. Needs gold, and SciPy and scikit-learn (extra `sklearn`).

    The worst labels are sought for items without gold, or for all items if every item has gold.
    The published steps are small and their number is fixed: with many LFs the weights stay near uniform. An LF that
    was silent in `fit` has the weight of what filled its abstentions.

    Args:
        fill: What replaces an abstention: the label of the `majority` vote or the `uniform`
            distribution.
        slack: How far an LF's risk may be from its risk on gold; if not given, from the numbers of items with
            and without gold, by the formula of the authors' code.
        max_iter: Subgradient steps, each with a linear program.
        max_coefficients: Size of the linear program, in non-zero outputs of LFs on distinct patterns,
            above which the random forest takes over.
        forest: The forest that takes over; a `RandomForest` with the seed of this model if not given.

    Attributes:
        weights_: (m,) the weights of the LFs, which sum to 1; None where the random forest took over.
        worst_loss_: The largest half Brier score of these weights under possible labels; None likewise.
        forest_: The random forest, where it took over; None otherwise. A warning gives the reason.

    >>> votes = [[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, -1, 1]]
    >>> AMCL(slack=0.2, max_iter=10).fit(votes, gold=[0, 1, 0, -1, -1]).predict(votes).tolist()
    [0, 1, 0, 1, 0]
    """

    fill: Fill = "majority"
    slack: float | None = None
    max_iter: int = 500
    max_coefficients: int = 50_000
    forest: RandomForest | None = None

    learns_from_gold = True
    needs_gold = True
    short_names = ("amcl",)
    _constraints = LabelModel._constraints | {
        "fill": choice("majority", "uniform"),
        "slack": number(0, other=None),
        "max_iter": number(0, whole=True),
        "max_coefficients": number(0, whole=True),
    }

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        require("scipy", extra="sklearn")
        usable = usable_gold(self, patterns, gold)
        filled, gold_items = _merge_filled(patterns, usable) if self.fill == "majority" else (patterns, usable)
        shares, hidden = _shares(filled, self.fill), _hidden(filled, gold_items)
        size = _count_coefficients(filled, shares, hidden)
        solvable = size <= self.max_coefficients
        solution = _Game(filled, gold_items, hidden, shares, self.slack).solve(self.max_iter) if solvable else None
        self.weights_: Float64 | None = None
        self.worst_loss_: float | None = None
        self.forest_: RandomForest | None = None
        if solution is not None:
            self.weights_, self.worst_loss_, self.n_iter_ = *solution, self.max_iter
        elif solvable:
            self._fall_back(patterns, usable, "no labels give every LF a risk within its slack")
        else:
            limit = self.max_coefficients
            self._fall_back(patterns, usable, f"{size} coefficients are more than max_coefficients={limit}")

    def _fall_back(self, patterns: Patterns, gold: NDArray[np.int64], reason: str) -> None:
        params = {"seed": self.seed} if self.forest is None else self.forest.get_params()
        self.forest_ = RandomForest(**params)
        self.forest_._learn(patterns, gold, for_f1=True)
        message = f"AMCL has no solution ({reason}); a random forest took its place"
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _probabilities(self, patterns: Patterns) -> Float64:
        if self.weights_ is None:
            assert self.forest_ is not None  # one of the two always exists
            return self.forest_._probabilities(patterns)
        p, k = patterns.n_patterns, patterns.n_classes
        code = patterns.row * k + patterns.vote
        voted = np.bincount(code, self.weights_[patterns.lf], p * k).reshape(p, k)
        abstained = np.maximum(1 - voted.sum(1, keepdims=True), 0)
        combined: Float64 = voted + abstained * _shares(patterns, self.fill)
        return combined

    def _to_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, learned = super()._to_state()
        if self.forest_ is not None:
            forest, learned["forest_"] = self.forest_.to_arrays()
            arrays |= with_prefix(forest, "forest_")
        return arrays, learned

    def _from_state(self, arrays: Arrays, learned: dict[str, Any]) -> None:
        forest = strip_prefix(arrays, "forest_")
        super()._from_state({name: array for name, array in arrays.items() if "/" not in name}, learned)
        if forest:
            self.forest_ = RandomForest(**learned["forest_"]["params"])
            self.forest_.restore(forest, learned["forest_"])


def _shares(patterns: Patterns, fill: Fill) -> Float64:
    """The distribution that fills a pattern's abstentions. -> (p, k)."""
    votes = count_classes(patterns)
    if fill == "uniform":
        return np.full(votes.shape, 1 / patterns.n_classes)
    winners = votes == votes.max(1, keepdims=True)
    shares: Float64 = winners / winners.sum(1, keepdims=True)
    return shares


def _merge_filled(patterns: Patterns, gold: NDArray[np.int64]) -> tuple[Patterns, NDArray[np.int64]]:
    """Patterns whose abstentions vote for the only winner of the majority vote, equal ones merged, and gold.

    Where several classes win, abstentions stay. Filling changes no pattern's winners.
    """
    cells, shares = patterns.to_array(), _shares(patterns, "majority")
    winner = np.where(shares.max(1) == 1, shares.argmax(1), -1)
    filled = Votes.from_array(np.where(cells < 0, winner[:, None], cells), n_classes=patterns.n_classes)
    merged = Patterns.from_votes(filled)
    assert merged.inverse is not None  # they come from votes
    counts = np.bincount(merged.inverse, patterns.counts).astype(np.int64)
    gold_items = np.zeros((merged.n_patterns, patterns.n_classes), np.int64)
    np.add.at(gold_items, merged.inverse, gold)
    return Patterns(merged.rows, counts, merged.n_lfs, merged.n_classes), gold_items


def _hidden(patterns: Patterns, gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Items of each pattern without gold; all its items if every item has gold. (p, k) -> (p,)."""
    counts = patterns.counts * patterns.has_votes
    hidden = counts - gold.sum(1)
    return np.asarray(hidden if hidden.any() else counts, np.int64)


def _count_coefficients(patterns: Patterns, shares: Float64, hidden: NDArray[np.int64]) -> int:
    """Non-zero outputs of LFs on hidden patterns: one per vote, one per filling class of an abstention."""
    votes = np.diff(patterns.starts)
    outputs = votes + (patterns.n_lfs - votes) * np.count_nonzero(shares, axis=1)
    return int(outputs[hidden > 0].sum())


class _Game:
    """The model picks weights, the adversary the labels of the items without gold.

    From (p, k) gold items of each pattern and class, (p,) hidden items of each, whose labels the adversary picks, (p,
    k) shares that fill abstentions, and how much risks may differ; None for the formula.
    """

    def __init__(
        self,
        patterns: Patterns,
        gold: NDArray[np.int64],
        hidden: NDArray[np.int64],
        shares: Float64,
        slack: float | None,
    ) -> None:
        k, kept, outputs = patterns.n_classes, np.flatnonzero(hidden), _outputs(patterns, shares)
        # The worst labels need not be unique, so which are found must not depend on the order of the items.
        kept = kept[np.lexsort(patterns.to_array()[kept].T)]
        self._size = len(kept), k
        self._items = np.repeat(hidden[kept] / hidden.sum(), k)  # (p * k,), p of them kept
        self._outputs = outputs[:, (kept[:, None] * k + np.arange(k)).ravel()]
        self._weighted = self._outputs.multiply(self._items).tocsr()
        gold_shares = gold / gold.sum()
        # An LF's risk is 1/2 (1 + mean ||v||^2) - mean <v, y>, so <v, y> must be within the slack of this.
        gain = outputs @ gold_shares.ravel() - outputs.power(2) @ np.repeat(gold_shares.sum(1), k) / 2
        middle = gain + self._outputs.power(2) @ self._items / 2
        if slack is None:  # how much risks with and without gold may differ (Hoeffding, scaled down)
            n_gold, n_hidden = int(gold.sum()), int(hidden.sum())
            spread = (n_gold + n_hidden) * np.log(4 * patterns.n_lfs / _SLACK_FAILURE) / (2 * n_gold * n_hidden)
            slack = float(_SLACK_SCALE * np.sqrt(spread))
        self._low, self._high = middle - slack, middle + slack

    def solve(self, steps: int) -> tuple[Float64, float] | None:
        """Return the best weights over the subgradient steps and their worst loss; None if no labels are possible."""
        m = len(self._low)
        possible, weights, size = self._possible_labels(), np.full(m, 1 / m), 0.3 / (4 * (m + 1))
        best: tuple[Float64, float] | None = None
        for step in range(steps + 1):
            model = weights @ self._outputs  # (p * k,)
            labels = self._worst_labels(model, possible)
            if labels is None:
                return None
            loss = float(self._items @ (model**2 / 2 - model * labels)) + 0.5
            if best is None or loss < best[1]:
                best = weights, loss
            if step < steps:
                weights = _project(weights - size * 2 * (self._weighted @ (model - labels)))
        return best

    def _possible_labels(self) -> Any:
        """Constraints on labels (p * k,): risks within the slacks, each pattern's labels a distribution."""
        import scipy.optimize
        import scipy.sparse

        p, k = self._size
        totals = scipy.sparse.kron(scipy.sparse.eye_array(p), np.ones((1, k)))
        matrix = scipy.sparse.vstack([self._weighted, totals], format="csc")
        ones = np.ones(p)
        low, high = np.concatenate([self._low, ones]), np.concatenate([self._high, ones])
        return scipy.optimize.LinearConstraint(matrix, low, high)

    def _worst_labels(self, model: Float64, possible: Any) -> Float64 | None:
        """Possible labels least like the model's. (p * k,) -> (p * k,), or None if there are none."""
        import scipy.optimize

        # Nothing is an integer here; unlike `linprog`, `milp` takes constraints with two sides, half as many rows.
        result = scipy.optimize.milp(self._items * model, constraints=possible, bounds=scipy.optimize.Bounds(0, 1))
        return None if result.x is None else np.asarray(result.x)


def _outputs(patterns: Patterns, shares: Float64) -> Any:
    """Return the output of each LF on each pattern, as a sparse array. -> (m, p * k)."""
    import scipy.sparse

    k = patterns.n_classes
    lf, row = np.nonzero(patterns.to_array().T < 0)
    columns = (row[:, None] * k + np.arange(k)).ravel()
    values = np.concatenate([np.ones(len(patterns.lf)), shares[row].ravel()])
    index = np.concatenate([patterns.lf, np.repeat(lf, k)]), np.concatenate([patterns.row * k + patterns.vote, columns])
    outputs = scipy.sparse.csr_array((values, index), shape=(patterns.n_lfs, patterns.n_patterns * k))
    outputs.eliminate_zeros()
    return outputs


def _project(weights: Float64) -> Float64:
    """The nearest point of the simplex. (m,) -> (m,)."""
    falling = np.sort(weights)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(weights) + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    projected: Float64 = np.maximum(weights - shift, 0)
    return projected
