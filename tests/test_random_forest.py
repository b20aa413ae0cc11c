"""Random forest on the votes: against scikit-learn's own grid search, and what is learned from which gold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.errors import ParameterError
from hyperlabel.models import RandomForest
from hyperlabel.models._random_forest import Trees, grow_forest
from oracles import ORACLES

sklearn = pytest.importorskip("sklearn")

GRID = {"max_depth": (2, 4, 8, 16, 32, None), "min_samples_split": (2, 5)}
PLAIN = {"max_depth": (None,), "min_samples_split": (2,)}


def read_oracle(name):
    if sklearn.__version__ != "1.9.1":
        pytest.skip(f"the reference forests were grown by scikit-learn 1.9.1, not {sklearn.__version__}")
    return np.load(ORACLES / f"{name}.npz")


def sample_gold(n=60, m=6, k=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, n, p=np.arange(k, 0, -1) / np.arange(1, k + 1).sum())
    votes = np.where(rng.random((n, m)) < 0.6, truth[:, None], rng.integers(k, size=(n, m)))
    return np.where(rng.random((n, m)) < 0.7, votes, -1), truth


@pytest.mark.parametrize("name", ["dense_bin", "multi4", "unipolar"])
def test_plain_forest_equals_the_reference(name):
    oracle = read_oracle(name)
    rows = oracle["L"][oracle["semi_idx"]].astype(np.int64)
    forest = grow_forest(rows, oracle["semi_y"], n_trees=500, n_folds=5, seed=0, **PLAIN)
    assert_allclose(forest.predict_proba(oracle["L"]), oracle["rf_nogrid"], atol=1e-6)


@pytest.mark.slow
def test_forest_of_the_grid_search_equals_the_reference():
    oracle = read_oracle("multi4")
    rows = oracle["L"][oracle["semi_idx"]].astype(np.int64)
    forest = grow_forest(rows, oracle["semi_y"], n_trees=500, n_folds=5, seed=0, **GRID)
    assert_allclose(forest.predict_proba(oracle["L"]), oracle["rf"], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_grid_search_chooses_as_scikit_learn_does(seed):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV

    rows, labels = sample_gold(seed=seed)
    ours = grow_forest(rows, labels, n_trees=5, n_folds=5, seed=seed, **GRID)
    forest = RandomForestClassifier(5, random_state=seed, class_weight="balanced")
    theirs = GridSearchCV(forest, {name: list(values) for name, values in GRID.items()}, cv=5).fit(rows, labels)
    chosen = {name: getattr(ours, name) for name in theirs.best_params_}
    assert chosen == theirs.best_params_
    assert_array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))


@pytest.mark.parametrize("shape", [{"max_depth": (2,)}, {"max_depth": (None,)}])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_trees_as_arrays_give_the_probabilities_of_scikit_learn(k, shape):
    rows, labels = sample_gold(n=300, k=k)
    labels = np.where(labels == 1, 0, labels)  # a class without gold
    forest = grow_forest(rows, labels, n_trees=40, n_folds=5, seed=0, min_samples_split=(2,), **shape)
    new = np.random.default_rng(1).integers(-1, k, (20_000, 6))  # more than are walked at a time
    assert_allclose(Trees.of(forest).predict_proba(new), forest.predict_proba(new), atol=1e-12, rtol=0)


def test_trees_of_a_file_that_lead_backwards_are_refused():
    rows, labels = sample_gold()
    arrays = Trees.of(grow_forest(rows, labels, n_trees=2, n_folds=5, seed=0, **PLAIN)).to_arrays()
    arrays["children"] = arrays["children"][::-1]
    with pytest.raises(ValueError, match="its trees are broken"):
        Trees.from_arrays(arrays)


def test_forest_without_enough_gold_for_folds_is_the_plain_one():
    votes, truth = sample_gold()
    few = np.concatenate([np.flatnonzero(truth == c)[:4] for c in range(3)])
    gold = {int(i): int(truth[i]) for i in few}
    model = RandomForest(n_trees=20).fit(votes, gold)
    plain = RandomForest(n_trees=20, **PLAIN).fit(votes, gold)
    assert_array_equal(model.predict_proba(votes), plain.predict_proba(votes))


def test_forest_when_items_are_permuted_is_the_same():
    votes, truth = sample_gold(m=20)  # so wide that the order of patterns depends on that of items
    gold = np.where(np.arange(60) < 40, truth, -1)
    order = np.random.default_rng(1).permutation(60)
    model = RandomForest(n_trees=5, max_depth=(2, None)).fit(votes, gold)
    other = RandomForest(n_trees=5, max_depth=(2, None)).fit(votes[order], gold[order])
    assert_array_equal(other.predict_proba(votes), model.predict_proba(votes))


def test_forest_learns_from_gold_items_with_votes_only():
    votes, truth = sample_gold()
    silent = np.full((3, 6), -1)
    model = RandomForest(n_trees=5, **PLAIN).fit(np.concatenate([votes, silent]), np.concatenate([truth, [0, 0, 0]]))
    assert_array_equal(
        model.predict_proba(votes), RandomForest(n_trees=5, **PLAIN).fit(votes, truth).predict_proba(votes)
    )


def test_lf_that_decides_the_truth_has_the_largest_importance():
    votes, truth = sample_gold(n=200)
    votes[:, 2] = truth
    model = RandomForest(n_trees=20, **PLAIN).fit(votes, truth)
    assert model.importances_.argmax() == 2
    assert model.importances_.sum() == pytest.approx(1)
    assert model.score(votes, truth) == 1


def test_class_without_gold_gets_probability_zero():
    votes, truth = sample_gold()
    model = RandomForest(n_trees=5, **PLAIN).fit(votes, np.where(truth == 1, -1, truth))
    assert_array_equal(model.predict_proba(votes)[(votes >= 0).any(1), 1], 0)


def test_fit_without_gold_raises():
    with pytest.raises(
        ParameterError, match=r"RandomForest learns from gold and was given no gold; call fit\(votes, gold\)"
    ):
        RandomForest().fit([[0, 1], [1, 1]])


@pytest.mark.parametrize("gold", [[-1, -1], [-1, 0]])
def test_fit_with_gold_for_no_item_with_votes_raises(gold):
    with pytest.raises(ParameterError, match="was given no gold for an item with votes"):
        RandomForest().fit([[0, 1], [-1, -1]], gold)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_trees": 0}, "n_trees is 0; expected a whole number, at least 1"),
        ({"n_folds": 1}, "n_folds is 1; expected a whole number, at least 2"),
        ({"max_depth": 4}, r"max_depth is 4; expected the values to try, at least one, such as \(4,\)"),
        ({"min_samples_split": ()}, r"min_samples_split is \(\); expected the values to try"),
    ],
)
def test_parameter_outside_its_range_raises(params, message):
    with pytest.raises(ParameterError, match=message):
        RandomForest(**params).fit([[0, 1], [1, 1]], [0, 1])
