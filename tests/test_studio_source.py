"""lfs.py as a text: finding LFs, adding, replacing and removing them without touching the rest."""

import pytest

from hyperlabel.errors import ProjectError
from hyperlabel.studio import load_lfs
from hyperlabel.studio._source import HEADER, LFSource

HAND = '''"""My rules."""

from hyperlabel import keyword_lf, labeling_function

LIMIT = 20  # letters


def length(x):
    return len(x.text)


# Short ones are harmless.
@labeling_function(vote="ham")
def short(x):
    """Few letters."""
    return length(x) < LIMIT


free = keyword_lf("free", "spam", name="free")
'''


def test_lfs_of_a_text_are_found_with_their_statements():
    source = LFSource.load(HAND)
    assert list(source.lfs) == ["short", "free"]
    assert source.block("short").startswith("# Short ones are harmless.\n@labeling_function")
    assert source.block("free") == 'free = keyword_lf("free", "spam", name="free")\n'


def test_removing_an_lf_leaves_everything_else():
    text = LFSource.load(HAND).removed("short")
    assert "def length" in text
    assert "# letters" in text
    assert "Short ones" not in text
    assert list(LFSource.load(text).lfs) == ["free"]


def test_replacing_an_lf_leaves_everything_else():
    text = LFSource.load(HAND).replaced("free", "free = regex_lf(r'fr[e3]+', 'spam', name='free')")
    assert "from hyperlabel import regex_lf" in text
    assert text.index("import regex_lf") < text.index("LIMIT")
    assert LFSource.load(text).lfs["free"]({"text": "fr33"}) == "spam"


def test_adding_to_an_empty_text_adds_the_imports_that_are_needed():
    text = LFSource.load(HEADER).added("money = keyword_lf('money', 'spam')")
    text = LFSource.load(text).added("long = expression_lf('long', pl.col('text').str.len_chars() > 9, vote='spam')")
    text = LFSource.load(text).added(
        '@labeling_function\ndef loud(x):\n    return "spam" if x.text.isupper() else ABSTAIN\n'
    )
    assert text.startswith(HEADER)
    assert text.count("import polars as pl") == 1
    assert "import re\n" not in text
    assert list(LFSource.load(text).lfs) == ["keyword_money", "long", "loud"]


def test_adding_and_removing_again_gives_the_same_lfs_and_a_tidy_text():
    once = LFSource.load(HEADER).added("a = keyword_lf('a', 'x', name='a')")
    twice = LFSource.load(once).added("@labeling_function\ndef b(x):\n    return None")
    assert LFSource.load(twice).removed("b") == once.replace(
        "keyword_lf\n", "keyword_lf\nfrom hyperlabel import labeling_function\n", 1
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = (", r"lfs.py, line 1: '\(' was never closed"),
        ("a = 1\nb = nowhere", "lfs.py, line 2: NameError: name 'nowhere' is not defined"),
        ("raise SystemExit(3)", "lfs.py, line 1: SystemExit: 3"),
        (
            "from hyperlabel import keyword_lf\na = keyword_lf('a', 'x', name='n')\nb = keyword_lf('b', 'x', name='n')",
            "line 3: two LFs are named 'n'; rename one of them",
        ),
    ],
)
def test_a_text_that_cannot_be_run_is_refused_with_its_line(text, message):
    with pytest.raises(ProjectError, match=message):
        LFSource.load(text)


def test_load_lfs_of_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ProjectError, match=r"lfs.py' cannot be read: No such file"):
        load_lfs(tmp_path / "lfs.py")


@pytest.mark.parametrize("odd", ["\u2028", "\x0c", "\x0b", "\x1c", "\x85", "\r", "\r\n"])
def test_statements_are_those_of_python_whatever_else_ends_a_line_elsewhere(odd):
    text = "from hyperlabel import keyword_lf\n"
    text += f"s = '''a{odd}b'''\n# one{odd if odd[0] != chr(13) else ''}\na = keyword_lf('a', 'x', name='a')\n"
    text += "b = keyword_lf('b', 'x', name='b')\n"
    source = LFSource.load(text)
    assert source.block("b") == "b = keyword_lf('b', 'x', name='b')\n"
    assert list(LFSource.load(source.removed("a")).lfs) == ["b"]
    assert list(LFSource.load(source.replaced("b", "c = keyword_lf('c', 'x', name='c')")).lfs) == ["a", "c"]
