"""Labels for every item: from votes alone, from texts where nobody votes, and from both together.

    pip download vaderSentiment==0.5 --no-deps --no-binary :all: -d FOLDER
    python -m experiments fill --data DATA --vader FOLDER/vaderSentiment-0.5.zip --out experiments/results/fill.md

The sets with raw texts of DATA, and four sets of sentences whose sentiment twenty people rated, which the source
archive of vaderSentiment 0.5 carries (C. Hutto and E. Gilbert, "VADER", ICWSM 2014). Their LFs are the few lists of
words below, written without a look at the ratings. Every LF and item counts, and so does an item without a label.
"""

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hyperlabel as hl
from experiments.markdown import number, table
from hyperlabel._core import Float64, Metric, metrics
from hyperlabel.data import Labels

Ints = NDArray[np.int64]

RAW: dict[str, tuple[str, Metric]] = {
    "youtube": ("youtube", "accuracy"),
    "sms": ("sms", "f1"),
    "sms_prompt": ("sms", "f1"),
    "semeval": ("semeval", "accuracy"),
    "chemprot": ("chemprot", "accuracy"),
}
"""Sets with texts: the file of the texts, and the metric."""

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
DIMENSIONS = 100


@dataclass(frozen=True)
class TextSet:
    """Votes, texts and truth of one set."""

    name: str
    metric: Metric
    votes: Ints
    texts: list[str]
    truth: Ints

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


def run(folder: Path, vader: Path | None) -> str:
    rows = [measure(data) for data in read_sets(folder, vader)]
    scores = table(
        ["set", "metric", "items", "without votes", "covered: votes", "votes + text", "uncovered: text"]
        + ["all: votes", "filled", "filled, hard labels", "filled by features", "combined"],
        [row[0] for row in rows],
    )
    brier = table(
        ["set", "covered: votes", "votes + text", "uncovered: even", "text", "text, not calibrated"],
        [row[1] for row in rows],
    )
    note = (
        f"Filled by features: {DIMENSIONS} dense features, TF-IDF reduced by SVD. Brier scores, lower is better; even: "
        "the same probability for every class, which is all that is known without texts."
    )
    return f"{scores}\n\n{brier}\n\n{note}"


def measure(data: TextSet) -> tuple[list[str], list[str]]:
    """A row of scores, and one of Brier scores."""
    model = hl.HyperLabelModel(n_classes=data.k).fit(data.votes)
    classifier = hl.Classifier()
    filled = hl.fill_labels(model, data.votes, data.texts, classifier=classifier)
    both = hl.fill_labels(model, data.votes, data.texts, combine=True)
    dense = hl.fill_labels(model, data.votes, reduce(data.texts))
    own, voted, every = model.label(data.votes), data.voted, np.ones(len(data.texts), bool)
    figures = [
        score(data, labels, where)
        for labels, where in (
            (own, voted),
            (both, voted),
            (filled, ~voted),
            (own, every),
            (filled, every),
            (fill_by_hard_labels(data, own), every),
            (dense, every),
            (both, every),
        )
    ]
    raw = raw_probabilities(classifier, [t for t, v in zip(data.texts, voted, strict=True) if not v])
    briers = [
        brier(data, own.probabilities, voted),
        brier(data, both.probabilities, voted),
        brier(data, own.probabilities, ~voted),
        brier(data, filled.probabilities, ~voted),
        np.nan if voted.all() else metrics.brier(data.truth[~voted], raw),
    ]
    about = [data.name, data.metric, f"{len(voted):,}", f"{int((~voted).sum()):,}"]
    return [*about, *(number(100 * figure) for figure in figures)], [data.name, *(number(b, 3) for b in briers)]


def fill_by_hard_labels(data: TextSet, own: Labels) -> Labels:
    """As `fill_labels`, but the classifier learns the label of each item as if it were certain."""
    certain = hl.Classifier().fit(data.texts, replace(own, probabilities=np.eye(data.k)[own.best]))
    return replace(own, best=np.where(own.best < 0, certain.predict(data.texts), own.best))


def reduce(texts: list[str]) -> Any:
    """Texts as dense features, in place of an embedding. -> (n, DIMENSIONS)."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    terms = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    return TruncatedSVD(DIMENSIONS, random_state=0).fit_transform(terms)


def raw_probabilities(classifier: hl.Classifier, texts: list[str]) -> Float64:
    """What the classifier says before it is calibrated."""
    logs = np.log(np.maximum(classifier.predict_proba(texts), 1e-300)) / classifier.temperature_
    raised = np.exp(logs - logs.max(1, keepdims=True, initial=-np.inf))
    return np.asarray(raised / raised.sum(1, keepdims=True))


def score(data: TextSet, labels: Labels, where: NDArray[np.bool_]) -> float:
    if not where.any():
        return float("nan")
    return metrics.score(data.metric, data.truth[where], labels.best[where].astype(np.int64), data.k)


def brier(data: TextSet, probabilities: Float64, where: NDArray[np.bool_]) -> float:
    return metrics.brier(data.truth[where], probabilities[where]) if where.any() else float("nan")
