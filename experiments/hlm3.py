"""What hlm3 is worth: judges of known skill, public sets, gold labels, suggestions, labels for F1, and its cost.

    python -m experiments hlm3 --data DATA --runs training/hlm3 --out experiments/results/hlm3.md

Prints and records one section a part; with `--parts` only these are run, and the others stay as they were recorded.
Everything is deterministic but the times. Scores are in percent.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hyperlabel as hl
from experiments.datasets import FAMILIES, DataSet, by_family, load_datasets
from experiments.markdown import table, titled
from experiments.protocol import as_returned, make_model, score, to_patterns
from experiments.record import keep_result
from experiments.references import RELEASED, RELEASED_FILE
from experiments.scores import SEEDS, STARS, draw_stars
from experiments.semi import draw_gold
from experiments.textbook import CASES
from experiments.textbook import draw as draw_case
from hyperlabel._core import metrics
from hyperlabel.data import UNIFORM
from hyperlabel.models import LabelModel

PEERS = ("hlm2", "mv", "bv", "auto", "hlm")
RIVALS, FAR_BEHIND = ("mv", "bv", RELEASED), 1.0  # points
GOLD, GOLD_DRAWS = (20, 50, 100), 5
FOREST = {"n_trees": 50, "max_depth": [None], "min_samples_split": [2]}  # no grid search, which takes 60 times as long
GOLD_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "hlm3, gold in the pass": ("hlm3", {}),
    "mv and lookup": ("mv", {}),
    "ds, gold clamped": ("ds", {}),
    "random forest on votes": ("rf", FOREST),
}
STAR_MODELS = ("hlm3", "hlm2", "mv", "ds", "hds")
BINS = 10  # of confidence, for the calibration error
TEXTBOOK_MODELS, TEXTBOOK_SEEDS, TEXTBOOK_GOLD = ("hlm3", "hlm2", "auto", "mv", "bv", "hds", "ds", "fs"), 3, 50
SUGGESTED, RANDOM_DRAWS = (50, 100, 300), 5
SUBSETS, SUBSET_SHARE = 8, (0.35, 0.85)
F1_GOLD, F1_TOLD = 300, ("hlm3", "mv")
KNOWN = {
    "nothing": (),
    "uniform class balance": (),
    "class balance": ("class_balance",),
    "LF accuracies": ("lf_accuracies",),
    "both": ("class_balance", "lf_accuracies"),
}
REPEATS = 7


def head(sets: Sequence[DataSet], first: str) -> list[str]:
    """The names of the columns, with the number of sets."""
    sizes = [sum(each.family == family for each in sets) for family in FAMILIES]
    return [first, *[f"{f}, {size}" for f, size in zip(FAMILIES, sizes, strict=True)], f"all, {len(sets)}"]


def show(values: Iterable[float], digits: int = 2) -> list[str]:
    return [f"{value:.{digits}f}" for value in values]


def find_runs(folder: Path | None) -> list[str]:
    """The weights of all finished runs."""
    return [] if folder is None else sorted(map(str, folder.glob("run-*/weights.safetensors")))


def measure(sets: Sequence[DataSet], name: str, **params: Any) -> dict[str, list[float]]:
    """Score, Brier score, calibration error and log loss of a model on each set."""
    found: dict[str, list[float]] = {"score": [], "brier": [], "ece": [], "log loss": []}
    for each in sets:
        votes = hl.Votes.from_array(each.votes, n_classes=each.k)
        model = make_model(name, each, **params).fit(votes)
        probabilities = as_returned(name, model.predict_proba(votes))
        found["score"].append(score(each, model.predict(votes)))
        found["brier"].append(metrics.brier(each.truth, probabilities))
        found["ece"].append(calibration_error(each.truth, probabilities))
        found["log loss"].append(metrics.log_loss(each.truth, probabilities))
    return found


def calibration_error(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Distance of confidence from the share of right labels in ten bins of confidence, weighted by items (ECE)."""
    kept = truth >= 0
    confidence, right = probabilities[kept].max(1), probabilities[kept].argmax(1) == truth[kept]
    bins = np.minimum((BINS * confidence).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, right - confidence)).sum() / max(kept.sum(), 1))


