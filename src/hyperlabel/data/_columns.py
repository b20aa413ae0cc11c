"""Columns of a table that are votes: one rule for frames, files and engines, on half a page in docs/tables.md.

By name first, then by `ColumnSummary`: counts of the distinct values of a column, which engines compute where the rows
are. A column that cannot be votes is refused with the remedy; `lfs` overrides the rule.
"""

import datetime
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from statistics import median_low
from typing import Any

from hyperlabel._core import printable, show, show_counts, show_names, show_some
from hyperlabel.data._classes import FEW_ROWS, Counts, add_counts, warn_of_classes, warn_of_few, warn_of_spellings
from hyperlabel.data._values import MOST_VALUES, ColumnSummary, Key, abstain_keys, as_list, key_of, kind_of
from hyperlabel.errors import ParameterError, VotesError

IDENTIFIERS = (
    "id", "item_id", "item", "uid", "uuid", "guid", "_id", "example_id", "doc_id", "document_id", "record_id", "row_id",
    "rowid", "row", "row_nr", "row_number", "idx", "index", "level_0", "__index_level_0__", "", "unnamed: 0",
)  # fmt: skip
"""Names of identifiers, the likeliest first; the nameless ones are an index that pandas wrote."""
ANSWERS = (
    "gold", "gold_label", "golden", "truth", "true_label", "true_class", "ground_truth", "groundtruth", "gt", "label",
    "labels", "y", "y_true", "target", "class", "class_label", "category", "answer", "correct", "correct_label",
    "expected", "actual", "confidence", "probability", "probabilities", "label_source",
)  # fmt: skip
OTHERS = (
    "text", "texts", "sentence", "document", "content", "body", "title", "headline", "description", "comment",
    "comments", "note", "notes", "message", "prompt", "tweet", "tokens", "raw_text", "clean_text", "split", "fold",
    "subset", "partition", "dataset", "batch", "version", "seed", "weight", "sample_weight", "timestamp", "ts", "time",
    "date", "datetime", "day", "month", "year", "created", "created_at", "updated", "updated_at", "published_at",
    "posted_at", "source", "origin", "url", "uri", "href", "path", "file", "filename", "file_name", "filepath",
    "author", "authors", "user", "username", "user_name", "email", "hash", "md5", "sha1", "sha256",
)  # fmt: skip
"""Names of texts, groups, times and sources."""
REMEDY = "name the LFs with lfs (command line: --lfs)"
_RESERVED = frozenset({*IDENTIFIERS, *ANSWERS, *OTHERS})
_SUFFIX = re.compile(r"(_duplicated_\d+|\.\d+)$")  # of a duplicate name, by Polars and pandas
_VOTERS = re.compile("_*(worker|annotator|rater|judge|coder|labell?er|lf|labeling_function)(_?id|_name)?_*")
_LONG_VOTES = re.compile("vote|label|annotation|judge?ment|answer|response|choice|verdict|class|category|rating|value")
_LONG_WIDTH = 6  # a long table has few columns: items, who votes, and for what
_LONGEST_NAME = 100  # characters; anything longer is a text, not the name of a class
_TIME = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{4}/\d{1,2}/\d{1,2})([T ].*)?|\d{1,2}:\d{2}(:\d{2}.*)?"
)
_SCORE = re.compile(r"[+-]?\d+(,\d+)?|[+-]?\d+([.,]\d+)?\s?%")  # a percentage, a decimal comma, or a whole number
_FRACTION = re.compile(r"%|,0*[1-9]")
_NOT_WHOLE = "which is not a whole number"

Summarize = Callable[[Sequence[str]], Sequence[ColumnSummary]]
Compared = tuple[dict[str, str], dict[str, list[Any]]]  # why columns are refused, and doubtful classes of others


