"""Votes, texts and gold together, and classifiers of texts or features that learn from soft labels.

Flow of `label`: texts -> `Vectors` -> three views that learn from what a label model makes of the votes -> evidence,
combined with the votes -> `Labels`, whose model is a `JointModel` for new items. `fill_labels` is a thin form of it.

`Classifier` is the light classifier: it takes texts or features and needs scikit-learn (extra `sklearn`). `Linear`,
`Scaled` and `Tfidf` are its parts. `MLP` and `Transformer` need torch (extra `text`). `Search` picks the
hyper-parameters of any of them on held-out items, with generated labels too: no true label is needed. All have the
interface of `BaseClassifier`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hyperlabel.classify._base import BaseClassifier
from hyperlabel.classify._joint import TEXT, VOTES, JointModel, TextItems, fill_labels, label, load
from hyperlabel.classify._light import Classifier, Linear, Scaled, Tfidf
from hyperlabel.classify._search import GRIDS, Search
from hyperlabel.classify._vectors import Vectors
from hyperlabel.errors import require

if TYPE_CHECKING:
    from hyperlabel.classify._mlp import MLP, find_device
    from hyperlabel.classify._transformer import Transformer

__all__ = [
    "GRIDS",
    "MLP",
    "TEXT",
    "VOTES",
    "BaseClassifier",
    "Classifier",
    "TextItems",
    "JointModel",
    "Linear",
    "Scaled",
    "Search",
    "Tfidf",
    "Transformer",
    "Vectors",
    "fill_labels",
    "find_device",
    "label",
    "load",
]

_TORCH = {"MLP": "_mlp", "Transformer": "_transformer", "find_device": "_mlp"}


def __getattr__(name: str) -> Any:
    """The classifiers that need torch, each imported when it is first used."""
    if name in _TORCH:
        require("torch", extra="text")
        return getattr(importlib.import_module(f"hyperlabel.classify.{_TORCH[name]}"), name)
    raise AttributeError(f"module 'hyperlabel.classify' has no attribute {name!r}")
