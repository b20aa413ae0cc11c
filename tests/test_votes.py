"""Votes: every accepted form gives the same votes; every bad input gives one clear error."""

import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import hyperlabel as hl
from hyperlabel.data import Patterns, Votes, to_votes
from hyperlabel.errors import ParameterError, VotesError, VotesWarning

NAN = float("nan")
LFS = ["a", "b", "c"]
# The first, a middle and the last item have no votes, the second LF abstains often, two items are alike.
CELLS = np.array([[-1, -1, -1], [0, 1, -1], [2, -1, 1], [-1, -1, -1], [0, 1, -1], [1, -1, 0], [-1, -1, -1]])
NAMES = ("ham", "other", "spam")


def columns_with(convert, empty=None):
    """The columns of CELLS with votes converted and abstentions left empty."""
    return {
        name: [empty if vote < 0 else convert(int(vote)) for vote in column]
        for name, column in zip(LFS, CELLS.T, strict=True)
    }


def long_with(convert, kind=dict):
    """CELLS as a long table, a row without vote for each item without votes."""
    triples = [(f"i{i}", LFS[j], convert(int(CELLS[i, j]))) for i, j in np.argwhere(CELLS >= 0).tolist()]
    triples += [(f"i{i}", "a", None) for i in range(len(CELLS)) if (CELLS[i] < 0).all()]
    triples.sort(key=lambda triple: triple[0])
    return kind(dict(zip(("item", "lf", "vote"), map(list, zip(*triples, strict=True)), strict=True)))


def as_votes(rows):
    """Starts, LFs and votes as lists."""
    return rows.starts.tolist(), rows.lf.tolist(), rows.vote.tolist()


EXPECTED = as_votes(Votes.from_array(CELLS).rows)


def check_same(votes, classes):
    assert as_votes(votes.rows) == EXPECTED
    assert (votes.n_items, votes.n_lfs, votes.lf_names) == (7, 3, ("a", "b", "c"))
    assert votes.classes == classes
    assert [type(c) for c in votes.classes] == [type(c) for c in classes]
    assert not votes.stated
    patterns = Patterns.from_votes(votes)
    np.testing.assert_array_equal(patterns.to_array()[patterns.inverse], CELLS)


ARRAYS = {
    **{kind: CELLS.astype(kind) for kind in ("int8", "int16", "int32", "int64", ">i4", "float32", "float64", "object")},
    "Fortran": np.asfortranarray(CELLS),
    "strided": np.repeat(CELLS, 2, 0)[::2],
    "lists": CELLS.tolist(),
    "tuples": tuple(map(tuple, CELLS.tolist())),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS.keys())
def test_votes_from_any_array_are_the_same(array):
    check_same(Votes.from_array(array, lfs=LFS), (0, 1, 2))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("numbers", [np.int8, np.int64, np.float64])
def test_votes_from_any_sparse_matrix_are_the_same(form, kind, numbers):
    matrix = getattr(scipy.sparse, f"{form}_{kind}")((CELLS + 1).astype(numbers))
    votes = Votes.from_sparse(matrix, lfs=LFS)
    check_same(votes, (0, 1, 2))
    assert votes.cells is None


