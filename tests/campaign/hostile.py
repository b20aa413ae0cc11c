"""Odd data: cells, arrays, frames and sparse matrices that people do have."""

import datetime
import decimal
import fractions
from typing import Any

import numpy as np

Rng = np.random.Generator


def check_error(error: Exception) -> None:
    """One of our errors says something that a terminal does not obey."""
    text = str(error)
    assert text, "an error without a word"


CELLS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, -2, 3, 9999, 10**6, 2**31, 2**53, 2**63, -(2**63), 10**30,
    0.0, -0.0, 0.5, 1.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), -float("inf"), 1j,
    "", " ", "a", "-1", "0", "NA", "nan", "x" * 200, "\x1b[2J", "\u202e", "\ud800", "ä", "*", "[a]", "../x", "-",
    b"", b"a", b"\x80", (), [], {}, [None], {"a": 1}, decimal.Decimal("0.5"), decimal.Decimal("NaN"),
    fractions.Fraction(1, 3), datetime.date(2026, 1, 1), datetime.timedelta(1), np.int8(1), np.uint64(2**63),
    np.float32("nan"), np.bool_(1), np.datetime64("NaT"), np.str_("a"),
)  # fmt: skip
"""Values of cells, as they come from files, databases and other people's code."""


def cell(rng: Rng) -> Any:
    """One odd cell."""
    return CELLS[rng.integers(len(CELLS))]


DTYPES = (
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u8",
    "f2",
    "f4",
    "f8",
    "?",
    "O",
    "U3",
    "S2",
    "c16",
    "M8[s]",
    "m8[s]",
    "g",
)


def array(rng: Rng, sane: bool = False) -> Any:
    """An array of votes, sane or of any type and shape."""
    n, m = rng.integers(1, 12), rng.integers(1, 5)
    cells = rng.integers(-1, rng.integers(1, 5), (n, m))
    if sane or rng.random() < 0.5:
        return cells
    cells = cells.astype(rng.choice(DTYPES))
    for _ in range(rng.integers(0, 3)):
        try:
            cells[rng.integers(n), rng.integers(m)] = cell(rng)
        except (TypeError, ValueError, OverflowError):
            continue
    views = (
        lambda a: a,
        lambda a: a[::-1, ::-1],
        lambda a: a.T,
        lambda a: a[0],
        lambda a: a[None],
        np.asfortranarray,
        lambda a: a.tolist(),
        lambda a: [tuple(row) for row in a.tolist()],
        lambda a: a[:0],
    )
    return views[rng.integers(len(views))](cells)


NAMES = (
    "a",
    "b",
    "A",
    "id",
    "label",
    "confidence",
    "p_0",
    "",
    " ",
    "a b",
    "a,b",
    'q"q',
    "x'y",
    "answers",
    "select",
    "ä",
    "\x1b[1m",
    "\u202e",
    "count",
    "lf_1",
    "_",
    "a.b",
    "[a]",
    "*",
    "__index_level_0__",
    "rowid",
)


def frame(rng: Rng) -> Any:
    """A frame of pandas or Polars with hostile columns."""
    import pandas as pd
    import polars as pl

    n, m = int(rng.integers(0, 8)), int(rng.integers(0, 5))
    pools = (
        [0, 1, None],
        ["spam", "ham", ""],
        [True, False],
        [0.0, 1.0, float("nan")],
        [0, 1, 2],
        [0.5],
        [-1, 7],
        ["1", "x"],
    )
    columns: dict[Any, list[Any]] = {}
    for j in range(m):
        pool = pools[rng.integers(len(pools))]
        values = [pool[rng.integers(len(pool))] for _ in range(n)]
        if n and rng.random() < 0.2:
            values[rng.integers(n)] = cell(rng)
        columns[str(rng.choice(NAMES)) if rng.random() < 0.4 else f"lf{j}"] = values
    made: Any = columns
    kind = rng.integers(3)
    try:
        if kind == 0:
            made = pd.DataFrame(columns)
        elif kind == 1:
            made = pl.DataFrame(columns, strict=False)
        elif kind == 2:
            made = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    except BaseException as error:  # the library itself refuses these columns, by a panic at worst
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        made = columns
    return made


def votes(rng: Rng) -> Any:
    """Votes as an array, lists, a frame or a sparse matrix, whose cells may be anything."""
    kind = rng.integers(4)
    return array(rng) if kind < 2 else sparse(rng) if kind == 2 else frame(rng)


def sparse(rng: Rng) -> Any:
    """A sparse matrix of votes plus one, in any format."""
    import scipy.sparse as sp

    kind = rng.choice(["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
    return getattr(sp, f"{kind}_array")(array(rng, sane=True) + 1)
