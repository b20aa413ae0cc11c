"""Folders in the format of the WRENCH benchmark: train.json, valid.json and test.json."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import VotesError
from hyperlabel.shown import printable, show
from hyperlabel.votes.classes import state_classes
from hyperlabel.votes.votes import Votes

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False)
class WrenchData:
    """A WRENCH data set, its splits one after another."""

    votes: Votes  # the votes; items are named `<split>/<id>`
    truth: NDArray[np.int64]  # (n,) class numbers, -1 where unknown
    split: NDArray[np.str_]  # (n,) the split of each item
    records: list[dict[str, Any]]  # (n,) the data of each item, as in the files


def is_wrench(folder: Path) -> bool:
    """Whether a folder has a split of a WRENCH data set."""
    return any((folder / f"{split}.json").exists() for split in SPLITS)


def read_wrench(
    folder: str | Path,
    *,
    lfs: Sequence[str] | None = None,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
) -> WrenchData:
    """Read a folder in the format of the WRENCH benchmark; missing splits are left out.

    Class names come from `classes`, or from label.json if it exists.

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
    names = state_classes(n_classes, _read_classes(folder) if classes is None else classes)
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
        raise VotesError(f"{where} has no list 'weak_labels'; expected one vote per LF")
    if len(weak) != len(first["weak_labels"]):
        raise VotesError(f"{where} has {len(weak)} votes, the first item has {len(first['weak_labels'])}; add -1s?")
    odd = [vote for vote in weak if not (isinstance(vote, int | float) and -1 <= vote < 1 << 53 and vote == int(vote))]
    if odd:
        raise VotesError(f"{where} votes {show(odd[0])}; expected class numbers, -1 to abstain")


def _read_classes(folder: Path) -> list[Hashable] | None:
    """Class names from label.json, if it exists."""
    path = folder / "label.json"
    if not path.exists():
        return None
    names = _read_json(path)
    if set(names) != set(map(str, range(len(names)))) or len(set(map(str, names.values()))) != len(names):
        raise VotesError(f"'{path}' holds {show(names, 80)}; expected a different name for each of '0', '1', ...")
    return [names[str(number)] for number in range(len(names))]


def _read_json(path: Path) -> dict[str, Any]:
    """An object from a JSON file; what only Python could read is refused."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, object_pairs_hook=_each_once)
        if "\\ud" in text.lower():
            json.dumps(content, ensure_ascii=False).encode()  # raises at half a pair of surrogates
    except UnicodeEncodeError as error:
        raise VotesError(f"'{path}' has half a character, {error.object[error.start]!r}; write it again") from error
    except RecursionError as error:
        raise VotesError(f"'{path}' is nested too deep; expected one object per item") from error
    except (ValueError, OSError) as error:
        raise VotesError(f"'{path}' cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise VotesError(
            f"'{path}' holds JSON of type {type(content).__name__}; expected an object with one entry per item"
        )
    return content


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"'{printable(twice)}' occurs twice; expected each item once")
    return content
