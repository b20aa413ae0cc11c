"""hyperlabel: training labels from noisy votes, in one forward pass of a pre-trained model.

>>> import hyperlabel as hl
>>> hl.HyperLabelModel().predict([[1, 1, -1], [0, 0, 1]]).tolist()
[1, 0]
"""

import importlib
from typing import TYPE_CHECKING, Any

from hyperlabel._version import VERSION

if TYPE_CHECKING:
    from hyperlabel.classify import Classifier, fill_labels, label, load
    from hyperlabel.data import ABSTAIN, NOT, Labels, Patterns, Votes, any_of, read_votes, soft
    from hyperlabel.errors import (
        HyperlabelError,
        MissingExtraError,
        NotFittedError,
        ParameterError,
        ProjectError,
        VotesError,
        VotesWarning,
        WeightsError,
    )
    from hyperlabel.examples import load_example
    from hyperlabel.lf import (
        LabelingFunction,
        LFAnalysis,
        LFCache,
        LFError,
        apply_lfs,
        drift,
        expression_lf,
        keyword_lf,
        labeling_function,
        lookup_lf,
        prompt_lf,
        regex_lf,
        threshold_lf,
    )
    from hyperlabel.models import HyperLabelModel, LabelModel, label_model, label_models
    from hyperlabel.panel import jury
    from hyperlabel.spans import apply_span_lfs, gazetteer_lf, label_spans, regex_span_lf, span_lf
    from hyperlabel.tags import label_tags
    from hyperlabel.trust import advise, audit_sample, certify, estimate

__version__ = VERSION

__all__ = [
    "ABSTAIN", "Classifier", "HyperLabelModel", "HyperlabelError", "LFAnalysis", "LFCache", "LFError", "LabelModel",
    "LabelingFunction", "Labels", "MissingExtraError", "NOT", "NotFittedError", "ParameterError", "Patterns", "Project",
    "ProjectError", "Votes", "VotesError", "VotesWarning", "WeightsError", "advise", "any_of", "apply_lfs",
    "apply_span_lfs", "audit_sample", "certify", "drift", "engines", "estimate", "expression_lf", "fill_labels",
    "gazetteer_lf", "jury", "keyword_lf", "label", "label_model", "label_models", "label_spans", "label_tags",
    "labeling_function", "load", "load_example", "lookup_lf", "prompt_lf", "read_votes", "regex_lf", "regex_span_lf",
    "report", "soft", "span_lf", "threshold_lf",
]  # fmt: skip

_HOMES = {  # module: the public names that it holds
    "classify": "Classifier fill_labels label load",
    "errors": "HyperlabelError MissingExtraError NotFittedError ParameterError ProjectError "
    "VotesError VotesWarning WeightsError",
    "examples": "load_example",
    "data": "ABSTAIN Labels NOT Patterns Votes any_of read_votes soft",
    "lf": "LFAnalysis LFCache LFError LabelingFunction apply_lfs drift expression_lf keyword_lf "
    "labeling_function lookup_lf prompt_lf regex_lf threshold_lf",
    "models": "HyperLabelModel LabelModel label_model label_models",
    "panel": "jury",
    "reports": "report",
    "spans": "apply_span_lfs gazetteer_lf label_spans regex_span_lf span_lf",
    "studio": "Project",
    "tags": "label_tags",
    "trust": "advise audit_sample certify estimate",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __dir__() -> list[str]:
    """The public names and nothing else."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is first used: the help of the command line needs none of them."""
    if name == "engines":
        return importlib.import_module("hyperlabel.engines")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hyperlabel' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"hyperlabel.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
