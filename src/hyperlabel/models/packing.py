"""What the file of a label model holds: its parameters and what it learned, as arrays and JSON."""

import operator
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import WeightsError
from hyperlabel.labels import F1Rule
from hyperlabel.models.seen import Seen
from hyperlabel.networks import Gold
from hyperlabel.patterns import MOST_LFS, Patterns
from hyperlabel.shown import show
from hyperlabel.tensors import Arrays, plain_classes
from hyperlabel.votes.classes import state_classes
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.votes.rows import Rows
from hyperlabel.votes.stated import by_name

_PROBED = 1000  # LFs at each end


def pack_params(model: Any) -> dict[str, Any]:
    """The parameters of a model that differ from their defaults, as JSON values."""
    changed = model.changed_params()
    return {n: plain_classes(_to_list(v)) if n == "classes" else to_json(v, n) for n, v in changed.items()}


def _to_list(values: Any) -> Any:
    """A plain list, also from an array."""
    return values.tolist() if hasattr(values, "tolist") else values


def to_json(value: Any, name: str) -> Any:
    """A JSON value: NaN is null, a label model is its class and parameters.

    >>> to_json(np.array([0.5, np.nan]), "class_balance")
    [0.5, None]
    """
    if hasattr(value, "changed_params"):
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
    raise WeightsError(f"{name} holds {show(value)} ({type(value).__name__}); only strings and numbers can be saved")


def pack_seen(seen: Seen) -> tuple[Arrays, dict[str, Any]]:
    """What `fit` saw, as arrays and a header."""
    arrays: Arrays = {"active": seen.active.astype(np.int64)}
    if seen.f1 is not None:
        arrays |= {"f1": seen.f1.f1, "f1_items": seen.f1.items}
    if seen.gold is not None:
        arrays |= seen.gold.to_arrays()
    names = None if seen.lf_names is None else list(seen.lf_names)
    header = {"classes": plain_classes(seen.classes), "lf_names": names, "n_lfs": seen.n_lfs, "n_gold": seen.n_gold}
    if seen.ordinal:
        header["ordinal"] = True
    return arrays, header if seen.outcomes is None else {**header, "outcomes": seen.outcomes.to_header()}


def unpack_seen(arrays: Arrays, header: dict[str, Any]) -> Seen:
    """The inverse of `pack_seen`; a ValueError if the parts do not fit together."""
    classes = state_classes(None, header["classes"])
    if classes is None:
        raise ValueError("classes are missing")
    names, n_lfs = _read_names(header["lf_names"], header["n_lfs"])
    seen = Seen(classes, _read_active(arrays["active"], len(classes)), names, n_lfs)
    outcomes = Outcomes.from_header(header.get("outcomes"), len(classes))
    ordinal = header.get("ordinal") is True
    seen = replace(seen, n_gold=operator.index(header["n_gold"]), outcomes=outcomes, ordinal=ordinal)
    if "f1" in arrays:
        seen = replace(seen, f1=_read_f1(arrays, len(classes)))
    return replace(seen, gold=Gold.from_arrays(arrays, n_lfs, len(classes), outcomes))


def _read_names(names: Any, n_lfs: Any) -> tuple[tuple[str, ...] | None, int]:
    if type(n_lfs) is not int or not 1 <= n_lfs <= MOST_LFS:
        raise ValueError(f"n_lfs is {show(n_lfs)}")
    if names is None:
        return None, n_lfs
    if not isinstance(names, list) or len(set(names)) != n_lfs or not all(isinstance(name, str) for name in names):
        raise ValueError(f"lf_names must be {n_lfs} different strings")
    return tuple(names), n_lfs


def _read_active(active: NDArray[Any], k: int) -> NDArray[np.intp]:
    """The numbers of some of k classes, in order."""
    whole = active.ndim == 1 and active.dtype == np.int64 and 1 <= len(active) <= k
    if not whole or active[0] < 0 or active[-1] >= k or (np.diff(active) <= 0).any():
        raise ValueError(f"active must be numbers of {k} classes, in order")
    return active.astype(np.intp)


def _read_f1(arrays: Arrays, k: int) -> F1Rule:
    f1, items = arrays["f1"], arrays["f1_items"]
    size = 1 if k == 2 else k
    if f1.shape != (size,) or items.shape != (size,) or not (f1 >= 0).all() or not (items > 0).all():
        raise ValueError(f"f1 and f1_items must be {size} numbers each, 0 or more")
    return F1Rule(f1, items)


def probes(seen: Seen) -> tuple[Patterns, Patterns]:
    """Patterns on which all LFs have each vote in turn: every number of a state is looked at once.

    There is one more pattern than votes, and the first one alone, so that no wrong shape fits by accident.
    """
    m, k = min(seen.n_lfs, _PROBED), len(seen.classes)
    codes = k + (0 if seen.outcomes is None else len(seen.outcomes))
    lf = np.unique(np.concatenate([np.arange(m), np.arange(seen.n_lfs - m, seen.n_lfs)]))
    voted = np.append(np.arange(codes), 0)
    rows = Rows(np.arange(codes + 2) * len(lf), np.tile(lf, codes + 1), np.repeat(voted, len(lf)))
    counts = np.ones(codes + 1, np.int64)
    patterns = Patterns(rows, counts, seen.n_lfs, k, None, None, seen.classes, seen.outcomes)
    return patterns, patterns.take(np.array([0]))


def with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """The same arrays, with a prefix before their names."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def below(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names have a prefix, without it."""
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
