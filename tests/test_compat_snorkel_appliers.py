"""Signatures, LFs, preprocessors, appliers: user scripts against Snorkel 0.10 and against hyperlabel.compat.snorkel."""

import copy
import inspect
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from hyperlabel import lf as lf_part
from hyperlabel.compat.snorkel.rows import SeriesRow, iter_rows
from snorkel_doors import REAL, assert_same_array, both_doors, frame, lf_named, ours, run_both, with_snorkel


def parameters(function):
    """Names and defaults of parameters, defaults as texts; a list and a tuple are alike."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, repr(p.default).translate(str.maketrans("[](),", "     ")).strip()) for p in found]


@with_snorkel
@pytest.mark.parametrize(
    "name",
    [
        "labeling_function",
        "LabelingFunction",
        "preprocessor",
        "LFApplier",
        "LFApplier.apply",
        "PandasLFApplier.apply",
        "DaskLFApplier.apply",
        "PandasParallelLFApplier.apply",
        "LFAnalysis",
        "LFAnalysis.lf_overlaps",
        "LFAnalysis.lf_conflicts",
        "LFAnalysis.lf_empirical_accuracies",
        "LFAnalysis.lf_empirical_probs",
        "LFAnalysis.lf_summary",
        "LabelModel.fit",
        "LabelModel.predict",
        "LabelModel.predict_proba",
        "LabelModel.score",
        "LabelModel.save",
        "LabelModel.load",
        "MajorityLabelVoter",
        "MajorityClassVoter.fit",
        "RandomVoter",
        "filter_unlabeled_dataframe",
        "probs_to_preds",
        "preds_to_probs",
        "to_int_label_array",
    ],
)
def test_signature_is_that_of_snorkel(name):
    owner, _, method = name.partition(".")
    real, other = (getattr(door, owner) for door in (REAL, ours))
    if method:
        real, other = getattr(real, method), getattr(other, method)
    assert parameters(real) == parameters(other)


def text_lfs(door):
    """LFs of the kinds that users write."""

    @door.labeling_function()
    def short(x):
        return 0 if len(x.text) < 12 else -1

    @door.labeling_function(name="keyword", resources={"words": ["free", "win"], "label": 1})
    def contains(x, words, label):
        return label if any(word in x.text.lower() for word in words) else -1

    @door.labeling_function()
    def by_item(x):
        return int(x["num"] > 0) if x["two words"] else -1

    @door.labeling_function()
    def nan_aware(x):
        return -1 if pd.isna(x.share) else np.int64(x.share > 0.5)

    @door.labeling_function()
    def with_default(x):
        return 1 if x.get("author") == "ann" else 0 if x.get("nowhere", "bob") == x.author else -1

    return [short, contains, by_item, nan_aware, with_default]


def series_lfs(door):
    """LFs that use a row as the pandas Series it is."""

    def lf(name, f):
        return door.LabelingFunction(name, f)

    return [
        lf("row label", lambda x: x.name % 3),
        lf("column called name", lambda x: 1 if x["name"] == "x" else 0),
        lf("column called count", lambda x: x["count"] % 2 if callable(x.count) else 5),
        lf("length", lambda x: len(x) % 3 if "text" in x else -1),
        lf("some columns", lambda x: int(x[["num", "count"]].sum() > 4)),
        lf("null", lambda x: int(x.isna().sum())),
        lf("dict", lambda x: len(x.to_dict()) - 8),
        lf("index", lambda x: list(x.index).index("share")),
        lf("time", lambda x: x.when.month - 1),
        lf("values", lambda x: sum(isinstance(value, str) for value in x)),
    ]


def odd_lfs(door):
    """LFs whose votes are not plain class numbers."""
    votes = {
        "bool": lambda x: x.num > 0,
        "numpy bool": lambda x: np.bool_(x.num > 0),
        "float": lambda x: 1.0 if x.num > 0 else -1.0,
        "fraction": lambda x: abs(x.num) / 20,
        "nan": lambda x: np.nan if x.num > 0 else 2,
        "below -1": lambda x: x.num // 10,
        "array": lambda x: np.array(x.num > 3),
    }
    return [door.LabelingFunction(name, f) for name, f in votes.items()]


@with_snorkel
@pytest.mark.parametrize("make", [text_lfs, series_lfs, odd_lfs])
def test_pandas_votes_are_those_of_snorkel(make):
    data = frame()
    real, other = run_both(lambda door: door.PandasLFApplier(make(door)).apply(data, progress_bar=False))
    assert_same_array(real, other)
    assert len(np.unique(other)) > 1


@with_snorkel
@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"a": [1, 2], "b": [3, 4]}),
        pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]}),
        pd.DataFrame({"a": [True, False]}),
        pd.DataFrame({"a": pd.to_datetime(["2026-01-01", "2026-01-02"])}),
        pd.DataFrame({"a": ["x", None], "b": [1, 2]}),
        pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": ["x", "y"]}),
        pd.DataFrame({"a": pd.Categorical(["x", "y"])}),
        pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
        pd.DataFrame([["x", 2], ["y", 4]]),
    ],
    ids=["ints", "upcast", "bools", "times", "mixed", "nullable", "category", "equal names", "numbered"],
)
def test_values_of_a_row_have_the_types_that_snorkel_gives(data):
    def script(door):
        seen = []
        first = data.columns[0]
        lf = door.LabelingFunction("look", lambda x: seen.append((type(x[first]).__name__, repr(x[first]))) or 0)
        door.PandasLFApplier([lf]).apply(data, progress_bar=False)
        return seen

    real, other = run_both(script)
    assert real == other


@with_snorkel
def test_votes_on_lists_and_arrays_are_those_of_snorkel():
    points = [SimpleNamespace(**row) for row in frame(50).to_dict("records")]
    numbers = np.random.default_rng(0).integers(-9, 9, (40, 3))

    def script(door):
        by_array = [
            door.LabelingFunction("first", lambda x: int(x[0] > 0)),
            door.LabelingFunction("sum", lambda x: x.sum()),
        ]
        some = [text_lfs(door)[i] for i in (0, 1, 3)]
        on_points = door.LFApplier(some).apply(points, progress_bar=False)
        return on_points, door.LFApplier(by_array).apply(numbers, progress_bar=False)

    for real, other in zip(*run_both(script), strict=True):
        assert_same_array(real, other)


def failing_lfs(door):
    def fail_on_long(x):
        if len(x.text) > 20:
            raise KeyError("too long")
        return 1

    return [
        door.LabelingFunction("long", fail_on_long),
        door.LabelingFunction("divide", lambda x: int(10 / len(x.text) > 1)),
        door.LabelingFunction("fine", lambda x: 0),
    ]


@with_snorkel
def test_tolerated_faults_are_counted_as_by_snorkel():
    data = frame()

    def script(door):
        votes, meta = door.PandasLFApplier(failing_lfs(door)).apply(
            data, progress_bar=False, fault_tolerant=True, return_meta=True
        )
        return votes, meta.faults, type(meta).__name__

    (votes, faults, name), (our_votes, our_faults, our_name) = run_both(script)
    assert_same_array(votes, our_votes)
    assert dict(faults) == dict(our_faults)
    assert our_faults["divide"] > 0
    assert our_faults["fine"] == 0
    assert name == our_name


@both_doors
def test_fault_that_is_not_tolerated_is_the_exception_of_the_lf(door):
    with pytest.raises(KeyError, match="too long"):
        door.PandasLFApplier(failing_lfs(door)[:1]).apply(frame(), progress_bar=False)


def test_fault_that_is_not_tolerated_names_the_lf_and_the_row():
    data = pd.DataFrame({"text": ["ok", "ok", ""]})
    with pytest.raises(ZeroDivisionError) as raised:
        ours.PandasLFApplier(failing_lfs(ours)).apply(data, progress_bar=False)
    assert raised.value.__notes__ == ["LF 'divide' on row 2"]


@both_doors
@pytest.mark.parametrize("vote", [None, "spam"])
def test_vote_that_is_no_number_is_a_type_error(door, vote):
    lf = door.LabelingFunction("odd", lambda x: vote if x.num == 2 else 0)
    with pytest.raises(TypeError, match="" if door is REAL else f"LF 'odd' on row 1 returned {vote!r}"):
        door.PandasLFApplier([lf]).apply(pd.DataFrame({"num": [1, 2]}), progress_bar=False)


@with_snorkel
def test_preprocessors_change_what_the_lf_sees_as_with_snorkel():
    data = frame()

    def script(door):
        calls = []

        @door.preprocessor(memoize=True)
        def lower(x):
            calls.append(1)
            x.text = x.text.lower()
            return x

        @door.preprocessor(pre=[lower])
        def add_length(x):
            x.length = len(x.text)
            return x

        after = door.LabelingFunction("after", lambda x: 1 if "win" in x.text and x.length > 9 else 0, pre=[add_length])
        twice = door.LabelingFunction("twice", lambda x: 1 if "win" in x.text else 0, pre=[lower, lower])
        before = door.LabelingFunction("before", lambda x: 1 if "WIN" in x.text else 0)
        return (
            door.PandasLFApplier([after, twice, before]).apply(data, progress_bar=False),
            bool(calls),
            repr(lower)[:5],
        )

    (votes, *_), (our_votes, called, _) = run_both(script)
    assert_same_array(votes, our_votes)
    assert called
    assert our_votes.any(0).all()


@with_snorkel
@pytest.mark.filterwarnings("ignore")
def test_preprocessors_and_lfs_made_with_snorkel_work_in_our_applier():
    data = frame()

    @REAL.preprocessor(memoize=True)
    def lower(x):
        x.text = x.text.lower()
        return x

    made = [door.LabelingFunction("win", lambda x: int("win" in x.text), pre=[lower]) for door in (REAL, ours)]
    real = REAL.PandasLFApplier(made[:1]).apply(data, progress_bar=False)
    for lf in made:
        assert_same_array(real, ours.PandasLFApplier([lf]).apply(data, progress_bar=False))


def test_memoized_preprocessor_runs_once_for_equal_points():
    calls = []

    @ours.preprocessor(memoize=True)
    def look(x):
        calls.append(x.text)
        return x

    for text in ("a", "b", "a"):
        look(SimpleNamespace(text=text, words=[text], table={"n": np.zeros(2)}))
    assert calls == ["a", "b"]
    look.reset_cache()
    look(SimpleNamespace(text="a", words=["a"], table={"n": np.zeros(2)}))
    assert calls == ["a", "b", "a"]


@both_doors
def test_preprocessor_that_returns_none_is_refused(door):
    lf = door.LabelingFunction("lost", lambda x: 0, pre=[lambda x: None])
    with pytest.raises(ValueError, match="None"):
        lf(SimpleNamespace(text=""))


@with_snorkel
def test_reprs_are_those_of_snorkel():
    def script(door):
        lfs = text_lfs(door)
        return repr(lfs[1]), repr(door.PandasLFApplier(lfs)), lfs[0].name, lfs[0](SimpleNamespace(text=""))

    real, other = run_both(script)
    assert real == other


def test_row_can_be_changed_copied_pickled_and_computed_with():
    data = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["x", "y"])
    row = list(iter_rows(data))[1]
    assert isinstance(row, SeriesRow)
    other = copy.deepcopy(row)
    other.c, other["a"] = "new", 9.0
    assert (row.a, other.a, other["c"], len(other), other.name) == (2.0, 9.0, "new", 3, "y")
    pd.testing.assert_series_equal(pickle.loads(pickle.dumps(row)), data.iloc[1])
    assert (row > 3).tolist() == [False, True]
    assert (row + row).tolist() == [4.0, 8.0]
    assert np.asarray(row).tolist() == [2.0, 4.0]
    assert repr(row) == repr(data.iloc[1])
    with pytest.raises(AttributeError, match="nowhere"):
        _ = row.nowhere
    with pytest.raises(KeyError, match="nowhere"):
        row["nowhere"]


def test_lfs_of_both_kinds_can_be_mixed_in_both_appliers():
    data = pd.DataFrame({"text": ["a", "bb", "ccc"]})
    lfs = [
        ours.LabelingFunction("door", lambda x: len(x.text) - 2),
        lf_part.LabelingFunction("own", lambda x: x.text == "a", vote=1),
    ]
    votes = ours.PandasLFApplier(lfs).apply(data, progress_bar=False)
    assert votes.tolist() == [[-1, 1], [0, -1], [1, -1]]
    assert lf_part.apply_lfs(lfs, data).cells.tolist() == votes.tolist()


def test_frame_without_rows_gives_no_votes():
    assert ours.PandasLFApplier([lf_named("a")]).apply(pd.DataFrame({"text": []}), progress_bar=False).shape == (0, 1)


def test_progress_is_shown_unless_it_is_unwanted(capsys):
    applier = ours.LFApplier([lf_named("a")])
    applier.apply(iter([1, 2]), progress_bar=False)
    assert capsys.readouterr().err == ""
    applier.apply(iter([1, 2]))
    assert "100%" in capsys.readouterr().err


def parallel_lfs(door):
    def spam(x):  # inside a function, so that it is sent to other processes whole and not by name
        return 1 if "free" in x.text else -1

    return [door.LabelingFunction("spam", spam), door.LabelingFunction("divide", lambda x: 10 // x.num % 2)]


@pytest.fixture
def dask_frame():
    dataframe = pytest.importorskip("dask.dataframe")
    return dataframe.from_pandas(frame(90)[["text", "num"]].reset_index(drop=True), npartitions=3)


def expected_votes():
    return ours.PandasLFApplier(parallel_lfs(ours)).apply(frame(90), progress_bar=False, fault_tolerant=True)


@with_snorkel
def test_votes_on_dask_are_those_of_snorkel(dask_frame):
    real, other = run_both(lambda door: door.DaskLFApplier(parallel_lfs(door)).apply(dask_frame, "threads", True))
    assert_same_array(real, other)
    assert_same_array(other, expected_votes())


@pytest.mark.slow
def test_votes_from_several_processes_are_those_of_one():
    pytest.importorskip("dask.dataframe")
    votes = ours.PandasParallelLFApplier(parallel_lfs(ours)).apply(frame(90), fault_tolerant=True)
    assert_same_array(votes, expected_votes())


def test_fault_on_dask_that_is_not_tolerated_is_raised(dask_frame):
    with pytest.raises(ZeroDivisionError):
        ours.DaskLFApplier(parallel_lfs(ours)).apply(dask_frame, scheduler="threads")


@pytest.fixture
def spark_context(monkeypatch):
    """A local Spark, or the one that another test has started and will stop."""
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    active = sql.SparkSession.getActiveSession()
    session = active or sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session.sparkContext
    if active is None:
        session.stop()


@pytest.mark.slow
def test_votes_on_spark_are_those_of_pandas_and_of_snorkel(spark_context):
    from pyspark.sql import Row

    rows = [Row(text=text, num=int(num)) for text, num in zip(frame(90).text, frame(90).num, strict=True)]
    points = spark_context.parallelize(rows, 3)
    votes = ours.SparkLFApplier(parallel_lfs(ours)).apply(points, fault_tolerant=True)
    assert_same_array(votes, expected_votes())
    if REAL is not None:
        from snorkel.labeling.apply.spark import SparkLFApplier

        assert_same_array(votes, SparkLFApplier(parallel_lfs(REAL)).apply(points, fault_tolerant=True))
