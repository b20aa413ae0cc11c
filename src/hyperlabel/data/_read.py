"""Votes from files: tables of all formats, npy and npz arrays, folders of WRENCH json; nothing is unpickled."""

import json
import math
import zipfile
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import is_file, is_folder, printable, show
from hyperlabel.data._classes import state_classes
from hyperlabel.data._columns import choose_columns
from hyperlabel.data._files import reading
from hyperlabel.data._table import Table, number_texts
from hyperlabel.data._values import as_list
from hyperlabel.data._vote_frame import read_header
from hyperlabel.data._votes import Votes, to_votes
from hyperlabel.errors import ParameterError, VotesError, require

ARRAYS = (".npy", ".npz")  # endings of files of arrays
_DEFLATED = 1032  # the most bytes that one compressed byte can hold


def read_array(path: str | Path) -> Any:
    """Return the array or sparse matrix of a .npy or .npz file; nothing is ever unpickled."""
    path = Path(path)
    if not is_file(path):
        raise VotesError(f"there is no file or folder '{printable(path)}'; check the path")
    with reading(str(path), "NumPy"), path.open("rb") as file:
        if file.read(2) == b"PK":
            return _read_zip(path)
        file.seek(0)
        _check_size(file, path.stat().st_size)
        file.seek(0)
        return np.load(file, allow_pickle=False)


def _read_zip(path: Path) -> Any:
    """Return the only array of an archive, the one named like votes, or the sparse matrix that it holds."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.file_size > _DEFLATED * entry.compress_size:
                raise ValueError(f"'{printable(entry.filename)}' claims more bytes than it can hold")
            with archive.open(entry) as file:
                _check_size(file, entry.file_size)
    with np.load(path, allow_pickle=False) as arrays:
        names = arrays.files
        name = names[0] if len(names) == 1 else next((name for name in ("L", "votes") if name in names), None)
        if name is not None:
            return arrays[name]
    if {"format", "shape", "data"} <= set(names):
        return _read_sparse(path)
    shown = ", ".join(map(printable, names))
    raise VotesError(f"'{printable(path)}' holds {shown}; expected one array, or one named 'L' or 'votes'")


def _check_size(file: IO[bytes], size: int) -> None:
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
    """Return a sparse matrix, every index checked: SciPy would follow wrong ones outside its memory."""
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


SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False)
class WrenchData:
    """A WRENCH data set, its splits one after another."""

    votes: Votes  # items are named `<split>/<id>`
    truth: NDArray[np.int64]  # (n,) class numbers, -1 where unknown
    split: NDArray[np.str_]  # (n,) the split of each item
    records: list[dict[str, Any]]  # (n,) the data of each item, as in the files


def is_wrench(folder: Path) -> bool:
    """Return whether a folder has a split of a WRENCH data set."""
    return any((folder / f"{split}.json").exists() for split in SPLITS)


def read_wrench(
    folder: str | Path,
    *,
    lfs: Sequence[str] | None = None,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
) -> WrenchData:
    """Read a folder in the format of the WRENCH benchmark; missing splits are left out."""
    folder = Path(folder)
    entries = _read_entries(folder)
    lists = [entry["weak_labels"] for _, _, entry in entries]
    items = [f"{split}/{name}" for split, name, _ in entries]
    names = state_classes(n_classes, _read_classes(folder) if classes is None else classes)
    votes = Votes.from_array(lists, n_classes=None if names is None else len(names), lfs=lfs)
    votes = votes.with_parts(items=np.array(items))
    labels = {item: entry.get("label") for item, (_, _, entry) in zip(items, entries, strict=True)}
    votes, truth = votes.with_labels(labels, "label")
    return WrenchData(
        votes=votes if names is None else votes.with_parts(classes=names),
        truth=truth,
        split=np.array([split for split, _, _ in entries]),
        records=[entry.get("data", {}) for _, _, entry in entries],
    )


def _read_entries(folder: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return split, identifier and content of every item, checked to have as many votes as the first."""
    paths = {split: folder / f"{split}.json" for split in SPLITS}
    present = {split: path for split, path in paths.items() if path.exists()}
    if not present:
        raise VotesError(f"'{folder}' has none of {', '.join(f'{s}.json' for s in SPLITS)}; expected a WRENCH data set")
    entries = []
    for split, path in present.items():
        for name, entry in _read_json(path).items():
            entries.append((split, name, entry))
            _check_entry(f"'{path}', item {name!r}", entry, entries[0][2])
    if not entries:
        raise VotesError(f"'{folder}' has no items in {', '.join(f'{s}.json' for s in present)}; expected at least one")
    return entries


