"""Votes, texts and thirty gold labels together: what `hl.label` is worth beside votes alone and the usual script.

    pip download vaderSentiment==0.5 --no-deps --no-binary :all: -d FOLDER
    python -m experiments texts --data DATA --vader FOLDER/vaderSentiment-0.5.zip --out experiments/results/texts.md

The sets with texts or features of DATA, and with --vader four sets of sentences whose sentiment twenty people rated,
which the source archive of vaderSentiment 0.5 carries (C. Hutto and E. Gilbert, "VADER", ICWSM 2014). Their LFs are the
few lists of words below, written without a look at the ratings. Every LF and item counts, and so does an item without a
label.
"""

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hyperlabel as hl
from experiments.markdown import number, table
from hyperlabel._core import Float64, Metric, metrics
from hyperlabel.classify import Vectors
from hyperlabel.data import Labels

Ints = NDArray[np.int64]

RAW: dict[str, tuple[str, Metric]] = {
    "youtube": ("youtube", "accuracy"),
    "sms": ("sms", "f1"),
    "semeval": ("semeval", "accuracy"),
    "chemprot": ("chemprot", "accuracy"),
}
"""Sets whose texts are in DATA/raw: the file of the texts, and the metric."""

VADER = ("tweets", "amazonReviewSnippets", "movieReviewSnippets", "nytEditorialSnippets")
CLEAR = 0.5
"""Ratings from -4 to 4 that are nearer to 0 than this have no class."""

POSITIVE = (
    ["love", "loved", "loves", "lovely"],
    ["good", "nice", "fine"],
    ["great", "excellent", "amazing", "awesome", "fantastic", "wonderful", "brilliant"],
    ["happy", "glad", "fun", "enjoy", "enjoyed", "funny"],
    ["best", "perfect", "beautiful", "favorite"],
    ["thanks", "thank you", "congratulations", "win", "won"],
    ["recommend", "easy", "works well", "success", "hope"],
)
NEGATIVE = (
    ["hate", "hates", "hated"],
    ["bad", "terrible", "awful", "horrible", "worst", "poor"],
    ["boring", "dull", "stupid", "mess", "waste", "lame"],
    ["sad", "sorry", "unfortunately", "miss", "cry"],
    ["problem", "problems", "broken", "failed", "fails", "disappointing", "disappointed", "trouble"],
    ["angry", "fear", "war", "death", "killed", "dead", "attack", "crisis"],
)
F1 = ("census", "sms_prompt", "spouse", "spouse_promptaug")
MOST, GOLD, DRAWS = 3000, 30, 5
"""Items of a set, gold items, and how often these are drawn."""


@dataclass(frozen=True)
class TextSet:
    """Votes, texts and truth of one set."""

    name: str
    metric: Metric
    votes: Ints
    texts: Any  # a list of texts, or (n, q) features
    truth: Ints

    @cached_property
    def vectors(self) -> Vectors:
        """Texts or features as `hl.label` takes them, encoded once."""
        return Vectors.of(None, self.texts) if isinstance(self.texts, np.ndarray) else Vectors.of(self.texts)

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.truth.max()) + 1

    @property
    def voted(self) -> NDArray[np.bool_]:
        """Whether an item has votes. (n,)."""
        return np.asarray((self.votes >= 0).any(1))


def read_sets(folder: Path, vader: Path | None) -> Iterator[TextSet]:
    for name, (texts, metric) in RAW.items():
        arrays = np.load(folder / f"{name}.npz")
        lines = (folder / "raw" / f"{texts}.jsonl").read_text(encoding="utf-8").splitlines()
        votes = arrays["L"].astype(np.int64)
        kept = votes[:, (votes >= 0).any(0)]
        yield TextSet(name, metric, kept, [json.loads(line)["text"] for line in lines], arrays["y"].astype(np.int64))
    if vader is not None:
        yield from read_vader(vader)


def read_vader(path: Path) -> Iterator[TextSet]:
    with zipfile.ZipFile(path) as archive:
        [inner] = [name for name in archive.namelist() if name.endswith(".tar.gz")]
        packed = io.BytesIO(archive.read(inner))
    with tarfile.open(fileobj=packed) as files:
        for name in VADER:
            member = files.extractfile(f"hutto_ICWSM_2014/{name}_GroundTruth.txt")
            assert member is not None
            rows = [line.split("\t") for line in member.read().decode("latin-1").splitlines()]
            clear = [(float(row[1]), row[2]) for row in rows if len(row) == 3 and abs(float(row[1])) >= CLEAR]
            texts = [text for _, text in clear]
            truth = np.array([rating > 0 for rating, _ in clear], np.int64)
            yield TextSet(f"{name} (VADER)", "accuracy", vote(texts), texts, truth)


