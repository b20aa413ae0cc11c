"""Fingerprints of LFs and of data: equal ones mean equal votes.

A fingerprint may change without need (then an LF runs once more), but must change if something changed that the
LF sees. It covers an LF's code and, at any depth, its defaults, closures, resources and attributes, the globals
it reads, the user's own functions, methods and classes that it uses with all their attributes and bases, what
decorators wrap, and attributes of the user's own modules, even if imported inside a function. Installed packages
count by name and version. Names that are known only at run time (`eval`, `globals()`, ...), and values
that cannot be taken apart or pickled, have no fingerprint: the LF is refused. Fingerprints do not see what an LF reads
from elsewhere: files, servers, environment variables, the clock, random numbers.
"""

import hashlib
import io
import marshal
import pickle
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hyperlabel.columns.frames import is_frame, is_series
from hyperlabel.errors import ParameterError
from hyperlabel.lf.code import Parts, UnknownError, is_installed, is_own_code, take_code_apart
from hyperlabel.lf.define import LabelingFunction, is_expression
from hyperlabel.lf.items import Items, read_items
from hyperlabel.shown import show

PLAIN = {type(None), bool, int, float, str, bytes}
_SINGLE = {*PLAIN, complex, type(...)}
_HOLDERS = {list, tuple, set, frozenset}
MARSHAL = 2
"""A version of marshal's format that writes one object twice just like two equal objects."""


def fingerprint_lf(lf: LabelingFunction) -> str:
    """The fingerprint of an LF; its name and how patiently it is called do not matter.

    >>> one, two = (LabelingFunction("short", lambda x, most=most: len(x.text) < most) for most in (10, 20))
    >>> fingerprint_lf(one) == fingerprint_lf(one), fingerprint_lf(one) == fingerprint_lf(two)
    (True, False)
    """
    parts = {key: value for key, value in vars(lf).items() if key not in lf.UNSEEN}
    try:
        return Fingerprint().of((sys.version_info[:2], type(lf).__qualname__, parts))
    except UnknownError as error:
        raise ParameterError(
            f"LF '{lf.name}' uses {error}, and the cache cannot tell whether that changed; make it inside a "
            "function that the LF calls, for instance one with functools.cache, or leave cache out"
        ) from error


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
        if type(value) in PLAIN or type(value) is complex:
            return _hash(kind, repr(value).encode("utf-8", "backslashreplace"))
        if type(value) in (list, tuple) and all(type(member) in PLAIN for member in value):
            return _hash(kind, marshal.dumps(list(value), MARSHAL))
        if type(value) in (set, frozenset):
            return _hash(kind, *sorted(self.of(member).encode() for member in value))
        if isinstance(value, np.ndarray) and value.dtype != object:
            return _hash(kind, str((value.dtype, value.shape)).encode(), value.tobytes())
        parts = _take_apart(value)
        if parts is None:
            return _hash(kind, _pickle(value, self.of))
        return _hash(kind, *(self.of(part).encode() for part in parts))


def _take_apart(value: Any) -> Parts | None:
    """The parts that make up a value; None if it must be pickled."""
    if type(value) in (list, tuple):
        return tuple(value)
    if type(value) in (dict, defaultdict):
        return tuple(value.keys()), tuple(value.values()), getattr(value, "default_factory", None)
    if isinstance(value, re.Pattern):
        return value.pattern, value.flags
    if isinstance(value, np.ndarray):
        return value.shape, value.tolist()
    if is_frame(value) or is_series(value):
        frame = value if is_frame(value) else value.to_frame()
        return (fingerprint_items(read_items(frame)),)
    if is_expression(value):
        return (value.meta.serialize(format="binary"),)
    return take_code_apart(value) or _take_object_apart(value)


def _take_object_apart(value: Any) -> Parts | None:
    """The class and content of an object of the user's own classes, or of ours; others are pickled."""
    kind = type(value)
    if is_installed(kind.__module__) and not kind.__module__.startswith("hyperlabel."):
        return None
    slots = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
    return kind, _base_content(value), getattr(value, "__dict__", None), slots


def _base_content(value: Any) -> object:
    """What an object holds as the list, string, number, ... that it also is."""
    if isinstance(value, Mapping):
        return dict(value)
    kinds: tuple[Any, ...] = (list, tuple, set, frozenset, str, bytes, int, float, complex)
    for base in kinds:
        if isinstance(value, base):
            return base(value)
    return None


def _slots(kind: type) -> list[str]:
    names: list[str] = []
    for base in kind.__mro__:
        own = base.__dict__.get("__slots__", ())
        names += [own] if isinstance(own, str) else own
    return names


def fingerprint_items(items: Items, column: str | None = None) -> str:
    """The fingerprint of items, or of one of their columns.

    >>> one, two = read_items([{"text": "a"}]), read_items([{"text": "b"}])
    >>> fingerprint_items(one) == fingerprint_items(two)
    False
    """
    if column is None and items.names is None:
        return _hash(b"items", _bytes_of(list(items.data)))
    names = items.names or [] if column is None else [column]
    form = bytes_of(items.form) if column is None else b""  # single columns are read by value alone
    values = (_hash(name.encode(), _bytes_of(items.values(name))).encode() for name in names)
    return _hash(str(items.n).encode(), form, *values)


def bytes_of(value: Any) -> bytes:
    """Data as bytes: equal values of the same types give equal bytes in nearly all cases, others never."""
    plain = _marshal(value)
    return _pickle(value, _name_code) if plain is None else plain


def _bytes_of(values: list[Any]) -> bytes:
    plain = _marshal(values)
    return b"".join(_hash(bytes_of(value)).encode() for value in values) if plain is None else plain


def _marshal(value: Any) -> bytes | None:
    """The bytes of a value of Python's own types; None for others, since marshal writes arrays as their bare bytes."""
    try:
        return marshal.dumps(value, MARSHAL) if _is_plain(value) else None
    except (ValueError, RecursionError):  # too deep
        return None


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(_is_plain(each) for pair in value.items() for each in pair)
    return kind in _SINGLE or (kind in _HOLDERS and all(map(_is_plain, value)))


def _name_code(value: Any) -> str:
    """Code in data is told apart by its name: it is not what an LF does."""
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


class _Pickler(pickle.Pickler):
    """Writes the user's own functions and classes as described; pickle would only name them."""

    def __init__(self, file: io.BytesIO, describe: Callable[[Any], str]) -> None:
        super().__init__(file, 4)
        self._describe = describe

    def persistent_id(self, value: Any) -> str | None:
        """What is written for an object; None for the object itself."""
        return self._describe(value) if is_own_code(value) else None


def _pickle(value: object, describe: Callable[[Any], str]) -> bytes:
    """A value as bytes that are never read again; UnknownError if it cannot be pickled."""
    out = io.BytesIO()
    try:
        _Pickler(out, describe).dump(value)
    except UnknownError:
        raise
    except Exception as error:
        raise UnknownError(f"{show(value)} ({type(value).__name__})") from error
    return out.getvalue()


def _hash(*parts: bytes) -> str:
    """One hash of several parts; the lengths tell where each ends."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
