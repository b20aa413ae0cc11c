"""Texts as TF-IDF, with any model of features on top: nothing to download."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_count, check_kind, check_seed
from hyperlabel.classify.base import BaseClassifier, State
from hyperlabel.classify.inputs import Examples, Inputs, check_texts
from hyperlabel.classify.linear import Linear
from hyperlabel.errors import ParameterError, require


@dataclass
class Tfidf(BaseClassifier):
    """Words and pairs of words, weighted by TF-IDF, with a model of features on top.

    Args:
        head: The model of features. `Linear` takes TF-IDF as it is; for `MLP`, set `dimensions`.
        dimensions: Reduce TF-IDF to this many dense dimensions (truncated SVD).
        min_count: Leave out words and pairs that occur in fewer training texts.
        max_terms: Keep at most this many words and pairs, the most frequent ones.
        seed: For the SVD.

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

    def __post_init__(self) -> None:
        check_kind(self.head, "head", BaseClassifier, "a classifier of features, such as Linear()")
        for name in ("dimensions", "min_count", "max_terms"):
            if name != "dimensions" or self.dimensions is not None:
                check_count(getattr(self, name), name)
        check_seed(self.seed)

    def _fit(self, examples: Examples, validation: Examples | None) -> None:
        texts = check_texts(examples.inputs)
        self._vectorizer = self._learn_terms(texts)
        self._projection = self._learn_projection(self._vectorizer.transform(texts))
        aside = None if validation is None else (self.to_features(validation.inputs), validation.probabilities)
        self.head.fit(self.to_features(texts), examples.probabilities, aside)

    def _learn_terms(self, texts: list[str]) -> Any:
        vectorizer = _new_vectorizer(min_df=min(self.min_count, len(texts)), max_features=self.max_terms)
        try:
            return vectorizer.fit(texts)
        except ValueError as error:
            raise ParameterError(
                f"no word is in {self.min_count} of the {len(texts)} texts; expected texts with words, "
                "or a lower min_count"
            ) from error

    def _learn_projection(self, terms: Any) -> Any:
        """The SVD of (n, terms) TF-IDF, or None."""
        if self.dimensions is None:
            return None
        from sklearn.decomposition import TruncatedSVD

        rank = max(1, min(self.dimensions, *(size - 1 for size in terms.shape)))
        return TruncatedSVD(rank, random_state=self.seed).fit(terms)

    def to_features(self, inputs: Inputs) -> Any:
        """(n, q) features, sparse unless reduced."""
        terms = self._vectorizer.transform(check_texts(inputs))
        return terms if self._projection is None else self._projection.transform(terms)

    def _probabilities(self, inputs: Inputs) -> NDArray[np.float64]:
        return self.head.predict_proba(self.to_features(inputs))

    def _state(self) -> State:
        arrays = {"idf": self._vectorizer.idf_}
        if self._projection is not None:
            arrays["projection"] = self._projection.components_
        return State(arrays, {"terms": self._vectorizer.get_feature_names_out().tolist()}, {"head": self.head})

    def _restore(self, state: State) -> None:
        self.head, self._projection = state.parts["head"], None
        self._vectorizer = _new_vectorizer(vocabulary=state.values["terms"])
        self._vectorizer.idf_ = state.arrays["idf"]
        if "projection" in state.arrays:
            from sklearn.decomposition import TruncatedSVD

            self._projection = TruncatedSVD(len(state.arrays["projection"]))
            self._projection.components_ = state.arrays["projection"]


def _new_vectorizer(**options: Any) -> Any:
    require("sklearn", extra="sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b", **options)
