"""Threads, async LFs, timeouts, rates and retries."""

import asyncio
import functools
import threading
import time

import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError, VotesWarning
from hyperlabel.lf import ColumnFunction, LabelingFunction, LFError, apply_lfs, keyword_lf, labeling_function
from hyperlabel.lf._progress import Progress, ProgressLines

FRAME = pd.DataFrame({"id": range(60), "text": [f"text {i}" for i in range(60)]})


@pytest.fixture
def quick(monkeypatch):
    """Pauses before further tries that tests can wait for."""
    monkeypatch.setattr("hyperlabel.lf._retries.FIRST_PAUSE", 0.001)


class Busy:
    """How many calls there are at a time."""

    def __init__(self):
        self.now = self.most = self.calls = 0
        self.lock = threading.Lock()

    def __enter__(self):
        with self.lock:
            self.now += 1
            self.calls += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *error):
        with self.lock:
            self.now -= 1


def wait_in(busy, seconds=0.005):
    def wait(x):
        with busy:
            time.sleep(seconds)
        return "odd" if x.id % 2 else None

    return wait


def wait_async_in(busy, seconds=0.005):
    async def wait(x):
        with busy:
            await asyncio.sleep(seconds)
        return "odd" if x.id % 2 else None

    return wait


@pytest.mark.parametrize("make", [wait_in, wait_async_in], ids=["plain", "async"])
def test_threads_vote_as_one_and_call_so_many_at_a_time(make):
    busy = Busy()
    lfs = [LabelingFunction("slow", make(busy)), keyword_lf("7", "seven")]
    alone, together = apply_lfs(lfs, FRAME), apply_lfs(lfs, FRAME, threads=8)
    assert together.cells.tolist() == alone.cells.tolist()
    assert 4 < busy.most <= 8
    assert busy.calls == 120


@pytest.mark.parametrize("data", [FRAME, pl.from_pandas(FRAME), FRAME.to_dict("records"), pl.from_pandas(FRAME).lazy()])
def test_async_lf_votes_wherever_a_plain_one_does(data):
    @labeling_function(vote=1, resources={"most": 30})
    async def late(x, most):
        await asyncio.sleep(0)
        return x.id > most

    votes = apply_lfs([late], data)
    if isinstance(data, pl.LazyFrame):
        assert votes.collect()["late"].to_list() == [None] * 31 + [1] * 29
    else:
        assert votes.cells[:, 0].tolist() == [-1] * 31 + [1] * 29
    assert late(pd.Series({"id": 31})) == 1


def test_async_lf_in_processes():
    async def odd(x):
        return x % 2

    assert apply_lfs([LabelingFunction("odd", odd)], [1, 2, 3], jobs=2).cells[:, 0].tolist() == [1, 0, 1]


def test_async_callables_of_all_kinds_share_one_loop():
    loops = []

    class Client:
        async def __call__(self, x):
            loops.append(asyncio.get_running_loop())
            return 1

        async def ask(self, x, more=0):
            return await self(x)

    lfs = [
        LabelingFunction("object", Client()),
        LabelingFunction("method", Client().ask),
        LabelingFunction("partial", functools.partial(Client().ask, more=1)),
    ]
    assert apply_lfs(lfs, ["a", "b"], threads=2).cells.tolist() == [[1, 1, 1]] * 2
    assert len(set(loops)) == 1


def test_lf_that_fails_in_threads_is_reported_with_the_first_row():
    def bad(x):
        time.sleep(0.001)
        return 1 // (0 if x.id in (20, 23, 50) else 1)

    lf = LabelingFunction("bad", bad)
    with pytest.raises(LFError, match="LF 'bad' failed on row 20 with ZeroDivisionError") as caught:
        apply_lfs([lf], FRAME, threads=8)
    assert (caught.value.lf, caught.value.row) == ("bad", 20)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    message = "LF 'bad' failed on 3 of 60 items and abstains there; the first: row 20 with ZeroDivisionError"
    with pytest.warns(VotesWarning, match=message):
        votes = apply_lfs([lf], FRAME, threads=8, on_error="abstain")
    assert votes.failures == {"bad": 3}


@pytest.mark.parametrize("threads", [1, 4])
def test_what_no_lf_may_raise_ends_the_run(threads):
    def interrupt(x):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        apply_lfs([LabelingFunction("exit", interrupt)], FRAME, threads=threads, on_error="abstain", progress=True)


def test_vote_that_is_no_vote_is_named_by_its_row():
    with pytest.raises(VotesError, match=r"the vote of LF 'f' on row 3 is \[1\] .list.; expected a single value"):
        apply_lfs([LabelingFunction("f", lambda x: [1] if x == 3 else 1)], list(range(6)), threads=2)


# Timeouts.


