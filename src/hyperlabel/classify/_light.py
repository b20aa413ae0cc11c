"""`Classifier`, the light one: calibrated logistic regression on texts or features; nothing to download."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import check_count, check_number, check_seed, raise_to
from hyperlabel.classify._base import BaseClassifier, State, cross_entropy, cross_fit, draw_folds
from hyperlabel.classify._inputs import Examples, Inputs, are_texts, check_texts, check_width, group_items, to_matrix
from hyperlabel.errors import ParameterError, require

MAX_ITERATIONS = 100
TOLERANCE = 1e-6  # of the loss, relative: labels do not change below
_MOST_LETTERS = 1000  # of a text that pairs to fours of letters are taken from


@dataclass
class Linear(BaseClassifier):
    """Logistic regression that minimizes the mean cross-entropy under soft labels, by L-BFGS.

    Nothing in it is random. Features are used as they are: bring them to one scale first.

    Args:
        l2: Weight of half the squared norm of the coefficients, the intercepts left out.

    Attributes:
        coef_: (q, k) coefficients.
        intercept_: (k,) intercepts.

    >>> features = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> probabilities = np.array([[0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    >>> Linear(l2=0.01).fit(features, probabilities).predict([[-3.0], [3.0]]).tolist()
    [0, 1]
    """

    l2: float = 1e-4

    def __post_init__(self) -> None:
        check_number(self.l2, "l2", "a number, 0 or more", least=0)

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        require("scipy", extra="sklearn")
        from scipy.optimize import minimize

        features, targets = to_matrix(examples.inputs), examples.probabilities
        by_feature = features.T.tocsr() if hasattr(features, "tocsr") else features.T
        weight = targets.sum(1, keepdims=True)  # (n, 1), 1 for most
        n, (q, k) = weight.sum(), (features.shape[1], targets.shape[1])

        def loss_and_gradient(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            coef, intercept = flat[k:].reshape(q, k), flat[:k]
            logits = features @ coef + intercept  # (n, k)
            logs = logits - _log_sum(logits)
            slope = (np.exp(logs) * weight - targets) / n
            loss = -(targets * logs).sum() / n + self.l2 / 2 * (coef**2).sum()
            return float(loss), np.concatenate([slope.sum(0), (by_feature @ slope + self.l2 * coef).ravel()])

        result = minimize(
            loss_and_gradient,
            np.zeros(k + q * k),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MAX_ITERATIONS, "ftol": TOLERANCE},
        )
        self.intercept_, self.coef_ = result.x[:k], result.x[k:].reshape(q, k)

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        features = to_matrix(inputs)
        check_width(features, len(self.coef_))
        logits = features @ self.coef_ + self.intercept_
        probabilities: NDArray[np.float64] = np.exp(logits - _log_sum(logits))
        return probabilities

    def _state(self) -> State:
        return State({"coef": self.coef_, "intercept": self.intercept_})

    def _restore(self, state: State) -> None:
        self.coef_, self.intercept_ = state.arrays["coef"], state.arrays["intercept"]


def _log_sum(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the sum of exponentials of each row. (n, k) -> (n, 1)."""
    highest = logits.max(1, keepdims=True)
    total: NDArray[np.float64] = highest + np.log(np.exp(logits - highest).sum(1, keepdims=True))
    return total


class _WithHead(BaseClassifier):
    """A classifier that turns inputs into features for another classifier, its head."""

    head: BaseClassifier

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        features = self.learn_features(examples.inputs)
        held_out = None if validation is None else (self.to_features(validation.inputs), validation.probabilities)
        self.head.fit(features, examples.probabilities, held_out)

    @abstractmethod
    def learn_features(self, inputs: Inputs) -> Any:
        """Learn how to turn inputs into features, and return theirs. -> (n, q)."""

    @abstractmethod
    def to_features(self, inputs: Inputs) -> Any:
        """(n, q) features, dense or sparse."""

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        return self.head.predict_proba(self.to_features(inputs))


@dataclass
class Scaled(_WithHead):
    """Features scaled to rows of about length 1, like those of TF-IDF, with a classifier of features on top.

    Dense features, such as embeddings, are standardized first. Sparse ones keep their zeros: they are divided by one
    number.

    Args:
        head: The classifier of features.

    >>> features = np.array([[-100.0, 3.0], [-200.0, 3.0], [100.0, 3.0], [200.0, 3.0]])
    >>> probabilities = np.array([[0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    >>> Scaled().fit(features, probabilities).predict([[-300.0, 3.0], [300.0, 3.0]]).tolist()
    [0, 1]
    """

    head: BaseClassifier = field(default_factory=Linear)

    def learn_features(self, inputs: Inputs) -> Any:
        """Measure features, and return them on one scale."""
        self._center, self._scale = _measure(to_matrix(inputs))
        return self.to_features(inputs)

    def to_features(self, inputs: Inputs) -> Any:
        """(n, q) features on one scale."""
        features = to_matrix(inputs)
        check_width(features, len(self._scale))
        if hasattr(features, "tocsr"):
            return features.multiply(self._scale).tocsr()
        return (features - self._center) * self._scale

    def _state(self) -> State:
        return State({"center": self._center, "scale": self._scale}, {}, {"head": self.head})

    def _restore(self, state: State) -> None:
        self._center, self._scale = state.arrays["center"], state.arrays["scale"]
        self.head = state.parts["head"]


def _measure(features: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle of each feature, and its factor. (n, q) -> (q,), (q,)."""
    n, q = features.shape
    if hasattr(features, "tocsr"):
        squares = float(features.multiply(features).sum()) / n  # mean squared length of a row
        return np.zeros(q), np.full(q, squares**-0.5 if squares > 0 else 1.0)
    center, spread = features.mean(0), features.std(0)
    # A feature that never varies is left out: its rounding errors would be taken for a signal.
    varies = spread > 1e-12 * np.abs(center)
    return center, np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0) / np.sqrt(q)


@dataclass
class Tfidf(_WithHead):
    """Words and pairs of words, weighted by TF-IDF, with a model of features on top.

    Args:
        head: The model of features. `Linear` takes TF-IDF as it is; for `MLP`, set `dimensions`.
        dimensions: Reduce TF-IDF to this many dense dimensions (truncated SVD).
        min_count: Leave out words and pairs that occur in fewer training texts.
        max_terms: Keep at most this many words and pairs, the most frequent ones.
        seed: For the SVD.
        letters: Take two to four neighboring letters of words instead, of the first 1,000 letters of a text.

    >>> texts = ["free money now", "win free money", "see you at home", "see you at lunch"]
    >>> probabilities = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.7, 0.3]])
    >>> Tfidf().fit(texts, probabilities).predict(["free money", "see you"]).tolist()
    [1, 0]
    """

    head: BaseClassifier = field(default_factory=Linear)
    dimensions: int | None = None
    min_count: int = 2
    max_terms: int = 10_000
    seed: int = 0
    letters: bool = False

    def __post_init__(self) -> None:
        check_count(self.min_count, "min_count")
        check_count(self.max_terms, "max_terms")
        check_count(1 if self.dimensions is None else self.dimensions, "dimensions")
        check_seed(self.seed)

    def learn_features(self, inputs: Inputs) -> Any:
        """Learn words and their weights from texts, and return the features of these."""
        texts = check_texts(inputs)
        least = min(self.min_count, len(texts))
        self._vectorizer = _new_vectorizer(self.letters, min_df=least, max_features=self.max_terms)
        try:
            terms = self._vectorizer.fit_transform(texts)
        except ValueError as error:
            raise ParameterError(
                f"no word is in {self.min_count} of the {len(texts)} texts; expected texts with words, "
                "or a lower min_count"
            ) from error
        self._projection = None
        if self.dimensions is None:
            return terms
        from sklearn.decomposition import TruncatedSVD

        rank = max(1, min(self.dimensions, *(size - 1 for size in terms.shape)))
        self._projection = TruncatedSVD(rank, random_state=self.seed).fit(terms)
        return self._projection.transform(terms)

    def to_features(self, inputs: Inputs) -> Any:
        """(n, q) features, sparse unless reduced."""
        terms = self._vectorizer.transform(check_texts(inputs))
        return terms if self._projection is None else self._projection.transform(terms)

    def _state(self) -> State:
        arrays = {"idf": self._vectorizer.idf_}
        if self._projection is not None:
            arrays["projection"] = self._projection.components_
        return State(arrays, {"terms": self._vectorizer.get_feature_names_out().tolist()}, {"head": self.head})

    def _restore(self, state: State) -> None:
        self.head, self._projection = state.parts["head"], None
        self._vectorizer = _new_vectorizer(self.letters, vocabulary=state.values["terms"])
        self._vectorizer.idf_ = state.arrays["idf"]
        if "projection" in state.arrays:
            from sklearn.decomposition import TruncatedSVD

            self._projection = TruncatedSVD(len(state.arrays["projection"]))
            self._projection.components_ = state.arrays["projection"]


def _new_vectorizer(letters: bool = False, **options: Any) -> Any:
    require("sklearn", extra="sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer

    if letters:
        options |= {"analyzer": "char_wb", "ngram_range": (2, 4)}
        options["preprocessor"] = lambda text: text[:_MOST_LETTERS].lower()
        return TfidfVectorizer(sublinear_tf=True, **options)
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b", **options)


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
        fold = draw_folds(group_items(inputs), self.seed)
        held_out = cross_fit(lambda: Linear(self.l2), Examples(features, soft), fold)
        losses = [cross_entropy(soft, raise_to(held_out, power, _LEAST)) for power in _TEMPERATURES]
        self.temperature_ = float(_TEMPERATURES[int(np.argmin(losses))])
        self.cross_fitted_ = raise_to(held_out, self.temperature_, _LEAST)

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        return raise_to(self._base.predict_proba(inputs), self.temperature_, _LEAST)

    def _state(self) -> State:
        return State({}, {"temperature": self.temperature_}, {"_base": self._base})

    def _restore(self, state: State) -> None:
        base = state.parts["_base"]
        assert isinstance(base, Tfidf | Scaled)
        self.temperature_, self._base = state.values["temperature"], base