@dataclass(frozen=True)
class VoteColumns:
    """The LFs of a table, and what to say about them."""

    lfs: tuple[str, ...]
    ignored: tuple[str, ...] = ()  # the other columns
    classes: Mapping[Any, int] = field(default_factory=dict)  # votes of each class, classes in order
    abstained: Mapping[Any, int] = field(default_factory=dict)  # cells of each value that abstains, None if empty
    warnings: tuple[str, ...] = ()  # what looks wrong but may be intended, one sentence each

    def describe(self) -> str:
        """All of it but the warnings in one line."""
        abstained = {"empty" if value is None else value: n for value, n in self.abstained.items()}
        names = f"LFs: {show_names(self.lfs)}; ignored: {show_names(self.ignored)}"
        return f"{names}; classes: {show_counts(self.classes)}; abstain: {show_counts(abstained)}"


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
    """Apply the rule to the columns of a table.

    Args:
        names: The columns.
        summarize: Summarizes those that may be votes.
        lfs: Columns that are LFs, as names or patterns such as `lf_*`; then no column is left out or refused.
        others: Columns that are known to be something else, such as gold.
        abstain: Values that abstain; `ABSTAINS` if not given.
        stated: The classes, if they are stated: then every value must be one of them, and a class is never warned of.
        glance: Like `summarize`, for the first rows only; called for columns that are left out by name.

    >>> counts = {"a": {"spam": 20, "ham": 30, "NA": 40}, "b": {"spam": 50}}
    >>> columns = take_votes(["id", "a", "b"], lambda names: [ColumnSummary(name, 90, counts[name]) for name in names])
    >>> print(columns.describe())
    LFs: a, b; ignored: id; classes: ham 30, spam 70; abstain: empty 40, NA 40
    """
    chosen = choose_columns(names, lfs, others)
    if lfs is None:
        _check_wide([name for name in names if name not in others])
    summaries, keys = summarize(chosen), abstain_keys(abstain, stated)
    votes = {s.name: {v: n for v, n in s.counts.items() if key_of(v) not in keys} for s in summaries}
    classes = add_counts(votes.values())
    warnings = _check_columns(summaries, votes, names, named=lfs is not None) if stated is None else []
    if not classes and summaries[0].n_rows >= FEW_ROWS:
        warnings += warn_of_few(classes)
    ignored = tuple(name for name in names if name not in votes)
    if lfs is None and glance is not None:
        warnings += _glance_at([name for name in ignored if name not in others], glance, set(classes), keys)
    if all(isinstance(value, str | int | float) for value in classes):
        classes = {value: classes[value] for value in sorted(classes, key=lambda value: (kind_of(value), value))}
    empty = sum(s.n_rows - sum(s.counts.values()) for s in summaries if not s.n_distinct)
    abstentions = ({v: n for v, n in s.counts.items() if key_of(v) in keys} for s in summaries)
    abstained = {value: n for value, n in add_counts([{None: empty}, *abstentions]).items() if n}
    return VoteColumns(chosen, ignored, classes, abstained, tuple(warnings))


def choose_columns(
    names: Sequence[str], lfs: Sequence[str] | None = None, others: Collection[str] = ()
) -> tuple[str, ...]:
    """The columns that may be votes, by their names alone; see `take_votes`."""
    if lfs is None:
        chosen = [name for name in names if may_be_votes(name) and name not in others]
    else:
        chosen = _match(names, [str(each) for each in as_list(lfs, "lfs", f"a list of columns: [{show(lfs)}]")])
    if not chosen:
        raise VotesError(f"the table has no LF column; its columns are {show_some(names) or 'none'}; {REMEDY}")
    count = Counter(names)
    twice = next((name for name in chosen if count[name] > 1), None)
    if twice is not None:
        raise VotesError(f"votes has {count[twice]} columns named {twice!r}; expected one. Rename the others")
    return tuple(chosen)


