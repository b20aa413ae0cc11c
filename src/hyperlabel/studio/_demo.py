"""The data of `hyperlabel studio --demo`: sentences from the documentation of packages that the studio itself needs.

Each row is the first sentence of the documentation of a function, method or class of NumPy, Polars or NiceGUI, and the
truth is which of the three it is from. The texts are read from the installed packages.
"""

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hyperlabel.data import write_table
from hyperlabel.errors import require

MODULES = {
    "numpy": ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.strings", "numpy.polynomial"),
    "polars": ("polars",),
    "nicegui": ("nicegui.ui", "nicegui.app", "nicegui.elements.mixins.value_element"),
}
_LEAST_WORDS = 4


def write_demo(path: Path) -> int:
    """Write the table, and return the number of rows."""
    for package in MODULES:
        require(package, extra="studio")
    frame = sentence_table(MODULES)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(frame, path)
    return len(frame)


def sentence_table(modules: Mapping[str, Sequence[str]]) -> Any:
    """Return a Polars frame of sentences from modules by package: id, text and truth, the package of a sentence."""
    import polars as pl

    rows: dict[str, str | None] = {}
    for truth, names in modules.items():
        for text in dict.fromkeys(text for name in names for text in _list_sentences(importlib.import_module(name))):
            rows[text] = truth if text not in rows else None  # a sentence in two packages has no single truth
    kept = sorted((text, truth) for text, truth in rows.items() if truth is not None)
    texts, truths = zip(*kept, strict=True)
    return pl.DataFrame({"id": [f"s{i}" for i in range(len(kept))], "text": texts, "truth": truths})


def _list_sentences(module: Any) -> Iterator[str]:
    """Yield the first sentences of the public members of a module, and of the methods of its classes."""
    root = module.__name__.partition(".")[0]
    for name in sorted(name for name in dir(module) if not name.startswith("_")):
        member = getattr(module, name, None)
        yield from _first_sentence(member)
        if inspect.isclass(member) and member.__module__.partition(".")[0] == root:
            for method in sorted(method for method in dir(member) if not method.startswith("_")):
                yield from _first_sentence(inspect.getattr_static(member, method, None))


def _first_sentence(member: Any) -> Iterator[str]:
    """Yield the first sentence of a docstring, if it has enough words."""
    member = getattr(member, "__func__", member)
    text = member.__doc__ if callable(member) or isinstance(member, property) else None
    if not isinstance(text, str):
        return
    parts = [part for part in inspect.cleandoc(text).split("\n\n") if "(" not in part.split("\n")[0][:40]]
    sentence = re.split(r"(?<=[.!?])\s", " ".join(parts[0].split()))[0] if parts else ""
    if len(sentence.split()) >= _LEAST_WORDS and not sentence.startswith((":", "..", "Parameters")):
        yield sentence
