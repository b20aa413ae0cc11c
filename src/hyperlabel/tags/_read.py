"""Votes for tags: sets in cells, a column of yes and no per LF and tag, or a long table.

All become one (n, t, m) array: of item, tag and LF, 1 for yes, 0 for no, -1 for nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import check_choice, show, show_some
from hyperlabel.data import Identity, Origin, choose_columns, identify_data, open_table, read_table
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes

SILENCES = ("no", "abstain")
BETWEEN = ";"
"""Separates the tags of a text cell."""

OF = ":"
"""Separates LF and tag in the name of a column of yes and no."""

_YES, _NO = {"yes", "true", "1", "1.0", "y", "t"}, {"no", "false", "0", "0.0", "n", "f"}
_NOTHING = {"", "na", "n/a", "nan", "none", "null", "abstain", "-", "-1", "-1.0"}
_MARKS = {1: 1, 0: 0, None: -1}

Marked = tuple[int, str, str, int | None]
"""Item, LF, tag, and 1 for yes, 0 for no, None for nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class TagVotes:
    """Votes of LFs for tags.

    Attributes:
        cells: (n, t, m) 1 where an LF votes for a tag of an item, 0 against it, -1 where it says nothing.
        tags: The tags, sorted unless they are stated.
        lf_names: The LFs.
        identity: The items.
        silence: What it means that an LF does not name a tag that it knows: `no`, or `abstain`.
    """

    cells: NDArray[np.int8]
    tags: tuple[str, ...]
    lf_names: tuple[str, ...]
    identity: Identity
    silence: str

    def __repr__(self) -> str:
        n, t, m = self.cells.shape
        return f"TagVotes({n:,} items, {t:,} tags, {m:,} LFs; silence means {self.silence})"


def read_tags(
    votes: Any,
    *,
    tags: Sequence[str] | None = None,
    silence: str | None = None,
    long: Sequence[str] | None = None,
    lfs: Sequence[str] | None = None,
) -> TagVotes:
    """Read votes for tags; see `label_tags` for the arguments.

    >>> read_tags({"a": [{"x", "y"}, ["x"], None]})
    TagVotes(3 items, 2 tags, 1 LFs; silence means no)
    """
    if silence is not None:
        check_choice(silence, "silence", SILENCES)
    columns, identity = _read_columns(votes)
    if long is not None:
        marked, names, identity, explicit = _read_long(columns, long)
    else:
        names = list(choose_columns(list(columns), lfs))
        explicit = all(OF in name for name in names)
        marked = [*(_read_yes_no(columns, names) if explicit else _read_sets(columns, names))]
        names = list(dict.fromkeys(name.partition(OF)[0] for name in names)) if explicit else names
    named = sorted({tag for _, _, tag, _ in marked} - {""})
    chosen = tuple(named if tags is None else tags)
    _check_tags(named, chosen)
    meaning = silence or ("abstain" if explicit else "no")
    cells = _fill(marked, chosen, names, identity.n)
    if meaning == "no":
        _fill_silence(cells, marked, names)
    if not (cells == 0).any():
        warn_of_votes([
            "no vote is against a tag, so every tag that is voted for is taken; give votes against tags, or let LFs "
            'that know several tags vote against those they do not name: silence="no"'
        ])  # fmt: skip
    return TagVotes(cells, chosen, tuple(names), identity, meaning)


def _read_columns(votes: Any) -> tuple[dict[str, Sequence[Any]], Identity]:
    """Return the columns of a table, and its items."""
    if isinstance(votes, Mapping):
        columns: dict[str, Sequence[Any]] = {str(name): list(column) for name, column in votes.items()}
        sizes = {len(column) for column in columns.values()} or {0}
        if len(sizes) != 1:
            raise VotesError(f"votes has columns of {show_some(sorted(sizes))} items; expected one length")
        return columns, Identity(sizes.pop(), None, Origin())
    frame = read_table(votes) if isinstance(votes, str | Path) else votes
    table = open_table(frame)
    ids, origin = identify_data(frame)
    return {name: table.values(name) for name in table.names}, Identity(table.n_rows, ids, origin)


def _read_sets(columns: Mapping[str, Sequence[Any]], names: Iterable[str]) -> Iterator[Marked]:
    """Yield one mark for each tag in a cell; a cell without tags that is no abstention has the tag ''."""
    for name in names:
        for item, cell in enumerate(columns[name]):
            tags = parse_tags(cell, f"the vote of LF '{name}' on item {item}")
            for tag in tags or ():
                yield item, name, tag, 1
            if tags == []:
                yield item, name, "", 0


