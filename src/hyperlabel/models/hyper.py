"""The hyper label model: one forward pass of a pre-trained network, no training on the data set.

Two networks are bundled. `hlm` is the paper's: R. Wu, S.-E. Chen, J. Zhang and X. Chu, "Learning Hyper Label Model
for Programmatic Weak Supervision", ICLR 2023. It approximates h*(X), the mean of all label vectors for which, in
each class, more than half of the LFs are better than random. Abstentions are absent nodes. More than two classes are
one-vs-rest problems whose probabilities are normalised. Gold labels fine-tune a copy of the pre-trained weights.

`hlm2` is this project's: an unrolled, learned EM (`hyperlabel.unrolled`, docs/model-card.md) for any number of
classes. Abstentions are no evidence. Gold labels are inputs of the same pass, and what votes are worth is then matched
to them, as it is to a known class balance and to known accuracies of LFs: the weights stay as they are.
"""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel import unrolled
from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Floats, sigmoid
from hyperlabel.models.assumptions import check_class_balance
from hyperlabel.models.base import LabelModel, TieBreak
from hyperlabel.network import backward, forward, forward_traced
from hyperlabel.patterns import Patterns
from hyperlabel.weights import Weights, load_weights, read_weights

# The paper's. Its released code in effect runs at 1e-3 and weights two classes equally; benchmarks/fine_tuning.py
# compares the two, and this one never falls below the model that is not fine-tuned.
FINE_TUNING_LR = 1e-4


