"""Drift: what changed since fit, measured and said."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.models import count_votes

LFS = ["links", "offers", "greets", "short"]


def make_votes(seed, n=2000, cover=0.7, right=0.8):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    votes = np.where(rng.random((n, 4)) < right, truth[:, None], 1 - truth[:, None])
    return np.where(rng.random((n, 4)) < cover, votes, -1)


@pytest.fixture(scope="module")
def model():
    return hl.HyperLabelModel().fit(hl.Votes(make_votes(0), lfs=LFS))


def notable(changes):
    return [(row["lf"], row["share_of"]) for row in changes.rows() if row["notable"]]


def test_drift_of_the_same_kind_of_votes_is_not_notable(model):
    for seed in range(1, 40):
        votes = hl.Votes(make_votes(seed, n=[3, 40, 1000][seed % 3]), lfs=LFS)
        assert notable(hl.drift(model, votes)) == []


def test_drift_finds_an_lf_that_stops_voting(model):
    votes = make_votes(1)
    votes[:, 1] = -1
    changes = hl.drift(model, hl.Votes(votes, lfs=LFS))
    first = next(changes.rows())
    assert (first["lf"], first["share_of"], first["share"]) == ("offers", "items", 0)
    assert first["change"] == pytest.approx(-0.7, abs=0.03)
    assert first["p"] < 1e-50
    assert notable(changes) == [("offers", "items")]


def test_drift_finds_an_lf_that_votes_for_another_class(model):
    votes = make_votes(1)
    votes[:, 2] = np.where(votes[:, 2] >= 0, 1, -1)
    assert {lf for lf, share_of in notable(hl.drift(model, hl.Votes(votes, lfs=LFS))) if "for" in share_of} == {
        "greets"
    }


def test_drift_finds_an_lf_that_agrees_less_with_the_others(model):
    votes = make_votes(1)
    votes[:, 3] = np.where(votes[:, 3] >= 0, 1 - votes[:, 3], -1)
    changes = hl.drift(model, hl.Votes(votes, lfs=LFS))
    assert notable(changes)[0] == ("short", "agreement")


def test_drift_lists_missing_and_new_lfs_by_name(model):
    columns = dict(zip(["links", "greets", "short", "late"], make_votes(1).T, strict=True))
    changes = hl.drift(model, pl.DataFrame(columns))
    assert {("offers", "missing"), ("late", "new")} <= set(notable(changes))
    assert ("offers", "items") not in notable(changes)


def test_drift_of_patterns_equals_that_of_their_votes(model):
    votes = hl.Votes(make_votes(1), lfs=LFS)
    one, other = hl.drift(model, votes), hl.drift(model, hl.Patterns.from_votes(votes))
    assert list(one.rows()) == list(other.rows())


def test_a_new_class_is_refused_and_its_remedies_work():
    frame = pl.DataFrame({"a": ["x", "y"] * 20, "b": ["x", "x", "y", "y"] * 10})
    model = hl.HyperLabelModel().fit(frame)
    new = frame.with_columns(a=pl.Series(["z", *["x"] * 39]))
    with pytest.raises(VotesError, match="'z'; expected one of the classes 'x', 'y'.*fit it again, or let this value"):
        model.predict(new)
    votes = hl.Votes.from_frame(new, classes=["x", "y"], abstain=["z"])
    assert len(model.predict(votes)) == 40
    assert hl.HyperLabelModel(classes=["x", "y", "z"]).fit(new).classes_.tolist() == ["x", "y", "z"]


def test_very_many_lfs_count_as_one():
    patterns = replace(hl.Patterns.from_votes(hl.Votes([[0, 1], [1, 1]])), n_lfs=2**40)
    assert [each.shape for each in count_votes(patterns)] == [(1,), (1, 2), (1,), (1,)]


def test_agreement_and_votes_add_up_over_parts():
    votes = make_votes(3, n=300)
    whole = count_votes(hl.Patterns.from_votes(votes))
    parts = [count_votes(hl.Patterns.from_votes(hl.Votes(part, n_classes=2))) for part in (votes[:100], votes[100:])]
    for total, one, other in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(total, one + other)
    cells = votes[(votes >= 0).sum(1) > 1]
    shares = [
        np.mean([other == row[0] for j, other in enumerate(row) if j and other >= 0]) for row in cells if row[0] >= 0
    ]
    assert whole[3][0] == pytest.approx(sum(shares))


def test_merge_takes_an_lf_that_only_one_side_has():
    one = hl.Patterns.from_votes(hl.Votes([[0, 1], [1, 1]], lfs=["a", "b"]))
    two = hl.Patterns.from_votes(hl.Votes([[0, 1]], lfs=["c", "a"]))
    merged = one.merge(two)
    assert merged.lf_names == ("a", "b", "c")
    assert sorted(merged.to_array().tolist()) == [[0, 1, -1], [1, -1, 0], [1, 1, -1]]


def test_a_state_without_shares_says_that_it_is_older(model):
    import copy
    from dataclasses import replace

    old = copy.copy(model)
    old._context = replace(model._context, profile=None)
    with pytest.raises(ParameterError, match="older version"):
        hl.drift(old, make_votes(1))


def test_votes_of_another_number_of_lfs_are_refused():
    votes = make_votes(0, 200)
    for other in (votes[:, :3], np.hstack([votes, votes[:, :1]])):
        with pytest.raises(ParameterError, match=rf"votes has {other.shape[1]} LFs, but this HyperLabelModel learned"):
            hl.drift(hl.HyperLabelModel().fit(votes), other)


@pytest.fixture
def partial_votes():
    rng = np.random.default_rng(0)
    single, partial = rng.choice(["x", "y", "z"], (2, 300)), rng.choice(["!x", "!z", "x|y"], 300)
    return pl.DataFrame({"a": single[0], "b": np.where(rng.random(300) < 0.3, partial, single[1]), "c": single[0]})


@pytest.mark.parametrize("kept", [["!z"], []])
@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
def test_a_state_labels_rows_with_fewer_kinds_of_partial_votes(tmp_path, hyperlabel, partial_votes, kept, engine):
    model = hl.label_model("mv", classes=["x", "y", "z"]).fit(partial_votes)
    model.save(tmp_path / "state.safetensors")
    rows = partial_votes.filter(pl.col("b").is_in(["x", "y", "z", *kept]))
    rows.write_parquet(tmp_path / "votes.parquet")
    options = ("--model", tmp_path / "state.safetensors", "--engine", engine, "-o", tmp_path / "out.parquet")
    assert hyperlabel("label", tmp_path / "votes.parquet", *options).code == 0
    assert pl.read_parquet(tmp_path / "out.parquet")["label"].to_list() == model.predict(rows).tolist()


def test_drift_counts_partial_votes_by_their_names(partial_votes):
    model = hl.label_model("mv", classes=["x", "y", "z"]).fit(partial_votes)
    rows = partial_votes.with_columns(b=pl.col("b").str.replace("!x", "!z", literal=True))
    assert [row["share"] for row in hl.drift(model, rows).rows() if row["share_of"] == "votes for !x"] == [0.0]
