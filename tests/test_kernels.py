"""The hot loops against slow, literal versions of what they compute."""

import numpy as np
import pytest

from hyperlabel._core import (
    VoteLayout,
    gather_blocks,
    gather_sums,
    group_keys,
    hash_rows,
    key_space,
    mix_bits,
    multiply,
    pack_rows,
    quiet_product,
    scale_rows,
    softmax,
)
from hyperlabel.data import Rows

MULTIPLIER = 0x9E3779B97F4A7C15
MANY = 70_000  # keys, more than one chunk


def pack_exactly(cells, k):
    """Keys by Python's own integers."""
    return [sum((int(vote) + 1) * (k + 1) ** j for j, vote in enumerate(row)) for row in cells]


def random_votes(rng, n, m, k, coverage=0.6):
    return np.where(rng.random((n, m)) < coverage, rng.integers(0, k, (n, m)), -1)


@pytest.mark.parametrize(
    ("m", "k"),
    [
        (1, 1),
        (24, 1),  # 2^24 rows: the last that one product of float32 holds exactly
        (25, 1),
        (63, 1),
        (64, 1),  # 2^64 rows: the last that a key holds
        (15, 2),
        (16, 2),
        (40, 2),  # 3^40 < 2^64 < 3^41
        (5, 4095),  # 4096^2 = 2^24
        (7, 300),
        (2, 65_535),
        (1, (1 << 24) - 1),
    ],
)
def test_pack_rows_at_the_limits_of_exactness_equals_python_integers(m, k):
    assert key_space(m, k) <= 1 << 64
    rng = np.random.default_rng(m * k)
    cells = random_votes(rng, 40, m, k)
    cells[0], cells[1] = -1, k - 1
    keys = pack_rows(cells, k)
    assert keys.dtype == np.uint64
    assert keys.tolist() == pack_exactly(cells, k)
    assert (keys[0], keys[1]) == (0, key_space(m, k) - 1)


def test_key_space_of_any_number_of_lfs_is_known_at_once():
    assert (key_space(64, 1), key_space(40, 2)) == (1 << 64, 3**40)
    assert min(key_space(65, 1), key_space(41, 2), key_space(10**15, 3)) > 1 << 64


def test_pack_rows_over_several_chunks_equals_python_integers():
    cells = random_votes(np.random.default_rng(0), 20_000, 30, 2)
    assert pack_rows(cells, 2).tolist() == pack_exactly(cells, 2)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint32, np.int64, ">i4"])
def test_pack_rows_of_any_integer_type_and_layout_is_the_same(kind):
    cells = np.abs(random_votes(np.random.default_rng(1), 50, 6, 3))
    expected = pack_rows(cells, 3).tolist()
    wide = np.zeros((100, 12), kind)
    wide[::2, ::-2] = cells
    assert pack_rows(cells.astype(kind), 3).tolist() == expected
    assert pack_rows(np.asfortranarray(cells, kind), 3).tolist() == expected
    assert pack_rows(wide[::2, ::-2], 3).tolist() == expected


def check_groups(keys, space):
    groups = group_keys(keys, space)
    values, counts = np.unique(keys, return_counts=True)
    np.testing.assert_array_equal(keys[groups.example], values)  # in the order of the keys
    np.testing.assert_array_equal(groups.counts, counts)
    np.testing.assert_array_equal(keys[groups.example][groups.inverse], keys)


@pytest.mark.parametrize(("n", "space"), [(1, 1), (5, 1), (1, 65_536), (1000, 65_536), (20_000, 160_000)])
def test_group_keys_in_a_small_space_are_addressed(n, space):
    check_groups(np.random.default_rng(n).integers(0, space, n, dtype=np.uint64), space)


