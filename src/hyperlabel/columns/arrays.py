"""Arrays and sparse matrices of class numbers: checked, and turned into integers."""

import numbers
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.kernels import Ints
from hyperlabel.memory import check_memory
from hyperlabel.shown import show

_LARGEST = 2.0**53  # larger whole floats are not exact
_PER_LINE = 8  # numbers of memory that an item or an LF takes even if it has no votes: its start, its name


def check_array(array: object) -> Ints:
    """An (n, m) array of integers, each at least -1, or a clear error.

    >>> check_array([[0, -1], [True, 2.0]]).tolist()
    [[0, -1], [1, 2]]
    """
    cells = _as_array(array)
    if cells.ndim != 2:
        raise VotesError(
            f"votes has shape {cells.shape}; expected 2-D (items, LFs). One LF is a single column: reshape(-1, 1)"
        )
    if 0 in cells.shape:
        raise VotesError(f"votes has shape {cells.shape}; expected at least one item and one LF")
    cells = _as_integers(cells)
    low = int(cells.min())
    if low < -1:
        raise VotesError(f"votes{place(cells == low)} is {low}; expected -1 to abstain, or a class number, 0 or more")
    return cells


def check_sparse(matrix: Any) -> tuple[tuple[int, int], Ints, Ints, Ints]:
    """Shape, row, column and class number of every vote that a scipy.sparse matrix stores, or a clear error."""
    if not is_sparse(matrix):
        raise VotesError(f"votes is of type {type(matrix).__name__}; expected a scipy.sparse matrix or array")
    if len(matrix.shape) != 2 or min(matrix.shape) < 1:
        raise VotesError(f"votes has shape {matrix.shape}; expected 2-D (items, LFs) with at least one of each")
    n, m = matrix.shape
    check_memory(_PER_LINE * (n + m), f"a sparse matrix of {n:,} items and {m:,} LFs", "leave out empty ones")
    coo = convert_sparse(matrix, "coo", "votes")
    if coo.dtype.kind not in "iubf":
        raise VotesError(f"votes has the type {coo.dtype}; expected integers, each a class number plus 1")
    stored = np.flatnonzero(coo.data != 0)
    row, column, data = coo.row[stored], coo.col[stored], coo.data[stored]
    _check_stored_once(row, column, data)
    wrong = np.flatnonzero(~_is_whole(data) | (data < 1))
    if len(wrong):
        i, j, value = row[wrong[0]], column[wrong[0]], data[wrong[0]]
        raise VotesError(f"votes[{i}, {j}] stores {value}; expected a class number plus 1, or nothing to abstain")
    return (n, m), row, column, data.astype(np.int64) - 1


def is_sparse(data: object) -> bool:
    """Whether data is a sparse matrix or array of SciPy."""
    return any(cls.__module__.startswith("scipy.sparse") for cls in type(data).__mro__)


def convert_sparse(matrix: Any, form: str, argument: str) -> Any:
    """A sparse matrix in another form.

    One whose parts do not fit together is refused: SciPy's conversions trust them and read and write outside memory.
    """
    try:
        reason = _BROKEN[matrix.format](matrix)
        if reason is None:
            return matrix.asformat(form)
    except Exception as error:  # a part may be of any type
        reason = str(error)
    raise VotesError(
        f"{argument} is a broken {matrix.format} matrix: {reason}; expected one that SciPy made. Create it again"
    )


def _broken_rows(matrix: Any) -> str | None:
    """What is wrong with compressed rows, columns or blocks."""
    starts, index, data = matrix.indptr, matrix.indices, matrix.data
    height, width = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    if matrix.format == "bsr":
        height, width = (size // block for size, block in zip(matrix.shape, data.shape[1:], strict=True))
    if starts.dtype.kind not in "iu" or index.dtype.kind not in "iu":
        return f"indptr and indices are {starts.dtype} and {index.dtype}, not integers"
    if starts.shape != (height + 1,) or starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] > len(index):
        return f"indptr must be {height + 1} numbers that rise from 0 to at most {len(index)}"
    if index.ndim != 1 or len(data) < len(index):
        return f"{len(index)} indices but {len(data)} values"
    if len(index) and not 0 <= index.min() <= index.max() < width:
        return f"indices must be from 0 to {width - 1}"
    return None


