"""Fingerprints of LFs and of data: equal ones mean equal votes.

A fingerprint may change without need (then an LF is run once more), but never stay when something changed that the
LF sees: its code and that of the user's own functions it calls, defaults, closures, globals it reads, resources.
Installed packages count by name and version.
"""

import dis
import functools
import hashlib
import importlib.metadata
import marshal
import pickle
import re
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from hyperlabel.errors import ParameterError
from hyperlabel.frames import is_frame, is_series
from hyperlabel.lf.define import LabelingFunction, is_expression
from hyperlabel.lf.items import Items, read_items

Parts = tuple[object, ...]

PLAIN = {type(None), bool, int, float, str, bytes}
MARSHAL = 2
"""A version of marshal's format that writes the same object twice as it writes two equal ones."""


def fingerprint_lf(lf: LabelingFunction) -> str:
    """The fingerprint of an LF, whatever its name.

    >>> one, two = (LabelingFunction("short", lambda x, most=most: len(x.text) < most) for most in (10, 20))
    >>> fingerprint_lf(one) == fingerprint_lf(one), fingerprint_lf(one) == fingerprint_lf(two)
    (True, False)
    """
    parts = {key: value for key, value in vars(lf).items() if key not in ("name", "__doc__")}
    try:
        return Fingerprint().of((sys.version_info[:2], type(lf).__qualname__, parts))
    except _UnknownError as error:
        raise ParameterError(
            f"LF '{lf.name}' uses {error}, of which the cache cannot tell whether it changed; "
            "make it inside the function, or leave cache out"
        ) from error


class _UnknownError(Exception):
    """A value without a fingerprint."""


class Fingerprint:
    """Fingerprints of Python values, each value taken apart until plain ones are left."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}  # values being taken apart, which may hold themselves

    def of(self, value: object) -> str:
        """The fingerprint of a value."""
        if id(value) in self._open:
            return _hash(b"again", str(len(self._open) - self._open[id(value)]).encode())
        self._open[id(value)] = len(self._open)
        try:
            return self._of(value)
        finally:
            del self._open[id(value)]

    def _of(self, value: Any) -> str:
        kind = type(value).__qualname__.encode()
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return _hash(kind, repr(value).encode("utf-8", "backslashreplace"))
        if isinstance(value, list | tuple) and all(type(member) in PLAIN for member in value):
            return _hash(kind, marshal.dumps(list(value), MARSHAL))
        if isinstance(value, set | frozenset):
            return _hash(kind, *sorted(self.of(member).encode() for member in value))
        if isinstance(value, np.ndarray) and value.dtype != object:
            return _hash(kind, str((value.dtype, value.shape)).encode(), value.tobytes())
        parts = self._take_apart(value)
        if parts is None:
            return _hash(kind, _pickled(value))
        return _hash(kind, *(self.of(part).encode() for part in parts))

    def _take_apart(self, value: Any) -> Parts | None:
        """The parts that make up a value; None if it must be pickled."""
        if isinstance(value, list | tuple):
            return tuple(value)
        if isinstance(value, Mapping):
            return tuple(value.keys()), tuple(value.values())
        if isinstance(value, re.Pattern):
            return value.pattern, value.flags
        if isinstance(value, np.ndarray):
            return value.shape, value.tolist()
        if is_frame(value) or is_series(value):
            frame = value if is_frame(value) else value.to_frame()
            return (fingerprint_items(read_items(frame)),)
        if is_expression(value):
            return (value.meta.serialize(format="binary"),)
        return _take_code_apart(value) or _take_object_apart(value)


def _take_code_apart(value: Any) -> Parts | None:
    """The parts of functions, methods, classes and modules."""
    if isinstance(value, CodeType):
        handlers = getattr(value, "co_exceptiontable", b"")  # from Python 3.11 on
        return value.co_code, handlers, value.co_names, value.co_varnames, value.co_freevars, value.co_consts
    if isinstance(value, ModuleType):
        return _name_module(value)
    if isinstance(value, FunctionType | type | BuiltinFunctionType) and _is_installed(value.__module__):
        return value.__qualname__, value.__module__, _version(value.__module__)
    if isinstance(value, FunctionType):
        cells = [_content(cell) for cell in value.__closure__ or ()]
        return value.__code__, value.__defaults__, value.__kwdefaults__, cells, _globals_read(value)
    if isinstance(value, MethodType):
        return value.__self__, value.__func__
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, type):
        own = {
            k: v for k, v in vars(value).items() if isinstance(v, FunctionType | staticmethod | classmethod | property)
        }
        plain = {k: v for k, v in vars(value).items() if not k.startswith("__") and isinstance(v, str | int | float)}
        return value.__qualname__, value.__bases__, own, plain
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return value.fget, value.fset
    return None


def _take_object_apart(value: Any) -> Parts | None:
    """The class and content of an object of the user's own class, or of ours; others are pickled."""
    if _is_installed(type(value).__module__) and not type(value).__module__.startswith("hyperlabel."):
        return None
    return type(value), vars(value) if hasattr(value, "__dict__") else _pickled(value)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return None


def _globals_read(function: FunctionType) -> dict[str, object]:
    """The globals that a function's code, and code inside it, may read."""
    names: set[str] = set()
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        names.update(step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
        waiting.extend(const for const in code.co_consts if isinstance(const, CodeType))
    return {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}


def _name_module(module: ModuleType) -> Parts:
    """An installed module by its version, one of the user's own by its source."""
    if _is_installed(module.__name__):
        return module.__name__, _version(module.__name__)
    path = getattr(module, "__file__", None)
    return module.__name__, Path(path).read_bytes() if path else None


@functools.cache
def _is_installed(name: str | None) -> bool:
    """Whether a module is part of Python or of an installed package, not of the user's own code."""
    module = sys.modules.get(name or "")
    if module is None or name == "__main__":
        return False
    path = getattr(module, "__file__", None)
    if path is None:
        return name in sys.builtin_module_names
    folders = (sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    return any(Path(path).is_relative_to(folder) for folder in folders)


@functools.cache
def _version(name: str) -> str | None:
    package = name.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None  # of Python itself


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, 4)
    except Exception as error:
        raise _UnknownError(f"{value!r:.60} (a {type(value).__name__})") from error


def fingerprint_items(items: Items, column: str | None = None) -> str:
    """The fingerprint of items, or of one of their columns.

    >>> one, two = read_items([{"text": "a"}]), read_items([{"text": "b"}])
    >>> fingerprint_items(one) == fingerprint_items(two)
    False
    """
    if items.names is None:
        return _hash(b"items", _bytes_of(list(items.data)))
    names = items.names if column is None else [column]
    return _hash(
        str(items.n).encode(), *(_hash(name.encode(), _bytes_of(items.values(name))).encode() for name in names)
    )


def _bytes_of(values: list[Any]) -> bytes:
    try:
        return marshal.dumps(values, MARSHAL)
    except ValueError:
        return b"".join(_hash(_pickled(value)).encode() for value in values)


def _hash(*parts: bytes) -> str:
    """One hash of several parts; the lengths tell where each ends."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