FRAMES = {
    "pandas -1": pd.DataFrame(CELLS, columns=LFS),
    "pandas int8": pd.DataFrame(CELLS.astype(np.int8), columns=LFS),
    "pandas NaN": pd.DataFrame(columns_with(float, NAN)),
    "pandas Int64": pd.DataFrame(columns_with(int)).astype("Int64"),
    "pandas arrow": pd.DataFrame(columns_with(int)).astype("int64[pyarrow]"),
    "pandas objects": pd.DataFrame(columns_with(int), dtype=object),
    "pandas categories": pd.DataFrame(columns_with(int)).astype("Int64").astype("category"),
    "pandas mixed types": pd.DataFrame(columns_with(int), dtype=object).astype({"a": "Int64", "b": "float"}),
    "polars": pl.DataFrame(columns_with(int)),
    "polars Int8": pl.DataFrame(columns_with(int), schema=dict.fromkeys(LFS, pl.Int8)),
    "polars UInt64": pl.DataFrame(columns_with(int), schema=dict.fromkeys(LFS, pl.UInt64)),
    "polars NaN": pl.DataFrame(columns_with(float, NAN)),
    "polars decimals": pl.DataFrame(columns_with(Decimal)),
    "polars -1": pl.DataFrame(CELLS, schema=LFS, orient="row"),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_votes_from_any_frame_of_numbers_are_the_same(frame):
    check_same(Votes.from_frame(frame), (0, 1, 2))


TEXTS = {
    "pandas": pd.DataFrame(columns_with(NAMES.__getitem__)),
    "pandas objects": pd.DataFrame(columns_with(NAMES.__getitem__), dtype=object),
    "pandas string": pd.DataFrame(columns_with(NAMES.__getitem__), dtype="string"),
    "pandas categories": pd.DataFrame(columns_with(NAMES.__getitem__), dtype="category"),
    "pandas ordered categories": pd.DataFrame(columns_with(NAMES.__getitem__)).astype(
        pd.CategoricalDtype(["unused", "spam", "ham", "other"])
    ),
    "pandas empty texts": pd.DataFrame(columns_with(NAMES.__getitem__, "")),
    "pandas -1 among texts": pd.DataFrame(columns_with(NAMES.__getitem__, -1)),
    "polars": pl.DataFrame(columns_with(NAMES.__getitem__)),
    "polars categories": pl.DataFrame(columns_with(NAMES.__getitem__), schema=dict.fromkeys(LFS, pl.Categorical)),
    "polars enum": pl.DataFrame(
        columns_with(NAMES.__getitem__), schema=dict.fromkeys(LFS, pl.Enum(["unused", *reversed(NAMES)]))
    ),
    "polars empty texts": pl.DataFrame(columns_with(NAMES.__getitem__, "")),
    "polars -1 as text": pl.DataFrame(columns_with(NAMES.__getitem__, "-1")),
}


@pytest.mark.parametrize("frame", TEXTS.values(), ids=TEXTS.keys())
def test_votes_from_any_frame_of_texts_are_the_same(frame):
    check_same(Votes.from_frame(frame), NAMES)


BOOLEAN_FRAMES = {
    "pandas": pd.DataFrame({"a": [True, False], "b": [False, False]}),
    "polars": pl.DataFrame({"a": [True, False], "b": [False, False]}),
    "pandas objects": pd.DataFrame({"a": [True, False], "b": [False, False]}, dtype=object),
    "pandas nullable": pd.DataFrame({"a": [True, False], "b": [False, False]}, dtype="boolean"),
}


@pytest.mark.parametrize("frame", BOOLEAN_FRAMES.values(), ids=BOOLEAN_FRAMES.keys())
def test_votes_from_a_frame_of_booleans_have_boolean_classes(frame):
    votes = Votes.from_frame(frame)
    assert votes.classes == (False, True)
    assert votes.cells.tolist() == [[1, 0], [0, 0]]
    assert votes["a"].tolist() == [True, False]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_votes_from_a_frame_of_booleans_may_abstain(make):
    votes = Votes.from_frame(make({"a": [True, None, None], "b": [None, False, None]}))
    assert votes.classes == (False, True)
    assert votes.cells.tolist() == [[1, -1], [-1, 0], [-1, -1]]


def test_votes_from_a_boolean_array_are_class_numbers():
    votes = Votes.from_array(np.array([[True, False], [False, False]]))
    assert (votes.classes, votes.cells.tolist()) == ((0, 1), [[1, 0], [0, 0]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("convert", "classes"), [(int, (0, 1, 2)), (NAMES.__getitem__, NAMES)])
def test_votes_from_a_long_table_are_the_same(make, convert, classes):
    votes = Votes.from_long(long_with(convert, make), item="item", lf="lf", vote="vote")
    check_same(votes, classes)
    assert votes.items.tolist() == [f"i{i}" for i in range(7)]
    assert votes.cells is None


def test_votes_from_a_long_table_of_categories_ignore_unused_ones():
    frame = long_with(NAMES.__getitem__, pd.DataFrame).astype("category")
    kept = Votes.from_long(frame[frame["item"].isin(["i4", "i5", "i6"])], item="item", lf="lf", vote="vote")
    assert kept.items.tolist() == ["i4", "i5", "i6"]
    assert (kept.classes, kept.lf_names) == (NAMES[:2], ("a", "b", "c"))
    assert as_votes(kept.rows) == ([0, 2, 4, 4], [0, 1, 0, 2], [0, 1, 1, 0])


def test_long_table_keeps_the_order_in_which_items_appear_and_sorts_lfs():
    frame = pl.DataFrame({"item": [9, 2, 9, 5], "lf": ["z", "y", "x", "z"], "vote": [1, 0, 0, None]})
    votes = Votes.from_long(frame, item="item", lf="lf", vote="vote")
    assert (votes.items.tolist(), votes.lf_names) == ([9, 2, 5], ("x", "y", "z"))
    assert as_votes(votes.rows) == ([0, 2, 3, 3], [0, 2, 1], [0, 1, 0])


@pytest.mark.parametrize(
    "items",
    [[2**63, 5], [2**64 - 1, 2**64 - 2], [1.5, 2.5], ["a", "b"], [True, False], ["a\0", "a"]],
    ids=["uint64", "large uint64", "floats", "texts", "booleans", "texts that end in NUL"],
)
def test_long_table_keeps_item_identifiers_exactly(items):
    frame = pl.DataFrame({"item": items, "lf": ["a", "a"], "vote": [0, 1]})
    votes = Votes.from_long(frame, item="item", lf="lf", vote="vote")
    assert votes.items.tolist() == items


def test_long_table_of_mixed_item_identifiers_keeps_each():
    frame = pd.DataFrame({"item": pd.Series(["1", 1, (1, 2)], dtype=object), "lf": [0, 0, 1], "vote": [0, 1, 1]})
    votes = Votes.from_long(frame, item="item", lf="lf", vote="vote")
    assert votes.items.tolist() == ["1", 1, (1, 2)]
    assert votes.lf_names == ("0", "1")


def test_long_table_with_a_vote_repeated_counts_it_once():
    frame = pl.DataFrame({"item": [1, 1, 1], "lf": ["a", "a", "a"], "vote": ["x", None, "x"]})
    assert as_votes(Votes.from_long(frame, item="item", lf="lf", vote="vote").rows) == ([0, 1], [0], [0])


def test_long_table_without_any_vote_has_items_nobody_votes_on():
    frame = pd.DataFrame({"item": [1, 2], "lf": ["a", "b"], "vote": [None, None]})
    votes = Votes.from_long(frame, item="item", lf="lf", vote="vote")
    assert as_votes(votes.rows) == ([0, 0, 0], [], [])
    assert (votes.n_lfs, votes.classes) == (2, (0, 1))


def long_frame(item=(7, 8, 7), lf=("w", "w", "w"), vote=("x", "y", None), make=pl.DataFrame):
    return make({"item": list(item), "lf": list(lf), "vote": list(vote)})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"vote": ("x", "y", "y")},
            "^votes, rows 0 and 2: LF 'w' votes twice on item 7, for 'x' and 'y'; expected one vote. Keep one",
        ),
        ({"item": ("p", "q", None)}, "^column 'item', row 2 is empty; expected an identifier in every row"),
        ({"lf": ("w", None, "w")}, "^column 'lf', row 1 is empty; expected an identifier in every row"),
        ({"vote": (0.5, 1.0, None)}, r"^column 'vote', row 0 is 0\.5; expected a whole number"),
        ({"vote": ("1", "x", None)}, "^column 'vote', row 1 is 'x' while column 'vote', row 0 is '1'"),
        ({"item": (), "lf": (), "vote": ()}, "^votes has no rows; expected at least one vote"),
    ],
)
def test_bad_long_table_gives_one_error_with_place_value_and_remedy(make, columns, message):
    frame = long_frame(**columns, make=make)
    with pytest.raises(VotesError, match=message):
        Votes.from_long(frame, item="item", lf="lf", vote="vote")


