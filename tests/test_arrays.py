"""Arrays and sparse matrices: what is accepted, and the one error for what is not."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import hyperlabel as hl
from hyperlabel.data import as_list, to_votes
from hyperlabel.errors import ParameterError, VotesError

CELLS = np.array([[0, 2, 1], [1, 0, 0], [2, 2, 0], [0, 1, 1]])
NAN = float("nan")
INTEGERS = [np.dtype(kind) for kind in "bBhHiIlLqQ"] + [np.dtype(">i2"), np.dtype(">u8"), np.dtype("<i4")]


def check_array(array):
    return hl.Votes.from_array(array).to_numpy()


def check_sparse(matrix):
    return hl.Votes.from_sparse(matrix).to_numpy()


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_array_of_any_integer_type_keeps_its_numbers(kind):
    np.testing.assert_array_equal(check_array(CELLS.astype(kind)), CELLS)


@pytest.mark.parametrize("kind", [kind for kind in INTEGERS if kind.kind == "i"], ids=str)
def test_array_of_any_signed_type_may_abstain(kind):
    np.testing.assert_array_equal(check_array((CELLS - 1).astype(kind)), CELLS - 1)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, object])
def test_array_of_whole_floats_or_objects_becomes_integers(kind):
    checked = check_array((CELLS - 1).astype(kind))
    assert checked.dtype.kind == "i"
    np.testing.assert_array_equal(checked, CELLS - 1)


def test_array_of_booleans_becomes_classes_0_and_1():
    assert check_array(np.array([[True, False], [False, False]])).tolist() == [[1, 0], [0, 0]]


def read_only(cells):
    cells.flags.writeable = False
    return cells


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(CELLS),
        np.repeat(np.repeat(CELLS, 2, 0), 3, 1)[::2, ::3],
        CELLS[::-1, ::-1][::-1, ::-1],
        read_only(CELLS.copy()),
        np.asmatrix(CELLS),
        CELLS.tolist(),
        tuple(map(tuple, CELLS)),
        [row.astype(np.int8) for row in CELLS],
        [[float(vote) for vote in row] for row in CELLS],
        [[Fraction(vote) for vote in row.tolist()] for row in CELLS],
    ],
    ids=["Fortran", "strided", "reversed", "read-only", "matrix", "lists", "tuples", "arrays", "floats", "fractions"],
)
def test_array_of_any_layout_or_nested_sequence_keeps_its_numbers(array):
    checked = check_array(array)
    assert type(checked) is np.ndarray
    np.testing.assert_array_equal(checked, CELLS)


def with_cell(value, kind=float):
    cells = CELLS.astype(kind)
    cells[2, 1] = value
    return cells


BAD_ARRAYS = {
    "NaN": (with_cell(NAN), r"^votes\[2, 1\] is nan; expected a whole number\. Use -1 to abstain, or a DataFrame"),
    "NaN in lists": ([[0, 1], [NAN, 1]], r"^votes\[1, 0\] is nan; expected a whole number"),
    "a half": (with_cell(0.5), r"^votes\[2, 1\] is 0\.5; expected a whole number"),
    "infinite": (with_cell(np.inf), r"^votes\[2, 1\] is inf; expected a whole number"),
    "beyond int64": (with_cell(1e300), r"^votes\[2, 1\] is 1e\+300; expected a whole number"),
    "big integer": ([[0, 10**30]], r"^votes\[0, 1\] is 1e\+30; expected a whole number"),
    "beyond floats": ([[0, 1], [-(10**400), 1]], r"^votes\[1, 0\] is -1000.*; expected a class number"),
    "-2": (with_cell(-2, int), r"^votes\[2, 1\] is -2; expected -1 to abstain, or a class number, 0 or more"),
    "-2 as a float": (with_cell(-2), r"^votes\[2, 1\] is -2; expected -1 to abstain"),
    "ragged": (
        [[0, 1], [1, 0], [1]],
        "^votes is ragged: row 2 has 1 votes, row 0 has 2 votes; expected one vote per LF",
    ),
    "ragged depth": ([[0, 1], 1], "^votes is ragged: row 1 has no list, row 0 has 2 votes"),
    "ragged cells": ([[0, 1], [1, [0]]], "^votes is ragged; expected one vote per LF in every row"),
    "1-D": (CELLS[:, 0], r"^votes has shape \(4,\); expected 2-D \(items, LFs\)\. One LF is a single column"),
    "3-D": (CELLS[None], r"^votes has shape \(1, 4, 3\); expected 2-D"),
    "no items": (CELLS[:0], r"^votes has shape \(0, 3\); expected at least one item and one LF"),
    "no LFs": (CELLS[:, :0], r"^votes has shape \(4, 0\); expected at least one item and one LF"),
    "empty list": ([], r"^votes has shape \(0,\); expected 2-D"),
    "text": ([["a", "b"], ["c", 1]], r"^votes\[0, 0\] is 'a' in an array of type <U\d+; expected integers\. Use -1"),
    "one text": ([[0, 1], [1, "x"]], r"^votes\[1, 1\] is 'x' in an array"),
    "texts of numbers": ([["0", "1"]], r"^votes\[0, 0\] is '0' in an array .* for class names use a DataFrame"),
    "None": ([[0, None]], r"^votes\[0, 1\] is None in an array of type object; expected integers\. Use -1 to abstain"),
    "NA": (np.array([[0, pd.NA]]), r"^votes\[0, 1\] is <NA> in an array of type object"),
    "complex": (CELLS + 1j, r"^votes\[0, 0\] is 1j in an array of type complex128"),
    "dates": (np.array([["2020-01-01"]], "M8[ns]"), r"^votes\[0, 0\] is 2020-01-01T.* in an array of type datetime64"),
    "spans of time": (np.array([[1]], "m8[ns]"), r"^votes\[0, 0\] is 1 nanoseconds in an array of type timedelta64"),
    "records": (np.zeros((2, 2), [("a", int)]), r"^votes\[0, 0\] is \(0,\) in an array of type \[\('a', '<i8'\)\]"),
    "masked": (np.ma.array([[1]], mask=[[True]]), r"^votes is a masked array; .* votes\.filled\(-1\)"),
    "None itself": (None, r"^votes is None \(NoneType\); expected an \(items, LFs\) array, nested lists"),
    "a file name": ("votes.csv", r"^votes is 'votes\.csv' \(str\); expected .* For a file use hyperlabel\.read_votes"),
    "a mapping": ({"a": [1]}, r"^votes is \{'a': \[1\]\} \(dict\); expected"),
    "a set": ({1}, r"^votes is \{1\} \(set\); expected"),
    "a generator": ((row for row in CELLS), r"^votes is <generator .* \(generator\); expected"),
    "a lazy frame": (pl.LazyFrame({"a": [1]}), r"^votes is <LazyFrame .* \(LazyFrame\); expected"),
    "a series": (pd.Series([0, 1]), r"^votes has shape \(2,\); expected 2-D"),
}


@pytest.mark.parametrize(("array", "message"), BAD_ARRAYS.values(), ids=BAD_ARRAYS.keys())
def test_bad_array_gives_one_error_with_place_value_and_remedy(array, message):
    with pytest.raises(VotesError, match=message) as raised:
        check_array(array)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("numbers", [np.int8, np.uint64, np.float32])
def test_sparse_of_any_form_and_type_gives_the_stored_class_numbers(form, kind, numbers):
    matrix = getattr(scipy.sparse, f"{form}_{kind}")(CELLS.astype(numbers))  # stores 1 and 2, abstains at 0
    np.testing.assert_array_equal(check_sparse(matrix), CELLS - 1)


def test_sparse_of_booleans_gives_class_0():
    assert check_sparse(scipy.sparse.csr_array([[True, False], [True, True]])).tolist() == [[0, -1], [0, 0]]


def test_sparse_with_explicit_zeros_abstains_there_and_is_not_changed():
    matrix = scipy.sparse.csr_array((np.array([0, 2, 0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    assert check_sparse(matrix).tolist() == [[-1, 1, -1], [-1, -1, -1]]
    assert matrix.nnz == 3


def test_sparse_without_any_vote_is_accepted():
    assert (check_sparse(scipy.sparse.csr_array((5, 7), dtype=np.int8)) == np.full((5, 7), -1)).all()


def sparse(*triples, kind=float):
    row, column, value = zip(*triples, strict=True)
    return scipy.sparse.coo_array((np.array(value, kind), (row, column)), shape=(4, 3))


BAD_SPARSE = {
    "NaN": (sparse((0, 0, 1), (3, 1, NAN)), r"^votes\[3, 1\] stores nan; expected a class number plus 1, or nothing"),
    "a half": (sparse((3, 1, 1.5)), r"^votes\[3, 1\] stores 1\.5; expected a class number plus 1"),
    "negative": (sparse((0, 0, 1), (3, 1, -1), kind=int), r"^votes\[3, 1\] stores -1; expected"),
    "beyond int64": (
        sparse((3, 1, 2**64 - 1), kind=np.uint64),
        r"^votes\[3, 1\] stores 18446744073709551615; expected",
    ),
    "stored twice": (
        sparse((3, 1, 1), (0, 0, 1), (3, 1, 2), kind=int),
        r"^votes\[3, 1\] is stored twice, as 1 and 2; .*",
    ),
    "complex": (sparse((0, 0, 1j), kind=complex), "^votes has the type complex128; expected integers"),
    "1-D": (scipy.sparse.coo_array(np.array([1, 2])), r"^votes has shape \(2,\); expected 2-D \(items, LFs\)"),
    "no items": (scipy.sparse.csr_array((0, 3)), r"^votes has shape \(0, 3\); expected 2-D .* at least one of each"),
    "dense": (CELLS, "^votes is of type ndarray; expected a scipy.sparse matrix or array"),
}


@pytest.mark.parametrize(("matrix", "message"), BAD_SPARSE.values(), ids=BAD_SPARSE.keys())
def test_bad_sparse_matrix_gives_one_error_with_place_value_and_remedy(matrix, message):
    with pytest.raises(VotesError, match=message):
        check_sparse(matrix)


@pytest.mark.parametrize("shape", [(1 << 40, 3), (3, 1 << 40)])
def test_sparse_matrix_with_more_items_or_lfs_than_memory_holds_is_refused(shape):
    with pytest.raises(ParameterError, match=r"^a sparse matrix of .* needs about .* GB of memory"):
        check_sparse(scipy.sparse.coo_array(([1], ([0], [0])), shape=shape))


@pytest.mark.parametrize("values", [None, 5, "ab", b"ab", {"a": 1}, np.array(None), {1, 2}])
def test_as_list_refuses_what_has_no_order_or_members(values):
    with pytest.raises(ParameterError, match="^lfs is .*; expected a list of columns"):
        as_list(values, "lfs", "a list of columns")


def test_as_list_takes_everything_that_is_like_a_list():
    assert [as_list(v, "lfs", "a list") for v in (("a",), ["a"], np.array(["a"]), {"a": 1}.keys())] == [["a"]] * 4


MASKED = np.ma.array([[0, 1], [1, 1]], mask=[[True, False], [False, False]])


def test_rows_that_are_masked_arrays_are_refused():
    with pytest.raises(VotesError, match=r"^votes is a masked array; expected -1 where an LF abstains: votes.filled"):
        to_votes(list(MASKED))


def test_masked_gold_is_unknown():
    votes = to_votes([[0, 1], [1, 1], [0, 0]])
    for kind in (int, float, bool, object):
        gold = np.ma.array([1, 0, 1], mask=[False, True, False]).astype(kind)
        assert votes.with_labels(gold, "gold")[1].tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    "use",
    [
        lambda masked: hl.Votes.from_scores(masked.astype(float), classes=[0, 1]),
        lambda masked: hl.HyperLabelModel(class_balance=masked[0]).fit([[0, 1]]),
        lambda masked: hl.HyperLabelModel(lf_accuracies=masked[0]).fit([[0, 1]]),
        lambda masked: hl.Classifier().fit(["a", "b"], masked),
        lambda masked: hl.fill_labels(hl.HyperLabelModel(), [[0, 1], [1, 1]], masked),
        lambda masked: hl.Votes.from_array([[0, 1], [1, 1]])[masked[0]],
    ],
)
def test_what_a_mask_hides_is_never_taken(use):
    with pytest.raises(ParameterError, match="is a masked array; expected a plain one. Put in the value that means"):
        use(MASKED)
