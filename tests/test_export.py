"""Fitted models in other systems: SQL gives the same labels and confidence in every database that can be started."""

import csv
import getpass
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError
from hyperlabel.export import DIALECTS, pattern_table, to_sql
from hyperlabel.export import _sql as sql_module
from hyperlabel.export._formula import find_formula
from hyperlabel.models import provenance
from hyperlabel.models._registry import METADATA_KEY

LFS = ["links", 'the "best" LF', "it's `odd`, and ä"]
TEXTS = ("it's ham", 'so-called "spam"', "back\\slash\nnew line ä")


def make_votes(k=2, m=3, n=200, seed=0, top=None):
    """(n, m) votes of LFs that are mostly right; classes from `top` on get none."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, top or k, n)
    votes = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, top or k, (n, m)))
    return np.where(rng.random((n, m)) < 0.6, votes, -1)


def to_frame(cells, classes, names=LFS):
    values = np.array([*classes, None], object)
    return pd.DataFrame({name: values[cells[:, j]] for j, name in enumerate(names)}, dtype=object)


def fit(model, cells, classes, gold=None, **params):
    return hl.label_model(model, classes=list(classes), **params).fit(to_frame(cells, classes), gold)


def text_case(model="hlm3", k=3, **params):
    """A fitted model, and rows to label: all patterns of three LFs."""
    classes = TEXTS[:k]
    fitted = fit(model, make_votes(k), classes, **params)
    rows = to_frame(np.array(np.meshgrid(*[np.arange(-1, k)] * 3)).reshape(3, -1).T, classes)
    return fitted, rows


def gold_case():
    cells = make_votes()
    gold = np.array(TEXTS[:2], object)[np.random.default_rng(1).integers(0, 2, 200)]
    gold[30:] = None
    fitted = fit("hlm3", cells, TEXTS[:2], gold)
    return fitted, to_frame(cells, TEXTS[:2])


def unseen_case(model, gold=None):
    fitted = fit(model, make_votes(4, top=2), ("a", "b", "c", "d"), gold)
    return fitted, to_frame(make_votes(4, seed=3, n=400), ("a", "b", "c", "d"))


def together_case(gold=None):
    """Judges who err together, so that shares of their votes are mixed in; nobody votes for `d`."""
    rng, classes = np.random.default_rng(0), ("a", "b", "c", "d")
    cells = np.array([rng.choice(3, 3, p=shares) for shares in rng.dirichlet([2, 2, 0.05], 200)])
    fitted = fit("hlm3", cells, classes, gold)
    assert fitted.state_.evidence.vote_weight > 0.02
    return fitted, to_frame(np.r_[cells, rng.integers(-1, 4, (200, 3))], classes)


CASES = {
    "hlm3, shares of votes": together_case,
    "hlm3, shares of votes and gold": lambda: together_case({0: "a", 1: "d", 2: "b", 7: "c"}),
    "hlm3, two classes": lambda: text_case(k=2),
    "hlm3, three classes": text_case,
    "hlm3, gold": gold_case,
    "hlm3, classes nobody voted for": lambda: unseen_case("hlm3"),
    "hlm3, gold of a class nobody voted for": lambda: unseen_case("hlm3", {0: "a", 1: "c", 2: "b", 7: "c"}),
    "hlm3, class balance": lambda: text_case(k=2, class_balance=[0.1, 0.9]),
    "hlm3, ties abstain": lambda: text_case(k=2, tie_break="abstain"),
    "mv": lambda: text_case("mv"),
    "mv, ties abstain": lambda: text_case("mv", tie_break="abstain"),
    "mv, classes nobody voted for": lambda: unseen_case("mv"),
}


def mv_gold_case():
    cells = make_votes()
    return fit("mv", cells, TEXTS[:2], {0: TEXTS[1], 5: TEXTS[0], 9: TEXTS[0]}), to_frame(cells, TEXTS[:2])


CASES["mv, gold"] = mv_gold_case
for name in ("bv", "ds", "hds"):
    CASES[name] = lambda name=name: text_case(name)
    CASES[f"{name}, classes nobody voted for"] = lambda name=name: unseen_case(name)
CASES["ds, LFs of one class"] = lambda: one_sided_case("ds")


def one_sided_case(model):
    cells = np.where(make_votes() == [0, 1, 1], make_votes(), -1)
    return fit(model, cells, TEXTS[:2]), to_frame(make_votes(seed=4), TEXTS[:2])


class Duckdb:
    def __init__(self):
        self.base = duckdb.connect()

    def run(self, query, rows):
        self.base.register("votes", rows.convert_dtypes())
        return self.base.sql(f"SELECT id, label, confidence FROM ({query}) ORDER BY id").fetchall()


class Spark:
    def __init__(self):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        options = {
            "spark.master": "local[1]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        options |= {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
        self.session = SparkSession.builder.config(map=options).getOrCreate()

    def run(self, query, rows):
        self.session.createDataFrame(rows.convert_dtypes()).createOrReplaceTempView("votes")
        return [
            tuple(row) for row in self.session.sql(f"SELECT id, label, confidence FROM ({query}) ORDER BY id").collect()
        ]


class Postgres:
    """A server of Debian's package in a temporary folder, by a user that is not root, reached by a socket alone."""

    def __init__(self):
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs or shutil.which("psql") is None:
            pytest.skip("PostgreSQL is not installed")
        self.folder = Path(tempfile.mkdtemp(prefix="hl-pg-"))
        self.user = "postgres" if os.getuid() == 0 else getpass.getuser()
        shutil.chown(self.folder, self.user)
        data, log = self.folder / "data", self.folder / "log"
        try:
            self.call(programs[-1] / "initdb", "-D", data, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C")
            options = f"-c listen_addresses='' -c fsync=off -k {self.folder}"
            self.call(programs[-1] / "pg_ctl", "-D", data, "-o", options, "-w", "-l", log, "start")
            self.process = int((data / "postmaster.pid").read_text().split()[0])
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            pytest.skip(f"PostgreSQL cannot be started: {error}")

    def call(self, *command):
        as_user = [] if os.getuid() else ["runuser", "-u", self.user, "--"]
        subprocess.run([*as_user, *map(str, command)], check=True, capture_output=True, cwd=self.folder)

    def psql(self, script):
        command = ["psql", "-h", self.folder, "-U", self.user, "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-q", "--csv"]
        done = subprocess.run(command, input=script, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def stop(self):
        os.kill(self.process, signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, query, rows):
        kinds = {"i": "bigint", "u": "bigint", "f": "double precision", "b": "boolean", "O": "text"}
        columns = ", ".join(f"{DIALECTS['postgres'].name_of(name)} {kinds[rows[name].dtype.kind]}" for name in rows)
        content = rows.to_csv(index=False, header=False, na_rep="\\N", lineterminator="\n")
        script = f"DROP TABLE IF EXISTS votes;\nCREATE TABLE votes ({columns});\n"
        script += f"COPY votes FROM STDIN (FORMAT csv, NULL '\\N');\n{content}\\.\n"
        found = self.psql(f"{script}SELECT id, label, confidence FROM ({query}) AS q ORDER BY id;\n")
        return [(int(i), label or None, float(c)) for i, label, c in list(csv.reader(io.StringIO(found)))[1:]]


@pytest.fixture(scope="module", params=["duckdb", "spark", "postgres"])
def database(request):
    """The name of a dialect, and a database that speaks it."""
    if request.param == "duckdb":
        yield "duckdb", Duckdb()
    elif request.param == "spark":
        yield "spark", Spark()
    else:
        server = Postgres()
        yield "postgres", server
        server.stop()


def check_same(database, model, rows, lfs=None):
    """Labels and confidence of the query are those of the model, row by row."""
    dialect, base = database
    rows = rows.assign(id=np.arange(len(rows)))
    found = base.run(to_sql(model, dialect, "votes", lfs=lfs), rows)
    labels = model.label(rows[list(lfs or rows.columns[:-1])])
    wanted = [None if best < 0 else str(model.classes_[best]) for best in labels.best]
    assert [i for i, _, _ in found] == list(range(len(rows)))
    assert [None if label is None else str(label) for _, label, _ in found] == wanted
    np.testing.assert_allclose([confidence for _, _, confidence in found], labels.confidence, rtol=0, atol=1e-12)
    return found


@pytest.mark.parametrize("case", CASES)
def test_query_gives_the_labels_and_the_confidence_of_the_model(database, case):
    check_same(database, *CASES[case]())


@pytest.mark.parametrize("form", ["integers", "floats", "texts"])
def test_class_numbers_may_stand_in_columns_of_any_type(database, form):
    model = hl.HyperLabelModel().fit(pd.DataFrame(make_votes(), columns=["a", "b", "c"]))
    cells = make_votes(seed=5, n=50)
    rows = pd.DataFrame(cells, columns=["a", "b", "c"])
    given = (
        rows if form == "integers" else rows.replace(-1, np.nan).astype(float) if form == "floats" else rows.astype(str)
    )
    dialect, base = database
    found = base.run(to_sql(model, dialect, "votes"), given.assign(id=np.arange(50)))
    labels = model.label(rows)
    assert [-1 if label is None else int(label) for _, label, _ in found] == labels.labels.tolist()
    np.testing.assert_allclose([confidence for _, _, confidence in found], labels.confidence, rtol=0, atol=1e-12)


def test_null_texts_abstain_and_other_texts_stop_the_query(database):
    model, _ = text_case("mv", k=2)
    abstains = [None, "", " ", "-1", "NA", "N/A", "None", "nan", "null", "abstain", "-"]
    rows = pd.DataFrame({name: abstains for name in LFS}, dtype=object).assign(id=np.arange(len(abstains)))
    dialect, base = database
    query = to_sql(model, dialect, "votes")
    assert [row[1:] for row in base.run(query, rows)] == [(None, 0.5)] * len(abstains)
    rows.loc[3, "links"] = "SAPM"
    with pytest.raises(Exception, match="LF links votes SAPM, which is not a class of the model"):  # noqa: B017, PT011
        base.run(query, rows)


def test_table_with_a_column_of_a_new_name_stops_the_query(database):
    model, rows = text_case("mv", k=2)
    dialect, base = database
    with pytest.raises(Exception, match=r"(?i)ambiguous") as raised:  # noqa: B017, PT011
        base.run(to_sql(model, dialect, "votes"), rows.assign(id=0, label="input"))
    if dialect in ("duckdb", "spark"):  # they list the names that it could be
        assert "rename_the_column_of_the_table" in str(raised.value)


@pytest.mark.parametrize("name", ["order", "main.order", "Votes", "my votes"])
def test_table_may_be_a_word_of_sql(name):
    model = hl.label_model("mv").fit(pd.DataFrame({"select": ["x", "y"], "from": ["x", "y"]}))
    with duckdb.connect() as base:
        base.execute(f'CREATE TABLE "{name.removeprefix("main.")}" AS SELECT \'x\' AS "select", \'x\' AS "from"')
        assert base.sql(to_sql(model, "duckdb", name)).fetchall() == [("x", "x", "x", 1.0)]
    assert ("FROM Votes" in to_sql(model, "postgres", name)) == (name == "Votes")


def test_query_keeps_the_columns_of_the_table():
    model, rows = text_case(k=2)
    rows = rows.assign(id=np.arange(len(rows)), note="kept")
    base = duckdb.connect()
    base.execute('CREATE SCHEMA "my data"')
    base.execute('CREATE TABLE "my data"."votes now" AS SELECT * FROM rows')
    found = base.sql(to_sql(model, "duckdb", "my data.votes now"))
    assert found.columns == [*rows.columns, "label", "confidence"]
    assert found.order("id").project("note").fetchall() == [("kept",)] * len(rows)


def test_query_of_two_classes_stays_small():
    model = hl.HyperLabelModel().fit(pd.DataFrame(make_votes(m=4), columns=list("abcd")))
    assert len(to_sql(model, "duckdb", "votes")) < 6000


def test_query_of_boolean_classes_gives_booleans():
    frame = pd.DataFrame({"a": [True, False, None, True], "b": [True, None, False, False]}, dtype=object)
    model = hl.label_model("mv").fit(frame)
    votes = duckdb.sql("SELECT * FROM frame")
    found = votes.query("votes", to_sql(model, "duckdb", "votes")).fetchall()
    assert [row[2] for row in found] == [True, False, False, False]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_query_is_one_statement_of_its_dialect(dialect, case):
    sqlglot = pytest.importorskip("sqlglot", reason="the package sqlglot is not installed")
    model, _ = CASES[case]()
    (parsed,) = sqlglot.parse(to_sql(model, dialect, "votes"), read=dialect)
    literals = {literal.this for literal in parsed.find_all(sqlglot.exp.Literal) if literal.is_string}
    assert {str(c) for c in model.classes_} <= literals
    if dialect == "bigquery":  # the others run
        names = {column.name for column in parsed.find_all(sqlglot.exp.Column)}
        assert set(model.lf_names_) <= names


def test_query_for_bigquery_is_as_it_was_read():
    model = hl.label_model("mv", classes=["it's", "b"]).fit(pd.DataFrame({"a`b": ["b", "it's"]}))
    query = to_sql(model, "bigquery", "my-project.set.votes")
    assert "FROM `my-project`.`set`.`votes` AS hyperlabel_row" in query
    assert "CAST(hyperlabel_row.`a\\`b` AS STRING) AS x0" in query
    assert (
        "CASE x0 WHEN 'it\\'s' THEN 0 WHEN 'b' THEN 1 ELSE CASE WHEN coalesce(trim(x0), '') IN ('', '-1.0', '-1'"
        in query
    )
    assert "ERROR('LF a`b votes ' || x0 || ', which is not a class of the model')" in query
    assert query.startswith("SELECT hyperlabel_item.*, final_label AS label, final_confidence AS confidence\n")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hl.HyperLabelModel(), "is not fitted; fit it first"),
        (lambda: hl.HyperLabelModel(weights="hlm").fit(make_votes()), "does not judge a row by a sum over its votes"),
        (lambda: hl.label_model("mv", tie_break="random").fit(make_votes()), "tie_break is 'random', but SQL cannot"),
    ],
)
def test_model_that_cannot_be_a_query_is_refused_with_the_remedy(make, message):
    with pytest.raises(ParameterError, match=message):
        to_sql(make(), "duckdb", "votes")


