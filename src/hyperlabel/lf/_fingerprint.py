"""Fingerprints of LFs and of data: equal ones mean equal votes.

A fingerprint is a hash of a value as pickle writes it, except that sets are sorted and that code is written as what it
consists of. It may change without need (then an LF runs once more), but must change if something changed that the
LF reads. It covers an LF's code and, at any depth, its defaults, closures, resources and attributes, the globals
it reads, the user's own functions, methods and classes that it uses with all their attributes and bases, what
decorators wrap, and attributes of the user's own modules, even if imported inside a function. Installed packages
count by name and version. Names that are known only at run time (`eval`, `globals()`, ...), and values
that cannot be pickled, have no fingerprint: the LF is refused. Fingerprints do not see what an LF reads
from elsewhere: files, servers, environment variables, the clock, random numbers.
"""

import dis
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import pickle
import sys
import sysconfig
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from hyperlabel._core import show
from hyperlabel.data import is_frame, is_series
from hyperlabel.errors import ParameterError
from hyperlabel.lf._define import CacheError, LabelingFunction
from hyperlabel.lf._items import Items, read_items

PLAIN = {type(None), bool, int, float, str, bytes, tuple, list, dict}
"""Types that pickle writes by value."""

UNTRACEABLE = {"eval", "exec", "globals", "__import__"}
"""Functions that look up names which are known only at run time."""

# Members that Python adds to a class: they follow from the rest, or say nothing about what the class does.
_GENERATED = {
    "__dict__", "__weakref__", "__module__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__",
    "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__", "_abc_impl",
    "__dataclass_fields__", "__dataclass_params__", "__orig_bases__", "__parameters__", "__hash__",
}  # fmt: skip


class UnknownError(Exception):
    """A value without a fingerprint; the message shows it."""


def fingerprint_lf(lf: LabelingFunction) -> str:
    """Return the fingerprint of an LF; its name and the limits of its calls do not matter.

    >>> one, two = (LabelingFunction("short", lambda x, most=most: len(x.text) < most) for most in (10, 20))
    >>> fingerprint_lf(one) == fingerprint_lf(one), fingerprint_lf(one) == fingerprint_lf(two)
    (True, False)
    """
    parts = {key: value for key, value in vars(lf).items() if key not in lf.IRRELEVANT}
    try:
        return _fingerprint((sys.version_info[:2], type(lf).__qualname__, parts), CodePickler)
    except UnknownError as error:
        raise ParameterError(
            f"LF '{lf.name}' uses {error}, and the cache cannot tell whether that changed; make it inside a "
            "function that the LF calls, for instance one with functools.cache, or leave cache out"
        ) from error


def fingerprint_items(items: Items, column: str | None = None) -> str:
    """Return the fingerprint of items, or of one of their columns, which is read by value alone."""
    if column is not None:
        return fingerprint_data((column, items.values(column)))
    if items.names is None:
        return fingerprint_data(list(items.data))
    return fingerprint_data((items.n, items.form, [(name, items.values(name)) for name in items.names]))


def fingerprint_data(value: object) -> str:
    """Return the fingerprint of data; sets are equal in any order, and 1 differs from 1.0."""
    try:
        return _fingerprint(value, DataPickler)
    except UnknownError as error:
        raise CacheError(f"data has {error}, which the cache cannot tell from other values; leave cache out") from error


def _fingerprint(value: object, pickler: "type[DataPickler]") -> str:
    try:
        # Without a memo: one object twice is written just like two equal objects.
        return pickler(fast=True).hash(value)
    except (ValueError, RecursionError):  # it may hold itself
        return pickler(fast=False).hash(value)


class DataPickler(pickle.Pickler):
    """Hashes what pickle writes; the user's own code is named only: in data, it is not what an LF does."""

    def __init__(self, fast: bool, visited: dict[int, tuple[int, object]] | None = None) -> None:
        self._digest = hashlib.sha256()
        super().__init__(self, 4)
        self.fast = fast
        self.visited = visited or {}  # what was taken apart, by its identity: its number and itself
        self.last: object = None

    def write(self, part: bytes) -> None:
        """Take another part of what is written."""
        self._digest.update(part)

    def hash(self, value: object) -> str:
        """Return the hash of a value."""
        try:
            self.dump(value)
        except UnknownError:
            raise
        except Exception as error:
            if self.fast and isinstance(error, ValueError | RecursionError):
                raise
            raise UnknownError(f"{show(self.last)} ({type(self.last).__name__})") from error
        return self._digest.hexdigest()

    def persistent_id(self, value: Any) -> Any:
        """Return what is written instead of a value; None for the value itself."""
        self.last = value
        kind = type(value)
        if kind in PLAIN:
            return None
        if kind in (set, frozenset):
            members = (type(self)(bool(self.fast), dict(self.visited)).hash(member) for member in value)
            return kind.__name__, sorted(members)
        return self.take_apart(value)

    def take_apart(self, value: Any) -> Any:
        """Return the name of the user's own code."""
        if isinstance(value, ModuleType | FunctionType | type) and not is_installed(_home(value)):
            return f"{_home(value)}.{getattr(value, '__qualname__', '')}"
        return None


class CodePickler(DataPickler):
    """Hashes code as what it consists of, and frames by what they hold."""

    def take_apart(self, value: Any) -> Any:
        """Return the parts of a value, or its number if it was taken apart before."""
        if id(value) in self.visited:
            return "again", self.visited[id(value)][0]
        parts = _split_code(value)
        if parts is None and (is_frame(value) or is_series(value)):
            parts = (fingerprint_items(read_items(value if is_frame(value) else value.to_frame())),)
        if parts is not None:
            self.visited[id(value)] = len(self.visited), value
        return parts