def test_long_table_with_a_missing_column_is_refused():
    with pytest.raises(VotesError, match="^votes has no column 'worker'; the columns are 'item', 'lf', 'vote'"):
        Votes.from_long(long_frame(), item="item", lf="worker", vote="vote")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"a": []}), "^votes has 1 columns and 0 rows; expected at least one LF and one item"),
        (pd.DataFrame(index=[1, 2]), "^the table has no LF column; its columns are none; name the LFs with lfs"),
        (
            pl.DataFrame({"a": [0, 1], "b": ["x", "1"]}),
            "^column 'b', row 0 is 'x' .text. while column 'a' holds numbers",
        ),
        (
            pd.DataFrame({"a": [0, 1.5]}),
            r"^column 'a' holds 1\.5, which is not a whole number. .* name the LFs with lfs",
        ),
        (pd.DataFrame({"a": [0, -2]}), "^column 'a', row 1 is -2; expected a whole number, 0 or more"),
    ],
)
def test_bad_frame_gives_one_error_with_place_value_and_remedy(frame, message):
    with pytest.raises(VotesError, match=message):
        Votes.from_frame(frame)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda k: Votes.from_array(CELLS, n_classes=k),
            r"^votes\[2, 0\] is 2; expected a class from 0 to 1\. Raise n_classes\?",
        ),
        (
            lambda k: Votes.from_array(CELLS.astype(float), n_classes=k),
            r"^votes\[2, 0\] is 2; expected a class from 0 to 1\. Raise n_classes\?",
        ),
        (
            lambda k: Votes.from_sparse(scipy.sparse.csr_array(CELLS + 1), n_classes=k),
            r"^votes\[2, 0\] stores 3, which is class 2; expected a class from 0 to 1\. Raise n_classes\?",
        ),
        (
            lambda k: Votes.from_frame(pl.DataFrame(columns_with(int)), n_classes=k),
            r"^column 'a', row 2 is 2; expected a class from 0 to 1\. Raise n_classes\?",
        ),
        (
            lambda k: Votes.from_long(long_with(int, pl.DataFrame), item="item", lf="lf", vote="vote", n_classes=k),
            r"^column 'vote', row 3 is 2; expected a class from 0 to 1\. Raise n_classes\?",
        ),
        (
            lambda k: to_votes(Votes.from_array(CELLS), n_classes=k),
            "^votes, item 2: LF 'lf0' votes 2; expected one of the classes 0, 1. Correct it, or state it in classes",
        ),
    ],
    ids=["array", "floats", "sparse", "frame", "long", "votes"],
)
def test_vote_beyond_the_stated_classes_is_refused_with_its_place(read, message):
    with pytest.raises(VotesError, match=message):
        read(2)
    assert read(5).classes == (0, 1, 2, 3, 4)
    assert read(5).stated


