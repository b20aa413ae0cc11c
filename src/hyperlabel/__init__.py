"""hyperlabel: training labels from noisy votes, in one forward pass of a pre-trained model.

>>> import hyperlabel as hl
>>> hl.HyperLabelModel().predict([[1, 1, -1], [0, 0, 1]]).tolist()
[1, 0]
"""

import importlib
from typing import TYPE_CHECKING, Any

from hyperlabel.errors import (
    HyperlabelError,
    MissingExtraError,
    NotFittedError,
    ParameterError,
    VotesError,
    VotesWarning,
    WeightsError,
)
from hyperlabel.labels import Labels
from hyperlabel.models import HyperLabelModel, LabelModel, label_model, label_models, load
from hyperlabel.patterns import Patterns
from hyperlabel.read import read_votes
from hyperlabel.votes import ABSTAIN, Votes

if TYPE_CHECKING:
    from hyperlabel.lf import (
        LabelingFunction,
        LFError,
        apply_lfs,
        expression_lf,
        keyword_lf,
        labeling_function,
        lookup_lf,
        regex_lf,
        threshold_lf,
    )
    from hyperlabel.lf.analysis import LFAnalysis

__version__ = "0.1.0"

__all__ = [
    "ABSTAIN",
    "HyperLabelModel",
    "HyperlabelError",
    "LFAnalysis",
    "LFError",
    "LabelModel",
    "LabelingFunction",
    "Labels",
    "MissingExtraError",
    "NotFittedError",
    "ParameterError",
    "Patterns",
    "Votes",
    "VotesError",
    "VotesWarning",
    "WeightsError",
    "apply_lfs",
    "engines",
    "expression_lf",
    "keyword_lf",
    "label_model",
    "label_models",
    "labeling_function",
    "load",
    "lookup_lf",
    "read_votes",
    "regex_lf",
    "threshold_lf",
]


_LATER = {"LFAnalysis": "hyperlabel.lf.analysis"} | dict.fromkeys(
    (
        "LabelingFunction",
        "LFError",
        "apply_lfs",
        "expression_lf",
        "keyword_lf",
        "labeling_function",
        "lookup_lf",
        "regex_lf",
        "threshold_lf",
    ),
    "hyperlabel.lf",
)
"""Names that are loaded when they are first asked for: labelling votes does not need them."""


def __dir__() -> list[str]:
    """The public names, and nothing else."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """`hl.engines` and the names of `_LATER`."""
    if name == "engines":
        return importlib.import_module("hyperlabel.engines")
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'hyperlabel' has no attribute {name!r}")
