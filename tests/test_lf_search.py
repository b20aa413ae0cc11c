import random
import re

import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesWarning
from hyperlabel.lf import LFError, apply_lfs, keyword_lf, regex_lf
from hyperlabel.lf.search import SlowExpressionError, search_texts

SLOW = r"(\w+)+$"
ENDLESS = "a" * 40 + "é!"  # beyond ASCII, so that Polars' engine cannot answer for `re`
DATA = {
    "pandas": pd.DataFrame({"text": ["a", None, ENDLESS]}),
    "polars": pl.DataFrame({"text": ["a", None, ENDLESS]}),
    "texts": ["a", "b", ENDLESS],
    "mappings": [{"text": "a"}, {"text": "b"}, {"text": ENDLESS}],
    "objects": pd.DataFrame({"text": ["a", 3.5, ENDLESS]}),
}


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_expression_that_backtracks_is_stopped_with_an_error_that_names_lf_row_and_remedy(data):
    lf = regex_lf(SLOW, 1, name="slow", timeout=0.2)
    message = r"LF 'slow' was stopped: the expression .* takes more than 0.2 s on row 2, which is 'aaa.*timeout"
    with pytest.raises(LFError, match=message) as caught:
        apply_lfs([lf], data)
    assert (caught.value.lf, caught.value.row) == ("slow", 2)


def test_expression_that_backtracks_abstains_on_request_and_is_counted():
    lfs = [regex_lf(SLOW, 1, name="slow", timeout=0.2), keyword_lf("a", 0)]
    with pytest.warns(VotesWarning, match="LF 'slow' failed on 3 of 3 items and abstains there; the first: SlowExpr"):
        votes = apply_lfs(lfs, DATA["pandas"], on_error="abstain")
    assert votes.failures == {"slow": 3, "keyword_a": 0}
    assert votes.cells.tolist() == [[-1, 0], [-1, -1], [-1, -1]]


def test_expression_without_a_translation_is_stopped_too():
    with pytest.raises(LFError, match="takes more than 0.2 s on row 1"):
        apply_lfs([regex_lf(r"(?=a)(a+)+$", 1, timeout=0.2)], ["a", "a" * 40 + "!"])


def test_expression_without_polars_is_stopped_too(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    assert apply_lfs([regex_lf("(a|b)+c", 1)], ["abc", None, "ab", "abc"]).cells[:, 0].tolist() == [1, -1, -1, 1]
    with pytest.raises(LFError, match="takes more than 0.2 s on row 1"):
        apply_lfs([regex_lf(SLOW, 1, timeout=0.2)], ["a", "a" * 40 + "!"])


def test_search_of_the_studio_that_backtracks_is_one_error(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperlabel.studio.data.match_texts.__defaults__", (0.2,))
    pl.DataFrame({"text": ["a", ENDLESS], "label": ["x", "y"]}).write_parquet(tmp_path / "t.parquet")
    project = hl.Project(tmp_path / "t.parquet", text="text")
    with project, pytest.raises(SlowExpressionError, match="takes more than 0.2 s on row 1"):
        project.data.rows_matching(SLOW)


def test_found_in_a_process_of_its_own_is_what_re_finds_here():
    rng = random.Random(0)
    texts = ["".join(rng.choices("abé \n", k=rng.randint(0, 8))) for _ in range(10_500)]
    for pattern in (re.compile(r"(?:a|b)+\s$"), re.compile("A+É", re.IGNORECASE), re.compile("^(.)b*\\1", re.M)):
        assert search_texts(pattern, texts).tolist() == [pattern.search(text) is not None for text in texts]


def test_limit_is_for_one_text_and_not_for_the_column():
    texts = ["a" * 15 + "!"] * 400  # each a few thousandths of a second
    assert not search_texts(re.compile(SLOW), texts, timeout=0.5).any()


def test_expression_without_repeats_and_groups_needs_no_process(monkeypatch):
    monkeypatch.setattr("subprocess.Popen", None)
    assert search_texts(re.compile(r"(?i)\bc\+\+|é"), ["C++ x", "É", "c"]).tolist() == [True, True, False]
    assert search_texts(re.compile("(a)+"), []).tolist() == []
    assert search_texts(re.compile("(a)+"), ["a"], timeout=None).tolist() == [True]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "1", True])
def test_timeout_that_is_no_time_is_an_error(timeout):
    with pytest.raises(ParameterError, match="LF 'x': timeout is .*; expected a number of seconds above 0, or None"):
        regex_lf("a", 1, name="x", timeout=timeout)


def test_interrupt_leaves_no_process(monkeypatch):
    import subprocess

    made = []
    popen = subprocess.Popen

    class Watched(popen):
        def __init__(self, *arguments, **options):
            made.append(self)
            super().__init__(*arguments, **options)

    def interrupt(pipe, message):
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen", Watched)
    monkeypatch.setattr("hyperlabel.lf.search._send", interrupt)
    with pytest.raises(KeyboardInterrupt):
        search_texts(re.compile("(a)+"), ["a"])
    assert made[0].returncode is not None