def _check_entry(where: str, entry: Any, first: Any) -> None:
    weak = entry.get("weak_labels") if isinstance(entry, dict) else None
    if not isinstance(weak, list):
        raise VotesError(f"{where} has no list 'weak_labels'; expected one vote per LF")
    if len(weak) != len(first["weak_labels"]):
        raise VotesError(f"{where} has {len(weak)} votes, the first item has {len(first['weak_labels'])}; add -1s?")
    odd = [vote for vote in weak if not (isinstance(vote, int | float) and -1 <= vote < 1 << 53 and vote == int(vote))]
    if odd:
        raise VotesError(f"{where} votes {show(odd[0])}; expected class numbers, -1 to abstain")


def _read_classes(folder: Path) -> list[Hashable] | None:
    """Return the class names of label.json, if it exists."""
    path = folder / "label.json"
    if not path.exists():
        return None
    names = _read_json(path)
    if set(names) != set(map(str, range(len(names)))) or len(set(map(str, names.values()))) != len(names):
        raise VotesError(f"'{path}' holds {show(names, 80)}; expected a different name for each of '0', '1', ...")
    return [names[str(number)] for number in range(len(names))]


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file; refuse what is not JSON to other libraries."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, object_pairs_hook=_each_once)
        if "\\ud" in text.lower():
            json.dumps(content, ensure_ascii=False).encode()  # raises at an unpaired surrogate
    except UnicodeEncodeError as error:
        raise VotesError(f"'{path}' has an unpaired surrogate, {error.object[error.start]!r}; remove it") from error
    except (ValueError, OSError, RecursionError) as error:
        raise VotesError(f"'{path}' cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise VotesError(
            f"'{path}' holds JSON of type {type(content).__name__}; expected an object with one entry per item"
        )
    return content


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"'{printable(twice)}' occurs twice; expected each item once")
    return content


def read_votes(
    source: object,
    *,
    lfs: Sequence[str] | None = None,
    long: tuple[str, str, str] | None = None,
    abstain: Sequence[Any] | None = None,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    strict: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Votes:
    r"""Read votes from a file or folder.

    Args:
        source: Any table that `hyperlabel.data.Table.open` takes, a .npy or .npz array, or a folder with WRENCH's
            train.json, valid.json and test.json (any of them may be missing).
        lfs: Columns of a table that are LFs, as names or patterns such as `lf_*`; see `Votes.from_frame`. For arrays
            and folders, the names of the LFs.
        long: The columns of item, LF and vote of a long table.
        abstain: Values of a table that abstain; see `Votes.from_frame`.
        n_classes: Number of classes; inferred if not given.
        classes: The classes; inferred if not given.
        strict: Whether warnings are errors.
        delimiter: The separator of a csv; found if not given.
        encoding: The encoding of a text file; found if not given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "votes.csv")
    ...     _ = path.write_text("id,a,b\n7,spam,\n8,ham,spam\n")
    ...     read_votes(path).cells.tolist()
    [[1, -1], [0, 1]]
    """
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and (path.suffix.lower() in ARRAYS or (is_folder(path) and is_wrench(path))):
        if long is not None:
            raise ParameterError(f"long is {show(long)}, but '{path}' is not a table; leave it out")
        if is_folder(path):
            return read_wrench(path, lfs=lfs, n_classes=n_classes, classes=classes).votes
        return Votes(read_array(path), lfs=lfs, n_classes=n_classes, classes=classes)
    table = Table.open(source, delimiter=delimiter, encoding=encoding)
    header = None if path is None or lfs is not None or long is not None else read_header(path)
    frame = table.collect()
    if header is not None:
        return to_votes(Votes.from_saved(frame, header), n_classes=n_classes, classes=classes)
    options: dict[str, Any] = {"abstain": abstain, "n_classes": n_classes, "classes": classes, "strict": strict}
    options["written"] = table.kind == "csv"
    if long is not None:
        return _read_long(frame, long, lfs, options)
    others = () if lfs is not None else tuple(table.hive)
    if options["written"]:
        frame = number_texts(frame.lazy(), choose_columns(frame.columns, lfs, others)).collect()
    return Votes.from_frame(frame, lfs=lfs, others=others, **options)


def _read_long(frame: Any, long: Sequence[str], lfs: Sequence[str] | None, options: dict[str, Any]) -> Votes:
    names = as_list(long, "long", "three columns: (item, lf, vote)")
    if len(names) != 3:
        raise ParameterError(f"long is {show(long)}; expected three columns: (item, lf, vote)")
    if lfs is not None:
        raise ParameterError(f"lfs is {show(lfs)}, but a long table names its LFs itself; leave out lfs or long")
    if options["written"]:
        frame = number_texts(frame.lazy(), names[2:]).collect()
    return Votes.from_long(frame, item=names[0], lf=names[1], vote=names[2], **options)


Votes.read_file = read_votes