def textbook_part(_: Sequence[DataSet]) -> str:
    """Labels and calibration on votes of judges whose skill is known, with and without gold."""
    rows, found = [], []
    for name in CASES:
        draws = [textbook_scores(name, seed) for seed in range(TEXTBOOK_SEEDS)]
        found.append(np.mean(draws, axis=0))
        rows.append([name, *show(found[-1][:-2], 1), *show(found[-1][-2:], 3)])
    means = np.mean(found, axis=0)
    rows.append(["**mean**", *[f"**{value}**" for value in (*show(means[:-2], 1), *show(means[-2:], 3))]])
    told = f"{TEXTBOOK_GOLD} gold"
    gold = [f"hlm3, {told}", f"optimum, {told}", "hlm3, ECE", f"hlm3, {told}, ECE"]
    what = (
        f"Percent right, mean of {TEXTBOOK_SEEDS} draws (`experiments/textbook.py`). The optimum knows the skill of "
        "every judge. With gold, the items that are not gold are scored."
    )
    return f"{what}\n\n" + table(["case", *TEXTBOOK_MODELS, "optimum", *gold], rows)


def stars_part(_: Sequence[DataSet]) -> str:
    """Labels of ratings on a scale, on which judges are off by a step or two."""
    rows = []
    for title, options in (*STARS, ("5 stars, 8 judges rate everything", {"m": 8, "cast": 1.0})):
        found = []
        for seed in range(SEEDS):
            votes, truth = draw_stars(seed, **options)
            models = [hl.label_model(name, n_classes=options.get("k", 5)) for name in STAR_MODELS]
            found.append([100 * metrics.accuracy(truth, model.fit_predict(votes)) for model in models])
        rows.append([title, *show(np.mean(found, axis=0), 1)])
    what = f"Percent right, mean of {SEEDS} draws (`draw_stars` in `experiments/scores.py`); the order is not stated."
    return f"{what}\n\n" + table(["set", *STAR_MODELS], rows)


def textbook_scores(name: str, seed: int) -> list[float]:
    """Scores on one draw of a case, in the order of the table."""
    data, best = draw_case(name, seed)
    scores = [score(data, make_model(model, data).fit(data.votes).predict(data.votes)) for model in TEXTBOOK_MODELS]
    gold, rest = tell(data, TEXTBOOK_GOLD, seed)
    plain = make_model("hlm3", data).fit(data.votes).predict_proba(data.votes)
    model = make_model("hlm3", data).fit(data.votes, gold)
    with_gold = [score(rest, model.predict(data.votes)), score(rest, best)]
    errors = [
        calibration_error(data.truth, plain),
        calibration_error(rest.truth, model.predict_proba(data.votes)),
    ]
    return [*scores, score(data, best), *with_gold, *errors]


def score_part(sets: Sequence[DataSet], runs: Sequence[str]) -> str:
    """Scores and the quality of probabilities beside the peers', the spread over training runs, and every set.

    The authors' weights are among the peers where `python -m experiments released` has made their file.
    """
    peers = (*PEERS, RELEASED) if RELEASED_FILE.exists() else PEERS
    found = {name: measure(sets, name) for name in ("hlm3", *peers)}
    of_runs = [measure(sets, run) for run in runs]
    parts = []
    for measured, digits, title in (
        ("score", 2, "Score"),
        ("brier", 4, "Brier score (less is better)"),
        ("ece", 3, "Calibration error (ECE, ten bins; less is better)"),
        ("log loss", 4, "Log loss (less is better)"),
    ):
        rows = [[name, *show(by_family(sets, values[measured]), digits)] for name, values in found.items()]
        if of_runs:
            means = np.array([by_family(sets, run[measured]) for run in of_runs])
            spread = means.std(0, ddof=1) if len(means) > 1 else np.zeros(means.shape[1])
            shown = [f"{m:.{digits}f} ± {s:.{digits}f}" for m, s in zip(means.mean(0), spread, strict=True)]
            rows.insert(0, [f"hlm3, {len(runs)} runs, mean ± sd", *shown])
            rows[1][0] = "hlm3, bundled"
            if measured == "score":
                rows += [[f"hlm3, {Path(run).parent.name}", *show(m)] for run, m in zip(runs, means, strict=True)]
        parts.append(titled(title, table(head(sets, "model"), rows)))
    rows = [[s.name, s.family, *show(v[i] for v in (f["score"] for f in found.values()))] for i, s in enumerate(sets)]
    parts.append(titled("Score, every set", table(["set", "family", *found], rows)))
    parts.append(titled(f"Sets on which hlm3 is {FAR_BEHIND:g} or more behind a rival", losses(sets, found)))
    return "\n\n".join(parts)


