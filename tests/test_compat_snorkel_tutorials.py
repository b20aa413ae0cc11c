"""Every import and call of Snorkel in its eight tutorials, through the door, on data made here.

Each test runs to the end of what its tutorial does with Snorkel, or to the sentence that says why it stops there.
"""

import sys
import warnings
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from hyperlabel.compat.snorkel import nlp as spacy_door

TRAINING = pytest.mark.filterwarnings("ignore:LabelModel is pre-trained and ignores")
ABSTAIN = -1


@pytest.fixture
def spacy(monkeypatch):
    """A module in the place of spaCy: documents have a person for each capitalized word."""
    module = ModuleType("spacy")

    class Entity:
        label_ = "PERSON"

    class Document:
        def __init__(self, text):
            self.words = text.split()
            self.ents = [Entity() for word in self.words if word.istitle()]

        def __len__(self):
            return len(self.words)

    module.load = lambda language, disable: Document
    monkeypatch.setitem(sys.modules, "spacy", module)
    monkeypatch.setattr(spacy_door, "_SHARED", {})
    spacy_door._load.cache_clear()
    yield module
    spacy_door._load.cache_clear()


def comments(n=200, seed=0):
    rng = np.random.default_rng(seed)
    spam = rng.integers(0, 2, n)
    words = np.array([["love", "song", "nice", "Anna", "wow"], ["check", "out", "subscribe", "http", "please"]])
    texts = [" ".join(rng.choice(words[c if rng.random() < 0.9 else 1 - c], rng.integers(2, 7))) for c in spam]
    return pd.DataFrame({"text": texts, "date": rng.integers(0, 9, n)}), spam


@TRAINING
def test_spam(spacy):
    from hyperlabel.compat.snorkel.labeling import (
        LabelingFunction,
        LFAnalysis,
        PandasLFApplier,
        filter_unlabeled_dataframe,
        labeling_function,
    )
    from hyperlabel.compat.snorkel.labeling.lf.nlp import nlp_labeling_function
    from hyperlabel.compat.snorkel.labeling.model import LabelModel, MajorityLabelVoter
    from hyperlabel.compat.snorkel.preprocess import preprocessor
    from hyperlabel.compat.snorkel.preprocess.nlp import SpacyPreprocessor
    from hyperlabel.compat.snorkel.utils import preds_to_probs, probs_to_preds

    from hyperlabel.compat.snorkel.analysis import get_label_buckets

    train, truth = comments()
    test, test_truth = comments(seed=1)

    @labeling_function()
    def check(x):
        return 1 if "check" in x.text.lower() else ABSTAIN

    def has_words(x, words, label):
        return label if any(word in x.text for word in words) else ABSTAIN

    def keyword(words, label):
        return LabelingFunction(name=f"keyword_{words[0]}", f=has_words, resources={"words": words, "label": label})

    first = [check, keyword(["subscribe"], 1)]
    votes = PandasLFApplier(lfs=first).apply(df=train)
    with warnings.catch_warnings():  # both LFs vote for spam only: a summary is no place to warn of labels
        warnings.simplefilter("error")
        summary = LFAnalysis(L=votes, lfs=first).lf_summary()
    assert summary["Polarity"].tolist() == [[1], [1]]
    buckets = get_label_buckets(votes[:, 0], votes[:, 1])
    assert len(train.iloc[buckets[ABSTAIN, 1]]) == ((votes[:, 0] == -1) & (votes[:, 1] == 1)).sum()

    @preprocessor(memoize=True)
    def count_words(x):
        x.n_words = len(x.text.split())
        return x

    @labeling_function(pre=[count_words])
    def short(x):
        return 0 if x.n_words < 3 else ABSTAIN

    documents = SpacyPreprocessor(text_field="text", doc_field="doc", memoize=True)

    @labeling_function(pre=[documents])
    def person(x):
        return 0 if x.doc.ents else ABSTAIN

    @nlp_labeling_function()
    def person_again(x):
        return 0 if any(entity.label_ == "PERSON" for entity in x.doc.ents) else ABSTAIN

    lfs = [*first, keyword(["http"], 1), keyword(["song", "love"], 0), short, person, person_again]
    applier = PandasLFApplier(lfs)
    votes, test_votes = applier.apply(train), applier.apply(df=test)
    assert LFAnalysis(votes, lfs).lf_summary().index.tolist()[0] == "check"
    majority = MajorityLabelVoter()
    assert set(majority.predict(L=votes)) <= {ABSTAIN, 0, 1}
    model = LabelModel(cardinality=2, verbose=True)
    model.fit(L_train=votes, n_epochs=500, log_freq=100, seed=123)
    for each in (majority, model):
        assert each.score(L=test_votes, Y=test_truth, tie_break_policy="random")["accuracy"] > 0.8
    probs = model.predict_proba(L=votes)
    kept, kept_probs = filter_unlabeled_dataframe(X=train, y=probs, L=votes)
    assert (probs_to_preds(probs=kept_probs) == truth[kept.index]).mean() > 0.8
    assert preds_to_probs(probs_to_preds(kept_probs), 2).shape == kept_probs.shape


