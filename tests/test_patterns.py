import dataclasses
import tracemalloc
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hyperlabel.data._patterns
from hyperlabel._core import hash_rows, write_tensors
from hyperlabel.data import Patterns, Votes
from hyperlabel.errors import ParameterError, VotesError, WeightsError

examples = settings(deadline=None, max_examples=60)


@st.composite
def vote_arrays(draw, max_lfs=80):
    """Votes of few distinct rows, k 1..5 and m 1..80: some fit into a key of 64 bits, some do not."""
    k, m = draw(st.integers(1, 5)), draw(st.integers(1, max_lfs))
    distinct = draw(
        hnp.arrays(np.int8, (draw(st.integers(1, 4)), m), elements=st.integers(-1, k - 1), fill=st.just(-1))
    )
    chosen = draw(st.lists(st.integers(0, len(distinct) - 1), min_size=1, max_size=20))
    return distinct[chosen], k


def count_rows(cells):
    """The patterns of votes, literally."""
    return Counter(map(tuple, cells.tolist()))


def as_counter(patterns):
    rows = map(tuple, patterns.to_array().tolist())
    counted = dict(zip(rows, patterns.counts.tolist(), strict=True))
    assert len(counted) == patterns.n_patterns  # no row twice
    return Counter(counted)


def sparse_of(cells):
    return scipy.sparse.csr_array(cells.astype(np.int64) + 1)


