"""The contract of all label models: every registered model through the same checks.

A model that is registered is checked; nothing here needs to change for it. What a method cannot promise, by its
nature and not by accident, stands in the tables below with the reason.
"""

import pickle
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel.errors import ConvergenceWarning, NotFittedError, ParameterError
from hyperlabel.models.random_forest import RandomForest

pytest.importorskip("sklearn")  # the models that need gold are built on it
pytestmark = pytest.mark.filterwarnings("ignore::hyperlabel.errors.ConvergenceWarning")

MODELS = hl.label_models()
NEEDS_GOLD = {"rf", "amcl"}

# Smaller than the defaults where those take seconds; the slack lets the linear program have a solution.
QUICK = {
    "rf": {"n_trees": 10, "max_depth": (4, None), "min_samples_split": (2,)},
    "amcl": {
        "slack": 0.3,
        "max_iter": 5,
        "forest": RandomForest(n_trees=10, max_depth=(None,), min_samples_split=(2,)),
    },
}

# Models whose probabilities change somewhat where those of the others do not change at all.
LF_ORDER_MATTERS = {
    "rf": "trees draw LFs by their place",
    "amcl": "the worst labels need not be unique",
    "ebcc": "starts are drawn by place",
}
CLASS_ORDER_MATTERS = {
    "rf": "trees split votes by their order",
    "amcl": "the worst labels need not be unique",
    "ebcc": "starts are drawn by place",
    "hlm": "with two classes the network was trained on one of them",
}
DOUBLING_MATTERS = {
    "rf": "bootstraps draw items",
    "cll": "AdaGrad's damping does not shrink with the gradient of an item",
    "ds": "imagined votes weigh less beside more items",
    "hds": "imagined votes weigh less beside more items",
    "ebcc": "prior counts weigh less beside more items",
    "auto": "it may choose hds",
}
FEWEST_LFS = {"fs": 3, "metal": 3}  # moments of pairs and triplets of LFs

ATOL = 1e-5  # float32 in the network; elsewhere sums in another order, and stopping one step apart


@dataclass(frozen=True)
class Sample:
    """Votes with their truth, and gold for every third item."""

    votes: np.ndarray
    truth: np.ndarray

    @property
    def gold(self):
        return np.where(np.arange(len(self.truth)) % 3 == 0, self.truth, -1)


def sample(n=60, m=5, k=3, coverage=0.7, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(k), rng.integers(k, size=n)])[:n]
    wrong = (truth[:, None] + rng.integers(1, k, size=(n, m))) % k
    votes = np.where(rng.random((n, m)) < np.linspace(0.6, 0.9, m), truth[:, None], wrong)
    return Sample(np.where(rng.random((n, m)) < coverage, votes, -1), truth)


def make(name, **params):
    return hl.label_model(name, **{**QUICK.get(name, {}), **params})


def fit(name, data, **params):
    return make(name, **params).fit(data.votes, data.gold if name in NEEDS_GOLD else None)


def assert_probabilities(probabilities, n, k):
    assert probabilities.shape == (n, k)
    assert probabilities.dtype == np.float64
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()
    assert_allclose(probabilities.sum(1), 1, atol=1e-6)


def assert_unchanged(name, exceptions, probabilities, expected):
    """Equal, or for an exception at least seven in ten times the same label."""
    if name in exceptions:
        assert (probabilities.argmax(1) == expected.argmax(1)).mean() >= 0.7, exceptions[name]
    else:
        assert_allclose(probabilities, expected, atol=ATOL)


every_model = pytest.mark.parametrize("name", MODELS)
models_without_need_of_gold = pytest.mark.parametrize("name", [name for name in MODELS if name not in NEEDS_GOLD])
models_that_look_gold_up = pytest.mark.parametrize(
    "name", [name for name in MODELS if not hl.label_model(name).learns_from_gold]
)
every_k = pytest.mark.parametrize("k", [2, 3])