@TRAINING
def test_spouse():
    from hyperlabel.compat.snorkel.labeling import (
        LFAnalysis,
        PandasLFApplier,
        filter_unlabeled_dataframe,
        labeling_function,
    )
    from hyperlabel.compat.snorkel.labeling.model import LabelModel
    from hyperlabel.compat.snorkel.preprocess import preprocessor
    from hyperlabel.compat.snorkel.types import DataPoint
    from hyperlabel.compat.snorkel.utils import probs_to_preds

    from hyperlabel.compat.snorkel.analysis import metric_score

    @preprocessor()
    def add_words(x: DataPoint) -> DataPoint:
        x.words = x.between_text.split()
        return x

    def word_lf(word, label):
        @labeling_function(name=f"has_{word}", resources={"word": word}, pre=[add_words])
        def lf(x, word):
            return label if word in x.words else ABSTAIN

        return lf

    lfs = [word_lf(word, 1) for word in ("wed", "wife", "married")] + [word_lf(word, 0) for word in ("boss", "met")]
    (train, _), (dev, truth) = candidates(0), candidates(1)
    applier = PandasLFApplier(lfs)
    dev_votes, votes = applier.apply(dev), applier.apply(train)
    assert "Emp. Acc." in LFAnalysis(dev_votes, lfs).lf_summary(truth)
    model = LabelModel(cardinality=2, verbose=True)
    model.fit(votes, truth, n_epochs=5000, log_freq=500, seed=12345)
    probs = model.predict_proba(dev_votes)
    preds = probs_to_preds(probs)
    assert metric_score(truth, preds, probs=probs, metric="f1") > 0.5
    assert metric_score(truth, probs=probs, metric="roc_auc") > 0.7
    assert metric_score(truth, preds=preds, metric="f1") == metric_score(truth, preds, metric="f1")
    kept, kept_probs = filter_unlabeled_dataframe(X=train, y=model.predict_proba(votes), L=votes)
    assert len(kept) == len(kept_probs) < len(train)


def candidates(seed, n=1500):
    """Pairs of people, 8% of them married; LFs vote on a quarter, and find married pairs far more often than others."""
    rng = np.random.default_rng(seed)
    married = rng.random(n) < 0.08
    yes, no = (rng.random((n, 3)) < np.where(married, 0.35, 0.03)[:, None]), rng.random((n, 2)) < 0.08
    said = [
        [word for word, found in zip(("wed", "wife", "married", "boss", "met"), [*y, *o], strict=True) if found]
        for y, o in zip(yes, no & ~married[:, None], strict=True)
    ]
    return pd.DataFrame({"between_text": [" ".join(["and", *words]) for words in said]}), married.astype(int)


