import pandas as pd
import polars as pl
import pytest

from engines_fixtures import dask_workers, spark  # noqa: F401
from hyperlabel.data import decode
from hyperlabel.engines import label
from hyperlabel.errors import ParameterError
from hyperlabel.lf import LFError, apply_lfs, expression_lf, keyword_lf, labeling_function, lookup_lf, threshold_lf
from hyperlabel.models import HyperLabelModel

N = 60
FRAME = pl.DataFrame(
    {
        "id": range(N),
        "text": [None if i % 7 == 0 else f"{'FREE' if i % 3 == 0 else 'song'} é {i}" for i in range(N)],
        "stars": [None if i % 5 == 0 else i % 6 for i in range(N)],
    }
)


@labeling_function(resources={"least": 4})
def many_stars(x, least):
    return "ham" if x.stars == x.stars and x.stars is not None and x.stars >= least else None


@labeling_function(columns=True, vote="ham")
def has_song(frame):
    return frame["text"].str.contains("song")


LFS = [
    many_stars,
    has_song,
    keyword_lf("free", "spam"),
    threshold_lf("stars", "spam", below=2),
    lookup_lf({3: "ham", 4: "spam"}, column="id", name="known"),
    expression_lf("short", pl.col("text").str.len_chars() < 9, vote="ham"),
]
NAMES = [lf.name for lf in LFS]


class Polars:
    def lazy(self, frame):
        return frame.lazy()

    def collect(self, lazy):
        return lazy.collect()


class Dask:
    def lazy(self, frame):
        import dask.dataframe as dd

        return dd.from_pandas(frame.to_pandas(), npartitions=4)

    def collect(self, lazy):
        return pl.from_pandas(lazy.compute())


class Spark:
    def __init__(self, session):
        self.session = session

    def lazy(self, frame):
        return self.session.createDataFrame(frame.to_arrow()).repartition(3)

    def collect(self, lazy):
        return pl.from_arrow(lazy.toArrow())


@pytest.fixture(params=["polars", "dask", "spark"])
def engine(request):
    if request.param == "polars":
        return Polars()
    if request.param == "dask":
        request.getfixturevalue("dask_workers")
        return Dask()
    return Spark(request.getfixturevalue("spark"))


def test_lfs_on_a_lazy_frame_add_the_votes_of_the_frame_in_memory(engine):
    lazy = engine.lazy(FRAME)
    voted = apply_lfs(LFS, lazy)
    assert type(voted) is type(lazy)
    found = engine.collect(voted).sort("id")
    assert found.columns == [*FRAME.columns, *NAMES]
    assert found["text"].to_list() == FRAME["text"].to_list()
    wanted = apply_lfs(LFS, FRAME)
    assert (wanted.cells >= 0).any(0).all()
    for j, name in enumerate(NAMES):
        votes = [None if vote == -1 else vote for vote in decode(wanted.cells[:, j], wanted.classes).tolist()]
        assert found[name].to_list() == votes, name


def test_class_numbers_on_a_lazy_frame_are_whole_numbers(engine):
    lfs = [labeling_function("rest")(lambda x: x.id % 3 - 1), keyword_lf("free", 2)]
    found = engine.collect(apply_lfs(lfs, engine.lazy(FRAME))).sort("id")
    assert found["rest"].dtype == found["keyword_free"].dtype == pl.Int32
    assert found["rest"].to_list() == [None if i % 3 == 0 else i % 3 - 1 for i in range(N)]


def test_stated_classes_on_a_lazy_frame_name_votes_by_number(engine):
    lf = labeling_function("parity")(lambda x: x.id % 2 if x.id else None)
    found = engine.collect(apply_lfs([lf], engine.lazy(FRAME), classes=["even", "odd"])).sort("id")
    assert found["parity"].to_list() == [None, *(["odd", "even"][(i - 1) % 2] for i in range(1, N))]


def test_lf_that_fails_on_a_lazy_frame_is_reported_or_abstains(engine):
    lf = labeling_function("bad")(lambda x: 1 // x.id)
    with pytest.raises(Exception, match=r"LF 'bad' failed on row \d+ with ZeroDivisionError.*Row\(id=0, "):
        engine.collect(apply_lfs([lf], engine.lazy(FRAME)))
    found = engine.collect(apply_lfs([lf], engine.lazy(FRAME), on_error="abstain")).sort("id")
    assert found["bad"].to_list() == [None, 1, *[0] * (N - 2)]


@pytest.mark.parametrize(
    ("lfs", "classes", "message"),
    [
        (
            [labeling_function("f")(lambda x: "a")],
            None,
            "LF 'f' votes 'a'; expected a class number, 0 or more. State all",
        ),
        ([labeling_function("f")(lambda x: -2)], None, "LF 'f' votes -2; expected a class number, 0 or more"),
        ([labeling_function("f")(lambda x: 1), keyword_lf("a", "b")], None, "LF 'f' votes 1; expected a class name"),
        ([labeling_function("f")(lambda x: "c")], ["a", "b"], "LF 'f' votes 'c'; expected one of the classes 'a', 'b'"),
    ],
)
def test_votes_of_another_kind_on_a_lazy_frame_are_an_error(lfs, classes, message):
    with pytest.raises(LFError, match=message):
        apply_lfs(lfs, FRAME.lazy(), classes=classes).collect()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jobs": 2}, "jobs is given, but data is a Polars frame, which runs the LFs itself"),
        ({"cache": "x"}, "cache is given, but data is a Polars frame"),
        ({"progress": True}, "progress is given, but data is a Polars frame"),
        ({"classes": ["a", 1]}, "all whole numbers, all strings or all booleans"),
    ],
)
def test_arguments_for_data_in_memory_on_a_lazy_frame_are_an_error(arguments, message):
    with pytest.raises(ParameterError, match=message):
        apply_lfs([keyword_lf("a", 1)], FRAME.lazy(), **arguments)


def test_lf_named_like_a_column_of_a_lazy_frame_is_an_error():
    with pytest.raises(ParameterError, match="data already has a column 'text', which is the name of an LF"):
        apply_lfs([keyword_lf("a", 1, name="text")], FRAME.lazy())


def test_lfs_on_a_lazy_file_are_run_part_by_part(tmp_path):
    FRAME.write_parquet(tmp_path / "in.parquet")
    voted = apply_lfs([LFS[0], *LFS[2:]], pl.scan_parquet(tmp_path / "in.parquet"))
    voted.sink_parquet(tmp_path / "out.parquet")
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert written.equals(voted.collect())


def test_votes_of_a_lazy_frame_are_labelled_as_those_in_memory():
    model = HyperLabelModel()
    labelled = label(apply_lfs(LFS, FRAME.lazy()), lfs=NAMES, model=model).collect()
    wanted = model.predict(apply_lfs(LFS, FRAME)).tolist()
    assert labelled["label"].to_list() == [None if each == -1 else each for each in wanted]


def test_lfs_on_empty_parts_add_empty_columns():
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame({"id": [1, 2], "text": ["free", "x"]}), npartitions=2)
    voted = apply_lfs([LFS[2], labeling_function("one")(lambda x: "ham")], frame[frame.id > 1]).compute(
        scheduler="sync"
    )
    assert voted.one.tolist() == ["ham"]
    assert voted.keyword_free.isna().tolist() == [True]
