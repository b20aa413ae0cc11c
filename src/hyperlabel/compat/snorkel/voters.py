"""Base class of Snorkel's label models, and its three voters."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64, check_count, read_tensors, write_tensors
from hyperlabel.compat.snorkel.analysis import Scorer
from hyperlabel.compat.snorkel.convert import as_numbers, probs_to_preds
from hyperlabel.data import Patterns, to_votes
from hyperlabel.errors import NotFittedError, ParameterError, WeightsError
from hyperlabel.models import count_classes


class BaseLabeler(ABC):
    """Base class of label models with Snorkel's methods; `cardinality` is the number of classes."""

    kind: ClassVar[str] = "voter"  # of its files, see `hyperlabel._core.tensors`

    def __init__(self, cardinality: int = 2, **kwargs: Any) -> None:
        check_count(cardinality, "cardinality")
        self.cardinality = cardinality

    @abstractmethod
    def predict_proba(self, L: NDArray[np.integer]) -> Float64:
        """Return the probabilities of the classes. (n, m) -> (n, k)."""

    def predict(
        self, L: NDArray[np.integer], return_probs: bool | None = False, tie_break_policy: str = "abstain"
    ) -> Any:
        """Return the most probable class of each item, (n,); with `return_probs` also (n, k) probabilities.

        Args:
            L: (n, m) votes, -1 abstains.
            return_probs: Whether to return the probabilities as well.
            tie_break_policy: `abstain`, `random` (by a hash of the item's index) or `true-random`.
        """
        probs = self.predict_proba(L)
        labels = probs_to_preds(probs, tie_break_policy)
        return (labels, probs) if return_probs else labels

    def score(
        self,
        L: NDArray[np.integer],
        Y: NDArray[Any],
        metrics: Iterable[str] | None = ("accuracy",),
        tie_break_policy: str = "abstain",
    ) -> dict[str, float]:
        """Compute metrics by their names; items without a label are left out, except for coverage.

        Args:
            L: (n, m) votes, -1 abstains.
            Y: (n,) true classes, -1 for unknown.
            metrics: Some of accuracy, coverage, precision, recall, f1, f1_micro, f1_macro, matthews_corrcoef, roc_auc.
            tie_break_policy: As for `predict`.
        """
        if tie_break_policy == "abstain":
            logging.getLogger(__name__).warning("scores leave out items without a label (tie_break_policy='abstain')")
        labels, probs = self.predict(L, return_probs=True, tie_break_policy=tie_break_policy)
        return Scorer(list(metrics or ())).score(Y, labels, probs)

    def save(self, destination: str | Path) -> None:
        """Write the model to a safetensors file; an old file stays until the new one is complete."""
        arrays, header = self._to_arrays()
        header = {"labeler": type(self).__name__, "cardinality": self.cardinality, **header}
        write_tensors(destination, arrays, header, self.kind)

    def load(self, source: str | Path) -> None:
        """Restore the model from a file that `save` wrote; files that Snorkel pickled are refused."""
        arrays, header = read_tensors(source, self.kind)
        if header.get("labeler") != type(self).__name__:
            raise WeightsError(
                f"source is '{source}', which does not hold a {type(self).__name__}; load a file that its save wrote"
            )
        self.cardinality = int(header["cardinality"])
        self._restore(arrays)

    def _to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Return arrays and JSON values to save."""
        return {}, {}

    def _restore(self, arrays: Arrays) -> None:
        """Restore from the arrays that `_to_arrays` returned."""
        vars(self).update(arrays)

    def _patterns(self, L: NDArray[np.integer]) -> Patterns:
        return Patterns.from_votes(to_votes(L, n_classes=self.cardinality))


class RandomVoter(BaseLabeler):
    """Random probabilities, from NumPy's global generator.

    >>> RandomVoter(cardinality=3).predict_proba(np.array([[0, 2], [1, -1]])).shape
    (2, 3)
    """

    def predict_proba(self, L: NDArray[np.integer]) -> Float64:
        """Draw random probabilities. (n, m) -> (n, k)."""
        draws: Float64 = np.random.rand(len(L), self.cardinality)  # noqa: NPY002 - the generator that Snorkel's users seed
        draws /= draws.sum(axis=1, keepdims=True)
        return draws


class MajorityClassVoter(BaseLabeler):
    """The most frequent class for every item.

    >>> voter = MajorityClassVoter()
    >>> voter.fit(balance=np.array([0.8, 0.2]))
    >>> voter.predict_proba(np.array([[1, 1], [0, -1]])).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """

    balance: NDArray[Any]

    def fit(self, balance: NDArray[Any], *args: Any, **kwargs: Any) -> None:
        """Set the share of each class. (k,)."""
        shares = as_numbers(balance, "balance", "the share of each class")
        if shares.shape != (self.cardinality,):
            raise ParameterError(f"balance has shape {shares.shape}; expected one share for each class")
        self.balance = shares

    def predict_proba(self, L: NDArray[np.integer]) -> Float64:
        """Return 1 for the most frequent class, divided among ties. (n, m) -> (n, k)."""
        if not hasattr(self, "balance"):
            raise NotFittedError("this MajorityClassVoter does not know the balance of the classes; call fit first")
        best = (self.balance == self.balance.max()).astype(np.float64)
        return np.tile(best / best.sum(), (len(L), 1))

    def _to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        return ({"balance": self.balance} if hasattr(self, "balance") else {}), {}


class MajorityLabelVoter(BaseLabeler):
    """The class that most LFs vote for; tied classes share the probability.

    >>> MajorityLabelVoter().predict_proba(np.array([[0, 0, -1], [-1, 0, 1]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """

    def predict_proba(self, L: NDArray[np.integer]) -> Float64:
        """Return 1 for the class with the most votes, divided among ties. (n, m) -> (n, k)."""
        patterns = self._patterns(L)
        votes = count_classes(patterns)
        best = (votes == votes.max(axis=1, keepdims=True)).astype(np.float64)
        return patterns.expand(best / best.sum(axis=1, keepdims=True))