def vote(texts: list[str]) -> Ints:
    """The votes of the lists of words."""
    lists = [(words, 1) for words in POSITIVE] + [(words, 0) for words in NEGATIVE]
    lfs = [hl.keyword_lf(words, c, name=words[0]) for words, c in lists]
    votes = hl.apply_lfs(lfs, [{"text": text} for text in texts])
    return votes.to_numpy().astype(np.int64)


def read_more(folder: Path) -> Iterator[TextSet]:
    """The sets of DATA/text, which come with their texts or features."""
    for path in sorted((folder / "text").glob("*.npz")):
        arrays, lines = np.load(path), path.with_suffix(".jsonl")
        metric: Metric = "f1" if path.stem in F1 else "accuracy"
        inputs = arrays["X"] if "X" in arrays else [json.loads(line)["text"] for line in lines.open(encoding="utf-8")]
        yield TextSet(path.stem, metric, arrays["L"].astype(np.int64), inputs, arrays["y"].astype(np.int64))


def run(folder: Path, vader: Path | None) -> str:
    """Scores over all items, Brier scores and calibration, and the scores of end models, as tables."""
    chosen = [draw_items(each) for each in (*read_sets(folder, vader), *read_more(folder))]
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(measure, chosen))
    names = [each.name for each in chosen]
    head = ["set", "majority + LR", "votes", "votes, gold", "label", "label, gold", "to the better", "with gold"]
    scores = table(head, with_mean(names, [row.scores() for row in rows]))
    ways = ["votes", "label", "label, gold"]
    head = ["set", *(f"{what}: {way}" for what in ("Brier", "ECE", "given at 0.9", "right at 0.9") for way in ways)]
    sure = table(head, with_mean(names, [row.trust for row in rows], 3))
    head = ["set", "hlm", "votes", "label", "label, most confident half", "label, half by neighbors", "label, gold"]
    taught = table(head, with_mean(names, [row.taught for row in rows]))
    note = (
        f"At most {MOST:,} random items of each set, all of them scored: an item without a label counts as wrong. "
        f"Gold: {GOLD} random items, which are not scored, mean of {DRAWS} draws. To the better: label minus the "
        "better of votes and majority + LR. ECE: calibration error of labels in ten bins of confidence. Given and "
        "right at 0.9: the share of items that `decide(threshold=0.9)` labels, and the share of these labels that are "
        "right. End models: `hl.Classifier` on seven tenths of the items, scored on the others; halves of the labels "
        "of each class: the most confident, or those that most of the 15 nearest texts share."
    )
    return "\n\n".join([scores, sure, "End models", taught, note])


@dataclass(frozen=True)
class Row:
    """Figures of one set."""

    majority: float
    votes: float
    votes_gold: float
    label: float
    label_gold: float
    trust: list[float]
    taught: list[float]

    def scores(self) -> list[float]:
        """All scores, and how far labels are from the better of votes and texts."""
        own = [self.majority, self.votes, self.votes_gold, self.label, self.label_gold]
        better = max(self.majority, self.votes)
        return [*own, self.label - better, self.label_gold - better]


def measure(data: TextSet) -> Row:
    """Score all ways of labeling a set."""
    every = np.ones(len(data.truth), bool)
    voted, label = hl.label(data.votes), hl.label(data.votes, data.vectors)
    drawn = [measure_gold(data, seed) for seed in range(1, DRAWS + 1)]
    votes_gold, label_gold, *trust_gold = np.mean(drawn, axis=0)
    trust = np.array([judge(data, voted, every), judge(data, label, every), trust_gold]).T.ravel().tolist()
    majority = score(data, by_majority(data), every)
    scores = majority, score(data, voted, every), votes_gold, score(data, label, every), label_gold
    return Row(*scores, trust, teach(data, label))


def measure_gold(data: TextSet, seed: int) -> list[float]:
    """Scores by votes and by all with gold, and what `judge` says of the latter, on the other items."""
    gold = draw_gold(data, seed)
    by_votes, labels = (hl.label(data.votes, inputs, gold=gold) for inputs in (None, data.vectors))
    scores = [score(data, each, gold < 0) for each in (by_votes, labels)]
    return [*scores, *judge(data, labels, gold < 0)]


def draw_items(data: TextSet) -> TextSet:
    """Some items of a set whose truth is known."""
    known = np.flatnonzero(data.truth >= 0)
    kept = np.sort(np.random.default_rng(0).choice(known, min(MOST, len(known)), replace=False))
    texts = data.texts[kept] if isinstance(data.texts, np.ndarray) else [data.texts[i] for i in kept]
    return TextSet(data.name, data.metric, data.votes[kept], texts, data.truth[kept])


