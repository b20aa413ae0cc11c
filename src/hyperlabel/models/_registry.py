"""Label models by their short names and from files."""

import hashlib
import json
import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel._core import Arrays, check_kind, read_tensors, show, timestamp
from hyperlabel._version import VERSION
from hyperlabel.errors import MissingExtraError, ParameterError, WeightsError
from hyperlabel.models._base import LabelModel
from hyperlabel.models._pretrained import HyperLabelModel

_log = logging.getLogger(__name__)

METADATA_KEY = "hyperlabel"
"""The key of the metadata of files with labels."""


@cache
def load_classes() -> dict[str, type[LabelModel]]:
    """Import all label models. -> class name: class."""
    from hyperlabel.models import _models

    values = vars(_models).values()
    return {each.__name__: each for each in values if isinstance(each, type) and issubclass(each, LabelModel)}


@cache
def _by_short_name() -> dict[str, type[LabelModel]]:
    return {name: each for each in load_classes().values() for name in each.short_names}


def label_models() -> list[str]:
    """Return the short names of all label models.

    >>> "hlm" in label_models()
    True
    """
    return list(_by_short_name())


def label_model(name: str, **params: Any) -> LabelModel:
    """Make a label model by its short name; `from hyperlabel.models import DawidSkene` gives the classes themselves.

    >>> label_model("hlm", n_classes=3)
    HyperLabelModel(weights='hlm', n_classes=3)
    """
    model = label_model_class(name)()
    if isinstance(model, HyperLabelModel):
        params = {"weights": name, **params}  # its short names are the names of its bundled weights
    return model.set_params(**params) if params else model


def choose_model(model: object) -> LabelModel:
    """Return a label model that was given itself or by its short name; the hyper label model for None.

    >>> choose_model("ds"), choose_model(None)
    (DawidSkene(), HyperLabelModel())
    """
    if model is None:
        return HyperLabelModel()
    if isinstance(model, str):
        return label_model(model)
    return check_kind(model, "model", LabelModel, "a label model or its short name, such as 'hlm3'")


def label_model_class(name: str) -> type[LabelModel]:
    """Return the class of a label model by its short name.

    >>> label_model_class("mv").__name__
    'MajorityVote'
    """
    if name in HyperLabelModel.short_names:
        return HyperLabelModel  # without importing the others
    classes = _by_short_name()
    if name not in classes:
        raise ParameterError(f"there is no label model {show(name)}; expected one of {', '.join(classes)}")
    return classes[name]


def load(path: str | Path) -> LabelModel:
    """Read a label model from a file that `save` wrote, fitted as it was.

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
    _log.info("loaded %s from %s", model, path)
    return model


def _from_json(header: dict[str, Any]) -> LabelModel:
    """Make a model from its class and the parameters that are not defaults; a parameter may be a model itself."""

    def value_of(value: Any) -> Any:
        return _from_json(value) if isinstance(value, dict) and value.keys() == {"model", "params"} else value

    name, params = header["model"], {name: value_of(value) for name, value in header["params"].items()}
    if name == HyperLabelModel.__name__:
        return HyperLabelModel(**params)  # without importing the others
    classes = load_classes()
    if name not in classes:
        raise ParameterError(f"there is no label model class {name!r}; expected one of {', '.join(classes)}")
    return classes[name](**params)


def provenance(model: LabelModel, options: Mapping[str, object] | None = None) -> dict[str, str]:
    """Return where labels come from as metadata: version, time, model, hash of its state, LFs, classes, options.

    Args:
        model: A label model; if it is not fitted, the hash is that of its weights, if it has any.
        options: What else the labels depend on, by name, such as the metric. Values unknown to JSON become strings.

    >>> metadata = json.loads(provenance(label_model("mv").fit([[0, 1]]), {"metric": "f1"})[METADATA_KEY])
    >>> metadata["model"], metadata["n_lfs"], metadata["options"]
    ('MajorityVote', 2, {'metric': 'f1'})
    """
    arrays, header = model.to_arrays()
    content = {
        "version": VERSION,
        "time": timestamp(),
        "model": header["model"],
        "params": header["params"],
        "sha256": _hash(arrays),
        **header.get("seen", {}),
        "options": dict(options or {}),
    }
    return {METADATA_KEY: json.dumps(content, default=str, sort_keys=True)}


def _hash(arrays: Arrays) -> str:
    """Return a hash of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