def random_sparse(n, m, votes_a_row=5, k=3):
    """Votes of some LFs on each item, never dense."""
    rng = np.random.default_rng(n)
    steps = rng.integers(1, m // votes_a_row, (n, votes_a_row))
    lf = (rng.integers(m, size=(n, 1)) + np.cumsum(steps, 1)) % m
    vote = rng.integers(1, k + 1, n * votes_a_row)
    return scipy.sparse.coo_array((vote, (np.repeat(np.arange(n), votes_a_row), lf.ravel())), shape=(n, m))


@examples
@given(vote_arrays())
def test_patterns_of_an_array_equal_a_literal_grouping(drawn):
    cells, k = drawn
    patterns = Patterns.from_votes(Votes.from_array(cells, n_classes=k))
    assert as_counter(patterns) == count_rows(cells)
    assert (patterns.n_items, patterns.n_lfs, patterns.n_classes) == (*cells.shape, k)
    np.testing.assert_array_equal(patterns.to_array()[patterns.inverse], cells)
    np.testing.assert_array_equal(patterns.has_votes, (patterns.to_array() >= 0).any(1))
    np.testing.assert_array_equal(patterns.to_array()[patterns.row, patterns.lf], patterns.vote)


@examples
@given(vote_arrays())
def test_patterns_of_a_sparse_matrix_equal_a_literal_grouping(drawn):
    cells, k = drawn
    patterns = Patterns.from_votes(Votes.from_sparse(sparse_of(cells), n_classes=k))
    assert as_counter(patterns) == count_rows(cells)
    np.testing.assert_array_equal(patterns.to_array()[patterns.inverse], cells)


@pytest.mark.parametrize(
    ("n", "m", "k", "distinct"),
    [
        (70_000, 4, 2, 81),  # addressed
        (70_000, 30, 3, 500),  # hashed keys
        (70_000, 30, 3, 60_000),  # sorted keys
        (3000, 60, 3, 400),  # hashed rows
    ],
)
def test_patterns_of_many_items_equal_those_of_numpy(n, m, k, distinct):
    rng = np.random.default_rng(n + distinct)
    cells = rng.integers(-1, k, (distinct, m), dtype=np.int8)[rng.integers(0, distinct, n)]
    patterns = Patterns.from_votes(Votes.from_array(cells))
    rows, counts = np.unique(cells, axis=0, return_counts=True)
    order = np.lexsort(patterns.to_array().T[::-1])
    np.testing.assert_array_equal(patterns.to_array()[order], rows)
    np.testing.assert_array_equal(patterns.counts[order], counts)
    np.testing.assert_array_equal(patterns.to_array()[patterns.inverse], cells)


@examples
@given(vote_arrays(), st.integers(1, 7))
def test_patterns_from_chunks_equal_those_of_the_whole(drawn, size):
    cells, k = drawn
    chunks = (cells[start : start + size] for start in range(0, len(cells), size))
    patterns = Patterns.from_chunks(chunks, n_classes=k)
    assert as_counter(patterns) == count_rows(cells)
    assert patterns.n_classes == k
    assert patterns.inverse is None


def test_patterns_from_chunks_of_different_kinds_are_counted_together():
    cells = np.array([[0, -1], [2, 1]])
    frame = pl.DataFrame({"lf0": [0, 2], "lf1": [None, 1]})
    patterns = Patterns.from_chunks([cells, cells.tolist(), frame, sparse_of(cells), Votes.from_array(cells)])
    assert as_counter(patterns) == {(0, -1): 5, (2, 1): 5}


def test_patterns_from_chunks_with_inferred_numbers_take_the_most_classes():
    assert Patterns.from_chunks([[[0, 1]], [[3, 0]], [[1, 1]]]).n_classes == 4


def test_patterns_from_chunks_of_texts_with_stated_classes_are_counted_together():
    chunks = [pd.DataFrame({"a": ["spam", "ham"]}), pd.DataFrame({"a": ["spam", None]})]
    assert as_counter(Patterns.from_chunks(chunks, classes=["ham", "spam"])) == {(0,): 1, (1,): 2, (-1,): 1}


def test_patterns_from_chunks_of_texts_collect_the_classes_of_all():
    chunks = [pd.DataFrame({"a": ["spam", "ham"]}), pd.DataFrame({"a": ["spam", "eggs"]}), pd.DataFrame({"a": ["ham"]})]
    patterns = Patterns.from_chunks(chunks)
    assert patterns.classes == ("eggs", "ham", "spam")
    assert as_counter(patterns) == {(0,): 1, (1,): 2, (2,): 2}


def test_patterns_from_chunks_match_columns_by_name():
    chunks = [pl.DataFrame({"a": [0], "b": [1]}), pl.DataFrame({"b": [1], "a": [0]})]
    patterns = Patterns.from_chunks(chunks)
    assert patterns.lf_names == ("a", "b")
    assert as_counter(patterns) == {(0, 1): 2}


@pytest.mark.parametrize(
    ("columns", "message"),
    [(["a", "c"], "chunk 1: votes has no column 'b'"), (["a", "b", "c"], "chunk 1: votes has the LF 'c', which")],
)
def test_patterns_from_chunks_with_other_columns_are_refused(columns, message):
    chunks = [pl.DataFrame({"a": [0], "b": [1]}), pl.DataFrame(dict.fromkeys(columns, [0]))]
    with pytest.raises(VotesError, match=message):
        Patterns.from_chunks(chunks)


def test_patterns_from_no_chunks_are_refused():
    with pytest.raises(VotesError, match="chunks is empty; expected at least one chunk"):
        Patterns.from_chunks(iter([]))


@examples
@given(vote_arrays(max_lfs=50), st.integers(0, 20), st.integers(0, 20))
def test_merge_is_associative_and_commutative(drawn, first, second):
    cells, k = drawn
    parts = np.split(
        np.concatenate([cells] * 3), sorted([1 + first % len(cells), 1 + len(cells) + second % len(cells)])
    )
    a, b, c = (Patterns.from_votes(Votes.from_array(part, n_classes=k)) for part in parts)
    expected = count_rows(np.concatenate(parts))
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b), b.merge(c).merge(a)):
        assert as_counter(merged) == expected
        assert merged.n_items == sum(map(len, parts))


def test_merge_of_patterns_with_other_numbers_of_classes_keeps_the_larger():
    small, large = (Patterns.from_votes(Votes.from_array([[0, 1]], n_classes=k)) for k in (2, 5))
    assert small.merge(large).n_classes == large.merge(small).n_classes == 5
    assert as_counter(small.merge(large)) == {(0, 1): 2}


