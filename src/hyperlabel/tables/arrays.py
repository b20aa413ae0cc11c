"""Arrays and sparse matrices of .npy and .npz files; nothing is unpickled, and no claim of a file is trusted."""

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from hyperlabel.errors import VotesError, require
from hyperlabel.files import is_file
from hyperlabel.shown import printable
from hyperlabel.tables.failures import reading

ARRAYS = (".npy", ".npz")
"""The endings of files of arrays."""

_DEFLATED = 1032  # the most bytes that one compressed byte can hold


def read_array(path: str | Path) -> Any:
    """The array or sparse matrix of a .npy or .npz file; nothing is ever unpickled.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "votes.npy"), [[0, 1]])
    ...     read_array(Path(folder, "votes.npy")).tolist()
    [[0, 1]]
    """
    path = Path(path)
    if not is_file(path):
        raise VotesError(f"there is no file or folder '{printable(path)}'; check the path")
    with reading(str(path), "NumPy"), path.open("rb") as file:
        if file.read(2) == b"PK":
            return _read_zip(path)
        file.seek(0)
        _check_claim(file, path.stat().st_size)
        file.seek(0)
        return np.load(file, allow_pickle=False)


def _read_zip(path: Path) -> Any:
    """The only array of an archive, or the one named like votes; or the sparse matrix that it holds."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.file_size > _DEFLATED * entry.compress_size:
                raise ValueError(f"'{printable(entry.filename)}' claims more bytes than it can hold")
            with archive.open(entry) as file:
                _check_claim(file, entry.file_size)
    with np.load(path, allow_pickle=False) as arrays:
        names = arrays.files
        name = names[0] if len(names) == 1 else next((name for name in ("L", "votes") if name in names), None)
        if name is not None:
            return arrays[name]
    if {"format", "shape", "data"} <= set(names):
        return _read_sparse(path)
    shown = ", ".join(map(printable, names))
    raise VotesError(f"'{printable(path)}' holds {shown}; expected one array, or one named 'L' or 'votes'")


def _check_claim(file: IO[bytes], size: int) -> None:
    """Refuse an array whose header claims more than the file has, before memory is allocated for it."""
    try:
        version = np.lib.format.read_magic(file)
    except ValueError:
        raise ValueError("it is of another kind") from None
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never loaded")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size - file.tell():
        raise ValueError(f"it claims an array of shape {shape}, which is more than it holds")


def _read_sparse(path: Path) -> Any:
    """A sparse matrix, every index checked: SciPy would follow wrong ones outside its memory."""
    require("scipy", extra="sklearn")
    import scipy.sparse

    matrix = scipy.sparse.load_npz(path)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    elif hasattr(matrix, "coords"):
        for index, size in zip(matrix.coords, matrix.shape, strict=True):
            if len(index) and not 0 <= index.min() <= index.max() < size:
                raise ValueError(f"it stores votes outside its shape {matrix.shape}")
    return matrix