@TRAINING
def test_crowdsourcing():
    from hyperlabel.compat.snorkel.labeling import LabelingFunction, LFAnalysis, PandasLFApplier, labeling_function
    from hyperlabel.compat.snorkel.labeling.model import LabelModel
    from hyperlabel.compat.snorkel.preprocess import preprocessor

    from hyperlabel.compat.snorkel.analysis import metric_score

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    frame = pd.DataFrame({"mood": truth + rng.normal(0, 0.7, 300)}, index=pd.Index(range(1000, 1300), name="tweet"))

    def worker_says(x, worker_dict):
        return worker_dict.get(x.name, ABSTAIN)

    def make_worker(number):
        chosen = rng.choice(300, 60, replace=False)
        said = {1000 + int(i): int(truth[i] if rng.random() < 0.75 else 1 - truth[i]) for i in chosen}
        return LabelingFunction(f"worker_{number}", f=worker_says, resources={"worker_dict": said})

    workers = [make_worker(number) for number in range(20)]
    votes = PandasLFApplier(workers).apply(frame)
    assert len(LFAnalysis(votes, workers).lf_summary(truth).sample(5)) == 5
    assert 0.9 < LFAnalysis(votes).label_coverage() <= 1

    @preprocessor(memoize=True)
    def polarity(x):
        x.polarity = x.mood - 0.5
        return x

    @labeling_function(pre=[polarity])
    def positive(x):
        return 1 if x.polarity > 0.5 else ABSTAIN

    @labeling_function(pre=[polarity])
    def negative(x):
        return 0 if x.polarity < -0.5 else ABSTAIN

    lfs = [*workers, positive, negative]
    votes = PandasLFApplier(lfs).apply(frame)
    model = LabelModel(cardinality=2, verbose=True)
    model.fit(votes, n_epochs=100, seed=123, log_freq=20, l2=0.1, lr=0.01)
    assert metric_score(truth, model.predict(votes), probs=None, metric="accuracy") > 0.85


@TRAINING
def test_recsys():
    from hyperlabel.compat.snorkel.labeling import LFAnalysis, PandasLFApplier, filter_unlabeled_dataframe
    from hyperlabel.compat.snorkel.labeling.lf import labeling_function
    from hyperlabel.compat.snorkel.labeling.model import LabelModel
    from hyperlabel.compat.snorkel.preprocess import preprocessor

    rng = np.random.default_rng(0)
    rating = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"book": rng.integers(0, 20, 200), "authors": [[f"a{i % 7}"] for i in range(200)]})
    frame["review"] = np.where(rng.random(200) < 0.8, rating, 1 - rating)

    @labeling_function(resources={"books": {3, 4, 5}})
    def shared_book(x, books):
        return 1 if x.book in books else ABSTAIN

    @labeling_function(resources={"known": {"a1"}})
    def shared_author(x, known):
        return 1 if known & set(x.authors) else ABSTAIN

    @preprocessor(memoize=True)  # of rows with lists
    def polarity(x):
        x.polarity = 2 * x.review - 1
        return x

    @labeling_function(pre=[polarity])
    def likes(x):
        return 1 if x.polarity > 0 else ABSTAIN

    @labeling_function(pre=[polarity])
    def dislikes(x):
        return 0 if x.polarity < 0 else ABSTAIN

    lfs = [shared_book, shared_author, likes, dislikes]
    votes = PandasLFApplier(lfs).apply(frame)
    assert len(LFAnalysis(votes, lfs).lf_summary(rating)) == 4
    model = LabelModel(cardinality=2, verbose=True)
    model.fit(votes, n_epochs=5000, seed=123, log_freq=20, lr=0.01)
    kept, labels = filter_unlabeled_dataframe(frame, model.predict(votes), votes)
    assert (labels == rating[kept.index]).mean() > 0.7


