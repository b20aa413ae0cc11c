"""Regular expressions over columns: the results of `re`, at the speed of Polars and with a time limit."""

import random
import re
import warnings

import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesWarning
from hyperlabel.lf import LFError, Texts, apply_lfs, keyword_lf, match_texts, regex_lf, translate

TOKENS = (
    r"a b A k s 1 _ - . \. \b \d \w \s \D \W \S \n ^ $ \$ [ab] [^a] [a-k1] [\w-] [\s.] [^\d] (a|b) (?:ab)? ( | ) (?: * "
    r"+ ? {2} {1,2} {,2} *? ++ \Z \A \B # && [a&&b] [[a] [a-] [-a] []a] é (?i) (?=a) (?!b) [A-Z] [^A-Z_] \- { } [+--] ~"
)
ATOMS = [*re.split(" ", TOKENS), " ", "\t", "\x1c", r"\ "]
# Letters that change length or plane with case, digits and spaces beyond ASCII, the separators Python calls spaces.
CHARACTERS = "abAkKsS1_ -.$\n\t\r\x1c\x0b#&~é\u212a\u017fİı²\u0660\u00a0Z{}^"


def search_each(pattern, texts):
    return [text is not None and pattern.search(text) is not None for text in texts]


def draw_pattern(rng):
    """A random expression that compiles."""
    while True:
        source = "".join(rng.choice(ATOMS) for _ in range(rng.randint(1, 6)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return re.compile(source, rng.choice([0, 0, re.I, re.I, re.M, re.S]))
        except (re.error, FutureWarning, DeprecationWarning):
            continue


def test_random_expressions_over_columns_are_found_where_re_finds_them():
    rng = random.Random(0)
    translated = 0
    for _ in range(2000):
        pattern = draw_pattern(rng)
        texts = ["".join(rng.choices(CHARACTERS, k=rng.randint(0, 6))) for _ in range(20)] + [None]
        found = match_texts(pattern, Texts(pl.Series(texts, dtype=pl.String)), timeout=None).tolist()
        assert found == search_each(pattern, texts), (pattern, texts)
        translated += translate(pattern) is not None
    assert translated > 400  # otherwise re is compared with itself


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"ok$", ["ok", "ok\n", "ok\n\n", "not ok now"]),
        (r"\bfree\b", ["free", "freedom", "été free", "éfree", "free_", "carefree"]),
        (r"(?i)kelvin", ["KELVIN", "\u212aelvin", "kelvim"]),
        (r"a\sb", ["a b", "a\x1cb", "a\u00a0b", "ab"]),
        (r"\d+ stars", ["5 stars", "\u0665 stars", "² stars"]),
        (r"[\w.-]+@[\w-]+\.\w+", ["write to a.b-c@d-e.org", "jürgen@straße.de", "@"]),
    ],
)
def test_expressions_whose_meaning_differs_between_engines_keep_that_of_re(pattern, texts):
    compiled = re.compile(pattern)
    assert translate(compiled) is not None
    assert match_texts(compiled, Texts(pl.Series(texts))).tolist() == search_each(compiled, texts)


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "a++", "é", r"\B", "(?s:.)", "(?x) a", "a{,2}", "(a$|b)c"])
def test_expressions_beyond_the_known_tokens_are_not_translated(pattern):
    assert translate(re.compile(pattern)) is None


def test_expression_too_large_for_polars_is_left_to_re():
    pattern = re.compile("(?:[a-z]{999}){999}x")
    assert translate(pattern) is not None
    assert match_texts(pattern, Texts(pl.Series(["a", None]))).tolist() == [False, False]


def test_case_of_every_letter_is_that_of_re():
    cased = [
        chr(i) for i in range(128, 0x11000) if len({chr(i), chr(i).lower(), chr(i).upper(), chr(i).casefold()}) > 1
    ]
    for letter in "abcdefghijklmnopqrstuvwxyz":
        pattern = re.compile(letter, re.IGNORECASE)
        assert match_texts(pattern, Texts(pl.Series(cased))).tolist() == search_each(pattern, cased), letter


# The time limit of `re`.

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
    monkeypatch.setattr("hyperlabel.studio._data.match_texts.__defaults__", (0.2,))
    pl.DataFrame({"text": ["a", ENDLESS], "label": ["x", "y"]}).write_parquet(tmp_path / "t.parquet")
    project = hl.Project(tmp_path / "t.parquet", text="text")
    with project, pytest.raises(ParameterError, match="takes more than 0.2 s on row 1"):
        project.data.rows_matching(SLOW)


def match(pattern, texts, **options):
    return match_texts(pattern, Texts(pl.Series(texts, dtype=pl.String)), **options).tolist()


def test_matches_of_a_process_of_its_own_are_those_of_re_here():
    rng = random.Random(0)
    texts = ["".join(rng.choices("abé \n", k=rng.randint(0, 8))) for _ in range(10_500)]
    for pattern in (re.compile(r"(?:a|b)+\s$"), re.compile("A+É", re.IGNORECASE), re.compile("^(.)b*\\1", re.M)):
        assert match(pattern, texts) == search_each(pattern, texts)


def test_limit_is_for_one_text_and_not_for_the_column():
    texts = ["a" * 15 + "é!"] * 400  # each a few thousandths of a second
    assert not any(match(re.compile(SLOW), texts, timeout=0.5))


def test_expression_without_repeats_and_groups_needs_no_process(monkeypatch):
    monkeypatch.setattr("subprocess.Popen", None)
    assert match(re.compile(r"(?i)\bc\+\+|é"), ["C++ x", "É", "c"]) == [True, True, False]
    assert match(re.compile("(é)+"), []) == []
    assert match(re.compile("(é)+"), ["é"], timeout=None) == [True]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "1", True])
def test_timeout_that_is_no_time_is_an_error(timeout):
    with pytest.raises(ParameterError, match="LF 'x': timeout is .*; expected a number of seconds above 0, or None"):
        regex_lf("a", 1, name="x", timeout=timeout)
