"""The cache of `apply_lfs`: what is kept, what is called again, and what damage does."""

import random
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError
from hyperlabel.lf import LabelingFunction, LFError, apply_lfs, expression_lf, keyword_lf, read_items, run_all
from hyperlabel.lf._cache import run_cached
from hyperlabel.lf._run import run_columns

FRAME = pd.DataFrame({"id": range(4), "text": ["a", "b", "a b", None]})


def logged(log, word, name="lf"):
    def function(x):
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{name} {word}\n")
        return "yes" if x.text and word in x.text else None

    return LabelingFunction(name, function)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.touch()
    return path


@pytest.fixture
def calls(log):
    """How many calls were made since this was last asked."""

    def ask():
        n = len(log.read_text().splitlines())
        log.write_text("")
        return n

    return ask


@pytest.mark.parametrize("how", [{}, {"threads": 3}, {"jobs": 2}], ids=str)
def test_row_that_is_known_is_not_asked_about_again(tmp_path, log, calls, how):
    folder = tmp_path / "new" / "folder"
    lf = logged(log, "a")
    first = apply_lfs([lf], FRAME, cache=folder, **how)
    assert calls() == 4
    again = apply_lfs([lf], FRAME.copy(), cache=str(folder), **how)
    forget_data(folder)
    assert apply_lfs([lf], FRAME, cache=folder, **how).cells.tolist() == first.cells.tolist()
    assert calls() == 0
    assert again.cells.tolist() == first.cells.tolist() == [[0], [-1], [0], [-1]]
    assert (again.classes, again.lf_names, again.failures) == (first.classes, first.lf_names, first.failures)


def test_added_rows_are_the_only_ones_asked_about(tmp_path, log, calls):
    apply_lfs([logged(log, "a")], FRAME, cache=tmp_path)
    calls()
    more = pd.concat([FRAME, pd.DataFrame({"id": [9], "text": ["new a"]})])[::-1]
    assert apply_lfs([logged(log, "a")], more, cache=tmp_path).cells[:, 0].tolist() == [0, -1, 0, -1, 0]
    assert calls() == 1


def test_columns_that_the_lf_does_not_read_make_no_difference(tmp_path, log, calls):
    apply_lfs([logged(log, "a")], FRAME, cache=tmp_path)
    calls()
    for other in (
        FRAME.assign(z=1),
        FRAME.assign(id=7),
        FRAME[["text"]],
        pl.from_pandas(FRAME),
        FRAME.to_dict("records"),
    ):
        apply_lfs([logged(log, "a")], other, cache=tmp_path)
        assert calls() == 0
    apply_lfs([logged(log, "a")], FRAME.assign(text=["a", "b", "c", None]), cache=tmp_path)
    assert calls() == 1


BRANCH = """
def f(x):
    with open(LOG, "a") as file: file.write("x\\n")
    if x.kind == "new" and "price" in x:
        return 1 if x["price"] > 3 else 0
    return x.get("old", 0)
"""


def test_columns_that_are_read_on_some_rows_only_count_there(tmp_path, log, calls):
    scope = {"LOG": str(log)}
    exec(BRANCH, scope)
    lf = LabelingFunction("lf", scope["f"])
    rows = [{"kind": "new", "price": 5, "old": 0}, {"kind": "old", "price": 5, "old": 1}]
    votes = [apply_lfs([lf], rows, cache=tmp_path).cells[:, 0].tolist()]
    assert calls() == 2
    for i, change, wanted, asked in (
        (0, {"old": 1}, [1, 1], 0),
        (1, {"price": 1}, [1, 1], 0),
        (0, {"price": 1}, [0, 1], 1),
        (1, {"old": 0}, [0, 0], 1),
    ):
        rows[i] = rows[i] | change
        votes = apply_lfs([lf], rows, cache=tmp_path).cells[:, 0].tolist()
        assert (votes, calls()) == (wanted, asked)
    del rows[0]["price"]
    rows[0]["old"] = 1
    assert apply_lfs([lf], rows, cache=tmp_path).cells[:, 0].tolist() == [1, 0]
    assert calls() == 1


