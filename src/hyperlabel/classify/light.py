"""`Classifier`, the light one: calibrated logistic regression on texts or features; nothing to download."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_seed
from hyperlabel.classify.base import BaseClassifier, State, cross_entropy
from hyperlabel.classify.cross import cross_fit, draw_folds
from hyperlabel.classify.inputs import Examples, Inputs, are_texts
from hyperlabel.classify.linear import Linear
from hyperlabel.classify.scaled import Scaled
from hyperlabel.classify.tfidf import Tfidf
from hyperlabel.kernels import raise_to

_TEMPERATURES = np.geomspace(0.25, 4, 65)  # powers of the probabilities to try, including 1
_LEAST = 1e-12  # a class that is ruled out counts as this probable


@dataclass
class Classifier(BaseClassifier):
    """Logistic regression on soft labels: of texts by TF-IDF of words and pairs of words, or of features.

    Soft labels are learned as they are: a class is as frequent as they say, and an item counts for every class by its
    probability. Probabilities are calibrated: raised to the power that fits held-out items best
    (temperature scaling, C. Guo et al., "On calibration of modern neural networks", 2017), with their soft labels as
    truth. The only random part is the choice of these items.

    Args:
        l2: Weight of half the squared norm of the coefficients.
        min_count: Leave out words and pairs that occur in fewer texts.
        max_terms: Keep at most this many words and pairs, the most frequent ones.
        seed: For the held-out items.

    Attributes:
        temperature_: After `fit`, the power.
        cross_fitted_: After `fit`, the (n, k) probabilities of its items, each learned from other items only.

    >>> texts = ["free money now", "win free money", "see you at home", "see you at lunch"]
    >>> probabilities = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.7, 0.3]])
    >>> Classifier().fit(texts, probabilities).predict(["free money", "see you"]).tolist()
    [1, 0]
    """

    l2: float = 1e-4
    min_count: int = 2
    max_terms: int = 20_000
    seed: int = 0

    def __post_init__(self) -> None:
        self._new_base(texts=True)  # raises now if something is out of range
        check_seed(self.seed)

    def _new_base(self, *, texts: bool) -> Tfidf | Scaled:
        head = Linear(self.l2)
        return Tfidf(head, min_count=self.min_count, max_terms=self.max_terms) if texts else Scaled(head)

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        inputs, soft = examples.inputs, examples.probabilities
        self._base = self._new_base(texts=are_texts(inputs)).fit(inputs, soft)
        features = self._base.to_features(inputs)
        fold = draw_folds(inputs, len(examples), self.seed)
        aside = cross_fit(lambda: Linear(self.l2), Examples(features, soft), fold)
        losses = [cross_entropy(soft, raise_to(aside, power, _LEAST)) for power in _TEMPERATURES]
        self.temperature_ = float(_TEMPERATURES[int(np.argmin(losses))])
        self.cross_fitted_ = raise_to(aside, self.temperature_, _LEAST)

    def fit_aside(self, inputs: object, labels: object) -> NDArray[np.float64]:
        """As for every classifier; `fit` has found it already."""
        return self.fit(inputs, labels).cross_fitted_

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        return raise_to(self._base.predict_proba(inputs), self.temperature_, _LEAST)

    def _state(self) -> State:
        return State({}, {"temperature": self.temperature_}, {"_base": self._base})

    def _restore(self, state: State) -> None:
        base = state.parts["_base"]
        assert isinstance(base, Tfidf | Scaled)
        self.temperature_, self._base = state.values["temperature"], base
