"""Votes from files: tables of all formats, npy and npz arrays, folders of WRENCH json."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from hyperlabel.checks import check_flag
from hyperlabel.columns.arrays import as_list, is_sparse
from hyperlabel.columns.frames import plain
from hyperlabel.columns.rule import choose_columns
from hyperlabel.errors import ParameterError
from hyperlabel.files import is_folder
from hyperlabel.shown import show
from hyperlabel.tables import Table
from hyperlabel.tables.arrays import ARRAYS, read_array
from hyperlabel.votes.votes import Votes, to_votes
from hyperlabel.votes.wrench import is_wrench, read_wrench
from hyperlabel.votes.written import read_header

_WHOLE = r"^-?(0|[1-9]\d{0,17})$"
_DECIMAL = r"^-?(0|[1-9]\d*)(\.\d*)?$"


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
        source: Any table that `hyperlabel.tables.Table.open` takes, a .npy or .npz array, or a folder with WRENCH's
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
    check_flag(strict, "strict")
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and (path.suffix.lower() in ARRAYS or (is_folder(path) and is_wrench(path))):
        if long is not None:
            raise ParameterError(f"long is {show(long)}, but '{path}' is not a table; leave it out")
        return _read_without_columns(path, lfs, n_classes, classes)
    table = Table.open(source, delimiter=delimiter, encoding=encoding)
    header = None if path is None or lfs is not None or long is not None else read_header(path)
    frame = table.collect()
    if header is not None:
        return to_votes(Votes.from_saved(frame, header), n_classes=n_classes, classes=classes)
    options: dict[str, Any] = {"abstain": abstain, "n_classes": n_classes, "classes": classes, "strict": strict}
    if long is not None:
        return _read_long(frame, lfs, long, options, written=table.kind == "csv")
    others = () if lfs is not None else tuple(table.hive)
    if table.kind == "csv":
        frame = number_texts(frame.lazy(), choose_columns(frame.columns, lfs, others)).collect()
    return Votes.from_frame(frame, lfs=lfs, others=others, **options)


def _read_without_columns(
    path: Path, lfs: Sequence[str] | None, n_classes: int | None, classes: Sequence[Hashable] | None
) -> Votes:
    if is_folder(path):
        return read_wrench(path, lfs=lfs, n_classes=n_classes, classes=classes).votes
    data = read_array(path)
    read = Votes.from_sparse if is_sparse(data) else Votes.from_array
    return read(data, n_classes=n_classes, classes=classes, lfs=lfs)


def _read_long(
    frame: Any,
    lfs: Sequence[str] | None,
    long: tuple[str, str, str],
    options: dict[str, Any],
    *,
    written: bool,
) -> Votes:
    names = as_list(long, "long", "three columns: (item, lf, vote)")
    if len(names) != 3:
        raise ParameterError(f"long is {show(long)}; expected three columns: (item, lf, vote)")
    if lfs is not None:
        raise ParameterError(
            f"lfs is {show(lfs)} and long is {show(long)}; a long table names its own LFs; leave out lfs"
        )
    item, lf, vote = names
    votes = number_texts(frame.lazy(), [vote]).collect() if written else frame
    return Votes.from_long(votes, item=item, lf=lf, vote=vote, **options)


def number_texts(frame: Any, columns: Sequence[str]) -> Any:
    """A lazy frame in which columns of strings become numbers if all of them hold only numbers: a csv has only strings.

    Numbers such as 007 are names and stay strings.

    >>> import polars as pl
    >>> number_texts(pl.LazyFrame({"a": ["1", ""], "b": ["0", "-1"]}), ["a", "b"]).collect().rows()
    [(1, 0), (None, -1)]
    """
    import polars as pl

    schema = frame.collect_schema()
    names = [name for name in columns if schema.get(name) == pl.String]
    if not names:
        return frame
    place = {name: at for at, name in enumerate(schema.names())}
    stripped = [pl.nth(place[name]).str.strip_chars() for name in names]
    texts = [pl.when(text != "").then(text) for text in stripped]  # replace() takes the square of the columns
    for pattern, kind in ((_WHOLE, pl.Int64), (_DECIMAL, pl.Float64)):
        tests = frame.select(text.str.contains(pattern).all() for text in texts)
        if all(tests.collect(engine="streaming").row(0)):
            return frame.with_columns(text.cast(kind) for text in texts)
    return frame


def number_reader(texts: Iterable[str]) -> Callable[[Any], Any]:
    """How to read values of columns that hold these strings, by the rule of `number_texts`.

    >>> number_reader(["1", " 0"])(" 0"), number_reader(["1", "x"])("1")
    (0, '1')
    """
    held = {text.strip() for text in texts}
    for pattern, kind in ((_WHOLE, int), (_DECIMAL, float)):
        if held and all(re.search(pattern, text, re.ASCII) for text in held):
            return lambda value: plain(kind(value) if isinstance(value, str) else value)
    return plain
