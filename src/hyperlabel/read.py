"""Votes from files: csv, tsv and parquet tables, npy and npz arrays, folders of WRENCH json."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.classes import state_classes
from hyperlabel.columns import choose_columns
from hyperlabel.errors import ParameterError, VotesError, require
from hyperlabel.votes import Votes, to_votes
from hyperlabel.written import read_header

SPLITS = ("train", "valid", "test")
TABLES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}


def read_votes(
    path: str | Path,
    *,
    lfs: Sequence[str] | None = None,
    long: tuple[str, str, str] | None = None,
    abstain: Sequence[Any] | None = None,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    strict: bool = False,
) -> Votes:
    r"""Read votes from a file or folder.

    Args:
        path: A .csv, .tsv or .parquet table, a .npy or .npz array, or a folder with WRENCH's train.json,
            valid.json and test.json (any of them may be missing).
        lfs: Columns of a table that are LFs, as names or patterns such as `lf_*`; see `Votes.from_frame`. For arrays
            and folders, the names of the LFs.
        long: The columns of item, LF and vote of a long table.
        abstain: Values of a table that abstain; see `Votes.from_frame`.
        n_classes: Number of classes; inferred if not given.
        classes: The classes; inferred if not given.
        strict: Whether what would be a warning is an error.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "votes.csv")
    ...     _ = path.write_text("id,a,b\n7,spam,\n8,ham,spam\n")
    ...     read_votes(path).cells.tolist()
    [[1, -1], [0, 1]]
    """
    path = Path(path)
    if long is not None and path.suffix in TABLES:
        return _read_long(path, lfs, long, abstain=abstain, n_classes=n_classes, classes=classes, strict=strict)
    if long is not None:
        raise ParameterError(f"long is {long!r} but '{path}' is no table; expected one of {', '.join(TABLES)}")
    if path.is_dir():
        return read_wrench(path, lfs=lfs, n_classes=n_classes, classes=classes).votes
    if path.suffix in (".npy", ".npz"):
        data = read_array(path)
        read = Votes.from_sparse if hasattr(data, "tocoo") else Votes.from_array
        return read(data, n_classes=n_classes, classes=classes, lfs=lfs)
    frame = read_table(path)
    header = read_header(path) if TABLES[path.suffix] == "parquet" and lfs is None else None
    if header is not None:
        return to_votes(Votes.from_saved(frame, header), n_classes=n_classes, classes=classes)
    return Votes.from_frame(frame, lfs=lfs, abstain=abstain, n_classes=n_classes, classes=classes, strict=strict)


def _read_long(
    path: Path,
    lfs: Sequence[str] | None,
    long: tuple[str, str, str],
    **options: Any,
) -> Votes:
    if isinstance(long, str) or len(long) != 3:
        raise ParameterError(f"long is {long!r}; expected three columns: (item, lf, vote)")
    if lfs is not None:
        raise ParameterError(
            f"lfs is {list(lfs)} and long is {long!r}; a long table names its LFs itself, leave out lfs"
        )
    item, lf, vote = long
    return Votes.from_long(read_table(path), item=item, lf=lf, vote=vote, **options)


def read_table(path: str | Path) -> Any:
    r"""A csv, tsv or parquet table as a Polars frame.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "votes.tsv").write_text("a\tb\n0\t1\n")
    ...     read_table(Path(folder, "votes.tsv")).columns
    ['a', 'b']
    """
    path = Path(path)
    kind = TABLES.get(path.suffix)
    if kind is None and path.is_file():
        known = ", ".join([*TABLES, ".npy", ".npz"])
        raise VotesError(f"'{path}' ends in '{path.suffix}'; expected one of {known}, or a WRENCH folder")
    _check_file(path)
    require("polars", extra="cli")
    import polars as pl

    separator = "\t" if kind == "tsv" else ","
    try:
        if kind == "parquet":
            return pl.read_parquet(path)
        reason = _odd_line(path, separator) if _may_be_ragged(path, separator) else None
        if reason is None:
            frame = pl.read_csv(path, separator=separator, infer_schema_length=None)
            return _keep_leading_zeros(frame, path, separator)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise VotesError(f"'{path}' cannot be read: {reason}. Is it a whole {kind} file?")


def _keep_leading_zeros(frame: Any, path: Path, separator: str) -> Any:
    """The table with columns that hold numbers such as 007, which are names, as text."""
    import polars as pl

    whole = [name for name, kind in frame.schema.items() if kind.is_integer()]
    if not whole:
        return frame
    texts = pl.read_csv(path, separator=separator, columns=whole, infer_schema=False)
    return frame.with_columns(texts[name] for name in whole if texts[name].str.contains(r"^[+-]?0\d").any())


def _may_be_ragged(path: Path, separator: str) -> bool:
    """Whether a file has too few or many separators, or quotes, which hide some.

    Polars fills up short and blank lines, so that a file that was cut off would lose votes.
    """
    mark = separator.encode()
    with path.open("rb") as file:
        width = file.readline().count(mark)
        file.seek(0)
        separators = quotes = lines = 0
        last = b"\n"
        while block := file.read(1 << 20):
            separators += block.count(mark)
            quotes += block.count(b'"')
            lines += block.count(b"\n")
            last = block[-1:]
    return quotes > 0 or separators != width * (lines + (last != b"\n"))


def _odd_line(path: Path, separator: str) -> str | None:
    """The first line that has another number of fields than the header."""
    import csv

    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        lines = csv.reader(file, delimiter=separator)
        try:
            width = len(next(lines, []))
            odd = next((fields for fields in lines if max(1, len(fields)) != width), None)
        except csv.Error:  # a field too long for this reader
            return None
        return None if odd is None else f"line {lines.line_num} has {len(odd)} fields, the header has {width}"


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise VotesError(f"there is no file or folder '{path}'; check the path")


def lf_columns(names: Sequence[str], lfs: Sequence[str] | None) -> list[str]:
    """The columns of a table that may be LFs, by their names; `hyperlabel.columns.take_votes` looks at values too.

    >>> lf_columns(["id", "text", "lf_a", "lf_b", "note"], ["lf_*"])
    ['lf_a', 'lf_b']
    """
    return list(choose_columns(names, lfs))


def read_array(path: str | Path) -> Any:
    """The array or sparse matrix of a .npy or .npz file; nothing is ever unpickled.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "votes.npy"), [[0, 1]])
    ...     read_array(Path(folder, "votes.npy")).tolist()
    [[0, 1]]
    """
    import zipfile
    import zlib

    path = Path(path)
    _check_file(path)
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            name = _array_name(loaded.files)
            if name is not None:
                return loaded[name]
        if {"format", "shape", "data"} <= set(loaded.files):
            return _read_sparse(path)
    except (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy takes for a pickle whatever it does not know, and recommends to load it unsafely.
        reason = "it is of another kind, or holds Python objects" if "pickle" in str(error) else str(error)
        raise VotesError(f"'{path}' cannot be read: {reason}. Is it a whole NumPy file of numbers?") from error
    raise VotesError(f"'{path}' holds {', '.join(loaded.files)}; expected one array, or one named 'L' or 'votes'")


def _array_name(names: Sequence[str]) -> str | None:
    """Which array of a .npz file holds the votes."""
    return names[0] if len(names) == 1 else next((name for name in ("L", "votes") if name in names), None)


def _read_sparse(path: Path) -> Any:
    require("scipy", extra="sklearn")
    import scipy.sparse

    return scipy.sparse.load_npz(path)


@dataclass(frozen=True, eq=False)
class WrenchData:
    """A WRENCH data set, its splits one after the other.

    Attributes:
        votes: The votes; items are named `<split>/<id>`.
        truth: (n,) class numbers, -1 where unknown.
        split: (n,) the split of each item.
        records: (n,) the data of each item, as the files have them.
    """

    votes: Votes
    truth: NDArray[np.int64]
    split: NDArray[np.str_]
    records: list[dict[str, Any]]


def read_wrench(
    folder: str | Path,
    *,
    lfs: Sequence[str] | None = None,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
) -> WrenchData:
    """Read a folder in the format of the WRENCH benchmark; missing splits are left out.

    Class names come from `classes`, or from label.json if it is there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "test.json").write_text('{"7": {"label": 1, "weak_labels": [0, -1]}}')
    ...     data = read_wrench(folder)
    >>> data.votes.items.tolist(), data.votes.cells.tolist(), data.truth.tolist()
    (['test/7'], [[0, -1]], [1])
    """
    folder = Path(folder)
    entries = _read_entries(folder)
    lists = [entry["weak_labels"] for _, _, entry in entries]
    items = [f"{split}/{name}" for split, name, _ in entries]
    names = state_classes(n_classes, _wrench_classes(folder) if classes is None else classes)
    votes = Votes.from_array(lists, n_classes=None if names is None else len(names), lfs=lfs)
    votes = replace(votes, items=np.array(items))
    labels = {item: entry.get("label") for item, (_, _, entry) in zip(items, entries, strict=True)}
    votes, truth = votes.with_labels(labels, "label")
    return WrenchData(
        votes=votes if names is None else replace(votes, classes=names),
        truth=truth,
        split=np.array([split for split, _, _ in entries]),
        records=[entry.get("data", {}) for _, _, entry in entries],
    )


def _read_entries(folder: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Split, identifier and content of every item, checked to have as many votes as the first."""
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
        raise VotesError(f"{where} has no list 'weak_labels'; expected one vote an LF")
    if len(weak) != len(first["weak_labels"]):
        raise VotesError(f"{where} has {len(weak)} votes, the first item has {len(first['weak_labels'])}; add -1s?")
    odd = [vote for vote in weak if not (isinstance(vote, int | float) and vote >= -1 and vote == vote // 1)]
    if odd:
        raise VotesError(f"{where} votes {odd[0]!r:.60}; expected class numbers, -1 to abstain")


def _wrench_classes(folder: Path) -> list[Hashable] | None:
    """Class names from label.json, if it is there."""
    path = folder / "label.json"
    if not path.exists():
        return None
    names = _read_json(path)
    if set(names) != set(map(str, range(len(names)))) or len(set(map(str, names.values()))) != len(names):
        raise VotesError(f"'{path}' holds {names!r:.80}; expected a different name for each of '0', '1', ...")
    return [names[str(number)] for number in range(len(names))]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise VotesError(f"'{path}' cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise VotesError(f"'{path}' holds a {type(content).__name__}; expected an object with one entry an item")
    return content
