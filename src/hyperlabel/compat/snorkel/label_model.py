"""`LabelModel`: the hyper label model behind Snorkel's call signature."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hyperlabel import models
from hyperlabel._core import Arrays, Float64, check_memory, check_number
from hyperlabel.compat.snorkel.convert import as_numbers, to_int_label_array
from hyperlabel.compat.snorkel.voters import BaseLabeler
from hyperlabel.data import UNIFORM
from hyperlabel.errors import NotFittedError, ParameterError
from hyperlabel.lf import LFAnalysis
from hyperlabel.models import VoteSums

TRAINING = (  # arguments of Snorkel's training; the hyper label model has no training
    *("n_epochs", "lr", "l2", "optimizer", "optimizer_config", "lr_scheduler", "lr_scheduler_config"),
    *("prec_init", "seed", "log_freq", "mu_eps"),
)
_LEARNED = ("balance", "accuracies", "conditionals")  # arrays that are saved besides the model


class LabelModel(BaseLabeler):
    """Labels from votes in one forward pass of a pre-trained network; `fit` reads the votes and trains nothing.

    An item is judged in the state of the votes that `fit` saw: its probabilities do not depend on the other items that
    are predicted with it. Before `fit`, the items that are predicted are read together.

    The class balance is estimated from the votes unless `fit` gets one. Snorkel assumes a uniform one; for that, call
    `fit(L_train, class_balance="uniform")`.

    Args:
        cardinality: Number of classes.
        verbose: Part of Snorkel's signature; nothing is printed.
        device: Part of Snorkel's signature; the model runs on the CPU.

    >>> L = np.array([[0, 0, -1], [1, 1, 0], [0, 0, 1], [-1, -1, -1]])
    >>> model = LabelModel(cardinality=2, verbose=False)
    >>> model.fit(L)
    >>> model.predict(L).tolist()
    [0, 1, 0, -1]
    """

    kind = "model"  # the file is one of the hyper label model, which hyperlabel.load reads

    _balance: Float64 | None = None
    _accuracies: Float64 | None = None
    _conditionals: Float64 | None = None

    def __init__(self, cardinality: int = 2, verbose: bool = True, device: str = "cpu") -> None:
        super().__init__(cardinality)
        self.verbose, self.device = verbose, device
        self._model: models.LabelModel = models.HyperLabelModel(n_classes=cardinality)

    def fit(
        self,
        L_train: NDArray[np.integer],
        Y_dev: NDArray[Any] | None = None,
        class_balance: Sequence[float] | Literal["uniform"] | None = None,
        progress_bar: bool = True,
        **kwargs: Any,
    ) -> None:
        """Read votes, whose state later items are judged in.

        Args:
            L_train: (n, m) votes, -1 abstains; any number of LFs.
            Y_dev: True classes of other items, whose shares are the class balance if that is not given.
            class_balance: Share of each class among all items, as in Snorkel; items without votes get these shares. A
                prior, not a constraint, on the items with votes. All shares are equal for `uniform`.
            progress_bar: Part of Snorkel's signature; ignored.
            **kwargs: Arguments of Snorkel's training, which are ignored with a warning.
        """
        _ignore_training(kwargs)
        patterns = self._patterns(L_train)
        m, k = patterns.n_lfs, self.cardinality
        check_memory(2 * m * k * k, f"votes of {m:,} LFs by {k:,} classes", "give a smaller cardinality")
        balance = _read_balance(class_balance, Y_dev, self.cardinality)
        self._model = models.HyperLabelModel(n_classes=self.cardinality, class_balance=balance).fit(patterns)
        analysis = LFAnalysis(patterns, model=self._model)
        self._balance, self._accuracies = balance, analysis.estimated_accuracy
        self._conditionals = _conditional_probs(analysis)

    def predict_proba(self, L: NDArray[np.integer]) -> Float64:
        """Return the probabilities of the classes. (n, m) -> (n, k).

        An item without votes has those of the class balance, or uniform ones if it is not given.
        """
        patterns = self._patterns(L)
        if self._model.is_fitted and patterns.n_lfs != self._model.n_features_in_:
            raise ParameterError(f"L has {patterns.n_lfs} LFs; expected {self._model.n_features_in_}, as in fit")
        probs = self._model.predict_proba(patterns)
        if self._balance is not None:
            probs[~patterns.expand(patterns.has_votes)] = self._balance
        return probs

    def get_weights(self) -> Float64:
        """Return the estimated accuracy of each LF where it votes; NaN if it never votes. (m,)."""
        return np.clip(_learned(self._accuracies), 1e-6, 1.0)

    def get_conditional_probs(self) -> Float64:
        """Return how often each LF abstains (0) and votes for each class (1..k), by class. (m, k + 1, k).

        For a class that no item seems to have, these are the shares over all items.
        """
        return _learned(self._conditionals).copy()

    def load(self, source: str | Path) -> None:
        """Restore the model from a file that `save` wrote; files that Snorkel pickled are refused."""
        model = models.load(source)
        super().load(source)
        self._model = model

    def _to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, header = self._model.to_arrays()
        learned = {name: getattr(self, f"_{name}") for name in _LEARNED}
        return arrays | {name: array for name, array in learned.items() if array is not None}, header

    def _restore(self, arrays: Arrays) -> None:
        self._balance, self._accuracies, self._conditionals = (arrays.get(name) for name in _LEARNED)


def _learned(array: Float64 | None) -> Float64:
    if array is None:
        raise NotFittedError("this LabelModel has seen no votes yet; call fit(L_train) first")
    return array


def _conditional_probs(analysis: LFAnalysis) -> Float64:
    """Estimate how often each LF abstains and votes for each class, by the label of the item. -> (m, k + 1, k)."""
    sums, posterior = VoteSums(analysis.patterns), analysis.posterior
    votes, items = sums.count_votes(posterior), sums.counts @ posterior  # (m, k, k), (k,)
    on_all = votes.sum(axis=2, keepdims=True) / sums.counts.sum()
    shares = np.where(items > 0, votes / np.where(items > 0, items, 1), on_all)
    return np.concatenate([1 - shares.sum(axis=1, keepdims=True), shares], axis=1)


def _ignore_training(kwargs: dict[str, Any]) -> None:
    unknown = [name for name in kwargs if name not in TRAINING]
    if unknown:
        raise ParameterError(f"fit has no argument {unknown[0]!r}; Snorkel's are {', '.join(TRAINING)}")
    if kwargs:
        message = f"LabelModel is pre-trained and ignores {', '.join(kwargs)}; leave them out"
        warnings.warn(message, UserWarning, stacklevel=3)


def _read_balance(
    balance: Sequence[float] | Literal["uniform"] | None, Y_dev: NDArray[Any] | None, k: int
) -> Float64 | None:
    """Return the share of each class, or None if it was not given. -> (k,)."""
    if isinstance(balance, str) and balance == UNIFORM:
        return np.full(k, 1 / k)
    name, shares = "class_balance", None
    if balance is not None:
        shares = as_numbers(balance, name, "the share of each class").astype(np.float64)
    if shares is None and Y_dev is not None:
        labels = to_int_label_array(Y_dev)
        check_number(int(labels.max(initial=0)), "the largest class of Y_dev", f"at most {k - 1}", most=k - 1)
        name, shares = "Y_dev", np.bincount(labels[labels >= 0], minlength=k).astype(np.float64)
    if shares is None:
        return None
    if shares.shape != (k,):
        raise ParameterError(f"{name} has shape {shares.shape}; expected {k} classes, the cardinality")
    missing = np.flatnonzero(~(shares > 0))
    if len(missing):
        raise ParameterError(f"{name} has the share {shares[missing[0]]} for class {missing[0]}; expected more than 0")
    shares /= shares.sum()
    return shares
