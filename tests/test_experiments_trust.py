"""The experiments about certificates, estimates and advice, on sets that are made here."""

import numpy as np
import pytest

from experiments import advice, certify
from experiments.datasets import load_datasets


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
    found = {record.kind for record in advice.records(load_datasets(folder))}
    assert {kind.partition(",")[0] for kind in found} >= {
        *("balance", "copies", "hurting", "idle", "label", "uncovered", "unvoted")
    }