class HyperLabelModel(LabelModel):
    """Labels from votes in one forward pass.

    Args:
        weights: `default`, `hlm` (the paper's model, trained by this project), `hlm2` (the better one), or the path
            of a weights file.
        n_classes: Number of classes; inferred from votes and gold if neither this nor `classes` is given.
        classes: The classes, in the order of their probabilities.
        tie_break: `first`, `abstain` or `random`, for items whose best classes are exactly tied.
        seed: For `tie_break="random"`; everything else is deterministic.
        class_balance: (k,) known shares of the classes among the items with votes; `hlm2` only.
        lf_accuracies: (m,) known shares of the right votes of each LF, None or NaN where not known; `hlm2` only.

    Attributes:
        weights_: After `fit`, the weights: fine-tuned if gold was given, the pre-trained ones otherwise.
        n_iter_: After `fit`, the number of fine-tuning steps.

    >>> model = HyperLabelModel()
    >>> model.predict([[1, 1, 0], [0, -1, 0], [-1, -1, -1]]).tolist()
    [1, 0, -1]
    """

    def __init__(
        self,
        weights: str | Path = "default",
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        tie_break: TieBreak = "first",
        seed: int = 0,
        class_balance: Sequence[float] | NDArray[np.float64] | None = None,
        lf_accuracies: Sequence[float | None] | NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__(n_classes=n_classes, classes=classes, tie_break=tie_break, seed=seed)
        self.weights = weights
        self.class_balance = class_balance
        self.lf_accuracies = lf_accuracies

    needs_fit = False
    learns_from_gold = True

    _told: tuple[Patterns, NDArray[np.int64]] | None

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        """Fine-tune on gold, or keep it for the pass; without gold there is nothing to learn."""
        self.weights_, self._told = load_weights(self.weights), None
        self._known_shares(self.weights_, patterns)
        if gold is None:
            return
        gold = gold * patterns.has_votes[:, None]  # without votes there is nothing to learn from
        if self.weights_.is_unrolled:
            self._told = _keep_told(patterns, gold) if gold.any() else None
        else:
            self.n_iter_ = int(np.sqrt(gold.sum()))
            self.weights_ = fine_tune(self.weights_, patterns, gold, lr=FINE_TUNING_LR, steps=self.n_iter_)

    def save(self, path: str | Path) -> None:
        """Write the model, its weights fine-tuned or not, to a safetensors file."""
        weights = self._current()
        params = {name: value for name, value in self.get_params().items() if name != "weights"}
        lists = {name: _to_list(params[name]) for name in ("classes", "class_balance", "lf_accuracies")}
        header = {**weights.header, "params": {**params, **lists}}
        if self._is_fitted():
            header |= {"fitted_classes": list(self._fitted_classes), "gold": _to_json(self._told)}
        Weights(weights.arrays, header).save(path)

    @classmethod
    def load(cls, path: str | Path) -> "HyperLabelModel":
        """A model from a file that `save` wrote, or from any weights file."""
        weights = read_weights(Path(path))
        model = cls(weights=str(path), **weights.header.get("params", {}))
        if weights.header.get("fitted_classes") is not None:
            model.weights_, model._gold = weights, None
            model._fitted_classes = tuple(weights.header["fitted_classes"])
            model._told = _from_json(weights.header.get("gold"))
        return model

    def _current(self) -> Weights:
        return getattr(self, "weights_", None) or load_weights(self.weights)

    def _probabilities(self, patterns: Patterns) -> NDArray[np.float64]:
        weights = self._current()
        if not weights.is_unrolled:
            self._known_shares(weights, patterns)
            return to_probabilities(forward(weights, patterns))
        evidence, ballots = self._evidence(weights, patterns)
        return unrolled.to_probabilities(evidence, ballots)

    def _contributions(self, patterns: Patterns) -> NDArray[np.float64] | None:
        """Of the unrolled network, what each vote adds to a class's logit, less what it adds to others on average."""
        weights = self._current()
        if not weights.is_unrolled:
            return None
        if patterns.n_classes == 1:
            return np.zeros((len(patterns.lf), 1))  # there is no other class to decide against
        evidence, ballots = self._evidence(weights, patterns)
        added = evidence.contributions(ballots)
        others = (added.sum(1, keepdims=True) - added) / (patterns.n_classes - 1)
        relative: NDArray[np.float64] = added - others
        return relative

    def _evidence(self, weights: Weights, patterns: Patterns) -> tuple[unrolled.Evidence, unrolled.Ballots]:
        """The evidence of the unrolled network on these patterns, with the gold of `fit`, and their ballots."""
        told = getattr(self, "_told", None)
        if told is not None and told[0].n_lfs != patterns.n_lfs:
            told = None  # these are other LFs
        ballots = unrolled.Ballots.from_patterns(patterns, None if told is None else _find_gold(patterns, *told))
        evidence = unrolled.forward(weights, ballots)
        balance, accuracies = self._known_shares(weights, patterns)
        if balance is not None or accuracies is not None:
            evidence = unrolled.match_shares(evidence, ballots, balance, accuracies)
        if told is not None:
            evidence = unrolled.match_gold(evidence, unrolled.Ballots.from_patterns(*told))
        return evidence, ballots

    def _known_shares(
        self, weights: Weights, patterns: Patterns
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """The stated class balance (k,) and accuracies of LFs (m,), checked."""
        for name in ("class_balance", "lf_accuracies"):
            if getattr(self, name) is not None and not weights.is_unrolled:
                raise ParameterError(
                    f"{name} is given, but the weights {str(self.weights)!r} are of the paper's network, which takes "
                    "none; use weights='hlm2'"
                )
        stated, accuracies = self.class_balance, self.lf_accuracies
        balance = None if stated is None else check_class_balance(stated, patterns.n_classes)
        return balance, None if accuracies is None else _check_accuracies(accuracies, patterns.n_lfs)


def _find_gold(patterns: Patterns, told: Patterns, gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """The gold items of each pattern, from those of the patterns that have some. -> (p, k)."""
    place = patterns.find(told)
    return np.where((place >= 0)[:, None], gold[place], 0)


def _check_accuracies(accuracies: Sequence[float | None] | NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """Accuracies of LFs that a user states, NaN where not known. -> (m,)."""
    expected = f"expected one share for each of the {m} LFs, None where it is not known"
    try:
        shares = np.asarray(accuracies, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"lf_accuracies is {accuracies!r:.80}; {expected}") from None
    if shares.shape != (m,):
        raise ParameterError(f"lf_accuracies has the shape {shares.shape}; {expected}")
    wrong = np.flatnonzero((shares < 0) | (shares > 1))
    if len(wrong):
        raise ParameterError(
            f"lf_accuracies has {shares[wrong[0]]} at {wrong[0]}; expected a share of right votes from 0 to 1"
        )
    return shares


def _to_list(values: Sequence[Any] | NDArray[Any] | None) -> list[Any] | None:
    """Values as JSON knows them; NaN is null."""
    if values is None:
        return None
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [None if value != value else value for value in plain]


def _keep_told(patterns: Patterns, gold: NDArray[np.int64]) -> tuple[Patterns, NDArray[np.int64]]:
    """The patterns that have gold, and their gold items."""
    kept = np.flatnonzero(gold.any(1))
    rows, counts = patterns.rows.take(kept), gold[kept]
    return Patterns(rows.starts, rows.lf, rows.vote, counts.sum(1), patterns.n_lfs, patterns.n_classes), counts


def _to_json(told: tuple[Patterns, NDArray[np.int64]] | None) -> dict[str, Any] | None:
    """The patterns that have gold, as lists."""
    if told is None:
        return None
    patterns, counts = told
    lists = {"starts": patterns.starts, "lf": patterns.lf, "vote": patterns.vote, "counts": counts}
    return {"n_lfs": patterns.n_lfs, **{name: array.tolist() for name, array in lists.items()}}


def _from_json(gold: dict[str, Any] | None) -> tuple[Patterns, NDArray[np.int64]] | None:
    """The inverse of `_to_json`."""
    if gold is None:
        return None
    starts, lf, vote, counts = (np.array(gold[name], np.int64) for name in ("starts", "lf", "vote", "counts"))
    return Patterns(starts, lf, vote, counts.sum(1), gold["n_lfs"], counts.shape[1]), counts


def to_probabilities(logits: Floats) -> NDArray[np.float64]:
    """Class probabilities from one-vs-rest logits. (p, q) -> (p, k)."""
    positive = sigmoid(logits.astype(np.float64))
    if positive.shape[1] == 1:
        return np.concatenate([1 - positive, positive], axis=1)
    normalised: NDArray[np.float64] = positive / positive.sum(1, keepdims=True)
    return normalised


def fine_tune(
    weights: Weights, patterns: Patterns, gold: NDArray[np.int64 | np.float64], *, lr: float, steps: int
) -> Weights:
    """Fine-tune a copy of the weights: full-batch Adam on the cross-entropy of the gold items.

    Args:
        weights: Where to start; they stay as they are.
        patterns: All patterns, those without gold included: they are part of the input.
        gold: (p, k) gold items of each pattern and class, or weights of them.
        lr: Learning rate.
        steps: Number of steps.
    """
    tuned = weights.copy()
    adam = _Adam(tuned.arrays, lr)
    for _ in range(steps):
        logits, trace = forward_traced(tuned, patterns)
        adam.step(backward(tuned, trace, _loss_gradient(logits, gold)))
    return tuned


def _loss_gradient(logits: Floats, gold: NDArray[np.int64 | np.float64]) -> Floats:
    """Gradient of the mean cross-entropy of the gold items. (p, q), (p, k) -> (p, q)."""
    items = gold.sum(1, keepdims=True)
    right = gold[:, 1:] if logits.shape[1] == 1 else gold
    gradient = (items * sigmoid(logits.astype(np.float64)) - right) / (gold.sum() * logits.shape[1])
    return np.asarray(gradient, np.float32)


class _Adam:
    """Adam over named arrays, which it changes in place."""

    def __init__(self, arrays: dict[str, Floats], lr: float) -> None:
        self.arrays, self.lr, self.t = arrays, lr, 0
        self.moments: dict[str, tuple[Any, Any]] = {n: (0.0, 0.0) for n in arrays}

    def step(self, grads: dict[str, Floats]) -> None:
        self.t += 1
        for name, grad in grads.items():
            first, second = self.moments[name]
            first, second = 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad**2
            self.moments[name] = first, second
            scale = np.sqrt(second / (1 - 0.999**self.t)) + 1e-8
            self.arrays[name] -= self.lr * first / (1 - 0.9**self.t) / scale
