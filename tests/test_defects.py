"""Mistakes that once ended in other exceptions, or in nothing at all, through the public door."""

import sys
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel import ParameterError, VotesError, WeightsError
from hyperlabel._core import check_choice, group_keys
from hyperlabel.studio import load_lfs

VOTES = [[0, 1, 1], [1, 1, 0], [0, 0, -1]]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"class_balance": ["a", "b"]}, ParameterError, r"^class_balance is \['a', 'b'\]; expected one probability"),
        ({"class_balance": "ab"}, ParameterError, "^class_balance is 'ab'; expected one probability"),
        (
            {"weights": None},
            WeightsError,
            "^weights is None; expected one of default, hlm3, hlm2, hlm, hlm-text or the path",
        ),
        ({"weights": 5}, WeightsError, "^weights is 5; expected one of default"),
        ({"classes": [-1, 1]}, ParameterError, "-1 means no vote and no label"),
        ({"classes": [1, "a"]}, ParameterError, "all whole numbers, all strings or all booleans"),
        ({"classes": [b"a", b"b"]}, ParameterError, "all whole numbers, all strings or all booleans"),
        ({"seed": "x"}, ParameterError, "^seed is 'x'; expected a whole number"),
        ({"n_classes": "2"}, ParameterError, "^n_classes is '2'; expected a whole number"),
    ],
)
def test_parameter_is_refused_by_name(params, error, message):
    with pytest.raises(error, match=message):
        hl.HyperLabelModel(**params).predict(VOTES)


@pytest.mark.parametrize("n", [None, "2", 0, 1.5])
def test_number_of_suggestions_must_be_a_number(n):
    with pytest.raises(ParameterError, match="^n is .*; expected a whole number, at least 1"):
        hl.HyperLabelModel().suggest(VOTES, n)


def test_model_of_a_number_of_classes_from_numpy_is_saved(tmp_path):
    hl.HyperLabelModel(n_classes=np.int64(2)).fit(VOTES).save(tmp_path / "m.safetensors")
    assert hl.load(tmp_path / "m.safetensors").n_classes == 2


def test_column_without_a_name_is_no_lf():
    assert hl.Votes.from_frame(pd.DataFrame({None: [3, 4], "a": [0, 1], "b": [1, 1]})).lf_names == ("a", "b")


@pytest.mark.parametrize(
    "votes",
    [
        np.array([[0, 1]], "m8[s]"),
        np.array([[0, 1]], "m8[ns]"),
        np.array([[0, 1]], "M8[ns]"),
        pd.DataFrame({"a": pd.to_timedelta([0, 1]), "b": [0, 1]}),
    ],
)
def test_times_are_no_votes(votes):
    with pytest.raises(VotesError, match="timedelta64|datetime64|holds times"):
        hl.HyperLabelModel().predict(votes)


@pytest.mark.parametrize("kind", [pl.UInt8, pl.UInt64, pl.Float64])
def test_null_abstains_in_columns_of_any_numbers(kind):
    frame = pl.DataFrame({"a": [0, 1, None], "b": [1, None, 0]}, schema={"a": kind, "b": kind})
    assert hl.Votes.from_frame(frame).to_numpy().tolist() == [[0, 1], [1, -1], [-1, 0]]


def test_more_texts_than_classes_are_refused_before_anything_is_learned():
    rows = [f"t{i // 3}" for i in range(36_000)]
    with pytest.raises(VotesError, match="column .a. holds more than 10,000 different values"):
        hl.HyperLabelModel().predict(pd.DataFrame({"a": rows, "b": rows}))


def test_column_of_lists_gives_no_identifiers():
    votes = hl.Votes.from_frame(pd.DataFrame({"id": [[1], [2]], "a": [0, 1], "b": [1, 1]}))
    assert votes.items is None


def test_votes_with_no_classes_at_all_are_refused():
    with pytest.raises(ParameterError, match="^classes is None; expected a list of classes"):
        hl.Votes.from_array(VOTES).with_classes(None)


