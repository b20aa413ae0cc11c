"""Appliers with Snorkel's signatures: lists, pandas, Dask or Spark in, an (n, m) array of votes out.

Like Snorkel's, they call all LFs row by row, and an LF's own exception reaches the caller; a note says which LF
failed on which row.
"""

import importlib.util
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel import lf as lf_part
from hyperlabel._core import show
from hyperlabel.compat.snorkel.functions import names_of
from hyperlabel.compat.snorkel.rows import CHUNK, SeriesRow, iter_rows
from hyperlabel.data import ABSTAIN
from hyperlabel.errors import ParameterError, require
from hyperlabel.lf import Advance, show_progress

VotesArray = NDArray[np.int_]


class ApplierMetadata(NamedTuple):
    """Metadata that `apply` returns beside the votes."""

    faults: dict[str, int]  # how often each LF failed; LFs that never failed are left out


@dataclass
class Runner:
    """Calls LFs on rows, here or in another process."""

    lfs: Sequence[Any]  # the LFs: anything that has a name and can be called
    tolerant: bool  # whether a failure counts as an abstention instead of an error
    faults: Counter[str] = field(default_factory=Counter)  # how often each LF failed

    def vote(self, rows: Iterable[Any], advance: Advance = lambda rows: None) -> VotesArray:
        """Return the votes on rows, a chunk at a time. -> (n, m)."""
        calls, rest, n = [self._caller(lf) for lf in self.lfs], iter(rows), 0
        parts = [np.empty((0, len(self.lfs)), np.int_)]
        while values := self._call(calls, itertools.islice(rest, CHUNK), n):
            parts.append(self._read(values, n))
            n += len(parts[-1])
            advance(len(parts[-1]))
        return np.concatenate(parts)

    def _caller(self, lf: Any) -> Callable[[Any], Any]:
        ours = isinstance(lf, lf_part.LabelingFunction) and not getattr(lf, "needs_series", False)
        call = lf.row_function() if ours else partial(_call_on_series, lf)
        return partial(self._try, lf.name, call) if self.tolerant else call

    def _try(self, name: str, call: Callable[[Any], Any], x: Any) -> Any:
        try:
            return call(x)
        except Exception:
            self.faults[name] += 1
            return ABSTAIN

    def _call(self, calls: Sequence[Callable[[Any], Any]], rows: Iterable[Any], start: int) -> list[Any]:
        """Call all LFs row by row. -> n * m."""
        values: list[Any] = []
        try:
            for x in rows:
                for call in calls:
                    values.append(call(x))  # its length shows where an LF failed
        except Exception as error:
            error.add_note(self._locate(start, len(values)))
            raise
        return values

    def _locate(self, start: int, number: int) -> str:
        row, j = divmod(number, len(self.lfs))
        return f"LF '{self.lfs[j].name}' on row {start + row}"

    def _read(self, values: list[Any], start: int) -> VotesArray:
        """Turn return values into class numbers: below 0 is -1, fractions are cut off. n * m -> (n, m)."""
        votes = np.array(values)
        if votes.ndim != 1 or votes.dtype.kind not in "biuf":
            votes = np.array([self._read_one(value, start, i) for i, value in enumerate(values)])
        return np.where(votes >= 0, votes, ABSTAIN).astype(np.int_).reshape(-1, len(self.lfs))

    def _read_one(self, value: Any, start: int, number: int) -> int:
        try:
            return int(value) if value >= 0 else ABSTAIN
        except (TypeError, ValueError):
            raise TypeError(
                f"{self._locate(start, number)} returned {show(value)}; expected a class number, or -1 to abstain"
            ) from None


def _call_on_series(lf: Callable[[Any], Any], x: Any) -> Any:
    """Call a function that may need a real Series."""
    return lf(x.to_series() if isinstance(x, SeriesRow) else x)


class BaseLFApplier:
    """Base class of appliers; each LF has its own name."""

    def __init__(self, lfs: Sequence[Any]) -> None:
        names = names_of(lfs)
        if not names:
            raise ParameterError("lfs is empty; expected at least one labeling function")
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise ParameterError(f"lfs has {times} LFs named '{name}'; give each its own name")
        self._lfs, self._lf_names = list(lfs), names

    def __repr__(self) -> str:
        return f"{type(self).__name__}, LFs: {self._lf_names}"

    def _run(self, rows: Iterable[Any], n: int, progress_bar: bool, fault_tolerant: bool, return_meta: bool) -> Any:
        runner = Runner(self._lfs, fault_tolerant)
        shown = progress_bar and importlib.util.find_spec("rich") is not None  # the default must not need a package
        with show_progress(n, shown) as advance:
            votes = runner.vote(rows, advance)
        return (votes, ApplierMetadata(runner.faults)) if return_meta else votes


