"""Snorkel's module paths below `hyperlabel.compat.snorkel`, and what its tutorials import from them."""

import importlib
import inspect
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hyperlabel.compat.snorkel import (
    NLPLabelingFunction,
    PandasLFApplier,
    SpacyPreprocessor,
    filter_labels,
    get_label_buckets,
    get_label_instances,
    metric_score,
    nlp_labeling_function,
)
from hyperlabel.compat.snorkel import nlp as spacy_door
from hyperlabel.errors import HyperlabelError, MissingExtraError
from snorkel_doors import with_snorkel

IMPORTS = {  # what tutorials and scripts import, and from where
    "labeling": (
        "LFAnalysis", "LFApplier", "LabelingFunction", "PandasLFApplier", "filter_unlabeled_dataframe",
        "labeling_function",
    ),
    "labeling.analysis": ("LFAnalysis",),
    "labeling.apply.core": ("ApplierMetadata", "LFApplier"),
    "labeling.apply.dask": ("DaskLFApplier", "PandasParallelLFApplier"),
    "labeling.apply.pandas": ("PandasLFApplier",),
    "labeling.lf": ("LabelingFunction", "labeling_function"),
    "labeling.lf.core": ("LabelingFunction", "labeling_function"),
    "labeling.model": ("LabelModel", "MajorityClassVoter", "MajorityLabelVoter", "RandomVoter"),
    "labeling.model.baselines": ("MajorityClassVoter", "MajorityLabelVoter", "RandomVoter"),
    "labeling.model.label_model": ("LabelModel",),
    "labeling.utils": ("filter_unlabeled_dataframe",),
    "map": ("BaseMapper", "LambdaMapper", "Mapper", "lambda_mapper"),
    "map.core": ("BaseMapper", "LambdaMapper", "Mapper", "lambda_mapper"),
    "preprocess": ("BasePreprocessor", "LambdaPreprocessor", "Preprocessor", "preprocessor"),
    "preprocess.core": ("BasePreprocessor", "LambdaPreprocessor", "Preprocessor", "preprocessor"),
    "analysis": ("Scorer", "get_label_buckets", "get_label_instances", "metric_score"),
    "analysis.error_analysis": ("get_label_buckets", "get_label_instances"),
    "analysis.metrics": ("METRICS", "metric_score"),
    "analysis.scorer": ("Scorer",),
    "types": ("Config", "DataPoint", "DataPoints", "Field", "FieldMap", "HashingFunction"),
    "utils.core": ("filter_labels", "preds_to_probs", "probs_to_preds", "to_int_label_array"),
    "utils": ("filter_labels", "preds_to_probs", "probs_to_preds", "to_int_label_array"),
}  # fmt: skip
WITHOUT_SNORKEL = {  # Snorkel's own modules need packages that are not installed
    "labeling.apply.spark": ("SparkLFApplier",),
    "labeling.lf.nlp": ("NLPLabelingFunction", "nlp_labeling_function"),
    "labeling.lf.nlp_spark": ("SparkNLPLabelingFunction", "spark_nlp_labeling_function"),
    "map.spark": ("make_spark_mapper",),
    "preprocess.spark": ("make_spark_preprocessor",),
    "preprocess.nlp": ("SpacyPreprocessor",),
}


@pytest.mark.parametrize("path", [*IMPORTS, *WITHOUT_SNORKEL])
def test_module_has_what_scripts_import(path):
    module = importlib.import_module(f"hyperlabel.compat.snorkel.{path}")
    assert sorted(module.__all__) == sorted((IMPORTS | WITHOUT_SNORKEL)[path])
    assert all(hasattr(module, name) for name in module.__all__)


def test_modules_are_attributes_of_those_above_them():
    import hyperlabel.compat.snorkel.labeling.lf.nlp

    from hyperlabel.compat.snorkel import labeling

    assert hyperlabel.compat.snorkel.labeling is labeling
    assert labeling.lf.nlp.nlp_labeling_function is nlp_labeling_function


@with_snorkel
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", IMPORTS)
def test_names_of_a_module_are_in_that_of_snorkel(path):
    theirs = importlib.import_module(f"snorkel.{path}")
    assert [name for name in IMPORTS[path] if not hasattr(theirs, name)] == []


Y = (np.array([1, 1, 1, 0, 0]), np.array([[1], [1], [-1], [-1], [1]]))