@pytest.mark.parametrize("how", [{}, {"threads": 4}], ids=str)
def test_call_that_takes_too_long_fails(how):
    @labeling_function(timeout=1)
    def hangs(x):
        threading.Event().wait(10 if x == 2 else 0)
        return 1

    @labeling_function(timeout=1)
    async def hangs_too(x):
        await asyncio.sleep(10 if x == 2 else 0)
        return 1

    for lf in (hangs, hangs_too):
        message = f"LF '{lf.name}' failed on row 2 with TimeoutError: no answer within 1 s"
        with pytest.raises(LFError, match=message):
            apply_lfs([lf], list(range(5)), **how)
        with pytest.warns(VotesWarning, match="failed on 1 of 5 items"):
            assert apply_lfs([lf], list(range(5)), on_error="abstain", **how).failures == {lf.name: 1}


def test_async_call_that_takes_too_long_is_cancelled():
    ended = threading.Event()

    async def hangs(x):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.set()
            raise

    with pytest.raises(TimeoutError, match="no answer within 0.02 s"):
        LabelingFunction("hangs", hangs, timeout=0.02)("a")
    assert ended.wait(10)


def test_timeout_of_the_function_itself_keeps_its_words():
    @labeling_function(timeout=10)
    def refused(x):
        raise TimeoutError("the server is busy")

    with pytest.raises(LFError, match="TimeoutError: the server is busy"):
        apply_lfs([refused], ["a"])


# Retries.


class Flaky:
    """Fails so often before it votes, for each row."""

    def __init__(self, often, error):
        self.often, self.error, self.calls = often, error, []

    def __call__(self, x):
        self.calls.append(x)
        if self.calls.count(x) <= self.often:
            raise self.error
        return 1


@pytest.mark.parametrize("how", [{}, {"threads": 4}], ids=str)
def test_exceptions_that_are_named_are_tried_again(quick, how):
    flaky = Flaky(2, ConnectionResetError("gone"))
    lf = LabelingFunction("flaky", flaky, retry=ConnectionError, tries=3)
    assert apply_lfs([lf], list(range(9)), **how).cells[:, 0].tolist() == [1] * 9
    assert len(flaky.calls) == 27


def test_exceptions_are_not_tried_more_often_than_stated(quick):
    flaky = Flaky(9, ConnectionError("gone"))
    with pytest.raises(LFError, match="failed on row 0 with ConnectionError: gone"):
        apply_lfs([LabelingFunction("flaky", flaky, retry=(KeyError, ConnectionError), tries=4)], ["a"])
    assert len(flaky.calls) == 4


def test_exceptions_that_are_not_named_are_not_tried_again():
    flaky = Flaky(9, KeyError("gone"))
    with pytest.raises(LFError, match="KeyError: gone"):
        apply_lfs([LabelingFunction("flaky", flaky, retry=ConnectionError)], ["a"])
    assert len(flaky.calls) == 1


def test_timeouts_can_be_tried_again(quick):
    calls = []

    @labeling_function(timeout=0.5, retry=TimeoutError)
    def slow_at_first(x):
        calls.append(x)
        threading.Event().wait(10 if len(calls) == 1 else 0)
        return 1

    assert apply_lfs([slow_at_first], ["a"]).cells.tolist() == [[1]]
    assert len(calls) == 2


def test_pauses_double_up_to_a_limit_and_vary(monkeypatch):
    pauses = []
    monkeypatch.setattr("hyperlabel.lf._retries.RateLimiter.pause", lambda limiter, seconds: pauses.append(seconds))
    with pytest.raises(LFError):
        apply_lfs([LabelingFunction("flaky", Flaky(99, OSError()), retry=OSError, tries=10)], ["a"])
    longest = [min(0.5 * 2**i, 30) for i in range(9)]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len({round(pause / most, 6) for pause, most in zip(pauses, longest, strict=True)}) > 1


def test_failure_ends_the_pauses_of_other_rows():
    tried = threading.Event()

    def fails(x):
        if x == 0:
            tried.set()
            raise ConnectionError
        tried.wait(60)
        raise KeyError(x)

    start = time.monotonic()
    with pytest.raises(LFError, match="failed on row 1 with KeyError"):
        apply_lfs([LabelingFunction("f", fails, retry=ConnectionError, tries=99)], [0, 1], threads=2)
    assert time.monotonic() - start < 900  # 99 tries take the better part of an hour


