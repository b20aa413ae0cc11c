"""The paper's theory put to the test, in three parts.

`optimum`: how close the network comes to what it is trained to approximate, h*(X), on votes so few that h* can be
computed exactly. `validity`: how likely a uniform pair of votes and labels is valid, by the number of LFs, against the
paper's formula. `existence`: for each class of each real set, whether there is any valid label vector, without which h*
is undefined.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import DataSet, Ints, load_datasets
from experiments.exact_optimum import optimum, probability_of_validity
from experiments.existence import SECONDS, exists_valid
from experiments.markdown import bold_best, number, table
from experiments.plots import COLOURS, MARKERS, new_figure, save, style
from experiments.protocol import compared_models, make_model
from experiments.references import RELEASED
from experiments.store import Cell, Options, Record, Store
from hyperlabel.training import UniformPrior, is_valid, quorum, to_signs

Floats = NDArray[np.float64]

MODELS = ("hlm", RELEASED, "mv", "ds")
ITEMS, LFS = (6, 12, 18), (2, 3, 5, 9, 15, 25)
MORE_ITEMS = (50, 100, 200)
"""With two LFs so many items can still be solved exactly; training has 100 to 2,000."""

TRAINED_ITEMS = ESTIMATED_ITEMS = 100
"""The fewest of training. With more than two LFs their optimum is estimated from random label vectors."""

CANDIDATES, BLOCK = 2**16, 2**12
"""Label vectors drawn for an estimate, and how many at a time."""

MATRICES = 10
"""Drawn for each cell of `optimum`."""

PAIRS, PAIR_ITEMS = 2000, (100, 1000)
"""Pairs drawn for each frequency of `validity`, and their numbers of items."""

MOST_LFS = 60


def run(
    options: Options,
    *,
    items: Sequence[int] = ITEMS,
    lfs: Sequence[int] = LFS,
    more_items: Sequence[int] = MORE_ITEMS,
    most_lfs: int = MOST_LFS,
    limit: float = SECONDS,
) -> None:
    """Measure all three parts; records go to theory.jsonl.

    Args:
        options: What to run, and where; models are compared with the optimum.
        items: Numbers of items of `optimum`.
        lfs: Numbers of LFs of `optimum`.
        more_items: Further numbers of items, with two LFs.
        most_lfs: Largest number of LFs of `validity`.
        limit: Seconds that the solver may take to decide `existence` for one class.
    """
    sets = {data.name: data for data in load_datasets(options.data, options.sets)}
    store = Store(options.out / "theory.jsonl")
    exact = [(n, m) for n in items for m in lfs] + [(n, 2) for n in more_items]
    estimated = [(ESTIMATED_ITEMS, m) for m in lfs if m > 2]
    cells = _optimum_cells(exact, options, exact=True) + _optimum_cells(estimated, options, exact=False)
    store.run(cells, measure_distance, options.progress)
    pairs = [{"part": "validity", "m": m, "n": n} for n in PAIR_ITEMS for m in range(2, most_lfs + 1)]
    store.run(pairs, measure_validity, options.progress)
    targets = [{"part": "existence", "dataset": d.name, "target": c} for d in sets.values() for c in _targets(d)]
    store.run(targets, lambda cell: measure_existence(sets[cell["dataset"]], cell["target"], limit), options.progress)


def _optimum_cells(shapes: Sequence[tuple[int, int]], options: Options, *, exact: bool) -> list[Cell]:
    return [
        {"part": "optimum", "n": n, "m": m, "exact": exact, "seed": seed, "model": model}
        for n, m in shapes
        for seed in range(options.seeds)
        for model in options.models or [name for name in MODELS if name in compared_models()]
    ]


class Solved(NamedTuple):
    """Votes (n, m) without empty rows, the optimum (n,), and how far an estimate of it is off on average."""

    votes: Ints
    best: Floats
    noise: float


@cache
def draw_solved(n: int, m: int, seed: int, exact: bool) -> tuple[Solved, ...]:
    """Votes from the training prior with their optimum; those whose optimum is the same for all items are left out."""
    rng, prior = np.random.default_rng([n, m, seed]), UniformPrior(items=(n, n), lfs=(m, m), candidates=0)
    drawn = [prior.sample(rng).votes.astype(np.int64) for _ in range(MATRICES)]
    voted = [votes[(votes >= 0).any(1)] for votes in drawn]
    solved = [Solved(v, optimum(v).probabilities, 0.0) if exact else estimate_optimum(v, rng) for v in voted]
    return tuple(each for each in solved if np.ptp(each.best) > 0)


def estimate_optimum(votes: Ints, rng: np.random.Generator) -> Solved:
    """The mean of the valid ones among many random label vectors."""
    signs, total, valid = to_signs(votes), np.zeros(len(votes)), 0
    for _ in range(CANDIDATES // BLOCK):
        labels = rng.integers(0, 2, (len(votes), BLOCK), dtype=np.int8).astype(np.float32)
        kept = is_valid(signs, labels)
        total, valid = total + labels @ kept, valid + int(kept.sum())
    best = total / valid if valid else np.full(len(votes), 0.5)
    error = np.sqrt(2 / np.pi * best * (1 - best) / max(1, valid)).mean()
    return Solved(votes, best, float(error))


def measure_distance(cell: Cell) -> dict[str, Any]:
    """How far a model's probabilities are from the optimum, and how alike both order the items; means over matrices."""
    solved = draw_solved(cell["n"], cell["m"], cell["seed"], cell["exact"])
    found = [_predict(cell["model"], each.votes, cell["seed"]) for each in solved]
    pairs = list(zip(found, solved, strict=True))
    return {
        "matrices": len(solved),
        "error": _mean([np.abs(p - each.best).mean() for p, each in pairs]),
        "correlation": _mean([rank_correlation(p, each.best) for p, each in pairs]),
        "error_of_half": _mean([np.abs(0.5 - each.best).mean() for each in solved]),
        "noise": _mean([each.noise for each in solved]),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _predict(model: str, votes: Ints, seed: int) -> Floats:
    """Probability of class 1. (n, m) -> (n,)."""
    unknown, rows = np.full(len(votes), -1), np.arange(len(votes))
    data = DataSet("drawn", "synthetic", "accuracy", 2, votes, unknown, None, rows)
    probabilities: Floats = make_model(model, data, seed=seed).fit(votes).predict_proba(votes)[:, 1]
    return probabilities


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's: the correlation of ranks, ties sharing theirs; 0 if one side has no order.

    >>> round(rank_correlation(np.array([0.1, 0.3, 0.2]), np.array([1.0, 9.0, 2.0])), 6)
    1.0
    """
    ranks = np.stack([_ranks(np.round(values, 6)) for values in (a, b)])
    return 0.0 if np.ptp(ranks, axis=1).min() == 0 else float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Floats) -> Floats:
    """(n,) -> (n,), tied values sharing the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (counts.cumsum() - (counts - 1) / 2)[place]
    return ranks


def published_probability(m: int) -> float:
    """The appendix's chance that a uniform pair with m LFs is valid: (1 - s) / 4, s the chance of half of m heads.

    >>> published_probability(3), published_probability(2)
    (0.25, 0.125)
    """
    return 0.25 if m % 2 else (1 - comb(m, m // 2) / 2**m) / 4


def measure_validity(cell: Cell) -> dict[str, Any]:
    """How often uniform pairs are valid, and how often they should be."""
    n, m = cell["n"], cell["m"]
    rng = np.random.default_rng([n, m])
    valid = sum(_draw_is_valid(rng, n, m) for _ in range(PAIRS))
    return {
        "pairs": PAIRS,
        "frequency": valid / PAIRS,
        "exact": probability_of_validity(m, n),
        "limit": probability_of_validity(m),
        "published": published_probability(m),
    }


def _draw_is_valid(rng: np.random.Generator, n: int, m: int) -> bool:
    signs = rng.integers(-1, 2, (n, m), dtype=np.int8).astype(np.float32)
    return bool(is_valid(signs, rng.integers(0, 2, (n, 1), dtype=np.int8).astype(np.float32))[0])


def _targets(data: DataSet) -> Sequence[int]:
    """The classes that the network sets against the rest: with two classes, the second."""
    return [1] if data.k == 2 else range(data.k)


def measure_existence(data: DataSet, target: int, limit: float) -> dict[str, Any]:
    """Whether a class has a valid label vector, and how many LFs are better than random under the truth."""
    signs = to_signs(np.where(data.votes < 0, -1, (data.votes == target).astype(np.int64)))
    known = data.truth >= 0
    truth = (data.truth[known] == target).astype(np.float32)
    better_for = signs[known][truth == 1].sum(0) > 0
    better_against = signs[known][truth == 0].sum(0) < 0
    answer, reason = exists_valid(signs, limit)
    return {
        "family": data.family,
        "k": data.k,
        "n": len(signs),
        "m": signs.shape[1],
        "needed": quorum(signs.shape[1], "majority"),
        "for": int((signs > 0).any(0).sum()),
        "against": int((signs < 0).any(0).sum()),
        "better_for": int(better_for.sum()),
        "better_against": int(better_against.sum()),
        "truth_is_valid": bool(is_valid(signs[known], truth[:, None])[0]),
        "exists": answer,
        "reason": reason,
    }


def _part(records: Sequence[Record], name: str) -> list[Record]:
    return [record for record in records if record["part"] == name and "note" not in record]


def tables(records: Sequence[Record]) -> str:
    """All three parts in markdown, with what follows from them."""
    makers = {"optimum": _optimum_table, "validity": _validity_table, "existence": _existence_table}
    parts = [(make, _part(records, name)) for name, make in makers.items()]
    return "\n\n".join(make(found) for make, found in parts if found)


class Distances:
    """Records of `optimum` by shape and model."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = [record for record in records if record["matrices"]]
        self.models = list(dict.fromkeys(record["model"] for record in self.records))
        self.shapes = sorted({(record["n"], record["m"]) for record in self.records})

    def mean(self, shape: tuple[int, int], field: str, model: str | None = None) -> float:
        """A measure averaged over seeds; without a model, over all models."""
        of_shape = [r for r in self.records if (r["n"], r["m"]) == shape and model in (None, r["model"])]
        return _mean([record[field] for record in of_shape])


def _optimum_table(records: Sequence[Record]) -> str:
    found = Distances(records)
    head = ["items x LFs", *[f"{model}, error" for model in found.models], "always 0.5, error"]
    head += [f"{model}, correlation" for model in found.models]
    rows = []
    for shape in found.shapes:
        errors = [found.mean(shape, "error", model) for model in found.models]
        errors.append(found.mean(shape, "error_of_half"))
        orders = [found.mean(shape, "correlation", model) for model in found.models]
        shown = bold_best([number(e, 3) for e in errors], errors, 3, lowest=True)
        shown += bold_best([number(c, 2) for c in orders], orders, 2)
        noise = found.mean(shape, "noise")
        rows.append([f"{shape[0]} x {shape[1]}" + (f", estimated (± {noise:.3f})" if noise else ""), *shown])
    title = "Distance from the optimum h*(X): mean absolute error and rank correlation over items"
    drawn = (
        f"Votes are drawn from the training prior, {MATRICES} matrices per seed. The network was trained on 100 to "
        "2,000 items. Where so many cannot be solved exactly, the optimum is estimated from random label vectors: a "
        "perfect model would still show the error that stands beside the size."
    )
    return f"**{title}**\n\n{drawn}\n\n{table(head, rows)}\n\n{_nearest(found)}"


def _nearest(found: Distances) -> str:
    """Which model is nearest to the optimum how often, and how well each orders the items."""
    lowest = [min(found.models, key=lambda model: found.mean(shape, "error", model)) for shape in found.shapes]
    trained = [model for model, shape in zip(lowest, found.shapes, strict=True) if shape[0] >= TRAINED_ITEMS]
    often, often_trained = (", ".join(f"{m} {names.count(m)}" for m in found.models) for names in (lowest, trained))
    orders = [f"{m} {_mean([found.mean(shape, 'correlation', m) for shape in found.shapes]):.2f}" for m in found.models]
    return (
        f"The lowest error of the models, by number of sizes: {often}; of the {len(trained)} sizes with at least "
        f"{TRAINED_ITEMS} items, as in training: {often_trained}. Mean rank correlation: {', '.join(orders)}."
    )


def _validity_table(records: Sequence[Record]) -> str:
    sizes = sorted({record["n"] for record in records})
    by_shape = {(record["m"], record["n"]): record for record in records}
    numbers = sorted({record["m"] for record in records})
    head = ["LFs", "the paper's formula", "limit of many items"]
    head += [f"{kind}, {n:,} items" for n in sizes for kind in ("exact", "drawn")]
    shown = [m for m in numbers if m in (2, 3, 4, 5, 10, 20, 30, 31, 59, 60)]
    rows = [[str(m), *_validity_row([by_shape[m, n] for n in sizes])] for m in shown]
    means = [_mean_record([by_shape[m, n] for m in numbers]) for n in sizes]
    rows.append([f"mean of {numbers[0]} to {numbers[-1]}", *_validity_row(means)])
    title = "Probability that uniform votes and labels are valid"
    follows = (
        "With s the chance that just half of an even number of LFs are better than random on a class, the paper has "
        "(1 - s) / 4. Its s is that of one class; both must be spared, and they are independent: (1 - s)² / 4. LFs "
        "whose votes tie on a class, which the formula leaves out, lower the probability further, for odd numbers too."
    )
    return f"**{title}**\n\n{table(head, rows)}\n\n{follows}"


def _validity_row(by_size: Sequence[Mapping[str, float]]) -> list[str]:
    cells = [by_size[0]["published"], by_size[0]["limit"]]
    cells += [record[field] for record in by_size for field in ("exact", "frequency")]
    return [number(cell, 3) for cell in cells]


def _mean_record(records: Sequence[Record]) -> dict[str, float]:
    return {field: _mean([r[field] for r in records]) for field in ("published", "limit", "exact", "frequency")}


def _by_set(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    for name in dict.fromkeys(record["dataset"] for record in records):
        yield name, [record for record in records if record["dataset"] == name]


def _existence_table(records: Sequence[Record]) -> str:
    head = ["set", "family", "LFs", "must be better", "vote for the class", "vote against it", "better under the truth"]
    head += ["a valid y exists", "the truth is valid"]
    rows = []
    for name, of_set in _by_set(records):
        first = of_set[0]
        able = [_range([record[word] for record in of_set]) for word in ("for", "against")]
        better = " / ".join(_range([record[f"better_{word}"] for record in of_set]) for word in ("for", "against"))
        truth = _count([record["truth_is_valid"] for record in of_set])
        lfs = [str(first["m"]), str(first["needed"])]
        rows.append([name, first["family"], *lfs, *able, better, _answers(of_set), truth])
    title = "Is there any valid label vector? By set; ranges and counts are over the classes, each against the rest"
    return f"**{title}**\n\n{table(head, rows)}\n\n{_conclusion(records)}"


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


def _count(values: Sequence[bool]) -> str:
    if len(values) == 1:
        return "yes" if values[0] else "no"
    return f"{sum(values)} of {len(values)}"


def _answers(of_set: Sequence[Record]) -> str:
    unknown = sum(record["exists"] == "unknown" for record in of_set)
    return _count([record["exists"] == "yes" for record in of_set]) + (f", {unknown} unknown" if unknown else "")


def _conclusion(records: Sequence[Record]) -> str:
    """What the existence of valid label vectors means for the paper's optimality, in words."""
    lines = []
    for family in dict.fromkeys(record["family"] for record in records):
        sets = [of_set for _, of_set in _by_set(records) if of_set[0]["family"] == family]
        empty = sum(all(record["exists"] == "no" for record in of_set) for of_set in sets)
        valid = sum(all(record["truth_is_valid"] for record in of_set) for of_set in sets)
        every = sum(all(min(r["for"], r["against"]) == r["m"] for r in of_set) for of_set in sets)
        lines.append(
            f"- {family}: {empty} of {len(sets)} sets have no valid label vector for any class; the truth is valid for "
            f"every class of {valid}; that every LF be better than random is possible on {every} at most."
        )
    follows = (
        "An LF that votes for one class only is never better than random on the other. Where most LFs are like that, "
        "no label vector is valid, the mean over the valid ones is undefined, and Theorem 1 says nothing: what the "
        "network answers there is extrapolation from votes of another kind, and where its scores are good, that is an "
        "empirical fact, not a consequence of the theory."
    )
    return "\n".join([*lines, "", follows])


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One figure a part."""
    makers = {"optimum": _draw_optimum, "validity": _draw_validity, "existence": _draw_existence}
    parts = [(name, make, _part(records, name)) for name, make in makers.items()]
    return [save(make(found), folder / f"theory-{name}.png") for name, make, found in parts if found]


def _draw_optimum(records: Sequence[Record]) -> Any:
    """Columns: number of LFs on the x axis, one column a number of items; and two LFs, items on the x axis."""
    found = Distances(records)
    grid = [n for n in dict.fromkeys(n for n, _ in found.shapes) if sum(shape[0] == n for shape in found.shapes) > 1]
    lines = {
        f"{n} items" + (" (estimated)" if n == ESTIMATED_ITEMS else ""): [
            shape for shape in found.shapes if shape[0] == n
        ]
        for n in grid
    }
    two = [shape for shape in found.shapes if shape[1] == 2]
    lines |= {"2 LFs": two} if len(two) > 1 else {}
    figure, panels = new_figure(0.8 + 2.5 * len(lines), 5.2, rows=2, columns=len(lines), sharey="row", sharex="col")
    for column, (title, shapes) in zip(panels.T, lines.items(), strict=True):
        over_items = title == "2 LFs"
        for axes, field in zip(column, ("error", "correlation"), strict=True):
            _draw_lines(axes, found, shapes, field, over_items)
        column[0].set_title(title, fontsize=10)
        column[1].set_xlabel("items" if over_items else "LFs")
        column[1].set_xscale("log" if over_items else "linear")
    panels[0, 0].set_ylabel("mean absolute error")
    panels[1, 0].set_ylabel("rank correlation")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _draw_lines(axes: Any, found: Distances, shapes: Sequence[tuple[int, int]], field: str, over_items: bool) -> None:
    x = [n if over_items else m for n, m in shapes]
    for model in found.models:
        axes.plot(x, [found.mean(shape, field, model) for shape in shapes], **style(model, found.models))
    if field == "error":
        half = [found.mean(shape, "error_of_half") for shape in shapes]
        axes.plot(x, half, color="0.5", linestyle=(0, (6, 3)), linewidth=1.2, label="always 0.5")


def _draw_validity(records: Sequence[Record]) -> Any:
    """Odd and even numbers of LFs apart: only even ones can split into halves."""
    figure, panels = new_figure(9.0, 4.2, columns=2, sharey=True)
    for axes, (remainder, title) in zip(
        panels[0], ((1, "odd numbers of LFs"), (0, "even numbers of LFs")), strict=True
    ):
        shown = sorted((r for r in records if r["m"] % 2 == remainder), key=lambda record: record["m"])
        _draw_probabilities(axes, shown)
        axes.set(title=title, xlabel="LFs", ylim=(0, 0.28))
    panels[0, 0].set_ylabel("probability of a valid pair")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _draw_probabilities(axes: Any, records: Sequence[Record]) -> None:
    """Formulas as lines, frequencies as dots with their error bars."""
    sizes = sorted({record["n"] for record in records})
    by_size = {n: [record for record in records if record["n"] == n] for n in sizes}
    lines = (("limit", "limit of many items", COLOURS[3], "-"), ("published", "the paper's formula", COLOURS[2], "--"))
    for field, label, colour, line in lines:
        of_first = by_size[sizes[0]] if sizes else []
        axes.plot([r["m"] for r in of_first], [r[field] for r in of_first], line, color=colour, label=label)
    for (n, of_size), colour, marker in zip(by_size.items(), COLOURS, MARKERS, strict=False):
        numbers = [r["m"] for r in of_size]
        axes.plot(numbers, [r["exact"] for r in of_size], color=colour, linewidth=1.3, label=f"exact, {n:,} items")
        bars = [2 * (r["frequency"] * (1 - r["frequency"]) / r["pairs"]) ** 0.5 for r in of_size]
        look = {"color": colour, "marker": marker, "markersize": 3.5, "linestyle": "none", "elinewidth": 0.7}
        label = f"drawn, {n:,} items (± 2 standard errors)"
        axes.errorbar(numbers, [r["frequency"] for r in of_size], bars, label=label, **look)


def _draw_existence(records: Sequence[Record]) -> Any:
    """Every class of every set by the share of LFs that vote for it and of those that vote against it."""
    figure, panels = new_figure(6.4, 5.4)
    axes = panels[0, 0]
    axes.axvspan(-3, 50, color="0.93", zorder=0)
    axes.axhspan(-3, 50, color="0.93", zorder=0)
    axes.text(2, 4, "no label vector can be valid", color="0.4", fontsize=9)
    for family, colour, marker in zip(dict.fromkeys(r["family"] for r in records), COLOURS[1:], MARKERS, strict=False):
        for answer, face in (("yes", colour), ("no", "none"), ("unknown", "0.7")):
            shown = [r for r in records if r["family"] == family and r["exists"] == answer]
            if shown:
                x, y = ([100 * r[word] / r["m"] for r in shown] for word in ("for", "against"))
                label = {"yes": "a valid y exists", "no": "none", "unknown": "unknown"}[answer]
                axes.plot(x, y, marker, color=colour, markerfacecolor=face, alpha=0.8, label=f"{family}: {label}")
    axes.set(xlabel="LFs that ever vote for the class (%)", ylabel="LFs that ever vote against it (%)")
    axes.set(xlim=(-3, 103), ylim=(-3, 103))
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure
