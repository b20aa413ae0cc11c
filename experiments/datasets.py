"""Real votes with truth: npz files with an `anchors.json` beside them, or folders of the WRENCH benchmark.

Flows in: a folder. Flows out: one `DataSet` a set, without the items nobody votes on and the LFs that never vote,
its splits one after the other in one matrix, as in the paper.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.paper import F1_SETS
from hyperlabel._core import Metric
from hyperlabel.data import SPLITS, WrenchData, read_wrench
from hyperlabel.errors import ParameterError, VotesError

Ints = NDArray[np.int64]

FAMILIES = ("wrench", "crowd", "panel", "other")
"""Labeling functions; people; dense panels of judges; and what later work added."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Votes and truth of one set."""

    name: str
    family: str  # one of `FAMILIES`, or what its anchors say
    metric: Metric  # what its labels are scored by
    k: int  # number of classes
    votes: Ints  # (n, m) class numbers, -1 abstains
    truth: Ints  # (n,) class numbers, -1 unknown
    split: NDArray[np.str_] | None  # (n,) `train`, `valid` or `test`; None where there is no split
    rows: Ints  # (n,) the row of each item in the source, where nothing has been dropped
    # A jsonl file with one line per row of the source, or a WRENCH folder; None where there are only votes.
    raw: Path | None = None

    def read_raw(self) -> list[dict[str, Any]]:
        """What is known of each item besides votes, as a text or features. -> n records."""
        if self.raw is None:
            raise VotesError(f"data set '{self.name}' has votes and truth only; there is no raw data to read")
        records: list[dict[str, Any]]
        if self.raw.is_dir():
            records = read_wrench(self.raw).records
        else:
            records = [json.loads(line) for line in self.raw.read_text(encoding="utf-8").splitlines()]
        return [records[row] for row in self.rows]


def load_datasets(folder: Path, names: Sequence[str] | None = None, as_released: bool = False) -> list[DataSet]:
    """The sets of a folder.

    Args:
        folder: Holds npz files (arrays `L`, `y`, and maybe `split` and `hlm_idx`) and maybe `anchors.json`, or one
            WRENCH folder a set, or is one.
        names: Only these, in this order.
        as_released: Only the rows that the authors' loader keeps: it merges the splits by item id, so that rows of
            later splits overwrite those of earlier ones.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "tiny.npz"), L=[[0, 1, -1], [-1, -1, -1]], y=[1, 0])
    ...     [tiny] = load_datasets(Path(folder))
    >>> tiny.votes.tolist(), tiny.truth.tolist(), tiny.metric
    ([[0, 1]], [1], 'accuracy')
    """
    readers = _find_sets(Path(folder))
    chosen = list(readers) if names is None else list(names)
    for name in chosen:
        if name not in readers:
            raise ParameterError(f"'{folder}' has no data set '{name}'; it has {', '.join(readers)}")
    return [readers[name](as_released) for name in chosen]


def by_family(sets: Sequence[DataSet], values: Sequence[float]) -> list[float]:
    """Means over the sets of each of `FAMILIES`, then over all sets; NaN for a family without sets."""
    found = np.array(values, np.float64)
    of = [np.array([each.family == family for each in sets]) for family in FAMILIES] + [np.ones(len(sets), bool)]
    return [float(found[which].mean()) if which.any() else float("nan") for which in of]


def _find_sets(folder: Path) -> dict[str, Callable[[bool], DataSet]]:
    """What reads each set, by its name; sets with anchors first, in their order."""
    anchors = _read_anchors(folder)
    arrays = {path.stem: path for path in sorted(folder.glob("*.npz"))}
    wrench = {path.name: path for path in sorted(_wrench_folders(folder))}
    known = [name for name in anchors if name in arrays or name in wrench]
    names = list(dict.fromkeys([*known, *arrays, *wrench]))
    if not names:
        raise ParameterError(
            f"'{folder}' has no data sets; expected npz files with the arrays 'L' and 'y', or WRENCH folders"
        )

    def reader(name: str) -> Callable[[bool], DataSet]:
        anchor = anchors.get(name, {})
        if name in arrays:
            return lambda as_released: _read_arrays(arrays[name], anchor, as_released)
        return lambda as_released: _read_folder(wrench[name], anchor, as_released)

    return {name: reader(name) for name in names}


def _read_anchors(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / "anchors.json"
    anchors: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return anchors


def _wrench_folders(folder: Path) -> set[Path]:
    return {path.parent for split in SPLITS for depth in ("", "*/") for path in folder.glob(f"{depth}{split}.json")}


def _read_arrays(path: Path, anchor: dict[str, Any], as_released: bool) -> DataSet:
    with np.load(path) as file:
        data = dict(file)
    if not data.keys() >= {"L", "y"}:
        raise VotesError(f"'{path}' holds {', '.join(data)}; expected the votes 'L' and the truth 'y'")
    votes, truth = data["L"].astype(np.int64), data["y"].astype(np.int64)
    split = np.array(SPLITS)[data["split"]] if "split" in data else None
    kept = data["hlm_idx"].astype(np.int64) if as_released and "hlm_idx" in data else np.arange(len(votes))
    places = (path.parent / "raw" / f"{path.stem}.jsonl", path.with_suffix(".jsonl"))
    return _make(path.stem, anchor, votes, truth, split, kept, next(filter(Path.exists, places), None))


def _read_folder(folder: Path, anchor: dict[str, Any], as_released: bool) -> DataSet:
    data = read_wrench(folder)
    votes = np.full((data.votes.n_items, data.votes.n_lfs), -1, np.int64)
    rows = data.votes.rows
    votes[np.repeat(np.arange(len(votes)), np.diff(rows.starts)), rows.lf] = rows.vote
    kept = _last_of_each_id(data) if as_released else np.arange(len(votes))
    anchor = {"family": "wrench", "k": data.votes.n_classes, **anchor}
    return _make(folder.name, anchor, votes, data.truth, data.split, kept, folder)


def _last_of_each_id(data: WrenchData) -> Ints:
    """Rows by the first appearance of their item's id, each the last row that has it. -> (kept,)."""
    names = [str(item).partition("/")[2] for item in np.asarray(data.votes.items)]  # from `<split>/<id>`
    return np.array(list({name: row for row, name in enumerate(names)}.values()), np.int64)


def _make(
    name: str,
    anchor: dict[str, Any],
    votes: Ints,
    truth: Ints,
    split: NDArray[np.str_] | None,
    kept: Ints,
    raw: Path | None,
) -> DataSet:
    """A set without the rows that are not kept, the items nobody votes on and the LFs that never vote."""
    kept = kept[(votes[kept] >= 0).any(1)]
    votes = votes[kept]
    metric: Metric = "f1" if anchor.get("metric", "f1" if name in F1_SETS else "acc") == "f1" else "accuracy"
    return DataSet(
        name=name,
        family=anchor.get("family", "other"),
        metric=metric,
        k=anchor.get("k", 1 + int(max(votes.max(initial=0), truth.max(initial=0)))),
        votes=votes[:, (votes >= 0).any(0)],
        truth=truth[kept],
        split=None if split is None else split[kept],
        rows=kept,
        raw=raw,
    )
