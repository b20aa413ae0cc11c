"""The contract of all label models: every registered model through the same checks.

A model that is registered is checked; nothing here needs to change for it. What a method cannot promise, by its
nature and not by accident, stands in the tables below with the reason.
"""

import pickle
import warnings
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel import models
from hyperlabel._core import metrics
from hyperlabel.errors import (
    ConvergenceWarning,
    NotFittedError,
    ParameterError,
    VotesError,
    VotesWarning,
    WeightsError,
)
from hyperlabel.models import RandomForest, label_model_class
from hyperlabel.networks import add_sums

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
    "rf": "trees draw LFs by their index",
    "amcl": "the worst labels need not be unique",
    "ebcc": "starts are drawn by index",
}
CLASS_ORDER_MATTERS = {
    "rf": "trees split votes by their order",
    "amcl": "the worst labels need not be unique",
    "ebcc": "starts are drawn by index",
    "hlm": "with two classes the network was trained on one of them",
}
DOUBLING_MATTERS = {
    "hlm3": "more items are more evidence",
    "hlm2": "more items are more evidence",
    "rf": "bootstraps draw items",
    "cll": "AdaGrad's damping does not shrink with the gradient of an item",
    "ds": "imagined votes weigh less beside more items",
    "hds": "imagined votes weigh less beside more items",
    "ebcc": "prior counts weigh less beside more items",
    "auto": "it may choose hds",
}
FEWEST_LFS = {"fs": 3, "metal": 3}  # moments of pairs and triplets of LFs

# A lone vote of an LF that was silent in `fit` is the label, but for these.
SILENT_LF_IS_NOT_BELIEVED = {"rf": "trees do not split by an LF that never voted"}

ATOL = 1e-5  # float32 in the network; elsewhere sums in another order, and stopping one step apart


def in_state(name):
    """How far probabilities of the same row in the same state may lie apart: rounding."""
    return 1e-6 if name == "hlm" else 1e-12


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
    return make(name, **params).fit(data.votes, gold_of(name, data))


def gold_of(name, data):
    return data.gold if name in NEEDS_GOLD else None


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


@pytest.mark.parametrize("m", [5, 20, 50])  # patterns that are numbered, packed into keys, and hashed
@every_model
def test_probabilities_when_items_are_permuted_are_permuted_to_the_last_bit(name, m):
    data = sample(m=m)
    order = np.random.default_rng(1).permutation(60)
    gold = gold_of(name, data)
    moved = make(name).fit(data.votes[order], None if gold is None else gold[order])
    expected = fit(name, data).predict_proba(data.votes)[order]
    assert_array_equal(moved.predict_proba(data.votes[order]), expected)


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


def with_lf(column, k=3):
    data = sample(k=k)
    return Sample(np.column_stack([data.votes, column]), data.truth)


def one_class():
    return Sample(np.minimum(sample().votes, 0), np.zeros(60, int))


def with_empty_items(data):
    empty = np.arange(len(data.votes))[:, None] % 4 == 1
    return Sample(np.where(empty, -1, data.votes), data.truth)


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
    "items without votes": (with_empty_items(sample()), {}),
    "one item": (sample(n=1, coverage=1.0), {}),
    "more LFs than items": (sample(n=30, m=1000, k=2, coverage=0.3), {}),
    "300 classes": (sample(k=300), {"n_classes": 300}),
}