@with_snorkel
@pytest.mark.filterwarnings("ignore")
def test_buckets_instances_and_filtered_labels_are_those_of_snorkel():
    from snorkel import analysis, utils

    found, expected = get_label_buckets(*Y), analysis.get_label_buckets(*Y)
    assert {key: value.tolist() for key, value in found.items()} == {k: v.tolist() for k, v in expected.items()}
    x = np.array(list("abcde"))
    for bucket in ((1, 1), (0, -1), (0, 1)):
        assert_array_equal(get_label_instances(bucket, x, *Y), analysis.get_label_instances(bucket, x, *Y))
    assert len(get_label_instances((5, 5), x, *Y)) == 0
    labels = {"golds": Y[0], "preds": Y[1].ravel(), "probs": None}
    for left_out in ({"golds": [0], "preds": [-1]}, {"preds": [-1]}):
        ours, theirs = filter_labels(labels, left_out), utils.filter_labels(labels, left_out)
        assert_array_equal(ours["golds"], theirs["golds"])
        assert_array_equal(ours["preds"], theirs["preds"])


@with_snorkel
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["accuracy", "coverage", "precision", "recall", "f1", "f1_macro", "roc_auc"])
def test_metric_score_is_that_of_snorkel(metric):
    from snorkel import analysis

    golds, preds, probs = np.array([1, 0, 1, 0]), np.array([1, 1, 1, 0]), np.array([[0.1, 0.9], [0.4, 0.6]] * 2)
    assert metric_score(golds, preds, probs, metric) == analysis.metric_score(golds, preds, probs, metric)


@with_snorkel
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["accuracy", "coverage", "f1_micro", "f1_macro", "matthews_corrcoef", "roc_auc"])
@pytest.mark.parametrize("left_out", [{}, {"preds": [-1]}])
def test_abstentions_count_as_in_snorkel(metric, left_out):
    from snorkel import analysis

    golds, preds = np.array([0, 1, 1, 0, 1, 0]), np.array([0, 1, -1, 1, -1, 0])
    probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7], [0.5, 0.5], [0.8, 0.2]])
    assert metric_score(golds, preds, probs, metric, left_out) == pytest.approx(
        analysis.metric_score(golds, preds, probs, metric, left_out), abs=1e-12
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get_label_buckets(np.array([1]), np.array([1, 0])), r"y has arrays of \[1, 2\] labels; expected one"),
        (
            lambda: get_label_instances((1,), np.array(["a"]), *Y),
            r"bucket has 1 labels, y 2 arrays, x the shape \(1,\); expected a label",
        ),
        (lambda: metric_score(np.array([1, 2]), np.array([1, 1]), metric="f1"), "'f1', which is for two classes; use"),
        (lambda: metric_score(np.array([1, 0]), np.array([1, -1]), metric="f1"), "f1 cannot count -1; leave it out: f"),
        (lambda: metric_score(np.array([1])), "metric is 'accuracy', which needs preds; give it"),
        (lambda: metric_score(np.array([1]), np.array([1]), metric="roc_auc"), "which needs probs; give it"),
        (lambda: nlp_labeling_function(len), "@nlp_labeling_function lacks its parentheses"),
    ],
)
def test_mistake_is_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert isinstance(caught.value, HyperlabelError)


@pytest.fixture
def spacy(monkeypatch):
    """A module in the place of spaCy, whose documents are lists of words; it counts what it parses."""
    module = ModuleType("spacy")
    module.parsed = []

    def load(language, disable):
        assert (language, disable) == ("en_core_web_sm", ["ner"])
        return lambda text: module.parsed.append(text) or text.split()

    module.load = load
    monkeypatch.setitem(sys.modules, "spacy", module)
    monkeypatch.setattr(spacy_door, "_SHARED", {})
    spacy_door._load.cache_clear()
    yield module
    spacy_door._load.cache_clear()


def test_nlp_lfs_get_a_document_that_is_made_once_per_text(spacy):
    @nlp_labeling_function(disable=["ner"])
    def long(x):
        return 1 if len(x.doc) > 2 else -1

    @nlp_labeling_function(name="hi", resources={"word": "hi"}, disable=["ner"])
    def greets(x, word):
        return 0 if word in x.doc else -1

    frame = pd.DataFrame({"text": ["hi you", "this is long", "hi you"]})
    votes = PandasLFApplier([long, greets]).apply(frame, progress_bar=False)
    assert votes.tolist() == [[-1, 0], [1, -1], [-1, 0]]
    assert sorted(set(spacy.parsed)) == sorted(spacy.parsed)
    assert (isinstance(long, NLPLabelingFunction), greets.name) == (True, "hi")
    point = SimpleNamespace(body="a b")
    assert SpacyPreprocessor("body", "words", disable=["ner"])(point).words == ["a", "b"]
    assert not hasattr(point, "words")


def test_nlp_lf_without_spacy_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    spacy_door._load.cache_clear()
    with pytest.raises(MissingExtraError, match="pip install spacy, then: python -m spacy download en_core_web_sm"):
        nlp_labeling_function()(len)


def test_signatures_of_nlp_lfs_have_snorkels_parameters():
    expected = [
        "name", "resources", "pre", "text_field", "doc_field", "language", "disable", "memoize", "memoize_key", "gpu",
    ]  # fmt: skip
    assert list(inspect.signature(nlp_labeling_function).parameters) == expected
