"""Label models by their short names; a module is imported when its model is first used."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel.checks import check_kind
from hyperlabel.errors import MissingExtraError, ParameterError, WeightsError
from hyperlabel.models.base import LabelModel
from hyperlabel.shown import show
from hyperlabel.tensors import read_tensors

CLASSES = {  # class: its module
    "HyperLabelModel": "pretrained",
    "MajorityVote": "majority",
    "BalancedVote": "balanced",
    "DataProgramming": "data_programming",
    "FlyingSquid": "flying_squid",
    "MeTaL": "metal",
    "NPLM": "nplm",
    "DawidSkene": "dawid_skene",
    "HierarchicalDawidSkene": "hierarchical",
    "EBCC": "ebcc",
    "CLL": "cll",
    "AutomaticModel": "automatic",
    "RandomForest": "random_forest",
    "AMCL": "amcl",
}
NAMES = {  # short name: class
    "hlm2": "HyperLabelModel",
    "hlm": "HyperLabelModel",
    "mv": "MajorityVote",
    "bv": "BalancedVote",
    "dp": "DataProgramming",
    "fs": "FlyingSquid",
    "metal": "MeTaL",
    "nplm": "NPLM",
    "ds": "DawidSkene",
    "hds": "HierarchicalDawidSkene",
    "ebcc": "EBCC",
    "cll": "CLL",
    "auto": "AutomaticModel",
    "rf": "RandomForest",
    "amcl": "AMCL",
}


def label_models() -> list[str]:
    """Short names of all label models.

    >>> "hlm" in label_models()
    True
    """
    return list(NAMES)


def label_model(name: str, **params: Any) -> LabelModel:
    """A label model by its short name; `from hyperlabel.models import DawidSkene` gives the classes themselves.

    >>> label_model("hlm", n_classes=3)
    HyperLabelModel(weights='hlm', n_classes=3)
    """
    found = label_model_class(name)
    if NAMES[name] == "HyperLabelModel":
        params = {"weights": name, **params}  # its short names are the names of its bundled weights
    return found().set_params(**params)


def choose_model(model: object) -> LabelModel:
    """A label model that was given itself or by its short name; the hyper label model for None.

    >>> choose_model("ds"), choose_model(None)
    (DawidSkene(), HyperLabelModel())
    """
    if model is None:
        return class_of("HyperLabelModel")()
    if isinstance(model, str):
        return label_model(model)
    return check_kind(model, "model", LabelModel, "a label model or its short name, such as 'hlm2'")


def label_model_class(name: str) -> type[LabelModel]:
    """The class of a label model by its short name.

    >>> label_model_class("mv").__name__
    'MajorityVote'
    """
    if not isinstance(name, str) or name not in NAMES:
        raise ParameterError(f"there is no label model {show(name)}; expected one of {', '.join(NAMES)}")
    return class_of(NAMES[name])


def class_of(name: str) -> type[LabelModel]:
    """The class of a label model by its own name.

    >>> class_of("DawidSkene").__module__
    'hyperlabel.models.dawid_skene'
    """
    if name not in CLASSES:
        raise ParameterError(f"there is no label model class {name!r}; expected one of {', '.join(CLASSES)}")
    found: type[LabelModel] = getattr(importlib.import_module(f"hyperlabel.models.{CLASSES[name]}"), name)
    return found


def load(path: str | Path) -> LabelModel:
    """A label model from a file that `save` wrote, fitted as it was.

    Raises:
        WeightsError: The file is missing, damaged, or holds something else.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     label_model("ds").fit([[0, 0], [1, 1], [0, 1]]).save(f"{folder}/ds.safetensors")
    ...     load(f"{folder}/ds.safetensors").predict([[1, 1]]).tolist()
    [1]
    """
    arrays, header = read_tensors(path, "model")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise WeightsError(f"{path} has numbers in '{name}' that are not finite; save it again")
    try:
        model = _from_json(header)
        model.restore(arrays, header)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError) as error:
        if isinstance(error, MissingExtraError):
            raise
        raise WeightsError(f"{path} does not hold a complete label model ({error}); save it again") from error
    return model


def _from_json(header: dict[str, Any]) -> LabelModel:
    """A model from its class and the parameters that are not defaults; a parameter may be a model itself."""

    def value_of(value: Any) -> Any:
        return _from_json(value) if isinstance(value, dict) and value.keys() == {"model", "params"} else value

    params: dict[str, Any] = {name: value_of(value) for name, value in header["params"].items()}
    return class_of(header["model"])(**params)
