"""Label models: one algorithm a file, all on the contract of `base`.

To add a model: a file here with a class that has `_fit` and `_probabilities`, and a line in the table below.
"""

import importlib
from typing import Any

from hyperlabel.errors import ParameterError
from hyperlabel.models.base import LabelModel
from hyperlabel.models.hyper import HyperLabelModel

_REGISTRY = {  # short name: module and class, imported when asked for
    "hlm2": ("hyper", "HyperLabelModel"),
    "hlm": ("hyper", "HyperLabelModel"),
    "mv": ("majority", "MajorityVote"),
    "bv": ("balanced", "BalancedVote"),
    "dp": ("data_programming", "DataProgramming"),
    "fs": ("flying_squid", "FlyingSquid"),
    "metal": ("metal", "MeTaL"),
    "nplm": ("nplm", "NPLM"),
    "ds": ("dawid_skene", "DawidSkene"),
    "hds": ("hierarchical", "HierarchicalDawidSkene"),
    "ebcc": ("ebcc", "EBCC"),
    "cll": ("cll", "CLL"),
    "auto": ("automatic", "AutomaticModel"),
    "rf": ("random_forest", "RandomForest"),
    "amcl": ("amcl", "AMCL"),
}


def label_models() -> list[str]:
    """Short names of all label models.

    >>> "hlm" in label_models()
    True
    """
    return list(_REGISTRY)


def label_model_class(name: str) -> type[LabelModel]:
    """The class of a label model by its short name.

    >>> label_model_class("mv").__name__
    'MajorityVote'
    """
    if name not in _REGISTRY:
        raise ParameterError(f"there is no label model {name!r}; expected one of {', '.join(_REGISTRY)}")
    module, class_name = _REGISTRY[name]
    found: type[LabelModel] = getattr(importlib.import_module(f"hyperlabel.models.{module}"), class_name)
    return found


def label_model(name: str, **params: Any) -> LabelModel:
    """A label model by its short name.

    >>> label_model("hlm", n_classes=3)
    HyperLabelModel(weights='hlm', n_classes=3)
    """
    found = label_model_class(name)
    if found is HyperLabelModel:
        params = {"weights": name, **params}  # its short names are those of its bundled weights
    return found(**params)


__all__ = ["HyperLabelModel", "LabelModel", "label_model", "label_model_class", "label_models"]
