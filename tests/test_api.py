"""The public API, pinned: names, methods and signatures. A change here is a change for users.

`python -m tests.test_api` writes the file anew; its difference belongs into CHANGELOG.md.
"""

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

PINNED = Path(__file__).with_name("public_api.txt")
MODULES = ("hyperlabel", "hyperlabel.models", "hyperlabel.engines", "hyperlabel.export", "hyperlabel.errors")


def describe(name: str, thing: object) -> Iterator[str]:
    """One line for a function; for a class, its signature and those of its public methods and properties."""
    if inspect.isclass(thing):
        yield f"class {name}{_signature(thing)}"
        for member, value in sorted(inspect.getmembers(thing)):
            own = getattr(value, "__module__", None) or getattr(getattr(value, "fget", None), "__module__", "") or ""
            if not member.startswith("_") and own.startswith("hyperlabel"):
                yield f"    {member}{_signature(value) if callable(value) else ''}"
    elif callable(thing):
        yield f"{name}{_signature(thing)}"
    elif not inspect.ismodule(thing):
        yield name


def _signature(thing: object) -> str:
    """Names, kinds and defaults of parameters, without types."""
    try:
        parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    plain = [each.replace(annotation=inspect.Parameter.empty, default=_name(each.default)) for each in parameters]
    return str(inspect.Signature(plain))


class _Name(str):
    __repr__ = str.__str__


def _name(default: object) -> object:
    """A default as it is written: a function is its name."""
    return _Name(default.__name__) if inspect.isfunction(default) else default


def describe_api() -> str:
    """The public names of all public modules, one line each."""
    lines = []
    for module in MODULES:
        found = importlib.import_module(module)
        own = [name for name, thing in vars(found).items() if inspect.isclass(thing) and thing.__module__ == module]
        names = dir(found) if "__dir__" in vars(found) else getattr(found, "__all__", own)
        lines.append(f"# {module}")
        for name in sorted(names):
            lines += describe(name, getattr(found, name))
    return "\n".join(lines) + "\n"


def test_public_api_is_as_written_down():
    assert describe_api() == PINNED.read_text(encoding="utf-8")


if __name__ == "__main__":
    PINNED.write_text(describe_api(), encoding="utf-8")
