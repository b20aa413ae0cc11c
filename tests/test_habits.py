"""What people do with tables and votes, and what comes of it: never a silent wrong label.

A habit on the command line is a table and options; its outcome is the labels of the plain table (`SAME`), the same
with a warning, or one error. Each goes through memory and an engine. Habits in Python are calls with what they give.
"""

import gzip
import json
import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel import engines
from hyperlabel.data import read_table

N = 200
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
CELLS = np.where(RNG.random((N, 4)) < 0.8, TRUTH[:, None], 1 - TRUTH[:, None])
CELLS = np.where(RNG.random((N, 4)) < 0.6, CELLS, -1)
CELLS[7] = -1
LFS = [f"lf_{j}" for j in range(4)]
NAMES = np.array(["ham", "spam", None], object)
VOTES = pd.DataFrame(NAMES[CELLS], columns=LFS)
FULL = VOTES.assign(id=[f"i{i}" for i in range(N)], text=[f"text {i}" for i in range(N)], truth=NAMES[TRUTH])
LABELS = hl.HyperLabelModel().predict(VOTES).tolist()
SAME = ""


def is_warned(message):
    return f"^(?s:.*)warning: .*{message}"


def is_refused(message):
    return f"^hyperlabel: .*{message}"


COLUMNS = {  # a column or change beside the votes, options, and the outcome
    "id, text and truth beside the votes": ({}, [], SAME),
    "a split": ({"split": "train"}, [], SAME),
    "a source, an author, a url": ({"source": "web", "author": "me", "url": "http://x"}, [], SAME),
    "probabilities and labels of an earlier run": ({"label": "ham", "confidence": 0.9, "p_ham": 0.9}, [], SAME),
    "an index that pandas wrote": ({"Unnamed: 0": range(N)}, [], SAME),
    "a time": ({"seen": [f"2026-01-01T00:{i % 60:02}:00" for i in range(N)]}, [], is_refused("holds times .*--lfs")),
    "a time that is called so": ({"timestamp": "2026-01-01T00:00:00"}, [], SAME),
    "names of people": ({"who": [f"user {i}" for i in range(N)]}, [], is_refused("holds 200 different .*--lfs")),
    "a decimal number": ({"score": RNG.random(N).round(3)}, [], is_refused("column 'score' holds .*--lfs")),
    "a number of words": ({"n_words": [i % 37 + 2 for i in range(N)]}, [], is_refused("'n_words' holds .*--lfs")),
    "a language": ({"lang": ["de", "en"] * (N // 2)}, [], is_refused("which no other LF votes for.*--lfs")),
    "columns that are refused, but the LFs are named": ({"lang": "en", "score": 0.5}, ["--lfs", "lf_*"], SAME),
    "an LF of a class of its own": ({"ads": [None, None, "ads", None] * (N // 4)}, [], is_warned("'ads' .*--lfs")),
    "an LF called url": ({"url": VOTES["lf_0"]}, [], is_warned("left out by name.*'url'.*--lfs")),
    "a mistyped class": ({"lf_0": ["SAPM", *VOTES["lf_0"][1:]]}, [], is_warned("'SAPM' .*perhaps 'spam'")),
    "a mistyped class, taken strictly": ({"lf_0": ["SAPM", *VOTES["lf_0"][1:]]}, ["--strict"], is_refused("SAPM")),
    "a column whose name has a comma": ({"a,b": "x"}, ["--lfs", "lf_0,lf_1", "--lfs", "lf_2"], is_refused("lf_0,lf_1")),
    "LFs between commas": ({}, ["--lfs", "lf_0,lf_1,lf_2,lf_3"], SAME),
    "LFs named one by one": ({"a,b": "x"}, [part for lf in LFS for part in ("--lfs", lf)], SAME),
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def label(hyperlabel, path, *options):
    """What `hyperlabel label` says, and its labels."""
    outcome = hyperlabel("label", path, "-o", "out.csv", *options)
    if outcome.code:
        assert (outcome.out, outcome.err.count("\n")) == ("", 1)
        return outcome.err, None
    return outcome.err, read_table("out.csv")["label"].to_list()


@pytest.mark.parametrize("engine", ["memory", "polars"])
@pytest.mark.parametrize("habit", COLUMNS)
def test_columns_beside_the_votes(hyperlabel, habit, engine):
    columns, options, expected = COLUMNS[habit]
    FULL.assign(**columns).to_csv("votes.csv", index=False)
    said, labels = label(hyperlabel, "votes.csv", "--engine", engine, *options)
    if expected == SAME:
        assert labels == LABELS, said
        assert said.startswith(f"LFs: {', '.join(LFS)}; ignored: ")
    else:
        assert re.search(expected, said), said
        assert (labels is None) == said.startswith("hyperlabel: ")


@pytest.mark.parametrize("word", ["NA", "N/A", "None", "nan", "null", "abstain", "ABSTAIN", "-", "-1", " "])
def test_words_for_nothing_abstain(hyperlabel, word):
    FULL.fillna(word).to_csv("votes.csv", index=False)
    for engine in ("memory", "polars"):
        assert label(hyperlabel, "votes.csv", "--engine", engine)[1] == LABELS


def test_other_words_abstain_if_they_are_listed(hyperlabel):
    FULL.fillna("skip").to_csv("votes.csv", index=False)
    for engine in ("memory", "polars"):
        assert label(hyperlabel, "votes.csv", "--abstain", "skip", "--engine", engine)[1] == LABELS


def test_long_table_is_recognized(hyperlabel):
    item, lf = np.nonzero(CELLS >= 0)
    long = pd.DataFrame({"item": item, "worker": [LFS[j] for j in lf], "answer": NAMES[CELLS[item, lf]]})
    long.to_csv("long.csv", index=False)
    for engine in ("memory", "polars"):
        assert "--long" in label(hyperlabel, "long.csv", "--engine", engine)[0]
    assert label(hyperlabel, "long.csv", "--long", "item,worker,answer")[1] == [x for x in LABELS if x is not None]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({lf: CELLS[:, j] + 1 for j, lf in enumerate(LFS)}, "class numbers start at 1"),
        ({lf: np.where(CELLS[:, j] < 0, 99, CELLS[:, j]) for j, lf in enumerate(LFS)}, "class numbers go up to 99"),
        ({lf: np.where(CELLS[:, j] == 1, "spam", "") for j, lf in enumerate(LFS)}, "votes are for one class, 'spam'"),
    ],
)
def test_classes_that_look_like_a_mistake_are_warned_of(hyperlabel, columns, message):
    frame = pd.DataFrame(columns)
    if message.endswith("at 1"):
        frame = frame.replace(0, -1)
    frame.to_csv("votes.csv", index=False)
    for engine in ("memory", "polars"):
        assert f"warning: {'all' if 'one class' in message else ''}" in label(hyperlabel, "votes.csv")[0]
        assert message in label(hyperlabel, "votes.csv", "--engine", engine)[0]


# Votes that behave like a frame.


def by_index():
    """Gold as a Series in another order than the votes."""
    votes = VOTES.set_index(FULL["id"])
    gold = pd.Series({"i9": "spam", "i3": "ham", "i7": "spam"})
    return hl.HyperLabelModel().fit_predict(votes, gold)[[9, 3, 7]].tolist(), ["spam", "ham", "spam"]


def by_identifier():
    """What `suggest` gives is what `fit` and `explain` take."""
    frame = FULL.assign(id=np.arange(N)[::-1])
    model = hl.HyperLabelModel().fit(frame)
    item = model.suggest(frame, 1)[0]
    labels = hl.HyperLabelModel().fit(frame, {item: "ham"}).label(frame).to_pandas().set_index("id")["label"]
    explained = model.explain(frame, item)
    return (labels[item], explained.label), ("ham", model.label(frame).to_pandas().set_index("id")["label"][item])


def by_balance():
    """Shares as pandas gives them: the most frequent class first."""
    shares = pd.Series({"spam": 0.7, "ham": 0.3})
    told = [hl.HyperLabelModel(class_balance=each).predict_proba(VOTES) for each in (shares, dict(shares), [0.3, 0.7])]
    return [each.tolist() for each in told[:2]], [told[2].tolist()] * 2


def by_frame():
    votes = hl.Votes.from_frame(FULL)
    sizes = len(votes), votes.shape, len(votes[:10]), len(votes[CELLS[:, 0] >= 0]), votes.drop("lf_0").shape
    votes.save("v.parquet")
    same = hl.read_votes("v.parquet") == votes, list(votes) == LFS, votes["lf_1"].tolist() == VOTES["lf_1"].tolist()
    joined = votes.join(votes[["lf_0"]].to_pandas().rename(columns={"lf_0": "more"}))
    return (sizes, same, joined.shape), (
        (N, (N, 4), 10, int((CELLS[:, 0] >= 0).sum()), (N, 3)),
        (True, True, True),
        (N, 5),
    )


def no_votes():
    """An item without votes among texts is None, which NumPy and parquet take."""
    labels = hl.HyperLabelModel().label(FULL)
    labels.to_pandas().to_parquet("labels.parquet")
    return (labels.labels[7], pd.read_parquet("labels.parquet")["label"][7]), (None, None)


CALLS = {
    "a frame with id, text and truth": lambda: (hl.HyperLabelModel().predict(FULL).tolist(), LABELS),
    "a Polars frame of the same": lambda: (hl.HyperLabelModel().predict(pl.from_pandas(FULL)).tolist(), LABELS),
    "a list of records": lambda: (hl.HyperLabelModel().predict(FULL.to_dict("records")).tolist(), LABELS),
    "a lazy frame in an engine": lambda: (
        engines.label(pl.from_pandas(FULL).lazy()).collect()["label"].to_list(),
        LABELS,
    ),
    "gold as a Series": by_index,
    "identifiers that are numbers": by_identifier,
    "shares of classes as a Series": by_balance,
    "votes like a frame": by_frame,
    "an item without votes": no_votes,
}


@pytest.mark.parametrize("habit", CALLS)
def test_calls(habit):
    found, expected = CALLS[habit]()
    assert found == expected


@pytest.mark.parametrize("stated", [{"spam": "x"}, {"eggs": 1.0}, {}, {"spam": None, "ham": 1.0}])
def test_shares_that_are_wrong_are_one_clear_error(stated):
    with pytest.raises(hl.HyperlabelError, match="class_balance"):
        hl.HyperLabelModel(class_balance=stated).predict(VOTES)


# Gold.


@pytest.mark.filterwarnings("ignore::hyperlabel.errors.ConvergenceWarning")
@pytest.mark.parametrize("model", [name for name in hl.label_models() if name not in ("rf", "amcl")])
def test_gold_is_obeyed_with_and_without_votes(model):
    gold = np.where(np.arange(N) % 9 == 7, 1 - TRUTH, -1)  # wrong on purpose, and item 7 has no votes
    found = hl.label_model(model, n_classes=2).fit_predict(CELLS, gold)
    np.testing.assert_array_equal(found[gold >= 0], gold[gold >= 0])


def test_one_gold_file_serves_many_slices(hyperlabel):
    FULL.to_csv("votes.csv", index=False)
    pl.DataFrame({"id": ["i7", "i3", "x1", "x2"], "gold": ["spam", "ham", "ham", "ham"]}).write_csv("gold.csv")
    said, labels = label(hyperlabel, "votes.csv", "--gold", "gold.csv")
    assert (labels[7], labels[3]) == ("spam", "ham")
    assert "2 of 4 values that no item has, such as 'x1'" in said


# Files.


def test_cells_pass_unchanged_a_link_stays_and_an_empty_table_is_labeled(hyperlabel, tmp_path):
    odd = {"price": "1.10", "flag": "TRUE", "zip": "007", "big": "12345678901234567890", "note": 'a "b", c'}
    FULL.assign(**odd).to_csv("votes.csv", index=False)
    (tmp_path / "real.csv").write_text("old")
    os.symlink("real.csv", "out.csv")
    for engine in ("memory", "polars"):
        assert label(hyperlabel, "votes.csv", "--engine", engine, "--lfs", "lf_*")[1] == LABELS
        rows = read_table("real.csv")
        assert {name: rows[name].unique().to_list() for name in odd} == {name: [text] for name, text in odd.items()}
        assert (tmp_path / "out.csv").is_symlink()
    FULL.head(0).to_csv("votes.csv", index=False)
    assert label(hyperlabel, "votes.csv")[1] == []
    assert read_table("real.csv").columns == [*FULL.columns, "label", "confidence"]


# Every form of table through every command, read back equal.

PLAIN = pl.from_pandas(FULL)[["id", "text", *LFS, "truth"]]
CSV = PLAIN.write_csv()


def write(name, data):
    with open(name, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return name


def write_folder(pattern=""):
    for day, rows in (("1", PLAIN.head(120)), ("2", PLAIN.tail(80))):
        os.makedirs(f"days/day={day}", exist_ok=True)
        rows.write_parquet(f"days/day={day}/v.parquet")
    return f"days{pattern}"


def write_duckdb(what):
    import duckdb

    with duckdb.connect("d.duckdb") as base:
        base.execute("CREATE OR REPLACE TABLE votes AS SELECT * FROM PLAIN")
    return f"d.duckdb{what}"


def write_binary(method, name):
    getattr(PLAIN, method)(name)
    return name


FORMS = {
    "csv": lambda: write("v.csv", CSV),
    "semicolons and a mark": lambda: write("v.csv", PLAIN.write_csv(separator=";").encode("utf-8-sig")),
    "bars, all quoted": lambda: write("v.csv", PLAIN.write_csv(separator="|", quote_style="always")),
    "tsv": lambda: write("v.tsv", PLAIN.write_csv(separator="\t")),
    "UTF-16": lambda: write("v.csv", CSV.encode("utf-16")),
    "upper case": lambda: write("V.CSV", CSV),
    "gzip": lambda: write("v.csv.gz", gzip.compress(CSV.encode())),
    "JSON lines": lambda: write_binary("write_ndjson", "v.jsonl"),
    "parquet": lambda: write_binary("write_parquet", "v.parquet"),
    "Feather": lambda: write_binary("write_ipc", "v.feather"),
    "a hive folder": write_folder,
    "a pattern": lambda: write_folder("/**/*.parquet"),
    "a DuckDB file": lambda: write_duckdb(""),
    "a DuckDB query": lambda: write_duckdb("::SELECT * FROM votes ORDER BY id[2:]::INT"),
    "a name with brackets": lambda: write("v[1].csv", CSV),
}


def summary(hyperlabel, *arguments):
    """What a command prints for programs, but for times."""
    outcome = hyperlabel(*arguments, "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out.splitlines()[-1])
    for result in found.get("results", []):
        result.pop("seconds", None)
    return {key: value for key, value in found.items() if key not in ("seconds", "ignored")}


def look(hyperlabel, votes, tmp_path):
    """What all commands make of a table, as votes and as a table of truth or gold."""
    assert hyperlabel("label", votes, "-o", "out.parquet").code == 0
    assert hyperlabel("label", "plain.csv", "--gold", votes, "-o", "gold.csv").code == 0
    assert hyperlabel("report", votes, "--truth", "truth", "-o", "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    rows = read_table("out.parquet").select(*PLAIN.columns, "label", "confidence")
    fitted = summary(hyperlabel, "fit", votes, "-o", "s.safetensors")
    return {
        "label": rows.with_columns(pl.col(LFS).replace("", None)).rows(),  # quoted cells stay quoted
        "fit": (fitted, hl.load("s.safetensors").predict_proba(VOTES).round(12).tolist()),
        "analyze": summary(hyperlabel, "analyze", votes, "--truth", "truth"),
        "compare": summary(hyperlabel, "compare", votes, "--truth", "truth", "--models", "mv,hlm3"),
        "suggest": hyperlabel("suggest", votes, "-n", "5").out.replace("day,", ""),
        "report": re.sub(r"<title>.*?</title>|<h1.*?</h1>|<pre>.*?</pre>", "", page, flags=re.S),  # they name the file
        "--gold": read_table("gold.csv")["label"].to_list(),
        "--truth": summary(hyperlabel, "compare", "plain.csv", "--truth", votes, "--models", "mv"),
    }


EXPECTED = {}  # what all commands make of the plain csv


@pytest.mark.parametrize("form", FORMS)
def test_form_is_read_back_equal_through_every_command(hyperlabel, tmp_path, form):
    write("plain.csv", CSV)
    if not EXPECTED:
        EXPECTED.update(look(hyperlabel, "plain.csv", tmp_path))
        assert EXPECTED["--gold"] == PLAIN["truth"].to_list()
    found = look(hyperlabel, FORMS[form](), tmp_path)
    for command, outcome in EXPECTED.items():
        assert found[command] == outcome, command