def test_vote_for_a_far_class_takes_no_memory_for_the_classes_between():
    tracemalloc.start()
    try:
        assert hl.HyperLabelModel().predict([[0, 1, 9999], [1, 1, 0]]).tolist() == [1, 1]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6


FAR = [[9999, 1], [1, -1], [1, 2], [0, 1], [1, 1], [0, 0]]


@pytest.mark.filterwarnings("ignore:class numbers go up to 9999")
def test_advice_and_reports_learn_about_classes_with_votes_alone(monkeypatch):
    learned, fit = [], hl.HyperLabelModel._fit

    def spy(self, patterns, gold):
        learned.append(patterns.n_classes)
        return fit(self, patterns, gold)

    monkeypatch.setattr(hl.HyperLabelModel, "_fit", spy)
    hl.advise(FAR * 6, {0: 0})
    assert max(learned) == 4
    hl.report(FAR * 6)
    assert max(learned) == 5  # and one whose share is stated in turn


@pytest.mark.filterwarnings("ignore:class numbers go up to 9999")
def test_dependence_looks_at_classes_with_votes_alone(monkeypatch):
    near = np.where(np.array(FAR) == 9999, 3, FAR)
    seen, unique = [], np.unique
    monkeypatch.setattr(np, "unique", lambda *given, **options: seen.append(1) or unique(*given, **options))
    found = hl.LFAnalysis(FAR * 6).dependence
    assert len(seen) < 100  # of 10,000 classes
    np.testing.assert_allclose(found, hl.LFAnalysis(np.tile(near, (6, 1))).dependence)


def test_dawid_skene_of_thousands_of_classes_is_refused_before_it_takes_minutes():
    votes = np.random.default_rng(0).integers(0, 2000, (4000, 5))
    with pytest.raises(ParameterError, match="2,000 classes .* Use 'hlm3' or 'mv', or fewer classes"):
        hl.label_model("ds").fit(votes)


def test_work_for_a_frame_grows_with_its_columns_and_not_with_their_square():
    assert _count_calls(2000) < 5 * _count_calls(500)  # 4 times as many columns; their square is 16 times as large


def _count_calls(m):
    """How many functions, of Python and C, run while a frame of m columns is read."""
    frame, calls = pl.DataFrame({f"lf{j}": column for j, column in enumerate(np.tile([[0, 1]], (m, 1)))}), []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, what: calls.append(event) if event in ("call", "c_call") else None)
    try:
        hl.Votes.from_frame(frame)
    finally:
        sys.setprofile(before)
    return len(calls)


def test_csv_with_quotes_around_every_cell_holds_the_same_votes(tmp_path):
    (tmp_path / "plain.csv").write_text("a,b\n0,\n1,0\n")
    (tmp_path / "quoted.csv").write_text('"a","b"\n"0",""\n"1","0"\n')
    plain, quoted = (hl.read_votes(tmp_path / f"{name}.csv") for name in ("plain", "quoted"))
    assert plain.to_numpy().tolist() == quoted.to_numpy().tolist() == [[0, -1], [1, 0]]


def test_marks_that_turn_text_around_are_written_out_in_the_report():
    mark = "\u202e"
    votes = pd.DataFrame({f"lf{mark}": [f"a{mark}", "b", "b"], "other": [f"a{mark}", "b", f"a{mark}"]})
    page = hl.report(votes, [f"text {mark}", "x", "y"], title=f"title {mark}").html
    assert mark not in page
    assert r"\u202e" in page


