"""Values that nobody should hand in."""

import datetime
import decimal
import fractions
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator


def check_error(error: Exception) -> None:
    """One of our errors says something that a terminal does not obey."""
    text = str(error)
    assert text, "an error without a word"


class Liar:
    """Claims a length that it does not have."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        raise IndexError(index)


class Thrower:
    """Raises whatever is asked of it."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        raise ValueError("no length")

    def __iter__(self) -> Any:
        raise KeyError("no items")

    def __bool__(self) -> bool:
        raise ValueError("neither true nor false")


def endless(depth: int = 2000) -> Any:
    """Nested deeper than anybody reads."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def cyclic() -> Any:
    """A list that holds itself."""
    value: list[Any] = [[0, 1]]
    value.append(value)
    return value


SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    -2,
    3,
    9999,
    10_000,
    10**6,
    2**24 - 1,
    2**31,
    2**53,
    2**63,
    -(2**63),
    2**64,
    10**30,
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    1e-300,
    1e300,
    float("nan"),
    float("inf"),
    -float("inf"),
    1j,
    "",
    " ",
    "a",
    "-1",
    "0",
    "NA",
    "nan",
    "x" * 200,
    "\x1b[2J",
    "\u202e",
    "\ud800",
    "ä",
    "*",
    "[a]",
    "lf_*",
    "../x",
    "-",
    b"",
    b"a",
    b"\x80",
    (),
    [],
    {},
    set(),
    frozenset({1}),
    [[]],
    [[], []],
    [None],
    [[None]],
    {"a": 1},
    {1: 0},
    {None: None},
    object(),
    object,
    len,
    Ellipsis,
    NotImplemented,
    Liar(),
    Thrower(),
    range(3),
    slice(None),
    decimal.Decimal("0.5"),
    decimal.Decimal("NaN"),
    fractions.Fraction(1, 3),
    datetime.date(2026, 1, 1),
    datetime.timedelta(1),
    Path("no"),
    np.int8(1),
    np.uint64(2**63),
    np.float32("nan"),
    np.bool_(1),
    np.datetime64("NaT"),
    np.str_("a"),
    np.array(None),
    np.array([]),
    np.zeros((0, 2)),
    np.zeros((2, 0)),
    np.zeros((1, 1, 1)),
    np.array([[1, 2], [3]], object),
    np.array([["a"]]),
    np.zeros(2, [("a", int)]),
    np.ma.masked_array([[0, 1]], [[1, 0]]),
)


def scalar(rng: Rng) -> Any:
    """One hostile value."""
    pick = rng.integers(len(SCALARS) + 2)
    return endless() if pick == len(SCALARS) else cyclic() if pick > len(SCALARS) else SCALARS[pick]


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
            cells[rng.integers(n), rng.integers(m)] = scalar(rng)
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
            values[rng.integers(n)] = SCALARS[
                rng.integers(len(SCALARS))
            ]  # Polars crashes on lists that hold themselves
        columns[str(rng.choice(NAMES)) if rng.random() < 0.4 else f"lf{j}"] = values
    made: Any = columns
    kind = rng.integers(3)
    try:
        if kind == 0:
            made = pd.DataFrame(columns)
            if m and rng.random() < 0.2:
                made.columns = [scalar(rng) if rng.random() < 0.5 else c for c in made.columns]
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
    """Something in the place of votes."""
    kind = rng.integers(5)
    if kind < 2:
        return array(rng)
    return sparse(rng) if kind == 2 else frame(rng) if kind == 3 else scalar(rng)


def sparse(rng: Rng) -> Any:
    """A sparse matrix, perhaps a broken one."""
    import scipy.sparse as sp

    matrix = getattr(sp, f"{rng.choice(['csr', 'csc', 'coo', 'lil', 'dok', 'dia', 'bsr'])}_array")(
        array(rng, sane=True) + 1
    )
    parts = [
        name
        for name in ("data", "indices", "indptr", "row", "col", "coords", "offsets", "_shape")
        if hasattr(matrix, name)
    ]
    if parts and rng.random() < 0.5:
        name = parts[rng.integers(len(parts))]
        value = getattr(matrix, name)
        try:
            if isinstance(value, np.ndarray) and value.size and value.dtype != object and rng.random() < 0.8:
                value = value.copy()
                value.flat[rng.integers(value.size)] = rng.choice([-1, 5, 2**31 - 1, 50_000_000])
                setattr(matrix, name, value if rng.random() < 0.7 else value[:-1])
        except (AttributeError, ValueError, OverflowError):
            pass
    return matrix
