"""JSON lines, parsed by Polars: keys once per line and in order, whole numbers exact."""

import glob
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hyperlabel._core import printable
from hyperlabel.data._files import Format, holds_utf8, map_blocks, to_plain, to_utf8
from hyperlabel.errors import VotesError

_FEW_KEYS = 32


def scan(path: Path, format: Format, name: str, delimiter: str | None, encoding: str | None) -> tuple[Path, Any]:
    """Return JSON lines as plain UTF-8, and their rows as a LazyFrame; errors use `name`."""
    import polars as pl
    import polars.selectors as cs

    path = to_plain(path, format.compression, encoding)
    if not all(map_blocks(holds_utf8, path)):
        path = to_utf8(path, name)
    if not path.stat().st_size:
        return path, pl.LazyFrame()
    frame = pl.scan_ndjson(glob.escape(str(path)), infer_schema_length=None)
    columns = frame.collect_schema().names()
    ordered = _order_keys(path, columns, name)
    return path, _narrow(frame if ordered == columns else frame.select(cs.by_name(key) for key in ordered))


def sink(frame: Any, part: Path, format: Format, metadata: Mapping[str, str]) -> None:
    """Stream the rows of a LazyFrame to a file; JSON lines have no room for metadata."""
    import polars as pl

    for name, kind in frame.collect_schema().items():
        if kind == pl.Binary:  # Polars' thread would panic and print a report
            raise OSError(f"column '{printable(name)}' holds bytes, which JSON does not have; write parquet")
    frame.sink_ndjson(part, compression=format.compression or "uncompressed", check_extension=False)


def _narrow(frame: Any) -> Any:
    """Make whole numbers of 128 bits, which parquet and other libraries do not have, numbers of 64 bits, or text."""
    import polars as pl

    wide = [pl.nth(index) for index, kind in enumerate(frame.collect_schema().dtypes()) if kind == pl.Int128]
    if not wide:
        return frame
    fits = [
        ((column.min() >= 0) & (column.max() < 2**64)).fill_null(True).alias(str(j)) for j, column in enumerate(wide)
    ]
    narrow = frame.select(fits).collect(engine="streaming").row(0)
    return frame.with_columns(c.cast(pl.UInt64 if fit else pl.String) for c, fit in zip(wide, narrow, strict=True))


def _order_keys(path: Path, names: Sequence[str], name: str) -> list[str]:
    """Return the keys in the order in which they first occur: Polars gives more than 32 in a random one.

    Refuses a key twice in a line, of which Polars reads the first, and other libraries the last. Lines of few keys are
    parsed only if they have the letters of one twice, or escapes by which a key has two spellings.
    """
    marks = [json.dumps(key, ensure_ascii=False).encode(errors="replace") for key in names]
    is_wide = len(marks) > _FEW_KEYS  # then to parse a line is cheaper than to look for all keys in it
    order: dict[str, None] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if is_wide or any(line.count(mark) > 1 for mark in marks) or b"\\u" in line or b"\\/" in line:
                keys = _keys_of(line)
                order |= dict.fromkeys(keys)
                if max(keys.values(), default=1) > 1:
                    raise VotesError(
                        f"'{printable(name)}' has the key '{printable(keys.most_common(1)[0][0])}' twice in line "
                        f"{number}; expected each key once. Rename or remove one"
                    )
    return sorted(names, key=[*order].index) if is_wide and order.keys() >= set(names) else [*names]


def _keys_of(line: bytes) -> Counter[str]:
    """Return the keys of a line with their counts, in order."""
    try:
        pairs = json.loads(line, object_pairs_hook=list)
    except (ValueError, RecursionError):  # a blank line; Polars finds damage
        return Counter()
    return Counter(key for key, _ in pairs) if line.lstrip().startswith(b"{") else Counter()
