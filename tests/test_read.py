"""Files and folders: every format gives the same votes, every broken file one clear error."""

import json
import pickle
import sys

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from hyperlabel.data import Votes, choose_columns, read_table, read_votes, read_wrench
from hyperlabel.errors import MissingExtraError, ParameterError, VotesError

CELLS = np.array([[-1, -1, -1], [0, 1, -1], [2, -1, 1], [0, 1, -1], [-1, -1, -1]])
WIDE = pl.DataFrame(CELLS, schema=["a", "b", "c"], orient="row").select(pl.all().replace(-1, None))
SIDE = pl.DataFrame({"id": [7, 8, 9, 10, 11], "text": list("vwxyz"), "gold": [0, None, 1, None, None]})
LONG = pl.DataFrame(
    [(f"i{i}", "abc"[j], None if vote < 0 else vote) for (i, j), vote in np.ndenumerate(CELLS)],
    schema=["task", "worker", "answer"],
    orient="row",
)


def write(folder, name, data):
    path = folder / name
    if isinstance(data, bytes):
        path.write_bytes(data)
    elif isinstance(data, str):
        path.write_text(data, encoding="utf-8")
    elif path.suffix == ".parquet":
        data.write_parquet(path)
    elif path.suffix in (".csv", ".tsv"):
        data.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".npy":
        np.save(path, data)
    else:
        np.savez(path, **data)
    return path


def check_same(votes, lfs=("a", "b", "c"), classes=(0, 1, 2)):
    expected = Votes.from_array(CELLS).rows
    for part in ("starts", "lf", "vote"):
        np.testing.assert_array_equal(getattr(votes.rows, part), getattr(expected, part))
    assert (votes.lf_names, votes.classes) == (lfs, classes)


@pytest.mark.parametrize("name", ["votes.csv", "votes.tsv", "votes.parquet"])
def test_wide_table_of_any_format_gives_the_same_votes(tmp_path, name):
    path = write(tmp_path, name, SIDE.hstack(WIDE))
    check_same(read_votes(path))
    check_same(read_votes(str(path), lfs=["?"]))
    assert read_votes(path, lfs=["c", "a"]).lf_names == ("c", "a")


@pytest.mark.parametrize("name", ["votes.csv", "votes.tsv", "votes.parquet"])
def test_long_table_of_any_format_gives_the_same_votes(tmp_path, name):
    votes = read_votes(write(tmp_path, name, LONG), long=("task", "worker", "answer"))
    check_same(votes)
    assert votes.items.tolist() == [f"i{i}" for i in range(5)]


def test_table_of_texts_gives_class_names(tmp_path):
    names = WIDE.select(pl.all().replace_strict({0: "ham", 1: "other", 2: "spam"}))
    check_same(read_votes(write(tmp_path, "votes.csv", names)), classes=("ham", "other", "spam"))
    assert read_votes(tmp_path / "votes.csv", classes=["spam", "other", "ham", "x"]).cells.max() == 2


@pytest.mark.parametrize("word", ["NaN", "NA", "null", "-", "", "-1", "-1.0"])
def test_numbers_beside_a_word_are_one_class_in_every_spelling(tmp_path, word):
    path = write(tmp_path, "v.csv", f"a,b,c\n1.0,1,0\n{word},0,1\n0.0,0,1.00\n")
    votes = read_votes(path)
    assert votes.classes == (0, 1)
    np.testing.assert_array_equal(votes.to_numpy(), [[1, 1, 0], [-1, 0, 1], [0, 0, 1]])


@pytest.mark.parametrize("word", ["NA", ""])
def test_decimal_numbers_beside_a_word_are_refused(tmp_path, word):
    path = write(tmp_path, "v.csv", f"a,b\n0.5,0.7\n{word},0.5\n0.7,0.7\n")
    with pytest.raises(VotesError, match="holds 0.5, which is not a whole number"):
        read_votes(path)


