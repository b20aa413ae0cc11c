"""Summaries of what a command did, for programs: `--json`."""

import json
import math
import sys
import time
from collections.abc import Mapping
from typing import Any

import hyperlabel
from hyperlabel.columns.rule import VoteColumns


class Summary:
    """What a command did since it started."""

    def __init__(self, model: str | None = None) -> None:
        self.start = time.perf_counter()
        self.content: dict[str, Any] = {"version": hyperlabel.__version__, "model": model}

    def add_taken(self, taken: VoteColumns) -> None:
        """What was taken from the table. Engines do not report the classes: they are null."""
        classes = [plain(c) for c in taken.classes] or None
        self.content |= {"lfs": list(taken.lfs), "ignored": list(taken.ignored), "classes": classes}

    def add_labels(self, counts: Mapping[Any, int]) -> None:
        """How many items got each label, None for none."""
        labeled = {str(plain(name)): n for name, n in counts.items() if name is not None}
        self.content |= {"rows": sum(counts.values()), "labeled": sum(labeled.values()), "per_class": labeled}

    def print(self, *, aside: bool = False, **more: Any) -> None:
        """Print it with the seconds it took; on standard error if standard output holds a table."""
        seconds = round(time.perf_counter() - self.start, 6)
        line = json.dumps(plain({**self.content, **more, "seconds": seconds}))
        print(line, file=sys.stderr if aside else sys.stdout)


def plain(value: Any) -> Any:
    """A value that JSON can hold: None for NaN, strings for types it does not know.

    >>> plain({"a": [float("nan"), True]})
    {'a': [None, True]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "item"):  # NumPy's scalars
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)