def losses(sets: Sequence[DataSet], found: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """The sets on which a rival is clearly ahead of hlm3, the largest gap first, and how often each side is ahead."""
    rivals = [name for name in RIVALS if name in found]
    ours = np.array(found["hlm3"]["score"])
    theirs = np.array([found[name]["score"] for name in rivals])
    gap = theirs.max(0) - ours
    rows = [
        [sets[i].name, sets[i].family, *show([ours[i], *theirs[:, i]]), f"{-gap[i]:.2f}", *show(told_more(sets[i]))]
        for i in np.argsort(-gap, kind="stable")
        if gap[i] >= FAR_BEHIND
    ]
    lines = [
        f"- {name}: ahead of hlm3 by {FAR_BEHIND:g} or more on {np.sum(scores - ours >= FAR_BEHIND)} sets, "
        f"behind by as much on {np.sum(ours - scores >= FAR_BEHIND)}, of {len(sets)}"
        for name, scores in zip(rivals, theirs, strict=True)
    ]
    more = ["hlm3, true balance stated", f"hlm3, {GOLD[-1]} gold, other items"]
    return table(["set", "family", "hlm3", *rivals, "gap", *more], rows) + "\n\n" + "\n".join(lines)


def told_more(data: DataSet) -> list[float]:
    """The score of hlm3 with the true class balance stated, and with gold on the items that are not gold."""
    stated = hl.HyperLabelModel(n_classes=data.k, class_balance=true_shares(data)["class_balance"])
    with_gold = []
    for seed in range(GOLD_DRAWS):
        gold, rest = tell(data, GOLD[-1], seed)
        with_gold.append(score(rest, make_model("hlm3", data).fit(data.votes, gold).predict(data.votes)))
    return [score(data, stated.predict(data.votes)), float(np.mean(with_gold))]


def draw_subset(data: DataSet, rng: np.random.Generator) -> DataSet:
    """The set with some of its LFs, at least three, and the items on which these vote."""
    m = data.votes.shape[1]
    size = max(min(m, 3), round(m * rng.uniform(*SUBSET_SHARE)))
    votes = data.votes[:, np.sort(rng.choice(m, size, replace=False))]
    kept = (votes >= 0).any(1)
    return replace(data, votes=votes[kept], truth=data.truth[kept])


def subset_part(sets: Sequence[DataSet]) -> str:
    """Scores on sets made of some LFs of each set: more sets than there are, though not independent ones."""
    rng = np.random.default_rng(0)
    subsets = [[draw_subset(each, rng) for _ in range(SUBSETS)] for each in sets]
    rows = []
    for name in ("hlm3", *PEERS):
        means = [np.mean([score(e, make_model(name, e).fit(e.votes).predict(e.votes)) for e in of]) for of in subsets]
        rows.append([name, *show(by_family(sets, [float(mean) for mean in means]))])
    low, high = SUBSET_SHARE
    what = (
        f"{SUBSETS} subsets of the LFs of each set, {low:.0%} to {high:.0%} of them drawn at random, at least three; "
        "the items on which they vote. Mean over the subsets of a set, then over sets."
    )
    return f"{what}\n\n" + table(head(sets, "model"), rows)


def tell(data: DataSet, size: int, seed: int) -> tuple[np.ndarray, DataSet]:
    """Gold items drawn from a set, and the set without their truth, to score the others."""
    gold = draw_gold(data, size, seed)
    return gold, replace(data, truth=np.where(gold >= 0, -1, data.truth))


def gold_scores(data: DataSet, size: int, seed: int, plain: LabelModel) -> dict[str, float]:
    """Scores, and 100 times the Brier score of hlm3, on the items that are not gold."""
    gold, rest = tell(data, size, seed)
    told = {t: make_model(name, data, **params).fit(data.votes, gold) for t, (name, params) in GOLD_MODELS.items()}
    models = {"hlm3, no gold": plain} | told
    found = {title: score(rest, model.predict(data.votes)) for title, model in models.items()}
    found["vote weighted by gold"] = score(rest, weighted_vote(data, gold))
    for title in ("hlm3, no gold", "hlm3, gold in the pass"):
        found[f"{title}, 100 Brier"] = 100 * metrics.brier(rest.truth, models[title].predict_proba(data.votes))
    return found


def weighted_vote(data: DataSet, gold: np.ndarray) -> np.ndarray:
    """Labels of a vote in which each LF has the log-odds of its accuracy on gold; one imagined vote is right, one not.

    An LF of chance accuracy counts nothing, a worse one counts against its votes.
    """
    known = (gold >= 0)[:, None] & (data.votes >= 0)
    right = (known & (data.votes == gold[:, None])).sum(0)
    accuracy = (right + 1) / (known.sum(0) + 2)
    weight = np.log(accuracy / (1 - accuracy) * (data.k - 1))
    return np.stack([(data.votes == v) @ weight for v in range(data.k)], 1).argmax(1)


def gold_part(sets: Sequence[DataSet]) -> str:
    """Scores by number of gold items, on the items that are not gold."""
    plain = {each.name: make_model("hlm3", each).fit(each.votes) for each in sets}
    trees = f"The forest is the model `rf` with {FOREST['n_trees']} trees of any depth."
    return f"{trees} " + gold_table(
        sets, GOLD, lambda each, size, seed: gold_scores(each, size, seed, plain[each.name])
    )


def gold_table(
    sets: Sequence[DataSet], sizes: Sequence[int], scores: Callable[[DataSet, int, int], dict[str, float]]
) -> str:
    """Mean scores by number of gold items and family, over draws."""
    found: dict[tuple[str, int], list[list[float]]] = defaultdict(lambda: [[] for _ in range(GOLD_DRAWS)])
    for each in sets:
        for size in sizes:
            for seed in range(GOLD_DRAWS):
                for title, value in scores(each, size, seed).items():
                    found[title, size][seed].append(value)
    rows = []
    for title, size in sorted(found, key=lambda key: (key[1], list(dict.fromkeys(t for t, _ in found)).index(key[0]))):
        draws = np.array([by_family(sets, values) for values in found[title, size]])
        shown = [f"{m:.2f} ± {s:.2f}" for m, s in zip(draws.mean(0), draws.std(0, ddof=1), strict=True)]
        rows.append([f"{size:,}", title, *shown])
    what = f"Mean ± standard deviation over {GOLD_DRAWS} draws; at most 70 % of the items are gold."
    return f"{what}\n\n" + table(["gold", *head(sets, "model")], rows)


def score_with(data: DataSet, items: np.ndarray) -> float:
    """The score over all items once these are told; told items count as right."""
    gold = np.full(len(data.truth), -1)
    gold[items] = data.truth[items]
    labels = make_model("hlm3", data).fit(data.votes, gold).predict(data.votes)
    labels[items] = data.truth[items]
    return score(data, labels)


def suggest_part(sets: Sequence[DataSet]) -> str:
    """Suggested items against random ones."""
    arms: dict[tuple[int, str], list[float]] = defaultdict(list)
    for each in sets:
        kept = each.truth >= 0
        data = replace(each, votes=each.votes[kept], truth=each.truth[kept])
        n, rng = len(data.truth), np.random.default_rng(0)
        draws = [rng.permutation(n) for _ in range(RANDOM_DRAWS)]
        for size in SUGGESTED:
            told = min(size, n // 2)
            items = make_model("hlm3", data).suggest(data.votes, told)
            arms[size, "suggested"].append(score_with(data, items))
            arms[size, "random"].append(float(np.mean([score_with(data, draw[: len(items)]) for draw in draws])))
    rows = []
    for size in SUGGESTED:
        means = {arm: by_family(sets, arms[size, arm]) for arm in ("suggested", "random")}
        rows += [[f"{size}", arm, *show(values)] for arm, values in means.items()]
        gain = np.subtract(means["suggested"], means["random"])
        rows.append([f"{size}", "gain", *[f"{value:+.2f}" for value in gain]])
    what = (
        f"All items of known truth are scored; those told count as right in both arms; {RANDOM_DRAWS} random draws, "
        "as many items as were suggested, at most half of the set."
    )
    return f"{what}\n\n" + table(["told", *head(sets, "items")], rows)


def two_f1(model: LabelModel, data: DataSet) -> list[float]:
    """F1 of the most probable labels, and of those for F1."""
    return [score(data, model.predict(data.votes, metric=metric)) for metric in ("accuracy", "f1")]


def f1_with_gold(data: DataSet, name: str, seed: int) -> list[float]:
    """Both on the items that are not gold."""
    gold, rest = tell(data, F1_GOLD, seed)
    return two_f1(make_model(name, data).fit(data.votes, gold), rest)


def f1_part(sets: Sequence[DataSet]) -> str:
    """Labels that expect the best F1 against the most probable ones, on the sets that are scored by F1."""
    names = ("hlm3", *PEERS)
    rows, gains = [], []
    for each in (each for each in sets if each.metric == "f1"):
        pairs = [two_f1(make_model(name, each).fit(each.votes), each) for name in names]
        pairs += [np.mean([f1_with_gold(each, name, seed) for seed in range(GOLD_DRAWS)], axis=0) for name in F1_TOLD]
        gains.append(pairs)
        rows.append([each.name, each.family, *[f"{plain:.1f} → {wanted:.1f}" for plain, wanted in pairs]])
    means = np.array(gains).mean(0)
    rows.append(["**mean**", "", *[f"**{plain:.1f} → {wanted:.1f}**" for plain, wanted in means]])
    told = [f"{name}, {F1_GOLD} gold" for name in F1_TOLD]
    what = "F1 of class 1: `predict(votes)` → `predict(votes, metric='f1')`; with gold, on the items that are not gold."
    return f"{what}\n\n" + table(["set", "family", *names, *told], rows)


def true_shares(data: DataSet) -> dict[str, np.ndarray]:
    """The class balance of the items with votes, and the accuracy of each LF, by the truth; half an item each way."""
    kept = (data.truth >= 0) & (data.votes >= 0).any(1)
    votes, truth = data.votes[kept], data.truth[kept]
    items = np.bincount(truth, minlength=data.k) + 0.5
    right = (votes == truth[:, None]).sum(0) + 0.5
    return {"class_balance": items / items.sum(), "lf_accuracies": right / ((votes >= 0).sum(0) + 1)}


def known_part(sets: Sequence[DataSet]) -> str:
    """A class balance and accuracies of LFs that are known, here by the truth, as inputs."""
    rows = []
    for title, names in KNOWN.items():
        labels, for_metric, right, brier = [], [], [], []
        for each in sets:
            shares = true_shares(each)
            known: dict[str, Any] = {name: shares[name] for name in names}
            if title.startswith(UNIFORM):
                known = {"class_balance": UNIFORM}
            model = hl.HyperLabelModel(n_classes=each.k, **known)
            most_probable = model.predict(each.votes)
            labels.append(score(each, most_probable))
            right.append(score(replace(each, metric="accuracy"), most_probable))
            for_metric.append(score(each, model.predict(each.votes, metric=each.metric)))
            brier.append(metrics.brier(each.truth, model.predict_proba(each.votes)))
        rows.append([title, "most probable", *show(by_family(sets, labels))])
        rows.append([title, "for the set's metric", *show(by_family(sets, for_metric))])
        rows.append([title, "accuracy of the most probable", *show(by_family(sets, right))])
        rows.append([title, "Brier score", *show(by_family(sets, brier), 4)])
    what = (
        "`HyperLabelModel(class_balance=..., lf_accuracies=...)`, both taken from the truth: as good as can be known; "
        "and the assumption that all classes are equally frequent."
    )
    return f"{what}\n\n" + table(["known", *head(sets, "labels")], rows)


def median_seconds(calls: Sequence[Callable[[], object]]) -> list[float]:
    """CPU time of each call, in turn, after one that does not count."""
    seconds: list[list[float]] = [[] for _ in calls]
    for repeat in range(REPEATS + 1):
        for call, taken in zip(calls, seconds, strict=True):
            start = time.process_time()
            call()
            if repeat:
                taken.append(time.process_time() - start)
    return [float(np.median(taken)) for taken in seconds]


def time_part(sets: Sequence[DataSet]) -> str:
    """CPU milliseconds from an array to labels."""
    rows, ratios = [], []
    for each in sets:
        models = [make_model(name, each) for name in ("hlm2", "hlm3")]
        seconds = median_seconds([partial(model.predict, each.votes) for model in models])
        ratios.append(seconds[1] / seconds[0])
        size = [f"{len(each.votes):,}", f"{each.votes.shape[1]:,}", str(each.k), f"{to_patterns(each).n_patterns:,}"]
        rows.append([each.name, *size, *show([1e3 * s for s in seconds]), f"{ratios[-1]:.2f}"])
    rows.append(["**geometric mean**", *[""] * 6, f"**{np.exp(np.log(ratios).mean()):.2f}**"])
    rows.append(["**worst**", *[""] * 6, f"**{max(ratios):.2f}**"])
    sizes = ["set", "items", "LFs", "classes", "patterns"]
    what = f"CPU time from an array to labels, medians of {REPEATS} repeats."
    return f"{what}\n\n" + table([*sizes, "hlm2, ms", "hlm3, ms", "hlm3 / hlm2"], rows)


PARTS: dict[str, tuple[str, Callable[..., str]]] = {
    "textbook": ("Judges of known skill", textbook_part),
    "stars": ("Ratings in stars", stars_part),
    "scores": ("Scores and probabilities", score_part),
    "subsets": ("Some of the LFs", subset_part),
    "gold": ("Gold labels", gold_part),
    "suggest": ("Suggested items", suggest_part),
    "f1": ("Labels for F1", f1_part),
    "known": ("Known shares", known_part),
    "time": ("Cost", time_part),
}


def read_sections(path: Path | None) -> dict[str, str]:
    """What was recorded before, by the title of its section."""
    if path is None or not path.exists():
        return {}
    sections = path.read_text(encoding="utf-8").split("## ")[1:]
    return {title: body.strip() for title, _, body in (section.partition("\n") for section in sections)}


def run(data: Path, runs: Path | None, parts: Sequence[str], sets: Sequence[str] | None, out: Path | None) -> None:
    """Run some parts; each is printed and kept as soon as it is there."""
    chosen, sections = load_datasets(data, sets), read_sections(out)
    for part in parts:
        title, make = PARTS[part]
        start = time.perf_counter()
        sections[title] = make(chosen, find_runs(runs)) if part == "scores" else make(chosen)
        print(f"## {title}\n\n{sections[title]}\n\n({time.perf_counter() - start:.0f} s)\n", flush=True)
        ordered = [f"## {title}\n\n{sections[title]}" for title, _ in PARTS.values() if title in sections]
        keep_result("\n\n".join(ordered), out)