def fit_or_refuse(name, data, params):
    """The fitted model, or None where a method that needs more LFs says so."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VotesWarning)  # of votes for one class
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
    again.fit(second.votes, gold_of(name, second))
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
    assert not copy.is_fitted
    copy.fit(data.votes, gold_of(name, data))
    assert_array_equal(copy.predict_proba(data.votes), model.predict_proba(data.votes))


@every_model
def test_pickled_model_predicts_the_same(name):
    data, other = sample(), sample(seed=2)
    model = fit(name, data)
    loaded = pickle.loads(pickle.dumps(model))
    for votes in (data.votes, other.votes):
        assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))


@every_model
def test_votes_that_fit_did_not_see_are_predicted(name):
    data, other = sample(), sample(n=25, seed=3)
    model = fit(name, data)
    probabilities = model.predict_proba(other.votes)
    assert_probabilities(probabilities, 25, 3)
    assert model.score(other.votes, other.truth) > 1 / 3


@every_model
def test_votes_of_another_number_of_lfs_are_refused(name):
    model = fit(name, sample())
    with pytest.raises(ParameterError, match="votes has 4 LFs, but this .* learned from 5; give it the same LFs"):
        model.predict_proba(sample(m=4).votes)


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
    with pytest.warns(VotesWarning, match=r"^gold has classes that no LF votes for: 2 \(10 items\)"):
        model = make(name).fit(data.votes, gold)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_probabilities(model.predict_proba(data.votes), 60, 3)


@every_model
def test_gold_makes_labels_no_worse(name):
    data = sample(n=240)
    rival = make("hlm" if name in NEEDS_GOLD else name).fit(data.votes)
    informed = make(name).fit(data.votes, data.truth)
    assert informed.score(data.votes, data.truth) >= rival.score(data.votes, data.truth) - 0.025


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


@every_model
def test_every_declared_parameter_is_one_of_the_model_and_refuses_another_kind_of_value(name):
    model = make(name)
    assert model._constraints.keys() <= model.get_params().keys()
    for parameter in model._constraints:
        with pytest.raises(ParameterError, match=rf"^{parameter} is \{{\}}; expected "):
            make(name, **{parameter: {}}).fit(sample().votes, sample().gold)


def test_class_is_in_the_door_by_its_name_and_found_by_its_short_names():
    for name in MODELS:
        found = label_model_class(name)
        assert getattr(models, found.__name__) is found
        assert name in found.short_names


# Labels with gold.


@every_model
def test_label_of_an_unfitted_model_is_that_of_fit_predict_with_the_gold(name):
    data, model = sample(), make(name)
    labels = model.label(data.votes, gold=data.gold)
    assert not model.is_fitted
    assert_array_equal(labels.labels, make(name).fit_predict(data.votes, data.gold))


@every_model
def test_label_of_a_fitted_model_takes_gold_as_it_is_and_learns_nothing(name):
    data = sample()
    model = fit(name, data)
    before = model.predict(data.votes)
    gold = {0: int((before[0] + 1) % 3)}
    assert_array_equal(model.label(data.votes, gold=gold).labels, [gold[0], *before[1:]])
    assert_array_equal(model.predict(data.votes), before)


# Transductive and inductive use.


@models_without_need_of_gold
def test_predict_of_an_unfitted_model_is_fit_predict(name):
    data = sample()
    model = make(name)
    probabilities, labels = model.predict_proba(data.votes), model.predict(data.votes)
    for_f1 = model.predict(data.votes, metric="f1")
    assert not model.is_fitted
    assert_array_equal(make(name).fit_predict_proba(data.votes), probabilities)
    assert_array_equal(make(name).fit_predict(data.votes), labels)
    assert_array_equal(make(name).fit_predict(data.votes, metric="f1"), for_f1)


@pytest.mark.parametrize("name", sorted(NEEDS_GOLD))
def test_predict_of_an_unfitted_model_that_needs_gold_asks_for_fit(name):
    for predict in (make(name).predict, make(name).predict_proba):
        with pytest.raises(NotFittedError, match=r"is not fitted; call fit\(votes, gold\) first"):
            predict(sample().votes)


@every_k
@every_model
def test_fitted_model_predicts_the_set_it_read_as_fit_predict_does(name, k):
    data = sample(k=k)
    gold = gold_of(name, data)
    free = np.ones(60, bool) if gold is None else gold < 0
    together = make(name).fit_predict_proba(data.votes, gold)
    afterwards = fit(name, data).predict_proba(data.votes)
    assert_allclose(afterwards[free], together[free], atol=in_state(name), rtol=0)


@every_k
@every_model
def test_rows_are_judged_the_same_alone_in_batches_and_in_any_order(name, k):
    model, rows = fit(name, sample(k=k)), sample(n=30, k=k, seed=3).votes
    order = np.random.default_rng(0).permutation(30)
    together, labels = model.predict_proba(rows), model.predict(rows)
    parts = [rows[i : i + 1] for i in range(30)], np.array_split(rows, 4)
    others = [np.concatenate([model.predict_proba(part) for part in split]) for split in parts]
    others += [model.predict_proba(rows[::-1])[::-1], model.predict_proba(rows[order])[np.argsort(order)]]
    for probabilities in others:
        assert_allclose(probabilities, together, atol=in_state(name), rtol=0)
    assert_array_equal(np.concatenate([model.predict(row) for row in parts[0]]), labels)
    assert_array_equal(model.predict(rows[order]), labels[order])


@every_model
def test_rows_for_f1_are_judged_the_same_alone(name):
    model, rows = fit(name, sample(k=2)), sample(n=30, k=2, seed=3).votes
    alone = [model.predict(row[None], metric="f1")[0] for row in rows]
    assert_array_equal(alone, model.predict(rows, metric="f1"))


@every_k
@every_model
def test_items_with_one_vote_or_none_are_explained(name, k):
    data = sample(k=k)
    alone = np.full((2, 5), -1)
    alone[1, 3] = 1
    nobody, one = (fit(name, data).explain(alone, i) for i in range(2))
    assert (nobody.label, nobody.contributions, nobody.flip) == (-1, (), ())
    assert [(c.lf, c.vote) for c in one.contributions] == [("lf3", 1)]


@every_model
def test_predicting_other_rows_changes_nothing(name):
    data, other = sample(), sample(seed=3)
    model = fit(name, data)
    before = model.predict_proba(data.votes)
    model.predict(other.votes)
    assert_array_equal(model.predict_proba(data.votes), before)


# LFs and classes that `fit` did not see.


@every_k
@every_model
def test_lf_that_was_silent_in_fit_counts_like_an_average_one(name, k):
    data = with_lf(np.full(60, -1), k)
    rows = np.full((k, 6), -1)
    rows[:, 5] = np.arange(k)
    probabilities = fit(name, data).predict_proba(rows)
    assert_probabilities(probabilities, k, k)
    if name not in SILENT_LF_IS_NOT_BELIEVED:
        assert_array_equal(probabilities.argmax(1), np.arange(k))


@every_model
def test_lf_that_was_silent_in_fit_changes_no_probability(name):
    if name in LF_ORDER_MATTERS:
        pytest.skip(LF_ORDER_MATTERS[name])
    data, silent = sample(), with_lf(np.full(60, -1))
    expected = fit(name, data).predict_proba(data.votes)
    assert_allclose(fit(name, silent).predict_proba(silent.votes), expected, atol=ATOL)


@every_model
def test_class_that_nobody_voted_for_in_fit_has_the_share_of_its_votes(name):
    data = sample(k=3)
    model = fit(name, data, n_classes=4)
    rows = np.array([[3, -1, -1, -1, -1], [3, 3, 3, 3, 3], [3, 3, 3, 0, -1], [0, 0, 0, 0, 3]])
    probabilities = model.predict_proba(rows)
    assert_probabilities(probabilities, 4, 4)
    assert_allclose(probabilities[:, 3], [1, 1, 0.75, 0.2])
    assert_array_equal(model.predict(rows)[:3], 3)


@every_k
@every_model
def test_class_that_is_stated_but_never_voted_for_changes_no_label_and_gets_no_mass(name, k):
    data = sample(k=k)
    plain, wide = fit(name, data, n_classes=k), fit(name, data, n_classes=k + 2)
    probabilities = wide.predict_proba(data.votes)
    covered = (data.votes >= 0).any(1)
    assert_allclose(probabilities[covered, k:], 0)
    assert_allclose(probabilities[covered, :k], plain.predict_proba(data.votes)[covered], atol=1e-12)
    assert_array_equal(wide.predict(data.votes), plain.predict(data.votes))


# LFs by name.


def to_frame(votes, names="abcde"):
    return pd.DataFrame(votes, columns=list(names)).replace(-1, None).astype("Int64")


@every_model
def test_reordered_columns_are_matched_by_name(name):
    data, other = sample(), sample(n=25, seed=3)
    model = make(name).fit(to_frame(data.votes), gold_of(name, data))
    frame = to_frame(other.votes)
    assert model.lf_names_ == tuple("abcde")
    assert_array_equal(model.predict_proba(frame[list("ecadb")]), model.predict_proba(frame))
    assert_array_equal(model.predict_proba(frame), fit(name, data).predict_proba(other.votes))


@every_model
def test_votes_without_names_are_taken_by_order(name):
    data = sample()
    model = make(name).fit(to_frame(data.votes), gold_of(name, data))
    assert_array_equal(model.predict_proba(data.votes), model.predict_proba(to_frame(data.votes)))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            "abcdf",
            "votes (lacks the LF|has no column) 'e'; (the columns are|expected the LFs) 'a', 'b', 'c', 'd'",
        ),
        ("abcd", "votes (lacks the LF|has no column) 'e'"),
        ("abcdef", "votes has the LF 'f', which the model was not fitted on"),
    ],
)
@every_model
def test_missing_or_unknown_lf_is_one_clear_error(name, names, message):
    data = sample()
    model = make(name).fit(to_frame(data.votes), gold_of(name, data))
    frame = to_frame(sample(m=len(names)).votes, names)
    for votes in (frame, hl.Votes.from_frame(frame)):
        with pytest.raises(VotesError, match=message):
            model.predict(votes)


def test_columns_that_are_no_votes_may_stand_beside_the_lfs_of_a_fitted_model():
    data = sample()
    model = make("mv").fit(to_frame(data.votes))
    frame = to_frame(data.votes).assign(id=range(60), length=np.linspace(0, 9, 60), author=[f"u{i}" for i in range(60)])
    assert_array_equal(model.predict(frame), model.predict(data.votes))


# Patterns instead of votes.


@every_model
def test_patterns_are_accepted_wherever_votes_are(name):
    data, other = sample(), sample(n=25, seed=3)
    votes = hl.Votes.from_array(data.votes, n_classes=3)
    patterns = hl.Patterns.from_votes(votes)
    gold = patterns.count_labels(data.gold) if name in NEEDS_GOLD else None
    model = make(name).fit(patterns, gold)
    assert_array_equal(model.predict_proba(other.votes), fit(name, data).predict_proba(other.votes))
    rows = hl.Patterns.from_votes(hl.Votes.from_array(other.votes, n_classes=3))
    assert_array_equal(model.predict_proba(rows), model.predict_proba(other.votes))
    assert_array_equal(model.predict(rows.take(np.array([2, 0]))), model.predict(rows.to_array()[[2, 0]]))


@pytest.mark.parametrize("m", [5, 20, 50])
@models_without_need_of_gold
def test_merged_patterns_are_fitted_like_both_sets_together_to_the_last_bit(name, m):
    one, two, other = sample(m=m), sample(n=40, m=m, seed=1), sample(n=25, m=m, seed=3)
    first, second = (hl.Patterns.from_votes(hl.Votes.from_array(data.votes, n_classes=3)) for data in (one, two))
    merged = make(name).fit(first.merge(second)).predict_proba(other.votes)
    together = make(name).fit(np.concatenate([one.votes, two.votes])).predict_proba(other.votes)
    assert_array_equal(merged, together)


def test_gold_of_counted_patterns_of_a_wrong_shape_is_refused():
    patterns = hl.Patterns.from_votes(hl.Votes.from_array([[0, 1], [1, 1]]))
    with pytest.raises(ParameterError, match=r"gold has shape \(3,\) .*; expected the number of gold items"):
        hl.label_model("mv").fit(patterns, np.array([0, 1, -1]))


@pytest.mark.parametrize("verb", ["score", "explain", "suggest"])
def test_verbs_about_items_refuse_patterns_that_were_only_counted(verb):
    patterns = hl.Patterns.from_chunks([[[0, 1], [1, 1]]])
    with pytest.raises(
        ParameterError, match="votes is Patterns that were only counted and know no items; give the votes themselves"
    ):
        getattr(hl.label_model("mv"), verb)(patterns, 1)


@pytest.mark.parametrize("fitted", [True, False])
def test_verbs_about_items_take_patterns_that_know_them_as_the_votes(fitted):
    votes = hl.Votes.from_array([[0, 1], [1, 1], [-1, 0], [0, 1]], lfs=["a", "b"], classes=["ham", "spam"])
    patterns, model = hl.Patterns.from_votes(votes), hl.HyperLabelModel()
    if fitted:
        model.fit(votes)
    assert patterns.to_votes() == votes
    assert model.score(patterns, ["ham", "spam", "ham", "ham"]) == model.score(votes, ["ham", "spam", "ham", "ham"])
    assert str(model.explain(patterns, 3)) == str(model.explain(votes, 3))
    assert model.suggest(patterns, 2).tolist() == model.suggest(votes, 2).tolist()
    assert str(hl.advise(patterns)) == str(hl.advise(votes))


@pytest.mark.parametrize("name", [name for name in MODELS if hl.label_model(name).reads_in_passes])
def test_set_read_in_chunks_gives_the_probabilities_of_the_set_read_at_once(name):
    data, other = sample(n=400, m=3), sample(n=25, m=3, seed=3)
    chunks = [hl.Patterns.from_votes(hl.Votes.from_array(part, n_classes=3)) for part in np.split(data.votes, 5)]
    model = make(name).fit_passes(lambda sums: reduce(add_sums, map(sums, chunks)), chunks[0], metric="f1")
    once = fit(name, data)
    assert_allclose(model.predict_proba(other.votes), once.predict_proba(other.votes), atol=ATOL)
    assert_array_equal(model.predict(other.votes, metric="f1"), once.predict(other.votes, metric="f1"))


def test_model_that_cannot_read_in_passes_says_so():
    shape = hl.Patterns.from_votes(hl.Votes.from_array([[0, 1]]))
    with pytest.raises(ParameterError, match="needs all patterns in memory; use fit, or a model that reads in passes"):
        hl.label_model("ds").fit_passes(lambda sums: sums(shape), shape)


# Files.


BALANCED = {
    name: {"class_balance": [0.5, 0.3, 0.2]}
    for name in MODELS
    if "class_balance" in hl.label_model(name).get_params() and name != "hlm"
}


def assert_same_model(loaded, model, votes):
    assert type(loaded) is type(model)
    assert loaded.to_arrays()[1] == model.to_arrays()[1]
    assert loaded.is_fitted == model.is_fitted
    assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))
    for metric in ("accuracy", "f1"):
        assert_array_equal(loaded.predict(votes, metric), model.predict(votes, metric))


@pytest.mark.parametrize("gold", [True, False], ids=["gold", "no gold"])
@every_model
def test_saved_model_is_loaded_exactly(name, gold, tmp_path):
    data, other = sample(), sample(n=25, seed=3)
    model = make(name, tie_break="abstain", seed=5, **BALANCED.get(name, {}))
    model.fit(to_frame(data.votes), data.gold if gold or name in NEEDS_GOLD else None)
    model.save(tmp_path / "model.safetensors")
    loaded = hl.load(tmp_path / "model.safetensors")
    assert_same_model(loaded, model, to_frame(other.votes))
    assert (loaded.lf_names_, loaded.n_features_in_) == (model.lf_names_, 5)
    assert (loaded.n_iter_, loaded.converged_) == (model.n_iter_, model.converged_)
    assert_array_equal(loaded.classes_, model.classes_)
    with pytest.raises(VotesError, match="votes has no column"):
        loaded.predict(to_frame(other.votes, "vwxyz"))


@every_model
def test_saved_model_of_named_and_unseen_classes_is_loaded_exactly(name, tmp_path):
    data, other = sample(), sample(n=25, seed=3)
    model = make(name, classes=["ham", "spam", "eggs", "other"])
    gold = None if name not in NEEDS_GOLD else [None if c < 0 else ["ham", "spam", "eggs"][c] for c in data.gold]
    model.fit(data.votes, gold).save(tmp_path / "model.safetensors")
    assert_same_model(hl.load(tmp_path / "model.safetensors"), model, other.votes)


@models_without_need_of_gold
def test_model_that_is_not_fitted_is_loaded_as_it_was(name, tmp_path):
    data = sample()
    model = make(name, n_classes=3, seed=2**40, **BALANCED.get(name, {}))
    model.save(tmp_path / "model.safetensors")
    assert_same_model(hl.load(tmp_path / "model.safetensors"), model, data.votes)


@pytest.mark.parametrize("name", sorted(NEEDS_GOLD))
def test_model_that_needs_gold_and_is_not_fitted_learns_the_same_when_loaded(name, tmp_path):
    data = sample()
    make(name).save(tmp_path / "model.safetensors")
    loaded = hl.load(tmp_path / "model.safetensors")
    assert not loaded.is_fitted
    expected = fit(name, data).predict_proba(data.votes)
    assert_array_equal(loaded.fit(data.votes, data.gold).predict_proba(data.votes), expected)


@every_model
def test_loaded_model_learns_anew(name, tmp_path):
    data, other = sample(), sample(seed=1)
    fit(name, data).save(tmp_path / "model.safetensors")
    again = hl.load(tmp_path / "model.safetensors").fit(other.votes, gold_of(name, other))
    assert_array_equal(again.predict_proba(other.votes), fit(name, other).predict_proba(other.votes))


def test_classes_that_could_not_be_saved_are_refused_by_fit():
    with pytest.raises(ParameterError, match=r"^classes is \[\('a', 1\), .* all whole numbers, all strings"):
        hl.label_model("mv", classes=[("a", 1), ("b", 2)]).fit([[0, 1]])


# Scores, gold and seeds.


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
@every_k
@every_model
def test_score_is_the_metric_of_the_labels_for_it(name, k, metric):
    data, other = sample(k=k), with_empty_items(sample(n=40, k=k, seed=3))
    model = fit(name, data)
    labels = model.predict(other.votes, metric)
    truth = np.where(np.arange(40) % 5 == 0, -1, other.truth)
    assert model.score(other.votes, truth, metric) == metrics.score(metric, truth, labels, k)


@every_model
def test_gold_is_obeyed_by_fit_predict(name):
    data = with_empty_items(sample())
    gold = np.where(np.arange(60) % 3 == 0, (data.truth + 1) % 3, -1)  # against the votes, also where there are none
    known = gold >= 0
    model = make(name)
    assert_array_equal(model.fit_predict(data.votes, gold)[known], gold[known])
    assert_array_equal(model.fit_predict(data.votes, gold, metric="f1")[known], gold[known])
    assert_array_equal(model.fit_predict_proba(data.votes, gold)[known], np.eye(3)[gold[known]])


@pytest.mark.parametrize("seed", [2**24 - 1, 2**32, 2**63, 10**30, -1, np.int64(7)])
@every_model
def test_seeds_of_any_size_are_accepted(name, seed):
    data = sample(n=30)
    model = fit(name, data, seed=seed, tie_break="random")
    assert_array_equal(fit(name, data, seed=seed, tie_break="random").predict(data.votes), model.predict(data.votes))


@pytest.mark.parametrize("seed", ["x", None, 1.5, True, np.nan])
@every_model
def test_seed_that_is_no_whole_number_is_refused(name, seed):
    data = sample(n=10)
    with pytest.raises(ParameterError, match=f"^seed is {seed!r}; expected a whole number"):
        make(name, seed=seed).fit(data.votes, gold_of(name, data))


HOSTILE = ["x", None, [], {}, np.arange(2), object(), -1, np.nan, np.inf, 1j, b"1", True]


@every_model
def test_parameters_of_the_wrong_type_are_refused_by_name(name):
    data = sample(n=10)
    for param, default in hl.label_model(name).get_params().items():
        if param in ("seed", "classes", "learn_from_empty") or not isinstance(default, int | float | str):
            continue
        complaints = [complaint_of(name, data, **{param: value}) for value in HOSTILE]
        assert all(complaint.startswith(param) for complaint in complaints if complaint is not None)
        assert any(complaints)


def complaint_of(name, data, **params):
    """What fit refuses parameters with; None if it takes them."""
    try:
        make(name, **params).fit(data.votes, gold_of(name, data))
    except (ParameterError, WeightsError) as error:
        return str(error)
    return None


def test_gold_of_a_single_class_is_no_task_for_the_papers_network():
    model = hl.HyperLabelModel("hlm", n_classes=1)
    assert model.fit_predict([[0, 0], [0, -1]], gold=[0, 0]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "params"),
    [("metal", {"sgd_steps": 5}), ("nplm", {"batch_size": 16}), ("ebcc", {"draw": "items", "restarts": 2})],
)
def test_seeds_of_any_size_are_accepted_by_the_ways_of_released_codes(name, params):
    for seed in (2**32, -1):
        assert_probabilities(make(name, seed=seed, **params).fit_predict_proba(sample().votes), 60, 3)
