"""The rule which columns are votes, in every engine as in memory: the same labels, warnings and errors.

Tables are messy on purpose: columns beside the votes, words that abstain, mistyped classes, numbers as texts.
"""

import datetime
import re
import warnings

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from engines_fixtures import dask_workers, engine, read_result, spark
from hyperlabel import engines

__all__ = ["dask_workers", "engine", "spark"]  # fixtures

N = 60
PLACE = np.arange(N)


def texts(step, *names):
    """A column of N texts, one of them in every `step` rows."""
    return [names[i // step % len(names)] for i in range(N)]


VOTES = {
    "a": texts(1, "spam", "ham", None),
    "b": texts(2, "spam", None, "ham"),
    "c": texts(3, "ham", "spam"),
    "d": texts(5, "spam", "ham", ""),
}
NUMBERS = {"a": [0, 1, None] * 20, "b": [1, -1] * 30, "c": [1, 1, 0, 0, None, -1] * 10}
MESSY = {
    "plain": (VOTES, {}),
    "columns beside the votes": (
        {**VOTES, "text": [f"t{i}" for i in range(N)], "truth": texts(1, "ham", "spam"), "split": ["train"] * N},
        {},
    ),
    "words that abstain": ({**VOTES, "e": texts(1, "spam", "NA", "ham", "-1", " ", "None")}, {}),
    "other words that abstain": ({**VOTES, "e": texts(1, "spam", "skip", "ham", "NA")}, {"abstain": ["skip", "NA"]}),
    "a mistyped class": ({**VOTES, "a": ["SAPM", *VOTES["a"][1:]]}, {}),
    "an LF of a class of its own": ({**VOTES, "e": texts(7, None, "ads")}, {}),
    "an LF called url": ({**VOTES, "url": texts(2, "spam", "ham")}, {}),
    "numbers": (NUMBERS, {}),
    "numbers that begin at 1": ({"a": [1, 2, None] * 20, "b": [2, None] * 30}, {}),
    "99 for no vote": ({**NUMBERS, "c": [99, 0, 1] * 20}, {}),
    "99 abstains": ({**NUMBERS, "c": [99, 0, 1] * 20}, {"abstain": [99, -1]}),
    "numbers as texts": ({name: [None if v is None else str(v) for v in held] for name, held in NUMBERS.items()}, {}),
    "numbers as texts beside NA": ({"a": ["0", "1", "NA"] * 20, "b": [0, 1, 1] * 20}, {}),
    "several spellings of numbers beside NA": (
        {"a": ["0.0", "1.0", "NA", "1"] * 15, "b": [0, 1, 1] * 20, "c": ["1", "0.0"] * 30},
        {},
    ),
    "decimals as texts beside NA": ({"a": ["0.5", "1.0", "NA"] * 20, "b": ["0.5", "1", "1"] * 20}, {}),
    "decimals that are whole": ({"a": [0.0, 1.0, float("nan")] * 20, "b": [1.0, 0.0, None] * 20}, {}),
    "one class": ({"a": ["spam", None] * 30, "b": ["spam", None, None] * 20}, {}),
    "stated classes": (VOTES, {"classes": ["ham", "other", "spam"]}),
    "booleans": ({"a": [True, False, None] * 20, "b": [True, None] * 30}, {}),
    "gold of numbers beside NA": ({**NUMBERS, "gold": ["0", "NA", "1.0", None] * 15}, {"gold": "gold"}),
    "gold of a class that nobody votes for": (
        {**VOTES, "gold": ["eggs", "ham", *[None] * (N - 2)]},
        {"gold": "gold"},
    ),
    "gold of numbers": ({**NUMBERS, "gold": [2, 0, None] * 20}, {"gold": "gold"}),
    "LFs that are named": ({**VOTES, "n": list(range(N))}, {"lfs": ["a", "b"]}),
    "decimals": ({**NUMBERS, "score": [0.25, 0.5] * 30}, {}),
    "times": ({**VOTES, "seen": [datetime.datetime(2026, 1, 1 + i % 9) for i in range(N)]}, {}),
    "times of day": ({**VOTES, "seen": [datetime.time(i % 9) for i in range(N)]}, {}),
    "bytes": ({**VOTES, "raw": [bytes([i % 3]) for i in range(N)]}, {}),
    "times as texts": ({**VOTES, "seen": [f"2026-01-{1 + i % 9:02}" for i in range(N)]}, {}),
    "an identifier": ({**VOTES, "who": [f"user {i}" for i in range(N)]}, {}),
    "numbers of words": ({**NUMBERS, "n_words": [i % 37 + 2 for i in range(N)]}, {}),
    "a language": ({**VOTES, "lang": texts(1, "de", "en")}, {}),
    "a long text": ({**VOTES, "said": ["x" * 200] * N}, {}),
    "numbers among texts": ({**VOTES, "n": [0, 1, 2] * 20}, {}),
    "a word among numbers": ({**NUMBERS, "c": ["1", "0", "x"] * 20}, {"lfs": ["a", "b", "c"]}),
    "a long table": (
        {"item": [i // 3 for i in range(N)], "worker": texts(1, "u", "v", "w"), "label": texts(2, "x", "y")}, {},
    ),
    "below -1": ({**NUMBERS, "c": [-2, 0, 1] * 20}, {"lfs": ["a", "b", "c"]}),
    "a class that is not stated": (VOTES, {"classes": ["ham", "eggs"]}),
    "-1 that does not abstain": (NUMBERS, {"abstain": ["skip"]}),
    "gold that is no class": (
        {**VOTES, "gold": ["eggs", *[None] * (N - 1)]}, {"gold": "gold", "classes": ["ham", "spam"]},
    ),
    "no LF": ({"text": texts(1, "x", "y"), "gold": texts(1, "x", "y")}, {}),
}  # fmt: skip
SOME = {  # where each table takes a second or more: the rule is the same code, these tell whether the columns are
    "spark": ("words that abstain", "99 abstains", "gold of a class that nobody votes for", "times"),
    "dask": (
        "words that abstain", "a mistyped class", "an LF called url", "99 abstains", "numbers as texts beside NA",
        "gold of a class that nobody votes for", "decimals that are whole", "booleans", "times", "bytes", "a language",
        "a long table", "-1 that does not abstain",
    ),
}  # fmt: skip


def table_of(name):
    columns, options = MESSY[name]
    ids = {} if "item" in columns else {"id": PLACE}
    return pl.DataFrame(ids | {key: pl.Series(key, held, strict=False) for key, held in columns.items()}), options


def outcome(run):
    """What came of it: labels and warnings, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            labels = run()
        except hl.HyperlabelError as error:
            return str(error)
    return labels, [str(w.message) for w in caught if issubclass(w.category, hl.VotesWarning)]


def label_in_memory(path, *, gold=None, lfs=None, **options):
    frame = pl.read_parquet(path)
    others = [] if gold is None else [gold]
    if gold is None:
        votes = hl.read_votes(path, lfs=lfs, **options)
    else:
        votes = hl.Votes.from_frame(frame, lfs=lfs, others=others, **options)
    model = hl.HyperLabelModel()
    labels = model.fit_predict(votes, None if gold is None else frame[gold].to_list())
    return [None if label == -1 and not isinstance(label, str) else label for label in labels.tolist()]


def label_by(engine, path, out, **options):
    engines.label(path, engine=engine, out=out, **options)
    return read_result(out)["label"].to_list()


@pytest.mark.parametrize("name", MESSY)
def test_label_of_a_messy_table_is_in_every_engine_what_it_is_in_memory(engine, name, tmp_path):
    if name not in SOME.get(engine, MESSY):
        pytest.skip("enough of these tables go through the slower engines")
    table, options = table_of(name)
    table.write_parquet(tmp_path / "votes.parquet")
    expected = outcome(lambda: label_in_memory(tmp_path / "votes.parquet", **options))
    found = outcome(lambda: label_by(engine, tmp_path / "votes.parquet", tmp_path / "out.parquet", **options))
    if isinstance(expected, str) and engine != "polars":  # rows without an order have no first one
        expected = re.sub(r"column '(\w+)', row \d+", r"a value of column '\1'", expected)
        expected = re.sub(r"gold\[\d+\]", "a value of gold", expected)
    assert found == expected


def test_label_with_strict_refuses_all_that_would_be_warned_of_and_writes_nothing(engine, tmp_path):
    if engine == "spark":
        pytest.skip("Spark takes seconds, and the check is the same code")
    table, _ = table_of("a mistyped class")
    table.with_columns(url=pl.Series(texts(2, "spam", "ham"))).write_parquet(tmp_path / "votes.parquet")
    with pytest.raises(hl.VotesError, match=r"(?s)SAPM.*left out by name, though all values are classes: 'url'"):
        engines.label(tmp_path / "votes.parquet", engine=engine, out=tmp_path / "out.parquet", strict=True)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("values", [range(20_000), [f"user {i}" for i in range(20_000)]])
def test_label_of_a_column_of_very_many_values_is_refused_as_in_memory(values, tmp_path):
    table = pl.DataFrame({"a": [0, 1] * 10_000, "b": [1, 0, 1, 1] * 5_000, "n": pl.Series(list(values))})
    table.write_parquet(tmp_path / "votes.parquet")
    for options in ({}, {"lfs": ["a", "n"]}):
        expected = outcome(lambda options=options: label_in_memory(tmp_path / "votes.parquet", **options))
        assert "column 'n' holds more than 10,000 different values, like an identifier, a time or a text" in expected
        for name in ("polars", "duckdb", "dask"):
            out = tmp_path / "out.parquet"
            assert (
                outcome(lambda n=name, o=options: label_by(n, tmp_path / "votes.parquet", out, **o))  # noqa: B023
                == expected
            )


@pytest.mark.parametrize("most", [1 << 20, 5])
def test_rule_on_rows_that_are_read_in_passes_is_that_on_counted_patterns(engine, tmp_path, most):
    if engine == "spark" and most > 5:
        pytest.skip("Spark takes seconds, and counting is tested above")
    table, _ = table_of("a mistyped class")
    table.write_parquet(tmp_path / "votes.parquet")
    work = engines.start(tmp_path / "votes.parquet", engine=engine, max_patterns=most)
    with pytest.warns(hl.VotesWarning, match="SAPM"):
        expected = hl.Votes.from_frame(table).origin.columns
    assert (work.columns, work.n_rows) == (expected, N)


def test_label_of_a_table_without_rows_is_a_table_without_rows(engine, tmp_path):
    table, _ = table_of("plain")
    table.clear().write_parquet(tmp_path / "votes.parquet")
    engines.label(tmp_path / "votes.parquet", engine=engine, out=tmp_path / "out.parquet")
    rows = read_result(tmp_path / "out.parquet")
    assert (rows.columns, rows.height) == ([*table.columns, "label", "confidence"], 0)
    assert engines.start(tmp_path / "votes.parquet", engine=engine).label_counts == {}
    with pytest.raises(hl.VotesError, match="votes has 5 columns and 0 rows; expected at least one LF and one item"):
        engines.fit(tmp_path / "votes.parquet", engine=engine)


@pytest.mark.parametrize("name", ["hlm3", "mv", "ds"])
def test_fit_in_an_engine_is_fit_in_memory(engine, name, tmp_path):
    if engine == "spark" and name != "hlm3":
        pytest.skip("Spark takes seconds for each, and the check is the same code")
    table, _ = table_of("columns beside the votes")
    table.write_parquet(tmp_path / "votes.parquet")
    model = engines.fit(tmp_path / "votes.parquet", model=name, engine=engine)
    expected = hl.label_model(name).fit(table)
    assert (model.lf_names_, model.classes_.tolist()) == (expected.lf_names_, ["ham", "spam"])
    np.testing.assert_allclose(model.predict_proba(table), expected.predict_proba(table), atol=1e-6)
    with pytest.raises(hl.ParameterError, match="which is already fitted; give one that is not"):
        engines.fit(tmp_path / "votes.parquet", model=model, engine=engine)