def test_merge_of_more_items_than_can_be_counted_is_refused():
    one = dataclasses.replace(Patterns.from_votes(Votes.from_array([[0, 1]])), counts=np.array([2**62]))
    with pytest.raises(VotesError, match=r"^patterns of 2\^63 or more items cannot be counted; merge fewer of them"):
        one.merge(one)


def test_merge_of_patterns_with_other_numbers_of_lfs_is_refused():
    two, three = (Patterns.from_votes(Votes.from_array([[0] * m])) for m in (2, 3))
    with pytest.raises(VotesError, match="patterns of 2 and of 3 LFs cannot be merged; give both the same LFs"):
        two.merge(three)


def test_merge_matches_lfs_and_classes_by_name():
    one = Patterns.from_votes(Votes.from_frame(pd.DataFrame({"a": ["ham", "spam"], "b": ["spam", None]})))
    two = Patterns.from_votes(Votes.from_frame(pd.DataFrame({"b": ["spam"], "a": ["eggs"]})))
    merged = one.merge(two)
    assert (merged.lf_names, merged.classes) == (("a", "b"), ("ham", "spam", "eggs"))
    assert as_counter(merged) == {(0, 1): 1, (1, -1): 1, (2, 1): 1}


def test_merge_keeps_the_names_of_the_one_that_has_them():
    named = Patterns.from_votes(Votes.from_array([[0, 1]], lfs=["a", "b"]))
    plain = Patterns.from_votes(Votes.from_array([[0, 1]]))
    assert named.merge(plain).lf_names == plain.merge(named).lf_names == ("a", "b")


def sample_patterns():
    frame = pd.DataFrame({"a": ["ham", "spam", "ham"], "b": ["spam", None, "spam"]})
    return Patterns.from_votes(Votes.from_frame(frame))


def test_patterns_saved_and_loaded_are_the_same_but_know_no_items(tmp_path):
    patterns = sample_patterns()
    patterns.save(tmp_path / "p.safetensors")
    loaded = Patterns.load(tmp_path / "p.safetensors")
    assert (loaded.lf_names, loaded.classes, loaded.n_lfs) == (("a", "b"), ("ham", "spam"), 2)
    assert as_counter(loaded) == as_counter(patterns)
    assert loaded.inverse is None
    assert as_counter(loaded.merge(patterns)) == {row: 2 * n for row, n in as_counter(patterns).items()}


def test_patterns_of_unnamed_lfs_and_numbers_are_loaded_as_such(tmp_path):
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [-1, -1]], n_classes=3))
    patterns.save(tmp_path / "p.safetensors")
    loaded = Patterns.load(tmp_path / "p.safetensors")
    assert (loaded.lf_names, loaded.classes) == (None, (0, 1, 2))
    assert as_counter(loaded) == as_counter(patterns)


def test_patterns_of_classes_that_json_does_not_know_are_not_saved(tmp_path):
    patterns = dataclasses.replace(Patterns.from_votes(Votes.from_array([[0, 1]])), classes=(("a", 1), ("b", 2)))
    with pytest.raises(WeightsError, match=r"classes holds \('a', 1\) .tuple.; only strings and numbers can be saved"):
        patterns.save(tmp_path / "p.safetensors")


