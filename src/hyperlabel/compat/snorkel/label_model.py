"""`LabelModel`: the hyper label model behind Snorkel's call signature."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.compat.snorkel.convert import Floats, to_int_label_array
from hyperlabel.compat.snorkel.voters import BaseLabeler
from hyperlabel.errors import NotFittedError, ParameterError
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.models import HyperLabelModel
from hyperlabel.models.evidence import VoteSums
from hyperlabel.patterns import Patterns

TRAINING = (
    "n_epochs",
    "lr",
    "l2",
    "optimizer",
    "optimizer_config",
    "lr_scheduler",
    "lr_scheduler_config",
    "prec_init",
    "seed",
    "log_freq",
    "mu_eps",
)
"""Arguments of Snorkel's training, of which the hyper label model has none."""

_PATTERNS = ("starts", "lf", "vote", "counts")


class LabelModel(BaseLabeler):
    """Labels from votes in one forward pass of a pre-trained network; `fit` remembers the votes and trains nothing.

    An item is read in the light of the votes that `fit` saw: its probabilities do not depend on the other items that
    are predicted with it. Before `fit`, items are read in the light of each other.

    Args:
        cardinality: Number of classes.
        verbose: For Snorkel's signature; nothing is printed.
        device: For Snorkel's signature; the model runs on the CPU.

    >>> L = np.array([[0, 0, -1], [1, 1, 0], [0, 0, 1], [-1, -1, -1]])
    >>> model = LabelModel(cardinality=2, verbose=False)
    >>> model.fit(L)
    >>> model.predict(L).tolist()
    [0, 1, 0, -1]
    """

    _context: Patterns
    _balance: Floats | None = None

    def __init__(self, cardinality: int = 2, verbose: bool = True, device: str = "cpu") -> None:
        super().__init__(cardinality)
        self.verbose, self.device = verbose, device

    def fit(
        self,
        L_train: NDArray[np.integer],
        Y_dev: NDArray[Any] | None = None,
        class_balance: Sequence[float] | None = None,
        progress_bar: bool = True,
        **kwargs: Any,
    ) -> None:
        """Remember the votes that items are read in the light of.

        Args:
            L_train: (n, m) votes, -1 abstains; any number of LFs.
            Y_dev: True classes of other items, whose shares are the class balance if that is not given.
            class_balance: Share of each class among the items with votes; items without have these probabilities.
            progress_bar: For Snorkel's signature; there is nothing to wait for.
            **kwargs: Arguments of Snorkel's training, which are ignored with a warning.
        """
        _ignore_training(kwargs)
        context = replace(self._patterns(L_train), inverse=None)
        self._balance = _read_balance(class_balance, Y_dev, self.cardinality)
        self._context = context

    def predict_proba(self, L: NDArray[np.integer]) -> Floats:
        """Probabilities of the classes. (n, m) -> (n, k).

        An item without votes has those of the class balance, uniform if that is not given.
        """
        patterns = self._patterns(L)
        if not self._is_fitted():
            return patterns.expand(self._model()._pattern_probabilities(patterns))
        together, place = _put_together(self._context, patterns)
        probs = self._model()._pattern_probabilities(together)[place]
        if self._balance is not None:
            probs[~patterns.has_votes] = self._balance
        return patterns.expand(probs)

    def _model(self) -> HyperLabelModel:
        return HyperLabelModel(n_classes=self.cardinality, class_balance=self._balance)

    def get_weights(self) -> Floats:
        """The estimated accuracy of each LF where it votes; NaN for one that never does. (m,)."""
        return np.clip(self._analysis().estimated_accuracy, 1e-6, 1.0)

    def get_conditional_probs(self) -> Floats:
        """How often each LF abstains (0) and votes for each class (1..k), by the class of the item. (m, k + 1, k).

        A class that no item seems to have says nothing, so there it is as often as on all items.
        """
        posterior = self._analysis().posterior
        sums = VoteSums(self._context)
        votes, items = sums.count_votes(posterior), sums.counts @ posterior  # (m, k, k), (k,)
        on_all = votes.sum(axis=2, keepdims=True) / sums.counts.sum()
        shares = np.where(items > 0, votes / np.where(items > 0, items, 1), on_all)
        return np.concatenate([1 - shares.sum(axis=1, keepdims=True), shares], axis=1)

    def _analysis(self) -> LFAnalysis:
        if not self._is_fitted():
            raise NotFittedError("this LabelModel has seen no votes yet; call fit(L_train) first")
        return LFAnalysis(self._context, model=self._model())

    def _is_fitted(self) -> bool:
        return hasattr(self, "_context")

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        if not self._is_fitted():
            return {}, {}
        arrays = {name: np.ascontiguousarray(getattr(self._context, name)) for name in _PATTERNS}
        if self._balance is not None:
            arrays["balance"] = self._balance
        return arrays, {"n_lfs": self._context.n_lfs}

    def _restore(self, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
        vars(self).pop("_context", None)
        self._balance = arrays.pop("balance", None)
        if arrays:
            self._context = Patterns(**arrays, n_lfs=header["n_lfs"], n_classes=self.cardinality)


def _ignore_training(kwargs: dict[str, Any]) -> None:
    unknown = [name for name in kwargs if name not in TRAINING]
    if unknown:
        raise ParameterError(f"fit has no argument {unknown[0]!r}; Snorkel's are {', '.join(TRAINING)}")
    if kwargs:
        message = f"LabelModel is pre-trained and ignores {', '.join(kwargs)}; leave them out"
        warnings.warn(message, UserWarning, stacklevel=3)


def _read_balance(balance: Sequence[float] | None, Y_dev: NDArray[Any] | None, k: int) -> Floats | None:
    """The share of each class, or None if nothing was said. -> (k,)."""
    name, shares = "class_balance", None if balance is None else np.asarray(balance, np.float64)
    if shares is None and Y_dev is not None:
        labels = to_int_label_array(np.asarray(Y_dev))
        name, shares = "Y_dev", np.bincount(labels[labels >= 0], minlength=k).astype(np.float64)
    if shares is None:
        return None
    if shares.shape != (k,):
        raise ParameterError(f"{name} has {len(shares)} classes; expected {k}, the cardinality")
    missing = np.flatnonzero(~(shares > 0))
    if len(missing):
        raise ParameterError(f"{name} has the share {shares[missing[0]]} for class {missing[0]}; expected more than 0")
    shares /= shares.sum()
    return shares


def _put_together(context: Patterns, patterns: Patterns) -> tuple[Patterns, NDArray[np.intp]]:
    """The context with other patterns in it that count nothing, and the place of each of these.

    What counts nothing does not move the means that the network pools, so these patterns are read in the light of the
    context alone. If an LF never votes in the context, the patterns it votes on must count themselves.
    """
    if patterns.n_lfs != context.n_lfs:
        raise ParameterError(f"L has {patterns.n_lfs} LFs; expected {context.n_lfs}, as in fit")
    place = patterns.find(context)
    new = np.flatnonzero(place < 0)
    place[new] = context.n_patterns + np.arange(len(new))
    rows = patterns.rows.take(new)
    silent = ~np.isin(rows.lf, context.lf)
    counted = np.unique(np.repeat(np.arange(len(new)), np.diff(rows.starts))[silent])
    counts = np.zeros(len(new), np.int64)
    counts[counted] = patterns.counts[new[counted]]
    joined = context.rows.concatenate(rows)
    all_counts = np.concatenate([context.counts, counts])
    return Patterns(joined.starts, joined.lf, joined.vote, all_counts, context.n_lfs, context.n_classes), place
