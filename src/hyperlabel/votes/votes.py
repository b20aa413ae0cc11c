"""Votes: the only place that checks and encodes what users give.

Flows in: arrays, nested lists, frames, records, scipy.sparse matrices, wide or long. Flows out: class numbers 0..k-1
for n items and m LFs, dense or sparse, with the names of classes, LFs and items. All other code
trusts them.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_flag, check_kind
from hyperlabel.columns.arrays import as_list, check_array, check_sparse, is_sparse, place
from hyperlabel.columns.doubts import FEW_ROWS
from hyperlabel.columns.rule import may_be_votes
from hyperlabel.columns.sources import holds_columns
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.shown import show, show_some
from hyperlabel.votes.classes import (
    ABSTAIN,
    Classes,
    complete_classes,
    encode_column,
    join_classes,
    missing_classes,
    smallest_type,
    state_classes,
    unify_labels,
)
from hyperlabel.votes.encode import check_item, encode_long, encode_wide, number_classes
from hyperlabel.votes.frame import VoteFrame
from hyperlabel.votes.items import UNKNOWN, Origin, identify
from hyperlabel.votes.levels import cut_scores
from hyperlabel.votes.matching import (
    default_names,
    describe_gold,
    join_names,
    join_outcomes,
    match_lfs,
    match_rows,
    warn_of_missing_zero,
)
from hyperlabel.votes.outcomes import Outcomes
from hyperlabel.votes.rows import Rows
from hyperlabel.votes.scores import check_scale, check_scores, match_cuts, open_scores


@dataclass(frozen=True, eq=False, repr=False)
class Votes(VoteFrame):
    """The votes of m LFs on n items; behaves like a frame with one column per LF.

    Make them with `from_array`, `from_frame`, `from_long`, `from_sparse` or `hyperlabel.read_votes`; the
    attributes are those of `VoteFrame`.

    >>> votes = Votes.from_array([[0, 1], [1, -1], [1, 1]], lfs=["links", "short"])
    >>> votes.shape, votes["short"].tolist(), votes[1:].to_numpy().tolist()
    ((3, 2), [1, -1, 1], [[1, -1], [1, 1]])
    """

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
        known, stated = number_classes(high, n_classes, classes, lambda: f"votes{place(cells == high)} is {high}")
        if not stated and len(cells) >= FEW_ROWS and (high == 0 or not (cells[:FEW_ROWS] == 0).any()):
            warn_of_missing_zero(cells)
        signed = cells.astype(np.int64) if cells.dtype == np.uint64 else cells
        names = default_names(lfs, cells.shape[1])
        return cls._trust(known, stated, names, len(cells), cells=signed, named=lfs is not None)

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
    ) -> Self:
        """Votes from a wide table: one row per item, one column per LF.

        Args:
            frame: A pandas or Polars frame, a pyarrow Table, a Hugging Face Dataset, or a list of records. Whole
                numbers are class numbers; strings and booleans are class names.
            lfs: Columns that are LFs, as names or patterns such as `lf_*`. By default all except those whose names say
                otherwise (`hyperlabel.columns.rule`); a column that cannot be votes is refused.
            item: The column of the items' identifiers; one named `id`, `item` or the like if not given, or else the
                index of a pandas frame.
            others: Columns that are known to be something else, such as gold.
            abstain: Values that abstain, besides null, NaN and blank; -1 and strings such as NA, None, null, abstain
                and - if not given.
            n_classes: Number of classes; inferred if not given.
            classes: The classes, in the order of their probabilities; inferred if not given (strings in
                alphabetical order, at most 10,000).
            strict: Whether warnings are errors.

        Raises:
            VotesError: A column cannot be votes, or a value is not a class.

        >>> import pandas as pd
        >>> votes = Votes.from_frame(pd.DataFrame({"id": [7, 8], "a": ["spam", None], "b": ["spam", "ham"]}))
        >>> votes.classes, votes.cells.tolist(), votes.items.tolist()
        (('ham', 'spam'), [[1, 1], [-1, 0]], [7, 8])
        """
        check_flag(strict, "strict")
        votes = cls.read_frame(
            frame, lfs=lfs, item=item, others=others, abstain=abstain, n_classes=n_classes, classes=classes
        )
        assert votes.origin.columns is not None  # votes of a frame know what was taken
        warn_of_votes(votes.origin.columns.warnings, strict=strict)
        return votes

    @classmethod
    def read_frame(cls, frame: object, *, item: str | None = None, **options: Any) -> Self:
        """Like `from_frame`, but without warnings: they are in `origin.columns.warnings`."""
        wide = encode_wide(frame, item=item, **options)
        ids, origin = identify(wide.table, item, wide.columns)
        parts = {"items": ids, "cells": wide.cells, "origin": origin, "outcomes": wide.outcomes}
        return cls._trust(wide.classes, wide.stated, wide.columns.lfs, len(wide.cells), **parts)

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
    ) -> Self:
        """Votes from a long table: one row per vote, as crowdsourcing tools write them.

        Items are in order of first appearance; `items` holds their identifiers. A row without a
        vote keeps its item and adds nothing.

        Args:
            frame: The table, as for `from_frame`.
            item: Column of the item.
            lf: Column of the LF or person.
            vote: Column of the vote.
            abstain: Values that abstain, as for `from_frame`.
            n_classes: Number of classes; inferred if not given.
            classes: The classes; inferred if not given.
            strict: Whether warnings are errors.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"task": [7, 7, 3], "worker": ["a", "b", "a"], "label": ["x", "y", "y"]})
        >>> votes = Votes.from_long(frame, item="task", lf="worker", vote="label")
        >>> votes.items.tolist(), votes.lf_names, votes.n_classes
        ([7, 3], ('a', 'b'), 2)
        """
        check_flag(strict, "strict")
        long = encode_long(frame, (item, lf, vote), abstain, n_classes, classes)
        warn_of_votes(long.warnings, strict=strict)
        return cls._trust(
            long.classes,
            long.stated,
            long.lf_names,
            len(long.items),
            items=long.items,
            _rows=long.rows,
            origin=Origin(item),
            outcomes=long.outcomes,
        )

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
        """Votes from scores: the higher a number, the more it speaks for later classes.

        The scores of each LF are cut into levels, see `hyperlabel.votes.levels`. A cell without a number abstains.

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
        known = state_classes(None, classes)
        if known is None or len(known) < 2:
            raise ParameterError(f"classes is {show(classes)}; expected two classes or more, in the order of scores")
        check_item(item)
        origin, ids = UNKNOWN, None
        if isinstance(scores, np.ndarray):
            values, names = check_scores(scores), default_names(lfs, np.shape(scores)[-1])
        else:
            ids, origin, names, values = open_scores(scores, lfs, item)
        if like is not None:
            check_kind(like, "like", (Votes, Outcomes), "votes from scores that were cut before")
            if isinstance(like, Votes) and like.classes != known:
                raise ParameterError(
                    f"like has the classes {show_some(like.classes)} but classes is [{show_some(known)}]; expected the "
                    "same in the same order"
                )
            outcomes = match_cuts(like.outcomes if isinstance(like, Votes) else like, names, len(known))
        else:
            outcomes = cut_scores(values, names, len(known), levels, check_scale(scale, values), direction)
        cells = np.empty(values.shape, smallest_type(len(known) + len(outcomes)))
        for j, cuts in enumerate(outcomes.cuts[name] for name in names):
            level = cuts.levels_of(np.ascontiguousarray(values[:, j]))
            first = len(known) + outcomes.names.index(cuts.first)
            cells[:, j] = np.where(level < 0, ABSTAIN, level.astype(cells.dtype) + cells.dtype.type(first))
        named = lfs is not None or not isinstance(scores, np.ndarray)
        return cls._trust(
            known, True, names, len(cells), items=ids, cells=cells, origin=origin, outcomes=outcomes, named=named
        )

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

        def where() -> str:
            first = int((vote == high).argmax())
            return f"votes[{row[first]}, {column[first]}] stores {high + 1}, which is class {high}"

        known, stated = number_classes(high, n_classes, classes, where)
        rows = Rows.from_triples(row, column, vote, n)
        return cls._trust(known, stated, default_names(lfs, m), n, _rows=rows, named=lfs is not None)

    @classmethod
    def from_saved(cls, frame: object, header: dict[str, Any]) -> Self:
        """Votes from the frame and the header of a file that `save` wrote."""
        outcomes = Outcomes.from_header(header.get("outcomes"), len(header["classes"]))
        classes = header["classes"] if outcomes is None else range(len(outcomes) + outcomes.n_classes)
        votes = cls.read_frame(frame, lfs=header["lfs"], item=header["item"], abstain=(), classes=list(classes))
        if header["item"] is None:
            votes = votes._changed(items=None)
        held = tuple(header["classes"])
        return votes._changed(named=header["named"], stated=header["stated"], classes=held, outcomes=outcomes)

    @classmethod
    def from_rows(
        cls, rows: Rows, classes: Classes, lf_names: Sequence[str] | None, m: int, outcomes: Outcomes | None = None
    ) -> Self:
        """Votes from checked rows of m LFs; `lf_names` is None if the LFs have none."""
        names, n = default_names(lf_names, m), len(rows.starts) - 1
        return cls._trust(classes, False, names, n, _rows=rows, named=lf_names is not None, outcomes=outcomes)

    @classmethod
    def read_like(
        cls, frame: Any, names: Sequence[str], classes: Sequence[Hashable], outcomes: Outcomes, item: str | None = None
    ) -> "Votes":
        """Votes of LFs by name, a column each, some of which give scores that were cut before, as `outcomes` say."""
        scored = [name for name in names if name in outcomes.cuts]
        voting = [name for name in names if name not in outcomes.cuts]
        votes: Votes = cls.from_scores(frame, classes=classes, lfs=scored, item=item, like=outcomes)
        if voting:
            votes = votes.join(cls.from_frame(frame, lfs=voting, item=item, classes=classes))
        return votes.with_lfs(names)

    # Matching.

    def join(self, other: object) -> "Votes":
        """These votes and those of more LFs on the same items.

        Items are matched by identifier if both have them, otherwise by place. An item that only
        these votes have keeps its place; the new LFs abstain on it.

        >>> one = Votes.from_array([[0], [1]], lfs=["a"])
        >>> one.join(Votes.from_array([[1], [-1]], lfs=["b"])).to_numpy().tolist()
        [[0, 1], [1, -1]]
        """
        more = to_votes(other)
        names = join_names(self.lf_names, more.lf_names, renumber=not self.named and not more.named)
        classes = self.classes
        if self.stated:
            known = {(type(c), c) for c in classes}
            more._check_unused([i for i, c in enumerate(more.classes) if (type(c), c) not in known], classes)
        else:
            votes, others = len(self.rows.vote) > 0, len(more.rows.vote) > 0
            classes = join_classes(classes, more.classes, one_votes=votes, other_votes=others)
        number = {c: i for i, c in enumerate(classes)}
        table = np.array([number.get(c, ABSTAIN) for c in more.classes], np.int64)
        outcomes, own, table = join_outcomes(self, more, table, classes)
        one, two = self.rows, match_rows(self.identity, more.identity, more.rows)
        rows = Rows.from_triples(
            np.concatenate([one.row, two.row]),
            np.concatenate([one.lf, two.lf + self.n_lfs]),
            np.concatenate([one.vote if own is None else own[one.vote], table[two.vote]]),
            self.n_items,
        )
        named = self.named or more.named
        parts = {"classes": classes, "lf_names": names, "n_lfs": len(names), "named": named, "outcomes": outcomes}
        joined = self._changed(cells=None, _rows=rows, **parts)
        return joined._dense() if self.cells is not None else joined

    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        """The same votes with the classes stated, which must hold every class that is voted for.

        >>> votes = Votes.from_array([[0, 1], [1, -1]]).with_classes([1, 0, 2])
        >>> votes.classes, votes.cells.tolist()
        ((1, 0, 2), [[1, 0], [0, -1]])
        """
        stated = state_classes(None, classes)
        if stated is None:
            raise ParameterError("classes is None; expected a list of classes")
        if stated[: self.n_classes] == self.classes and (self.outcomes is None or len(stated) == self.n_classes):
            return self._changed(classes=stated, stated=True)
        number = {c: i for i, c in enumerate(stated)}
        self._check_unused([i for i, c in enumerate(self.classes) if c not in number], stated)
        numbers, outcomes = [number.get(c, ABSTAIN) for c in self.classes], self.outcomes
        if outcomes is not None:
            outcomes = outcomes.with_classes(np.array(numbers), len(stated)).read_again(stated)
            numbers += range(len(stated), len(stated) + len(outcomes))
        table = np.array([*numbers, ABSTAIN], smallest_type(max(numbers) + 1))
        if self.cells is not None:
            moved = self._changed(cells=table[self.cells], _rows=None)
        else:
            moved = self._changed(_rows=Rows(self.rows.starts, self.rows.lf, table[self.rows.vote].astype(np.int64)))
        return moved._changed(classes=stated, stated=True, outcomes=outcomes)

    def _check_unused(self, unknown: list[int], classes: Classes) -> None:
        """Check that no LF votes for some classes, since they are not among the stated ones."""
        if not unknown:
            return
        wrong = np.flatnonzero(np.isin(self.rows.vote, unknown))
        if len(wrong):
            vote = self.classes[int(self.rows.vote[wrong[0]])]
            row = int(np.searchsorted(self.rows.starts, wrong[0], side="right")) - 1
            name = self.lf_names[int(self.rows.lf[wrong[0]])]
            raise VotesError(
                f"votes, item {row}: LF '{name}' votes {vote!r}; expected one of the classes {show_some(classes)}. "
                "Correct it, or state it in classes"
            )

    def with_lfs(self, names: Sequence[str]) -> Self:
        """The same votes with the LFs in the order of their names, which must be the same names.

        >>> Votes.from_array([[0, 1]], lfs=["a", "b"]).with_lfs(["b", "a"]).cells.tolist()
        [[1, 0]]
        """
        wanted = tuple(as_list(names, "names", "a list of LFs"))
        if not all(isinstance(name, str) for name in wanted):
            raise ParameterError(f"names is {show(names)}; expected the names of LFs, as strings")
        return self if self.lf_names == wanted else self._take_lfs(match_lfs(self.lf_names, wanted))

    def with_labels(self, labels: object, name: str) -> tuple[Self, NDArray[np.int64]]:
        """Encode gold or truth; classes that only labels have are added, unless classes were stated.

        Args:
            labels: (n,) classes with -1, None or NaN for unknown; a pandas Series, matched by its index; or a mapping
                from item to class, where an item is its identifier if the votes have them and its index otherwise.
            name: What to call the labels in an error.

        Returns:
            The votes, perhaps with more classes, and (n,) class numbers, -1 for unknown.

        >>> votes, truth = Votes.from_array([[0, 1], [1, 1]]).with_labels({1: 2}, "truth")
        >>> votes.n_classes, truth.tolist()
        (3, [-1, 2])
        """
        column = unify_labels(self.identity.match(labels, name), self.classes)
        extra = () if self.stated else missing_classes(column, self.classes)
        votes = self.with_classes(self.classes + extra)._changed(stated=self.stated) if extra else self
        numbers = encode_column(column, votes.classes).astype(np.int64)
        if extra and name == "gold":
            counts = {c: int((numbers == self.n_classes + i).sum()) for i, c in enumerate(extra)}
            warn_of_votes([describe_gold(counts)])
        return votes, numbers


