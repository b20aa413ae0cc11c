"""Label models: one algorithm per file, all on the contract of `base`.

To add a model: a file here with a class that has `_fit` and `_probabilities`, and a line in each table of `registry`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hyperlabel.models.base import LabelModel
from hyperlabel.models.pretrained import HyperLabelModel
from hyperlabel.models.registry import CLASSES, choose_model, label_model, label_model_class, label_models, load

if TYPE_CHECKING:
    from hyperlabel.models.amcl import AMCL
    from hyperlabel.models.automatic import AutomaticModel
    from hyperlabel.models.balanced import BalancedVote
    from hyperlabel.models.cll import CLL
    from hyperlabel.models.data_programming import DataProgramming
    from hyperlabel.models.dawid_skene import DawidSkene
    from hyperlabel.models.ebcc import EBCC
    from hyperlabel.models.flying_squid import FlyingSquid
    from hyperlabel.models.hierarchical import HierarchicalDawidSkene
    from hyperlabel.models.majority import MajorityVote
    from hyperlabel.models.metal import MeTaL
    from hyperlabel.models.nplm import NPLM
    from hyperlabel.models.random_forest import RandomForest

__all__ = [
    "AMCL",
    "CLL",
    "EBCC",
    "NPLM",
    "AutomaticModel",
    "BalancedVote",
    "DataProgramming",
    "DawidSkene",
    "FlyingSquid",
    "HierarchicalDawidSkene",
    "HyperLabelModel",
    "LabelModel",
    "MajorityVote",
    "MeTaL",
    "RandomForest",
    "choose_model",
    "label_model",
    "label_model_class",
    "label_models",
    "load",
]


def __getattr__(name: str) -> Any:
    """The classes of label models, each imported when it is first used."""
    if name in CLASSES:
        return getattr(importlib.import_module(f"hyperlabel.models.{CLASSES[name]}"), name)
    raise AttributeError(f"module 'hyperlabel.models' has no attribute {name!r}")
