"""Votes as they are held: used like a frame, checked when made, written and read back."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import hyperlabel as hl
from hyperlabel.data import Rows, Votes, read_votes
from hyperlabel.errors import ParameterError, VotesError, VotesWarning

CELLS = np.array([[0, 1, -1], [2, -1, 1], [-1, -1, -1], [1, 1, 0]])
LFS = ["links", "short", "caps"]
NAMES = ("ham", "other", "spam")
DENSE = Votes.from_array(CELLS, classes=NAMES, lfs=LFS)
SPARSE = Votes.from_sparse(scipy.sparse.csr_array(CELLS + 1), classes=NAMES, lfs=LFS)
both = pytest.mark.parametrize("votes", [DENSE, SPARSE], ids=["dense", "sparse"])


def frame_of(index=None, **more):
    texts = np.array([*NAMES, None], object)[CELLS]
    return pd.DataFrame(texts, columns=LFS, index=index).assign(**more)


@both
def test_votes_have_a_length_a_shape_and_names(votes):
    assert (len(votes), votes.shape, list(votes)) == (4, (4, 3), LFS)
    assert "links" in votes
    assert "x" not in votes


@both
def test_votes_of_an_lf_are_its_classes(votes):
    assert votes["links"].tolist() == ["ham", "spam", None, "other"]
    assert Votes.from_array(CELLS)["lf1"].tolist() == [1, -1, -1, 1]
    assert Votes.from_frame(pd.DataFrame({"a": [True, None]}))["a"].tolist() == [True, None]


@both
@pytest.mark.parametrize(
    "key",
    [
        slice(1, 3),
        slice(None, None, -1),
        [0, 2],
        [-1],
        np.array([3, 3, 0]),
        CELLS[:, 0] >= 0,
        (CELLS[:, 0] >= 0).tolist(),
    ],
    ids=str,
)
def test_votes_of_some_items_are_theirs(votes, key):
    np.testing.assert_array_equal(votes[key].to_numpy(), CELLS[key])
    assert votes[key].lf_names == tuple(LFS)
    assert votes[key].classes == NAMES


@both
def test_votes_of_some_lfs_are_theirs(votes):
    np.testing.assert_array_equal(votes[["caps", "links"]].to_numpy(), CELLS[:, [2, 0]])
    np.testing.assert_array_equal(votes.drop("short").to_numpy(), CELLS[:, [0, 2]])
    assert votes.drop(["short", "caps"]).lf_names == votes.drop("short", "caps").lf_names == ("links",)


@both
@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("x", r"^votes has no LF 'x'; it has 'links', 'short', 'caps'"),
        (["links", "x"], "^votes has no LF 'x'"),
        (
            3,
            r"^votes\[3\] is not understood; expected an LF's name, a list of names, a slice, a mask of 4 or a list of",
        ),
        ([], r"^votes\[\[\]\] is not understood"),
        ([True, False], r"^votes\[\[True, False\]\] is not understood"),
        ([0.5], r"^votes\[\[0.5\]\] is not understood"),
        ([4], r"^votes\[\[4\]\] has positions outside the 4 items"),
        ([False] * 4, "has no items; expected at least one of the 4 items"),
        (slice(3, 3), r"^votes\[slice.* has no items; expected at least one of the 4"),
        (None, r"^votes\[None\] is not understood"),
    ],
    ids=str,
)
def test_key_that_means_nothing_is_refused(votes, key, message):
    with pytest.raises(ParameterError, match=message):
        votes[key]


def test_last_lf_cannot_be_dropped():
    with pytest.raises(
        ParameterError, match="^lfs is 'links', 'short', 'caps', which is all of them; keep at least one LF"
    ):
        DENSE.drop(LFS)


def test_identifiers_come_along():
    votes = Votes.from_frame(frame_of(id=list("pqrs")))
    assert votes[[3, 0]].items.tolist() == ["s", "p"]
    assert votes[1:].drop("caps").items.tolist() == ["q", "r", "s"]
    indexed = Votes.from_frame(frame_of(index=list("pqrs")))
    assert indexed[[3, 0]].to_pandas().index.tolist() == ["s", "p"]


@pytest.mark.parametrize("key", [slice(1, 3), [3, 0], [False, True, True, False]])
def test_votes_of_some_items_are_the_votes_of_some_rows(key):
    frame = frame_of()
    rows = frame.iloc[key] if not isinstance(key, list) or isinstance(key[0], int) else frame[key]
    assert Votes.from_frame(frame, classes=NAMES)[key] == Votes.from_frame(rows, classes=NAMES)


@both
def test_array_of_votes_is_their_numbers(votes):
    for array in (votes.to_numpy(), np.asarray(votes), np.array(votes), np.asarray(votes, np.float32)):
        np.testing.assert_array_equal(array, CELLS)
    assert np.asarray(votes, np.float32).dtype == np.float32
    votes.to_numpy()[:] = 7
    np.testing.assert_array_equal(np.asarray(votes), CELLS)


def test_array_too_large_to_be_dense_is_refused():
    rows = Rows(np.zeros(2**20 + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    names = tuple(map(str, range(2**14)))
    with pytest.raises(VotesError, match=r"1,048,576 items and 16,384 LFs, too many for a dense array; use votes.rows"):
        Votes.from_parts((0, 1), names, rows).to_numpy()


# Joining.


def test_join_adds_lfs_by_place():
    more = Votes.from_array([[1], [-1], [0], [0]], classes=["spam", "ham"], lfs=["new"])
    for votes in (DENSE, SPARSE):
        joined = votes.join(more)
        assert joined.lf_names == (*LFS, "new")
        np.testing.assert_array_equal(joined.to_numpy(), np.c_[CELLS, [0, -1, 2, 2]])


def test_join_matches_items_by_their_identifiers():
    votes = Votes.from_frame(frame_of(id=[7, 8, 9, 10]))
    more = pd.DataFrame({"id": [10, 7, 99], "new": ["eggs", "ham", "ham"]})
    with pytest.warns(VotesWarning, match="^1 items of the other votes are not in these, for instance 99; left out"):
        joined = votes.join(more)
    assert joined["new"].tolist() == ["ham", None, None, "eggs"]
    assert joined.classes == (*NAMES, "eggs")
    assert joined.items.tolist() == [7, 8, 9, 10]


def test_join_numbers_lfs_without_names_on():
    joined = Votes.from_array([[0, 1]]).join([[1]])
    assert (joined.lf_names, joined.named, joined.to_numpy().tolist()) == (("lf0", "lf1", "lf2"), False, [[0, 1, 1]])


@pytest.mark.parametrize(
    ("votes", "other", "message"),
    [
        (DENSE, DENSE, "^both votes have the LF 'caps'; drop it from one of them, or rename it"),
        (
            DENSE,
            Votes.from_array([[0]], classes=NAMES, lfs=["x"]),
            "^votes has 4 items but the other votes have 1; expected the same items",
        ),
        (
            Votes.from_frame(frame_of(id=[7, 8, 9, 10])),
            pd.DataFrame({"id": [1, 2], "x": ["ham", "ham"]}),
            "^the votes have no item in common; expected identifiers such as 1, 2",
        ),
        (
            DENSE,
            Votes.from_frame(pd.DataFrame({"x": ["ham", "eggs", "ham", "ham"]})),
            "^votes, item 1: LF 'x' votes 'eggs'; expected one of the classes 'ham', 'other', 'spam'",
        ),
    ],
)
def test_votes_that_cannot_be_joined_are_refused(votes, other, message):
    with pytest.raises(VotesError, match=message):
        votes.join(other)


# Frames and files.


@pytest.mark.parametrize(
    "frame",
    [
        frame_of(),
        frame_of(index=list("pqrs")),
        frame_of(index=pd.Index([5, 3, 9, 1], name="key")),
        frame_of(index=pd.MultiIndex.from_tuples([(0, "a"), (0, "b"), (1, "a"), (1, "b")])),
        frame_of(id=[5, 3, 9, 1], text="x")[["id", "text", *LFS]],
        frame_of(index=[9, 8, 7, 6], id=list("pqrs"))[["id", *LFS]],
        pd.DataFrame(CELLS, columns=LFS),
    ],
    ids=["plain", "index", "named index", "several levels", "id", "id and index", "numbers"],
)
def test_frame_of_votes_has_the_index_that_came_in_and_gives_the_same_votes(frame):
    votes = Votes.from_frame(frame)
    out = votes.to_pandas()
    pd.testing.assert_index_equal(out.index, frame.index)
    assert list(out.columns)[-3:] == LFS
    assert [c for c in out.columns if c not in LFS] == [c for c in frame.columns if c == "id"]
    assert Votes.from_frame(out) == votes


def test_polars_frame_of_votes_has_identifiers_first_and_gives_the_same_votes():
    votes = Votes.from_frame(frame_of(id=[5, 3, 9, 1]))
    frame = votes.to_polars()
    assert frame.columns == ["id", *LFS]
    assert frame["links"].to_list() == ["ham", "spam", None, "other"]
    assert Votes.from_frame(frame) == votes
    assert Votes.from_array(CELLS).to_polars()["lf0"].to_list() == [0, 2, None, 1]
    assert Votes.from_frame(frame_of(index=pd.Index(list("pqrs"), name="key"))).to_polars().columns[0] == "key"
    assert Votes.from_frame(frame_of(index=list("pqrs"))).to_polars().columns[0] == "item"


SAVED = {
    "texts": Votes.from_frame(frame_of(id=[5, 3, 9, 1])),
    "text identifiers": Votes.from_frame(frame_of(index=list("pqrs"))),
    "an order of classes": DENSE.with_classes(["spam", "ham", "other", "eggs"]),
    "numbers": Votes.from_array(CELLS),
    "numbers, more stated": Votes.from_array(CELLS, n_classes=5, lfs=["id", "text", "item"]),
    "booleans": Votes.from_frame(pd.DataFrame({"a": [True, None], "b": [False, True]})),
    "null texts as classes": Votes.from_array([[0, 1]], classes=["NA", "-1"]),
    "long": Votes.from_long(
        pl.DataFrame({"task": ["x", "x", "y"], "who": ["p", "q", "p"], "what": [1, 0, 1]}),
        item="task",
        lf="who",
        vote="what",
    ),
    "an LF of the name of the identifiers": Votes.from_frame(
        pd.DataFrame({"item": [0, 1]}, index=["p", "q"]), lfs=["item"]
    ),
    "nobody votes": Votes.from_array([[-1, -1]], classes=["a", "b"]),
}


@pytest.mark.parametrize("votes", SAVED.values(), ids=SAVED.keys())
def test_votes_that_were_saved_are_read_back_equal(votes, tmp_path):
    votes.save(tmp_path / "votes.parquet")
    back = read_votes(tmp_path / "votes.parquet")
    assert back == votes
    assert [type(c) for c in back.classes] == [type(c) for c in votes.classes]
    assert (back.stated, back.named) == (votes.stated, votes.named)
    assert [path.name for path in tmp_path.iterdir()] == ["votes.parquet"]


def test_identifiers_of_several_kinds_cannot_be_saved(tmp_path):
    votes = Votes.from_frame(pd.DataFrame({"a": [0, 1]}, index=pd.Index([(1, 2), "x"], tupleize_cols=False)))
    with pytest.raises(VotesError, match="^column 'item' holds values of several kinds, which a table cannot"):
        votes.save(tmp_path / "votes.parquet")
    assert list(tmp_path.iterdir()) == []


def test_file_with_a_header_that_is_broken_is_refused(tmp_path):
    pl.DataFrame({"a": [0]}).write_parquet(tmp_path / "v.parquet", metadata={"hyperlabel.votes": "{}"})
    with pytest.raises(
        VotesError, match="v.parquet' has a header of votes that cannot be read: '{}'; save the votes again"
    ):
        read_votes(tmp_path / "v.parquet")


# Equality and looks.


def test_votes_are_equal_if_all_that_can_be_seen_is():
    assert DENSE == SPARSE
    assert Votes.from_array(CELLS) == Votes.from_array(CELLS.astype(np.int8))
    others = [
        DENSE.drop("caps"),
        DENSE[1:],
        DENSE[::-1],
        DENSE.with_classes([*NAMES, "eggs"]),
        Votes.from_array(CELLS, lfs=LFS),
        Votes.from_array(CELLS, classes=NAMES),
        Votes.from_frame(frame_of(id=range(4))),
        "votes",
    ]
    assert not any(other == DENSE for other in others)
    booleans = Votes.from_frame(pd.DataFrame({"a": [False, True]}))
    assert booleans != Votes.from_array([[0], [1]], lfs=["a"])
    with pytest.raises(TypeError, match="unhashable"):
        hash(DENSE)


def test_votes_look_short_and_harmless():
    assert repr(DENSE) == "Votes(4 items, 3 LFs, classes ham, other, spam, 42% abstain)"
    many = Votes.from_array(np.zeros((5, 300), int), lfs=[f"<b>{j}</b>" for j in range(300)], n_classes=1000)
    assert len(repr(many)) < 200
    page = many._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;0&lt;/b&gt;" in page
    assert len(page) < 5000
    assert "<td>ham</td><td>other</td><td></td>" in DENSE._repr_html_()


# Properties.

cells_of = st.integers(1, 4).flatmap(
    lambda m: st.lists(st.lists(st.integers(-1, 2), min_size=m, max_size=m), min_size=1, max_size=8)
)
few = settings(max_examples=60, deadline=None)


@few
@given(cells_of, st.sampled_from([None, NAMES]), st.booleans())
def test_votes_survive_pandas_and_polars(cells, classes, identified):
    ids = [f"i{i}" for i in range(len(cells))] if identified else None
    names = [f"lf_{j}" for j in range(len(cells[0]))]
    votes = Votes.from_array(cells, n_classes=3, classes=classes, lfs=names)
    if identified:
        votes = Votes.from_frame(votes.to_pandas().assign(id=ids), classes=votes.classes)
    for frame in (votes.to_pandas(), votes.to_polars(), votes.to_polars().to_arrow(), votes.to_polars().to_dicts()):
        assert Votes.from_frame(frame, lfs=names, classes=votes.classes) == votes


@few
@given(cells_of, st.data())
def test_parts_of_votes_are_the_parts_of_their_array(cells, data):
    array = np.array(cells)
    n, m = array.shape
    places = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6))
    cut = data.draw(st.integers(1, m))
    dense = Votes.from_array(array, n_classes=3)
    sparse = Votes.from_sparse(scipy.sparse.csr_array(array + 1), n_classes=3)
    for votes in (dense, sparse):
        np.testing.assert_array_equal(votes[places].to_numpy(), array[places])
        if cut < m:
            left, right = votes[list(votes)[:cut]], votes.drop(list(votes)[:cut])
            assert left.join(right) == votes
    assert dense[places] == sparse[places]


@few
@given(cells_of)
def test_dense_and_sparse_votes_give_the_same_labels(cells):
    array = np.array(cells)
    model = hl.label_model("mv", n_classes=3)
    dense = model.predict(array)
    np.testing.assert_array_equal(dense, model.predict(scipy.sparse.csr_array(array + 1)))


def test_votes_that_cannot_be_saved_give_one_error_and_leave_the_old_file(tmp_path):
    with pytest.raises(ParameterError, match="path is '.*', but it cannot be written: "):
        Votes.from_array([[0, 1]]).save(tmp_path / "no" / "v.parquet")
