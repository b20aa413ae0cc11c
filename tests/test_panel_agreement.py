"""Agreement statistics against well-kept libraries."""

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss

from hyperlabel.panel import (
    cohen_kappa,
    fleiss_kappa,
    interval_alpha,
    krippendorff_alpha,
    ordinal_alpha,
    pairwise_kappa,
    weighted_kappa,
)
from hyperlabel.panel._agreement import mean_kappa, measure_agreement


def draw(seed, n=60, m=5, k=3, missing=0.0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, (n, 1))
    cells = np.where(rng.random((n, m)) < 0.6, truth, rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < missing, -1, cells)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0, 0.4])
def test_krippendorff_alpha_is_that_of_the_library(seed, missing):
    cells = draw(seed, missing=missing)
    data = np.where(cells < 0, np.nan, cells).T
    want = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal", value_domain=[0, 1, 2])
    assert krippendorff_alpha(cells, 3) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_fleiss_kappa_is_that_of_statsmodels(seed):
    cells = draw(seed)
    assert fleiss_kappa(cells, 3) == pytest.approx(reference_fleiss(aggregate_raters(cells, 3)[0]), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_cohen_kappa_is_that_of_scikit_learn_on_shared_items(seed):
    cells = draw(seed, missing=0.3)
    pairs, shared = pairwise_kappa(cells, 3)
    for a, b in ((0, 1), (3, 2), (4, 4)):
        both = (cells[:, a] >= 0) & (cells[:, b] >= 0)
        want = cohen_kappa_score(cells[both, a], cells[both, b])
        assert pairs[a, b] == pytest.approx(want, abs=1e-12)
        assert cohen_kappa(cells[:, a], cells[:, b], 3) == pytest.approx(want, abs=1e-12)
        assert shared[a, b] == both.sum()


def test_agreement_is_not_a_number_where_nothing_can_be_told():
    alone = np.array([[0, -1], [-1, 1]])
    assert np.isnan(measure_agreement(alone, 2)[:3]).all()
    assert np.isnan(fleiss_kappa(np.zeros((5, 3), int), 2))  # chance explains all


def test_mean_kappa_weights_pairs_by_shared_items():
    cells = draw(0, missing=0.3)
    agreement = measure_agreement(cells, 3)
    weights = agreement.shared[0, 1:]
    want = (agreement.pairs[0, 1:] * weights).sum() / weights.sum()
    assert mean_kappa(agreement)[0] == pytest.approx(want)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0, 0.4])
def test_alphas_of_classes_with_an_order_are_those_of_the_library(seed, missing):
    cells = draw(seed, k=5, missing=missing)
    values = np.array([1.0, 2.0, 3.0, 5.0, 8.0])
    data = np.where(cells < 0, np.nan, values[cells]).T
    for level, found in (("ordinal", ordinal_alpha(cells, 5)), ("interval", interval_alpha(cells, values))):
        want = krippendorff.alpha(reliability_data=data, level_of_measurement=level, value_domain=values.tolist())
        assert found == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_weighted_kappa_is_that_of_scikit_learn(seed, weights):
    cells = draw(seed, k=5, missing=0.3)
    pairs = weighted_kappa(cells, 5, weights)
    for a, b in ((0, 1), (3, 2), (4, 4)):
        both = (cells[:, a] >= 0) & (cells[:, b] >= 0)
        want = cohen_kappa_score(cells[both, a], cells[both, b], weights=weights, labels=range(5))
        assert pairs[a, b] == pytest.approx(want, abs=1e-12)


def test_agreement_with_an_order_has_its_forms_and_says_what_it_used():
    cells = draw(1, k=5, missing=0.5)
    agreement = measure_agreement(cells, 5, (1, 2, 3, 4, 5))
    assert agreement.ordinal_alpha == ordinal_alpha(cells, 5)
    assert agreement.interval_alpha == interval_alpha(cells, np.arange(5.0))
    weights = np.triu(agreement.shared, 1)
    assert agreement.weighted_kappa == pytest.approx((weighted_kappa(cells, 5) * weights).sum() / weights.sum())
    several = (cells >= 0).sum(1) > 1
    assert agreement.used.tolist() == (cells[several] >= 0).sum(0).tolist()
    assert np.isnan(measure_agreement(cells, 5)[6:]).all()
    assert np.isnan(interval_alpha(np.array([[0, -1]]), np.array([1.0])))
    assert np.isnan(interval_alpha(np.zeros((3, 2), int), np.array([1.0, 2.0])))