UNFIT = r"does not hold complete patterns \(its parts do not fit together"
BROKEN = {
    "a vote of no class": (
        {"vote": np.array([5, 1, 1])},
        {},
        r"does not hold complete patterns \(vote numbers outside 0 to 1",
    ),
    "a vote of no LF": (
        {"lf": np.array([0, 2, 0])},
        {},
        r"does not hold complete patterns \(lf numbers outside 0 to 1",
    ),
    "too few counts": (
        {"counts": np.array([1])},
        {},
        r"does not hold complete patterns \(its parts do not fit together",
    ),
    "falling starts": (
        {"starts": np.array([0, 5, 3])},
        {},
        r"does not hold complete patterns \(its parts do not fit together",
    ),
    "no starts": (
        {"starts": np.zeros(0, np.int64)},
        {},
        r"does not hold complete patterns \(its parts do not fit together",
    ),
    "negative counts": (
        {"counts": np.array([2, -1])},
        {},
        r"does not hold complete patterns \(its parts do not fit together",
    ),
    "floats": (
        {"counts": np.array([1.5, 1.5])},
        {},
        r"does not hold complete patterns \(its parts do not fit together",
    ),
    "names too many": (
        {},
        {"lf_names": ["a", "b", "c"]},
        r"does not hold complete patterns \(its parts do not fit together",
    ),
    "an LF twice": ({"lf": np.array([0, 0, 0])}, {}, "LFs of a row are not in increasing order"),
    "too many items": ({"counts": np.array([2**62, 2**62])}, {}, r"it counts 2\^63 items or more"),
    "LFs without end": ({}, {"n_lfs": 10**18, "lf_names": None}, r"does not hold complete patterns \(n_lfs is 1000"),
    "half an LF": ({}, {"n_lfs": 2.5}, "does not hold complete patterns"),
    "no classes": ({}, {"classes": None}, "does not hold complete patterns"),
    "a class of a list": ({}, {"classes": [["a"], ["b"]]}, "does not hold complete patterns"),
}


OUTCOMES = {"names": ["!x"], "leaning": [[0.0, 1.0]], "ladder": [-1], "cuts": {}}
BROKEN |= {
    f"outcomes with {name} {value}": ({}, {"outcomes": OUTCOMES | {name: value}}, "does not hold complete patterns")
    for name, value in [
        ("names", "a name"),
        ("names", ["!x", "!x"]),
        ("leaning", [[0.0, 1.0]] * 2),
        ("ladder", [10**9]),
        ("ladder", [2**63]),
        ("ladder", []),
        ("cuts", 3.5),
        ("cuts", {"a": [[0.5], True, "unknown"]}),
        ("cuts", {"a": [["half"], True, "!x"]}),
    ]
}


@pytest.mark.parametrize(("arrays", "header", "message"), BROKEN.values(), ids=BROKEN)
def test_file_whose_patterns_do_not_fit_is_refused(tmp_path, arrays, header, message):
    whole = {"starts": np.array([0, 2, 3]), "lf": np.array([0, 1, 0]), "vote": np.array([0, 1, 1])}
    names = {"n_lfs": 2, "lf_names": ["a", "b"], "classes": ["x", "y"]}
    path = tmp_path / "p.safetensors"
    write_tensors(path, {**whole, "counts": np.array([2, 1]), **arrays}, {**names, **header}, "patterns")
    with pytest.raises(WeightsError, match=message):
        Patterns.load(path)


def test_file_without_an_array_of_patterns_is_refused(tmp_path):
    write_tensors(tmp_path / "p", {"lf": np.array([0])}, {"n_lfs": 1, "lf_names": None, "classes": [0, 1]}, "patterns")
    with pytest.raises(WeightsError, match=r"does not hold complete patterns \('starts'\); save it again"):
        Patterns.load(tmp_path / "p")


def test_take_and_split_give_the_same_rows_in_order():
    patterns = Patterns.from_votes(Votes.from_array(np.random.default_rng(0).integers(-1, 2, (50, 4))))
    rows = patterns.to_array()
    taken = patterns.take(np.array([3, 0, 3]))
    np.testing.assert_array_equal(taken.to_array(), rows[[3, 0, 3]])
    np.testing.assert_array_equal(taken.counts, patterns.counts[[3, 0, 3]])
    chunks = list(patterns.split(7))
    assert max(chunk.n_patterns for chunk in chunks) == 7
    np.testing.assert_array_equal(np.concatenate([chunk.to_array() for chunk in chunks]), rows)