@pytest.mark.parametrize(
    ("n", "distinct"),
    [
        (1, 1),
        (2000, 40),
        (2000, 4000),
        (MANY, 3 * MANY),  # mostly distinct
        (MANY, 100),  # in chunks
        (3 * MANY, MANY // 3),  # in chunks, with full slots
    ],
)
def test_group_keys_in_a_large_space_are_sorted(n, distinct):
    rng = np.random.default_rng(n + distinct)
    pool = rng.integers(0, 1 << 64, distinct, dtype=np.uint64)
    pool[0] = 0  # the key that an empty slot seems to hold
    check_groups(rng.choice(pool, n), 1 << 64)


def test_group_keys_with_many_new_keys_in_late_chunks_are_found():
    rng = np.random.default_rng(3)
    few = rng.integers(0, 5, MANY, dtype=np.uint64)
    check_groups(np.concatenate([few, rng.integers(0, 1 << 64, MANY, dtype=np.uint64), few]), 1 << 64)


def test_group_keys_that_all_have_one_slot_of_the_table_are_told_apart():
    inverse = pow(MULTIPLIER, -1, 1 << 64)
    keys = np.array([((5 << 54) + i) * inverse % (1 << 64) for i in range(300)], np.uint64)
    check_groups(np.random.default_rng(9).choice(keys, MANY), 1 << 64)


def hash_cells(cells, k, seed=0):
    rows = Rows.from_cells(cells)
    return hash_rows(rows.starts, rows.lf, rows.vote, k, seed)


def all_rows(m, k):
    return np.stack(np.meshgrid(*[np.arange(-1, k)] * m, indexing="ij"), -1).reshape(-1, m)


@pytest.mark.parametrize(("m", "k"), [(11, 2), (8, 3), (2, 300)])
def test_hash_rows_of_all_different_rows_differ(m, k):
    cells = all_rows(m, k)
    assert len(np.unique(hash_cells(cells, k))) == len(cells)


def test_hash_rows_with_another_seed_differ():
    cells = all_rows(4, 2)[1:]
    assert not np.isin(hash_cells(cells, 2, 1), hash_cells(cells, 2, 0)).any()


def test_hash_rows_do_not_depend_on_the_order_of_votes_or_rows():
    rng = np.random.default_rng(6)
    cells = random_votes(rng, 30, 9, 4)
    rows = Rows.from_cells(cells)
    order = np.concatenate(
        [rng.permutation(np.arange(a, b)) for a, b in zip(rows.starts, rows.starts[1:], strict=False)]
    )
    shuffled = hash_rows(rows.starts, rows.lf[order.astype(int)], rows.vote[order.astype(int)], 4, 0)
    np.testing.assert_array_equal(shuffled, hash_cells(cells, 4))
    np.testing.assert_array_equal(hash_cells(cells[::-1], 4), hash_cells(cells, 4)[::-1])


def test_hash_rows_without_any_vote_are_equal():
    assert len(np.unique(hash_cells(np.full((4, 3), -1), 2))) == 1


def test_mix_bits_changes_about_half_of_the_bits_for_each_bit_of_the_input():
    numbers = np.arange(64, dtype=np.uint64)
    flipped = np.uint64(1) << np.arange(64, dtype=np.uint64)
    changed = mix_bits(numbers[:, None]) ^ mix_bits(numbers[:, None] ^ flipped)
    share = np.unpackbits(changed.view(np.uint8)).mean()
    assert len(np.unique(mix_bits(numbers))) == 64
    assert 0.49 < share < 0.51


@pytest.mark.parametrize(("rows", "d_in", "d_out"), [(0, 3, 2), (1, 1, 4), (7, 5, 1), (5000, 32, 8), (3000, 8, 64)])
def test_multiply_in_blocks_equals_one_product(rows, d_in, d_out):
    rng = np.random.default_rng(rows)
    values = rng.normal(size=(rows, d_in)).astype(np.float32)
    matrix = rng.normal(size=(d_out, d_in)).astype(np.float32)
    product = multiply(values, matrix)
    assert product.dtype == np.float32
    np.testing.assert_allclose(product, values @ matrix.T, rtol=1e-4, atol=1e-4)


LAYOUTS = {
    "few long columns": (2000, 3, 0.7),
    "many short columns": (5, 200, 0.5),
    "square": (60, 60, 0.3),
    "one row": (1, 12, 0.5),
    "one column": (12, 1, 0.5),
    "sparse": (300, 400, 0.004),
    "full": (40, 7, 1.0),
    "nobody votes": (6, 4, 0.0),
    "one vote": (1, 1, 1.0),
}


class DenseVotes:
    """A layout, and the row and LF of each of its votes, found by adding row and column numbers."""

    def __init__(self, p, m, coverage):
        rng = np.random.default_rng(p + m)
        self.cells = random_votes(rng, p, m, 3, coverage)
        self.counts = rng.integers(1, 9, p)
        rows = Rows.from_cells(self.cells)
        self.layout = VoteLayout(rows.starts, rows.lf, rows.vote, self.counts)
        self.columns = np.flatnonzero((self.cells >= 0).any(0))
        self.place = self._mark(self.layout.add_rows, p)
        self.row = self.layout.row_order[self.place]
        self.column = self._mark(self.layout.add_columns, len(self.columns))
        self.values = rng.normal(size=(len(rows.lf), 5)).astype(np.float32)

    def _mark(self, add, size):
        marks = np.zeros((int((self.cells >= 0).sum()), 1), np.float32)
        add(marks, np.arange(size, dtype=np.float32)[:, None])
        return marks[:, 0].astype(int)


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS.keys())
def dense(request):
    return DenseVotes(*request.param)