def _home(value: Any) -> str | None:
    """The module that code is from."""
    if isinstance(value, FunctionType):
        return value.__globals__.get("__name__")
    return value.__name__ if isinstance(value, ModuleType) else value.__module__


def _split_code(value: Any) -> tuple[object, ...] | None:
    """Split functions, methods, classes, modules and wrappers into parts; None for anything else."""
    if isinstance(value, CodeType):
        shape = value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags
        names = value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars
        return value.co_code, value.co_exceptiontable, shape, names, value.co_consts
    if isinstance(value, ModuleType):
        path = None if is_installed(value.__name__) else getattr(value, "__file__", None)
        return value.__name__, version_of(value.__name__) if path is None else Path(path).read_bytes()
    if isinstance(value, FunctionType):
        return _split_function(value)
    if isinstance(value, type | BuiltinFunctionType) and _is_found(value.__module__, value):
        return value.__qualname__, value.__module__, version_of(value.__module__)
    if isinstance(value, type):
        members = {name: member for name, member in vars(value).items() if name not in _GENERATED}
        slots = types.MemberDescriptorType | types.GetSetDescriptorType  # they follow from __slots__
        written = {name: member for name, member in members.items() if not isinstance(member, slots)}
        return value.__qualname__, type(value), value.__bases__, written
    if isinstance(value, MethodType):
        return value.__self__, value.__func__
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, functools.cached_property):
        return (value.func,)
    wrapped = getattr(value, "__wrapped__", None) if is_installed(type(value).__module__) else None
    return None if wrapped is None else (type(value).__qualname__, wrapped)  # functools.cache, staticmethod


def _split_function(function: FunctionType) -> tuple[object, ...]:
    """A function of an installed package by name and version; if a call made it, also by what it holds."""
    home = _home(function)
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    cells = [_narrow(_content(cell), names) for cell in function.__closure__ or ()]
    if is_installed(home):
        held = None if _is_found(home, function) else (function.__defaults__, cells)
        return function.__qualname__, home, version_of(str(home)), held
    attributes = {name: value for name, value in vars(function).items() if name != "__wrapped__"}
    wrapped = getattr(function, "__wrapped__", None)
    read = {name: _narrow(value, names) for name, value in _read_names(function, names).items()}
    return function.__code__, function.__defaults__, function.__kwdefaults__, cells, attributes, wrapped, read


def _is_found(module: str | None, value: Any) -> bool:
    """Return whether an installed module has code under its name, so that the name tells it from others."""
    member: object = sys.modules.get(module or "") if is_installed(module) else None
    for part in value.__qualname__.split("."):
        member = getattr(member, part, None)
    return member is value


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield code and the code inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _read_names(function: FunctionType, names: set[str]) -> dict[str, object]:
    """The globals that a function may read, and the modules that it imports when called."""
    steps = [step for code in _codes(function.__code__) for step in dis.get_instructions(code)]
    loaded = sorted({step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")})
    values = {name: function.__globals__[name] for name in loaded if name in function.__globals__}
    untraceable = next((name for name in loaded if name in UNTRACEABLE and name not in values), None)
    if "import_module" in names and any(value is importlib for value in values.values()):
        untraceable = "import_module"
    if untraceable:
        raise UnknownError(f"'{untraceable}'")
    for level, listed, step in zip(steps, steps[1:], steps[2:], strict=False):  # an import follows level and names
        if step.opname == "IMPORT_NAME":
            name = "." * level.argval + step.argval
            values[f"import {name}"] = _import(name, function.__globals__.get("__package__"), listed.argval or ())
    return values


def _import(name: str, package: str | None, listed: Sequence[str]) -> object:
    """Import a user's own module now as it will be later; return others by name and version."""
    try:
        full = importlib.util.resolve_name(name, package)
        top = full.partition(".")[0]
        spec = None if top in sys.modules else importlib.util.find_spec(top)
        if is_installed(top) if spec is None else _is_installed_at(spec.origin):
            return full, version_of(top)
        module = importlib.import_module(full)
        for part in listed:
            if part not in vars(module):
                importlib.import_module(f"{full}.{part}")
        return module
    except (ImportError, ValueError):
        return name  # the LF itself fails if it gets there


def _narrow(value: object, names: set[str], visited: tuple[ModuleType, ...] = ()) -> object:
    """For a user's own module, return its source and what it holds under some names; other values as they are."""
    if not isinstance(value, ModuleType) or is_installed(value.__name__) or value in visited:
        return value
    read = {
        name: _narrow(vars(value)[name], names, (*visited, value))
        for name in sorted(names)
        if name in vars(value) and not name.startswith("__")
    }
    return value, read


@functools.cache
def is_installed(name: str | None) -> bool:
    """Return whether a module is part of Python or of an installed package, not of the user's own code."""
    module = sys.modules.get(name or "")
    if module is None or name == "__main__":
        return False
    if str(name).partition(".")[0] == "hyperlabel":  # even in a development checkout
        return True
    path = getattr(module, "__file__", None)
    return name in sys.builtin_module_names if path is None else _is_installed_at(path)


def _is_installed_at(path: str | None) -> bool:
    if path in (None, "built-in", "frozen"):
        return path is not None
    folders = (sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
    return any(Path(str(path)).is_relative_to(folder) for folder in folders)


@functools.cache
def version_of(name: str) -> str | None:
    """Return the version of the package that a module is part of; None for Python itself."""
    package = name.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
