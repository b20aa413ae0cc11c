"""The light classifier: texts and features, soft labels, calibration, files."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hyperlabel as hl
from hyperlabel._core import write_tensors
from hyperlabel.classify import BaseClassifier, Classifier, Linear, Scaled, Search, Tfidf
from hyperlabel.classify._base import cross_fit, draw_folds
from hyperlabel.classify._inputs import Examples, group_items
from hyperlabel.data import Labels
from hyperlabel.errors import NotFittedError, ParameterError, WeightsError

pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra `sklearn`)")

WORDS = ("win", "free", "money", "now", "see", "you", "at", "home", "lunch", "later")


def messages(n=90, seed=0, sure=0.8):
    """Texts of two kinds, with soft labels."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, n)
    texts = [" ".join(rng.choice(WORDS[:6] if kind else WORDS[4:], 5)) for kind in kinds]
    return texts, np.where(kinds[:, None] == [0, 1], sure, 1 - sure), kinds


def blobs(n=200, q=4, seed=0):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    features = rng.normal(size=(n, q)) * [1, 100, 0.01, 1][:q] + kinds[:, None] * np.array([3, 300, 0.03, 3])[:q]
    return features, np.where(kinds[:, None] == np.arange(3), 0.8, 0.1), kinds


def test_classifier_of_texts_judges_new_texts():
    texts, soft, _ = messages()
    new, _, kinds = messages(seed=1)
    model = Classifier().fit(texts, soft)
    assert (model.predict(new) == kinds).mean() > 0.95
    assert_allclose(model.predict_proba(new).sum(1), 1)


@pytest.mark.parametrize("form", [list, np.array, tuple])
def test_classifier_takes_texts_in_any_form(form):
    texts, soft, _ = messages()
    assert_array_equal(
        Classifier().fit(form(texts), soft).predict_proba(form(texts)),
        Classifier().fit(texts, soft).predict_proba(texts),
    )


def test_classifier_takes_series_and_frames_by_place():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    texts, soft, _ = messages()
    want = Classifier().fit(texts, soft).predict_proba(texts)
    shuffled = pd.Series(texts, index=range(len(texts))[::-1])
    for series in (shuffled, pl.Series(texts)):
        assert_array_equal(Classifier().fit(series, soft).predict_proba(series), want)
    features, soft, _ = blobs()
    want = Classifier().fit(features, soft).predict_proba(features)
    for frame in (pd.DataFrame(features, index=range(len(features))[::-1]), pl.DataFrame(features)):
        assert_allclose(Classifier().fit(frame, soft).predict_proba(frame), want)


def test_classifier_of_features_does_not_depend_on_their_units():
    features, soft, kinds = blobs()
    model = Classifier().fit(features, soft)
    assert (model.predict(features) == kinds).mean() > 0.95
    units = np.array([1e6, 1e-6, 7.0, 1.0])
    assert_allclose(
        Classifier().fit(features * units, soft).predict_proba(features * units),
        model.predict_proba(features),
        atol=1e-4,
    )


def test_classifier_of_sparse_features_keeps_them_sparse():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 300)
    matrix = sparse.csr_array((np.full(300, 50.0), (np.arange(300), 10_000 * kinds + rng.integers(0, 9, 300))))
    model = Classifier().fit(matrix, np.eye(2)[kinds])
    assert_array_equal(model.predict(matrix), kinds)
    assert hasattr(model._base.to_features(matrix), "tocsr")


def test_a_feature_that_never_varies_counts_for_nothing():
    features, soft, _ = blobs()
    same = np.c_[features, np.full(len(features), 0.1)]
    scaled = Scaled().fit(same, soft)
    assert_allclose(scaled.to_features(same)[:, -1], 0)


def test_classifier_learns_from_labels_and_speaks_their_classes():
    texts, soft, kinds = messages()
    best = np.where(np.arange(90) % 5, kinds, -1)
    labels = Labels(best, soft, ("ham", "spam"))
    model = hl.Classifier().fit(texts, labels)
    known = best >= 0
    alone = Classifier().fit([t for t, k in zip(texts, known, strict=True) if k], soft[known])
    assert_array_equal(model.predict_proba(texts), alone.predict_proba(texts))
    assert set(model.predict(texts).tolist()) == {"ham", "spam"}


def test_labels_without_any_label_teach_nothing():
    with pytest.raises(ParameterError, match="training labels has no label at all; expected some items with votes"):
        Classifier().fit(["a b", "b c"], Labels(np.array([-1, -1]), np.full((2, 2), 0.5), (0, 1)))


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_probabilities_keep_the_shares_of_the_classes(share):
    """An imbalanced class is as frequent among the probabilities as among the labels: nothing is reweighted."""
    rng = np.random.default_rng(0)
    spam = rng.random(3000) < share
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in spam]
    model = Classifier().fit(texts, np.where(spam[:, None] == [0, 1], 1.0, 0.0))
    assert_allclose(model.predict_proba(texts)[:, 1].mean(), spam.mean(), atol=0.02)


def test_temperature_brings_the_confidence_near_the_share_of_right_labels():
    rng = np.random.default_rng(1)
    kinds = rng.integers(0, 2, 600)
    texts = [" ".join(rng.choice(WORDS[:7] if kind else WORDS[3:], 4)) for kind in kinds]
    heavy = Classifier(l2=0.03).fit(texts, np.eye(2)[kinds])  # so strong a penalty makes it too unsure
    assert heavy.temperature_ > 1.5
    raw, found = heavy._base.predict_proba(texts), heavy.predict_proba(texts)
    right = (found.argmax(1) == kinds).mean()
    assert abs(found.max(1).mean() - right) < abs(raw.max(1).mean() - right) / 2
    assert_array_equal(raw.argmax(1), found.argmax(1))


