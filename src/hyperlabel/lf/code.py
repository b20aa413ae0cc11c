"""Code taken apart: what a user's own function, method, class or module consists of and reads."""

import dis
import functools
import importlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

Parts = tuple[object, ...]

BLIND = {"eval", "exec", "globals", "__import__"}
"""Ways to look up names that are known only at run time."""

# What Python adds to a class: it follows from the rest, or says nothing about what the class does.
_MADE = {
    "__dict__", "__weakref__", "__module__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__",
    "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__", "_abc_impl",
    "__dataclass_fields__", "__dataclass_params__", "__orig_bases__", "__parameters__", "__hash__",
}  # fmt: skip


class UnknownError(Exception):
    """A value without a fingerprint; the message shows it."""


def is_own_code(value: object) -> bool:
    """Whether a value is a user's own function, class or module, which pickle stores only by name."""
    if isinstance(value, ModuleType):
        return not is_installed(value.__name__)
    if isinstance(value, FunctionType):
        return not is_installed(value.__globals__.get("__name__"))
    return isinstance(value, type) and not _is_installed_type(value)


def take_code_apart(value: Any) -> Parts | None:
    """The parts of functions, methods, classes and modules; None for anything else.

    >>> take_code_apart(print), take_code_apart(3)
    (('print', 'builtins', None), None)
    """
    if isinstance(value, CodeType):
        return _take_bytecode_apart(value)
    if isinstance(value, ModuleType):
        return _take_module_apart(value)
    if isinstance(value, FunctionType):
        return _take_function_apart(value)
    if _is_installed_type(value) or (isinstance(value, BuiltinFunctionType) and is_installed(value.__module__)):
        return value.__qualname__, value.__module__, version_of(value.__module__)
    if isinstance(value, type):
        own = {name: member for name, member in vars(value).items() if _is_written(name, member)}
        return value.__qualname__, type(value), value.__bases__, own
    return _take_wrapper_apart(value)


def _is_installed_type(value: Any) -> bool:
    """Whether a value is a class of an installed package, not one that only has its name."""
    return (
        isinstance(value, type)
        and is_installed(value.__module__)
        and _find(value.__module__, value.__qualname__) is value
    )


def _take_wrapper_apart(value: Any) -> Parts | None:
    """The parts of what Python itself puts around functions."""
    if isinstance(value, MethodType):
        return value.__self__, value.__func__
    if isinstance(value, functools.partial | functools.partialmethod):
        return value.func, value.args, value.keywords
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, functools.cached_property):
        return (value.func,)
    wrapped = getattr(value, "__wrapped__", None) if is_installed(type(value).__module__) else None
    return None if wrapped is None else (type(value).__qualname__, wrapped)  # functools.cache


def _take_bytecode_apart(code: CodeType) -> Parts:
    shape = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_exceptiontable, shape, names, code.co_consts


def _take_function_apart(function: FunctionType) -> Parts:
    """A function of an installed package by name and version; if a call made it, also by what it holds."""
    home = function.__globals__.get("__name__")
    names = _names(function)
    cells = [_narrow(_content(cell), names) for cell in function.__closure__ or ()]
    if is_installed(home):
        made = _find(home, function.__qualname__) is not function
        return function.__qualname__, home, version_of(str(home)), (function.__defaults__, cells) if made else None
    held = {name: value for name, value in vars(function).items() if name != "__wrapped__"}
    wrapped = getattr(function, "__wrapped__", None)
    return function.__code__, function.__defaults__, function.__kwdefaults__, cells, held, wrapped, _read(function)


def _find(module: str | None, name: str) -> object:
    """What a module has under a name such as `Class.method`."""
    found: object = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that is not set yet
        return None


def _is_written(name: str, member: object) -> bool:
    """Whether a member of a class is what the user wrote there."""
    return name not in _MADE and not isinstance(member, MemberDescriptorType | GetSetDescriptorType)


def _codes(function: FunctionType) -> Iterator[CodeType]:
    """A function's code and the code inside it."""
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting.extend(const for const in code.co_consts if isinstance(const, CodeType))


def _read(function: FunctionType) -> dict[str, object]:
    """The globals that a function may read, and the modules that it imports when called."""
    steps = [step for code in _codes(function) for step in dis.get_instructions(code)]
    loaded = sorted({step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")})
    names = _names(function)
    found = {name: function.__globals__[name] for name in loaded if name in function.__globals__}
    blind = next((name for name in loaded if name in BLIND and name not in found), None)
    if blind or ("import_module" in names and any(value is importlib for value in found.values())):
        raise UnknownError(f"'{blind or 'import_module'}'")
    for level, listed, step in zip(steps, steps[1:], steps[2:], strict=False):  # an import follows level and names
        if step.opname == "IMPORT_NAME":
            name = "." * level.argval + step.argval
            package = function.__globals__.get("__package__")
            found[f"import {name}"] = _import_own(name, package, listed.argval or ())
    return {name: _narrow(value, names) for name, value in found.items()}


def _names(function: FunctionType) -> set[str]:
    """The names of globals and attributes in a function's code."""
    return {name for code in _codes(function) for name in code.co_names}


def _import_own(name: str, package: str | None, listed: Sequence[str]) -> object:
    """A user's own module, imported now as it will be later; others by name and version."""
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


def _narrow(value: object, names: set[str], seen: tuple[ModuleType, ...] = ()) -> object:
    """For a user's own module, its source and what it holds under some names; other values as they are."""
    if not isinstance(value, ModuleType) or is_installed(value.__name__) or value in seen:
        return value
    read = {
        name: _narrow(vars(value)[name], names, (*seen, value))
        for name in sorted(names)
        if name in vars(value) and not name.startswith("__")
    }
    return value, read


def _take_module_apart(module: ModuleType) -> Parts:
    """An installed module by its version, a user's own by its source."""
    if is_installed(module.__name__):
        return module.__name__, version_of(module.__name__)
    path = getattr(module, "__file__", None)
    return module.__name__, Path(path).read_bytes() if path else None


@functools.cache
def is_installed(name: str | None) -> bool:
    """Whether a module is part of Python or of an installed package, not of the user's own code."""
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
    """The version of the package that a module is part of; None for Python itself."""
    package = name.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
