"""Small real sets that need no download: `load_example`.

The items come with installed packages. `packages` are sentences of documentation, read by keyword rules. `readers` and
`panel` are scikit-learn's images of handwritten digits, read by small classifiers that stand in for people and for
language models: real votes with real mistakes, whose truth is known.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.data import Votes
from hyperlabel.errors import ParameterError, require
from hyperlabel.lf import LabelingFunction, apply_lfs, keyword_lf

if TYPE_CHECKING:
    import polars as pl

_DRAWING = "axes axis collections colors figure image legend lines patches pyplot text ticker"
_MODULES = {
    "numpy": ("numpy", *(f"numpy.{name}" for name in "linalg fft random ma strings polynomial".split())),  # noqa: SIM905
    "polars": ("polars",),
    "matplotlib": tuple(f"matplotlib.{name}" for name in _DRAWING.split()),
}
_RULES: dict[str, tuple[str, tuple[str, ...]]] = {
    # name: (class, words)
    "arrays": ("numpy", ("array", "arrays", "ndarray", "dtype")),
    "elementwise": ("numpy", ("element-wise", "axis", "input")),
    "polynomials": ("numpy", ("polynomial", "Chebyshev", "Hermite", "Legendre", "Laguerre", "coefficients")),
    "masks": ("numpy", ("masked", "mask")),
    "chance": ("numpy", ("distribution", "random", "samples")),
    "frames": ("polars", ("column", "columns", "DataFrame", "LazyFrame")),
    "queries": ("polars", ("expression", "expressions", "null", "lazy", "query")),
    "verbs": ("polars", ("group", "join", "sort", "rolling", "schema")),
    "drawing": ("matplotlib", ("plot", "figure", "axes", "legend", "subplot")),
    "looks": ("matplotlib", ("color", "line", "tick", "label", "font", "artist", "marker")),
    "setters": ("matplotlib", ("set", "get")),
}
_LEAST_WORDS = 4
_TAUGHT = 400  # images that teach the readers; the others are the items


@dataclass(frozen=True, eq=False)
class Example:
    """A small real set: items, votes and truth.

    Attributes:
        name: The name that `load_example` knows it by.
        about: One sentence about the items and the voters.
        votes: The votes, with the ids of the items and the names of the LFs.
        truth: The true class of each item, (n,).
        texts: The items, if they are texts.
        features: The items as numbers, (n, f), if they are images.
        lfs: The labeling functions that voted, if rules did.
    """

    name: str
    about: str
    votes: Votes
    truth: NDArray[Any]
    texts: list[str] | None = None
    features: NDArray[np.float64] | None = None
    lfs: tuple[LabelingFunction, ...] = ()

    def __repr__(self) -> str:
        """The name, the sizes and the sentence about the set."""
        n_items, n_lfs = self.votes.shape
        return f"Example {self.name!r}: {n_items:,} items, {n_lfs} LFs. {self.about}"

    def to_polars(self) -> "pl.DataFrame":
        """A table with id, text if there are texts, one column per LF, and truth."""
        import polars as pl

        votes = self.votes.to_polars().select(self.votes.lf_names)
        columns: dict[str, Any] = {"id": np.asarray(self.votes.items).tolist()}
        if self.texts is not None:
            columns["text"] = self.texts
        return pl.DataFrame(columns).hstack(votes).with_columns(truth=pl.Series(self.truth.tolist()))


def load_example(name: str = "packages") -> Example:
    """Load a small real set with its truth; nothing is downloaded.

    Args:
        name: `"packages"`: sentences from the documentation of NumPy, Polars and matplotlib, and eleven keyword rules
            that say which package a sentence is from (extra `demo`). `"readers"`: 1,397 images of digits, each read by
            about eight of forty readers of unequal skill. `"panel"`: the same images, all read by eight judges that
            look at different parts of an image (both extra `sklearn`).

    Returns:
        The set.

    >>> example = load_example("panel")
    >>> example.votes.shape, example.truth[:3].tolist()
    ((1397, 8), [4, 5, 6])
    """
    if name not in _LOADERS:
        raise ParameterError(f"there is no example {name!r}; choose one of {', '.join(map(repr, _LOADERS))}")
    return _LOADERS[name]()


def sentence_table(modules: Mapping[str, Sequence[str]]) -> "pl.DataFrame":
    """Return a Polars frame of sentences from modules by package: id, text and truth, the package of a sentence."""
    import polars as pl

    rows: dict[str, str | None] = {}
    for truth, names in modules.items():
        for text in dict.fromkeys(text for name in names for text in _list_sentences(importlib.import_module(name))):
            rows[text] = truth if text not in rows else None  # a sentence in two packages has no single truth
    kept = sorted((text, truth) for text, truth in rows.items() if truth is not None)
    texts, truths = zip(*kept, strict=True)
    return pl.DataFrame({"id": [f"s{i}" for i in range(len(kept))], "text": texts, "truth": truths})


def _list_sentences(module: Any) -> Iterator[str]:
    """Yield the first sentences of the public members of a module, and of the methods of its classes."""
    root = module.__name__.partition(".")[0]
    for name in sorted(name for name in dir(module) if not name.startswith("_")):
        member = getattr(module, name, None)
        yield from _first_sentence(member)
        if inspect.isclass(member) and member.__module__.partition(".")[0] == root:
            for method in sorted(method for method in dir(member) if not method.startswith("_")):
                yield from _first_sentence(inspect.getattr_static(member, method, None))


def _first_sentence(member: Any) -> Iterator[str]:
    """Yield the first sentence of a docstring, if it has enough words."""
    member = getattr(member, "__func__", member)
    text = member.__doc__ if callable(member) or isinstance(member, property) else None
    if not isinstance(text, str):
        return
    parts = [part for part in inspect.cleandoc(text).split("\n\n") if "(" not in part.split("\n")[0][:40]]
    sentence = re.split(r"(?<=[.!?])\s", " ".join(parts[0].split()))[0] if parts else ""
    if len(sentence.split()) >= _LEAST_WORDS and not sentence.startswith((":", "..", "Parameters")):
        yield sentence


def _load_packages() -> Example:
    """Load the sentences, and let the rules vote."""
    for package in ("polars", "matplotlib"):
        require(package, extra="demo")
    frame = sentence_table(_MODULES)
    lfs = tuple(keyword_lf(list(words), label, name=name) for name, (label, words) in _RULES.items())
    about = f"Sentences from the documentation of {', '.join(_MODULES)}; the rules look for keywords."
    texts = frame["text"].to_list()
    return Example("packages", about, apply_lfs(lfs, frame), frame["truth"].to_numpy(), texts, lfs=lfs)


def _load_readers() -> Example:
    """Let forty decision trees, each taught by 15 to 120 images, read about a fifth of the images each."""
    from sklearn.tree import DecisionTreeClassifier

    (images, digits), (items, truth) = _split_digits()
    rng = np.random.default_rng(0)
    cells = np.full((len(items), 40), None, dtype=object)
    for reader in range(cells.shape[1]):
        taught = rng.choice(len(images), rng.choice([15, 30, 60, 120]), replace=False)
        tree = DecisionTreeClassifier(max_features=0.5, random_state=0).fit(images[taught], digits[taught])
        reads = rng.random(len(items)) < 0.2
        cells[reads, reader] = tree.predict(items[reads])
    names = [f"reader {i + 1:02d}" for i in range(cells.shape[1])]
    about = "Images of digits, each read by some of forty small decision trees."
    return _digit_example("readers", about, dict(zip(names, cells.T, strict=True)), items, truth)


def _load_panel() -> Example:
    """Let eight classifiers read all images; four of them see half of an image only."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.tree import DecisionTreeClassifier

    def see(part: Any) -> Any:
        view = FunctionTransformer(lambda images: images.reshape(-1, 8, 8)[part].reshape(len(images), -1))
        return make_pipeline(view, LogisticRegression(max_iter=1000))

    (images, digits), (items, truth) = _split_digits()
    judges = {  # name: (classifier, number of images that teach it)
        "top half": (see(np.s_[:, :4]), 100),
        "bottom half": (see(np.s_[:, 4:]), 100),
        "left half": (see(np.s_[:, :, :4]), 100),
        "right half": (see(np.s_[:, :, 4:]), 100),
        "neighbors": (KNeighborsClassifier(3), 60),
        "deep tree": (DecisionTreeClassifier(random_state=0), 200),
        "small tree": (DecisionTreeClassifier(max_depth=3, random_state=0), _TAUGHT),
        "Bayes": (GaussianNB(var_smoothing=1e-3), _TAUGHT),
    }
    votes = {name: judge.fit(images[:n], digits[:n]).predict(items) for name, (judge, n) in judges.items()}
    about = "Images of digits, all read by eight classifiers that see parts of an image or were taught by few images."
    return _digit_example("panel", about, votes, items, truth)


def _split_digits() -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]:
    """Return images (n, 64) and digits (n,) that teach the readers, and those that are the items."""
    require("sklearn", extra="sklearn")
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    return (images[:_TAUGHT], digits[:_TAUGHT]), (images[_TAUGHT:], digits[_TAUGHT:])


def _digit_example(
    name: str, about: str, votes: Mapping[str, NDArray[Any]], items: NDArray[Any], truth: NDArray[Any]
) -> Example:
    """Make an example of images from the columns of votes."""
    rows = zip(*votes.values(), strict=True)
    records = [{"id": f"d{i}", **dict(zip(votes, row, strict=True))} for i, row in enumerate(rows)]
    return Example(name, about, Votes.from_frame(records), truth, features=items)


_LOADERS: dict[str, Callable[[], Example]] = {
    "packages": _load_packages,
    "readers": _load_readers,
    "panel": _load_panel,
}