@TRAINING
def test_visual_relation():
    from hyperlabel.compat.snorkel.labeling import LFAnalysis, PandasLFApplier, labeling_function
    from hyperlabel.compat.snorkel.labeling.model import LabelModel

    from hyperlabel.compat.snorkel.analysis import Scorer

    rng = np.random.default_rng(0)
    relation = rng.integers(0, 3, 300)
    frame = pd.DataFrame({"height": relation + rng.normal(0, 0.3, 300), "area": relation + rng.normal(0, 0.5, 300)})

    def by_size(field, label):
        @labeling_function(name=f"{field}_{label}")
        def lf(x):
            return label if round(x[field]) == label else ABSTAIN

        return lf

    lfs = [by_size(field, label) for field in ("height", "area") for label in range(3)]
    votes = PandasLFApplier(lfs).apply(frame)
    assert len(LFAnalysis(votes, lfs).lf_summary(relation)) == 6
    model = LabelModel(cardinality=3, verbose=True)
    model.fit(votes, seed=123, lr=0.01, log_freq=10, n_epochs=100)
    assert model.score(votes, relation, metrics=["f1_micro"])["f1_micro"] > 0.85
    frame["labels"] = model.predict(votes)
    assert Scorer(metrics=["f1_micro"]).score(relation, frame["labels"].to_numpy())["f1_micro"] > 0.85
    for path, name in (
        ("classification", "DictDataLoader"),
        ("classification", "Trainer"),
        ("classification", "MultitaskClassifier"),
        ("classification", "DictDataset"),
        ("classification", "Operation"),
        ("classification", "Task"),
        ("classification.data", "XDict"),
        ("classification.data", "YDict"),
    ):
        refuses(path, name)


def refuses(path, name):
    """An import that only Snorkel can serve says so, in the words to type."""
    with pytest.raises(ImportError, match=f"import this from snorkel itself, `from snorkel.{path} import {name}`"):
        exec(f"from hyperlabel.compat.snorkel.{path} import {name}")  # noqa: S102


def articles():
    return pd.DataFrame({"title": ["Ann Smith", "Rates rise", "bank news"], "body": ["went home", "Bob says", "bank"]})


def test_drybell_on_dask(spacy):
    pytest.importorskip("dask.dataframe")
    from dask import dataframe
    from hyperlabel.compat.snorkel.labeling.apply.dask import DaskLFApplier
    from hyperlabel.compat.snorkel.labeling.lf import labeling_function
    from hyperlabel.compat.snorkel.labeling.lf.nlp import nlp_labeling_function
    from hyperlabel.compat.snorkel.labeling.model import LabelModel
    from hyperlabel.compat.snorkel.preprocess import preprocessor

    @preprocessor()
    def combine(x):
        x.article = f"{x.title} {x.body}"
        return x

    @nlp_labeling_function(text_field="article", pre=[combine], resources={"fewest": 2})
    def people(x, fewest):
        return 1 if len(x.doc.ents) >= fewest else ABSTAIN

    @labeling_function()
    def bank(x):
        return 0 if "bank" in x.body else ABSTAIN

    votes = DaskLFApplier([people, bank]).apply(dataframe.from_pandas(articles(), npartitions=2), scheduler="threads")
    assert votes.tolist() == [[1, -1], [1, -1], [-1, 0]]
    model = LabelModel(cardinality=2)
    model.fit(votes)
    assert (model.predict_proba(votes)[:, 1] > 0.5).tolist() == [True, True, False]


class Rows(list):
    """What an applier needs of an RDD."""

    def mapPartitions(self, function):  # noqa: N802 - Spark's name
        return Rows(function(iter(self)))

    def collect(self):
        return list(self)