def test_table_of_true_and_false_in_a_csv_gives_texts(tmp_path):
    votes = read_votes(write(tmp_path, "votes.csv", "a,b\ntrue,false\n,true\n"))
    assert (votes.classes, votes.cells.tolist()) == (("false", "true"), [[1, 0], [-1, 1]])


def test_table_with_quoted_separators_and_lines_is_read(tmp_path):
    votes = read_votes(write(tmp_path, "votes.csv", 'text,a,b\n"x, ""y""\nz",1,0\nplain,,1\n'))
    assert votes.cells.tolist() == [[1, 0], [-1, 1]]


def test_table_of_one_column_keeps_blank_lines_as_items(tmp_path):
    assert read_votes(write(tmp_path, "votes.csv", "a\n1\n\n0\n")).cells.tolist() == [[1], [-1], [0]]


def test_table_with_windows_lines_and_no_last_newline_is_read(tmp_path):
    assert read_votes(write(tmp_path, "votes.csv", b"a,b\r\n1,0\r\n,1")).cells.tolist() == [[1, 0], [-1, 1]]


def test_table_with_an_index_that_pandas_wrote_leaves_it_out(tmp_path):
    path = tmp_path / "votes.csv"
    WIDE.to_pandas().to_csv(path)
    check_same(read_votes(path))


def test_table_with_a_stated_number_of_classes_keeps_the_unvoted(tmp_path):
    assert read_votes(write(tmp_path, "votes.csv", "a,b\n0,1\n"), n_classes=4).n_classes == 4


NUMBERED = ("lf0", "lf1", "lf2")


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float32, ">i2"])
def test_npy_of_any_type_gives_the_same_votes(tmp_path, kind):
    path = write(tmp_path, "votes.npy", np.asfortranarray(CELLS, kind))
    check_same(read_votes(path), NUMBERED)
    check_same(read_votes(path, lfs=["x", "y", "z"]), ("x", "y", "z"))
    assert read_votes(path, n_classes=5).n_classes == 5
    assert read_votes(path, classes=["x", "y", "z"]).classes == ("x", "y", "z")


@pytest.mark.parametrize(
    "arrays", [{"any": CELLS}, {"y": CELLS[:, 0], "L": CELLS}, {"votes": CELLS, "split": CELLS[:, 0]}]
)
def test_npz_with_one_array_or_a_named_one_gives_the_same_votes(tmp_path, arrays):
    check_same(read_votes(write(tmp_path, "votes.npz", arrays)), NUMBERED)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_npz_of_a_sparse_matrix_gives_the_same_votes(tmp_path, form, kind):
    scipy.sparse.save_npz(tmp_path / "votes.npz", getattr(scipy.sparse, f"{form}_{kind}")((CELLS + 1).astype(np.int8)))
    votes = read_votes(tmp_path / "votes.npz", lfs=["a", "b", "c"])
    check_same(votes)
    assert votes.cells is None


@pytest.mark.parametrize(("name", "content"), [("votes.npy", {"L": CELLS}), ("votes.npz", CELLS)])
def test_array_file_with_the_other_ending_is_read_all_the_same(tmp_path, name, content):
    with (tmp_path / name).open("wb") as file:
        (np.savez(file, **content) if isinstance(content, dict) else np.save(file, content))
    check_same(read_votes(tmp_path / name), NUMBERED)