def test_layout_holds_each_vote_once_with_its_row_column_class_and_weight(dense):
    held = np.full_like(dense.cells, -1)
    held[dense.row, dense.columns[dense.column]] = dense.layout.vote
    np.testing.assert_array_equal(held, dense.cells)
    assert len(dense.layout.vote) == (dense.cells >= 0).sum()
    np.testing.assert_array_equal(dense.layout.weight, dense.counts[dense.row])
    np.testing.assert_array_equal(dense.column, dense.layout.lf)


def test_layout_counts_votes_of_rows_columns_and_all(dense):
    voted = dense.cells >= 0
    np.testing.assert_array_equal(dense.layout.votes_per_row, np.maximum(voted.sum(1), 1)[dense.layout.row_order])
    np.testing.assert_array_equal(dense.layout.votes_per_column, (voted.T @ dense.counts)[dense.columns])
    assert dense.layout.n_columns == len(dense.columns)
    assert dense.layout.n_votes == max(1, int(voted.sum(1) @ dense.counts))


def test_sum_rows_equals_a_dense_sum(dense):
    expected = np.zeros((len(dense.cells), 5))
    np.add.at(expected, dense.place, dense.values)
    np.testing.assert_allclose(dense.layout.sum_rows(dense.values), expected, rtol=1e-4, atol=1e-4)


def test_sum_columns_equals_a_weighted_dense_sum(dense):
    expected = np.zeros((len(dense.columns), 5))
    np.add.at(expected, dense.column, dense.values * dense.counts[dense.row][:, None])
    np.testing.assert_allclose(dense.layout.sum_columns(dense.values), expected, rtol=1e-4, atol=2e-3)


