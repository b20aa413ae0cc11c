"""SQL of more dialects: parsed by sqlglot, run in DuckDB after sqlglot's translation; probabilities; large models."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.export import DIALECTS, pattern_table, to_sql
from hyperlabel.export import _sql as sql_module

sqlglot = pytest.importorskip("sqlglot")


def make_votes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    cells = np.array(["ham", "spam", "it's", None], object)[rng.integers(0, 4, (n, 4))]
    return pl.DataFrame({"id": np.arange(n)}).hstack(pl.DataFrame(cells.tolist(), schema=list("abcd"), orient="row"))


VOTES = make_votes()


@pytest.fixture(scope="module", params=["hlm2", "ds", "mv"])
def model(request):
    return hl.label_model(request.param).fit(VOTES.drop("id"))


def run(query, **tables):
    with duckdb.connect() as base:
        for name, table in tables.items():
            base.register(name, table.to_arrow())
        return base.sql(query).pl()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_parsed(model, dialect):
    query = to_sql(model, dialect, "votes", probabilities=True)
    (tree,) = sqlglot.parse(query, read=dialect)
    assert {"label", "confidence", "p_ham", "p_it's", "p_spam"} <= set(tree.named_selects)


@pytest.mark.parametrize("dialect", ["snowflake", "redshift", "trino"])
def test_dialects_without_row_values_label_as_the_model(model, dialect):
    query = sqlglot.transpile(to_sql(model, dialect, "votes", probabilities=True), read=dialect, write="duckdb")[0]
    labeled = run(query.replace("CAST(FAIL(", "CAST(error("), votes=VOTES).sort("id")
    check(labeled, model)


def check(labeled, model):
    want = model.label(VOTES.drop("id"))
    assert labeled.height == VOTES.height
    assert labeled["label"].to_list() == want.labels.tolist()
    np.testing.assert_allclose(labeled["confidence"], want.confidence, atol=1e-9)
    np.testing.assert_allclose(labeled[["p_ham", "p_it's", "p_spam"]].to_numpy(), want.probabilities, atol=1e-9)


def test_duckdb_adds_probabilities_on_request(model):
    check(run(to_sql(model, "duckdb", "votes", probabilities=True), votes=VOTES).sort("id"), model)
    assert run(to_sql(model, "duckdb", "votes"), votes=VOTES).columns == ["id", *"abcd", "label", "confidence"]


def test_a_table_with_a_column_of_probabilities_stops(model):
    query = to_sql(model, "duckdb", "votes", probabilities=True)
    with pytest.raises(duckdb.Error, match="p_ham"):
        run(query, votes=VOTES.with_columns(p_ham=pl.lit(0.5)))


@pytest.mark.parametrize("limit", ["MOST_TERMS", "MOST_NUMBERS"])
def test_a_large_model_joins_its_patterns(model, limit, monkeypatch):
    monkeypatch.setattr(sql_module, limit, 2)
    query = to_sql(model, "duckdb", "votes", probabilities=True)
    patterns = pl.DataFrame(pattern_table(model, VOTES.drop("id"), probabilities=True))
    dirty = VOTES.with_columns(a=pl.col("a").fill_null(" NA "))
    labeled = run(query, votes=dirty, hyperlabel_patterns=patterns).sort("id")
    check(labeled, model)
    with pytest.raises(duckdb.Error, match="votes that hyperlabel_patterns does not have"):
        run(query, votes=VOTES, hyperlabel_patterns=patterns.head(3)).fetchall()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_join_of_every_dialect_is_parsed(model, dialect, monkeypatch):
    monkeypatch.setattr(sql_module, "MOST_TERMS", 2)
    (tree,) = sqlglot.parse(to_sql(model, dialect, "votes"), read=dialect)
    assert {"label", "confidence"} <= set(tree.named_selects)


def test_a_thousand_classes_and_a_thousand_lfs_give_a_join():
    rng = np.random.default_rng(0)
    for votes in (rng.integers(-1, 1000, (400, 3)), rng.integers(-1, 2, (40, 1000))):
        frame = pl.DataFrame(votes, schema=[f"lf{j}" for j in range(votes.shape[1])])
        model = hl.label_model("mv", n_classes=1000 if votes.shape[1] == 3 else 2).fit(frame)
        table = frame.cast(pl.Float64).with_row_index("id")  # numbers with nulls are often floats: 7.0 is the class 7
        query = to_sql(model, "duckdb", "votes")
        patterns = pl.DataFrame(pattern_table(model, frame))
        labeled = run(query, votes=table, hyperlabel_patterns=patterns).sort("id")
        assert labeled["label"].fill_null(-1).to_list() == model.predict(frame).tolist()


def test_the_command_says_how_to_write_the_table_that_it_joins(tmp_path, hyperlabel, monkeypatch):
    hl.label_model("mv").fit(pd.DataFrame({"a": ["x", "y"], "b": ["y", "x"]})).save(tmp_path / "m.safetensors")
    said = hyperlabel("export", tmp_path / "m.safetensors", "--sql", "trino", "--from", "votes", "--probabilities")
    assert (said.code, '"p_x"' in said.out, said.err) == (0, True, "")
    monkeypatch.setattr(sql_module, "MOST_TERMS", 1)
    said = hyperlabel("export", tmp_path / "m.safetensors", "--sql", "trino", "--from", "votes")
    assert "so it joins the table hyperlabel_patterns; write it with: hyperlabel export" in said.err