class Exploit:
    """A pickle that would leave a trace if it were loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (self.path.touch, ())


@pytest.mark.parametrize("name", ["votes.npy", "votes.npz", "plain.npy"])
def test_pickled_array_is_refused_and_never_loaded(tmp_path, name):
    trap = Exploit(tmp_path / "loaded")
    objects = np.array([[trap]], object)
    if name == "plain.npy":
        write(tmp_path, name, pickle.dumps(trap))
    else:
        write(tmp_path, name, objects if name.endswith("npy") else {"L": objects})
    message = (
        rf"^'.*{name}' cannot be read: it (is of another kind|holds Python objects.*)\. Is it a complete NumPy file"
    )
    with pytest.raises(VotesError, match=message):
        read_votes(tmp_path / name)
    assert not trap.path.exists()


def npz_bytes(tmp_path):
    np.savez_compressed(tmp_path / "source.npz", L=np.random.default_rng(0).integers(-1, 2, (200, 20)))
    return (tmp_path / "source.npz").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("foreign.npy", lambda folder: b"hello", "it is of another kind"),
        ("empty.npy", lambda folder: b"", "it is of another kind"),
        (
            "cut.npy",
            lambda folder: write(folder, "whole.npy", CELLS).read_bytes()[:-3],
            r"it claims an array of shape \(5, 3\), which is more than it holds",
        ),
        ("header.npy", lambda folder: write(folder, "whole.npy", CELLS).read_bytes()[:20], "EOF: reading array header"),
        ("foreign.npz", lambda folder: b"hello", "it is of another kind"),
        ("cut.npz", lambda folder: npz_bytes(folder)[:-30], "File is not a zip file"),
        ("start.npz", lambda folder: npz_bytes(folder)[:20], "File is not a zip file"),
        ("damaged.npz", lambda folder: npz_bytes(folder)[:200] + b"xxxx" + npz_bytes(folder)[204:], "."),
    ],
)
def test_broken_array_file_gives_one_error(tmp_path, name, content, reason):
    path = write(tmp_path, name, content(tmp_path))
    with pytest.raises(VotesError, match=rf"^'.*{name}' cannot be read: {reason}.*Is it a complete NumPy file\?$"):
        read_votes(path)


def test_broken_sparse_file_gives_one_error(tmp_path):
    path = write(tmp_path, "votes.npz", {"format": np.array(b"xyz"), "shape": np.array([1, 1]), "data": np.array([1])})
    with pytest.raises(VotesError, match=r"^'.*votes\.npz' cannot be read: .*Is it a complete NumPy file\?$"):
        read_votes(path)


def test_npz_with_several_unknown_arrays_is_refused(tmp_path):
    with pytest.raises(
        VotesError, match=r"^'.*votes\.npz' holds a, b; expected one array, or one named 'L' or 'votes'"
    ):
        read_votes(write(tmp_path, "votes.npz", {"a": CELLS, "b": CELLS}))


def test_bad_votes_in_an_array_file_are_refused_with_their_place(tmp_path):
    with pytest.raises(VotesError, match=r"^votes\[0, 1\] is -2; expected -1 to abstain"):
        read_votes(write(tmp_path, "votes.npy", np.array([[0, -2]])))


PARQUET = "PAR1 in name only, and far too short to be whole"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", r"^'.*empty\.csv' cannot be read: empty CSV\. Is it a complete csv file\?"),
        (
            "long.csv",
            "a,b\n0,1\n1,0,1\n",
            r"^'.*long\.csv' cannot be read: line 3 has 3 fields, the header has 2\. Is it a",
        ),
        ("short.csv", "a,b\n0,1\n1\n", r"cannot be read: line 3 has 1 fields, the header has 2"),
        (
            "cut.tsv",
            "a\tb\tc\n0\t1\t0\n1\t0",
            r"cannot be read: line 3 has 2 fields, the header has 3\. Is it a complete csv",
        ),
        ("blank.csv", "a,b\n0,1\n\n1,0\n", r"blank\.csv' cannot be read: line 3 is blank\. Remove it$"),
        ("first.csv", "\na,b\n0,1\n", r"cannot be read: line 1 is blank, not the names of the columns\. Remove it$"),
        ("excel.csv", "sep=;\na;b;c\n0;1;0\n", r"line 2 has 3 fields, the header has 2\. If line 1 .* remove it; else"),
        (
            "title.csv",
            "Survey,,\nid,a,b\n1,0,1\n",
            r"title\.csv' has columns without a name, number 2 and 3",
        ),
        ("quoted.csv", 'a,text\n0,"x,y"\n1\n', r"cannot be read: line 3 has 1 fields, the header has 2"),
        ("image.csv", b"\x89PNG\x00\xff,\x02\n\xff,\x00\n", r"^'.*image\.csv' cannot be read: it has null bytes"),
        ("cut.parquet", PARQUET, r"^'.*cut\.parquet' cannot be read: parquet: .*Is it a complete parquet file\?"),
        ("empty.parquet", "", r"^'.*empty\.parquet' cannot be read: parquet: .*Is it a complete parquet file\?"),
        ("head.csv", "a,b\n", "^votes has 2 columns and 0 rows; expected at least one LF and one item"),
        ("words.csv", "a,b\n0,1\n1,x\n", r"^column 'b', row 1 is 'x' while column 'a', row 0 is '0'"),
        (
            "NA.csv",
            "a,b\n0,nay\nnay,1\n",
            "^column 'a', row 1 is 'nay' while column 'a', row 0 is '0'; expected class numb",
        ),
        ("half.csv", "a,b\n0,1\n1,0.5\n", r"^column 'b' holds 0\.5, which is not a whole number"),
        (
            "none.csv",
            "id,text\n0,x\n",
            r"^the table has no LF column; its columns are 'id', 'text'; name the LFs with lfs",
        ),
        (
            "votes.txt",
            "a,b\n0,1\n",
            r"^'.*votes\.txt' ends in '\.txt'; expected one of \.csv, .*\.jsonl\.zst",
        ),
        ("votes", "a,b\n0,1\n", r"^'.*votes' ends in ''; expected one of \.csv"),
    ],
)
def test_bad_table_gives_one_error(tmp_path, name, content, message):
    with pytest.raises(VotesError, match=message):
        read_votes(write(tmp_path, name, content))


@pytest.mark.parametrize("name", ["votes.csv", "votes.parquet", "votes.npy", "votes.npz", "folder", "votes.txt"])
def test_missing_file_is_refused(tmp_path, name):
    with pytest.raises(VotesError, match=rf"^there is no file or folder '.*{name}'; check the path"):
        read_votes(tmp_path / name)


def test_read_table_of_a_missing_file_is_refused(tmp_path):
    with pytest.raises(VotesError, match=r"^there is no file or folder '.*gold\.csv'"):
        read_table(tmp_path / "gold.csv")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lfs": ["x*"]}, VotesError, r"^lfs has 'x\*', which no column matches; the columns are 'a', 'b'"),
        ({"lfs": "a"}, ParameterError, r"^lfs is 'a'; expected a list of columns: \['a'\]"),
        ({"long": ("a", "b")}, ParameterError, r"^long is \('a', 'b'\); expected three columns: \(item, lf, vote\)"),
        ({"long": "abc"}, ParameterError, r"^long is 'abc'; expected three columns"),
        ({"long": ("a", "b", "c")}, VotesError, "^votes has no column 'c'; the columns are 'a', 'b'"),
        (
            {"long": ("a", "b", "c"), "lfs": ["a"]},
            ParameterError,
            r"^lfs is \['a'\], but a long table names its LFs itself; leave out lfs",
        ),
        ({"n_classes": 1}, VotesError, r"^column 'b', row 0 is 1; expected a class from 0 to 0\. Raise n_classes\?"),
        ({"classes": [0, 2]}, VotesError, r"^column 'b', row 0 is 1; expected one of the classes 0, 2"),
        ({"n_classes": 0}, ParameterError, "^n_classes is 0; expected a whole number"),
    ],
)
def test_options_that_do_not_fit_the_table_are_refused(tmp_path, options, error, message):
    path = write(tmp_path, "votes.csv", "a,b\n0,1\n")
    with pytest.raises(error, match=message):
        read_votes(path, **options)


def test_long_columns_for_an_array_are_refused(tmp_path):
    path = write(tmp_path, "votes.npy", CELLS)
    with pytest.raises(ParameterError, match=r"^long is .* but '.*votes\.npy' is not a table; leave it out"):
        read_votes(path, long=("a", "b", "c"))


@pytest.mark.parametrize(
    ("names", "lfs", "expected"),
    [
        (["id", "item", "text", "gold", "truth", "label", "a", "b"], None, ["a", "b"]),
        (["id", "a", "label"], ["label", "id"], ["label", "id"]),
        (["lf_a", "x", "lf_b"], ["lf_*", "lf_a"], ["lf_a", "lf_b"]),
        (["lf[0]", "lf[1]"], ["lf[1]"], ["lf[1]"]),
        (["A", "a"], ["a"], ["a"]),
        (["", "a"], None, ["a"]),
    ],
)
def test_columns_are_those_that_match_in_the_order_of_lfs(names, lfs, expected):
    assert list(choose_columns(names, lfs)) == expected


def test_table_without_polars_names_the_extra_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, "votes.csv", WIDE)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"needs the package 'polars'.* pip install 'hyperlabel\[cli\]'"):
        read_votes(path)


def test_sparse_file_without_scipy_names_the_extra_to_install(tmp_path, monkeypatch):
    scipy.sparse.save_npz(tmp_path / "votes.npz", scipy.sparse.csr_array(CELLS + 1))
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtraError, match=r"needs the package 'scipy'.* pip install 'hyperlabel\[sklearn\]'"):
        read_votes(tmp_path / "votes.npz")


def entry(votes, label=0, **data):
    return {"label": label, "data": data, "weak_labels": votes}


def write_folder(folder, **files):
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


ENTRIES = {
    str(i): entry(row, label) for i, (row, label) in enumerate(zip(CELLS.tolist(), [0, 1, 2, None, -1], strict=True))
}
LABELS = {"0": "ham", "1": "öther", "2": "spam"}


@pytest.mark.parametrize("splits", [("train",), ("train", "test"), ("train", "valid", "test"), ("valid",)])
def test_wrench_folder_with_any_splits_gives_all_of_their_items(tmp_path, splits):
    write_folder(tmp_path, **dict.fromkeys(splits, ENTRIES))
    data = read_wrench(tmp_path)
    np.testing.assert_array_equal(data.votes.cells, np.tile(CELLS, (len(splits), 1)))
    assert data.votes.items.tolist() == [f"{split}/{i}" for split in splits for i in range(5)]
    assert data.split.tolist() == [split for split in splits for _ in range(5)]
    assert data.truth.tolist() == [0, 1, 2, -1, -1] * len(splits)
    assert data.votes.classes == (0, 1, 2)


def test_wrench_folder_read_as_votes_is_the_same(tmp_path):
    check_same(read_votes(write_folder(tmp_path, train=ENTRIES)), NUMBERED)
    check_same(read_votes(tmp_path, lfs=["a", "b", "c"]))


def test_wrench_folder_with_label_names_uses_them_as_classes(tmp_path):
    data = read_wrench(write_folder(tmp_path, train=ENTRIES, label={**LABELS, "3": "never"}))
    check_same(data.votes, NUMBERED, ("ham", "öther", "spam", "never"))
    assert data.votes.stated
    assert data.truth.tolist() == [0, 1, 2, -1, -1]


def test_wrench_folder_with_stated_classes_prefers_them(tmp_path):
    votes = read_votes(write_folder(tmp_path, train=ENTRIES, label=LABELS), classes=["x", "y", "z"])
    check_same(votes, NUMBERED, ("x", "y", "z"))


def test_wrench_folder_with_a_truth_nobody_votes_for_has_its_class(tmp_path):
    data = read_wrench(write_folder(tmp_path, train={"0": entry([0, 1], 4)}))
    assert (data.votes.n_classes, data.truth.tolist()) == (5, [4])


def test_wrench_folder_keeps_the_records_of_its_items(tmp_path):
    write_folder(tmp_path, train={"a": entry([0], text="x")}, test={"b": {"weak_labels": [1]}})
    data = read_wrench(tmp_path)
    assert data.records == [{"text": "x"}, {}]
    assert data.truth.tolist() == [0, -1]


BAD_FOLDERS = {
    "nothing": ({}, r"is a folder without tables"),
    "not JSON": ({"train": "{"}, r"^'.*train\.json' cannot be read as JSON: Expecting property name"),
    "not UTF-8": ({"train": "\udcff"}, r"^'.*train\.json' cannot be read as JSON: .*utf-8"),
    "a list": ({"train": [1]}, r"^'.*train\.json' holds JSON of type list; expected an object with one entry per item"),
    "no items": ({"train": {}}, r"has no items in train\.json; expected at least one"),
    "no votes": ({"train": {"x": {"label": 1}}}, r"^'.*train\.json', item 'x' has no list 'weak_labels'; expected one"),
    "no entry": ({"train": {"x": 3}}, r"^'.*train\.json', item 'x' has no list 'weak_labels'"),
    "text": (
        {"train": {"x": entry(["a"])}},
        r"^'.*train\.json', item 'x' votes 'a'; expected class numbers, -1 to abst",
    ),
    "null": ({"train": {"x": entry([None])}}, r"^'.*train\.json', item 'x' votes None; expected class numbers"),
    "-2": ({"train": {"x": entry([-2])}}, r"^'.*train\.json', item 'x' votes -2; expected class numbers"),
    "a half": ({"train": {"x": entry([0.5])}}, r"item 'x' votes 0\.5; expected class numbers"),
    "NaN": ({"train": {"x": entry([float("nan")])}}, r"item 'x' votes nan; expected class numbers"),
    "ragged": (
        {"train": {"x": entry([1])}, "test": {"y": entry([1, 0])}},
        r"^'.*test\.json', item 'y' has 2 votes, the first item has 1",
    ),
    "no LFs": ({"train": {"x": entry([])}}, r"^votes has shape \(1, 0\); expected at least one item and one LF"),
    "text label": ({"train": {"x": entry([0], "a")}}, r"^label\['train/x'\] is 'a'; expected one of the classes 0, 1"),
    "list label": ({"train": {"x": entry([0], [1])}}, r"^label\['train/x'\] is \[1\] .list.; expected a single value"),
    "unknown label": (
        {"train": {"x": entry([0], 3)}, "label": LABELS},
        r"^label\['train/x'\] is 3; expected one of the cl",
    ),
    "unknown vote": (
        {"train": {"x": entry([3])}, "label": LABELS},
        r"^votes\[0, 0\] is 3; expected a class from 0 to 2",
    ),
    "label list": ({"train": ENTRIES, "label": ["a"]}, r"^'.*label\.json' holds JSON of type list; expected an object"),
    "label gap": (
        {"train": ENTRIES, "label": {"1": "a"}},
        r"^'.*label\.json' holds \{'1': 'a'\}; expected a different nam",
    ),
    "label twice": (
        {"train": ENTRIES, "label": {"0": "a", "1": "a"}},
        r"^'.*label\.json' holds .*; expected a different",
    ),
}


@pytest.mark.parametrize(("files", "message"), BAD_FOLDERS.values(), ids=BAD_FOLDERS.keys())
def test_bad_wrench_folder_gives_one_error_with_file_item_and_value(tmp_path, files, message):
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / f"{name}.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(VotesError, match=message):
        read_votes(tmp_path)


def test_reading_bad_files_writes_nothing(tmp_path):
    for name, content in [("a.csv", "a,b\n0\n"), ("b.npy", b"x"), ("c.parquet", b"x")]:
        with pytest.raises(VotesError, match="cannot be read"):
            read_votes(write(tmp_path, name, content))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.npy", "c.parquet"]


BAD_JSON = {
    "an item twice": ('{"0": {"weak_labels": [0]}, "0": {"weak_labels": [1]}}', "'0' occurs twice"),
    "unpaired surrogate": ('{"\\ud800": {"weak_labels": [0]}}', "an unpaired surrogate"),
    "deep": ('{"0": ' + "[" * 100_000 + "]" * 100_000 + "}", "cannot be read as JSON"),
    "a huge vote": ('{"0": {"weak_labels": [1e999]}}', "votes inf"),
    "a long vote": (f'{{"0": {{"weak_labels": [{10**300}]}}}}', "votes 1000"),
    "a label that is a list": ('{"0": {"weak_labels": [0], "label": [1]}}', "expected a single value"),
}


@pytest.mark.parametrize(("content", "message"), BAD_JSON.values(), ids=BAD_JSON.keys())
def test_wrench_file_that_nothing_could_hold_gives_one_error(tmp_path, content, message):
    (tmp_path / "train.json").write_text(content)
    with pytest.raises(VotesError, match=message):
        read_votes(tmp_path)


def test_sparse_file_with_indices_outside_of_it_is_refused_before_it_is_followed(tmp_path):
    matrix = scipy.sparse.csr_array(np.eye(3, dtype=int))
    parts = {"format": b"csr", "shape": (3, 3), "data": matrix.data, "indices": matrix.indices, "_is_array": True}
    np.savez(tmp_path / "votes.npz", **parts, indptr=np.array([0, 50_000_000, 1, 2]))
    with pytest.raises(VotesError, match=r"^'.*votes\.npz' cannot be read"):
        read_votes(tmp_path / "votes.npz")


def npy_header(text):
    body = text.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000, 3), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (-1, 3), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (3, ",
        "{'descr': '<i8', 'shape': (3, 3)}",
        "{'descr': 'zz', 'fortran_order': False, 'shape': (3, 3), }",
        "[1, 2]",
        "\0" * 50,
        "((((((((((((((((((",
    ],
)
def test_npy_with_a_false_header_gives_one_error(tmp_path, header):
    path = write(tmp_path, "votes.npy", npy_header(header) + bytes(72))
    with pytest.raises(VotesError, match=r"^'.*votes\.npy' cannot be read: .*Is it a complete NumPy file\?$"):
        read_votes(path)


def test_mutated_files_give_votes_or_one_error(tmp_path):
    rng = np.random.default_rng(0)
    np.savez_compressed(tmp_path / "whole.npz", L=CELLS)
    np.save(tmp_path / "whole.npy", CELLS)
    for source in list(tmp_path.iterdir()):
        whole = np.frombuffer(source.read_bytes(), np.uint8)
        for _ in range(60):
            damaged = whole.copy()
            damaged[rng.integers(0, len(whole), rng.integers(1, 4))] = rng.integers(0, 256)
            path = write(tmp_path, f"mutated{source.suffix}", damaged[: rng.integers(1, len(whole) + 1)].tobytes())
            try:
                read_votes(path)
            except VotesError:
                continue


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ('"id","a","b"\n"1","0","1"\n"2","","1"\n', (0, 1)),
        ("id,a,b\n1,0,NA\n2,NA,1\n", (0, 1)),
        ("id,a,b\n1,0,1\n2,-,1\n", (0, 1)),
        (",a,b\n0,x,y\n1,y,y\n", ("x", "y")),
    ],
    ids=["all quoted", "NA among numbers", "a dash among numbers", "an index that pandas wrote"],
)
def test_tables_as_people_write_them_have_the_lfs_a_and_b(tmp_path, text, classes):
    votes = read_votes(write(tmp_path, "votes.csv", text))
    assert (votes.lf_names, votes.classes) == (("a", "b"), classes)


def test_strict_and_abstain_reach_the_table(tmp_path):
    rows = "".join(f"{i},{'xy'[i % 2]},{'x' if i else 'xx'}\n" for i in range(40))
    path = write(tmp_path, "votes.csv", "id,a,b\n" + rows)
    with pytest.raises(VotesError, match="a class that one LF votes for a handful of times: 'xx'"):
        read_votes(path, strict=True)
    assert read_votes(path, abstain=["xx"], strict=True).classes == ("x", "y")


def test_sparse_file_whose_parts_do_not_fit_is_refused(tmp_path):
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array([3, 2]),
        "data": np.ones(2, int),
        "indices": np.zeros(2, int),
    }
    path = write(tmp_path, "votes.npz", {**parts, "indptr": np.array([0, 50_000_000, 1, 2])})
    with pytest.raises(VotesError, match="broken csr matrix|cannot be read"):
        read_votes(path)