def test_drybell_on_spark(spacy):
    Row = pytest.importorskip("pyspark.sql").Row

    from hyperlabel.compat.snorkel.labeling.apply.spark import SparkLFApplier
    from hyperlabel.compat.snorkel.labeling.lf import labeling_function
    from hyperlabel.compat.snorkel.labeling.lf.nlp_spark import spark_nlp_labeling_function
    from hyperlabel.compat.snorkel.labeling.model import LabelModel
    from hyperlabel.compat.snorkel.preprocess import preprocessor
    from hyperlabel.compat.snorkel.preprocess.spark import make_spark_preprocessor

    @preprocessor()
    def combine(x):
        return Row(title=x.title, body=x.body, article=f"{x.title} {x.body}")

    @spark_nlp_labeling_function(text_field="article", pre=[combine], resources={"fewest": 2})
    def people(x, fewest):
        return 1 if len(x.doc.ents) >= fewest else ABSTAIN

    @labeling_function()
    def bank(x):
        return 0 if "bank" in x.body else ABSTAIN

    assert make_spark_preprocessor(people.pre[0]) is people.pre[0]
    votes = SparkLFApplier([people, bank]).apply(Rows(Row(**row) for row in articles().to_dict("records")))
    assert votes.tolist() == [[1, -1], [1, -1], [-1, 0]]
    model = LabelModel(cardinality=2)
    model.fit(votes)
    assert (model.predict_proba(votes)[:, 1] > 0.5).tolist() == [True, True, False]


def test_multitask():
    from hyperlabel.compat.snorkel.analysis import Scorer

    scores = Scorer(metrics=["accuracy"]).score(np.array([0, 1, -1]), np.array([0, 0, 1]))
    assert scores == {"accuracy": 0.5}
    for name in ("DictDataset", "DictDataLoader", "Operation", "Task", "MultitaskClassifier", "Trainer"):
        refuses("classification", name)


@TRAINING
def test_getting_started():
    from hyperlabel.compat.snorkel.labeling import PandasLFApplier, labeling_function
    from hyperlabel.compat.snorkel.labeling.model import LabelModel

    train, truth = comments()

    @labeling_function()
    def my(x):
        return 1 if "subscribe" in x.text.lower() else ABSTAIN

    @labeling_function()
    def link(x):
        return 1 if "http" in x.text else ABSTAIN

    @labeling_function()
    def song(x):
        return 0 if "song" in x.text else ABSTAIN

    votes = PandasLFApplier([my, link, song]).apply(train)
    model = LabelModel(cardinality=2, verbose=True)
    model.fit(votes, n_epochs=500, log_freq=50, seed=123)
    train["label"] = model.predict(L=votes, tie_break_policy="abstain")
    kept = train[train.label != ABSTAIN]
    assert (kept.label == truth[kept.index]).mean() > 0.8
    for name in ("transformation_function", "ApplyOnePolicy", "PandasTFApplier"):
        refuses("augmentation", name)
    refuses("slicing", "slicing_function")


def test_spam_augmentation_and_slicing():
    from hyperlabel.compat.snorkel.analysis import Scorer

    for name in ("RandomPolicy", "MeanFieldPolicy", "PandasTFApplier", "transformation_function"):
        refuses("augmentation", name)
    for path, name in (
        ("classification", "Trainer"),
        ("classification.data", "DictDataset"),
        ("classification.data", "DictDataLoader"),
    ):
        refuses(path, name)
    for name in ("PandasSFApplier", "SlicingFunction", "SliceAwareClassifier", "slice_dataframe", "slicing_function"):
        refuses("slicing", name)
    slices = np.array([(1,), (1,), (0,)], dtype=[("short", int)]).view(np.recarray)
    golds, preds, probs = np.array([0, 1, 1]), np.array([0, 0, 1]), np.full((3, 2), 0.5)
    scorer = Scorer(metrics=["accuracy"], custom_metric_funcs={"n": lambda golds, preds, probs: len(golds)})
    table = scorer.score_slices(S=slices, golds=golds, preds=preds, probs=probs, as_dataframe=True)
    assert table.loc["short"].tolist() == [0.5, 2]
    assert scorer.score_slices(slices, golds, preds, probs)["overall"] == {"accuracy": 2 / 3, "n": 3}