def test_with_classes_renumbers_votes_and_refuses_a_class_that_would_be_lost():
    patterns = Patterns.from_votes(Votes.from_array([[0, 2], [1, -1]]))
    assert as_counter(patterns.with_classes((2, 1, 0))) == {(2, 0): 1, (1, -1): 1}
    with pytest.raises(VotesError, match="votes has the class 2; expected one of 0, 1. State it in classes"):
        patterns.with_classes((0, 1))


def test_join_equal_adds_counts_and_says_where_each_row_went():
    rows = Patterns.from_votes(Votes.from_array([[0, 1], [1, -1]])).take(np.array([0, 1, 0]))
    joined, index = rows.join_equal()
    assert sorted(joined.counts.tolist()) == [1, 2]
    np.testing.assert_array_equal(joined.to_array()[index], rows.to_array())


@examples
@given(vote_arrays(), st.data())
def test_find_gives_the_place_among_other_patterns_or_none(drawn, data):
    cells, k = drawn
    index = data.draw(st.lists(st.integers(0, len(cells) - 1), min_size=1, max_size=5))
    patterns = Patterns.from_votes(Votes.from_array(cells, n_classes=k))
    other = Patterns.from_votes(Votes.from_array(cells[index], n_classes=k + 1))
    rows = [tuple(row) for row in other.to_array().tolist()]
    expected = [rows.index(tuple(row)) if tuple(row) in rows else -1 for row in patterns.to_array().tolist()]
    assert patterns.find(other).tolist() == expected


def test_find_when_hashes_collide_compares_rows(monkeypatch):
    one, other = (Patterns.from_votes(Votes.from_array(cells)) for cells in ([[0, 1], [1, 1]], [[1, 0], [1, 1]]))
    rows = other.to_array().tolist()
    expected = [rows.index(row) if row in rows else -1 for row in one.to_array().tolist()]
    assert sorted(expected)[0] == -1 < sorted(expected)[1]
    collide = lambda *row: hash_rows(*row) * np.uint64(row[-1] > 0)  # noqa: E731  all rows have one hash, by one seed
    monkeypatch.setattr(hyperlabel.data._patterns, "hash_rows", collide)
    assert one.find(other).tolist() == expected


def test_find_among_patterns_of_other_lfs_gives_none():
    two, three = (Patterns.from_votes(Votes.from_array([[0] * m, [1] * m])) for m in (2, 3))
    assert two.find(three).tolist() == [-1, -1]


def test_count_labels_counts_the_known_classes_of_each_pattern():
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1], [0, 1], [0, 1], [-1, -1]], n_classes=3))
    counts = patterns.count_labels(np.array([2, 1, 2, -1, 0]))
    by_row = dict(zip(map(tuple, patterns.to_array().tolist()), counts.tolist(), strict=True))
    assert by_row == {(0, 1): [0, 0, 2], (1, 1): [0, 1, 0], (-1, -1): [1, 0, 0]}


def test_count_labels_when_none_is_known_is_zero():
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]]))
    assert patterns.count_labels(np.array([-1, -1])).tolist() == [[0, 0], [0, 0]]


def test_expand_gives_each_item_the_value_of_its_pattern():
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1], [0, 1]]))
    values = patterns.expand(patterns.to_array())
    assert values.tolist() == [[0, 1], [1, 1], [0, 1]]


def test_counted_patterns_have_no_items_to_give_values_to():
    counted = Patterns.from_chunks([[[0, 1]]])
    for call in (counted.expand, counted.count_labels):
        with pytest.raises(VotesError, match=r"only counted and know no items; use Patterns\.from_votes"):
            call(np.zeros(1, int))


def test_grouping_of_rows_whose_hashes_collide_is_still_exact(monkeypatch):
    seeds = []

    def collide_once(starts, lf, vote, k, seed):
        seeds.append(seed)
        hashes = hash_rows(starts, lf, vote, k, seed)
        return hashes // (np.uint64(1) << np.uint64(63)) if len(seeds) == 1 else hashes

    monkeypatch.setattr(hyperlabel.data._patterns, "hash_rows", collide_once)
    cells = np.tile(np.random.default_rng(0).integers(-1, 2, (50, 6)), 8)  # too many LFs for keys without hashes
    patterns = Patterns.from_votes(Votes.from_sparse(sparse_of(cells)))
    assert as_counter(patterns) == count_rows(cells)
    assert seeds == [0, 1]