def to_votes(
    data: object,
    *,
    n_classes: int | None = None,
    classes: Sequence[Hashable] | None = None,
    lfs: Sequence[str] | None = None,
) -> Votes:
    """Votes from anything that holds them: `Votes`, an array, lists, a wide table, a sparse matrix, `Patterns`.

    Args:
        data: The votes.
        n_classes: Number of classes; inferred if not given.
        classes: The classes; inferred if not given.
        lfs: The columns of a table that are LFs, if known; see `Votes.from_frame`.

    >>> to_votes([[0, -1], [1, 1]], classes=["ham", "spam"]).classes
    ('ham', 'spam')
    """
    if isinstance(data, np.ndarray):
        return Votes.from_array(data, n_classes=n_classes, classes=classes)
    if hasattr(type(data), "to_votes"):  # on the type: a frame may have a column with this name
        data = data.to_votes()  # type: ignore[attr-defined]
    if isinstance(data, Votes):
        stated = state_classes(n_classes, classes)
        if stated is None:
            return data
        return data.with_classes(stated if classes is not None else complete_classes(data.classes, n_classes))
    if holds_columns(data):
        return Votes.from_frame(data, lfs=lfs, n_classes=n_classes, classes=classes)
    read = Votes.from_sparse if is_sparse(data) else Votes.from_array
    return read(data, n_classes=n_classes, classes=classes)


def check_no_other_lf(frame: Any, lfs: Sequence[str], classes: Classes) -> None:
    """Refuse a frame with a column that votes for the classes but that the model was not fitted on.

    Columns whose name or values say that they are something else may be there.
    """
    for name in frame.columns:
        if str(name) in lfs or not may_be_votes(str(name)):
            continue
        try:
            other = Votes.from_frame(frame[[name]], lfs=[str(name)], classes=classes)
        except VotesError:
            continue  # it holds something else
        if len(other.rows.vote):
            raise VotesError(
                f"votes has the LF {str(name)!r}, which the model was not fitted on; "
                "give only the LFs of fit, frame[list(model.lf_names_)], or fit again"
            )
