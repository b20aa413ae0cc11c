"""The label models as scikit-learn estimators: its own checks, pipelines, clones, searches and scorers."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.models import RandomForest

pytest.importorskip("sklearn")
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

pytestmark = [
    pytest.mark.filterwarnings("ignore::hyperlabel.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::hyperlabel.errors.VotesWarning"),  # targets of other tasks are odd gold
]

FOREST = RandomForest(n_trees=5, max_depth=(None,), min_samples_split=(2,))
QUICK = {"rf": FOREST.get_params(), "amcl": {"slack": 0.3, "max_iter": 5, "forest": FOREST}}
# The checks give most estimators two features; FlyingSquid compares triplets and refuses fewer than three LFs.
MODELS = {name: hl.label_model(name, **QUICK.get(name, {})) for name in hl.label_models() if name != "fs"}
CHECKED = [MODELS[name] for name in ("hlm3", "hlm", "mv", "bv", "metal", "nplm", "ds", "rf")]  # quick ones of each kind

# Checks that no label model passes, each with the reason. The tests below hold that what the first group wants
# refused is refused.
IN_OTHER_WORDS = {
    name: "refused as it should be; the message speaks of votes and gold, not of X, features and y"
    for name in (
        "check_complex_data",
        "check_dtype_object",
        "check_estimators_empty_data_messages",
        "check_fit2d_predict1d",
        "check_classifiers_regression_target",
    )
}
NOT_FOR_VOTES = {
    "check_fit_score_takes_y": "y is called gold in fit and truth in score, in the same places",
    "check_n_features_in_after_fitting": "refused as it should be; the message speaks of LFs, not of features",
    "check_positive_only_tag_during_fit": "its features fall below -1, the least vote",
    "check_classifiers_classes": "its y names classes that its integer features do not; name them with classes=",
    "check_classifiers_train": "its features, read as votes, name more classes than its y",
    "check_classifier_data_not_an_array": "gold is an array, a list, a series or a mapping",
    "check_supervised_y_2d": "gold in two dimensions is refused, not flattened with a warning",
}
ONE_LABEL = {"check_classifiers_one_label": "votes name classes too, so gold of one class does not outvote them"}
UNFITTED = {
    "check_estimators_unfitted": "hyperlabel's own NotFittedError, since the package does not load scikit-learn"
}
WITHOUT_GOLD = {"check_requires_y_none": "refused as it should be; the message speaks of gold, not of y"}


def expected_failures(model):
    """Checks that a model fails, and why."""
    failures = IN_OTHER_WORDS | NOT_FOR_VOTES
    learned = type(model).__name__ in ("DawidSkene", "HierarchicalDawidSkene", "RandomForest")
    if not learned and getattr(model, "weights", None) != "hlm3":
        failures |= ONE_LABEL
    return failures | (WITHOUT_GOLD | UNFITTED if model.needs_gold else {})


def collect_checks():
    """The checks of all models; that no model inherits from scikit-learn's base class is as it should be."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Estimator .* does not inherit from")
        mark = parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
        return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), ids=mark.kwargs["ids"])


@collect_checks()
def test_label_model_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


TEXTS = ["win money now", "see you later", "free money", "lunch later?", "win a prize", "you and me"] * 5
TRUTH = np.array([1, 0, 1, 0, 1, 0] * 5)


def vote_on(texts):
    """Four keyword LFs. -> (n, 4)."""
    words = [("money", 1), ("win", 1), ("later", 0), ("you", 0)]
    return np.array([[label if word in text else -1 for word, label in words] for text in texts])


VOTES = vote_on(TEXTS)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_label_model_at_the_end_of_a_pipeline_predicts_as_alone(model):
    gold = TRUTH if model.needs_gold else np.where(np.arange(30) < 6, TRUTH, -1)
    pipeline = make_pipeline(FunctionTransformer(vote_on), clone(model)).fit(TEXTS, gold)
    alone = clone(model).fit(VOTES, gold)
    assert_array_equal(pipeline.predict_proba(TEXTS), alone.predict_proba(VOTES))
    assert_array_equal(pipeline.predict(TEXTS), alone.predict(VOTES))
    assert pipeline.score(TEXTS, TRUTH) == alone.score(VOTES, TRUTH) == 1
    assert_array_equal(pipeline.classes_, [0, 1])


def test_clone_of_a_fitted_pipeline_is_unfitted_and_has_the_parameters():
    pipeline = make_pipeline(FunctionTransformer(vote_on), hl.label_model("ds", seed=3)).fit(TEXTS)
    copy = clone(pipeline)
    assert copy.get_params()["dawidskene__seed"] == 3
    assert not copy[-1].is_fitted
    copy.set_params(dawidskene__tie_break="abstain")
    assert_array_equal(copy.fit(TEXTS).predict(TEXTS), pipeline.predict(TEXTS))


def test_pickled_pipeline_predicts_the_same():
    pipeline = make_pipeline(FunctionTransformer(vote_on), hl.HyperLabelModel()).fit(TEXTS)
    assert_array_equal(pickle.loads(pickle.dumps(pipeline)).predict_proba(TEXTS), pipeline.predict_proba(TEXTS))


def test_model_whose_second_fit_failed_counts_as_unfitted():
    model = clone(FOREST).fit(VOTES, TRUTH)
    check_is_fitted(model)
    with pytest.raises(ParameterError, match="was given no gold"):
        model.fit(VOTES)
    assert not model.is_fitted
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(model)


def test_model_that_needs_no_gold_counts_as_ready_for_prediction():
    check_is_fitted(hl.HyperLabelModel())
    assert not hl.HyperLabelModel().is_fitted


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss", "f1"])
def test_scorers_of_scikit_learn_take_label_models(scoring):
    scores = cross_val_score(hl.HyperLabelModel(), VOTES, TRUTH, scoring=scoring, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_grid_search_chooses_among_parameters_of_a_label_model():
    grid = {"smoothing": [0.01, 1.0], "abstain": ["one-sided"]}
    search = GridSearchCV(hl.label_model("ds"), grid, cv=2).fit(VOTES, TRUTH)
    assert search.best_score_ == 1
    assert search.best_params_["smoothing"] in grid["smoothing"]


def test_tags_say_classifier_of_votes_whose_gold_is_optional():
    model, forest = hl.HyperLabelModel(), FOREST
    assert is_classifier(model)
    assert get_tags(model).input_tags.categorical
    assert not get_tags(model).requires_fit
    assert not get_tags(model).target_tags.required
    assert get_tags(forest).requires_fit
    assert get_tags(forest).target_tags.required


@pytest.mark.parametrize(
    ("votes", "gold", "message"),
    [
        (VOTES + 0.5j, None, "complex128; expected integers"),
        (np.array([[{}, 1]]), None, "object; expected integers"),
        (np.empty((12, 0)), None, r"shape \(12, 0\)"),
        (VOTES[0], None, r"expected 2-D .* reshape\(-1, 1\)"),
        (VOTES, TRUTH + 0.5, "gold.* is 1.5"),
        (VOTES, TRUTH[:, None], r"gold is of type ndarray with shape \(30, 1\)"),
    ],
)
def test_input_that_scikit_learn_wants_refused_is_refused(votes, gold, message):
    with pytest.raises(VotesError, match=message):
        hl.HyperLabelModel().fit(votes, gold)


@pytest.mark.parametrize("name", ["hlm3", "mv", "ds"])
def test_votes_of_another_width_are_refused_by_a_fitted_model(name):
    with pytest.raises(ParameterError, match="votes has 3 LFs, but this .* learned from 4"):
        hl.label_model(name).fit(VOTES).predict(VOTES[:, :3])
