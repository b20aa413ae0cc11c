import re
import threading

import pandas as pd
import pytest

from hyperlabel.errors import ParameterError
from hyperlabel.lf import LabelingFunction, LFError, apply_lfs, keyword_lf
from hyperlabel.lf.run import run_all

FRAME = pd.DataFrame({"id": range(4), "text": ["a", "b", "a b", None]})


@pytest.fixture
def ran(monkeypatch):
    """The names of the LFs that were really run since this was last asked."""
    names = []

    def run(lfs, **arguments):
        names.extend(lf.name for lf in lfs)
        return run_all(lfs, **arguments)

    def ask():
        asked = list(names)
        names.clear()
        return asked

    monkeypatch.setattr("hyperlabel.lf.apply.run_all", run)
    return ask


def has(word):
    return lambda x: "yes" if x.text and word in x.text else None


def lfs(a="a", b="b", key="b"):
    return [LabelingFunction("a", has(a)), LabelingFunction("b", has(b)), keyword_lf(key, "no", name="key")]


def test_cache_with_nothing_changed_runs_nothing(tmp_path, ran):
    first = apply_lfs(lfs(), FRAME, cache=tmp_path / "new" / "folder")
    assert ran() == ["a", "b", "key"]
    again = apply_lfs(lfs(), FRAME.copy(), cache=str(tmp_path / "new" / "folder"))
    assert ran() == []
    assert again.cells.tolist() == first.cells.tolist()
    assert (again.classes, again.lf_names, again.failures) == (first.classes, first.lf_names, first.failures)


def test_cache_with_one_lf_changed_runs_that_one(tmp_path, ran):
    apply_lfs(lfs(), FRAME, cache=tmp_path)
    ran()
    changed = apply_lfs(lfs(b="a b"), FRAME, cache=tmp_path)
    assert ran() == ["b"]
    assert changed.cells.tolist() == apply_lfs(lfs(b="a b"), FRAME).cells.tolist()
    ran()
    apply_lfs(lfs(key="a"), FRAME, cache=tmp_path)
    assert ran() == ["key"]


def test_cache_with_data_changed_runs_the_lfs_that_read_them(tmp_path, ran):
    apply_lfs(lfs(), FRAME, cache=tmp_path)
    ran()
    apply_lfs(lfs(), FRAME.assign(text=["a", "b", "c", None]), cache=tmp_path)
    assert ran() == ["a", "b", "key"]
    apply_lfs(lfs(), FRAME.assign(id=5), cache=tmp_path)
    assert ran() == ["a", "b"]  # a keyword LF reads the texts alone


def test_cache_of_failures_counts_them_again_and_raises_where_they_are_errors(tmp_path, ran):
    bad = [LabelingFunction("bad", lambda x: 1 // x.id)]
    for _ in range(2):
        assert apply_lfs(bad, FRAME, cache=tmp_path, on_error="abstain").failures == {"bad": 1}
    assert ran() == ["bad"]
    with pytest.raises(LFError, match="LF 'bad' failed on row 0"):
        apply_lfs(bad, FRAME, cache=tmp_path)


def test_cache_with_a_damaged_file_runs_the_lf_again(tmp_path, ran):
    wanted = apply_lfs(lfs(), FRAME, cache=tmp_path).cells.tolist()
    ran()
    for content in (b"", b"PK\x03\x04 nothing"):
        for path in tmp_path.glob("*.npz"):
            path.write_bytes(content)
        assert apply_lfs(lfs(), FRAME, cache=tmp_path).cells.tolist() == wanted
        assert ran() == ["a", "b", "key"]


def test_cache_leaves_only_whole_files(tmp_path, monkeypatch):
    apply_lfs(lfs(), FRAME, cache=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [re.sub("-[0-9a-f]{32}", "", name) for name in names] == ["a.npz", "b.npz", "key.npz"]

    def fail(source, target):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        apply_lfs(lfs(a="x"), FRAME, cache=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_cache_in_a_place_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="cache is '.*file', which cannot be made a folder: File exists"):
        apply_lfs(lfs(), FRAME, cache=tmp_path / "file")


def test_cache_of_an_lf_that_cannot_be_told_apart_is_an_error(tmp_path):
    lock = threading.Lock()
    with pytest.raises(ParameterError, match="LF 'locked' uses <unlocked .*the cache cannot tell whether it changed"):
        apply_lfs([LabelingFunction("locked", lambda x: 1 if lock else 0)], FRAME, cache=tmp_path)