@pytest.mark.parametrize("array", [[[0, 10**12]], np.array([[0, 10**12]], np.uint64), [[0.0, 1e12]]])
def test_inferred_classes_beyond_reason_are_refused(array):
    with pytest.raises(
        VotesError, match=r"^votes\[0, 1\] is 1000000000000; .* 9999\. Are these identifiers\? More classes"
    ):
        Votes.from_array(array)


def test_large_unsigned_vote_is_refused_not_wrapped():
    with pytest.raises(VotesError, match=r"^votes\[1, 0\] is 18446744073709551615; expected a class from 0 to 2"):
        Votes.from_array(np.array([[0, 1], [2**64 - 1, 0]], np.uint64), n_classes=3)


def test_unsigned_votes_of_64_bits_are_held_signed():
    assert Votes.from_array(np.array([[0, 1]], np.uint64)).cells.dtype == np.int64


@pytest.mark.parametrize("lfs", [["a"], ["a", "b", "c", "d"], "abc", ["a", "b", "a"]])
def test_names_that_do_not_fit_the_lfs_are_refused(lfs):
    with pytest.raises(
        ParameterError,
        match="^lfs is .*; expected a list with a different name for each of the 3 columns of votes",
    ):
        Votes.from_array(CELLS, lfs=lfs)