@pytest.mark.parametrize(
    "source",
    [
        "sum(len(str(v)) for v in x)", "len(repr(x))", "len(dict(x))", "len(x) + len(x.keys())", "hash(x)",
        "len(f'{x}')", "len(pickle.dumps(x))", "tuple(x).index(x.a)", "x.index(x.a)",
    ],
)  # fmt: skip
def test_lf_that_reads_the_row_as_a_whole_is_asked_again_for_any_change(tmp_path, log, calls, source):
    scope = {"LOG": str(log), "pickle": __import__("pickle")}
    exec(f"def f(x):\n with open(LOG, 'a') as file: file.write('x\\n')\n return ({source}) % 1 + 1", scope)
    lf = LabelingFunction("lf", scope["f"])
    for row in ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1, "c": 3}):
        apply_lfs([lf], [row], cache=tmp_path)
        assert calls() == 1
        apply_lfs([lf], [row], cache=tmp_path)
        assert calls() == 0


def test_items_that_are_not_made_of_columns_are_told_apart_whole(tmp_path, log, calls):
    scope = {"LOG": str(log)}
    exec("def f(x):\n with open(LOG, 'a') as file: file.write('x\\n')\n return 1 if x else 0", scope)
    lf = LabelingFunction("lf", scope["f"])
    items = ["a", "", 1, 1.0, True, (1, "a"), np.datetime64("2020-01-01"), None]
    for asked in (len(items), 0):
        assert apply_lfs([lf], items, cache=tmp_path).cells[:, 0].tolist() == [1, 0, 1, 1, 1, 1, 1, 0]
        assert calls() == asked


def test_items_that_cannot_be_told_apart_are_an_error_and_no_failure_of_the_lf(tmp_path):
    items = [(i for i in "ab")]
    with pytest.raises(ParameterError, match="data has <generator .*, which the cache cannot tell from other values"):
        apply_lfs([LabelingFunction("lf", lambda x: 1)], items, cache=tmp_path, on_error="abstain")


def test_lf_that_changed_is_called_again(tmp_path, log, calls):
    lfs = [logged(log, "a", "a"), logged(log, "b", "b")]
    apply_lfs(lfs, FRAME, cache=tmp_path)
    calls()
    changed = apply_lfs([lfs[0], logged(log, "a b", "b")], FRAME, cache=tmp_path)
    assert calls() == 4
    assert changed.cells.tolist() == [[0, -1], [-1, -1], [0, 0], [-1, -1]]


@pytest.mark.parametrize("how", [{}, {"threads": 2}], ids=str)
def test_failure_keeps_what_came_before_and_is_asked_about_again(tmp_path, log, calls, how):
    scope = {"LOG": str(log)}
    exec("def f(x):\n with open(LOG, 'a') as file: file.write('x\\n')\n return 1 // x", scope)
    lf = LabelingFunction("bad", scope["f"])
    items = [*range(1, 150), 0, *range(150, 200)]
    with pytest.raises(LFError, match="LF 'bad' failed on row 149 with ZeroDivisionError"):
        apply_lfs([lf], items, cache=tmp_path, **how)
    before = calls()
    assert 150 <= before <= (200 if how else 150)  # another thread goes on until it hears of the failure
    with pytest.warns(hl.errors.VotesWarning, match="LF 'bad' failed on 1 of 200 items and abstains there"):
        votes = apply_lfs([lf], items, cache=tmp_path, on_error="abstain", **how)
    assert votes.failures == {"bad": 1}
    assert calls() == 201 - before
    with pytest.raises(LFError, match="row 149"):
        apply_lfs([lf], items, cache=tmp_path, **how)
    assert calls() == 1


def test_votes_of_all_kinds_come_back_as_they_were(tmp_path):
    said = ["a", "é\n\ud800", 0, 7, True, None, -1, np.int64(3), np.str_("s"), hl.NOT("a"), 0.25, 2.0, float("nan")]
    lf = LabelingFunction("lf", lambda x: said[x], scores=None)

    def answers():
        items = read_items(list(range(len(said))))
        run = lambda lfs: run_all(lfs, items)  # noqa: E731
        return run_cached([lf], items, tmp_path, run, lambda done: None)[0].to_list()

    first = answers()
    for _ in range(2):
        assert [(type(one), one) for one in first] == [(type(one), one) for one in answers()]
        forget_data(tmp_path)
    assert first == ["a", "é\n\ud800", 0, 7, True, None, -1, 3, "s", "!a", 0.25, 2, None]


