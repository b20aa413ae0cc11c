"""Which columns of a table are votes, and what abstains: one rule for frames, files and engines.

The rule looks at names first, then at *summaries* of the columns that are left: a few distinct values with their
counts, which every engine computes where the rows are. A column that cannot be votes is refused with a remedy; one that
may be intended is accepted with a warning. `lfs` overrides all of it.

Names that are not votes are those of `IDENTIFIERS`, `TEXTS`, `ANSWERS`, `GROUPS`, `TIMES` and `SOURCES`, and all that
start with `p_` or end in `_id` or `_input`. Whole names are compared, in lower case: an LF `links` or `has_url` stays.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from hyperlabel.columns.arrays import as_list
from hyperlabel.columns.doubts import DECIMAL_COMMA, NOT_WHOLE, PERCENTAGES, REMEDY, add_up, find_doubts, kind_of
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.shown import printable, show, show_counts, show_names, show_some

Key = tuple[bool, Any]
Tally = dict[Any, int]  # votes of each class

IDENTIFIERS = (
    "id", "item_id", "item", "uid", "uuid", "guid", "_id", "example_id", "doc_id", "document_id", "record_id", "row_id",
    "rowid", "row", "row_nr", "row_number", "idx", "index", "level_0", "__index_level_0__", "", "unnamed: 0",
)  # fmt: skip
"""Names of identifiers, the likeliest first; the nameless ones are an index that pandas wrote."""

TEXTS = (
    "text", "texts", "sentence", "document", "content", "body", "title", "headline", "description", "comment",
    "comments", "note", "notes", "message", "prompt", "tweet", "tokens", "raw_text", "clean_text",
)  # fmt: skip
ANSWERS = (
    "gold", "gold_label", "golden", "truth", "true_label", "true_class", "ground_truth", "groundtruth", "gt", "label",
    "labels", "y", "y_true", "target", "class", "class_label", "category", "answer", "correct", "correct_label",
    "expected", "actual", "confidence", "probability", "probabilities", "label_source",
)  # fmt: skip
GROUPS = ("split", "fold", "subset", "partition", "dataset", "batch", "version", "seed", "weight", "sample_weight")
TIMES = (
    "timestamp", "ts", "time", "date", "datetime", "day", "month", "year", "created", "created_at", "updated",
    "updated_at", "published_at", "posted_at",
)  # fmt: skip
SOURCES = (
    "source", "origin", "url", "uri", "href", "path", "file", "filename", "file_name", "filepath", "author", "authors",
    "user", "username", "user_name", "email", "hash", "md5", "sha1", "sha256",
)  # fmt: skip

ABSTAINS = (
    -1, "-1", "NA", "N/A", "n/a", "<NA>", "None", "nan", "NaN", "null", "NULL", "abstain", "Abstain", "ABSTAIN", "-",
)  # fmt: skip
"""Values that abstain unless `abstain` lists others. Null, NaN and blank strings always do."""

VOTERS = (
    "worker", "worker_id", "workerid", "annotator", "annotator_id", "rater", "rater_id", "judge", "judge_id", "coder",
    "labeler", "labeller", "lf", "lf_name", "labeling_function",
)  # fmt: skip
"""Names of the column of a long table that says who votes."""

CAST = ("vote", "label", "annotation", "judgment", "judgement", "answer", "response", "choice", "verdict", "class",
        "category", "rating", "value")  # fmt: skip
"""Names of the column of a long table that holds the votes."""

_NOT_VOTES = frozenset({*IDENTIFIERS, *TEXTS, *ANSWERS, *GROUPS, *TIMES, *SOURCES})
_SECOND = re.compile(r"(_duplicated_\d+|\.\d+)$")  # what Polars and pandas add to a duplicate name
_LONG_WIDTH = 6  # a long table has few columns


@dataclass(frozen=True)
class ColumnSummary:
    """What the rule must know about a column."""

    name: str  # the name of the column
    n_rows: int  # number of rows
    counts: Mapping[Any, int]  # how many rows have each value, without nulls; only some of very many values
    n_distinct: int = 0  # number of distinct values, if `counts` does not list them all

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return max(self.n_distinct, len(self.counts))


Summarize = Callable[[Sequence[str]], Sequence[ColumnSummary]]


@dataclass(frozen=True)
class VoteColumns:
    """What was taken from a table, and what to say about it.

    Attributes:
        lfs: The columns that are LFs.
        ignored: The columns that are not.
        classes: How many votes each class has, classes in order.
        abstained: How many cells hold each value that abstains; None means null, NaN and blank strings.
        warnings: What looks wrong but may be intended, one sentence each.

    >>> columns = VoteColumns(("links", "short"), ("id",), {"ham": 3, "spam": 2}, {None: 4, "NA": 1})
    >>> print(columns.describe())
    LFs: links, short; ignored: id; classes: ham 3, spam 2; abstain: empty 4, NA 1
    """

    lfs: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    classes: Mapping[Any, int] = field(default_factory=dict)
    abstained: Mapping[Any, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def describe(self) -> str:
        """What was taken, in one line."""
        return "; ".join(
            [
                f"LFs: {show_names(self.lfs)}",
                f"ignored: {show_names(self.ignored)}",
                f"classes: {show_counts(self.classes)}",
                f"abstain: {show_counts({'empty' if v is None else v: n for v, n in self.abstained.items()})}",
            ]
        )


def take_votes(
    names: Sequence[str],
    summarize: Summarize,
    *,
    lfs: Sequence[str] | None = None,
    others: Collection[str] = (),
    abstain: Sequence[Any] | None = None,
    stated: Collection[Any] | None = None,
    glance: Summarize | None = None,
) -> VoteColumns:
    """The rule: which columns of a table are votes.

    Args:
        names: The columns of the table.
        summarize: Returns the summaries of columns; called once, for those that may be votes.
        lfs: Columns that are LFs, as names or patterns such as `lf_*`; then no column is left out or refused.
        others: Columns that are known to be something else, such as gold.
        abstain: Values that abstain; `ABSTAINS` if not given.
        stated: The classes, if they are stated: then every value must be one of them, and nothing is doubted.
        glance: Like `summarize`, for the first rows only; called for columns that are left out by name.

    Raises:
        VotesError: A column cannot be votes, the table looks long, or there is no LF.

    >>> summaries = {
    ...     "a": ColumnSummary("a", 90, {"spam": 20, "ham": 30, "NA": 40}),
    ...     "b": ColumnSummary("b", 90, {"spam": 50}),
    ... }
    >>> print(take_votes(["id", "a", "b"], lambda names: [summaries[name] for name in names]).describe())
    LFs: a, b; ignored: id; classes: ham 30, spam 70; abstain: empty 40, NA 40
    """
    chosen = choose_columns(names, lfs, others)
    kept = set(chosen)
    left = tuple(name for name in names if name not in kept)
    if lfs is None:
        _check_wide([name for name in names if name not in others], summarize)
    summaries = list(summarize(chosen))
    found = read_tallies(summaries, abstain, stated)
    doubts: list[str] = []
    if stated is None:
        n_rows = {s.name: s.n_rows for s in summaries}
        distinct = {s.name: s.distinct for s in summaries}
        refused, doubts = find_doubts(found.tallies, n_rows, distinct, judge_columns=lfs is None)
        if refused:
            raise VotesError(_refusal(refused, chosen, names))
    if lfs is None and glance is not None:
        doubts += _glance_at_ignored(glance, [name for name in left if name not in others], found, abstain)
    return VoteColumns(chosen, left, found.classes, found.abstained, tuple(doubts))


def choose_columns(
    names: Sequence[str], lfs: Sequence[str] | None = None, others: Collection[str] = ()
) -> tuple[str, ...]:
    """The columns that may be votes, by their names alone.

    Args:
        names: The columns of the table.
        lfs: Columns that are LFs, as names or patterns; a column with exactly that name is never taken for a pattern.
        others: Columns that are known to be something else.

    >>> choose_columns(["id", "text", "links", "p_spam", "has_url"])
    ('links', 'has_url')
    >>> choose_columns(["id", "lf_a", "lf_b", "note"], ["lf_*"])
    ('lf_a', 'lf_b')
    """
    known = set(others)
    if lfs is None:
        chosen = [name for name in names if may_be_votes(name) and name not in known]
        if not chosen:
            raise VotesError(f"the table has no LF column; its columns are {show_some(names) or 'none'}; {REMEDY}")
    else:
        chosen = _match(names, lfs)
        if not chosen:
            raise ParameterError(f"lfs is {show(lfs)}; expected at least one column, or None for all that may be votes")
    twice = next((name for name, count in Counter(names).items() if count > 1 and name in set(chosen)), None)
    if twice is not None:
        raise VotesError(
            f"votes has {list(names).count(twice)} columns named {twice!r}; expected one. Rename the others"
        )
    return tuple(chosen)


def _match(names: Sequence[str], lfs: Sequence[str]) -> list[str]:
    chosen: dict[str, None] = {}
    listed = as_list(lfs, "lfs", f"a list of columns: [{show(lfs)}]")
    present, wanted = set(names), [each if isinstance(each, str) else show(each) for each in listed]
    for i, pattern in enumerate(wanted):
        found = [pattern] if pattern in present else [name for name in names if fnmatchcase(name, pattern)]
        if not found:
            unmatched = f"lfs has {pattern!r}, which no column matches"
            what = unmatched if "*" in pattern else f"votes has no column {pattern!r}"
            raise VotesError(f"{what}; the columns are {show_some(names, 20)}")
        if pattern in wanted[:i]:
            raise ParameterError(f"lfs has {pattern!r} twice; name each column once")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def may_be_votes(name: str) -> bool:
    """Whether the name of a column may be that of an LF.

    >>> [may_be_votes(name) for name in ("ID", "true label", "id.1", "user_id", "links", "label_2")]
    [False, False, False, False, True, True]
    """
    plain = plain_name(name)
    if plain in _NOT_VOTES or _SECOND.sub("", plain) in _NOT_VOTES or plain.startswith(("p_", "unnamed:")):
        return False
    return not plain.endswith(("_id", "_input"))


def plain_name(name: str) -> str:
    """A name as it is compared: lower case, underscores for spaces and hyphens.

    >>> plain_name(" True Label")
    'true_label'
    """
    plain = name.strip().lower()
    return plain if plain.startswith("unnamed:") else plain.replace(" ", "_").replace("-", "_")


def find_identifiers(names: Sequence[str]) -> list[str]:
    """The columns with names of identifiers, the likeliest first.

    >>> find_identifiers(["a", "index", "ID"])
    ['ID', 'index']
    """
    rank = {name: i for i, name in enumerate(IDENTIFIERS)}
    return sorted((name for name in names if plain_name(name) in rank), key=lambda name: rank[plain_name(name)])


# What abstains.


def abstain_keys(abstain: Sequence[Any] | None, stated: Collection[Any] | None = None) -> frozenset[Key]:
    """What abstains, in a form that tells True from 1. A stated class is always a class, whatever the list says.

    >>> (False, "NA") in abstain_keys(None), (False, "NA") in abstain_keys(["skip"])
    (True, False)
    """
    if abstain is None and stated is None:
        return DEFAULT
    values = [] if abstain is None else as_list(abstain, "abstain", f"a list of values: [{show(abstain)}]")
    try:
        keys = DEFAULT if abstain is None else frozenset(map(key_of, values))
    except TypeError as error:  # a value that cannot be hashed
        raise ParameterError(f"abstain is {show(abstain)}; expected strings, numbers or booleans") from error
    return keys - {key_of(c) for c in stated or ()}


def key_of(value: Any) -> Key:
    """A value in a form that tells True from 1."""
    return isinstance(value, bool), value


DEFAULT = frozenset(map(key_of, ABSTAINS))


@dataclass(frozen=True)
class Tallies:
    """Votes and abstentions of columns, counted."""

    tallies: dict[str, Tally]  # for each column its votes of each class
    classes: Tally  # votes of each class, classes in order
    abstained: Tally  # how many cells hold each value that abstains, None for empty ones


def read_tallies(
    summaries: Sequence[ColumnSummary], abstain: Sequence[Any] | None = None, stated: Collection[Any] | None = None
) -> Tallies:
    """Tell votes from abstentions."""
    keys = abstain_keys(abstain, stated)
    tallies: dict[str, Tally] = {}
    left: list[Tally] = []
    for summary in summaries:
        votes = {value: n for value, n in summary.counts.items() if key_of(value) not in keys}
        tallies[summary.name] = votes
        if len(votes) < len(summary.counts):
            left.append({value: n for value, n in summary.counts.items() if value not in votes})
    classes, abstained = add_up(tallies.values()), add_up(left)
    empty = sum(s.n_rows - sum(s.counts.values()) for s in summaries if not s.n_distinct)
    sortable = all(isinstance(value, str | int | float) for value in classes)
    order = sorted(classes, key=lambda value: (kind_of(value), value)) if sortable else list(classes)
    held = {v: n for v, n in ({None: empty} | abstained).items() if n}
    return Tallies(tallies, {c: classes[c] for c in order}, held)


# What cannot be a table of votes.


def _refusal(refused: Mapping[str, str], chosen: Sequence[str], names: Sequence[str]) -> str:
    """One error for all refused columns, with the LFs that are left, unless a column of voters is among them."""
    reasons = "; ".join(f"column {name!r} {reason}" for name, reason in list(refused.items())[:3])
    more = f"; and {len(refused) - 3} more columns" if len(refused) > 3 else ""
    rest = [name for name in chosen if name not in refused]
    voter = next((name for name in names if _names_voters(name)), None)
    is_long = voter is not None and voter not in refused
    example = f", for instance lfs={rest}" if 0 < len(rest) <= 8 and not is_long else ""
    is_score = any(r.startswith(PERCENTAGES) or r.endswith((DECIMAL_COMMA, NOT_WHOLE)) for r in refused.values())
    scores = "; for scores, use Votes.from_scores (command line: --scores)" if is_score else ""
    long = "; for a table with one row per vote, use Votes.from_long (command line: --long"
    long += f" ITEM,{printable(voter)},VOTE)" if voter is not None else ")"
    return (
        f"{reasons}{more}. If not all columns are votes, {REMEDY}{example}{scores}"
        f"{long if voter is not None or len(names) <= 5 else ''}"
    )


def _names_voters(name: str) -> bool:
    """Whether a column says who votes, by its name, as tools of annotation export it.

    >>> [_names_voters(name) for name in ("WorkerId", "ASSIGNMENT:worker_id", "_annotator_id", "coworker")]
    [True, True, True, False]
    """
    return re.split("[:.]", plain_name(name))[-1].strip("_") in VOTERS


def _check_wide(names: Sequence[str], summarize: Summarize) -> None:
    """Refuse a table that has one row per vote: its names say so, and the voters are not among the classes."""
    plain = {name: plain_name(name) for name in names}
    voters = [name for name in names if plain[name] in VOTERS]
    casts = sorted((name for name in names if plain[name] in CAST), key=lambda name: CAST.index(plain[name]))
    if len(voters) != 1 or not casts or not 3 <= len(names) <= _LONG_WIDTH:
        return
    voter, cast = summarize([voters[0], casts[0]])
    if set(voter.counts) <= set(cast.counts):
        return  # a wide table that has an LF with this name
    rest = [name for name in names if name not in (voter.name, cast.name)]
    item = next(iter([*find_identifiers(rest), *rest]))
    raise VotesError(
        f"the table looks long, one row per vote: {voter.name!r} says who votes, {cast.name!r} for what. Read it with "
        f"long=({item!r}, {voter.name!r}, {cast.name!r}) or Votes.from_long (command line: --long). If it is "
        f"wide, {REMEDY}"
    )


def _glance_at_ignored(
    glance: Summarize, names: Sequence[str], found: Tallies, abstain: Sequence[Any] | None
) -> list[str]:
    """Warn of columns that are left out by name but hold only votes."""
    expected = (*ANSWERS, *IDENTIFIERS)  # columns that hold classes, or numbers that could be classes
    doubtful = [n for n in names if plain_name(n) not in expected and not plain_name(n).endswith("_input")]
    held = glance(doubtful) if doubtful else ()
    keys = abstain_keys(abstain)
    votes = [s for s in held if _holds_votes(s, set(found.classes), keys)]
    if not votes:
        return []
    names_of = ", ".join(repr(s.name) for s in votes)
    return [f"left out by name, though all values are classes: {names_of}; if these are LFs, {REMEDY}"]


def _holds_votes(summary: ColumnSummary, classes: set[Any], keys: frozenset[Key]) -> bool:
    """Whether a column holds only classes; numbers, which easily look like classes, must include a -1."""
    votes = [value for value in summary.counts if key_of(value) not in keys]
    named = all(isinstance(value, str | bool) for value in votes) or -1 in summary.counts
    return bool(votes) and named and set(votes) <= classes