@every_k
@every_model
def test_fitted_model_gives_one_distribution_and_its_best_class_an_item(name, k):
    data = sample(k=k)
    model = fit(name, data)
    probabilities, labels = model.predict_proba(data.votes), model.predict(data.votes)
    covered = (data.votes >= 0).any(1)
    assert_probabilities(probabilities, 60, k)
    assert_array_equal(labels[covered], probabilities[covered].argmax(1))
    assert_array_equal(model.classes_, np.arange(k))
    assert isinstance(model.n_iter_, int)
    assert isinstance(model.converged_, bool)


@every_model
def test_labels_on_easy_votes_are_mostly_right(name):
    data = sample(n=200, m=7, k=2, coverage=0.9)
    assert fit(name, data).score(data.votes, data.truth) > 0.85


@every_model
def test_model_that_has_not_converged_says_so(name):
    data = sample()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        converged = fit(name, data).converged_
    assert converged or any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


@pytest.mark.parametrize("m", [5, 20])  # the order of few possible patterns is theirs, of many that of items
@every_model
def test_probabilities_when_items_are_permuted_are_permuted(name, m):
    data = sample(m=m)
    order = np.random.default_rng(1).permutation(60)
    gold = data.gold if name in NEEDS_GOLD else None
    moved = make(name).fit(data.votes[order], None if gold is None else gold[order])
    expected = fit(name, data).predict_proba(data.votes)[order]
    assert_allclose(moved.predict_proba(data.votes[order]), expected, atol=ATOL)


@every_model
def test_probabilities_when_lfs_are_permuted_are_unchanged(name):
    data = sample()
    moved = Sample(data.votes[:, [3, 0, 4, 2, 1]], data.truth)
    expected = fit(name, data).predict_proba(data.votes)
    assert_unchanged(name, LF_ORDER_MATTERS, fit(name, moved).predict_proba(moved.votes), expected)


@every_k
@every_model
def test_probabilities_when_classes_are_renumbered_are_renumbered(name, k):
    data = sample(k=k)
    number = np.append(np.roll(np.arange(k), 1), -1)  # the new number of each class
    renamed = Sample(number[data.votes], number[data.truth])
    expected = fit(name, data).predict_proba(data.votes)
    probabilities = fit(name, renamed).predict_proba(renamed.votes)[:, number[:k]]
    assert_unchanged(name, CLASS_ORDER_MATTERS, probabilities, expected)


@every_model
def test_items_with_equal_votes_have_equal_probabilities(name):
    data = sample(m=3, k=2)
    probabilities = fit(name, data).predict_proba(data.votes)
    same = (data.votes[:, None] == data.votes).all(2)
    assert same.sum() > 60
    first = same.argmax(1)
    assert_array_equal(probabilities, probabilities[first])


@every_model
def test_probabilities_when_all_items_are_doubled_are_unchanged(name):
    data = sample()
    gold = np.tile(data.gold, 2) if name in NEEDS_GOLD else None
    twice = make(name).fit(np.tile(data.votes, (2, 1)), gold).predict_proba(data.votes)
    assert_unchanged(name, DOUBLING_MATTERS, twice, fit(name, data).predict_proba(data.votes))


def unanimous():
    truth = np.arange(30) // 3 % 3
    return Sample(np.tile(truth[:, None], (1, 4)), truth)


def with_lf(column):
    data = sample()
    return Sample(np.column_stack([data.votes, column]), data.truth)


def one_class():
    return Sample(np.minimum(sample().votes, 0), np.zeros(60, int))


def with_empty_items():
    data = sample()
    return Sample(np.where(np.arange(60)[:, None] % 4 == 1, -1, data.votes), data.truth)


ODD = {
    "one LF": (sample(m=1), {}),
    "two LFs": (sample(m=2), {}),
    "an LF that never votes": (with_lf(np.full(60, -1)), {}),
    "an LF that votes once": (with_lf(np.where(np.arange(60) == 7, 1, -1)), {}),
    "an LF that always votes the same": (with_lf(np.zeros(60, int)), {}),
    "unanimous LFs": (unanimous(), {}),
    "votes for one class only": (one_class(), {}),
    "one class": (one_class(), {"n_classes": 1}),
    "classes nobody votes for": (sample(), {"n_classes": 5}),
    "items without votes": (with_empty_items(), {}),
    "one item": (sample(n=1, coverage=1.0), {}),
    "more LFs than items": (sample(n=30, m=1000, k=2, coverage=0.3), {}),
    "300 classes": (sample(k=300), {"n_classes": 300}),
}


