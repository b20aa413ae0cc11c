"""Records of experiments: JSON lines, one finished cell per line, never lost and never run twice.

Flows in: cells (what identifies a run: data set, model, seed, ...) and the work that measures one. Flows out: a file
with the measures of each cell beside what identifies it, how long it took, and on what it ran.
"""

import functools
import json
import os
import platform
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel
from hyperlabel.errors import HyperlabelError, MissingExtraError, ParameterError, WeightsError

Record = dict[str, Any]
Cell = Mapping[str, Any]
Progress = Callable[[int, int, str], None]
"""Called with the number of finished cells, that of all cells, and a word about the last one."""

LARGEST_FILE = 1_000_000
"""Bytes of a file of records; what does not fit goes on in another, since no file of the repository is above 1 MiB."""

VERSIONED = ("scipy", "sklearn", "torch", "transformers")


class OutOfTimeError(HyperlabelError):
    """Work took longer than it may."""


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Stop work after so many seconds of processor time; the main thread alone can be stopped.

    Raises:
        OutOfTimeError: It was stopped.

    >>> with at_most(1):
    ...     "done"
    'done'
    """
    if seconds is None:
        yield
        return

    def stop(*_: object) -> None:
        raise OutOfTimeError(f"stopped after {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def silent(done: int, total: int, what: str) -> None:
    """Progress that nobody sees."""


@dataclass(frozen=True)
class Options:
    """What every experiment takes."""

    data: Path  # folder of data sets, as `load_datasets` takes it
    out: Path  # folder for the records
    seeds: int = 5  # repeats, for what is random
    # Short names of label models, or files of weights; None for all that suit the experiment.
    models: tuple[str, ...] | None = None
    sets: tuple[str, ...] | None = None  # names of data sets; None for all
    limit: float | None = None  # seconds of processor time that a cell may take; None for any
    progress: Progress = silent  # told of every finished cell

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ParameterError(f"seeds is {self.seeds}; expected at least 1")


class Store:
    """A file of records that grows by whole lines; when it is full, `runs.jsonl` goes on in `runs-2.jsonl`.

    Args:
        path: The first file; it and its folder are made when the first record is written.
        limit: Seconds of processor time that a cell may take; None for any.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder, "runs.jsonl"))
    ...     store.run([{"seed": 0}, {"seed": 1}], lambda cell: {"score": 10 * cell["seed"]})
    ...     [record["score"] for record in read_records(store.path)]
    [0, 10]
    """

    def __init__(self, path: Path, limit: float | None = None) -> None:
        self.path, self.limit = path, limit

    def run(
        self, cells: Iterable[Cell], work: Callable[[Cell], Mapping[str, Any]], progress: Progress = silent
    ) -> None:
        """Measure the cells that have no record yet; each is recorded as soon as it is done.

        A model that cannot be used on a data set, and raises a `HyperlabelError`, gets a record with a `note`;
        warnings go to the record as well. A cell above the limit gets a note too, and its other seeds are not tried.

        Args:
            cells: What identifies each cell; values are texts, numbers or truth values.
            work: From a cell to its measures.
            progress: Told of every finished cell.
        """
        wanted = list(cells)
        finished = _Finished(read_records(self.path) if self.path.exists() else [])
        waiting = [cell for cell in wanted if cell not in finished]
        done = len(wanted) - len(waiting)
        stopped: dict[str, Record] = {}
        progress(done, len(wanted), "kept from before")
        for cell in waiting:
            repeated = _key(cell, [field for field in cell if field != "seed"])
            measures = stopped.get(repeated) or _measure(cell, work, self.limit)
            if measures.get("stopped"):
                stopped[repeated] = measures
            self._append({**cell, **measures, "versions": versions(), "machine": machine()})
            done += 1
            progress(done, len(wanted), ", ".join(str(value) for value in cell.values()))

    def _append(self, record: Record) -> None:
        """Write one whole line, and drop what a killed run left of its last one."""
        line = json.dumps(record, default=_plain).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._last_file(len(line)).open("ab+") as file:
            _drop_torn_line(file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _last_file(self, room: int) -> Path:
        """The file that has room for so many more bytes."""
        files = _files(self.path)
        full = files[-1].exists() and files[-1].stat().st_size + room > LARGEST_FILE
        return _continuation(self.path, len(files) + 1) if full else files[-1]


def _files(path: Path) -> list[Path]:
    """A file of records and those in which it goes on, in order."""
    return [path, *takewhile(Path.exists, (_continuation(path, number) for number in count(2)))]


def _continuation(path: Path, number: int) -> Path:
    return path.with_stem(f"{path.stem}-{number}")


class _Finished:
    """Which cells have records: a record may hold more fields than its cell."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.keys: dict[tuple[str, ...], set[str]] = {}

    def __contains__(self, cell: Cell) -> bool:
        fields = tuple(sorted(cell))
        if fields not in self.keys:
            self.keys[fields] = {_key(record, fields) for record in self.records if record.keys() >= set(fields)}
        return _key(cell, fields) in self.keys[fields]


def _key(cell: Cell, fields: Sequence[str]) -> str:
    return json.dumps([cell[field] for field in fields], default=_plain)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, and paths, as JSON knows them."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


def _drop_torn_line(file: Any) -> None:
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 4096)
        file.seek(start)
        whole = file.read(end - start).rfind(b"\n")
        if whole >= 0:
            file.truncate(start + whole + 1)
            return
        end = start
    file.truncate(0)


def _measure(cell: Cell, work: Callable[[Cell], Mapping[str, Any]], limit: float | None) -> Record:
    """The measures of a cell, its seconds, and what was warned of."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with at_most(limit):
                measures = dict(work(cell))
        except OutOfTimeError as error:
            measures = {"note": str(error), "stopped": True, "seconds": limit}
        except (MissingExtraError, WeightsError):  # these are no facts about the cell: put right, it would run
            raise
        except HyperlabelError as error:
            measures = {"note": str(error)}
    said = list(dict.fromkeys(str(warning.message) for warning in caught))
    extra = {"warnings": said} if said else {}
    return {"seconds": time.perf_counter() - start, **measures, **extra}


def read_records(path: Path) -> list[Record]:
    """The records of a file and of those in which it goes on; a line that a killed run left unfinished is not read.

    Raises:
        ParameterError: There is no such file, or a line of it is no record.
    """
    if not path.exists():
        raise ParameterError(f"there is no file of records '{path}'; run the experiment first")
    return [record for file in _files(path) for record in _read_file(file)]


def _read_file(path: Path) -> Iterator[Record]:
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            yield dict(json.loads(line))
        except ValueError as error:
            raise ParameterError(f"line {number} of '{path}' is no record: {error}; remove the line") from error


def versions() -> dict[str, str]:
    """Versions of Python, of this package, of NumPy, and of what else is loaded and could matter."""
    loaded = {name: sys.modules[name].__version__ for name in VERSIONED if name in sys.modules}
    return {
        "python": platform.python_version(),
        "hyperlabel": hyperlabel.__version__,
        "numpy": np.__version__,
        **loaded,
    }


@functools.cache
def machine() -> str:
    """Processor, number of cores and memory, in a few words."""
    cores = os.cpu_count() or 1
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0
    memory = f", {gigabytes:.0f} GB" if gigabytes else ""
    return f"{_processor()}, {cores} cores{memory}, {platform.system()}"


def _processor() -> str:
    """The processor's name, or at least its kind."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