def test_cross_fitting_never_asks_what_was_learned_from_the_item_or_an_equal_text():
    seen = []

    class Remembering:
        def fit(self, inputs, labels):
            self.inputs = set(inputs)
            return self

        def predict_proba(self, inputs):
            seen.append(self.inputs & set(inputs))
            return np.full((len(inputs), 2), 0.5)

    texts = [f"text {number % 20}" for number in range(60)]
    cross_fit(Remembering, Examples(texts, np.full((60, 2), 0.5)), draw_folds(group_items(texts), 0))
    assert seen == [set(), set(), set()]


def test_classifier_of_one_distinct_text_is_made():
    model = Classifier().fit(["free money", "free money"], np.array([[0.2, 0.8], [0.4, 0.6]]))
    assert_allclose(model.predict_proba(["free money"]), [[0.3, 0.7]], atol=0.01)


def test_classifier_with_the_same_seed_is_the_same():
    texts, soft, _ = messages()
    first, again = (Classifier(seed=3).fit(texts, soft).cross_fitted_ for _ in range(2))
    assert_array_equal(first, again)
    assert np.abs(Classifier(seed=4).fit(texts, soft).cross_fitted_ - first).max() > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"l2": -1}, "l2 is -1; expected a number, 0 or more"),
        ({"min_count": 0}, "min_count is 0"),
        ({"max_terms": 0}, "max_terms is"),
    ],
)
def test_hyper_parameters_out_of_range_are_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        Classifier(**changes)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("one text", "training inputs is one text, 'one text'; expected a sequence of texts"),
        (["a", None], r"inputs\[1\] is None; expected a text"),
        ([["a"], ["b"]], "inputs cannot be read as numbers .*; expected"),
    ],
)
def test_inputs_that_are_neither_texts_nor_features_are_refused(inputs, message):
    with pytest.raises(ParameterError, match=message):
        Classifier().fit(inputs, np.eye(2))


def files_of(tmp_path):
    texts, soft, kinds = messages()
    named = Labels(kinds, soft, ("ham", "spam"))
    features, three, _ = blobs()
    return tmp_path / "c.safetensors", texts, named, features, three


def test_saved_classifiers_judge_as_before(tmp_path):
    path, texts, named, features, three = files_of(tmp_path)
    models = [
        (Classifier(seed=5).fit(texts, named), texts),
        (Classifier().fit(features, three), features),
        (Linear().fit(features, three), features),
        (Tfidf(Linear(1e-3), dimensions=3).fit(texts, named), texts),
        (Tfidf(Search(Linear(), {"l2": (1e-4, 1e-2)})).fit(texts, named), texts),
    ]
    for model, inputs in models:
        model.save(path)
        loaded = hl.Classifier.load(path)
        assert isinstance(loaded, type(model))
        assert_allclose(loaded.predict_proba(inputs), model.predict_proba(inputs), atol=1e-12)
        assert_array_equal(loaded.predict(inputs), model.predict(inputs))
    assert loaded.head.l2 == models[-1][0].head.best_params_["l2"]


def test_a_saved_search_is_its_best_model(tmp_path):
    path, _, _, features, three = files_of(tmp_path)
    search = Search(Linear(), {"l2": (1e-4, 1e-2)}).fit(features, three)
    search.save(path)
    assert_allclose(BaseClassifier.load(path).predict_proba(features), search.predict_proba(features))


def test_a_file_holds_terms_as_text_and_nothing_pickled(tmp_path):
    path, texts, named, *_ = files_of(tmp_path)
    Classifier().fit(texts, named).save(path)
    raw = path.read_bytes()
    header = json.loads(json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["header"])
    assert "free" in header["parts"]["_base"]["values"]["terms"]
    assert header["classes"] == ["ham", "spam"]


def test_an_unfitted_or_foreign_classifier_is_not_saved_or_loaded(tmp_path):
    path, texts, named, *_ = files_of(tmp_path)
    with pytest.raises(NotFittedError, match="this Classifier is not fitted"):
        Classifier().save(path)

    class Own(Linear):
        def _state(self):
            return BaseClassifier._state(self)

    with pytest.raises(ParameterError, match="a Own cannot be saved; expected one of Classifier, Linear"):
        Own().fit(*blobs()[:2]).save(path)
    write_tensors(path, {}, {"class": "os.system"}, "classifier")
    with pytest.raises(WeightsError, match=r"does not hold a complete classifier \(class 'os.system'\); save it again"):
        Classifier.load(path)
    hl.HyperLabelModel().fit([[0, 1]]).save(path)
    with pytest.raises(WeightsError, match="holds a saved label model: read it with hyperlabel.load"):
        Classifier.load(path)
    Classifier().fit(texts, named).save(path)
    with pytest.raises(WeightsError, match="holds a saved classifier: read it with hyperlabel.Classifier.load"):
        hl.load(path)


@pytest.mark.torch
def test_a_saved_mlp_judges_as_before(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed (extra `text`)")
    from hyperlabel.classify import MLP

    path, _, _, features, three = files_of(tmp_path)
    for layers in (1, 3):
        model = MLP(epochs=2, layers=layers, device="cpu").fit(features, three)
        model.save(path)
        assert_allclose(BaseClassifier.load(path).predict_proba(features), model.predict_proba(features))