def test_stated_classes_name_the_numbers_of_an_array():
    votes = Votes.from_array([[0, 1]], classes=["ham", "spam", "other"])
    assert (votes.n_classes, votes.stated) == (3, True)
    assert votes["lf1"].tolist() == ["spam"]


def test_stated_classes_order_the_texts_of_a_frame_and_keep_unvoted_ones():
    votes = Votes.from_frame(pl.DataFrame({"a": ["x", "z"]}), classes=["z", "y", "x"])
    assert (votes.classes, votes.cells.tolist()) == (("z", "y", "x"), [[2], [0]])


def test_stated_number_of_classes_fits_the_names_of_a_frame():
    frame = pl.DataFrame({"a": ["x", "z"]})
    assert Votes.from_frame(frame, n_classes=2).classes == ("x", "z")
    with pytest.raises(ParameterError, match="^n_classes is 3 but votes names 2 classes: 'x', 'z'; state all of them"):
        Votes.from_frame(frame, n_classes=3)


ODD = {
    "one item": [[0, 1, -1]],
    "one LF": [[0], [1], [-1]],
    "one cell": [[0]],
    "one class": [[0, 0], [0, -1]],
    "an LF that never votes": [[0, -1], [1, -1]],
    "first item without votes": [[-1, -1], [0, 1]],
    "last item without votes": [[0, 1], [-1, -1]],
    "nobody votes": [[-1, -1], [-1, -1]],
    "1000 LFs": np.random.default_rng(0).integers(-1, 2, (5, 1000)),
    "300 classes": np.random.default_rng(0).integers(-1, 300, (200, 5)),
}


def from_long(cells):
    triples = [(i, f"{j:04}", None if v < 0 else v) for (i, j), v in np.ndenumerate(cells)]
    frame = pd.DataFrame(triples, columns=["item", "lf", "vote"])
    return Votes.from_long(frame, item="item", lf="lf", vote="vote")


READERS = {
    "array": Votes.from_array,
    "pandas": lambda cells: Votes.from_frame(pd.DataFrame(cells)),
    "polars": lambda cells: Votes.from_frame(pl.DataFrame(cells)),
    "sparse": lambda cells: Votes.from_sparse(scipy.sparse.csr_array(cells + 1)),
    "long": from_long,
}


