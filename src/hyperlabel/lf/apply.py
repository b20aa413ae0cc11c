"""Applying LFs to data: lists, frames in memory, and lazy frames of engines."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_choice, check_flag, check_number, check_path
from hyperlabel.errors import ParameterError, VotesError, warn_of_votes
from hyperlabel.lf.define import LabelingFunction, LFError, check_lfs
from hyperlabel.lf.items import Items, read_items
from hyperlabel.lf.lazy import apply_lazily, lazy_engine, name_votes
from hyperlabel.lf.progress import Progress, show_progress
from hyperlabel.lf.run import Advance, Answer, RunRows, place, run_all, run_rows
from hyperlabel.shown import show
from hyperlabel.votes import Votes
from hyperlabel.votes.classes import ABSTAIN, complete_classes, infer_classes, smallest_type, state_classes
from hyperlabel.votes.items import Origin, identify_data
from hyperlabel.votes.partial import encode_votes, set_aside, state_outcomes

Answered = tuple[LabelingFunction, Answer]  # an LF and what it answered


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
        return {"answers": {lf: [said[i] for i in index.tolist()] for lf, said in self.answers.items()}}

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
            like, else by the index of a pandas frame, else by place.
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
    made = check_lfs(lfs)
    stated = state_classes(n_classes, classes)
    check_choice(on_error, "on_error", ["raise", "abstain"])
    check_flag(progress, "progress")
    folder = None if cache is None else check_path(cache, "cache", "the path of a folder")
    _check_parallel(made, jobs, threads)
    tolerant = on_error == "abstain"
    engine = lazy_engine(data)
    if engine is not None:
        _check_eager(
            engine, {"jobs": jobs != 1, "threads": threads != 1, "cache": cache is not None, "progress": progress}
        )
        _check_voting(engine, made)
        return apply_lazily(engine, made, data, stated, tolerant=tolerant)
    items = read_items(data)
    if not items.n:
        raise VotesError("data has no items; expected at least one")
    with show_progress(items.n * len(made), progress) as shown:
        by_row = _by_row(jobs, threads, progress or cache is not None, shown)
        run = partial(run_all, items=items, tolerant=tolerant, advance=shown, by_row=by_row)
        answers = run(made) if folder is None else _run_cached(made, items, folder, run, shown)
    warn_of_votes(_doubts(made, answers, items.n))
    return _votes(made, answers, classes, n_classes, like, identify_data(data))


def _check_eager(engine: str, wanted: Mapping[str, bool]) -> None:
    """Refuse arguments that only work with data in memory."""
    for name, given in wanted.items():
        if given:
            raise ParameterError(
                f"{name} is given, but data is a {engine} frame, which runs the LFs itself when it is computed; "
                f"leave {name} out"
            )


def _check_voting(engine: str, lfs: Sequence[LabelingFunction]) -> None:
    """Refuse scores and rates: the parts of a lazy frame do not know each other, but scores are cut by all of them."""
    for lf in lfs:
        if lf.scores is not None:
            raise ParameterError(
                f"LF '{lf.name}' returns scores, but data is a {engine} frame; collect the data, or let it vote"
            )
        if lf.patience.rate is not None:
            raise ParameterError(
                f"LF '{lf.name}' has a rate, but data is a {engine} frame, whose parts cannot keep it; collect it first"
            )


def _check_parallel(lfs: Sequence[LabelingFunction], jobs: Any, threads: Any) -> None:
    check_number(jobs, "jobs", "a number of processes, at least 1", least=1, whole=True)
    check_number(threads, "threads", "a number of calls at a time, at least 1", least=1, whole=True)
    if jobs > 1 and threads > 1:
        raise ParameterError(f"jobs is {jobs} and threads is {threads}; expected one of them to be 1")
    paced = next((lf for lf in lfs if lf.patience.rate is not None), None)
    if jobs > 1 and paced is not None:
        raise ParameterError(
            f"LF '{paced.name}' has a rate, which {jobs} processes cannot share; use threads instead of jobs"
        )


def _run_cached(
    lfs: list[LabelingFunction],
    items: Items,
    folder: Path,
    run: Callable[[list[LabelingFunction]], list[Answer]],
    advance: Advance,
) -> list[Answer]:
    """The answers of LFs: from the cache, or run and put into it."""
    from hyperlabel.lf.cache import OpenCache  # only when needed: `import hyperlabel` must be fast

    cache = OpenCache(folder, items)
    keeping = [cache.keep_rows(lf) for lf in lfs]
    found = {lf.name: cache.load(lf) for lf in keeping}
    waiting = [lf for lf in keeping if found[lf.name] is None]
    advance(items.n * (len(lfs) - len(waiting)))
    for lf, answer in zip(waiting, run(waiting), strict=True):
        cache.store(lf, answer)
        found[lf.name] = answer
    return [answer for answer in found.values() if answer is not None]


def _by_row(jobs: int, threads: int, one_by_one: bool, shown: Progress) -> RunRows:
    """How functions of a row are run."""
    if jobs > 1:
        from hyperlabel.lf.jobs import run_jobs

        return partial(run_jobs, jobs=jobs)
    if threads > 1 or one_by_one:
        from hyperlabel.lf.calls import run_calls

        return partial(run_calls, threads=threads, tell=shown)
    return run_rows


def _doubts(lfs: list[LabelingFunction], answers: list[Answer], n: int) -> Iterator[str]:
    """What users should know about LFs that abstain."""
    for lf, answer in zip(lfs, answers, strict=True):
        if answer.failures:
            yield (
                f"LF '{lf.name}' failed on {answer.failures:,} of {n:,} items and abstains there; the first: "
                f"{answer.failure:.300}"
            )
        if answer.said is not None and len(answer.said.values) and (answer.codes < 0).all():
            yield (
                f"LF '{lf.name}' never votes: none of its answers names a class, such as "
                f"{show(answer.said.values[0], 100)}; look at its prompt, or give it another parse"
            )


def _votes(
    lfs: list[LabelingFunction],
    answers: list[Answer],
    classes: Sequence[Hashable] | None,
    n_classes: int | None,
    like: Votes | None,
    named: tuple[NDArray[Any] | None, Origin],
) -> AppliedVotes:
    pairs = list(zip(lfs, answers, strict=True))
    voting, scoring = [pair for pair in pairs if pair[0].scores is None], [pair for pair in pairs if pair[0].scores]
    votes = _class_votes(voting, classes, n_classes) if voting else None
    if scoring:
        scored = _score_votes(scoring, classes if votes is None else votes.classes, like)
        votes = scored if votes is None else votes.join(scored).with_lfs([lf.name for lf in lfs])
    assert votes is not None  # there is an LF
    return AppliedVotes(
        votes.n_items,
        votes.n_lfs,
        votes.classes,
        votes.stated,
        votes.lf_names,
        items=named[0],
        cells=votes.cells,
        origin=named[1],
        outcomes=votes.outcomes,
        failures={lf.name: answer.failures for lf, answer in pairs},
        answers={lf.name: answer.said.listed() for lf, answer in pairs if answer.said is not None},
    )


def _class_votes(pairs: Sequence[Answered], classes: Sequence[Hashable] | None, n_classes: int | None) -> Votes:
    """The votes of LFs that vote for classes, or lean to several."""
    columns = [answer.column(lf.name) for lf, answer in pairs]
    stated = state_classes(n_classes, classes)
    columns, leaning = set_aside(columns, stated)
    if stated is None or classes is None:
        known = complete_classes(infer_classes(columns, n_classes), n_classes)
    else:
        known = stated
        columns = [replace(column, values=name_votes(column.values, known)) for column in columns]
    outcomes = state_outcomes(leaning, known)
    cells = np.empty((len(columns[0].codes), len(columns)), smallest_type(len(known) + len(leaning)))
    for j, column in enumerate(columns):
        cells[:, j] = encode_votes(column, known, outcomes)
    names = tuple(lf.name for lf, _ in pairs)
    is_stated = classes is not None or n_classes is not None
    return Votes(len(cells), len(names), known, is_stated, names, cells=cells, outcomes=outcomes)


def _score_votes(pairs: Sequence[Answered], classes: Sequence[Hashable] | None, like: Votes | None) -> Votes:
    """The votes of LFs that return scores, cut into levels."""
    if classes is None:
        raise ParameterError(
            f"LF '{pairs[0][0].name}' returns scores, and no LF votes for a class; state the classes, from low "
            "scores to high ones, with classes"
        )
    scores = np.stack([_read_scores(lf, answer) for lf, answer in pairs], 1)
    names = [lf.name for lf, _ in pairs]
    return Votes.from_scores(scores, classes=classes, lfs=names, scale=(0.0, 1.0), like=like)


def _read_scores(lf: LabelingFunction, answer: Answer) -> NDArray[np.float64]:
    """The scores of an LF, from 0 for its least score to 1 for its largest; NaN where it abstains. -> (n,)."""
    assert lf.scores is not None
    low, high = lf.scores
    scores = []
    for code, value in enumerate(answer.values):
        if value == ABSTAIN and low > ABSTAIN:
            scores.append(np.nan)
        elif isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            scores.append((value - low) / (high - low))
        else:
            row = int((answer.codes == code).argmax())
            raise LFError(
                f"{place(lf.name, row)} is {show(value)}; expected a score from {low:g} to {high:g}, or None",
                lf.name,
                row,
            )
    return np.asarray(np.array([*scores, np.nan])[answer.codes])
