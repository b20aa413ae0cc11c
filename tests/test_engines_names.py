"""Names that engines could take for something else: the user's tables, patterns, folders, another case."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import hyperlabel as hl
from engines_fixtures import dask_workers, engine, read_result, spark
from hyperlabel import engines

__all__ = ["dask_workers", "engine", "spark"]  # fixtures

VOTES = pl.DataFrame({"id": range(4), "a": ["x", "y", None, "x"], "b": ["x", "y", "y", None]})
LABELS = ["x", "y", "y", "x"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def label(engine, tmp_path):
    """Labels a file by each engine; gives the rows by id."""

    def label_it(path, **options):
        engines.label(path, engine=engine, out="out.parquet", **options)
        return read_result(tmp_path / "out.parquet")

    return label_it


@pytest.mark.parametrize("most", [1 << 22, 1])
def test_probabilities_of_classes_that_differ_in_case_are_told_apart(engine, tmp_path, most):
    if engine == "spark":
        pytest.skip("whether a session tells such names apart is its own setting; one that does not gives an error")
    frame = pl.DataFrame(
        {"id": range(4), "a": ["x", "X", "y", "x"], "b": ["x", "X", "X", "X"], "c": ["x", "y", "y", "X"]}
    )
    frame.write_parquet("votes.parquet")
    with pytest.warns(hl.VotesWarning, match="differ only in case"):
        engines.label("votes.parquet", probabilities=True, engine=engine, max_patterns=most, out="out.parquet")
    with pytest.warns(hl.VotesWarning, match="differ only in case"):
        labels = hl.HyperLabelModel().label(frame)
    table = pq.read_table(tmp_path / "out.parquet").sort_by("id")
    assert table.column_names[-3:] == ["p_X", "p_x", "p_y"]
    found = np.stack([table.column(place).to_numpy() for place in (-3, -2, -1)], axis=1)
    np.testing.assert_allclose(found, labels.probabilities, atol=1e-6)


@pytest.mark.parametrize("name", ["answers", "__hyperlabel_items", "__hyperlabel_answers", "items"])
def test_label_of_a_relation_beside_tables_of_any_name_reads_the_relation(name):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE {name} (__hyperlabel_key0 BIGINT, label VARCHAR, confidence DOUBLE)")
    connection.execute(f"INSERT INTO {name} VALUES (0, 'wrong', 9), (4, 'wrong', 9), (5, 'wrong', 9)")
    connection.execute("CREATE TABLE votes AS SELECT * FROM VOTES")
    rows = engines.label(connection.table("votes"), lfs=["a", "b"]).order("id").fetchall()
    assert [row[3] for row in rows] == LABELS
    assert {row[0] for row in connection.execute("SHOW TABLES").fetchall()} == {name, "votes"}


@pytest.mark.parametrize("step", ["count", "write"])
def test_label_by_duckdb_that_is_interrupted_is_an_interrupt(monkeypatch, tmp_path, step):
    from hyperlabel.engines._duckdb import DuckdbEngine

    def interrupt(*arguments):
        raise RuntimeError("Query interrupted")  # what DuckDB makes of Ctrl-C

    VOTES.write_parquet("votes.parquet")
    monkeypatch.setattr(DuckdbEngine, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        engines.label("votes.parquet", lfs=["a", "b"], engine="duckdb", out="out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["votes.parquet"]


@pytest.mark.parametrize("write", [pl.DataFrame.write_parquet, lambda t, path: pq.write_table(t.to_arrow(), path)])
def test_label_of_an_lf_of_one_class_and_nan_abstains_on_nan(label, write):
    table = pl.DataFrame({"id": range(6), "a": [1.0, float("nan")] * 3, "b": [0, 1, 0, 1, None, 1]})
    write(table, "votes.parquet")
    expected = hl.HyperLabelModel().predict(np.array([[1, 0], [-1, 1], [1, 0], [-1, 1], [1, -1], [-1, 1]]))
    assert label("votes.parquet", lfs=["a", "b"])["label"].to_list() == expected.tolist()


def test_label_of_a_table_with_a_nameless_column_or_an_index_takes_neither_for_an_lf(engine):
    if engine == "spark":
        pytest.skip("the names reach the same rule, and Spark takes seconds")
    votes = {"a": [0, 1] * 20, "b": [1, 1, 0, 0] * 10}
    pl.DataFrame({"": range(40), **votes}).write_parquet("nameless.parquet")
    pd.DataFrame(votes, index=np.arange(40) + 5).to_parquet("index.parquet")
    for name, ignored in (("nameless", "(nameless)"), ("index", "__index_level_0__")):
        taken = engines.start(f"{name}.parquet", engine=engine).columns
        assert taken.describe() == f"LFs: a, b; ignored: {ignored}; classes: 0 40, 1 40; abstain: none"
        engines.label(f"{name}.parquet", engine=engine, out="out.parquet")
        rows = pl.read_parquet("out.parquet" if engine != "dask" else "out.parquet/*.parquet")
        assert sorted(rows.columns) == sorted([*pl.read_parquet(f"{name}.parquet").columns, "label", "confidence"])


def test_label_of_a_table_with_columns_of_the_added_names_in_any_case_keeps_them_as_input(label):
    VOTES.with_columns(Label=pl.lit("q"), CONFIDENCE=pl.lit(1)).write_parquet("votes.parquet")
    rows = label("votes.parquet", lfs=["a", "b"])
    assert rows.columns == ["id", "a", "b", "Label_input", "CONFIDENCE_input", "label", "confidence"]
    assert (rows["Label_input"].to_list(), rows["label"].to_list()) == (["q"] * 4, LABELS)


def test_label_tells_columns_whose_names_differ_by_case_alone(engine, label):
    if engine == "spark":
        pytest.skip("a Spark session knows no such names unless it is configured to; it refuses the file")
    table = VOTES.with_columns(A=pl.Series(["y", "y", "x", None]), ID=pl.lit(3)).select("id", "A", "ID", "a", "b")
    table.write_parquet("votes.parquet")
    rows = label("votes.parquet", lfs=["a", "A", "b"])
    assert rows.drop("label", "confidence").equals(table)
    assert rows["label"].to_list() == hl.HyperLabelModel().predict(table.select("a", "A", "b")).tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["votes[1]", "w*", "v?", "{a,b}", "a%20b", "~v", "a::b", "run=3/v"])
def test_label_of_a_path_that_exists_reads_that_file_and_no_folder_as_a_column(engine, label, tmp_path, name, ending):
    if engine == "spark" and (name, ending) not in (("votes[1]", "parquet"), ("run=3/v", "parquet")):
        pytest.skip("Spark takes seconds for each")
    other = VOTES.with_columns(a=pl.lit("z"), b=pl.lit("z"))
    (tmp_path / "run=3").mkdir()
    for table, path in [*((other, each) for each in ("votes1", "ww", "wx", "vx", "a", "b", "a b")), (VOTES, name)]:
        table.write_csv(f"{path}.csv")
        table.write_parquet(f"{path}.parquet")
    rows = label(f"{name}.{ending}")
    assert rows.columns == ["id", "a", "b", "label", "confidence"]
    assert rows["label"].to_list() == LABELS


def test_label_of_a_hive_folder_has_its_columns_and_takes_none_for_an_lf(label, tmp_path):
    for day in ("1", "2"):
        (tmp_path / "votes" / f"day={day}" / "part=x").mkdir(parents=True)
        VOTES.with_columns(pl.col("id") + 4 * (day == "2")).write_parquet(f"votes/day={day}/part=x/v.parquet")
    rows = label("votes")
    assert rows.columns == ["id", "a", "b", "day", "part", "label", "confidence"]
    assert (rows["day"].to_list(), rows["label"].to_list()) == (["1"] * 4 + ["2"] * 4, LABELS * 2)
