"""Learning from gold with the paper's network: a copy per class, and just as the authors' package does it."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from experiments.references import released_weights
from hyperlabel.networks import Weights, check_weights, fine_tune, load_weights, paper_shapes, weigh_gold
from oracles import ORACLES


def few_votes(k, n=300, m=5, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    votes = np.where(rng.random((n, m)) < 0.6, truth[:, None], rng.integers(0, k, (n, m)))
    return np.where(rng.random((n, m)) < 0.6, votes, -1), truth


@pytest.fixture(scope="module")
def package():
    """The authors' package, and its weights in our form."""
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoint is a pickle
    hyperlm = pytest.importorskip("hyperlm", reason="the authors' package is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hyperlm.HyperLabelModel(device="cpu"), released_weights(Path(hyperlm.__file__).parents[1])


def read_oracle(name):
    oracle = np.load(ORACLES / f"{name}.npz")
    votes = oracle["L"].astype(np.int64)
    return votes[(votes >= 0).any(1)], oracle["y_true"][(votes >= 0).any(1)].astype(np.int64)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["dense_bin", "imbalanced", "sparse_bin", "unipolar", "multi4"])
@pytest.mark.parametrize("size", [0, 30, 200])
def test_as_released_gives_the_labels_of_the_authors_package(package, name, size):
    theirs, weights = package
    votes, truth = read_oracle(name)
    k = int(truth.max()) + 1
    pick = np.sort(np.random.default_rng(size).choice(len(truth), min(size, len(truth) // 2), replace=False))
    gold = {int(i): int(truth[i]) for i in pick}
    known = {"y_indices": pick, "y_vals": truth[pick]} if size else {}
    model = hl.HyperLabelModel(weights, n_classes=k, as_released=True).fit(votes, gold or None)
    assert_array_equal(model.predict(votes), theirs.infer(votes, **known))
    assert model.n_iter_ == int(np.sqrt(len(pick)))


@pytest.mark.filterwarnings("ignore")
def test_as_released_with_gold_gives_the_probabilities_of_the_authors_package(package):
    from hyperlm.hyper_label_model import HyperLMSemi

    theirs, weights = package
    votes, truth = read_oracle("multi4")
    pick = np.arange(0, len(truth), 4)
    expected = HyperLMSemi(votes, truth[pick], pick, "cpu", theirs.checkpoint_path)
    model = hl.HyperLabelModel(weights, as_released=True).fit(votes, {int(i): int(truth[i]) for i in pick})
    plain = hl.HyperLabelModel(weights, as_released=True).fit(votes)
    assert_allclose(model.predict_proba(votes), expected, atol=1e-5)
    assert np.abs(plain.predict_proba(votes) - expected).max() > 1e-3  # so that the line above can fail


def test_as_released_of_the_unrolled_network_is_refused():
    with pytest.raises(hl.ParameterError, match="as_released is True, but the weights 'hlm2' are of the unrolled"):
        hl.HyperLabelModel("hlm2", as_released=True).fit([[0, 1], [1, 1]])


def test_as_released_with_gold_needs_the_state_of_the_optimizer():
    model = hl.HyperLabelModel("hlm", as_released=True)
    with pytest.raises(hl.ParameterError, match="the weights 'hlm' have no state of the optimizer, from which"):
        model.fit([[0, 1], [1, 1]], {0: 1})


def test_as_released_without_gold_of_the_last_class_is_refused(package):
    model = hl.HyperLabelModel(package[1], as_released=True)
    with pytest.raises(hl.ParameterError, match="as_released is True, but gold has no item of the last class"):
        model.fit([[0, 1], [1, 2]], {0: 1})


def test_as_released_asks_about_the_second_of_two_classes_alone():
    votes, _ = few_votes(2)
    swapped = np.where(votes < 0, -1, 1 - votes)
    one_sided = [hl.HyperLabelModel("hlm", as_released=True).predict_proba(each) for each in (votes, swapped)]
    assert np.abs(one_sided[0] - one_sided[1][:, ::-1]).max() > 1e-4
    both = hl.HyperLabelModel("hlm").predict_proba(votes)
    assert np.abs(one_sided[0] - both).max() > 1e-4


def test_two_classes_weigh_the_same_however_many_gold_items_they_have():
    own, others = weigh_gold(np.array([[30, 0], [10, 2], [0, 8]]))
    assert_allclose(own.sum(0), others.sum(0))
    assert_allclose(own[:, 0], others[:, 1])
    assert own[0, 0] == pytest.approx(3 * own[1, 0])
    assert own[1, 0] > 0


def test_gold_items_of_three_classes_weigh_the_same():
    own, others = weigh_gold(np.array([[3, 0, 0], [1, 2, 0], [0, 1, 5]]))
    assert_allclose(own, np.array([[3, 0, 0], [1, 2, 0], [0, 1, 5]]) / 12)
    assert_allclose(others[:, 0], np.array([0, 2, 6]) / 12)


def test_fine_tuning_gives_every_class_a_copy_of_its_own():
    votes, truth = few_votes(3)
    patterns = hl.Patterns.from_votes(hl.Votes.from_array(votes))
    weights = load_weights("hlm")
    tuned = fine_tune(weights, patterns, patterns.count_labels(truth), 5)
    shapes = {name: (3, *shape) for name, shape in paper_shapes(weights.header["widths"]).items()}
    assert {name: array.shape for name, array in tuned.arrays.items()} == shapes
    check_weights(tuned.arrays, tuned.header, "memory")
    bias = tuned.arrays["head2.bias"][:, 0]
    assert len(np.unique(bias)) > 1  # what a shared copy could not learn


def test_model_with_copies_comes_back_from_its_file(tmp_path):
    votes, truth = few_votes(3)
    own = Weights(dict(load_weights("hlm").arrays), dict(load_weights("hlm").header))
    gold = np.where(np.arange(len(truth)) % 4 == 0, truth, -1)
    model = hl.HyperLabelModel(own).fit(votes, gold)
    model.save(tmp_path / "state.safetensors")
    loaded = hl.load(tmp_path / "state.safetensors")
    assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))
    two, _ = few_votes(2)
    assert_array_equal(loaded.fit(two).predict_proba(two), hl.HyperLabelModel(own).fit(two).predict_proba(two))