def draw_gold(data: TextSet, seed: int) -> Ints:
    """The truth of some random items, -1 elsewhere. -> (n,)."""
    gold = np.full(len(data.truth), -1)
    picked = np.random.default_rng(seed).choice(len(gold), GOLD, replace=False)
    gold[picked] = data.truth[picked]
    return gold


def by_majority(data: TextSet) -> Labels:
    """What people do without a label model: logistic regression on the majority of the votes labels all items."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    inputs, own = data.texts, hl.label_model("mv", n_classes=data.k).label(data.votes)
    first = StandardScaler() if isinstance(inputs, np.ndarray) else TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    known = np.flatnonzero(own.best >= 0)
    taught = inputs[known] if isinstance(inputs, np.ndarray) else [inputs[i] for i in known]
    model = make_pipeline(first, LogisticRegression(max_iter=1000)).fit(taught, own.best[known])
    return replace(own, best=model.predict(inputs))


def judge(data: TextSet, labels: Labels, where: NDArray[np.bool_]) -> list[float]:
    """Brier score, calibration error, the share of items with a label at a threshold of 0.9, and of right ones."""
    right, labeled = (labels.best == data.truth)[where], labels.best[where] >= 0
    gaps = (labels.probabilities[where].max(1) - right)[labeled]
    bins = np.minimum((10 * (gaps + right[labeled])).astype(int), 9)
    sure = labels.decide(threshold=0.9).best[where] >= 0
    of_sure = right[sure].mean() if sure.any() else np.nan
    brier = metrics.brier(data.truth[where], labels.probabilities[where])
    return [brier, np.abs(np.bincount(bins, gaps)).sum() / len(gaps), sure.mean(), of_sure]


def teach(data: TextSet, joint: Labels) -> list[float]:
    """Scores of classifiers that learn from different labels, on items that these do not know."""
    aside = np.random.default_rng(0).random(len(data.truth)) < 0.3
    gold = np.where(aside, -1, draw_gold(data, 1))
    own = {name: hl.label(data.votes, model=name) for name in ("hlm", None)}
    taught = hl.label(data.votes, data.vectors, gold=gold)
    halves = (keep_half(joint, order) for order in (joint.confidence, agreement(data.vectors.dense, joint.best)))
    return [score_end_model(data, each, aside) for each in (*own.values(), joint, *halves, taught)]


def agreement(dense: NDArray[np.float32], best: Ints) -> Float64:
    """The share of the 15 nearest items that have the same label. -> (n,)."""
    similar = dense @ dense.T
    np.fill_diagonal(similar, -np.inf)
    nearest = np.argpartition(-similar, 15, axis=1)[:, :15]
    return np.asarray((best[nearest] == best[:, None]).mean(1))


def keep_half(labels: Labels, order: Float64) -> Labels:
    """Only the half of the labels of each class that is highest in an order, (n,)."""
    best = np.full(len(labels), -1)
    for c in range(len(labels.classes)):
        own = np.flatnonzero(labels.best == c)
        best[own[np.argsort(-order[own], kind="stable")[: (len(own) + 1) // 2]]] = c
    return replace(labels, best=best)


def score_end_model(data: TextSet, labels: Labels, aside: NDArray[np.bool_]) -> float:
    """The score of a classifier that learns from labels, on the items that are aside."""
    inputs = data.texts if isinstance(data.texts, np.ndarray) else np.array(data.texts, object)
    known = ~aside & (labels.best >= 0)
    kept = replace(labels, items=None)[np.flatnonzero(known)]
    model = hl.Classifier().fit(inputs[known], kept)
    best = np.asarray(model.predict_proba(inputs[aside]).argmax(1), np.int64)
    return metrics.score(data.metric, data.truth[aside], best, data.k)


def with_mean(names: list[str], rows: list[list[float]], digits: int = 1) -> list[list[str]]:
    """Rows of a table with their mean as the last; scores are in percent."""
    factor = 100 if digits == 1 else 1
    whole = [*rows, np.nanmean(np.array(rows), axis=0).tolist()]
    return [
        [name, *(number(factor * value, digits) for value in row)]
        for name, row in zip([*names, "mean"], whole, strict=True)
    ]


def score(data: TextSet, labels: Labels, where: NDArray[np.bool_]) -> float:
    return metrics.score(data.metric, data.truth[where], labels.best[where].astype(np.int64), data.k)
