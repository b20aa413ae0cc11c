import functools
import re
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hyperlabel.errors import ParameterError
from hyperlabel.lf import LabelingFunction, LFError, apply_lfs, expression_lf, keyword_lf, lookup_lf, threshold_lf
from hyperlabel.lf.fingerprint import fingerprint_items, fingerprint_lf
from hyperlabel.lf.items import read_items
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


def compile_lf(source, **names):
    """An LF of a function that a user wrote in a script."""
    scope = {"__name__": "script", "re": re, "np": np, **names}
    exec(source, scope)
    return LabelingFunction("lf", scope["f"])


class Model:
    """A resource of the user's own class."""

    def __init__(self, size):
        self.size = size


VARIANTS = {
    "code": [compile_lf("def f(x): return 1"), compile_lf("def f(x): return 2")],
    "names": [compile_lf("def f(x): return x.a"), compile_lf("def f(x): return x.b")],
    "inner code": [compile_lf(f"def f(x): return (lambda: {i})()") for i in (1, 2)],
    "handler": [compile_lf(f"def f(x):\n try: return x.a\n except {e}: return 1") for e in ("KeyError", "TypeError")],
    "default": [compile_lf(f"def f(x, most={most}): return most") for most in (1, 2)],
    "keyword default": [compile_lf(f"def f(x, *, most={most}): return most") for most in (1, 2)],
    "closure": [LabelingFunction("lf", has(word)) for word in "ab"],
    "global": [compile_lf("def f(x): return WORDS", WORDS=words) for words in (["a"], ["b"], ("a",), {"a"}, {"a": 1})],
    "global expression": [compile_lf("def f(x): return P.search(x)", P=re.compile("a", flags)) for flags in (0, re.I)],
    "called function": [
        compile_lf(f"def g(x): return {i}\ndef f(x): return g(x)") for i in (1, 2)
    ],
    "used class": [compile_lf(f"class C:\n def g(self): return {i}\ndef f(x): return C().g()") for i in (1, 2)],
    "resource": [LabelingFunction("lf", has, resources={"word": word}) for word in "ab"],
    "array": [LabelingFunction("lf", has, resources={"word": np.arange(n)}) for n in (2, 3)],
    "frame": [LabelingFunction("lf", has, resources={"word": frame}) for frame in (FRAME, FRAME[:3], FRAME.text)],
    "object": [LabelingFunction("lf", has, resources={"word": Model(size)}) for size in (1, 2)],
    "vote": [LabelingFunction("lf", has, vote=vote) for vote in (1, 2, "1", None)],
    "partial": [LabelingFunction("lf", functools.partial(has, word=word)) for word in "ab"],
    "keywords": [keyword_lf(["a"], 1), keyword_lf(["a", "b"], 1), keyword_lf(["a"], 1, ignore_case=False)],
    "bounds": [threshold_lf("x", 1, above=1), threshold_lf("x", 1, above=2), threshold_lf("x", 1, at_least=1)],
    "table": [lookup_lf({"a": 1}, column="x"), lookup_lf({"a": 2}, column="x"), lookup_lf({"a": 1}, column="y")],
    "expression": [expression_lf("lf", pl.col("x") > bound, vote=1) for bound in (1, 2)],
}  # fmt: skip


@pytest.mark.parametrize("variants", VARIANTS.values(), ids=VARIANTS)
def test_fingerprint_of_an_lf_changes_with_what_it_sees(variants):
    prints = [fingerprint_lf(lf) for lf in variants]
    assert len(set(prints)) == len(variants)
    assert [fingerprint_lf(lf) for lf in variants] == prints


def test_fingerprint_of_an_lf_moved_to_other_lines_stays():
    source = "def g(x): return len(x)\ndef f(x): return g(x) + (lambda y: y)(1)"
    assert fingerprint_lf(compile_lf(source)) == fingerprint_lf(compile_lf("\n\n# moved\n" + source))


def test_fingerprint_of_a_function_that_calls_itself_is_found():
    source = "def f(x): return f(x - {}) if x else 0"
    assert fingerprint_lf(compile_lf(source.format(1))) != fingerprint_lf(compile_lf(source.format(2)))


def test_fingerprint_of_an_own_module_changes_with_its_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "own_rules.py"
    path.write_text("WORD = 'a'\n")
    lf = compile_lf("import own_rules\ndef f(x): return own_rules.WORD")
    before = fingerprint_lf(lf)
    path.write_text("WORD = 'b'\n")
    assert fingerprint_lf(lf) != before


def test_fingerprint_in_another_process_is_the_same(tmp_path):
    import subprocess
    import sys

    script = (
        "from hyperlabel.lf import *; from hyperlabel.lf.fingerprint import fingerprint_lf\n"
        "import re, json, numpy as np; WORDS = {'a', 'b', 'c'}\n"
        "def f(x, most=2): return re.search('a', x.text) and x.text in WORDS and np.sum(json.loads(x.text)) < most\n"
        "print(fingerprint_lf(LabelingFunction('f', f)), fingerprint_lf(keyword_lf('a', 1)))"
    )
    run = [sys.executable, "-c", script]
    first, second = (subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second != ""


@pytest.mark.parametrize(
    "other",
    [FRAME[:3], FRAME.rename(columns={"id": "key"}), FRAME.astype({"id": str}), FRAME[::-1], FRAME.assign(z=1)],
)
def test_fingerprint_of_data_changes_with_them(other):
    assert fingerprint_items(read_items(other)) != fingerprint_items(read_items(FRAME))
    assert fingerprint_items(read_items(FRAME.copy())) == fingerprint_items(read_items(FRAME))


def test_fingerprint_of_data_that_are_no_plain_values_changes_with_them():
    one, two = ([{"when": np.datetime64(day), "tags": ["a"]}] for day in ("2020-01-01", "2020-01-02"))
    assert fingerprint_items(read_items(one)) == fingerprint_items(read_items(one))
    assert fingerprint_items(read_items(one)) != fingerprint_items(read_items(two))
