"""Stated class balances and accuracies of LFs: numbers in order or by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hyperlabel._core import Float64, show, show_some
from hyperlabel.data._items import by_name
from hyperlabel.data._values import key_of, refuse_masked
from hyperlabel.errors import ParameterError

UNIFORM = "uniform"  # all classes are equally frequent


def read_balance(stated: Any, classes: Sequence[Any]) -> Float64:
    """Read a class balance: shares in the order of the classes, a mapping or Series by class, or `uniform`. -> (k,).

    >>> read_balance({"spam": 0.7, "ham": 0.3}, ("ham", "spam")).tolist()
    [0.3, 0.7]
    >>> read_balance("uniform", ("ham", "spam")).tolist()
    [0.5, 0.5]
    """
    if isinstance(stated, str) and stated == UNIFORM:
        return np.full(len(classes), 1 / len(classes))
    named = by_name(stated)
    if named is not None:
        stated = _in_order(named, classes, "class_balance", "class")
    expected = f"expected one probability for each of the {len(classes)} classes, summing to 1"
    shares = _as_floats(stated, "class_balance", expected)
    if shares.shape != (len(classes),) or not (shares >= 0).all():
        raise ParameterError(f"class_balance is {_show(stated)}; {expected}")
    if not np.isclose(shares.sum(), 1):
        raise ParameterError(f"class_balance is {_show(stated)}, which sums to {shares.sum():.6g}; {expected}")
    return shares


def read_accuracies(stated: Any, lf_names: Sequence[str] | None, m: int) -> Float64:
    """Read accuracies of LFs in their order, or a mapping or Series by LF; NaN where not known. -> (m,)."""
    named = by_name(stated)
    if named is not None:
        names = lf_names if lf_names is not None else [f"lf{j}" for j in range(m)]
        stated = _in_order(named, names, "lf_accuracies", "LF", missing=np.nan)
    expected = f"expected one share for each of the {m} LFs, None where it is not known"
    shares = _as_floats(stated, "lf_accuracies", expected)
    if shares.shape != (m,):
        raise ParameterError(f"lf_accuracies has shape {shares.shape}; {expected}")
    wrong = np.flatnonzero((shares < 0) | (shares > 1))
    if len(wrong):
        raise ParameterError(
            f"lf_accuracies has {shares[wrong[0]]} at {wrong[0]}; expected a share of right votes from 0 to 1"
        )
    return shares


def _in_order(
    named: Mapping[Any, Any], names: Sequence[Any], argument: str, what: str, missing: float | None = None
) -> list[Any]:
    """Return values by name, in the order of the names."""
    values = {key_of(key.item() if isinstance(key, np.generic) else key): value for key, value in named.items()}
    if all(isinstance(key, str) for _, key in values) and not any(isinstance(name, str) for name in names):
        names = list(map(str, names))  # JSON writes numbers and booleans as keys this way
    keys = [key_of(name) for name in names]
    unknown = [key for _, key in values.keys() - set(keys)]
    if unknown:
        raise ParameterError(
            f"{argument} has the unknown {what} {show_some(sorted(unknown, key=str))}; expected {show_some(names)}"
        )
    absent = [name for key, name in zip(keys, names, strict=True) if key not in values]
    if absent and missing is None:
        raise ParameterError(
            f"{argument} lacks {show_some(absent)}; expected a share for each {what}: {show_some(names)}"
        )
    return [values.get(key, missing) for key in keys]


def _as_floats(stated: Any, argument: str, expected: str) -> Float64:
    refuse_masked(stated, argument)
    try:
        return np.asarray(stated, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{argument} is {_show(stated)}; {expected}") from None


def _show(stated: Any) -> str:
    return show(stated.tolist() if hasattr(type(stated), "tolist") else stated, 80)
