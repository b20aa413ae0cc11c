"""Texts and features as numbers: words by TF-IDF, and one dense vector per item.

`Vectorizer` learns both once; `Vectors` are the result, which many fits may share: `Vectors.of(texts)` can be given to
`label` in place of the texts, so that labels with more gold cost no new encoding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64, show
from hyperlabel.classify._base import State
from hyperlabel.classify._inputs import check_width, count_items, group_items, read_inputs, to_features
from hyperlabel.classify._light import Linear, Scaled, Tfidf
from hyperlabel.errors import MissingExtraError, ParameterError, require
from hyperlabel.models import strip_prefix, with_prefix

Encoder: TypeAlias = str | Callable[[list[str]], Any] | None
"""`wordllama`, a function from texts to an array, or None for LSA of TF-IDF."""

DIMENSIONS = 100
"""Of the dense vectors that TF-IDF is reduced to (latent semantic analysis)."""
MAX_TERMS = 20_000
_FEW = 100  # of fewer texts every word counts
_LEAST = 1e-9  # a vector of zeros keeps its length
_MOST_TOKENS = 512  # of a text that WordLlama reads
_WORDLLAMA = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")


@dataclass(frozen=True, eq=False)
class Vectors:
    """n items as numbers.

    Attributes:
        terms: (n, q) TF-IDF of the texts, or scaled features.
        dense: (n, d) dense vectors of length 1.
        known: (n,) False where a text is missing or blank.
        group: (n,) equal numbers for equal texts, which are held out together.
        vectorizer: What made them, for other items.
    """

    terms: Any
    dense: NDArray[np.float32]
    known: NDArray[np.bool_]
    group: NDArray[np.intp]
    vectorizer: "Vectorizer"

    def __len__(self) -> int:
        return len(self.known)

    @classmethod
    def of(cls, texts: object = None, features: object = None, encoder: Encoder = None) -> "Vectors":
        """Encode texts, features, or both: then features are the dense vectors of the texts.

        >>> len(Vectors.of(["win free money", "see you", None]))
        3
        """
        return Vectorizer(encoder).fit(texts, features)


@dataclass
class Vectorizer:
    """Turns texts or features into `Vectors`; after `fit`, other items in the same way."""

    encoder: Encoder = None

    def __post_init__(self) -> None:
        if not (self.encoder is None or callable(self.encoder) or self.encoder == "wordllama"):
            raise ParameterError(
                f"encoder is {show(self.encoder)}; expected None, 'wordllama', or a function from texts to an array"
            )

    def fit(self, texts: object, features: object) -> Vectors:
        """Learn from items, and encode them."""
        self._letters: Tfidf | None = None
        self._width: int | None = None
        self._projection: NDArray[np.float32] | None = None
        self._terms: Tfidf | Scaled = Scaled()
        if texts is None:
            self._terms.learn_features(read_inputs(features, "features"))
            return self._transform_features(features)
        read, known = read_texts(texts)
        some = [read[i] for i in np.flatnonzero(known)]
        if not some:
            raise ParameterError("texts has no text with words; expected some")
        few = 1 if len(some) < _FEW else 2  # texts that a word must be in
        self._terms = Tfidf(max_terms=MAX_TERMS, min_count=few)
        terms, letters = _spread(self._terms.learn_features(some), known), None
        if features is None and self.encoder is None:
            self._letters = Tfidf(max_terms=MAX_TERMS, min_count=few, letters=True)
            letters = _spread(self._letters.learn_features(some), known)
            self._projection = _find_directions(_join(terms, letters))
        return self._make_vectors(read, known, terms, letters, features)

    def transform(self, texts: object, features: object) -> Vectors:
        """Encode items."""
        if texts is None:
            return self._transform_features(features)
        if not isinstance(self._terms, Tfidf):
            raise ParameterError("texts are given, but the state learned from features; give features")
        read, known = read_texts(texts)
        letters = None if self._letters is None or features is not None else self._letters.to_features(read)
        return self._make_vectors(read, known, self._terms.to_features(read), letters, features)

    def _transform_features(self, features: object) -> Vectors:
        if not isinstance(self._terms, Scaled):
            raise ParameterError("the state learned from texts; give texts")
        scaled = self._terms.to_features(read_inputs(features, "features"))
        n = count_items(scaled)
        dense = to_features(scaled).astype(np.float32)
        return Vectors(scaled, _to_length_one(dense), np.ones(n, bool), np.arange(n), self)

    def _make_vectors(
        self, texts: list[str], known: NDArray[np.bool_], terms: Any, letters: Any, features: object
    ) -> Vectors:
        """Vectors of texts with their TF-IDF; dense are features, LSA of TF-IDF, or what the encoder returns."""
        if features is not None:
            dense = to_features(read_inputs(features, "features"))
        else:
            dense = self._encode(texts, known) if letters is None else _join(terms, letters) @ self._projection
        if len(dense) != len(texts):
            raise ParameterError(f"features has {len(dense)} items but texts has {len(texts)}; expected the same")
        self._width = dense.shape[1] if self._width is None else self._width
        check_width(dense, self._width)
        return Vectors(terms, _to_length_one(dense.astype(np.float32)), known, group_items(texts), self)

    def _encode(self, texts: list[str], known: NDArray[np.bool_]) -> Float64:
        """Dense vectors by the encoder; zeros where there is no text. -> (n, d)."""
        if self.encoder is None:
            raise ParameterError("the state learned from texts and features; give both")
        encode = _load_wordllama() if self.encoder == "wordllama" else self.encoder
        assert callable(encode)
        some = np.flatnonzero(known)
        vectors = to_features(encode([texts[i] for i in some]))
        if len(vectors) != len(some):
            raise ParameterError(f"encoder returned {len(vectors)} rows for {len(some)} texts; expected one each")
        dense = np.zeros((len(texts), vectors.shape[1]))
        dense[some] = vectors
        return dense

    @property
    def kind(self) -> str:
        """`text` or `features`."""
        return "text" if isinstance(self._terms, Tfidf) else "features"

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """What was learned, as named arrays and values that JSON knows. An encoder is named, not stored."""
        arrays: Arrays = {} if self._projection is None else {"projection": self._projection}
        name = self.encoder if self.encoder is None or isinstance(self.encoder, str) else _name(self.encoder)
        values: dict[str, Any] = {"kind": self.kind, "encoder": name, "width": self._width}
        for part, each in {"terms": self._terms, "letters": self._letters}.items():
            if each is not None:
                state = each._state()
                arrays |= with_prefix(state.arrays, part)
                values[part] = state.values
        return arrays, values

    @classmethod
    def from_arrays(cls, arrays: Arrays, values: dict[str, Any]) -> "Vectorizer":
        """The inverse of `to_arrays`."""
        encoder = values["encoder"]
        made = cls(encoder if encoder in (None, "wordllama") else partial(_refuse, encoder))
        made._terms = Tfidf(max_terms=MAX_TERMS) if values["kind"] == "text" else Scaled()
        made._letters = Tfidf(max_terms=MAX_TERMS, letters=True) if "letters" in values else None
        made._width, made._projection = values["width"], arrays.get("projection")
        for part, each in {"terms": made._terms, "letters": made._letters}.items():
            if each is not None:
                each._restore(State(strip_prefix(arrays, part), values[part], {"head": Linear()}))
        return made


def _name(encoder: Callable[..., Any]) -> str:
    return str(getattr(encoder, "__qualname__", type(encoder).__qualname__))


def _refuse(name: str, texts: list[str]) -> Any:
    """Stand for an encoder that a file names but does not hold."""
    raise ParameterError(
        f"the state was made with the encoder {name}, which is not stored; give its vectors of the {len(texts):,} "
        "texts too, as features"
    )


def read_texts(texts: object) -> tuple[list[str], NDArray[np.bool_]]:
    """Texts, empty where missing, and (n,) whether there is one that is not blank."""
    read = read_inputs(texts, "texts")
    if not isinstance(read, list):
        raise ParameterError(f"texts has shape {read.shape}; expected a sequence of texts. Give numbers as features")
    whole = ["" if text is None or (isinstance(text, float) and np.isnan(text)) else text for text in read]
    for i, text in enumerate(whole):
        if not isinstance(text, str):
            raise ParameterError(f"texts[{i}] is {show(text)}; expected a text, or None")
    return whole, np.array([bool(text.strip()) for text in whole], bool)


def _spread(rows: Any, known: NDArray[np.bool_]) -> Any:
    """Rows of some items among zeros for the others. (s, q), (n,) -> (n, q), sparse."""
    from scipy.sparse import csr_matrix

    starts = np.concatenate([[0], np.cumsum(known)])
    return csr_matrix((np.ones(known.sum()), np.arange(known.sum()), starts)) @ rows


def _join(terms: Any, letters: Any) -> Any:
    """TF-IDF of words and of letters, side by side. -> (n, q)."""
    from scipy.sparse import hstack

    return hstack([terms, letters]).tocsr()


def _find_directions(terms: Any) -> NDArray[np.float32]:
    """The directions that latent semantic analysis keeps. (n, q) -> (q, d)."""
    from sklearn.utils.extmath import randomized_svd

    most = min(DIMENSIONS, 2 + terms.shape[0] // 10)  # more directions of few texts are noise
    rank = max(1, min(most, *(size - 1 for size in terms.shape)))
    return np.asarray(randomized_svd(terms.astype(np.float32), rank, n_iter=3, random_state=0)[2].T)


def _to_length_one(dense: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return np.asarray(dense / np.maximum(lengths, np.float32(_LEAST)), np.float32)


@cache
def _load_wordllama() -> Callable[[list[str]], Float64]:
    """A function from texts to the mean of the vectors of their tokens, read from the files of wordllama's wheel."""
    spec = find_spec("wordllama")  # imported, it would need packages that its files do not
    if spec is None or spec.origin is None:
        raise MissingExtraError("encoder is 'wordllama', which is not installed; run: pip install 'hyperlabel[embed]'")
    require("tokenizers", extra="embed")
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    weights, config = (Path(spec.origin).parent / name for name in _WORDLLAMA)
    try:
        [vectors] = load_file(weights).values()
        tokenizer = Tokenizer.from_file(str(config))
    except Exception as error:  # tokenizers raises Exception itself
        raise ParameterError(
            f"encoder is 'wordllama', but the files of the installed package cannot be read ({error}); expected "
            f"{weights.name} and {config.name}, as in wordllama 0.4.0.post1"
        ) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_TOKENS)

    def encode(texts: list[str]) -> Float64:
        tokens = [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]
        return np.array([vectors[ids].mean(0) if ids else np.zeros(vectors.shape[1]) for ids in tokens], np.float64)

    return encode