def test_odd_arguments_are_refused():
    model = hl.label_model("mv").fit(make_votes())
    with pytest.raises(
        ParameterError, match="^dialect is 'oracle'; expected 'duckdb', 'spark', 'postgres', 'bigquery', "
    ):
        to_sql(model, "oracle", "votes")
    with pytest.raises(ParameterError, match="^the table has no name"):
        to_sql(model, "duckdb", " ")
    with pytest.raises(ParameterError, match="^lfs names 2 columns; the model learned from 3 LFs"):
        to_sql(model, "duckdb", "votes", lfs=["a", "b"])
    odd = hl.label_model("mv", classes=["a\0", "b"]).fit(pd.DataFrame({"x": ["b"]}))
    with pytest.raises(ParameterError, match="has a null character, which no database can hold"):
        to_sql(odd, "duckdb", "votes")


def test_more_gold_than_a_query_takes_gives_a_join(monkeypatch):
    monkeypatch.setattr(sql_module, "MOST_GOLD", 3)
    assert 'LEFT JOIN "hyperlabel_patterns"' in to_sql(gold_case()[0], "duckdb", "votes")


def test_formula_that_does_not_say_what_the_model_says_is_refused(monkeypatch):
    model = hl.label_model("mv").fit(make_votes())
    find_formula(model)
    monkeypatch.setattr(type(model), "pattern_probabilities", lambda self, rows: np.full((rows.n_patterns, 2), 0.5))
    with pytest.raises(ParameterError, match=r"judges rows by more than sums over votes \(off by 5\.0e-01\)"):
        find_formula(model)