def test_scores_are_kept(tmp_path, log, calls):
    scope = {"LOG": str(log)}
    exec("def f(x):\n with open(LOG, 'a') as file: file.write('x\\n')\n return x / 7", scope)
    lf = LabelingFunction("score", scope["f"], scores=(0, 1))
    first, again = (apply_lfs([lf], list(range(8)), classes=["no", "yes"], cache=tmp_path) for _ in range(2))
    assert first.cells.tolist() == again.cells.tolist()
    assert calls() == 8


# Whole columns.


@pytest.fixture
def ran(monkeypatch):
    """The names of the LFs of whole columns that were really run since this was last asked."""
    names = []

    def run(lf, items, **arguments):
        names.append(lf.name)
        return run_columns(lf, items, **arguments)

    def ask():
        asked = list(names)
        names.clear()
        return asked

    monkeypatch.setattr("hyperlabel.lf._run.run_columns", run)
    return ask


COLUMN_LFS = [keyword_lf("a", "yes", name="key"), expression_lf("late", pl.col("id") > 1, vote="no")]


def test_lfs_of_whole_columns_run_again_if_what_they_read_changed(tmp_path, ran):
    first = apply_lfs(COLUMN_LFS, FRAME, cache=tmp_path)
    assert ran() == ["key", "late"]
    again = apply_lfs(COLUMN_LFS, FRAME.copy(), cache=tmp_path)
    assert ran() == []
    assert again.cells.tolist() == first.cells.tolist()
    apply_lfs(COLUMN_LFS, FRAME.assign(id=5), cache=tmp_path)
    assert ran() == ["late"]  # a keyword LF reads the texts alone
    apply_lfs(COLUMN_LFS[:1], FRAME.to_dict("records"), cache=tmp_path)
    assert ran() == []


# Damage.


def test_damage_at_random_places_never_stops_a_run_or_changes_a_vote(tmp_path):
    lfs = [*COLUMN_LFS, LabelingFunction("row", lambda x: "yes" if x.text == "a" else "no")]
    wanted = apply_lfs(lfs, FRAME).cells.tolist()
    apply_lfs(lfs, FRAME, cache=tmp_path)
    whole = {path: path.read_bytes() for path in tmp_path.iterdir()}
    rng = random.Random(0)
    for _ in range(60):
        for path, content in whole.items():
            path.write_bytes(damage(content, rng))
        assert apply_lfs(lfs, FRAME, cache=tmp_path).cells.tolist() == wanted
        assert hl.LFCache(tmp_path).entries()


def damage(content, rng):
    """A file with flipped bits, a piece cut out, put in, or its end gone."""
    at, length = rng.randrange(len(content) + 1), rng.randrange(1, 40)
    kind = rng.randrange(4)
    if kind == 0:
        bits = bytearray(content)
        for _ in range(rng.randrange(1, 5)):
            bits[rng.randrange(len(bits))] ^= 1 << rng.randrange(8)
        return bytes(bits)
    put = rng.randbytes(length) if kind == 1 else b""
    return content[:at] + put + (b"" if kind == 2 else content[at + length :])


def forget_data(folder):
    """Delete the votes on the data as a whole, so that those of rows are looked for."""
    for path in folder.glob("*.answer"):
        path.unlink()


def test_half_a_line_at_the_end_costs_that_row_alone(tmp_path, log, calls):
    apply_lfs([logged(log, "a")], FRAME, cache=tmp_path)
    calls()
    (path,) = tmp_path.glob("*.votes")
    path.write_bytes(path.read_bytes()[:-9])
    for asked in (1, 0):
        forget_data(tmp_path)
        assert apply_lfs([logged(log, "a")], FRAME, cache=tmp_path).cells[:, 0].tolist() == [0, -1, 0, -1]
        assert calls() == asked


def test_disk_that_is_full_is_one_error_and_no_failure_of_the_lf(tmp_path, monkeypatch):
    def full(out, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    for how in ({}, {"threads": 2}):
        with pytest.raises(ParameterError, match=r"cache: '.*\.votes' cannot be written: No space left on device"):
            apply_lfs([LabelingFunction("lf", lambda x: 1)], FRAME, cache=tmp_path, on_error="abstain", **how)

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.undo()
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(ParameterError, match="cache: path is .*No space left"):
        apply_lfs(COLUMN_LFS, FRAME, cache=tmp_path)
    assert not list(tmp_path.glob("*.answer"))


def test_cache_in_a_place_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="cache is '.*file', but this folder cannot be made: File exists"):
        apply_lfs(COLUMN_LFS, FRAME, cache=tmp_path / "file")