ODD = {
    "one item": [[0, 1, -1]],
    "one LF": [[0], [1], [-1], [1]],
    "one class": [[0, -1], [0, 0], [0, -1]],
    "an LF that never votes": [[0, -1], [1, -1]],
    "first item without votes": [[-1, -1], [0, 1]],
    "last item without votes": [[0, 1], [-1, -1]],
    "nobody votes": [[-1, -1], [-1, -1]],
    "1000 LFs": np.random.default_rng(0).integers(-1, 2, (30, 1000)),
    "300 classes": np.random.default_rng(0).integers(-1, 300, (400, 5)),
    "300 classes, many LFs": np.random.default_rng(0).integers(-1, 300, (40, 50)),
}


@pytest.mark.parametrize("cells", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("read", [Votes.from_array, lambda cells: Votes.from_sparse(sparse_of(cells))])
def test_patterns_of_odd_votes_equal_a_literal_grouping(cells, read):
    cells = np.array(cells)
    patterns = Patterns.from_votes(read(cells))
    assert as_counter(patterns) == count_rows(cells)
    assert as_counter(patterns.merge(patterns)) == {row: 2 * count for row, count in count_rows(cells).items()}
    np.testing.assert_array_equal(patterns.to_array()[patterns.inverse], cells)
    assert patterns.n_lfs == cells.shape[1]


@pytest.mark.parametrize(("n", "m"), [(19_000, 760), (19_000, 20_000)])
def test_patterns_of_sparse_votes_are_never_made_dense(n, m):
    matrix = random_sparse(n, m)
    tracemalloc.start()
    try:
        votes = Votes.from_sparse(matrix)
        patterns = Patterns.from_votes(votes)
        patterns.merge(patterns)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert votes.cells is None
    assert peak < 200 * 5 * n  # bytes: some arrays of one number a vote, however many LFs there are
    assert patterns.counts.sum() == n
    assert as_counter_of_sparse(patterns) == Counter(
        tuple(zip(columns, stored, strict=True))
        for columns, stored in zip(np.split(*split_rows(matrix)), np.split(*split_rows(matrix, "data")), strict=True)
    )


def split_rows(matrix, part="indices"):
    csr = matrix.tocsr()
    csr.sort_indices()
    return getattr(csr, part).tolist(), csr.indptr[1:-1]


def as_counter_of_sparse(patterns):
    ends = patterns.starts[1:-1]
    rows = zip(np.split(patterns.lf, ends), np.split(patterns.vote + 1, ends), strict=True)
    keys = [tuple(zip(lf.tolist(), vote.tolist(), strict=True)) for lf, vote in rows]
    return Counter(dict(zip(keys, patterns.counts.tolist(), strict=True)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_patterns_of_a_long_table_with_many_lfs_and_classes_are_exact(make):
    cells = np.random.default_rng(8).integers(-1, 5, (20, 100))[np.arange(60) % 20]
    triples = [(i, f"{j:03}", None if vote < 0 else int(vote)) for (i, j), vote in np.ndenumerate(cells)]
    frame = make(dict(zip(("item", "lf", "vote"), map(list, zip(*triples, strict=True)), strict=True)))
    patterns = Patterns.from_votes(Votes.from_long(frame, item="item", lf="lf", vote="vote"))
    assert as_counter(patterns) == count_rows(cells)
    assert (patterns.lf * 5 + patterns.vote).max() > 127  # a code of both, which a narrow type would not hold


def test_patterns_compare_by_identity_not_by_ambiguous_arrays():
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [1, 1]]))
    assert patterns == patterns
    assert patterns != patterns.merge(patterns)


def test_patterns_show_how_many_there_are():
    assert repr(Patterns.from_votes(Votes.from_array([[0, 1], [-1, 1], [0, 1]]))) == (
        "Patterns(2 of 3 items, 2 LFs, 2 classes)"
    )