def _broken_triples(matrix: Any) -> str | None:
    """What is wrong with a matrix of rows, columns and values."""
    if not len(matrix.row) == len(matrix.col) == len(matrix.data):
        return f"{len(matrix.row)} rows, {len(matrix.col)} columns and {len(matrix.data)} values"
    for name, index, size in (("row", matrix.row, matrix.shape[0]), ("column", matrix.col, matrix.shape[1])):
        if index.ndim != 1 or index.dtype.kind not in "iu":
            return f"{name} numbers are {index.dtype} of shape {index.shape}, not a list of integers"
        if len(index) and not 0 <= index.min() <= index.max() < size:
            return f"{name} numbers must be from 0 to {size - 1}"
    return None


def _broken_lists(matrix: Any) -> str | None:
    """What is wrong with a matrix of lists, one per row."""
    if not matrix.rows.shape == matrix.data.shape == matrix.shape[:1]:
        return f"rows have shape {matrix.rows.shape}, values {matrix.data.shape}, not {matrix.shape[:1]}"
    for i, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if len(columns) != len(values):
            return f"row {i} has {len(columns)} columns and {len(values)} values"
        if not all(isinstance(j, int | np.integer) and 0 <= j < matrix.shape[1] for j in columns):
            return f"column numbers of row {i} must be from 0 to {matrix.shape[1] - 1}"
    return None


def _broken_diagonals(matrix: Any) -> str | None:
    """What is wrong with a matrix of diagonals."""
    offsets, (height, width) = matrix.offsets, matrix.shape
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or matrix.data.shape[:1] != offsets.shape:
        return f"{offsets.shape} offsets of type {offsets.dtype} and diagonals of shape {matrix.data.shape}"
    if len(np.unique(offsets)) != len(offsets) or not ((offsets > -height) & (offsets < width)).all():
        return f"offsets must be different numbers from {1 - height} to {width - 1}"
    return None


def _broken_keys(matrix: Any) -> str | None:
    """What is wrong with a matrix of values by place."""
    places = matrix.keys()  # a matrix itself gives its rows
    for key in places:
        i, j = map(operator.index, key)
        if not (0 <= i < matrix.shape[0] and 0 <= j < matrix.shape[1]):
            return f"it has the place {show(key)}, and its shape is {matrix.shape}"
    return None


_BROKEN = {
    "csr": _broken_rows,
    "csc": _broken_rows,
    "bsr": _broken_rows,
    "coo": _broken_triples,
    "lil": _broken_lists,
    "dia": _broken_diagonals,
    "dok": _broken_keys,
}


def _check_stored_once(row: Ints, column: Ints, data: NDArray[Any]) -> None:
    order = np.lexsort((column, row))
    same = (np.diff(row[order]) == 0) & (np.diff(column[order]) == 0)
    if same.any():
        first, second = order[np.flatnonzero(same)[0] :][:2]
        raise VotesError(
            f"votes[{row[first]}, {column[first]}] is stored twice, as {data[first]} and {data[second]}; "
            "expected one value per cell. Keep one (scipy's sum_duplicates would add them)"
        )


def as_list(values: object, argument: str, expected: str) -> list[Any]:
    """The members of an argument that must be a list or another iterable; a string is refused.

    >>> as_list(("a", "b"), "lfs", "a list of columns")
    ['a', 'b']
    """
    try:
        if isinstance(values, str | bytes | Mapping | set | frozenset) or hasattr(values, "tocsr"):
            raise TypeError  # SciPy follows the indices of a broken matrix
        return list(values)  # type: ignore[call-overload, no-any-return]
    except Exception:  # an object may raise anything when it is iterated
        raise ParameterError(f"{argument} is {show(values)}; expected {expected}") from None


def as_array(values: object, argument: str, expected: str) -> NDArray[Any]:
    """An argument as an array of any type and shape; refuse what NumPy cannot hold, or would read as one object.

    >>> as_array([0, 1], "labels", "a list of labels").shape
    (2,)
    """
    refuse_masked(values, argument)
    try:
        if isinstance(values, str | bytes | Mapping) or hasattr(values, "tocsr"):
            raise TypeError  # see above
        return np.asarray(values)
    except Exception:  # rows of different lengths, or an object that raises anything
        raise ParameterError(f"{argument} is {show(values)}; expected {expected}") from None


def refuse_masked(values: object, argument: str) -> None:
    """Refuse a masked array, since NumPy would take what its mask hides."""
    if is_masked(values):
        raise ParameterError(
            f"{argument} is a masked array; expected a plain one. Put in the value that means nothing with .filled"
        )