def fit_or_refuse(name, data, params):
    """The fitted model, or None where a method that needs more LFs says so."""
    try:
        return fit(name, data, **params)
    except ParameterError as error:
        if "LFs" not in str(error) or data.votes.shape[1] >= FEWEST_LFS.get(name, 1):
            raise
        return None


@pytest.mark.parametrize("odd", ODD)
@every_model
def test_odd_votes_give_sensible_probabilities_or_an_error_with_a_remedy(name, odd):
    data, params = ODD[odd]
    model = fit_or_refuse(name, data, params)
    if model is None:
        return
    n, covered = len(data.votes), (data.votes >= 0).any(1)
    probabilities, labels = model.predict_proba(data.votes), model.predict(data.votes)
    assert_probabilities(probabilities, n, len(model.classes_))
    assert_allclose(probabilities[~covered], 1 / len(model.classes_))
    assert_array_equal(labels < 0, ~covered)


@every_model
def test_unanimous_votes_are_believed(name):
    data = unanimous()
    assert_array_equal(fit(name, data).predict(data.votes), data.truth)


@models_without_need_of_gold
def test_votes_that_all_abstain_give_uniform_probabilities(name):
    votes = np.full((5, 4), -1)
    model = make(name, n_classes=3).fit(votes)
    assert_allclose(model.predict_proba(votes), 1 / 3)
    assert_array_equal(model.predict(votes), -1)


@every_model
def test_fit_with_the_same_seed_gives_the_same_probabilities(name):
    data = sample()
    first, second = (fit(name, data, seed=7).predict_proba(data.votes) for _ in range(2))
    assert_array_equal(first, second)


@every_model
def test_fit_and_predict_leave_votes_and_parameters_as_they_are(name):
    data, model = sample(), make(name)
    votes, gold, params = data.votes.copy(), data.gold, model.get_params()
    model.fit(data.votes, gold).predict_proba(data.votes)
    assert_array_equal(data.votes, votes)
    assert all(value is params[key] for key, value in model.get_params().items())


@every_model
def test_second_fit_forgets_the_first(name):
    first, second = sample(n=40, m=4, k=3), sample(seed=1)
    again = make(name).fit(first.votes, first.gold)
    again.fit(second.votes, second.gold if name in NEEDS_GOLD else None)
    fresh = fit(name, second)
    assert_array_equal(again.predict_proba(second.votes), fresh.predict_proba(second.votes))


@every_model
def test_parameters_can_be_read_set_and_cloned(name):
    from sklearn.base import clone

    model = make(name, tie_break="abstain")
    copy = clone(model)
    assert copy is not model
    assert copy.get_params().keys() == model.get_params().keys()
    assert repr(copy) == repr(model)
    assert copy.set_params(seed=5, n_classes=4) is copy
    assert (copy.seed, copy.n_classes, copy.tie_break) == (5, 4, "abstain")
    with pytest.raises(ParameterError, match="has no parameter 'sead'"):
        copy.set_params(sead=1)


@every_model
def test_clone_of_a_fitted_model_learns_the_same(name):
    from sklearn.base import clone

    data = sample()
    model = fit(name, data)
    copy = clone(model)
    assert not hasattr(copy, "_fitted_classes")
    copy.fit(data.votes, data.gold if name in NEEDS_GOLD else None)
    assert_array_equal(copy.predict_proba(data.votes), model.predict_proba(data.votes))


@every_model
def test_pickled_model_predicts_the_same(name):
    data, other = sample(), sample(seed=2)
    model = fit(name, data)
    loaded = pickle.loads(pickle.dumps(model))
    for votes in (data.votes, other.votes):
        assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))