# Looking after it.


def test_cache_is_listed_sized_and_cleared(tmp_path, log):
    apply_lfs([logged(log, "a", "rows of <b>"), *COLUMN_LFS], FRAME, cache=tmp_path / "c")
    (tmp_path / "c" / "notes.txt").write_text("mine")
    cache = hl.LFCache(tmp_path / "c")
    entries = cache.entries()
    assert [(entry.lf, entry.rows) for entry in entries] == [("key", 4), ("late", 4), *[("rows of <b>", 4)] * 2]
    assert cache.bytes == sum(entry.bytes for entry in entries) == sum(entry.path.stat().st_size for entry in entries)
    assert repr(cache).endswith(f"c', 4 files, {cache.bytes:,} bytes)")
    assert abs(entries[0].changed.timestamp() - time.time()) < 600
    assert cache.clear("key") == 1
    assert [entry.lf for entry in cache.entries()] == ["late", "rows of <b>", "rows of <b>"]
    assert (cache.clear("none"), cache.clear(), cache.entries(), cache.bytes) == (0, 3, [], 0)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["notes.txt"]
    assert hl.LFCache(tmp_path / "nowhere").entries() == []


# A process that is stopped.

PROGRAM = """
import os, sys, time
import hyperlabel as hl

LOG, FOLDER, THREADS, N = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

@hl.labeling_function
def slow(x):
    log = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, b"%d\\n" % x)
    os.close(log)
    time.sleep(0.01)
    return "odd" if x % 2 else "even"

votes = hl.apply_lfs([slow], list(range(N)), cache=FOLDER, threads=THREADS)
print(votes.cells[:, 0].tolist() == [x % 2 for x in range(N)])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize(("signal", "stops"), [("SIGKILL", (100, 250)), ("SIGINT", (100,))])
def test_stopped_process_loses_no_more_than_the_calls_in_flight(tmp_path, signal, stops):
    import signal as signals

    log, threads, n = tmp_path / "calls", 8, 400
    command = [sys.executable, "-c", PROGRAM, str(log), str(tmp_path / "cache"), str(threads), str(n)]
    for after in stops:  # so many calls, in all
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while not log.exists() or log.stat().st_size < 3 * after:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(getattr(signals, signal))
        assert process.wait(60) != 0
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    called = [int(line) for line in log.read_text().split()]
    assert set(called) == set(range(n))
    assert len(called) - n <= len(stops) * threads


@pytest.mark.parametrize(
    ("says", "one", "other"),
    [
        (lambda f: np.asarray(f.index % 2), pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 2]}, index=[1, 2])),
        (
            lambda f: (f["a"] + 100 > 0).to_numpy().astype(int),
            pd.DataFrame({"a": np.array([100, 2], np.int64)}),
            pd.DataFrame({"a": np.array([100, 2], np.int8)}),
        ),
        (lambda f: [int(1 in f.columns)] * 2, pd.DataFrame({"1": [1, 2]}), pd.DataFrame({1: [1, 2]})),
        (lambda f: [int(hasattr(f, "height"))] * 2, pd.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]})),
        (
            lambda f: (f["a"] + pl.lit(100, pl.Int8) > 0).cast(pl.Int8),
            pl.DataFrame({"a": [100, 2]}),
            pl.DataFrame({"a": [100, 2]}, schema={"a": pl.Int8}),
        ),
    ],
)
def test_lfs_of_whole_columns_run_again_if_the_index_names_or_types_changed(tmp_path, says, one, other):
    lf = hl.labeling_function("lf", columns=True)(says)
    before = apply_lfs([lf], one, n_classes=2, cache=tmp_path).cells
    after = apply_lfs([lf], other, n_classes=2, cache=tmp_path).cells
    assert before.tolist() != after.tolist()
    np.testing.assert_array_equal(after, apply_lfs([lf], other, n_classes=2).cells)


def test_keys_of_a_record_that_are_no_strings_tell_rows_apart(tmp_path):
    lf = LabelingFunction("lf", lambda x: x[1])
    for rows in ([{1: 0}, {1: 1}], [{1: 1}, {1: 0}]):
        votes = apply_lfs([lf], rows, cache=tmp_path)
        assert votes.cells[:, 0].tolist() == [row[1] for row in rows]