@pytest.mark.parametrize("cells", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_odd_votes_in_any_form_are_accepted(cells, read):
    cells = np.array(cells)
    votes = read(cells)
    assert as_votes(votes.rows) == as_votes(Votes.from_array(cells).rows)
    assert (votes.n_items, votes.n_lfs) == cells.shape
    assert votes.n_classes == max(2, cells.max() + 1)


def test_votes_with_more_classes_keep_their_numbers():
    votes = Votes.from_array(CELLS)
    more = votes.with_classes((0, 1, 2, 3))
    assert more.cells is votes.cells
    assert (more.classes, more.stated) == ((0, 1, 2, 3), True)


@pytest.mark.parametrize("read", [Votes.from_array, READERS["sparse"]])
def test_votes_with_classes_in_another_order_are_numbered_anew(read):
    votes = read(CELLS).with_classes([2, 5, 0, 1])
    assert (votes.classes, votes.stated) == ((2, 5, 0, 1), True)
    recoded = np.select([CELLS == 0, CELLS == 1, CELLS == 2], [2, 3, 0], -1)
    assert as_votes(votes.rows) == as_votes(Votes.from_array(recoded).rows)


@pytest.mark.parametrize("read", [Votes.from_array, READERS["sparse"]])
def test_votes_without_a_class_that_nobody_votes_for_are_numbered_anew(read):
    votes = read(np.array([[0, 2], [2, -1]])).with_classes([2, 0])
    assert as_votes(votes.rows) == ([0, 2, 3], [0, 1, 0], [1, 0, 0])


@pytest.mark.parametrize("read", [Votes.from_array, READERS["sparse"]])
def test_votes_without_a_class_that_is_voted_for_are_refused(read):
    with pytest.raises(
        VotesError, match="^votes, item 2: LF 'lf2' votes 1; expected one of the classes 2, 0. Correct it"
    ):
        read(np.array([[0, 2, -1], [-1, -1, -1], [2, -1, 1]])).with_classes([2, 0])


def test_to_votes_takes_whatever_holds_votes():
    sources = [
        CELLS,
        CELLS.tolist(),
        FRAMES["polars"],
        FRAMES["pandas NaN"],
        scipy.sparse.csr_matrix(CELLS + 1),
        Votes.from_array(CELLS),
    ]
    for source in sources:
        assert as_votes(to_votes(source).rows) == EXPECTED
        assert to_votes(source, n_classes=4).n_classes == 4
        assert to_votes(source, classes=[0, 1, 2, 9]).classes == (0, 1, 2, 9)


def test_constructor_reads_whatever_holds_votes(tmp_path):
    FRAMES["polars"].write_csv(tmp_path / "v.csv")
    np.save(tmp_path / "v.npy", CELLS)
    unnamed = [CELLS, CELLS.tolist(), scipy.sparse.csr_array(CELLS + 1), tmp_path / "v.npy", Patterns.from_votes(CELLS)]
    for source in unnamed:
        assert Votes(source) == Votes.from_array(CELLS)
        assert Votes(source, lfs=LFS, n_classes=4) == Votes.from_array(CELLS, lfs=LFS, n_classes=4)
    for source in (FRAMES["polars"], FRAMES["pandas NaN"], str(tmp_path / "v.csv"), Votes.from_array(CELLS, lfs=LFS)):
        assert Votes(source) == Votes.from_frame(FRAMES["polars"])
    assert Votes(FRAMES["polars"].to_dicts(), lfs=["a", "c"]).lf_names == ("a", "c")
    assert Votes(FRAMES["polars"], classes=[2, 1, 0])["a"].tolist() == CELLS[:, 0].tolist()


@pytest.mark.parametrize("data", [None, 3, "no such file.csv", {"a": 1}, np.zeros((0, 2)), []])
def test_constructor_refuses_what_holds_no_votes(data):
    with pytest.raises(hl.HyperlabelError, match="expected|does not exist|no such"):
        Votes(data)


def test_to_votes_of_votes_is_the_same_object():
    votes = Votes.from_array(CELLS)
    assert to_votes(votes) is votes


def test_to_votes_of_named_votes_checks_a_stated_number_of_classes():
    votes = Votes.from_frame(TEXTS["polars"])
    assert to_votes(votes, n_classes=3).classes == NAMES
    with pytest.raises(ParameterError, match="^n_classes is 2 but votes names 3 classes: 'ham', 'other', 'spam'"):
        to_votes(votes, n_classes=2)


def test_all_forms_of_votes_have_the_same_patterns():
    forms = [Votes.from_array(array) for array in ARRAYS.values()]
    forms += [Votes.from_frame(frame) for frame in FRAMES.values()]
    forms += [Votes.from_array(Votes.from_frame(frame)) for frame in TEXTS.values()]
    forms += [
        READERS["sparse"](CELLS),
        Votes.from_long(long_with(int, pl.DataFrame), item="item", lf="lf", vote="vote"),
    ]
    merged = Patterns.from_votes(forms[0])
    for votes in forms[1:]:
        merged = merged.merge(Patterns.from_votes(votes))
    assert merged.n_patterns == 4
    assert sorted(merged.counts.tolist()) == [len(forms), len(forms), 2 * len(forms), 3 * len(forms)]


def test_large_class_numbers_cost_no_more_than_their_answer():
    """Only classes that occur cost: it took 6.3 GB when all numbers up to the largest did."""
    tracemalloc.start()
    try:
        labels = hl.HyperLabelModel().predict([[0, 1, 9999], [1, 1, 0]])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert labels.tolist()[1] == 1
    assert peak < 50e6


def test_texts_beyond_the_number_of_classes_that_can_be_inferred_are_refused():
    names = [f"class {i}" for i in range(10_001)]
    frame = pl.DataFrame({"a": names * 2, "b": names * 2})
    with pytest.raises(
        VotesError, match="^column 'a' holds more than 10,000 different values, like an identifier, a time or a"
    ):
        Votes.from_frame(frame, lfs=["a", "b"])
    assert Votes.from_frame(frame, classes=names).n_classes == 10_001


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (np.tile([1, 2, -1], (20, 1)), "^class numbers start at 1: class 0 has none of the 40 votes"),
        (np.ones((30, 2), int), "^all 60 votes are for one class, 1: every label is that class"),
        (np.zeros((30, 2), int), "^all 60 votes are for one class, 0: every label is that class"),
        (-np.ones((50, 3), int), "^no LF votes on any item: no item gets a label"),
    ],
)
def test_array_that_looks_like_a_mistake_is_taken_with_a_warning_unless_classes_are_stated(cells, message):
    with pytest.warns(VotesWarning, match=message):
        Votes.from_array(cells)
    Votes.from_array(cells, n_classes=3)