@every_model
def test_predict_before_fit_asks_for_fit_if_the_model_must_learn(name):
    model, data = make(name), sample()
    if not model.needs_fit:
        assert_probabilities(model.predict_proba(data.votes), 60, 3)
        return
    for predict in (model.predict, model.predict_proba):
        with pytest.raises(NotFittedError, match=r"has not learned yet; call fit\(votes\) first"):
            predict(data.votes)


@every_model
def test_votes_that_fit_did_not_see_are_predicted(name):
    data, other = sample(), sample(n=25, seed=3)
    model = fit(name, data)
    probabilities = model.predict_proba(other.votes)
    assert_probabilities(probabilities, 25, 3)
    assert model.score(other.votes, other.truth) > 1 / 3


@every_model
def test_one_item_alone_is_predicted(name):
    data = sample()
    assert_probabilities(fit(name, data).predict_proba([[1, 1, -1, 1, 1]]), 1, 3)


@every_model
def test_votes_of_another_number_of_lfs_are_refused_by_models_that_learn(name):
    model = fit(name, sample())
    votes = sample(m=4).votes
    if not model.needs_fit:
        assert_probabilities(model.predict_proba(votes), 60, 3)
        return
    with pytest.raises(ParameterError, match="votes has 4 LFs, but this .* learned from 5"):
        model.predict_proba(votes)


@every_model
def test_gold_as_array_and_as_mapping_is_the_same(name):
    data = sample()
    mapping = {i: int(c) for i, c in enumerate(data.gold) if c >= 0}
    by_array, by_mapping = (make(name).fit(data.votes, gold) for gold in (data.gold, mapping))
    assert_array_equal(by_array.predict_proba(data.votes), by_mapping.predict_proba(data.votes))


@every_model
def test_gold_that_adds_a_class_is_accepted(name):
    data = sample(k=2)
    gold = np.where(np.arange(60) % 6 == 0, 2, data.gold)
    model = make(name).fit(data.votes, gold)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_probabilities(model.predict_proba(data.votes), 60, 3)


@every_model
def test_gold_makes_labels_no_worse(name):
    data = sample(n=240)
    rival = make("hlm" if name in NEEDS_GOLD else name).fit(data.votes)
    informed = make(name).fit(data.votes, data.truth)
    assert informed.score(data.votes, data.truth) >= rival.score(data.votes, data.truth) - 0.02


@models_that_look_gold_up
def test_gold_of_a_pattern_outweighs_its_votes(name):
    data, alike = sample(), [0, 0, 0, 0, 0]
    votes = np.concatenate([data.votes, np.tile(alike, (20, 1))])
    gold = np.concatenate([np.full(60, -1), np.full(20, 2)])
    assert make(name).fit(votes).predict([alike]) == [0]
    assert make(name).fit(votes, gold).predict([alike]) == [2]


@pytest.mark.parametrize("name", sorted(NEEDS_GOLD & set(MODELS)))
def test_model_that_needs_gold_says_so(name):
    with pytest.raises(ParameterError, match=r"learns from gold and was given no gold; call fit\(votes, gold\)"):
        make(name).fit(sample().votes)


@every_model
def test_named_classes_are_given_back(name):
    data, names = sample(), np.array(["ham", "spam", "eggs", -1], dtype=object)
    model = make(name, classes=["ham", "spam", "eggs"])
    gold = [None if c < 0 else str(names[c]) for c in data.gold]
    model.fit(data.votes, gold if name in NEEDS_GOLD else None)
    assert model.classes_.tolist() == ["ham", "spam", "eggs"]
    assert set(model.predict(data.votes)) <= {"ham", "spam", "eggs", -1}
    assert_array_equal(model.predict_proba(data.votes), fit(name, data).predict_proba(data.votes))


def test_unknown_model_is_refused_with_the_names_of_all():
    with pytest.raises(ParameterError, match="there is no label model 'majority'; expected one of .*hlm"):
        hl.label_model("majority")
