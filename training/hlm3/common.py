"""What the research scripts share: real sets for the final look, the shipped hlm2, scores."""

import json
import pathlib
import sys

import numpy as np

from hyperlabel.networks import load_network
from hyperlabel.networks import Gold
from hyperlabel import Patterns
from hyperlabel import Votes
from hyperlabel.networks import load_weights

DATA = pathlib.Path("../shared/data")
ANCHORS = json.loads((DATA / "anchors.json").read_text())
FAMILIES = ("wrench", "crowd", "panel", "other")
sys.path.insert(0, "../shared/acceptance")


def names(family):
    return [n for n, a in ANCHORS.items() if a["family"] == family]


def load(name):
    data = np.load(DATA / f"{name}.npz")
    votes, truth = data["L"].astype(np.int64), data["y"].astype(np.int64)
    votes = votes[:, (votes >= 0).any(0)]
    kept = (votes >= 0).any(1)
    return votes[kept], truth[kept], ANCHORS[name]["k"]


def score(name, truth, labels):
    known = truth >= 0
    t, p = truth[known], np.asarray(labels)[known]
    if ANCHORS[name]["metric"] == "f1":
        return 100 * 2 * ((p == 1) & (t == 1)).sum() / max(1, (p == 1).sum() + (t == 1).sum())
    return 100 * (p == t).mean()


def to_patterns(votes, k):
    return Patterns.from_votes(Votes.from_array(votes, n_classes=k))


def brier(truth, proba):
    known = truth >= 0
    t, p = truth[known], proba[known]
    return float(((p - np.eye(p.shape[1])[t]) ** 2).sum(1).mean())


def ece(truth, proba, bins=10):
    known = truth >= 0
    t, p = truth[known], proba[known]
    conf, right = p.max(1), p.argmax(1) == t
    b = np.minimum((conf * bins).astype(int), bins - 1)
    return float(sum(abs(conf[b == i].mean() - right[b == i].mean()) * (b == i).mean() for i in range(bins) if (b == i).any()))


NET = load_network(load_weights("hlm2"))


def hlm2(patterns, gold_counts=None):
    gold = None if gold_counts is None else Gold.of(patterns, gold_counts)
    return NET.read_at_once(patterns, gold)