def _match(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The columns that patterns match; a column with exactly that name comes before a pattern."""
    chosen: dict[str, None] = {}
    present = set(names)
    for pattern, count in Counter(patterns).items():
        matched = [pattern] if pattern in present else [name for name in names if fnmatchcase(name, pattern)]
        if not matched:
            what = "lfs has {!r}, which no column matches" if "*" in pattern else "votes has no column {!r}"
            raise VotesError(f"{what.format(pattern)}; the columns are {show_some(names, 20)}")
        if count > 1:
            raise ParameterError(f"lfs has {pattern!r} twice; name each column once")
        chosen.update(dict.fromkeys(matched))
    return list(chosen)


def may_be_votes(name: str) -> bool:
    """Return whether the name of a column may be that of an LF."""
    plain = _SUFFIX.sub("", plain_name(name))
    return not (plain in _RESERVED or plain.startswith(("p_", "unnamed:")) or plain.endswith(("_id", "_input")))


def plain_name(name: str) -> str:
    """A name in lower case, with underscores for spaces and hyphens."""
    plain = name.strip().lower()
    return plain if plain.startswith("unnamed:") else plain.replace(" ", "_").replace("-", "_")


def find_identifiers(names: Sequence[str]) -> list[str]:
    """The columns with names of identifiers, the likeliest first."""
    rank = {name: i for i, name in enumerate(IDENTIFIERS)}
    return sorted((name for name in names if plain_name(name) in rank), key=lambda name: rank[plain_name(name)])


def _find_voters(names: Sequence[str]) -> list[str]:
    """The columns that say who votes, as annotation tools name them: WorkerId, ASSIGNMENT:worker_id."""
    return [name for name in names if _VOTERS.fullmatch(re.split("[:.]", plain_name(name))[-1])]


def _check_wide(names: Sequence[str]) -> None:
    """Refuse a table of few columns whose names say that it has one row per vote."""
    voters, votes = _find_voters(names), [name for name in names if _LONG_VOTES.fullmatch(plain_name(name))]
    if len(voters) == 1 and votes and 3 <= len(names) <= _LONG_WIDTH:
        raise VotesError(
            f"the table looks long, one row per vote: {voters[0]!r} says who votes, {votes[0]!r} for what. Read it "
            f"with Votes.from_long (command line: --long ITEM,{printable(voters[0])},{printable(votes[0])}). If it is "
            f"wide, {REMEDY}"
        )


def _glance_at(names: Sequence[str], glance: Summarize, classes: set[Any], keys: frozenset[Key]) -> list[str]:
    """Warn of columns that are left out by name but hold only votes; numbers are votes only beside a -1."""
    expected = (*ANSWERS, *IDENTIFIERS)  # these hold classes, or numbers that could be classes
    others = [n for n in names if plain_name(n) not in expected and not plain_name(n).endswith("_input")]
    lfs = []
    for summary in glance(others) if others else ():
        votes = {value for value in summary.counts if key_of(value) not in keys}
        may_be = -1 in summary.counts or all(isinstance(value, str | bool) for value in votes)
        lfs += [repr(summary.name)] if votes and votes <= classes and may_be else []
    what = f"left out by name, though all values are classes: {', '.join(lfs)}; if these are LFs, {REMEDY}"
    return [what] if lfs else []


def _check_columns(
    summaries: Sequence[ColumnSummary], votes: Mapping[str, Counts], names: Sequence[str], *, named: bool
) -> list[str]:
    """Refuse columns that cannot be votes, and warn of what looks like a mistake; columns that are named are votes."""
    judged = [s for s in summaries if not named or s.distinct > MOST_VALUES]
    refused = {s.name: reason for s in judged if (reason := _refuse_alone(votes[s.name], s.distinct))}
    warnings: list[str] = []
    if not refused and not named:
        refused, doubts = _compare({name: counts for name, counts in votes.items() if counts}, summaries[0].n_rows)
        shown = ", ".join(f"{name!r} ({show_some(values, 5)})" for name, values in doubts.items())
        what = f"classes that the other LFs do not vote for: {shown}; if a column does not hold votes, {REMEDY}"
        warnings = [what] if doubts else []
    if refused:
        raise VotesError(_describe_refused(refused, votes, names, warn_of_spellings(add_counts(votes.values()))))
    return warnings + warn_of_classes(votes)


def _refuse_alone(counts: Counts, distinct: int) -> str | None:
    """Why a column cannot be votes, whatever other columns hold."""
    if distinct > MOST_VALUES:
        return f"holds more than {MOST_VALUES:,} different values, like an identifier, a time or a text"
    texts = [value.strip() for value in counts if isinstance(value, str)]
    all_texts = len(texts) == len(counts) > 0
    is_time = any(isinstance(v, datetime.date | datetime.time | datetime.timedelta) for v in counts)
    if is_time or (all_texts and all(map(_TIME.fullmatch, texts))):
        return f"holds times ({show(str(next(iter(counts))), 30)})"
    score = next((v for v in counts if not isinstance(v, int) and kind_of(v) == "number"), None)
    if all_texts and all(map(_SCORE.fullmatch, texts)):
        score = next(filter(_FRACTION.search, texts), None)
    if score is not None:
        return f"holds {show(score, 30)}, {_NOT_WHOLE}"
    long = next((text for text in texts if len(text) > _LONGEST_NAME), None)
    if long is not None:
        return f"holds texts ({long[:30]!r}...)"
    n_votes = sum(counts.values())
    if n_votes >= FEW_ROWS and distinct > (0.5 if texts else 0.9) * n_votes:
        return f"holds {distinct:,} different values in {n_votes:,} rows, like an identifier or a text"
    return None


def _compare(votes: Mapping[str, Counts], n_rows: int) -> Compared:
    """Columns that do not fit the others, by their kinds of values or by their classes."""
    kinds = {name: "/".join(sorted({kind_of(value) for value in counts})) for name, counts in votes.items()}
    odd, n_texts = [name for name in votes if kinds[name] in ("number", "boolean")], list(kinds.values()).count("text")
    if 0 < len(odd) < n_texts:
        held = {name: f"{kinds[name]}s ({show_some(list(votes[name]), 3)})" for name in odd}
        return {name: f"holds {what} while {n_texts} columns hold texts" for name, what in held.items()}, {}
    if len(votes) < 2 or len(set(kinds.values())) > 1:
        return {}, {}  # mixtures are refused later, by row
    if all(str(value).isdecimal() for counts in votes.values() for value in counts):
        return _compare_numbers({name: {int(v): n for v, n in c.items()} for name, c in votes.items()}, n_rows)
    return _compare_texts(votes, n_rows) if "text" in kinds.values() else ({}, {})


def _compare_texts(votes: Mapping[str, Counts], n_rows: int) -> Compared:
    """LFs share classes, directly or through others; but a column of one class may be the only LF that votes for it."""
    several = [name for name, counts in votes.items() if len(counts) > 1]
    holders = Counter(value for name in several or votes for value in votes[name])
    shared, apart = {max(sorted(holders), key=holders.__getitem__)}, dict(votes)
    while near := [name for name, counts in apart.items() if not shared.isdisjoint(counts)]:
        shared.update(*(apart.pop(name) for name in near))
    n_votes = {name: sum(counts.values()) for name, counts in votes.items()}
    lone, strangers = [n for n in apart if n not in several], [n for n in apart if n in several]
    if 2 * len(strangers) >= len(several):  # nothing says which of them are the LFs
        strangers = several
    refused = [name for name in strangers if n_rows >= FEW_ROWS or n_votes[name] == n_rows]
    refused += [name for name in lone if n_rows >= FEW_ROWS and n_votes[name] > 0.95 * n_rows]
    reasons = {name: f"holds {show_some(list(votes[name]), 3)}, which no other LF votes for" for name in refused}
    usual = median_low(map(len, votes.values()))  # if most LFs vote for one class each, one more is normal
    return reasons, {name: list(votes[name]) for name in lone if usual > 1}


def _compare_numbers(votes: Mapping[str, Counts], n_rows: int) -> Compared:
    """Numbers that only one column holds. Columns with many more values than others do not count as company."""
    usual = median_low(map(len, votes.values()))
    narrow = {name for name, counts in votes.items() if len(counts) <= max(3, 2 * usual)}
    holders = Counter(value for name in narrow for value in votes[name])
    refused, doubts = dict[str, str](), dict[str, list[Any]]()
    for name, counts in votes.items():
        lone = sorted(value for value in counts if holders[value] == (name in narrow))
        is_small = n_rows < FEW_ROWS and max(lone, default=0) < 10  # such numbers may well be classes
        if len(lone) > max(1, 0.75 * len(counts)) and not is_small:
            refused[name] = f"holds the numbers {show_some(lone, 5)}, which no other LF votes for"
        elif len(lone) > 1 and (len(counts) == n_rows > 3 if is_small else sum(counts[v] for v in lone) >= FEW_ROWS):
            doubts[name] = lone
    return refused, doubts if 2 * len(doubts) <= len(votes) else {}  # if most columns have such numbers, there are many


def _describe_refused(refused: dict[str, str], chosen: Iterable[str], names: Sequence[str], hints: list[str]) -> str:
    """One error for all refused columns, with the remedies."""
    reasons = "; ".join(f"column {name!r} {reason}" for name, reason in list(refused.items())[:3])
    more = f"; and {len(refused) - 3} more columns" if len(refused) > 3 else ""
    rest, voters = [name for name in chosen if name not in refused], _find_voters(names)
    example = f", for instance lfs={rest}" if 0 < len(rest) <= 8 and set(voters) <= refused.keys() else ""
    remedies = [f"If not all columns are votes, {REMEDY}{example}", *hints]
    if any(reason.endswith(_NOT_WHOLE) for reason in refused.values()):
        remedies.append("for scores, use Votes.from_scores (command line: --scores)")
    if voters or len(names) < _LONG_WIDTH:
        long = f" ITEM,{printable(voters[0])},VOTE" if voters else ""
        remedies.append(f"for a table with one row per vote, use Votes.from_long (command line: --long{long})")
    return f"{reasons}{more}. {'; '.join(remedies)}"