class LFApplier(BaseLFApplier):
    """Applies LFs to a list of data points or a NumPy array.

    >>> lf = lf_part.LabelingFunction("big", lambda x: 1 if x[0] > 42 else 0)
    >>> LFApplier([lf]).apply(np.array([[10], [100]]), progress_bar=False).tolist()
    [[0], [1]]
    """

    def apply(
        self,
        data_points: Iterable[Any],
        progress_bar: bool = True,
        fault_tolerant: bool = False,
        return_meta: bool = False,
    ) -> Any:
        """Return the votes, (n, m); with `return_meta` also an `ApplierMetadata`.

        Args:
            data_points: The data points.
            progress_bar: Whether to show a progress bar.
            fault_tolerant: Whether an LF that fails abstains.
            return_meta: Whether to return how often each LF failed as well.
        """
        points = list(data_points)
        return self._run(points, len(points), progress_bar, fault_tolerant, return_meta)


class PandasLFApplier(BaseLFApplier):
    """Applies LFs to the rows of a pandas frame; a row behaves like a pandas Series.

    >>> import pandas as pd
    >>> lf = lf_part.LabelingFunction("big", lambda x: 1 if x.num > 42 else 0)
    >>> PandasLFApplier([lf]).apply(pd.DataFrame({"num": [10, 100]}), progress_bar=False).tolist()
    [[0], [1]]
    """

    def apply(self, df: Any, progress_bar: bool = True, fault_tolerant: bool = False, return_meta: bool = False) -> Any:
        """Return the votes on the rows of a frame; the other arguments are those of `LFApplier.apply`. -> (n, m)."""
        return self._run(iter_rows(df), len(df), progress_bar, fault_tolerant, return_meta)


class DaskLFApplier(BaseLFApplier):
    """Applies LFs to the rows of a Dask frame, one partition at a time; a row behaves like a pandas Series."""

    def apply(self, df: Any, scheduler: Any = "processes", fault_tolerant: bool = False) -> VotesArray:
        """Return the votes. -> (n, m).

        Args:
            df: The frame.
            scheduler: A scheduler of Dask by its name, or a `Client`.
            fault_tolerant: Whether an LF that fails abstains.
        """
        require("dask.dataframe", extra="dask")
        from dask.base import compute
        from dask.delayed import delayed

        vote = delayed(partial(_vote_on_frame, Runner(self._lfs, fault_tolerant)), pure=False)
        parts = compute(*map(vote, df.to_delayed()), scheduler=scheduler)  # type: ignore[no-untyped-call]
        return np.concatenate(parts)


class PandasParallelLFApplier(DaskLFApplier):
    """Applies LFs to the rows of a pandas frame, in several processes with Dask; a row behaves like a pandas Series."""

    def apply(  # type: ignore[override]
        self, df: Any, n_parallel: int = 2, scheduler: Any = "processes", fault_tolerant: bool = False
    ) -> VotesArray:
        """Return the votes on a frame in `n_parallel` parts, at least 2; see `DaskLFApplier.apply`. -> (n, m)."""
        if n_parallel < 2:
            raise ParameterError(f"n_parallel is {n_parallel}; expected at least 2. PandasLFApplier is for one process")
        require("dask.dataframe", extra="dask")
        from dask import dataframe

        parts = dataframe.from_pandas(df, npartitions=n_parallel, sort=False)  # type: ignore[no-untyped-call]
        return super().apply(parts, scheduler=scheduler, fault_tolerant=fault_tolerant)


class SparkLFApplier(BaseLFApplier):
    """Applies LFs to the rows of a Spark RDD."""

    def apply(self, data_points: Any, fault_tolerant: bool = False) -> VotesArray:
        """Return the votes on an RDD; an LF that fails abstains if `fault_tolerant`. -> (n, m)."""
        runner = Runner(self._lfs, fault_tolerant)
        parts = data_points.mapPartitions(partial(_vote_on_rows, runner)).collect()
        return np.concatenate(parts)


def _vote_on_frame(runner: Runner, frame: Any) -> VotesArray:
    return runner.vote(iter_rows(frame))


def _vote_on_rows(runner: Runner, rows: Iterator[Any]) -> list[VotesArray]:
    return [runner.vote(rows)]