@pytest.mark.parametrize("cells", [[[1, 2]], np.ones((5, 3), int), -np.ones((9, 3), int), np.eye(50, dtype=int)])
def test_small_or_ordinary_array_raises_no_warning(cells):
    Votes.from_array(cells)


def test_long_table_with_a_mistyped_class_is_taken_with_a_warning_or_refused_if_strict():
    votes = ["SAPM", *["SPAM", "HAM"] * 30]
    frame = pl.DataFrame({"item": range(61), "lf": ["a"] * 61, "vote": votes})
    with pytest.warns(VotesWarning, match=r"handful of times: 'SAPM' \('a', 1\), perhaps 'SPAM'"):
        Votes.from_long(frame, item="item", lf="lf", vote="vote")
    with pytest.raises(VotesError, match="'SAPM'"):
        Votes.from_long(frame, item="item", lf="lf", vote="vote", strict=True)


def test_long_table_with_names_that_differ_in_type_only_is_refused():
    frame = pd.DataFrame({"item": [1, 2], "lf": pd.Series([1, "1"], dtype=object), "vote": [0, 1]})
    with pytest.raises(VotesError, match="^column 'lf' has '1' as a string and as a number; expected one kind of name"):
        Votes.from_long(frame, item="item", lf="lf", vote="vote")


def test_columns_of_any_name_are_read():
    frame = pd.DataFrame([[0, 1], [1, 0]])
    frame.columns = [np.array([1, 2]).tobytes(), float("nan")]
    assert Votes.from_frame(frame, lfs=[str(frame.columns[0])]).n_lfs == 1
    assert Votes.from_frame(pd.DataFrame({np.int64(3): [0, 1], 4: [1, 1]})).lf_names == ("3", "4")


def test_items_that_nothing_is_called_by_are_refused():
    votes = Votes.from_frame(pd.DataFrame({"id": [7, 8], "a": [0, 1], "b": [0, 1]}))
    with pytest.raises(ParameterError, match=r"^item is \[7\], which votes does not have"):
        hl.label_model("mv").explain(votes, [7])


def test_times_that_no_calendar_has_are_one_error():
    frame = pl.DataFrame({"a": [2**62, 0], "b": [0, 1]}).with_columns(pl.col("a").cast(pl.Datetime("ms")))
    with pytest.raises(VotesError):
        Votes.from_frame(frame)


@pytest.mark.parametrize("word", ["NA", "NaN", "-"])
def test_labels_of_numbers_beside_a_word_are_numbers(word):
    votes, gold = Votes.from_array([[0, 1], [1, 1], [0, 0]]).with_labels(["1.0", word, "0"], "gold")
    assert votes.classes == (0, 1)
    assert gold.tolist() == [1, -1, 0]
