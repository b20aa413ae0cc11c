"""The experiments about certificates, estimates and advice, on sets that are made here."""

from dataclasses import replace

import numpy as np
import pytest

from experiments import advice, certify
from experiments.datasets import DataSet, load_datasets
from experiments.texts import TextSet


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 500)
    votes = np.where(rng.random((500, 5)) < 0.8, truth[:, None], 1 - truth[:, None])
    votes = np.where(rng.random((500, 5)) < 0.5, votes, -1)
    np.savez(path / "one.npz", L=votes, y=truth)
    return path


@pytest.fixture(scope="module")
def judged(folder):
    return certify.judge(load_datasets(folder)[0])


@pytest.mark.parametrize("strata", [1, 2])
def test_certificates_are_broken_no_more_often_than_stated(judged, strata):
    broken, accepted = certify.certify(judged, float(judged.wrong.mean()), strata, draws=60)
    assert broken <= 0.1 + 3 * np.sqrt(0.09 / 60)
    assert 0 < accepted < 1


def test_draws_of_strata_have_as_many_items_as_others(judged):
    stratum = np.arange(len(judged.truth)) % 2
    assert len(set(judged.draw_strata(0, stratum).tolist())) == len(judged.draw(0)) == judged.n_gold


def test_coverage_of_intervals_is_near_what_is_stated(judged):
    found = certify.estimate(judged, draws=60)
    assert set(found) == {"accuracy", "F1", "share of 0", "share of 1"}
    for with_model, alone, narrower in found.values():
        assert min(with_model, alone) >= 0.9 - 3 * np.sqrt(0.09 / 60)
        assert -0.2 < narrower < 1


def test_tables_have_a_row_per_set_and_their_mean(folder, monkeypatch):
    monkeypatch.setattr(certify, "DRAWS", 3)
    rows = certify.run_certify(folder, draws=3).splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:4]] == ["one", "**mean**"]


def test_gains_are_scores_with_advice_followed_minus_scores_without(folder):
    [each] = load_datasets(folder)
    gain = advice.follow_copies(each)
    assert gain is not None
    assert -100 < gain < 100
    assert advice.follow_idle(each) in (None, 0.0)


def test_every_kind_of_advice_is_followed(folder):
    [each] = load_datasets(folder)
    found = {record.kind.partition(",")[0] for record in advice.records([each], [texts_of(each)])}
    assert found >= {"balance", "copies", "idle", "label", "uncovered", "unvoted"}


def test_uncovered_items_are_labeled_by_their_texts(folder):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")
    [each] = load_datasets(folder)
    told = texts_of(each)
    gain = advice.follow_uncovered(told)
    assert gain == pytest.approx(10, abs=2)  # nearly all of a tenth of the items, since texts tell the class
    assert advice.follow_uncovered(replace(told, votes=each.votes)) is None


def test_lfs_worse_than_chance_are_found_by_gold():
    truth = np.arange(300) % 2
    votes = np.stack([truth, truth, 1 - truth, np.full(300, -1)], axis=1)
    each = DataSet("made", "other", "accuracy", 2, votes, truth, None, np.arange(300))
    assert advice.find_worse(each, np.arange(0, 300, 3)) == [2]


def texts_of(each):
    """A set whose texts tell the class, and of which a fifth of the items has no votes."""
    texts = ["free money" if c else "see you" for c in each.truth]
    votes = np.where(np.arange(len(each.votes))[:, None] % 5 == 0, -1, each.votes)
    return TextSet("texts", "accuracy", votes, texts, each.truth)
