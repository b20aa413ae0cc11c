"""`label_tags`: votes for any subset of tags in, a set of tags with probabilities for each item out.

Each tag of an item is a question of two classes, no and yes. The questions of all tags are judged twice by one kind of
label model: together, so that what is learned about an LF on frequent tags informs rare ones, and each tag by itself,
since LFs know some tags better than others. The log-odds of the two opinions are averaged.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, check_number, show, show_some, sigmoid
from hyperlabel.data import F1Rule, Labels, Votes, find_f1_rule, to_pandas, to_polars
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.lf import ResultTable, share
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.tags._read import TagVotes, parse_tags, read_tags
from hyperlabel.trust import certify

NO_YES = ("no", "yes")
_LEAST = 1e-9  # the least probability whose log-odds are averaged


def label_tags(
    votes: Any,
    *,
    tags: Sequence[str] | None = None,
    silence: str | None = None,
    model: LabelModel | str | None = None,
    gold: Mapping[Any, Any] | None = None,
    threshold: float | str = "f1",
    long: Sequence[str] | None = None,
    lfs: Sequence[str] | None = None,
) -> "TagLabels":
    """Turn votes for tags, any number per item, into a set of tags for each item.

    Args:
        votes: A frame, records, a mapping of columns, or the path of a table. Its columns are LFs, and a cell holds the
            tags that the LF gives the item: a set, a list, or a text such as `"sports; politics"`. Null abstains; an
            empty set (`[]` in a text) says that none of the tags fits. Or a column `lf:tag` of yes and no (true, false,
            1, 0) for each LF and tag. Or a long table, see `long`.
        tags: The tags, in the order of the result; all that are named if not given.
        silence: What it means that an LF which says something about an item does not name a tag that it names
            elsewhere. `"no"`: it votes against the tag; the default for sets. `"abstain"`: nothing; the default where
            votes say yes and no themselves. An LF never votes on tags that it does not know.
        model: The label model, not fitted, or its short name; the hyper label model if not given.
        gold: A mapping from item to its true tags, all of them; these items keep them and teach the others.
        threshold: `"f1"`: for each tag the threshold with the best expected F1. Or a probability for all tags, such as
            0.5. For a certified precision see `TagLabels.certify`.
        long: The columns of a long table: item, LF (or judge), tag or set of tags, and perhaps one of yes and no.
        lfs: The columns that are LFs; else all but those named id, text, gold and the like.

    Returns:
        The tags of each item with their probabilities. A tag that no LF votes on has the probability 0.5 and is not
        taken.

    >>> votes = {"ann": [{"cat", "dog"}, {"cat"}, {"dog"}], "bob": [{"cat", "dog"}, {"cat"}, {"dog"}]}
    >>> label_tags(votes).sets
    [('cat', 'dog'), ('cat',), ('dog',)]
    """
    read = read_tags(votes, tags=tags, silence=silence, long=long, lfs=lfs)
    known = _read_gold(gold, read)
    probabilities = _judge(read, choose_model(model), known)
    voted = (read.cells >= 0).any(2) | (known >= 0)
    labels = TagLabels(read, probabilities, voted, np.zeros_like(voted), np.ones(len(read.tags)))
    return labels.with_threshold(threshold)


def _read_gold(gold: Mapping[Any, Any] | None, votes: TagVotes) -> NDArray[np.int64]:
    """Return which tags of items are known: 1 for yes, 0 for no, -1 for unknown. -> (n, t)."""
    n, t, _ = votes.cells.shape
    known = np.full((n, t), -1, np.int64)
    if gold is not None and not isinstance(gold, Mapping):
        raise ParameterError(f"gold is {show(gold)}; expected a mapping from item to its true tags")
    for item, cell in (gold or {}).items():
        names = parse_tags(cell, f"gold of item {item!r}") or []
        unknown = [name for name in names if name not in votes.tags]
        if unknown:
            raise VotesError(
                f"gold of item {item!r} has the tag {unknown[0]!r}; expected some of {show_some(votes.tags)}"
            )
        known[votes.identity.position_of(item)] = [name in names for name in votes.tags]
    return known


def _judge(votes: TagVotes, model: LabelModel, known: NDArray[np.int64]) -> Float64:
    """Return the probability of each tag of each item. -> (n, t)."""
    n, t, m = votes.cells.shape
    together = _ask(model, votes, votes.cells.reshape(n * t, m), known.ravel()).reshape(n, t)
    alone = np.stack([_ask(model, votes, votes.cells[:, tag], known[:, tag]) for tag in range(t)], 1)
    probabilities = sigmoid((_log_odds(together) + _log_odds(alone)) / 2)
    return np.where(known >= 0, known, probabilities).astype(np.float64)


def _ask(model: LabelModel, votes: TagVotes, cells: NDArray[np.int8], known: NDArray[np.int64]) -> Float64:
    """Return the probability of yes of each row, by a copy of the model that reads these rows. (r, m) -> (r,)."""
    if not (cells >= 0).any():
        return np.full(len(cells), 0.5)
    rows = Votes.from_parts(NO_YES, votes.lf_names, np.ascontiguousarray(cells), stated=True)
    fresh = copy.copy(model).set_params(classes=NO_YES)
    gold = {int(row): NO_YES[known[row]] for row in np.flatnonzero(known >= 0)}
    return np.asarray(fresh.fit_predict_proba(rows, gold or None)[:, 1])


def _log_odds(probabilities: Float64) -> Float64:
    inside = np.clip(probabilities, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _mean(values: Float64) -> float:
    """Return the mean without NaN; NaN if there is nothing else."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