ROWS = pl.DataFrame({"id": [1, 2], "a": [0, 1], "b": [1, 1]})
JUDGED = [{"item": i, "judge": f"j{j}", "vote": i % 2, "score": 0.5 * j} for i in range(4) for j in range(3)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hl.read_votes(ROWS, lfs=[]), "the table has no LF column; .*name the LFs with lfs"),
        (lambda: hl.jury(JUDGED, item="*", judge="judge", vote="vote"), r"item is '\*'; expected one of the columns"),
        (lambda: hl.jury(JUDGED, item=None, judge="judge", vote="vote"), "item is None; expected one of the columns"),
        (lambda: hl.jury(JUDGED, item="item", judge="judge", vote="v*"), r"vote is 'v\*'; expected one of the columns"),
    ],
)
def test_argument_that_no_call_can_use_is_refused_by_name(call, message):
    with pytest.raises(hl.HyperlabelError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_jury_of_scores_with_no_gold_at_all_has_a_verdict_for_each_item():
    verdicts = hl.jury(JUDGED, item="item", judge="judge", score="score", gold={}, classes=[0, 1], model="mv")
    assert len(verdicts.labels) == 4


def test_no_keys_are_no_groups():
    groups = group_keys(np.empty(0, np.uint64), 1 << 64)
    assert [len(groups.example), len(groups.inverse), len(groups.counts)] == [0, 0, 0]


def test_project_takes_a_number_of_rows_from_numpy(tmp_path):
    (tmp_path / "t.csv").write_text("id,text\n1,free\n2,hello\n")
    with hl.Project(tmp_path / "t.csv", text="text", classes=["0", "1"], sample=np.int8(1)) as project:
        assert project.labels is not None
    with hl.Project(tmp_path / "t.csv", text="text") as project:
        assert project.list_lfs() is not None


def test_csv_of_many_columns_is_not_read_in_the_square_of_their_number(monkeypatch, tmp_path):
    """Polars' replace looks at all columns for each; thousands of them took minutes."""
    monkeypatch.setattr(pl.Expr, "replace", lambda *_: pytest.fail("replace was called"))
    names, cells = [f"lf{j}" for j in range(300)], ["1", " ", "0"] * 100
    (tmp_path / "v.csv").write_text(f"{','.join(names)}\n{','.join(cells)}\n{','.join(cells[::-1])}\n")
    votes = hl.read_votes(tmp_path / "v.csv")
    assert votes.to_numpy()[:, :3].tolist() == [[1, -1, 0], [0, -1, 1]]


@pytest.mark.parametrize("value", [pd.DataFrame({"a\x1b[2J": [1, 2]}), np.zeros((3, 3)), pl.DataFrame({"a": [1, 2]})])
def test_value_in_an_error_is_on_one_line_and_not_obeyed(value):
    with pytest.raises(ParameterError) as raised:
        check_choice(value, "tie_break", ["first", "random"])
    assert str(raised.value).isprintable()


class PanicException(BaseException):  # noqa: N818  the name that Polars' panics have
    """What compiled code raises."""


class Panics:
    """A value that cannot be shown, as frames of Polars that hold objects in lists."""

    def __init__(self, error):
        self.error = error

    def __repr__(self):
        raise self.error


def test_value_whose_show_panics_is_shown_by_its_type():
    with pytest.raises(ParameterError, match="tie_break is a Panics; expected"):
        check_choice(Panics(PanicException()), "tie_break", ["first", "random"])
    with pytest.raises(KeyboardInterrupt):
        check_choice(Panics(KeyboardInterrupt()), "tie_break", ["first", "random"])


@pytest.mark.parametrize("source", ["\ud800", "a = '\0'", "(" * 500, "-" * 100_000 + "1"])
def test_source_that_python_cannot_read_is_refused_by_the_project(tmp_path, source):
    (tmp_path / "t.csv").write_text("id,text\n1,free\n2,hello\n")
    with hl.Project(tmp_path / "t.csv", text="text", classes=["0", "1"]) as project:
        with pytest.raises(hl.ProjectError, match="line 1|no new LF|line"):
            project.add(source)
        assert project.list_lfs() is not None


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\0"])
def test_file_of_lfs_that_is_no_text_is_refused(tmp_path, content):
    (tmp_path / "lfs.py").write_bytes(content)
    with pytest.raises(hl.ProjectError):
        load_lfs(tmp_path / "lfs.py")
