"""Labeling where the rows are: the same test for every engine, against NumPy on the same votes."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from engines_fixtures import collect, dask_workers, engine, open_frame, read_result, spark
from hyperlabel import engines
from hyperlabel.engines import _run as run
from hyperlabel.engines._packing import Digit, KeyIndex, Packing

__all__ = ["dask_workers", "engine", "open_frame", "spark"]  # fixtures

FRAMES = {"polars": "LazyFrame", "duckdb": "DuckDBPyRelation", "spark": "DataFrame", "dask": "DataFrame"}


def draw(n=400, m=5, k=2, seed=0, density=0.5):
    """(n, m) votes; the first and the last item have none."""
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((n, m)) < density, rng.integers(0, k, (n, m)), -1)
    cells[[0, -1]] = -1
    return cells


def table_of(cells, names=None, dtype=pl.Int8):
    """A wide table in which null abstains."""
    values = list(range(cells.max() + 1)) if names is None else names
    columns = {
        f"lf {j}": pl.Series([None if v < 0 else values[v] for v in cells[:, j]], dtype=dtype)
        for j in range(cells.shape[1])
    }
    notes = [f"it's row {i}" for i in range(len(cells))]
    return pl.DataFrame({"id": np.arange(len(cells)), **columns, "label": notes, "a.b": notes})


@pytest.fixture
def write(tmp_path):
    def write_it(table):
        table.write_parquet(tmp_path / "votes.parquet", row_group_size=100)
        return tmp_path / "votes.parquet"

    return write_it


def assert_labels(rows, cells, classes, model=None, gold=None, *, exact=True):
    """Rows hold what a model says of the votes in one array; exactly, where patterns were counted."""
    model = model or hl.HyperLabelModel(n_classes=len(classes))
    labels = model.fit_predict(cells, gold).tolist()
    assert rows["label"].to_list() == [None if c == -1 else classes[c] for c in labels]
    confidence = model.fit_predict_proba(cells, gold).max(1)
    assert_allclose(rows["confidence"].to_numpy(), confidence, rtol=0, atol=0 if exact else 1e-6)


def assert_judged(rows, model, cells):
    """Rows hold what a fitted model says of them."""
    assert_array_equal(rows["label"].fill_null(-1), model.predict(cells))
    assert_allclose(rows["confidence"], model.label(cells).confidence, atol=1e-6)


def draw_gold(n, k, every=3):
    """(n,) classes, -1 for most; the first item, which has no votes, has one."""
    return np.where(np.arange(n) % every, -1, np.random.default_rng(0).integers(0, k, n))


def gold_column(gold):
    return pl.Series("gold", [None if g < 0 else int(g) for g in gold], dtype=pl.Int64)


def test_label_of_a_frame_gives_a_frame_of_the_same_kind_with_the_labels_of_numpy(engine, open_frame, write):
    cells = draw()
    table = table_of(cells)
    frame = engines.label(open_frame(write(table)), lfs=["lf *"], probabilities=True)
    assert type(frame).__name__ == FRAMES[engine]
    rows = collect(frame)
    assert rows.columns == [
        "id", *(f"lf {j}" for j in range(5)), "label_input", "a.b", "label", "confidence", "p_0", "p_1",
    ]  # fmt: skip
    assert rows.select(table.columns[:-2]).equals(table.select(table.columns[:-2]))
    assert_array_equal(rows["label_input"], table["label"])
    assert_labels(rows, cells, [0, 1])
    assert_array_equal(rows.select("p_0", "p_1"), hl.HyperLabelModel().predict_proba(cells))


def test_label_of_texts_to_a_file_keeps_types_and_gives_the_labels_of_numpy(engine, write, tmp_path):
    names = ["it's", 'say "hi"', "grüezi"]
    cells = draw(k=3, seed=1)
    table = table_of(cells, names, pl.String).with_columns(pl.col("lf 1").fill_null(""), pl.col("lf 2").fill_null("-1"))
    out = tmp_path / "out.parquet"
    assert engines.label(write(table), lfs=["lf *"], classes=names, engine=engine, out=out) == out
    rows = read_result(out)
    assert_labels(rows, cells, names)
    assert rows.schema == pl.Schema(
        {"id": pl.Int64, **{f"lf {j}": pl.String for j in range(5)}, "label_input": pl.String, "a.b": pl.String}
        | {"label": pl.String, "confidence": pl.Float64}
    )


def test_label_of_more_lfs_than_a_key_holds_gives_the_labels_of_numpy(engine, open_frame, write):
    cells = draw(n=60, m=90, k=3, density=0.2)
    path = write(table_of(cells, dtype=pl.Int16))
    assert len(Packing(tuple(Digit(str(j), 4) for j in range(90))).keys) == 3
    assert_labels(collect(engines.label(open_frame(path), lfs=["lf *"])), cells, [0, 1, 2])


@pytest.mark.filterwarnings("ignore::hyperlabel.errors.ConvergenceWarning")
@pytest.mark.parametrize("m", [20, 50])
def test_label_by_an_em_of_many_rounds_is_that_of_numpy_to_the_last_bit(open_frame, write, m):
    model = hl.label_model("ds", max_iter=25, tol=0)  # each round adds to what the first rounded differently
    cells = draw(n=90, m=m, k=3, density=0.1)
    path = write(table_of(cells))
    assert_labels(collect(engines.label(open_frame(path), lfs=["lf *"], model=model)), cells, [0, 1, 2], model)


def test_label_of_booleans_beside_floats_and_a_silent_lf_is_that_of_numpy(open_frame, write):
    cells = draw(m=4)
    booleans = table_of(cells, [False, True], pl.Boolean).with_columns(pl.lit(None, pl.Boolean).alias("lf silent"))
    silent = np.column_stack([cells, -np.ones(len(cells), int)])
    rows = collect(engines.label(open_frame(write(booleans)), lfs=["lf *"], probabilities=True))
    assert_labels(rows, silent, [False, True])
    assert rows.columns[-2:] == ["p_false", "p_true"]
    floats = table_of(cells, [0.0, 1.0], pl.Float64).with_columns(pl.col("lf 0").fill_null(float("nan")))
    assert_labels(collect(engines.label(open_frame(write(floats)), lfs=["lf *"])), cells, [0, 1])


@pytest.mark.filterwarnings("ignore:gold has classes that no LF votes for")
def test_label_with_gold_learns_from_it_and_gives_gold_items_their_class(open_frame, write):
    cells, gold = draw(n=200, seed=2), draw_gold(200, 3)
    frame = open_frame(write(table_of(cells).with_columns(gold_column(gold))))
    for name in ("hlm", "hlm3", "mv"):
        model = hl.label_model(name)
        rows = collect(engines.label(frame, lfs=["lf *"], model=model, gold="gold", probabilities=True))
        assert rows.height == 200
        assert_labels(rows, cells, [0, 1, 2], hl.label_model(name), gold)
        shares = rows.select("p_0", "p_1", "p_2").to_numpy()
        assert_array_equal(shares[gold >= 0], np.eye(3)[gold[gold >= 0]])
        assert not model.is_fitted


def test_label_of_more_patterns_than_allowed_reads_the_rows_and_their_gold_in_passes(
    engine, write, tmp_path, monkeypatch
):
    cells, gold = draw(n=2000, m=12, k=3, seed=3, density=0.7), draw_gold(2000, 3, every=40)
    path, out = write(table_of(cells).with_columns(gold_column(gold))), tmp_path / "out.parquet"
    engines.label(path, lfs=["lf *"], gold="gold", engine=engine, max_patterns=50, out=out)
    assert_labels(read_result(out), cells, [0, 1, 2], gold=gold, exact=False)


@pytest.mark.parametrize("weights", ["hlm", "hlm2", "hlm3"])
def test_label_of_more_patterns_than_allowed_reads_the_rows_in_passes(engine, write, tmp_path, monkeypatch, weights):
    cells = draw(n=2000, m=12, k=3, seed=3, density=0.7)
    path, out = write(table_of(cells)), tmp_path / "out.parquet"
    monkeypatch.setattr(run, "count_patterns", None)  # calling it would fail
    engines.label(path, lfs=["lf *"], model=weights, engine=engine, max_patterns=50, probabilities=True, out=out)
    rows = read_result(out)
    model = hl.HyperLabelModel(weights)
    assert_array_equal(rows["label"].fill_null(-1), model.predict(cells))
    assert_allclose(rows.select("p_0", "p_1", "p_2"), model.predict_proba(cells), atol=1e-6)


@pytest.mark.parametrize("weights", ["hlm", "hlm2", "hlm3"])
@pytest.mark.parametrize("seed", range(12))
def test_label_in_passes_of_few_patterns_in_many_chunks_is_that_in_memory(monkeypatch, weights, seed):
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(2, 6)), int(rng.integers(3, 12))
    rows = draw(int(rng.integers(8, 60)), m, k, seed, density=rng.uniform(0.2, 0.9))
    cells = rows[rng.integers(len(rows), size=3000)]
    monkeypatch.setattr(run, "CHUNK_ROWS", 70)
    model = hl.HyperLabelModel(weights, n_classes=k)
    labeled = engines.label(table_of(cells), lfs=["lf *"], model=model, max_patterns=5)
    assert_labels(labeled, cells, list(range(k)), model, exact=False)


@pytest.mark.parametrize("most", [1 << 20, 20])
def test_label_by_a_fitted_model_finds_its_lfs_by_name_and_judges_in_its_state(engine, write, tmp_path, most):
    seen, new = draw(n=600, m=8, k=3, seed=6), draw(n=300, m=8, k=3, seed=7)
    fitted = hl.HyperLabelModel(n_classes=3).fit(hl.Votes.from_array(seen, lfs=[f"lf {j}" for j in range(8)]))
    fitted.save(tmp_path / "state.safetensors")
    model, out = hl.load(tmp_path / "state.safetensors"), tmp_path / "out.parquet"
    columns = ["id", *(f"lf {j}" for j in (3, 1, 7, 0, 2, 6, 5, 4)), "a.b"]
    engines.label(write(table_of(new).select(columns)), model=model, engine=engine, max_patterns=most, out=out)
    rows = read_result(out)
    assert rows.columns == [*columns, "label", "confidence"]
    assert_judged(rows, fitted, new)


@pytest.mark.parametrize("most", [1 << 20, 20])
def test_label_by_any_fitted_model_judges_alone_or_together_the_same(most):
    cells = draw(n=500, m=6)
    for name in ("mv", "ds", "hlm"):
        fitted = hl.label_model(name).fit(cells)
        for part in (cells, cells[:50], cells[7:8]):
            assert_judged(engines.label(table_of(part), lfs=["lf *"], model=fitted, max_patterns=most), fitted, part)


@pytest.mark.parametrize("most", [1 << 20, 20])
def test_label_by_a_fitted_model_gives_gold_items_their_class_and_learns_nothing(most):
    cells, gold = draw(n=300, m=6), draw_gold(300, 2)
    fitted = hl.HyperLabelModel().fit(cells)
    table = table_of(cells).with_columns(gold_column(gold))
    rows = engines.label(table, lfs=["lf *"], model=fitted, gold="gold", max_patterns=most)
    known = gold >= 0
    assert_array_equal(rows["label"].to_numpy()[known], gold[known])
    assert (rows["confidence"].to_numpy()[known] == 1).all()
    assert_judged(rows.filter(~known), fitted, cells[~known])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lfs": ["lf 0", "lf 1"]}, r"votes lacks the LF 'lf 2'; expected the LFs 'lf 0', 'lf 1', 'lf 2'\. Give"),
        ({"lfs": ["lf *", "a.b"]}, r"votes has the LF 'a\.b', which the model was not fitted on"),
        ({"classes": [1, 0]}, r"classes is \[1, 0\], but the model was fitted with 0, 1; leave it out, or fit again"),
        ({"n_classes": 3}, r"n_classes is 3, but the model was fitted with 0, 1; leave it out, or fit again"),
        ({"gold": "lf 1"}, r"votes lacks the LF 'lf 1'"),
    ],
)
def test_label_by_a_fitted_model_of_other_votes_is_one_clear_error(arguments, message):
    cells = draw(m=3)
    fitted = hl.HyperLabelModel().fit(hl.Votes.from_array(cells, lfs=["lf 0", "lf 1", "lf 2"]))
    with pytest.raises(ValueError, match=message):
        engines.label(table_of(cells), model=fitted, **arguments)


def test_label_by_a_fitted_model_of_a_table_that_lacks_an_lf_or_has_another_number_of_them_is_refused():
    named = hl.HyperLabelModel().fit(hl.Votes.from_array(draw(m=3), lfs=["lf 0", "lf 1", "lf 2"]))
    with pytest.raises(hl.VotesError, match="votes lacks the LF 'lf 2'"):
        engines.label(table_of(draw(m=2)), model=named)
    unnamed = hl.HyperLabelModel().fit(draw(m=3))
    with pytest.raises(hl.ParameterError, match="votes has 2 LFs, but this HyperLabelModel learned from 3"):
        engines.label(table_of(draw(m=2)), lfs=["lf *"], model=unnamed)
    with pytest.raises(hl.VotesError, match="column 'lf 0'.* is 2; expected one of the classes 0, 1"):
        engines.label(table_of(draw(m=3, k=3)), model=named)


def test_label_by_a_fitted_model_knows_its_classes_whatever_they_are():
    words = pl.DataFrame({"x": ["ham", "spam", None, "spam"], "z": ["ham", "spam", None, None]})
    fitted = hl.HyperLabelModel(classes=["spam", "other", "ham"]).fit(words)
    rows = engines.label(words.select(pl.col("z"), pl.col("x")), model=fitted, probabilities=True)
    assert rows["label"].to_list() == ["ham", "spam", None, "spam"]
    assert rows.columns[-3:] == ["p_spam", "p_other", "p_ham"]


@pytest.mark.parametrize("most", [1 << 20, 20])
def test_label_for_f1_is_that_in_memory(most):
    changed = []
    for k in (2, 3):
        cells = draw(n=1500, m=7, k=k, seed=8)
        cells[:, 3:] = np.where(cells[:, 3:] > 0, 0, cells[:, 3:])  # rare classes, which F1 calls more often
        rows = engines.label(table_of(cells), lfs=["lf *"], model="hlm", metric="f1", max_patterns=most)
        expected = hl.HyperLabelModel("hlm").predict(cells, metric="f1")
        assert_array_equal(rows["label"].fill_null(-1), expected)
        changed += [(expected != hl.HyperLabelModel("hlm").predict(cells)).any()]
    assert any(changed)


def test_label_by_a_model_that_must_learn_learns_from_counts_and_stays_as_it_is(write):
    cells, model = draw(seed=4), hl.label_model("ds")
    rows = engines.label(pl.scan_parquet(write(table_of(cells))), lfs=["lf *"], model=model).collect()
    assert not model.is_fitted
    assert_labels(rows, cells, [0, 1], hl.label_model("ds"))


def test_counted_keys_are_distinct_so_that_a_join_gives_every_row_once(open_frame, write):
    forms = pl.DataFrame({"x": ["a", "", None, "-1", "a"], "gold": [None, "a", "a", "-1", "b"], "id": range(5)})
    rows = collect(engines.label(open_frame(write(forms)), lfs=["x"], gold="gold", classes=["a", "b"]))
    assert rows["id"].to_list() == list(range(5))
    assert rows["label"].to_list() == ["a", "a", "a", None, "b"]


def test_label_of_a_polars_frame_in_memory_gives_one_in_the_same_order():
    cells = draw(n=30)[::-1]
    table = table_of(cells)
    rows = engines.label(table, lfs=["lf *"])
    assert isinstance(rows, pl.DataFrame)
    assert_array_equal(rows["id"], table["id"])
    assert_labels(rows, cells, [0, 1])


def test_label_of_a_path_without_out_is_lazy(write):
    path = write(table_of(draw()))
    assert isinstance(engines.label(path, lfs=["lf *"]), pl.LazyFrame)


def test_label_of_categories_enums_and_decimals_takes_them_for_texts_and_numbers():
    names = ["a", "b", None, "a"]
    table = pl.DataFrame(
        {"x": pl.Series(names, dtype=pl.Categorical), "y": pl.Series(names, dtype=pl.Enum(["b", "a"]))}
    )
    assert engines.label(table)["label"].to_list() == names
    decimals = pl.DataFrame({"x": pl.Series([1, 0, None], dtype=pl.Decimal(4, 1))})
    assert engines.label(decimals)["label"].to_list() == [1, 0, None]


MISTAKES = {
    "a half": ({"x": [0.5, 1.0, None]}, r"column 'x' holds 0\.5, which is not a whole number"),
    "below -1": ({"x": [0, -2, None]}, r"is -2; expected a whole number, 0 or more"),
    "lists": (
        {"x": [[0], [1], None]},
        r"column 'x' holds values of the type .*; expected numbers, strings or booleans",
    ),
    "identifiers": ({"x": range(20_000)}, r"column 'x' holds more than 10,000 different values, like an id"),
    "long texts": ({"x": [f"t{i}" for i in range(20_000)]}, r"column 'x' holds more than 10,000 different values"),
    "two kinds": ({"x": ["a", "b"], "z": [0, 1]}, r"expected one kind of class"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_label_of_a_column_that_holds_no_classes_is_one_clear_error(engine, write, tmp_path, name):
    if engine == "spark" and name not in ("a half", "lists"):
        pytest.skip("Spark takes seconds for each, and the check is the same code")
    columns, message = MISTAKES[name]
    path = write(pl.DataFrame(columns))
    with pytest.raises(hl.VotesError, match=message) as caught:
        engines.label(path, engine=engine, out=tmp_path / "out.parquet")
    assert "\n" not in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["votes.parquet"]


def test_label_of_a_wrong_value_names_its_first_row_where_rows_have_an_order():
    table = pl.DataFrame({"x": [0, 1, None, -3, -3]})
    with pytest.raises(hl.VotesError, match="column 'x', row 3 is -3"):
        engines.label(table)


def test_label_with_classes_that_miss_a_vote_is_refused():
    with pytest.raises(hl.VotesError, match=r"column 'x', row 2 is 2; expected one of the classes 0, 1, 4"):
        engines.label(pl.DataFrame({"x": [0, 1, 2, 4]}), classes=[0, 1, 4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "sql"}, r"engine is 'sql'; expected 'auto', 'polars', 'duckdb', 'spark' or 'dask'"),
        ({"engine": "duckdb"}, r"engine is 'duckdb', but data is a frame of polars; leave engine out"),
        ({"gold": "truth"}, r"gold is 'truth'; expected a column of votes: x, y"),
        ({"gold": "y", "lfs": ["y"]}, r"votes has no column besides that of gold"),
        ({"lfs": ["z*"]}, r"lfs has 'z\*', which no column matches"),
        ({"max_patterns": 2, "model": "ds"}, r"about \d+ patterns, and DawidSkene\(\) learns .*; expected at most 2"),
        ({"metric": "auc"}, r"metric is 'auc'; expected 'accuracy' or 'f1'"),
        ({"max_patterns": 2, "model": "ds"}, r"fit the model on a sample of the rows first, or raise max_patterns"),
    ],
)
def test_label_with_a_wrong_argument_says_what_is_expected(arguments, message):
    table = pl.DataFrame({"x": [0, 1, 2, 3, 0], "y": [0, 1, 2, 3, 1]})
    with pytest.raises(ValueError, match=message):
        engines.label(table, **arguments)


def test_label_of_something_else_says_what_is_expected():
    with pytest.raises(
        hl.VotesError, match=r"data is of type builtins\.list; expected a Polars, DuckDB, Spark or Dask frame"
    ):
        engines.label([[0, 1]])


def test_label_of_a_relation_with_too_many_patterns_asks_for_a_path(write):
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().read_parquet(str(write(table_of(draw()))))
    with pytest.raises(hl.ParameterError, match="expected the path of a parquet file"):
        engines.label(relation, lfs=["lf *"], max_patterns=10)


def test_index_of_several_keys_finds_each_and_refuses_a_stranger():
    keys = np.random.default_rng(0).integers(0, 1 << 60, (1000, 3))
    index = KeyIndex(keys, 1 << 180)
    order = np.random.default_rng(1).permutation(1000)
    assert_array_equal(index(keys[order]), order)
    with pytest.raises(hl.VotesError, match="votes changed while they were being labeled"):
        index(keys[:1] + 1)


def test_index_by_address_refuses_a_stranger():
    with pytest.raises(hl.VotesError, match="votes changed while they were being labeled"):
        KeyIndex(np.array([[1], [3]]), 5)(np.array([[2]]))


def test_packing_of_digits_is_undone_by_unpacking():
    packing = Packing(tuple(Digit(str(j), base) for j, base in enumerate([3, 1, 9000, *[11] * 40])))
    digits = [np.random.default_rng(j).integers(0, digit.base, 50) for j, digit in enumerate(packing.digits)]
    keys = packing.pack(digits)
    assert keys.shape == (50, len(packing.keys))
    assert (keys >= 0).all()
    assert_array_equal(packing.unpack(keys), np.stack(digits, axis=1))


def test_counted_patterns_are_judged_once(monkeypatch):
    def judge_again(*_):
        raise AssertionError("judged again")

    monkeypatch.setattr(hl.LabelModel, "pattern_probabilities", judge_again)
    votes = pl.LazyFrame({"id": [7, 8, 9], "a": ["spam", "ham", None], "b": ["spam", None, "ham"]})
    assert hl.engines.label(votes).collect()["label"].to_list() == ["spam", "ham", "ham"]


WIDE = {"texts": (["ham", "spam", "eggs"], pl.String), "floats": ([0.0, 1.0, 2.0], pl.Float64)}


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("name", ["polars", "duckdb"])
def test_label_of_many_columns_of_values_gives_the_labels_of_numpy(name, kind, write, tmp_path):
    pytest.importorskip(name)
    values, dtype = WIDE[kind]
    cells, out = draw(n=60, m=70, k=3, density=0.2), tmp_path / "out.parquet"
    classes = {"classes": values} if kind == "texts" else {"n_classes": 3}
    engines.label(write(table_of(cells, values, dtype)), lfs=["lf *"], engine=name, out=out, **classes)
    assert_labels(read_result(out), cells, values)


def test_duckdb_asks_for_the_values_of_many_columns_at_once(write, tmp_path, monkeypatch):
    duckdb_engine = pytest.importorskip("hyperlabel.engines._duckdb")
    asked, ask = [], duckdb_engine.DuckdbEngine._query
    monkeypatch.setattr(
        duckdb_engine.DuckdbEngine, "_query", lambda self, query: asked.append(query) or ask(self, query)
    )
    table = table_of(draw(n=60, m=70, k=2), ["ham", "spam"], pl.String)
    engines.label(write(table), lfs=["lf *"], engine="duckdb", out=tmp_path / "out.parquet")
    assert len(asked) < 10  # each query looks at all columns: one for each would take their square


def test_polars_finds_the_digits_of_texts_and_of_few_numbers_without_a_join_for_each_column(write):
    from hyperlabel.engines._polars import PolarsEngine
    from hyperlabel.engines._reading import scan_columns

    for values, dtype in WIDE.values():
        rows = PolarsEngine(pl.scan_parquet(write(table_of(draw(m=3, k=3), values, dtype))))
        digits = scan_columns(rows, ["lf 0", "lf 1", "lf 2"], 10, frozenset()).digits
        assert "replace" not in rows.frame.select(rows._keys(Packing(digits))).explain()
