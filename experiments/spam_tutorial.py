"""Snorkel's spam tutorial through both doors: labels of the training comments, and the end model on other comments.

python -m experiments spam_tutorial --data DATA --out experiments/results/spam_tutorial.md

The end model is the tutorial's: logistic regression on counts of one to five words. The tutorial trains on comments
under four videos and tests on 250 comments under a fifth one. A single test set says little, so the same is repeated on
random splits of all comments.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hyperlabel as hl
from experiments.markdown import number, table
from hyperlabel.compat import snorkel

SPLITS, TEST_SHARE = 8, 0.2
"""Number of random splits, and the share of the comments that each leaves out for the test."""

Labels = NDArray[np.int_]


def run(data: Path) -> str:
    """The table: a row for the labels of each label model, and for the truth."""
    arrays = np.load(data / "youtube.npz")
    lines = (data / "raw" / "youtube.jsonl").read_text(encoding="utf-8").splitlines()
    texts = np.array([json.loads(line)["text"] for line in lines], object)
    split = arrays["split"]
    fifth = _measure(arrays["L"], arrays["y"], texts, split == 0, split == 2)
    draws = [np.random.default_rng(seed).random(len(texts)) < TEST_SHARE for seed in range(SPLITS)]
    found = np.array([_measure(arrays["L"], arrays["y"], texts, ~test, test) for test in draws])  # (splits, 4, 4)
    rows = [
        [name, *map(number, fifth[i]), *map(number, found[:, i, ::2].mean(0)), number(found[:, i, 2].std())]
        for i, name in enumerate(("Snorkel", "hyperlabel", "hyperlabel, with texts", "truth"))
    ]
    wins = int((found[:, 1, 2] > found[:, 0, 2]).sum())
    head = [
        "labels by",
        "right",
        "ham called spam",
        "end model",
        "spam that it finds",
        "right, random splits",
        "end model",
        "±",
    ]
    return f"{table(head, rows)}\n\nhyperlabel's end model is ahead of Snorkel's on {wins} of {SPLITS} random splits.\n"


def _measure(
    votes: Labels, truth: Labels, texts: NDArray[np.object_], train: NDArray[np.bool_], test: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Percentages by label model: its right labels and false alarms, the end model's accuracy and recall of spam."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    covered = train & (votes >= 0).any(1)
    counts = CountVectorizer(ngram_range=(1, 5))
    inputs, unseen = counts.fit_transform(texts[covered]), counts.transform(texts[test])
    ham, spam, rows = truth[covered] == 0, truth[test] == 1, []
    for labels in (*_label(votes[train], votes[covered], texts[covered].tolist()), truth[covered]):
        right = LogisticRegression(C=1e3, solver="liblinear").fit(inputs, labels).predict(unseen) == truth[test]
        rows.append([(labels == truth[covered]).mean(), labels[ham].mean(), right.mean(), right[spam].mean()])
    return 100 * np.array(rows)


def _label(train: Labels, covered: Labels, texts: list[str]) -> list[Labels]:
    """Labels of the covered items by Snorkel as in its tutorial, by hyperlabel, and by hyperlabel with texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Snorkel's, at import
        from snorkel.labeling.model import LabelModel

    theirs, ours = LabelModel(cardinality=2, verbose=False), snorkel.LabelModel(cardinality=2)
    theirs.fit(train, n_epochs=500, log_freq=100, seed=123, progress_bar=False)
    ours.fit(train)
    with_texts = hl.label(covered, texts).probabilities
    probabilities = (theirs.predict_proba(covered), ours.predict_proba(covered), with_texts)
    return [snorkel.probs_to_preds(each) for each in probabilities]
