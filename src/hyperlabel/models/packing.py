"""What a file of a label model holds: its parameters, and the frame of what it learned, as arrays and JSON."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel.errors import WeightsError
from hyperlabel.labels import F1Rule
from hyperlabel.models.seen import Seen
from hyperlabel.networks import Gold
from hyperlabel.patterns import Patterns
from hyperlabel.rows import Rows
from hyperlabel.stated import by_name
from hyperlabel.tensors import Arrays, plain_classes

_GOLD = ("starts", "lf", "vote")


def pack_params(model: Any) -> dict[str, Any]:
    """The parameters of a model that differ from their defaults, as JSON knows them."""
    defaults = inspect.signature(type(model)).parameters
    changed = {n: v for n, v in model.get_params().items() if repr(v) != repr(defaults[n].default)}
    return {n: plain_classes(_to_list(v)) if n == "classes" else to_json(v, n) for n, v in changed.items()}


def _to_list(values: Any) -> Any:
    """A plain list of what may be an array."""
    return values.tolist() if hasattr(values, "tolist") else values


def to_json(value: Any, name: str) -> Any:
    """A value as JSON knows it: NaN is null, a label model is its class and parameters.

    >>> to_json(np.array([0.5, np.nan]), "class_balance")
    [0.5, None]
    """
    if hasattr(value, "get_params"):
        return {"model": type(value).__name__, "params": pack_params(value)}
    value = value if isinstance(value, Mapping) else by_name(value) or value
    if isinstance(value, Mapping):
        return {str(key): to_json(each, name) for key, each in value.items()}
    value = _to_list(value)
    if isinstance(value, list | tuple):
        return [to_json(each, name) for each in value]
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    raise WeightsError(f"{name} holds {value!r:.60}, a {type(value).__name__}; only texts and numbers can be saved")


def pack_seen(seen: Seen) -> tuple[Arrays, dict[str, Any]]:
    """What `fit` saw, as arrays and a header."""
    arrays: Arrays = {"active": seen.active.astype(np.int64)}
    if seen.f1 is not None:
        arrays |= {"f1": seen.f1.f1, "f1_items": seen.f1.items}
    if seen.gold is not None:
        arrays |= {f"gold.{name}": getattr(seen.gold.patterns, name) for name in _GOLD}
        arrays["gold.counts"] = seen.gold.counts
    names = None if seen.lf_names is None else list(seen.lf_names)
    header = {"classes": plain_classes(seen.classes), "lf_names": names, "n_lfs": seen.n_lfs, "n_gold": seen.n_gold}
    return arrays, header


def unpack_seen(arrays: Arrays, header: dict[str, Any]) -> Seen:
    """The inverse of `pack_seen`."""
    names, classes = header["lf_names"], tuple(header["classes"])
    seen = Seen(classes, arrays["active"].astype(np.intp), None if names is None else tuple(names), header["n_lfs"])
    seen = replace(seen, n_gold=header["n_gold"])
    if "f1" in arrays:
        seen = replace(seen, f1=F1Rule(arrays["f1"], arrays["f1_items"]))
    if "gold.counts" in arrays:
        counts = arrays["gold.counts"]
        rows = Rows(*(arrays[f"gold.{name}"] for name in _GOLD))
        seen = replace(seen, gold=Gold(Patterns(rows, counts.sum(1), seen.n_lfs, len(classes)), counts))
    return seen


def with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """The same arrays, their names under a prefix."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def below(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names are under a prefix, without it."""
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