def is_masked(values: object) -> bool:
    """Whether values are a masked array, or a list of such rows."""
    rows = values if isinstance(values, list | tuple) else [values]
    return any(hasattr(type(row), "filled") for row in rows)  # on the type: an object may claim any attribute


def place(wrong: NDArray[np.bool_]) -> str:
    """The index of the first wrong value: '[3, 1]'."""
    first = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return f"[{', '.join(map(str, first))}]"


def _as_array(array: object) -> NDArray[Any]:
    if is_masked(array):
        raise VotesError("votes is a masked array; expected -1 where an LF abstains: votes.filled(-1)")
    if not isinstance(array, str | bytes | Mapping):
        try:
            cells = np.asarray(array)
        except ValueError as error:
            raise VotesError(
                f"votes is ragged{_odd_row(array)}; expected one vote per LF in every row, -1 to abstain"
            ) from error
        except Exception as error:  # an object may raise anything when it is converted to an array
            raise VotesError(
                f"votes is of type {type(array).__name__} and cannot be converted to an array ({error}); expected votes"
            ) from error
        if cells.ndim:
            return cells
    raise VotesError(
        f"votes is {show(array)} ({type(array).__name__}); expected an (items, LFs) array, nested lists, a pandas or "
        "Polars DataFrame, or a scipy.sparse matrix. For a file use hyperlabel.read_votes"
    )


def _odd_row(array: object) -> str:
    rows = list(array) if isinstance(array, Sequence) else []
    lengths = list(map(_length, rows))
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is None:
        return ""
    shown = ["no list" if length is None else f"{length} votes" for length in (lengths[odd], lengths[0])]
    return f": row {odd} has {shown[0]}, row 0 has {shown[1]}"


def _length(row: Any) -> int | None:
    try:
        return len(row)
    except Exception:  # it has no length, or raises an error of its own
        return None


def _as_integers(cells: NDArray[Any]) -> Ints:
    """The cells as integers; wide unsigned ones stay, since their values are compared before they are used."""
    if cells.dtype.kind in "iu":
        return cells
    if cells.dtype.kind == "b":
        return cells.astype(np.int8)
    if cells.dtype.kind in "mM":  # those in nanoseconds would become numbers
        raise VotesError(f"votes[0, 0] is {cells[0, 0]} in an array of type {cells.dtype}; expected integers")
    if cells.dtype.kind != "f":
        return _as_integers(_as_floats(cells))
    whole = _is_whole(cells)
    if not whole.all():
        value = cells[~whole][0]
        hint = "Use -1 to abstain, or a DataFrame, where NaN abstains" if np.isnan(value) else "Votes are class numbers"
        raise VotesError(f"votes{place(~whole)} is {value}; expected a whole number. {hint}")
    return cells.astype(np.int64)


def _as_floats(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers that an array holds as objects; an error names the cell that is not a number."""
    values = cells.ravel().tolist()
    odd = [i for i, value in enumerate(values) if not isinstance(value, numbers.Real | np.bool_)]
    if not odd:
        return _within_floats(cells).astype(np.float64)
    # If one cell is a string, NumPy turns all into strings: the one to blame does not read like a number.
    words = [i for i in odd if not (isinstance(values[i], str) and looks_like_number(values[i]))]
    i, j = divmod((words or odd)[0], cells.shape[1])
    value = values[i * cells.shape[1] + j]
    raise VotesError(
        f"votes[{i}, {j}] is {show(value)} in an array of type {cells.dtype}; expected integers. "
        "Use -1 to abstain; for class names use a DataFrame"
    )


def _within_floats(cells: NDArray[Any]) -> NDArray[Any]:
    """Numbers as objects, each in the range of floats; Python's own have no limit."""
    large = np.abs(cells) > np.finfo(np.float64).max
    if large.any():
        raise VotesError(f"votes{place(large)} is {show(cells[large][0])}; expected a class number")
    return cells


def looks_like_number(text: str) -> bool:
    """Whether a string reads like a number.

    >>> looks_like_number("-1"), looks_like_number("0.5"), looks_like_number("spam")
    (True, True, False)
    """
    return text.strip().lstrip("+-").replace(".", "", 1).isdigit()


def _is_whole(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are whole numbers that an int64 can hold."""
    if values.dtype.kind != "f":
        return values <= np.iinfo(np.int64).max
    largest = min(_LARGEST, float(np.finfo(values.dtype).max))
    whole: NDArray[np.bool_] = (values == np.round(values)) & (np.abs(values) < largest)
    return whole