def test_add_rows_and_columns_add_the_value_of_each_votes_row_and_column(dense):
    rng = np.random.default_rng(7)
    by_row = rng.normal(size=(len(dense.cells), 5)).astype(np.float32)
    by_column = rng.normal(size=(len(dense.columns), 5)).astype(np.float32)
    cells = dense.values.copy()
    dense.layout.add_rows(cells, by_row)
    dense.layout.add_columns(cells, by_column)
    expected = dense.values + by_row[dense.place] + by_column[dense.column]
    np.testing.assert_allclose(cells, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rows", "k"), [(1, 1), (1, 2), (5, 2), (70_000, 2), (40, 3), (30_000, 5), (300, 200)])
def test_softmax_over_blocks_equals_the_definition_in_place_or_not(rows, k):
    logits = np.random.default_rng(rows + k).normal(0, 20, (rows, k))
    powers = np.exp(logits - logits.max(1, keepdims=True))
    expected = powers / powers.sum(1, keepdims=True)
    before = logits.copy()
    np.testing.assert_allclose(softmax(logits), expected, rtol=1e-12)
    np.testing.assert_array_equal(logits, before)
    assert softmax(logits, out=logits) is logits
    np.testing.assert_allclose(logits, expected, rtol=1e-12)


def test_softmax_in_float32_is_that_in_float64_to_a_millionth():
    logits = np.random.default_rng(0).normal(0, 5, (300, 200))
    found = softmax(logits.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, softmax(logits), rtol=5e-6, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_softmax_leaves_nothing_to_a_class_that_is_ruled_out(k):
    logits = np.zeros((2, k))
    logits[0, 0] = logits[1, -1] = -1e4
    shares = softmax(logits)
    assert shares[0, 0] == shares[1, -1] == 0.0  # and not the smallest number: models divide by it


@pytest.mark.parametrize("lead", [0.0, 1e-9, 30.0, 800.0, np.inf])
def test_softmax_of_two_is_the_same_when_the_classes_change_places_and_never_overflows(lead):
    shares = softmax(np.array([[0.0, lead], [lead, 0.0]]))
    np.testing.assert_allclose(shares[0], shares[1, ::-1], rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert shares[0, 1] >= 0.5


@pytest.mark.parametrize("columns", [1, 2, 7, 40])
@pytest.mark.parametrize("sizes", [[1], [3, 1, 2], [4] * 3000, [1, 500, 1], list(range(1, 200))])
def test_gather_sums_add_up_the_rows_of_each_segment(columns, sizes):
    rng = np.random.default_rng(len(sizes))
    values, index = rng.normal(size=(50, columns)), rng.integers(0, 50, sum(sizes))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    sums = gather_sums(values, index, starts)
    expected = [values[index[a:b]].sum(0) for a, b in zip(starts, starts[1:], strict=False)]
    np.testing.assert_allclose(sums, expected, atol=1e-10)


@pytest.mark.parametrize("columns", [3, 40])
def test_gather_sums_of_float32_are_right_however_long_a_segment_is(columns):
    rng = np.random.default_rng(0)
    values, index, starts = rng.random((50, columns)), rng.integers(0, 50, 300_010), np.array([0, 10, 300_000, 300_010])
    sums, expected = gather_sums(values.astype(np.float32), index, starts), gather_sums(values, index, starts)
    assert sums.dtype == np.float64
    np.testing.assert_allclose(sums, expected, rtol=1e-6)


def test_gather_blocks_cover_all_segments_in_order():
    values, index, starts = np.ones((3, 5)), np.zeros(90_000, int), np.arange(0, 90_001, 3)
    blocks = [(block, sums) for block, sums in gather_blocks(values, index, starts)]
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([np.arange(30_000)[block] for block, _ in blocks]), np.arange(30_000))
    assert all((sums == 3).all() for _, sums in blocks)


@pytest.mark.parametrize("columns", [1, 3, 50])
def test_scale_rows_multiplies_each_row_in_place(columns):
    values, factors = np.ones((4, columns)), np.array([0.0, 1.0, 2.0, -1.0])
    scale_rows(values, factors)
    np.testing.assert_array_equal(values, np.repeat(factors[:, None], columns, axis=1))


def test_hash_rows_of_few_and_of_many_votes_are_the_same():
    """Many votes look their hash up in a table of all (LF, vote); few compute it."""
    cells = random_votes(np.random.default_rng(8), 200, 5, 3)
    one_by_one = [hash_cells(cells[i : i + 1], 3)[0] for i in range(200)]
    np.testing.assert_array_equal(hash_cells(cells, 3), one_by_one)


def test_products_of_small_arrays_never_warn():
    with np.errstate(all="raise"):  # as a stray number beside the arrays would
        assert np.isnan(quiet_product(np.array([[np.inf]], np.float32), np.array([[0]], np.float32)))