@dataclass(frozen=True, eq=False, repr=False)
class TagLabels:
    """The tags of items.

    Attributes:
        votes: The votes.
        probabilities: (n, t) the probability of each tag of each item.
        voted: (n, t) whether somebody votes on the tag of the item, or gold knows it.
        taken: (n, t) whether the item has the tag.
        thresholds: (t,) the least probability of a tag that is taken.
    """

    votes: TagVotes
    probabilities: Float64
    voted: NDArray[np.bool_]
    taken: NDArray[np.bool_]
    thresholds: Float64

    def __len__(self) -> int:
        return len(self.taken)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags."""
        return self.votes.tags

    @cached_property
    def sets(self) -> list[tuple[str, ...]]:
        """The tags of each item."""
        return [tuple(name for name, taken in zip(self.tags, row, strict=True) if taken) for row in self.taken.tolist()]

    def with_threshold(self, threshold: float | str) -> "TagLabels":
        """Return the same with other thresholds: `"f1"`, or a probability for all tags."""
        if threshold == "f1":
            cuts = np.array([self._best_cut(tag) for tag in range(len(self.tags))])
        else:
            check_number(threshold, "threshold", "'f1', or a probability", least=0, most=1)
            cuts = np.full(len(self.tags), float(threshold))
        return self._cut(cuts)

    def _best_cut(self, tag: int) -> float:
        """Return the threshold with the best expected F1 of a tag."""
        yes = self.probabilities[self.voted[:, tag], tag]
        both = np.stack([1 - yes, yes], 1)
        rule: F1Rule = find_f1_rule(lambda each: each.sums(both, np.ones(len(both), np.int64)), 2)
        taken = rule.decide(both) > 0
        return float(yes[taken].min()) if taken.any() else 1.0

    def _cut(self, cuts: Float64) -> "TagLabels":
        return replace(
            self, taken=self.voted & (self.probabilities >= cuts) & (self.probabilities > 0), thresholds=cuts
        )

    def certify(self, gold: Mapping[Any, Any], precision: float = 0.9, confidence: float = 0.9) -> "TagLabels":
        """Return the same with the lowest thresholds at which the precision of each tag is certified.

        Args:
            gold: A mapping from items that were drawn at random to their true tags. They must have had no part in
                making the labels.
            precision: The least share of items with a tag that really have it.
            confidence: The probability that this holds for all tags together.
        """
        if not 0 < precision < 1:
            raise ParameterError(f"precision is {show(precision)}; expected a share between 0 and 1")
        known, level = _read_gold(gold, self.votes), 1 - (1 - confidence) / len(self.tags)
        cuts = np.full(len(self.tags), np.inf)
        for tag in range(len(self.tags)):
            yes = self.probabilities[:, tag]
            labels = Labels(np.where(self.voted[:, tag], 1, -1), np.stack([1 - yes, yes], 1), NO_YES)
            sample = {int(i): NO_YES[known[i, tag]] for i in np.flatnonzero(known[:, tag] >= 0)}
            accepted = certify(labels, None, sample, 1 - precision, level).accepted
            if accepted.any():
                cuts[tag] = yes[accepted].min()
        return self._cut(cuts)

    def score(self, truth: Mapping[Any, Any]) -> ResultTable:
        """Compare with the true tags of some items, a mapping from item to tags.

        Returns:
            One row for all tags (`micro`: all counted together; `macro`: the mean over tags), then one for each.
            Columns: tag, precision, recall, f1, taken, true.
        """
        known = _read_gold(truth, self.votes)
        judged, true = (known >= 0), (known == 1)
        hits, taken, wanted = ((part & judged).sum(0) for part in (self.taken & true, self.taken, true))
        rows = [np.append(part.sum(), part) for part in (hits, taken, wanted)]
        scores = [share(rows[0], rows[1]), share(rows[0], rows[2]), share(2 * rows[0], rows[1] + rows[2])]
        scores = [np.concatenate([part[:1], [_mean(part[1:])], part[1:]]) for part in scores]
        counts = [np.concatenate([part[:1], part[:1], part[1:]]) for part in rows[1:]]
        names = ("precision", "recall", "f1", "taken", "true")
        return ResultTable(
            {"tag": np.array(["micro", "macro", *self.tags]), **dict(zip(names, scores + counts, strict=True))}
        )

    @cached_property
    def analysis(self) -> ResultTable:
        """The LFs, one row each, against the tags that were taken.

        Columns: lf; items (that it says something about); yes (tags that it names); precision (share of these that are
        taken) and recall (share of the tags taken that it names, among those it votes on).
        """
        yes, votes = self.votes.cells == 1, self.votes.cells >= 0
        hits, judged = ((part & self.taken[:, :, None]).sum((0, 1)) for part in (yes, votes))
        counts = {"items": votes.any(1).sum(0), "yes": yes.sum((0, 1))}
        scores = {"precision": share(hits, counts["yes"]), "recall": share(hits, judged)}
        return ResultTable({"lf": np.array(self.votes.lf_names), **counts, **scores})

    def to_pandas(self) -> Any:
        """Return a pandas frame with the index of the input: `tags`, a list, and `p_<tag>` for each tag."""
        return to_pandas(self.votes.identity, self._columns())

    def to_polars(self) -> Any:
        """Return a Polars frame: identifiers, if there are any, `tags`, a list, and `p_<tag>` for each tag."""
        import polars as pl

        columns = self._columns()
        lists = pl.Series("tags", [list(each) for each in columns.pop("tags")], pl.List(pl.String))
        frame = to_polars(self.votes.identity, columns, nulls=[])
        return frame.insert_column(frame.width - len(self.tags), lists)

    def _columns(self) -> dict[str, NDArray[Any]]:
        lists = np.empty(len(self), object)
        lists[:] = [list(each) for each in self.sets]
        return {"tags": lists, **{f"p_{name}": self.probabilities[:, i] for i, name in enumerate(self.tags)}}

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {n:,}" for name, n in zip(self.tags, self.taken.sum(0), strict=True))
        return f"TagLabels({len(self):,} items: {counts}; {(~self.taken.any(1)).sum():,} without a tag)"
