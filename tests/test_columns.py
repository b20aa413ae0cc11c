"""Which columns are votes: a table of people's habits, each with its outcome, in memory and on summaries."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hyperlabel.data import (
    ABSTAINS,
    ColumnSummary,
    VoteColumns,
    Votes,
    abstain_keys,
    choose_columns,
    find_identifiers,
    take_votes,
)
from hyperlabel.errors import ParameterError, VotesError, VotesWarning

N = 400
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
CELLS = np.where(RNG.random((N, 4)) < 0.6, np.where(RNG.random((N, 4)) < 0.8, TRUTH[:, None], 1 - TRUTH[:, None]), -1)
LFS = [f"lf_{j}" for j in range(4)]
NUMBERS = pd.DataFrame(CELLS, columns=LFS)
TEXTS = pd.DataFrame(np.array(["ham", "spam", None], object)[CELLS], columns=LFS)
PLACE = np.arange(N)


def with_first(value, row=3):
    """The texts with one vote of the first LF replaced."""
    return TEXTS.assign(lf_0=[value if i == row else vote for i, vote in enumerate(TEXTS["lf_0"])])


LEFT_OUT = {
    "id": PLACE,
    "ID": PLACE,
    "item": PLACE,
    "Item ID": PLACE,
    "text": [f"text number {i}" for i in PLACE],
    "truth": np.where(TRUTH, "spam", "ham"),
    "true label": np.where(TRUTH, "spam", "ham"),
    "gold": np.where(TRUTH, "spam", None),
    "label": "spam",
    "CLASS": TRUTH,
    "confidence": RNG.random(N),
    "p_spam": RNG.random(N),
    "label_source": "votes",
    "label_input": "spam",
    "split": "train",
    "fold": PLACE % 5,
    "source": "web",
    "url": [f"https://example.org/{i}" for i in PLACE],
    "title": "A title",
    "timestamp": pd.date_range("2026-01-01", periods=N),
    "ts": [f"2026-01-01T00:{i % 60:02d}:00" for i in PLACE],
    "author": [f"user{i}" for i in PLACE],
    "user": "somebody",
    "user_id": PLACE % 9,
    "comment": "nothing",
    "Unnamed: 0": PLACE,
    "id.1": PLACE,
    "id_duplicated_0": PLACE,
    "": PLACE,
}


@pytest.mark.parametrize("name", LEFT_OUT)
@pytest.mark.parametrize("votes", [TEXTS, NUMBERS], ids=["texts", "numbers"])
def test_column_whose_name_says_that_it_is_no_vote_is_left_out(name, votes):
    read = Votes.from_frame(votes.assign(**{name: LEFT_OUT[name]}))
    assert read.lf_names == tuple(LFS)
    np.testing.assert_array_equal(read.to_numpy(), CELLS)
    assert read.origin.columns.ignored == (name,)


@pytest.mark.parametrize(
    "name", ["links", "has_url", "short_comment", "label_2", "identical", "my_text", "P", "items_"]
)
def test_lf_whose_name_only_holds_such_a_word_stays(name):
    assert Votes.from_frame(TEXTS.rename(columns={"lf_1": name})).lf_names == ("lf_0", name, "lf_2", "lf_3")


REFUSED = {
    "times as text": (
        "when",
        [f"2026-01-01T00:{i % 60:02d}:00" for i in PLACE],
        r"holds times \('2026-01-01T00:00:00'\)",
    ),
    "clock times": ("when", [f"{i % 24}:30" for i in PLACE], "holds times"),
    "dates": ("when", pd.date_range("2026-01-01", periods=N), "holds times"),
    "spans of time": ("took", pd.to_timedelta(PLACE, unit="s"), "holds times"),
    "decimal numbers": ("score", RNG.random(N), "holds 0.*, which is not a whole number"),
    "percentages": ("sure", [f"{10 * (i % 9)} %" for i in PLACE], "holds '0 %', which is not a whole number"),
    "decimal commas": (
        "sure",
        [f"{i % 2},{i % 9}" for i in PLACE],
        "holds '[01],[1-8]', which is not a whole number",
    ),
    "identifiers": (
        "speaker",
        [f"user{i}" for i in PLACE],
        "holds 400 different values in 400 rows, like an identifier",
    ),
    "numbered identifiers": (
        "row2",
        PLACE + 5000,
        "holds (400 different values in 400 rows|(the )?numbers)",
    ),
    "names": ("speaker", [f"user{i % 90}" for i in PLACE], "(holds|row 0 is) 'user0'"),
    "long texts": ("review", ["word " * 30] * N, "holds texts"),
    "a count from 2": ("n_words", PLACE % 37 + 2, "holds (the )?numbers .*2, 3, 4"),
    "a count from 0": ("n_words", PLACE % 41, "holds (the )?numbers "),
    "stars": ("stars", PLACE % 5 + 1, "holds (the )?numbers "),
    "one value everywhere": ("lang", ["en"] * N, "(holds 'en', which no other LF votes for|row 0 is 'en')"),
    "other values": ("lang", ["en", "de"] * (N // 2), "(holds 'de', 'en', which no other LF votes for|row 0 is 'en')"),
    "booleans": ("is_reply", [True, False] * (N // 2), "(holds booleans|row 0 is True)"),
}


@pytest.mark.parametrize(("name", "values", "reason"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("votes", [TEXTS, NUMBERS], ids=["texts", "numbers"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_column_that_cannot_be_votes_is_refused_with_the_remedy_unless_lfs_are_named(votes, name, values, reason, make):
    frame = votes.assign(**{name: values})
    frame = frame if make is pd.DataFrame else pl.from_pandas(frame)
    with pytest.raises(VotesError, match=rf"column '{name}'.* {reason}.*ame the LFs with lfs"):
        Votes.from_frame(frame)
    np.testing.assert_array_equal(Votes.from_frame(frame, lfs=["lf_*"]).to_numpy(), CELLS)


def test_abstain_that_leaves_out_what_usually_abstains_is_doubted():
    frame = TEXTS.map(lambda vote: "N/A" if pd.isna(vote) else vote)
    frame.loc[0, "lf_0"] = "?"
    with pytest.warns(VotesWarning, match=r"look like no vote: 'N/A' \(\d+\); if so, list them in abstain"):
        Votes.from_frame(frame, abstain=["?"])
    Votes.from_frame(frame, abstain=["?", "N/A"])


def test_refusal_of_another_spelling_says_so():
    frame = TEXTS.assign(lf_0=TEXTS["lf_0"].str.title(), lf_1=TEXTS["lf_1"] + " ", lf_2=TEXTS["lf_2"].str.upper())
    with pytest.raises(
        VotesError,
        match=r"column 'lf_0' holds 'Ham', 'Spam', .*differ only in case.*'ham ' .*: write them alike",
    ):
        Votes.from_frame(frame)


def test_refusal_of_scores_names_the_remedy_for_scores():
    frame = pd.DataFrame({"id": PLACE, "a": PLACE / N, "b": [f"{i % 100}%" for i in PLACE]})
    with pytest.raises(VotesError, match=r"; for scores, use Votes.from_scores \(command line: --scores\)"):
        Votes.from_frame(frame)
    with pytest.raises(VotesError, match=r"column 'b' holds '0%'; expected scores.* Write scores as 0\.5, not 50%"):
        Votes.from_scores(frame, lfs=["a", "b"], classes=["bad", "good"])
    assert Votes.from_scores(frame, lfs=["a"], classes=["bad", "good"]).shape == (N, 1)


@pytest.mark.parametrize("voter", ["WorkerId", "ASSIGNMENT:worker_id", "_annotator_id", "judge"])
def test_refusal_of_an_export_with_a_row_per_vote_names_who_votes_and_takes_no_other_column_for_an_lf(voter):
    export = {
        "HITId": PLACE // 4,
        voter: [f"w{i % 4}" for i in PLACE],
        "status": "Submitted",
        "seconds": PLACE / 7,
        "Input.text": "some text",
        "Answer.mood": np.where(PLACE % 3, "good", "bad"),
        "approved": "",
    }
    with pytest.raises(VotesError, match=rf"--lfs\);.* \(command line: --long ITEM,{voter},VOTE\)$") as caught:
        Votes.from_frame(pd.DataFrame(export))
    assert "for instance" not in str(caught.value)
    assert Votes.from_long(pd.DataFrame(export), item="HITId", lf=voter, vote="Answer.mood").shape == (N // 4, 4)


def test_refusal_names_the_columns_that_are_left():
    with pytest.raises(VotesError, match=r"command line: --lfs\), for instance lfs=\['lf_0', 'lf_1', 'lf_2', 'lf_3'\]"):
        Votes.from_frame(TEXTS.assign(speaker=[f"user{i}" for i in PLACE]))


@pytest.mark.parametrize(
    "extra",
    [
        {"lang": ["en", "de"] * (N // 2), "lang_detected": ["de", "en"] * (N // 2)},
        {"n_words": PLACE % 37 + 2, "n_chars": PLACE % 23},
    ],
)
def test_columns_that_share_values_with_each_other_but_not_with_lfs_are_refused(extra):
    votes = TEXTS if "lang" in extra else NUMBERS
    first, second = extra
    with pytest.raises(VotesError, match=f"column '{first}' holds .*; column '{second}' holds"):
        Votes.from_frame(votes.assign(**extra))


DOUBTED = {
    "a flag": (
        TEXTS.assign(flag=np.where(PLACE % 3, None, "yes")),
        r"classes that the other LFs do not vote for: 'flag' \('yes'\); if a column",
    ),
    "few more numbers": (
        NUMBERS.assign(stars=PLACE % 4),
        r"classes that the other LFs do not vote for: 'stars' \(2, 3\)",
    ),
    "a typo": (with_first("SAPM"), r"a handful of times: 'SAPM' \('lf_0', 1\), perhaps 'spam'.* state all classes"),
    "several spellings": (
        TEXTS.assign(lf_1=np.where(PLACE % 2, TEXTS["lf_1"], TEXTS["lf_1"].str.title() + " ")),
        r"case, spaces, quotes, stops or zeros: 'Ham ' \(\d+\), 'ham' \(\d+\); 'Spam ' \(\d+\), 'spam' \(\d+\)\. Each",
    ),
    "spellings in few rows": (
        pd.DataFrame({"a": ["cafe\u0301", "x"], "b": ["caf\xe9", "x"]}),
        r"differ only in case, spaces, quotes, stops or zeros: 'cafe\u0301' \(1\), 'caf\xe9' \(1\)",
    ),
    "zeros before numbers": (
        pd.DataFrame({"a": ["1", "00", "0"], "b": ["01", "0", "0"]}),
        r"differ only in case, spaces, quotes, stops or zeros: '0' \(3\), '00' \(1\); '01' \(1\), '1' \(1\)",
    ),
    "zeros after numbers": (
        pd.DataFrame({"a": ["1.0", "0.0", "0.0"], "b": ["1", "0.0", "0.0"]}),
        r"quotes, stops or zeros: '1' \(1\), '1.0' \(1\)",
    ),
    "letters that nobody sees": (
        pd.DataFrame({"a": ["spam\u200b", "ham"], "b": ["spam", "ham"]}),
        r"quotes, stops or zeros: 'spam' \(1\), 'spam\\u200b' \(1\)",
    ),
    "answers of a language model": (
        pd.DataFrame({"a": ['"Spam".', "ham", "spam"], "b": ["spam", "ham.", "spam"]}),
        r"quotes, stops or zeros: '\"Spam\".' \(1\), 'spam' \(3\); 'ham' \(1\), 'ham.' \(1\)",
    ),
    "an empty list": (
        TEXTS.map(lambda vote: "[]" if pd.isna(vote) else vote),
        r"classes that look like no vote: '\[\]' \(\d+\); if so, list them in abstain",
    ),
    "what abstains in another case": (
        TEXTS.map(lambda vote: "none" if pd.isna(vote) else vote),
        r"classes that look like no vote: 'none' \(\d+\); .* with all other values that abstain",
    ),
    "quotes of a word processor": (
        pd.DataFrame({"a": ["\u201cspam\u201d", "ham"], "b": ["spam", "ham"]}),
        r"quotes, stops or zeros: 'spam' \(1\), '\u201cspam\u201d' \(1\)",
    ),
    "an error of a spreadsheet": (
        TEXTS.map(lambda vote: "#N/A" if pd.isna(vote) else vote),
        r"classes that look like no vote: '#N/A' \(\d+\); if so, list them in abstain",
    ),
    "numbers of few rows": (
        pd.DataFrame({"key": [1, 2, 3, 4, 5], "a": [0, 1, 1, 0, 1], "b": [0, 1, 0, 0, 1]}),
        r"the other LFs do not vote for: 'key' \(2, 3, 4, 5\);",
    ),
    "a mistyped number": (
        NUMBERS.assign(lf_0=np.where(PLACE == 3, 11, CELLS[:, 0])),
        r"times: 11 \('lf_0', 1\)\. If it is a typo",
    ),
    "numbers from 1": (
        NUMBERS.where(NUMBERS < 0, NUMBERS + 1),
        "class numbers start at 1: class 0 has none of the 960 votes",
    ),
    "99 for nothing": (
        NUMBERS.replace(-1, 99),
        r"class numbers go up to 99, but only 3 are voted for \(0, 1, 99\); list in",
    ),
    "one class": (
        TEXTS.replace("ham", None),
        "all 529 votes are for one class, 'spam': .* confidence of 1 means nothing",
    ),
    "votes left out": (
        TEXTS.assign(url=TEXTS["lf_0"]),
        "left out by name, though all values are classes: 'url'; if these",
    ),
}


@pytest.mark.parametrize(("frame", "message"), DOUBTED.values(), ids=DOUBTED.keys())
def test_votes_that_may_be_a_mistake_are_taken_with_one_warning_or_refused_if_strict(frame, message):
    with pytest.warns(VotesWarning, match=message) as caught:
        Votes.from_frame(frame)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.raises(VotesError, match=message):
        Votes.from_frame(frame, strict=True)


@pytest.mark.parametrize("frame", [TEXTS.assign(lf_4=["spam"] * N), with_first("SAPM"), TEXTS.replace("ham", None)])
def test_stated_classes_raise_no_warning(frame):
    Votes.from_frame(frame, classes=["ham", "spam", "SAPM"], strict=True)


ONE_SIDED = {
    "each class by one LF": {"a": ("spam", 3), "b": ("ham", 4), "c": ("other", 5)},
    "two of one class, one of another": {"a": ("spam", 3), "b": ("spam", 4), "c": ("ham", 5)},
}


@pytest.mark.parametrize("sides", ONE_SIDED.values(), ids=ONE_SIDED.keys())
def test_lfs_of_one_class_each_are_taken_without_a_word(sides):
    frame = pd.DataFrame({name: np.where(PLACE % every, None, vote) for name, (vote, every) in sides.items()})
    assert Votes.from_frame(frame, strict=True).n_lfs == 3


@pytest.mark.parametrize("missing", [*map(str, ABSTAINS), "", "  ", None, float("nan"), pd.NA])
def test_null_nan_blank_and_the_usual_null_texts_abstain(missing):
    frame = TEXTS.map(lambda vote: missing if pd.isna(vote) else vote)
    np.testing.assert_array_equal(Votes.from_frame(frame, strict=True).to_numpy(), CELLS)


def test_numbers_that_a_null_text_made_texts_are_numbers_if_they_were_written():
    frame = NUMBERS.astype(object).replace(-1, "-").astype(str)
    assert Votes.from_frame(frame).classes == ("0", "1")
    votes = Votes.from_frame(frame, written=True)
    assert votes.classes == (0, 1)
    np.testing.assert_array_equal(votes.to_numpy(), CELLS)


def test_texts_that_are_numbers_everywhere_stay_texts():
    assert Votes.from_frame(NUMBERS.astype(str)).classes == ("0", "1")


def test_abstain_lists_what_abstains_instead():
    frame = TEXTS.fillna("skip")
    np.testing.assert_array_equal(Votes.from_frame(frame, abstain=["skip"]).to_numpy(), CELLS)
    with pytest.warns(VotesWarning, match="classes that look like no vote: 'NA'"):
        assert Votes.from_frame(TEXTS.fillna("NA"), abstain=["skip"]).classes == ("NA", "ham", "spam")
    np.testing.assert_array_equal(Votes.from_frame(NUMBERS.replace(-1, 9), abstain=[9]).to_numpy(), CELLS)


def test_a_class_that_is_stated_does_not_abstain():
    frame = TEXTS.replace("ham", "NA")
    np.testing.assert_array_equal(Votes.from_frame(frame, classes=["NA", "spam"]).to_numpy(), CELLS)


def test_abstain_tells_zero_from_false():
    frame = pd.DataFrame({"a": [True, False], "b": [False, None]})
    assert Votes.from_frame(frame, abstain=[0]).to_numpy().tolist() == [[1, 0], [0, -1]]
    assert Votes.from_frame(frame, abstain=[False]).to_numpy().tolist() == [[1, -1], [-1, -1]]


def test_abstain_that_is_no_list_is_refused():
    with pytest.raises(ParameterError, match=r"^abstain is 'skip'; expected a list of values: \['skip'\]"):
        abstain_keys("skip")


LONG = pd.DataFrame(
    [(i, LFS[j], ["ham", "spam"][CELLS[i, j]]) for i, j in np.argwhere(CELLS >= 0)], columns=["item", "lf", "label"]
)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("item", "lf", "label"),
            r"^the table looks long, .* Votes.from_long \(command line: --long ITEM,lf,label\)",
        ),
        (
            ("Task", "worker", "answer"),
            r"^the table looks long, one row per vote: 'worker' says who votes, 'answer' for",
        ),
        (("question", "who", "what"), r"column 'question' holds numbers .* use Votes.from_long .*--long"),
    ],
)
def test_long_table_is_recognized_and_the_error_names_the_remedy(names, message):
    with pytest.raises(VotesError, match=message):
        Votes.from_frame(LONG.set_axis(names, axis=1))


def test_long_table_of_numbers_is_refused():
    item, lf = np.nonzero(CELLS >= 0)
    with pytest.raises(VotesError, match="column 'i' holds the numbers .* Votes.from_long"):
        Votes.from_frame(pd.DataFrame({"i": item, "j": lf, "v": CELLS[item, lf]}))


def test_table_that_only_looks_long_is_read_if_its_lfs_are_named():
    frame = TEXTS.rename(columns={"lf_0": "lf"}).assign(label=np.where(TRUTH, "spam", "ham"))
    with pytest.raises(VotesError, match="^the table looks long, .* If it is wide, name the LFs with lfs"):
        Votes.from_frame(frame)
    assert Votes.from_frame(frame, lfs=["lf", "lf_*"]).lf_names == ("lf", "lf_1", "lf_2", "lf_3")


@pytest.mark.parametrize(
    ("names", "lfs", "expected"),
    [
        (["id", "lf_a", "x", "lf_b"], ["lf_*"], ("lf_a", "lf_b")),
        (["id", "a", "label"], ["label", "id"], ("label", "id")),
        (["lf_*", "lf_a"], ["lf_*"], ("lf_*",)),
        (["lf[0]", "lf[1]", "lf0"], ["lf[1]"], ("lf[1]",)),
        (["a,b", "c"], ["a,b"], ("a,b",)),
        (["lf_a", "lf_b"], ["lf_b", "lf_*"], ("lf_b", "lf_a")),
        (["p_1", "p_2", "id"], ["p_?"], ("p_1", "p_2")),
    ],
)
def test_lfs_are_names_or_patterns_and_override_all_other_rules(names, lfs, expected):
    assert choose_columns(names, lfs) == expected


@pytest.mark.parametrize(
    ("names", "lfs", "error", "message"),
    [
        (["id", "text"], None, VotesError, "^the table has no LF column; its columns are 'id', 'text'; name the LFs"),
        (["a"], ["b"], VotesError, "^votes has no column 'b'; the columns are 'a'$"),
        (["a"], ["b*"], VotesError, r"^lfs has 'b\*', which no column matches; the columns are 'a'$"),
        (["a"], "a", ParameterError, r"^lfs is 'a'; expected a list of columns: \['a'\]"),
        (["a"], 3, ParameterError, "^lfs is 3; expected a list of columns"),
        (["a"], ["a", "a"], ParameterError, "^lfs has 'a' twice; name each column once"),
        (["a", "b", "a"], None, VotesError, "^votes has 2 columns named 'a'; expected one. Rename the others"),
    ],
)
def test_columns_that_cannot_be_chosen_are_refused(names, lfs, error, message):
    with pytest.raises(error, match=message):
        choose_columns(names, lfs)


def test_columns_known_to_be_something_else_are_left_out():
    assert choose_columns(["a", "b", "mine"], others=["mine"]) == ("a", "b")


def test_identifiers_are_found_the_likeliest_first():
    assert find_identifiers(["Unnamed: 0", "index", "a", "item", "ID"]) == ["ID", "item", "index", "Unnamed: 0"]


def test_summary_of_very_many_values_is_refused():
    summary = ColumnSummary("name", 10**8, {f"user{i}": 1 for i in range(100)}, n_distinct=10**8)
    votes = ColumnSummary("a", 10**8, {"ham": 10**7, "spam": 10**7})
    with pytest.raises(VotesError, match="column 'name' holds more than 10,000 different values"):
        take_votes(["a", "name"], lambda names: [{"a": votes, "name": summary}[name] for name in names])


def test_what_was_taken_is_said_in_one_line_that_no_terminal_obeys():
    columns = VoteColumns(("a\x1b[31m",), ("\u202eid", ""), {"x\ny": 2}, {None: 1200, "NA": 1})
    assert columns.describe() == (
        r"LFs: a\x1b[31m; ignored: \u202eid, (nameless); classes: x\ny 2; abstain: empty 1,200, NA 1"
    )
    many = VoteColumns(tuple(f"lf{j}" for j in range(300)))
    assert many.describe().startswith("LFs: lf0, lf1, ")
    assert "lf19, ... (300 in all); ignored: none; classes: none; abstain: none" in many.describe()


def test_times_of_any_type_are_refused():
    for value in (datetime.date(2026, 1, 1), datetime.time(12), datetime.timedelta(1)):
        frame = pl.DataFrame({"a": ["x", "y"], "b": ["x", "y"], "took": [value, value]})
        with pytest.raises(VotesError, match="column 'took' holds times"):
            Votes.from_frame(frame)


def test_small_table_is_judged_leniently():
    """Five rows cannot tell that no other LF votes for a class; a column with a value in each is refused."""
    frame = pl.DataFrame({"a": ["x", None, "y", None, None], "b": ["z", "z", None, None, None]})
    assert Votes.from_frame(frame, strict=True).classes == ("x", "y", "z")
    with pytest.raises(VotesError, match="column 'lang' holds 'de', 'en', which no other LF votes for"):
        Votes.from_frame(frame.with_columns(lang=pl.Series(["en", "de", "en", "en", "de"])))


@pytest.mark.parametrize("name", ["youtube", "chemprot", "hausa", "crowd_face", "crowd_ms", "rna", "panel_mathvista"])
def test_real_sets_raise_no_warning_as_numbers_or_texts(name, real_votes):
    cells = real_votes(name)
    names = np.array([*(f"class {c}" for c in range(cells.max() + 1)), None], object)
    for frame in (pd.DataFrame(cells), pd.DataFrame(names[cells])):
        np.testing.assert_array_equal(Votes.from_frame(frame, strict=True).to_numpy(), cells)