@pytest.mark.parametrize("case", CASES)
def test_all_patterns_are_listed_with_their_labels(case):
    model, rows = CASES[case]()
    table = pd.DataFrame(pattern_table(model, probabilities=True), dtype=object)
    k = len(model.classes_)
    assert len(table) == (k + 1) ** 3
    assert not table[list(model.lf_names_)].duplicated().any()
    labels = model.label(table[list(model.lf_names_)])
    assert table["label"].tolist() == [None if best < 0 else model.classes_[best] for best in labels.best]
    np.testing.assert_array_equal(table["confidence"].astype(float), labels.confidence)
    np.testing.assert_array_equal(table[[f"p_{c}" for c in model.classes_]].astype(float), labels.probabilities)


def test_patterns_of_votes_are_listed_and_too_many_are_refused():
    model = hl.HyperLabelModel().fit(make_votes(m=30))
    with pytest.raises(
        ParameterError, match=r"^30 LFs and 2 classes have 2\.1e\+14 possible patterns, but only 1,000,000"
    ):
        pattern_table(model)
    table = pattern_table(model, make_votes(m=30, n=10))
    assert len(table["label"]) == 10
    assert list(table)[:2] == ["lf0", "lf1"]
    clash = hl.label_model("mv").fit(hl.Votes.from_array([[0], [1]], lfs=["label"]))
    with pytest.raises(ParameterError, match="an LF is named 'label', like a column that is added"):
        pattern_table(clash)


def test_provenance_tells_states_apart():
    one, other = text_case(k=2)[0], gold_case()[0]
    first, second = (json.loads(provenance(model)[METADATA_KEY]) for model in (one, other))
    assert first["classes"] == list(TEXTS[:2])
    assert first["lf_names"] == LFS
    assert first["version"] == hl.__version__
    assert first["sha256"] != second["sha256"]
    assert provenance(one) == provenance(text_case(k=2)[0])
