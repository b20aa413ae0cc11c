"""Applying LFs to data: lists, frames in memory, and lazy frames of engines."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import check_choice, check_number, check_path, show, show_some
from hyperlabel.data import (
    ABSTAIN,
    Classes,
    Column,
    Votes,
    complete_classes,
    encode_columns,
    identify_data,
    infer_classes,
    library_of,
    set_aside,
    state_classes,
)
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.lf._cache import run_cached
from hyperlabel.lf._define import LabelingFunction, LFError, check_lfs
from hyperlabel.lf._items import Items, read_items
from hyperlabel.lf._parallel import run_processes, run_threads
from hyperlabel.lf._progress import show_progress
from hyperlabel.lf._ready import Lookup, PromptFunction
from hyperlabel.lf._run import Answer, describe_vote, run_all, run_rows

_ENGINES = {"dask": "Dask", "dask_expr": "Dask", "pyspark": "Spark"}


@dataclass(frozen=True, eq=False, repr=False)
class AppliedVotes(Votes):
    """The votes of LFs that were applied here.

    Attributes:
        failures: For each LF, on how many items it failed and therefore abstains.
        answers: For each LF that asks a language model, the answers for the n items; None where there
            was none.
    """

    failures: Mapping[str, int] = field(default_factory=dict)
    answers: Mapping[str, Sequence[str | None]] = field(default_factory=dict)

    def entries_of(self, index: NDArray[np.intp]) -> dict[str, Any]:
        """The answers for some items."""
        return {"answers": {lf: [replies[i] for i in index.tolist()] for lf, replies in self.answers.items()}}

    def __repr__(self) -> str:
        shown, failed = super().__repr__(), sum(self.failures.values())
        return f"{shown[:-1]}, {failed:,} failures)" if failed else shown


def apply_lfs(
    lfs: Sequence[LabelingFunction],
    data: Any,
    *,
    classes: Sequence[Hashable] | None = None,
    n_classes: int | None = None,
    jobs: int = 1,
    threads: int = 1,
    on_error: str = "raise",
    cache: str | Path | None = None,
    progress: bool = False,
    like: Votes | None = None,
) -> Any:
    """Apply labeling functions to data.

    Args:
        lfs: The LFs. A plain function counts as a function of a row.
        data: A list of items (mappings, objects, texts, ...), a pandas or Polars frame, or a Polars LazyFrame, Dask
            or Spark frame. Items are identified as those of `Votes.from_frame` are: by a column named `id` or the
            like, else by the index of a pandas frame, else by position.
        classes: The classes, in the order of their probabilities; inferred from the votes if not given.
            If classes are names, an LF may also vote for a class by its number in this order.
        n_classes: Number of classes, if classes are numbers.
        jobs: Number of processes that run functions of a row; for functions that compute.
        threads: Number of rows at a time for functions of a row; for functions that wait, for instance
            for an answer over the network.
        on_error: `"raise"`: an LF that fails is an error that names the LF and the row. `"abstain"`: it abstains
            there, `failures` of the result counts such items, and a warning says so.
        cache: Folder that keeps every result of each LF: an LF is called again only for rows on which it
            failed, or if it or what it reads changed. `LFCache` lists and clears it.
        progress: Whether to show how much is done, how fast, what failed, and the time left.
        like: Votes of the same LFs on other data: scores are cut where theirs are.

    Returns:
        `Votes` of data in memory, with the number of `failures` of each LF. For a lazy frame: a frame of the same
        kind, still lazy, with one added column of votes per LF, null where it abstains; classes that are names
        must be stated, unless every LF has its `vote` stated.

    Raises:
        LFError: An LF failed.

    >>> from hyperlabel.lf import keyword_lf, labeling_function
    >>> @labeling_function
    ... def short(x):
    ...     return "ham" if len(x.text) < 12 else None
    >>> votes = apply_lfs([short, keyword_lf("free", "spam")], [{"text": "free money"}, {"text": "nothing to see"}])
    >>> votes.classes, votes.lf_names, votes.cells.tolist()
    (('ham', 'spam'), ('short', 'keyword_free'), [[0, 1], [-1, -1]])
    """
    checked, stated = check_lfs(lfs), state_classes(n_classes, classes)
    check_choice(on_error, "on_error", ["raise", "abstain"])
    folder = None if cache is None else check_path(cache, "cache", "the path of a folder")
    tolerant, engine = on_error == "abstain", lazy_engine(data)
    if engine is not None:
        given = {"jobs": jobs != 1, "threads": threads != 1, "cache": cache is not None, "progress": progress}
        _check_lazy(engine, checked, [name for name, is_given in given.items() if is_given])
        return apply_lazily(engine, checked, data, stated, tolerant=tolerant)
    items = read_items(data)
    answers = run_lfs(checked, items, jobs=jobs, threads=threads, tolerant=tolerant, folder=folder, progress=progress)
    pairs = dict(zip(checked, answers, strict=True))
    votes = _read_votes(pairs, classes, n_classes, like)
    ids, origin = identify_data(data)
    failures = {lf.name: answer.failures for lf, answer in pairs.items()}
    replies = {lf.name: answer.replies.to_list() for lf, answer in pairs.items() if answer.replies is not None}
    parts = {part.name: getattr(votes, part.name) for part in fields(votes)}
    return AppliedVotes(**parts | {"items": ids, "origin": origin, "failures": failures, "answers": replies})


def run_lfs(
    lfs: Sequence[LabelingFunction],
    items: Items,
    *,
    jobs: int = 1,
    threads: int = 1,
    tolerant: bool = False,
    folder: Path | None = None,
    progress: bool = False,
) -> list[Answer]:
    """Run checked LFs over items, in parallel and through a cache if requested, and warn of those that fail."""
    _check_parallel(lfs, jobs, threads)
    if not items.n:
        raise VotesError("data has no items; expected at least one")
    shown = show_progress(items.n * len(lfs), wanted=True) if progress else nullcontext(lambda votes, failed=0: None)
    with shown as advance:
        by_row: Callable[..., list[Answer]] = run_rows
        if jobs > 1:
            by_row = partial(run_processes, jobs=jobs)
        elif threads > 1 or progress or folder is not None:  # each call counts as soon as it is done
            by_row = partial(run_threads, threads=threads, count=advance)
        run = partial(run_all, items=items, tolerant=tolerant, advance=advance, by_row=by_row)
        answers = run(lfs) if folder is None else run_cached(lfs, items, folder, run, advance)
    if doubts := list(_find_doubts(dict(zip(lfs, answers, strict=True)), items.n)):
        warn_of_votes(doubts)
    return answers


def _check_lazy(engine: str, lfs: Sequence[LabelingFunction], arguments: Sequence[str]) -> None:
    """Refuse what needs data in memory: the parts of a lazy frame do not know each other."""
    for name in arguments:
        raise ParameterError(
            f"{name} is given, but data is a {engine} frame, which runs the LFs itself when it is computed; "
            f"leave {name} out"
        )
    for lf in lfs:
        if lf.scores is not None or lf.policy.rate is not None:
            what = "returns scores" if lf.scores is not None else "has a rate"
            raise ParameterError(
                f"LF '{lf.name}' {what}, but data is a {engine} frame, whose parts run apart; collect the data first"
            )


def _check_parallel(lfs: Sequence[LabelingFunction], jobs: Any, threads: Any) -> None:
    check_number(jobs, "jobs", "a number of processes, at least 1", least=1, whole=True)
    check_number(threads, "threads", "a number of calls at a time, at least 1", least=1, whole=True)
    if jobs > 1 and threads > 1:
        raise ParameterError(f"jobs is {jobs} and threads is {threads}; expected one of them to be 1")
    limited = next((lf for lf in lfs if lf.policy.rate is not None), None)
    if jobs > 1 and limited is not None:
        raise ParameterError(
            f"LF '{limited.name}' has a rate, which {jobs} processes cannot share; use threads instead of jobs"
        )


def _find_doubts(answers: Mapping[LabelingFunction, Answer], n: int) -> Iterator[str]:
    """Yield what users should know about LFs that abstain."""
    for lf, answer in answers.items():
        if answer.failures:
            yield (
                f"LF '{lf.name}' failed on {answer.failures:,} of {n:,} items and abstains there; the first: "
                f"{answer.failure:.300}"
            )
        if answer.replies is not None and len(answer.replies.values) and (answer.codes < 0).all():
            yield (
                f"LF '{lf.name}' never votes: none of its answers names a class, such as "
                f"{show(answer.replies.values[0], 100)}; look at its prompt, or give it another parse"
            )


def _read_votes(
    answers: Mapping[LabelingFunction, Answer],
    classes: Sequence[Hashable] | None,
    n_classes: int | None,
    like: Votes | None,
) -> Votes:
    """Return the votes of LFs that vote for classes, lean to several, or return scores."""
    scores = {lf.name: _read_scores(lf.name, *lf.scores, answer) for lf, answer in answers.items() if lf.scores}
    columns = [answer.column(lf.name) for lf, answer in answers.items() if lf.name not in scores]
    votes = _encode_votes(columns, classes, n_classes) if columns else None
    if not scores:
        assert votes is not None  # there is an LF
        return votes
    ordered = classes if votes is None else votes.classes
    if ordered is None:
        raise ParameterError(
            f"LF '{next(iter(scores))}' returns scores, and no LF votes for a class; state the classes, from low "
            "scores to high ones, with classes"
        )
    scored = Votes.from_scores(
        np.stack(list(scores.values()), 1), classes=ordered, lfs=list(scores), scale=(0.0, 1.0), like=like
    )
    return scored if votes is None else votes.join(scored).with_lfs([lf.name for lf in answers])


def _encode_votes(columns: list[Column], classes: Sequence[Hashable] | None, n_classes: int | None) -> Votes:
    stated = state_classes(n_classes, classes)
    columns, partial_votes = set_aside(columns, stated)
    if stated is None:
        names = infer_classes(columns)
    elif classes is None:
        names = complete_classes(infer_classes(columns, n_classes), n_classes)
    else:
        names = stated
        columns = [replace(column, values=name_votes(column.values, names)) for column in columns]
    cells, outcomes = encode_columns(columns, names, partial_votes)
    lfs = tuple(column.name for column in columns)
    return Votes.from_parts(names, lfs, cells, stated=stated is not None, outcomes=outcomes)


def _read_scores(name: str, low: float, high: float, answer: Answer) -> NDArray[np.float64]:
    """The scores of an LF, from 0 for its least score to 1 for its largest; NaN where it abstains. -> (n,)."""
    scores = []
    for code, value in enumerate(answer.values):
        if value == ABSTAIN and low > ABSTAIN:
            scores.append(np.nan)
        elif isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            scores.append((value - low) / (high - low))
        else:
            row = int((answer.codes == code).argmax())
            raise LFError(
                f"{describe_vote(name, row)} is {show(value)}; expected a score from {low:g} to {high:g}, or None",
                name,
                row,
            )
    return np.asarray(np.array([*scores, np.nan])[answer.codes])


# Lazy frames: rows never come here; each part of the data gets its votes where it is.


def lazy_engine(data: object) -> str | None:
    """Return the engine of data, if it is a lazy frame."""
    if library_of(data, "LazyFrame") == "polars":
        return "Polars"
    return _ENGINES.get(library_of(data, "DataFrame") or "")


def apply_lazily(
    engine: str, lfs: Sequence[LabelingFunction], frame: Any, classes: Classes | None, *, tolerant: bool
) -> Any:
    """The frame with one column of votes for each LF added, null where it abstains; nothing is computed yet."""
    voter = Voter(tuple(lfs), classes, _votes_are_texts(lfs, classes), tolerant)
    names = frame.collect_schema().names() if engine == "Polars" else list(frame.columns)
    taken = next((lf.name for lf in lfs if lf.name in names), None)
    if taken is not None:
        raise ParameterError(f"data already has a column {taken!r}, which is the name of an LF; rename one of the two")
    return {"Polars": _apply_polars, "Dask": _apply_dask, "Spark": _apply_spark}[engine](voter, frame)


@dataclass(frozen=True)
class Voter:
    """LFs and what their columns of votes hold."""

    lfs: tuple[LabelingFunction, ...]
    classes: Classes | None  # the classes if they are stated
    texts: bool  # whether votes are class names; otherwise they are class numbers
    tolerant: bool  # whether a failure is an abstention instead of an error

    def vote(self, part: Any) -> Iterator[tuple[str, list[Any], NDArray[np.intp]]]:
        """For each LF its name, its distinct votes with None at the end, and (n,) positions among them."""
        for lf, answer in zip(self.lfs, run_all(self.lfs, read_items(part), tolerant=self.tolerant), strict=True):
            votes = name_votes(answer.values, self.classes) if self.classes is not None else answer.values
            values = [*(self._check(lf.name, vote) for vote in votes), None]
            yield lf.name, values, np.where(answer.codes < 0, len(values) - 1, answer.codes).astype(np.intp)

    def _check(self, name: str, value: Any) -> Any:
        """A vote as the column holds it."""
        if Column.is_abstain(value):
            return None
        if self.classes is not None:
            if value in self.classes:
                return value
            raise LFError(
                f"LF '{name}' votes {show(value)}; expected one of the classes {show_some(self.classes)}", name
            )
        if isinstance(value, str) if self.texts else _is_number(value) and value >= 0:
            return value
        expected = "a class name, like the votes of other LFs" if self.texts else "a class number, 0 or more"
        raise LFError(f"LF '{name}' votes {show(value)}; expected {expected}. State all classes with classes", name)


def name_votes(values: Sequence[Any], classes: Classes) -> tuple[Any, ...]:
    """Return votes by class number as the stated classes, if those are not numbers themselves."""
    if any(_is_number(c) for c in classes):
        return tuple(values)
    k = len(classes)
    return tuple(classes[v] if _is_number(v) and 0 <= v < k else v for v in values)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _votes_are_texts(lfs: Sequence[LabelingFunction], classes: Classes | None) -> bool:
    """Return whether columns of votes hold strings: a lazy frame must know before an LF runs."""
    if classes is None:
        stated: list[Any] = [lf.vote for lf in lfs]
        stated += [vote for lf in lfs if isinstance(lf, PromptFunction) for vote in lf.classes]
        stated += [vote for lf in lfs if isinstance(lf.function, Lookup) for vote in lf.function.table.values()]
        return any(isinstance(vote, str) for vote in stated)
    if all(isinstance(c, str) for c in classes):
        return True
    if all(_is_number(c) for c in classes):
        return False
    raise ParameterError(f"classes is [{show_some(classes)}]; expected only strings or only numbers, for a lazy frame")


def _apply_polars(voter: Voter, frame: Any) -> Any:
    import polars as pl

    dtype = pl.String() if voter.texts else pl.Int32()

    def add_votes(part: Any) -> Any:
        votes = voter.vote(part)
        return part.with_columns(pl.Series(name, values, dtype=dtype)[codes] for name, values, codes in votes)

    schema = frame.collect_schema() | {lf.name: dtype for lf in voter.lfs}
    # LFs may read columns that nobody selects afterwards.
    return frame.map_batches(add_votes, schema=pl.Schema(schema), streamable=True, projection_pushdown=False)


def _apply_dask(voter: Voter, frame: Any) -> Any:
    import pandas as pd

    dtype = pd.StringDtype("pyarrow") if voter.texts else pd.Int32Dtype()
    meta = frame._meta.assign(**{lf.name: pd.array([], dtype) for lf in voter.lfs})
    return frame.map_partitions(_add_to_pandas, voter, dtype, meta=meta)


def _add_to_pandas(part: Any, voter: Voter, dtype: Any) -> Any:
    import pandas as pd

    votes = voter.vote(part)
    return part.assign(**{name: pd.array(values, dtype).take(codes) for name, values, codes in votes})


def _apply_spark(voter: Voter, frame: Any) -> Any:
    from pyspark.sql.types import IntegerType, StringType, StructField, StructType

    kind = StringType() if voter.texts else IntegerType()
    fields = [StructField(lf.name, kind, nullable=True) for lf in voter.lfs]
    return frame.mapInArrow(_add_to_arrow(voter), StructType([*frame.schema.fields, *fields]))


def _add_to_arrow(voter: Voter) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def add_votes(parts: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        kind = pa.string() if voter.texts else pa.int32()
        for part in parts:
            votes = {name: pa.array(values, kind).take(pa.array(codes)) for name, values, codes in voter.vote(part)}
            yield pa.RecordBatch.from_arrays([*part.columns, *votes.values()], [*part.schema.names, *votes])

    return add_votes
