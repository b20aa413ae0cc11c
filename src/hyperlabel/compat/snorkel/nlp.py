"""LFs that read texts parsed by spaCy. The user installs spaCy and its language models."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Any

from hyperlabel.compat.snorkel.functions import LabelingFunction
from hyperlabel.compat.snorkel.mappers import Preprocessor, check_parentheses
from hyperlabel.errors import MissingExtraError

ENGLISH = "en_core_web_sm"


class SpacyPreprocessor(Preprocessor):
    """Preprocessor that adds spaCy's `Doc` of a text; see `nlp_labeling_function` for the arguments."""

    def __init__(
        self,
        text_field: str,
        doc_field: str,
        language: str = ENGLISH,
        disable: Sequence[str] | None = None,
        pre: Sequence[Callable[[Any], Any]] | None = None,
        memoize: bool = False,
        memoize_key: Callable[[Any], Hashable] | None = None,
        gpu: bool = False,
    ) -> None:
        self._parse = _load(language, tuple(disable or ()), gpu)
        super().__init__("SpacyPreprocessor", {"text": text_field}, {"doc": doc_field}, pre, memoize, memoize_key)

    def run(self, text: str) -> dict[str, Any]:  # type: ignore[override]
        """Return the document of a text."""
        return {"doc": self._parse(text)}


@cache
def _load(language: str, disable: tuple[str, ...], gpu: bool) -> Callable[[str], Any]:
    try:
        import spacy  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise MissingExtraError(
            "this needs the package 'spacy', which is not installed; run: pip install spacy, then: "
            f"python -m spacy download {language}"
        ) from error
    if gpu:
        spacy.prefer_gpu()
    loaded: Callable[[str], Any] = spacy.load(language, disable=list(disable))
    return loaded


class NLPLabelingFunction(LabelingFunction):
    """An LF of data points that have a spaCy document; see `nlp_labeling_function` for the settings."""

    def __init__(
        self,
        name: str,
        f: Callable[..., int],
        resources: Mapping[str, Any] | None = None,
        pre: Sequence[Callable[[Any], Any]] | None = None,
        text_field: str = "text",
        doc_field: str = "doc",
        language: str = ENGLISH,
        disable: Sequence[str] | None = None,
        memoize: bool = True,
        memoize_key: Callable[[Any], Hashable] | None = None,
        gpu: bool = False,
    ) -> None:
        document = SpacyPreprocessor(text_field, doc_field, language, disable, pre, memoize, memoize_key, gpu)
        if memoize and not pre and memoize_key is None:
            document = _SHARED.setdefault((text_field, doc_field, language, tuple(disable or ())), document)
        super().__init__(name, f, resources, [document])


_SHARED: dict[tuple[Any, ...], SpacyPreprocessor] = {}  # LFs that ask for the same document parse a text once


def nlp_labeling_function(
    name: str | None = None,
    resources: Mapping[str, Any] | None = None,
    pre: Sequence[Callable[[Any], Any]] | None = None,
    text_field: str = "text",
    doc_field: str = "doc",
    language: str = ENGLISH,
    disable: Sequence[str] | None = None,
    memoize: bool = True,
    memoize_key: Callable[[Any], Hashable] | None = None,
    gpu: bool = False,
) -> Callable[[Callable[..., int]], NLPLabelingFunction]:
    """Turn a function of a data point with a spaCy document into an LF: `@nlp_labeling_function()`.

    Args:
        name: Name of the LF; the function's own if not given.
        resources: Keyword arguments of the function.
        pre: Preprocessors, applied before spaCy.
        text_field: The field of the text.
        doc_field: The field for the document.
        language: The model that spaCy loads.
        disable: Components of the model to leave out.
        memoize: Whether to cache documents; LFs with the same settings then share them.
        memoize_key: Key of the cache, as for `Preprocessor`.
        gpu: Whether spaCy prefers a GPU.
    """
    check_parentheses("nlp_labeling_function", name)
    return lambda f: NLPLabelingFunction(
        name or f.__name__, f, resources, pre, text_field, doc_field, language, disable, memoize, memoize_key, gpu
    )


SparkNLPLabelingFunction = NLPLabelingFunction  # which takes rows of Spark, too
spark_nlp_labeling_function = nlp_labeling_function