def assert_same(one, two):
    """The same rows in the same order."""
    for name in ("counts", "starts", "lf", "vote"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert (one.classes, one.vote_names) == (two.classes, two.vote_names)
    assert (one.outcomes is None) == (two.outcomes is None)
    if one.outcomes is not None:
        np.testing.assert_array_equal(one.outcomes.class_weights, two.outcomes.class_weights)


SHAPES = {
    "numbered": (50, 4, 2, 0.5),
    "packed": (3000, 12, 2, 0.2),
    "many": (20_000, 30, 3, 0.3),
    "many that repeat": (150_000, 30, 2, 0.05),
    "hashed": (3000, 60, 3, 0.02),
}


@pytest.fixture(params=SHAPES)
def drawn_votes(request):
    n, m, k, coverage = SHAPES[request.param]
    rng = np.random.default_rng(n)
    return np.where(rng.random((n, m)) < coverage, rng.integers(0, k, (n, m)), -1), k


def test_dense_and_sparse_votes_have_the_same_patterns_in_the_same_order(drawn_votes):
    cells, k = drawn_votes
    dense = Patterns.from_votes(Votes.from_array(cells, n_classes=k))
    sparse = Patterns.from_votes(Votes.from_sparse(sparse_of(cells), n_classes=k))
    np.testing.assert_array_equal(sparse.inverse, dense.inverse)
    assert_same(sparse, dense)


def test_patterns_of_items_in_any_order_or_chunks_are_the_same_in_the_same_order(drawn_votes, tmp_path):
    cells, k = drawn_votes
    whole = Patterns.from_votes(Votes.from_array(cells, n_classes=k))
    moved = cells[np.random.default_rng(0).permutation(len(cells))]
    assert_same(Patterns.from_votes(Votes.from_array(moved, n_classes=k)), whole)
    counted = Patterns.from_chunks(np.array_split(moved, 4), n_classes=k)
    assert_same(counted, whole)
    counted.save(tmp_path / "patterns.safetensors")
    assert_same(Patterns.load(tmp_path / "patterns.safetensors"), whole)


@pytest.mark.filterwarnings("ignore:votes for one of several classes")
def test_patterns_of_chunks_that_lack_classes_are_those_of_all_items():
    whole = pl.DataFrame(
        {"a": [None, "spam", "ham|spam", "eggs", "!ham"], "b": [None, "spam", "ham", "ham", "eggs|ham"]}
    )
    chunks = [whole[:1], whole[1:3], whole[3:]]  # nobody votes in the first; "!ham" is eggs alone in the last
    assert_same(Patterns.from_chunks(chunks), Patterns.from_votes(Votes.from_frame(whole)))


def test_patterns_of_chunks_with_stated_classes_keep_their_order():
    chunk = Votes.from_array([[0, 1]], classes=["low", "high"])
    assert Patterns.from_chunks([chunk, chunk]).classes == ("low", "high")


@pytest.mark.parametrize("other", [[["a", "b"]], [[True, False]]])
def test_patterns_of_two_kinds_of_classes_are_not_merged(other):
    one, two = (Patterns.from_votes(Votes.from_frame(pd.DataFrame(rows))) for rows in ([[0, 1]], other))
    with pytest.raises(VotesError, match=r"^votes for the classes 0, 1 cannot be joined with .*; expected one kind of"):
        one.merge(two)
    with pytest.raises(VotesError, match=r"^votes for the classes .* cannot be joined with votes for 0, 1"):
        Votes.from_frame(pd.DataFrame(other)).join(Votes.from_array([[0, 1]], lfs=["c", "d"]))


def test_expand_refuses_another_number_of_values():
    patterns = Patterns.from_votes(Votes.from_array([[0, 1], [1, -1], [0, 1]]))
    with pytest.raises(ParameterError, match="^values has 3 rows; expected one for each of the 2 patterns"):
        patterns.expand(np.zeros(3))