def parse_tags(cell: Any, place: str) -> list[str] | None:
    """Return the tags of a cell; None if it abstains."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return None
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in _NOTHING:
            return None
        cell = json.loads(text) if _is_json_list(text) else [each.strip() for each in text.split(BETWEEN)]
    if isinstance(cell, Mapping) or not isinstance(cell, Iterable):
        raise VotesError(f"{place} is {show(cell)}; expected a set or list of tags, a text such as 'a; b', or null")
    tags = [each.item() if isinstance(each, np.generic) else each for each in cell]
    invalid = [each for each in tags if not isinstance(each, str | int) or each == ""]
    if invalid:
        raise VotesError(f"{place} has the tag {show(invalid[0])}; expected a name")
    return sorted({str(each) for each in tags})


def _is_json_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def _read_yes_no(columns: Mapping[str, Sequence[Any]], names: Iterable[str]) -> Iterator[Marked]:
    for name in names:
        lf, _, tag = name.partition(OF)
        for item, cell in enumerate(columns[name]):
            yield item, lf, tag, _yes_or_no(cell, f"column {name!r}, item {item}")


def _yes_or_no(cell: Any, place: str) -> int | None:
    text = "" if cell is None else str(cell).strip().lower()
    if text in _NOTHING:
        return None
    if text not in _YES | _NO:
        raise VotesError(f"{place} is {show(cell)}; expected yes or no (true, false, 1, 0), or null")
    return int(text in _YES)


def _read_long(
    columns: Mapping[str, Sequence[Any]], long: Sequence[str]
) -> tuple[list[Marked], list[str], Identity, bool]:
    """Read one row per item, LF and tag, or set of tags; without a column of yes and no every row is a yes."""
    if len(long) not in (3, 4) or isinstance(long, str):
        raise ParameterError(
            f"long is {show(long)}; expected the columns of item, LF and tag, and perhaps of yes and no"
        )
    missing = next((name for name in long if name not in columns), None)
    if missing is not None:
        raise ParameterError(f"long names the column {missing!r}; the columns are {show_some(list(columns))}")
    items = dict[Any, int]()
    yes: Sequence[Any] = columns[long[3]] if len(long) == 4 else ["yes"] * len(columns[long[0]])
    marked, seen = list[Marked](), dict[tuple[int, str, str], int | None]()
    for row, (item, lf, cell, says) in enumerate(zip(*(columns[name] for name in long[:3]), yes, strict=True)):
        number = items.setdefault(item, len(items))
        tags = [str(cell)] if isinstance(cell, int | np.integer) else parse_tags(cell, f"column {long[2]!r}, row {row}")
        for tag in tags or [""]:
            vote = _yes_or_no(says, f"column {long[-1]!r}, row {row}") if tag else 0
            if seen.setdefault((number, str(lf), tag), vote) != vote:
                raise VotesError(
                    f"row {row}: LF {lf!r} votes both yes and no on tag {tag!r} of item {item!r}; keep one"
                )
            marked.append((number, str(lf), tag, vote))
    ids = np.empty(len(items), object)
    ids[:] = list(items)
    names = sorted({lf for _, lf, _, _ in marked})
    return marked, names, Identity(len(items), ids, Origin()), len(long) == 4


def _check_tags(named: Sequence[str], chosen: Sequence[str]) -> None:
    if not any(named) and not chosen:
        raise VotesError("votes name no tag; expected sets or lists of tags in the columns of LFs")
    other = sorted(set(named) - {""} - set(chosen))
    if other:
        raise VotesError(f"votes has the tag {other[0]!r}; expected one of {show_some(chosen)}. State it in tags")


def _fill(marked: Sequence[Marked], tags: Sequence[str], lfs: Sequence[str], n: int) -> NDArray[np.int8]:
    cells = np.full((n, len(tags), len(lfs)), -1, np.int8)
    tag_of, lf_of = ({name: i for i, name in enumerate(names)} for names in (tags, lfs))
    rows = [(item, tag_of[tag], lf_of[lf], _MARKS[vote]) for item, lf, tag, vote in marked if tag]
    if rows:
        item, tag, lf, vote = np.array(rows).T
        cells[item, tag, lf] = vote
    return cells


def _fill_silence(cells: NDArray[np.int8], marked: Sequence[Marked], lfs: Sequence[str]) -> None:
    """Let an LF that speaks about an item vote against the tags that it knows and does not name there."""
    spoke = np.zeros((len(cells), len(lfs)), bool)
    number = {name: i for i, name in enumerate(lfs)}
    for item, lf, _, vote in marked:
        spoke[item, number[lf]] |= vote is not None
    knows = (cells == 1).any(0)  # (t, m)
    cells[(cells < 0) & spoke[:, None, :] & knows] = 0


def read_true_tags(frame: Any, column: str) -> dict[Any, list[str]]:
    """Return a mapping from item to the tags in a column of a frame, without items whose cell is null.

    >>> import pandas as pd
    >>> read_true_tags(pd.DataFrame({"gold": ["a; b", None]}), "gold")
    {0: ['a', 'b']}
    """
    table, (ids, _) = open_table(frame), identify_data(frame)
    names = range(table.n_rows) if ids is None else ids.tolist()
    cells = [parse_tags(cell, f"column {column!r}, item {item}") for item, cell in enumerate(table.values(column))]
    return {name: tags for name, tags in zip(names, cells, strict=True) if tags is not None}