# Rates.


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that calls would make if they all started at once."""
    seconds = []
    monkeypatch.setattr("hyperlabel.lf._retries.time.monotonic", lambda: 0.0)
    monkeypatch.setattr("hyperlabel.lf._retries.RateLimiter.pause", lambda limiter, pause: seconds.append(pause))
    return seconds


@pytest.mark.parametrize("threads", [1, 8])
def test_calls_start_at_the_rate_that_is_stated(pauses, threads):
    apply_lfs([LabelingFunction("paced", lambda x: 1, rate=100)], list(range(21)), threads=threads)
    assert sorted(pauses) == pytest.approx([i / 100 for i in range(21)])


def test_further_tries_keep_the_rate_too(quick, pauses):
    flaky = Flaky(1, OSError())
    apply_lfs([LabelingFunction("paced", flaky, rate=100, retry=OSError)], list(range(8)), threads=8)
    assert len(flaky.calls) == 16
    assert sorted(pauses)[-15:] == pytest.approx([i / 100 for i in range(1, 16)])  # after the pauses of retries


# Arguments.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "LF 'f': timeout is 0; expected a number of seconds above 0, or None"),
        ({"rate": -1}, "LF 'f': rate is -1; expected a number of calls per second above 0, or None"),
        ({"tries": 0}, "LF 'f': tries is 0; expected a whole number, at least 1"),
        ({"tries": True}, "LF 'f': tries is True; expected a whole number"),
    ],
)
def test_limits_of_calls_that_are_impossible_are_an_error(options, message):
    with pytest.raises(ParameterError, match=message):
        LabelingFunction("f", len, **options)


def test_function_of_whole_columns_takes_no_limits_of_calls():
    with pytest.raises(ParameterError, match="LF 'f' reads whole columns and is called once; leave timeout, rate"):
        labeling_function("f", columns=True, rate=3)(len)

    async def f(frame):
        return []

    with pytest.raises(ParameterError, match="LF 'f' reads whole columns and cannot be async"):
        ColumnFunction("f", f)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": 0}, "threads is 0; expected a number of calls at a time, at least 1"),
        ({"threads": True}, "threads is True; expected a number of calls"),
        ({"threads": 2, "jobs": 2}, "jobs is 2 and threads is 2; expected one of them to be 1"),
        ({"jobs": 2}, "LF 'f' has a rate, which 2 processes cannot share; use threads"),
    ],
)
def test_threads_that_cannot_be_are_an_error(arguments, message):
    with pytest.raises(ParameterError, match=message):
        apply_lfs([LabelingFunction("f", len, rate=3)], ["a"], **arguments)


def test_lazy_frame_takes_neither_threads_nor_rates():
    with pytest.raises(ParameterError, match="threads is given, but data is a Polars frame"):
        apply_lfs([LabelingFunction("f", len)], pl.LazyFrame({"a": [1]}), threads=2)
    with pytest.raises(ParameterError, match="LF 'f' has a rate, but data is a Polars frame"):
        apply_lfs([LabelingFunction("f", len, rate=3)], pl.LazyFrame({"a": [1]}))


# Progress.


def test_progress_in_lines_tells_rate_failures_and_time_left(capsys):
    now = [0.0]
    progress = Progress(1000, ProgressLines(lambda: now[0]))
    for seconds, done, failed in ((10, 99, 2), (20, 1, 0), (40, 1, 0), (60, 899, 0)):
        now[0] = float(seconds)
        progress(done, failed)
    assert capsys.readouterr().err.splitlines() == [
        "labeling functions: 10%, 5 votes/s, 2 failed, 3 min 0 s left",
        "labeling functions: 100%, 22 votes/s, 2 failed",
    ]
    now[0] = 0.0
    progress = Progress(1000, ProgressLines(lambda: now[0]))
    for _ in range(3):
        now[0] += 31.0
        progress(1)
    assert capsys.readouterr().err.splitlines()[-1] == "labeling functions: 0%, 0.032 votes/s, 8 h 35 min left"


def test_progress_on_a_terminal_shows_failures(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with pytest.warns(VotesWarning, match="failed on 2 of 2"):
        apply_lfs([LabelingFunction("bad", lambda x: 1 // 0)], [1, 2], progress=True, on_error="abstain", threads=2)
    shown = capsys.readouterr().err
    assert "2 failed" in shown
    assert "votes/s" in shown or "100%" in shown


def test_progress_counts_each_call_once(monkeypatch):
    told = []
    monkeypatch.setattr(Progress, "__call__", lambda self, done, failed=0: told.append((done, failed)))
    lfs = [LabelingFunction("bad", lambda x: 1 // x), keyword_lf("a", 1, column="x")]
    with pytest.warns(VotesWarning):
        hl.apply_lfs(lfs, [0, 1, 2], progress=True, on_error="abstain")
    assert sorted(told) == [(1, 0), (1, 0), (1, 1), (3, 0)]


def test_threads_that_help_with_timeouts_end_with_the_run():
    before = threading.active_count()
    apply_lfs([LabelingFunction("f", len, timeout=10)], ["a"] * 50, threads=8)
    end = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before
