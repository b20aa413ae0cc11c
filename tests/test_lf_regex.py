import random
import re
import warnings

import polars as pl
import pytest

from hyperlabel.lf.regex import Texts, match_texts, translate

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
