"""Training of hyper label models: theory, synthetic votes with known truth, networks, runs.

Flow: prior -> votes and targets -> network -> loop -> checkpoint -> selection -> export -> weights file.
Theory and priors are NumPy; what trains needs torch (extra `train`) and is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hyperlabel.errors import require
from hyperlabel.training._labeled_priors import LABELED_PRIORS, MixturePrior, drop_silent
from hyperlabel.training._paper_priors import (
    PRIORS,
    Assumption,
    PaperValidationPrior,
    Quorum,
    ReleasedPrior,
    Sigma,
    Task,
    UniformPrior,
    better_where_voting,
    is_valid,
    quorum,
    to_signs,
)
from hyperlabel.training._rule_priors import LabeledTask, RulesPrior

if TYPE_CHECKING:
    from hyperlabel.training._torch import *  # noqa: F403

__all__ = [
    "LABELED_PRIORS",
    "PRIORS",
    "Assumption",
    "LabeledTask",
    "MixturePrior",
    "PaperValidationPrior",
    "Quorum",
    "ReleasedPrior",
    "RulesPrior",
    "Sigma",
    "Task",
    "UniformPrior",
    "better_where_voting",
    "drop_silent",
    "is_valid",
    "quorum",
    "to_signs",
]


def __getattr__(name: str) -> Any:
    """Import the names that need torch when the first of them is used."""
    if name.startswith("_"):
        raise AttributeError(f"module 'hyperlabel.training' has no attribute {name!r}")
    require("torch", extra="train")
    return getattr(importlib.import_module("hyperlabel.training._torch"), name)
