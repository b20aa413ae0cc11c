import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hyperlabel.data import DenseRows, Patterns, Rows, Votes

CELLS = hnp.arrays(np.int8, st.tuples(st.integers(1, 12), st.integers(1, 8)), elements=st.integers(-1, 3))


def to_cells(rows, m):
    cells = np.full((len(rows.starts) - 1, m), -1)
    cells[np.repeat(np.arange(len(cells)), np.diff(rows.starts)), rows.lf] = rows.vote
    return cells


@settings(deadline=None)
@given(CELLS)
def test_rows_from_cells_hold_the_votes_with_lfs_increasing(cells):
    rows = Rows.from_cells(cells)
    np.testing.assert_array_equal(to_cells(rows, cells.shape[1]), cells)
    for start, end in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        assert rows.lf[start:end].tolist() == sorted(set(rows.lf[start:end].tolist()))


@settings(deadline=None)
@given(CELLS, st.randoms(use_true_random=False))
def test_rows_from_triples_in_any_order_equal_rows_from_cells(cells, random):
    item, lf = np.nonzero(cells >= 0)
    order = list(range(len(item)))
    random.shuffle(order)
    item, lf = item[np.array(order, int)], lf[np.array(order, int)]
    rows, expected = Rows.from_triples(item, lf, cells[item, lf], len(cells)), Rows.from_cells(cells)
    for name in ("starts", "lf", "vote"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(expected, name))


@settings(deadline=None)
@given(CELLS, st.data())
def test_rows_taken_by_an_index_are_those_of_the_cells(cells, data):
    index = np.array(data.draw(st.lists(st.integers(0, len(cells) - 1))), int)
    np.testing.assert_array_equal(to_cells(Rows.from_cells(cells).take(index), cells.shape[1]), cells[index])


@settings(deadline=None)
@given(CELLS, st.data())
def test_dense_rows_do_what_sparse_ones_do(cells, data):
    index = np.array(data.draw(st.lists(st.integers(0, len(cells) - 1), min_size=1)), int)
    dense, sparse, m = DenseRows(cells), Rows.from_cells(cells), cells.shape[1]
    start = data.draw(st.integers(0, len(cells)))
    stop = data.draw(st.integers(start, len(cells)))
    for one, other in (
        (dense, sparse),
        (dense.take(index), sparse.take(index)),
        (dense.part(start, stop), sparse.part(start, stop)),
    ):
        for name in ("starts", "lf", "vote"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(dense.to_cells(m), sparse.to_cells(m))
    np.testing.assert_array_equal(dense.voted_classes(5), sparse.voted_classes(5))


def test_patterns_do_not_change_with_the_array_they_came_from():
    for n in (2, 30_000):  # few rows and many
        cells = np.random.default_rng(0).integers(-1, 2, (n, 20))
        patterns, same = (Patterns.from_votes(Votes.from_array(each)) for each in (cells, cells.copy()))
        cells[:] = 0
        np.testing.assert_array_equal(patterns.to_array(), same.to_array())
        np.testing.assert_array_equal(patterns.vote, same.vote)


def test_voted_classes_of_many_dense_rows_are_found_in_the_last_one():
    cells = np.zeros((40_000, 2), np.int8)
    cells[-1] = [2, -1]
    assert DenseRows(cells).voted_classes(4).tolist() == [True, False, True, False]


def test_rows_from_cells_of_several_blocks_hold_the_votes():
    cells = np.random.default_rng(0).integers(-1, 3, (9000, 7))
    np.testing.assert_array_equal(to_cells(Rows.from_cells(cells), 7), cells)


@settings(deadline=None)
@given(CELLS, st.data())
def test_rows_are_equal_to_others_if_their_cells_are(cells, data):
    numbers = st.integers(0, len(cells) - 1)
    index = np.array(data.draw(st.lists(numbers, min_size=1, max_size=4)), int)
    other = np.array(data.draw(st.lists(numbers, min_size=len(index), max_size=len(index))), int)
    rows, turned = Rows.from_cells(cells), Rows.from_cells(cells[::-1])
    expected = np.array_equal(cells[index], cells[::-1][other])
    assert rows.take(index).equals(turned.take(other)) == expected


@settings(deadline=None)
@given(CELLS)
def test_rows_concatenated_are_those_of_both(cells):
    both = Rows.from_cells(cells).concatenate(Rows.from_cells(cells[::-1]))
    np.testing.assert_array_equal(to_cells(both, cells.shape[1]), np.concatenate([cells, cells[::-1]]))


def test_rows_of_narrow_numbers_hold_wide_ones():
    triple = np.array([0, 1], np.int8), np.array([100, 3], np.int8), np.array([2, 1], np.int8)
    for rows in (Rows.from_triples(*triple, 2), Rows.from_cells(np.array([[0, 2]], np.int8))):
        assert {rows.starts.dtype, rows.lf.dtype, rows.vote.dtype} == {np.dtype(np.int64)}


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_taken_from_cells_of_any_order_copy_no_more_than_they_are(order):
    cells, index = np.zeros((200_000, 4), np.int64, order), np.array([7, 3])
    cells[3] = [0, 1, -1, 1]
    tracemalloc.start()
    rows = DenseRows(cells).take(index)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.to_cells(4).tolist() == [[0, 0, 0, 0], [0, 1, -1, 1]]
    assert most < cells.nbytes / 100
