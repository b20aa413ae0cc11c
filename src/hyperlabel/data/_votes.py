"""Votes: the only place that checks and encodes what users give.

Flows in: arrays, nested lists, frames, records, scipy.sparse matrices, wide or long. Flows out: class numbers 0..k-1
for n items and m LFs, dense or sparse, with the names of classes, LFs and items. All other code trusts them.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show, show_some
from hyperlabel.data._classes import (
    ABSTAIN,
    FEW_ROWS,
    Classes,
    complete_classes,
    encode_column,
    join_classes,
    missing_classes,
    number_classes,
    smallest_type,
    state_classes,
    unify_labels,
    warn_of_classes,
    warn_of_few,
)
from hyperlabel.data._columns import may_be_votes
from hyperlabel.data._encode import count_votes, encode_long, encode_wide
from hyperlabel.data._frames import holds_columns
from hyperlabel.data._outcomes import Outcomes, renumber_votes
from hyperlabel.data._rows import Rows, check_array, check_sparse, first_index
from hyperlabel.data._scores import check_cuts, check_scale, check_scores, cut_scores, open_scores, to_levels
from hyperlabel.data._values import is_sparse
from hyperlabel.data._vote_frame import VoteFrame, join_names, match_lfs, name_lfs
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes


class Votes(VoteFrame):
    """The votes of m LFs on n items; behaves like a frame with one column per LF.

    `Votes(data)` reads an array, nested lists, a frame, a list of records, a scipy.sparse matrix, a file, or other
    votes; `from_array`, `from_frame`, `from_sparse` and `hyperlabel.read_votes` have more options, and `from_long` and
    `from_scores` read other tables.

    Args:
        data: The votes.
        n_classes: Number of classes; inferred if not given.
        classes: The classes; inferred if not given.
        lfs: The columns of a table that are LFs, as names or patterns such as `lf_*`; otherwise the names of the LFs.

    The attributes are those of `VoteFrame`.

    >>> votes = Votes([[0, 1], [1, -1], [1, 1]], lfs=["links", "short"])
    >>> votes.shape, votes["short"].tolist(), votes[1:].to_numpy().tolist()
    ((3, 2), [1, -1, 1], [[1, -1], [1, 1]])
    """

    read_file: ClassVar[Callable[..., "Votes"]]  # `hyperlabel.read_votes`, which is built on this class

    def __init__(
        self,
        data: object,
        *,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        lfs: Sequence[str] | None = None,
    ) -> None:
        is_file = isinstance(data, str | Path)
        votes = (Votes.read_file if is_file else to_votes)(data, n_classes=n_classes, classes=classes, lfs=lfs)
        if lfs is not None and not is_file and not holds_columns(data):
            votes = votes.with_parts(lf_names=name_lfs(lfs, votes.n_lfs), named=True)
        vars(self).update(vars(votes))

    # Reading.

    @classmethod
    def from_array(
        cls,
        array: object,
        *,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        lfs: Sequence[str] | None = None,
    ) -> Self:
        """Votes from an array or nested lists of integers: -1 abstains, 0..k-1 are classes.

        Args:
            array: (n, m) integers, booleans, or floats that are whole numbers.
            n_classes: Number of classes; inferred from the largest vote, at least 2, if not given.
            classes: Names of the classes, in the order of their numbers.
            lfs: Names of the LFs.

        >>> Votes.from_array([[0, 1, -1], [1, -1, 1]]).n_classes
        2
        """
        cells = check_array(array)
        high = int(cells.max())
        names, stated = number_classes(high, n_classes, classes, lambda: f"votes{first_index(cells == high)} is {high}")
        is_binary = high == 1 and ((cells[:FEW_ROWS] == 0).any() or (cells == 0).any())
        if not stated and len(cells) >= FEW_ROWS and not is_binary:  # about 0 and 1 there is nothing to say
            warn_of_votes(warn_of_classes(_count_classes(cells, high)) if high >= 0 else warn_of_few({}))
        signed = cells.astype(np.int64) if cells.dtype == np.uint64 else cells
        return cls.from_parts(names, name_lfs(lfs, cells.shape[1]), signed, stated=stated, named=lfs is not None)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        lfs: Sequence[str] | None = None,
        item: str | None = None,
        others: Collection[str] = (),
        abstain: Sequence[Any] | None = None,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        strict: bool = False,
        written: bool = False,
    ) -> Self:
        """Votes from a wide table: one row per item, one column per LF.

        Args:
            frame: A pandas or Polars frame, a pyarrow Table, a Hugging Face Dataset, or a list of records. Whole
                numbers are class numbers; strings and booleans are class names.
            lfs: Columns that are LFs, as names or patterns such as `lf_*`. By default all except those whose names say
                otherwise (`hyperlabel.data._columns`); a column that cannot be votes is refused.
            item: The column of the items' identifiers; one named `id`, `item` or the like if not given, or else the
                index of a pandas frame.
            others: Columns that are known to be something else, such as gold.
            abstain: Values that abstain, besides null, NaN and blank; -1 and strings such as NA, None, null, abstain
                and - if not given.
            n_classes: Number of classes; inferred if not given.
            classes: The classes, in the order of their probabilities; inferred if not given (strings in
                alphabetical order, at most 10,000).
            strict: Whether warnings are errors.
            written: Whether strings were read from a csv, where `NA` may stand among numbers.

        Raises:
            VotesError: A column cannot be votes, or a value is not a class.

        >>> import pandas as pd
        >>> votes = Votes.from_frame(pd.DataFrame({"id": [7, 8], "a": ["spam", None], "b": ["spam", "ham"]}))
        >>> votes.classes, votes.cells.tolist(), votes.items.tolist()
        (('ham', 'spam'), [[1, 1], [-1, 0]], [7, 8])
        """
        parts = encode_wide(
            frame,
            lfs=lfs,
            item=item,
            others=others,
            abstain=abstain,
            n_classes=n_classes,
            classes=classes,
            written=written,
        )
        warn_of_votes(parts["origin"].columns.warnings, strict=strict)
        return cls.from_parts(**parts)

    @classmethod
    def from_long(
        cls,
        frame: object,
        *,
        item: str,
        lf: str,
        vote: str,
        abstain: Sequence[Any] | None = None,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        strict: bool = False,
        written: bool = False,
    ) -> Self:
        """Votes from a long table: one row per vote, as crowdsourcing tools write them.

        Items are in order of first appearance; `items` holds their identifiers. A row without a vote keeps its item
        and adds nothing.

        Args:
            frame: The table, as for `from_frame`.
            item: Column of the item.
            lf: Column of the LF or person.
            vote: Column of the vote.
            abstain: Values that abstain, as for `from_frame`.
            n_classes: Number of classes; inferred if not given.
            classes: The classes; inferred if not given.
            strict: Whether warnings are errors.
            written: Whether strings were read from a csv, where `NA` may stand among numbers.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"task": [7, 7, 3], "worker": ["a", "b", "a"], "label": ["x", "y", "y"]})
        >>> votes = Votes.from_long(frame, item="task", lf="worker", vote="label")
        >>> votes.items.tolist(), votes.lf_names, votes.n_classes
        ([7, 3], ('a', 'b'), 2)
        """
        parts, warnings = encode_long(frame, (item, lf, vote), abstain, n_classes, classes, written)
        warn_of_votes(warnings, strict=strict)
        return cls.from_parts(**parts)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        *,
        classes: Sequence[Hashable],
        lfs: Sequence[str] | None = None,
        item: str | None = None,
        levels: int | Sequence[float] | None = None,
        scale: tuple[float, float] | None = None,
        direction: str | Mapping[str, str] | None = None,
        like: "Votes | Outcomes | None" = None,
    ) -> Self:
        """Votes from scores: the higher a number, the more it favors later classes.

        The scores of each LF are cut into levels, see `hyperlabel.data._scores`. A cell without a number abstains.

        Args:
            scores: (n, m) floats, NaN for none; or a frame with one column per LF.
            classes: Two classes; or more, in their order from low scores to high ones: neighbors share a level.
            lfs: The columns of a frame that hold scores, as names or patterns; else all numeric ones that are not
                named as identifiers, gold and the like. For an array, the names of the LFs.
            item: Column of the identifiers.
            levels: Number of levels, or the bounds between them, the same for all LFs. By default, up to 12 different
                scores of an LF are levels themselves; otherwise there are from 4 to 10, with 50 scores or more each.
            scale: The least and the largest score that any LF may give, if it is the same for all; found if all lie
                from 0 to 1.
            direction: `up` or `down`, for all LFs or by LF; estimated if not given, most LFs point up.
            like: Votes from scores that were cut before: the same levels and classes are used.

        >>> votes = Votes.from_scores(np.array([[0.1, 0.3], [0.9, np.nan], [0.8, 0.6]]), classes=["bad", "good"])
        >>> votes["lf1"].tolist()
        ['level 1 of 3 (1 low)', None, 'level 3 of 3 (1 low)']
        """
        stated = state_classes(None, classes)
        if stated is None or len(stated) < 2:
            raise ParameterError(f"classes is {show(classes)}; expected two classes or more, in the order of scores")
        parts: dict[str, Any] = {"stated": True, "named": lfs is not None or not isinstance(scores, np.ndarray)}
        if isinstance(scores, np.ndarray):
            values, names = check_scores(scores), name_lfs(lfs, np.shape(scores)[-1])
        else:
            parts["items"], parts["origin"], names, values = open_scores(scores, lfs, item)
        if like is None:
            outcomes = cut_scores(values, names, len(stated), levels, check_scale(scale, values), direction)
        else:
            if isinstance(like, Votes) and like.classes != stated:
                raise ParameterError(
                    f"like has the classes {show_some(like.classes)} but classes is [{show_some(stated)}]; expected "
                    "the same in the same order"
                )
            outcomes = check_cuts(like.outcomes if isinstance(like, Votes) else like, names, len(stated))
        return cls.from_parts(stated, names, to_levels(values, names, outcomes), outcomes=outcomes, **parts)

    @classmethod
    def from_sparse(
        cls,
        matrix: Any,
        *,
        n_classes: int | None = None,
        classes: Sequence[Hashable] | None = None,
        lfs: Sequence[str] | None = None,
    ) -> Self:
        """Votes from a scipy.sparse matrix: a stored v is class v - 1, nothing stored abstains.

        >>> import scipy.sparse
        >>> Votes.from_sparse(scipy.sparse.csr_array([[1, 0, 2], [0, 0, 1]])).rows.vote.tolist()
        [0, 1, 0]
        """
        (n, m), row, column, vote = check_sparse(matrix)
        high = int(vote.max(initial=0))

        def describe() -> str:
            first = int((vote == high).argmax())
            return f"votes[{row[first]}, {column[first]}] stores {high + 1}, which is class {high}"

        names, stated = number_classes(high, n_classes, classes, describe)
        rows = Rows.from_triples(row, column, vote, n)
        if not stated and n >= FEW_ROWS:
            counts = count_votes(rows, tuple(map(str, range(m))), names)
            warn_of_votes(warn_of_classes(counts) if len(vote) else warn_of_few({}))
        return cls.from_parts(names, name_lfs(lfs, m), rows, stated=stated, named=lfs is not None)

    @classmethod
    def from_saved(cls, frame: object, header: dict[str, Any]) -> Self:
        """Votes from the frame and the header of a file that `save` wrote."""
        outcomes = Outcomes.from_header(header.get("outcomes"), len(header["classes"]))
        numbers = header["classes"] if outcomes is None else range(len(outcomes) + outcomes.n_classes)
        parts = encode_wide(frame, lfs=header["lfs"], item=header["item"], abstain=(), classes=list(numbers))
        parts |= {"classes": tuple(header["classes"]), "named": header["named"], "stated": header["stated"]}
        ids = None if header["item"] is None else parts["items"]
        return cls.from_parts(**(parts | {"items": ids, "outcomes": outcomes}))

    @classmethod
    def read_like(
        cls, frame: Any, names: Sequence[str], classes: Sequence[Hashable], outcomes: Outcomes, item: str | None = None
    ) -> "Votes":
        """Votes of LFs by name, a column each, some of which give scores that are cut as `outcomes` say."""
        scored = [name for name in names if name in outcomes.cuts]
        voting = [name for name in names if name not in outcomes.cuts]
        votes: Votes = cls.from_scores(frame, classes=classes, lfs=scored, item=item, like=outcomes)
        if voting:
            votes = votes.join(cls.from_frame(frame, lfs=voting, item=item, classes=classes))
        return votes.with_lfs(names)

    # Matching.

    def join(self, other: object) -> "Votes":
        """These votes and those of more LFs on the same items.

        Items are matched by identifier if both have them, otherwise by position. An item that only these votes have
        keeps its position; the new LFs abstain on it.

        >>> one = Votes([[0], [1]], lfs=["a"])
        >>> one.join(Votes([[1], [-1]], lfs=["b"])).to_numpy().tolist()
        [[0, 1], [1, -1]]
        """
        more = to_votes(other)
        names = join_names(self.lf_names, more.lf_names, renumber=not self.named and not more.named)
        classes = self.classes
        if self.stated:
            present = {(type(c), c) for c in classes}
            unknown = [i for i, c in enumerate(more.classes) if (type(c), c) not in present]
            more._check_unused(np.array(unknown, np.intp), classes)
        else:
            votes, others = len(self.rows.vote) > 0, len(more.rows.vote) > 0
            classes = join_classes(classes, more.classes, one_votes=votes, other_votes=others)
        numbers, outcomes = renumber_votes(self.classes, self.outcomes, classes)
        table, more_outcomes = renumber_votes(more.classes, more.outcomes, classes)
        if outcomes is None or more_outcomes is None:
            outcomes = more_outcomes if outcomes is None else outcomes
        else:
            outcomes, index = outcomes.merge(more_outcomes)
            table[more.n_classes :] = index + len(classes)
        one, two, positions = self.rows, more.rows, self.identity.find_items(more.identity)
        if positions is not None:
            two = two.concatenate(Rows.from_cells(np.full((1, 1), ABSTAIN))).take(positions)
        rows = Rows.from_triples(
            np.concatenate([one.row, two.row]),
            np.concatenate([one.lf, two.lf + self.n_lfs]),
            np.concatenate([numbers[one.vote], table[two.vote]]),
            self.n_items,
        )
        parts = {"classes": classes, "lf_names": names, "n_lfs": len(names), "outcomes": outcomes}
        joined = self.with_parts(cells=None, _rows=rows, named=self.named or more.named, **parts)
        return joined if self.cells is None else joined.with_parts(cells=joined.to_numpy(), _rows=None)

    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        """The same votes with the classes stated, which must hold every class that is voted for."""
        stated = state_classes(None, classes)
        if stated is None:
            raise ParameterError("classes is None; expected a list of classes")
        if stated[: self.n_classes] == self.classes and (self.outcomes is None or len(stated) == self.n_classes):
            return self.with_parts(classes=stated, stated=True)
        numbers, outcomes = renumber_votes(self.classes, self.outcomes, stated)
        self._check_unused(np.flatnonzero(numbers < 0), stated)
        changed = self.with_parts(classes=stated, stated=True, outcomes=outcomes)
        if self.cells is None:
            return changed.with_parts(_rows=Rows(self.rows.starts, self.rows.lf, numbers[self.rows.vote]))
        table = np.append(numbers, ABSTAIN).astype(smallest_type(int(numbers.max()) + 1))
        return changed.with_parts(cells=table[self.cells], _rows=None)

    def _check_unused(self, unknown: NDArray[np.intp], classes: Classes) -> None:
        """Refuse votes for some classes, since they are not among the stated ones."""
        wrong = np.flatnonzero(np.isin(self.rows.vote, unknown)) if len(unknown) else unknown
        if len(wrong):
            vote = self.classes[int(self.rows.vote[wrong[0]])]
            row = int(np.searchsorted(self.rows.starts, wrong[0], side="right")) - 1
            name = self.lf_names[int(self.rows.lf[wrong[0]])]
            raise VotesError(
                f"votes, item {row}: LF '{name}' votes {vote!r}; expected one of the classes {show_some(classes)}. "
                "Correct it, or state it in classes"
            )

    def with_lfs(self, names: Sequence[str]) -> Self:
        """The same votes with the LFs in the order of their names, which must be the same names."""
        wanted = tuple(names)
        return self if self.lf_names == wanted else self._take_lfs(match_lfs(self.lf_names, wanted))

    def add_lfs(self, names: Sequence[str]) -> Self:
        """The same votes, and an LF that abstains for each name that is new."""
        new = tuple(name for name in names if name not in set(self.lf_names))
        parts: dict[str, Any] = {"lf_names": self.lf_names + new, "n_lfs": self.n_lfs + len(new)}
        if self.cells is not None:
            silent = np.full((self.n_items, len(new)), ABSTAIN, self.cells.dtype)
            parts["cells"] = np.concatenate([self.cells, silent], axis=1)
        return self.with_parts(**parts) if new else self

    def with_labels(self, labels: object, name: str) -> tuple[Self, NDArray[np.int64]]:
        """Encode gold or truth; classes that only labels have are added, unless classes were stated.

        Args:
            labels: (n,) classes with -1, None or NaN for unknown; a pandas Series, matched by its index; or a mapping
                from item to class, where an item is its identifier if the votes have them and its index otherwise.
            name: What to call the labels in an error.

        Returns:
            The votes, perhaps with more classes, and (n,) class numbers, -1 for unknown.

        >>> votes, truth = Votes([[0, 1], [1, 1]]).with_labels({1: 2}, "truth")
        >>> votes.n_classes, truth.tolist()
        (3, [-1, 2])
        """
        column = unify_labels(self.identity.match(labels, name), self.classes)
        extra = () if self.stated else missing_classes(column, self.classes)
        votes = self.with_classes(self.classes + extra).with_parts(stated=self.stated) if extra else self
        numbers = encode_column(column, votes.classes).astype(np.int64)
        if extra and name == "gold":
            counts = {c: int((numbers == self.n_classes + i).sum()) for i, c in enumerate(extra)}
            warn_of_votes([describe_gold(counts)])
        return votes, numbers


def _count_classes(cells: NDArray[Any], high: int) -> dict[str, dict[int, int]]:
    """Count the votes of each LF for each class."""
    counts = [np.bincount(column[column >= 0], minlength=high + 1) for column in cells.T]
    return {f"lf{j}": {int(c): int(n[c]) for c in np.flatnonzero(n)} for j, n in enumerate(counts)}


def to_votes(
    data: object,
    *,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    lfs: Sequence[str] | None = None,
    abstain: Sequence[Any] | None = None,
) -> Votes:
    """Votes from anything in memory that holds them, as `Votes(data)`; votes that are as stated are not copied."""
    if isinstance(data, np.ndarray):
        return Votes.from_array(data, n_classes=n_classes, classes=classes)
    if hasattr(type(data), "to_votes"):  # on the type: a frame may have a column with this name
        data = data.to_votes()  # type: ignore[attr-defined]
    if isinstance(data, Votes):
        if n_classes is None and classes is None:
            return data
        stated = state_classes(n_classes, classes)
        return data.with_classes(complete_classes(data.classes, n_classes) if classes is None else stated or ())
    if holds_columns(data):
        return Votes.from_frame(data, lfs=lfs, abstain=abstain, n_classes=n_classes, classes=classes)
    read = Votes.from_sparse if is_sparse(data) else Votes.from_array
    return read(data, n_classes=n_classes, classes=classes)


def is_empty(data: object) -> bool:
    """Return whether data is a list, an array, a frame or the like without any item."""
    if hasattr(type(data), "shape"):
        shape: Any = data.shape  # type: ignore[attr-defined]
        return len(shape) > 0 and shape[0] == 0
    return isinstance(data, Sequence) and not isinstance(data, str | bytes) and not len(data)


def describe_gold(counts: Mapping[Any, int]) -> str:
    """Word a warning about classes that only gold has, with their numbers of items."""
    shown = ", ".join(f"{c!r} ({n:,} items)" for c, n in counts.items() if n)
    return f"gold has classes that no LF votes for: {shown}; correct them, or state all with classes"


def find_other_lfs(frame: Any, lfs: Sequence[str], classes: Classes, abstain: Sequence[Any] | None) -> list[str]:
    """Find the columns of a frame that vote for the classes and are not among the LFs."""
    names = []
    for name in frame.columns:
        if str(name) in lfs or not may_be_votes(str(name)):
            continue
        try:
            other = Votes.from_frame(frame[[name]], lfs=[str(name)], abstain=abstain, classes=classes)
        except VotesError:
            continue  # it holds something else
        names += [str(name)] if len(other.rows.vote) else []
    return names
