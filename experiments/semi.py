"""The paper's Figure 2: what gold labels for some items add, by how many there are.

For each set, number of gold items and repeat, gold is drawn, every model learns from all votes and this gold, and the
items without gold are scored. Beside each score stands one without gold on the same items: that of the default and of
the released system beside their own, that of the paper's model beside all others.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets import DataSet, Ints, load_datasets
from experiments.markdown import seconds, spread, table
from experiments.paper import SEMI_SECONDS
from experiments.plots import new_figure, save, style
from experiments.protocol import make_model, score
from experiments.references import RELEASED
from experiments.store import Cell, Options, Record, Store
from hyperlabel.errors import ParameterError
from hyperlabel.models import label_model

MODELS = ("hlm3", "hlm", "ds", "amcl", "rf")
OWN_BASES = ("hlm3", RELEASED)
"""Models that are compared with themselves without gold; the others are with `hlm`."""
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
LARGEST_SHARE = 0.7
"""Of the items with known truth, at most so many are gold: the others are scored."""

TREES = 500
"""Of each random forest, also where it takes the place of AMCL, as in the authors' code."""
SHAPE: Mapping[str, Any] = {"max_depth": (None,), "min_samples_split": (2,)}
"""Of trees that are not searched. The authors' code tries twelve shapes in five folds: sixty forests more for each."""
SMALL = ", small"
"""Behind the name of a model with other forests than the paper's: fewer trees, or shapes that were not searched."""

FORESTS = ("rf", "amcl")
"""Models that have random forests."""

Curve = dict[int, list[float]]
"""From the number of gold items to the mean score over a family's sets, one a repeat."""


def run(options: Options, *, sizes: Sequence[int] = SIZES, trees: int = TREES, searched: bool = True) -> None:
    """Score models that learn from gold; records go to semi.jsonl.

    All sets and sizes of one repeat come before the next repeat, so that a run that is cut short has fewer repeats
    but no gaps.

    Args:
        options: What to run, and where; models are any short names of label models.
        sizes: Numbers of gold items.
        trees: Trees of each random forest.
        searched: Whether forests choose among twelve shapes by five-fold cross-validation, as in the paper.
    """
    if not sizes or min(sizes) < 1:
        raise ParameterError(f"sizes is {list(sizes)}; expected numbers of gold items, each at least 1")
    sets = {data.name: data for data in load_datasets(options.data, options.sets)}
    forest = {"trees": trees} | ({"searched": True} if searched else {})
    cells = [
        {"dataset": data.name, "model": model, "seed": seed, "gold": size} | (forest if model in FORESTS else {})
        for seed in range(options.seeds)
        for data in sets.values()
        for size in distinct_sizes(data, sizes)
        for model in options.models or MODELS
    ]
    plain = cache(lambda name, model: _predict(sets[name], model, {}, None)[0])

    def work(cell: Cell) -> dict[str, Any]:
        return measure(sets[cell["dataset"]], cell, plain)

    Store(options.out / "semi.jsonl", options.limit).run(cells, work, options.progress)


def distinct_sizes(data: DataSet, sizes: Iterable[int]) -> list[int]:
    """The sizes that draw different numbers of gold items: the first of those above the cap stands for all."""
    first: dict[int, int] = {}
    for size in sorted(sizes):
        first.setdefault(min(size, _cap(data)), size)
    return list(first.values())


def _cap(data: DataSet) -> int:
    return int(LARGEST_SHARE * (data.truth >= 0).sum())


def draw_gold(data: DataSet, size: int, seed: int) -> Ints:
    """Gold for some items, -1 for the others. -> (n,).

    Items are drawn uniformly from those with known truth, at most 70 % of them; classes that got fewer than two are
    then filled up to two, as far as they have items. A larger draw of the same repeat contains the smaller ones.
    """
    known = np.random.default_rng(seed).permutation(np.flatnonzero(data.truth >= 0))
    chosen = np.zeros(len(known), bool)
    chosen[: min(size, _cap(data))] = True
    for label in range(data.k):
        of_class = data.truth[known] == label
        missing = max(0, 2 - int((chosen & of_class).sum()))
        chosen[np.flatnonzero(of_class & ~chosen)[:missing]] = True
    gold = np.full(len(data.truth), -1)
    gold[known[chosen]] = data.truth[known[chosen]]
    return gold


def measure(data: DataSet, cell: Cell, plain: Callable[[str, str], Ints]) -> dict[str, Any]:
    """How well a model with gold labels the other items; `plain` gives labels without gold, by set and model."""
    gold = draw_gold(data, cell["gold"], cell["seed"])
    rest = replace(data, truth=np.where(gold >= 0, -1, data.truth))
    labels, taken = _predict(data, cell["model"], _parameters(cell), gold)
    return {
        "family": data.family,
        "metric": data.metric,
        "n_gold": int((gold >= 0).sum()),
        "n_scored": int((rest.truth >= 0).sum()),
        "score": score(rest, labels),
        "unsupervised": score(rest, plain(data.name, cell["model"] if cell["model"] in OWN_BASES else "hlm")),
        "seconds": taken,
    }


def _parameters(cell: Cell) -> dict[str, Any]:
    """What sets a model up beside its name: forests have the cell's number of trees."""
    seed = {"seed": cell["seed"]}
    if cell["model"] not in FORESTS:
        return seed
    forest = {"n_trees": cell["trees"], **({} if cell.get("searched") else SHAPE), **seed}
    return forest if cell["model"] == "rf" else {"forest": label_model("rf", **forest), **seed}


def _predict(data: DataSet, name: str, params: Mapping[str, Any], gold: Ints | None) -> tuple[Ints, float]:
    """The labels of a model, and the processor time of learning and predicting, in seconds."""
    start = time.process_time()
    model = make_model(name, data, **params).fit(data.votes, gold)
    labels = model.predict(data.votes).astype(np.int64)
    return labels, time.process_time() - start


class Results:
    """The records, looked up by what they are about.

    A set with fewer items than a size asks for has one record for all larger sizes. Where AMCL was stopped, the random
    forest of the same draw takes its place; a set on which another model was stopped is left out for all models.

    Args:
        records: Of semi.jsonl; those without a score are left out.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.stopped = [record for record in records if record.get("stopped")]
        self.left_out = {record["dataset"] for record in self.stopped if record["model"] != "amcl"}
        stood_in = _stand_in([record for record in self.stopped if record["model"] == "amcl"], records)
        found = [record for record in (*records, *stood_in) if "score" in record]
        scored = [record for record in found if record["dataset"] not in self.left_out]
        self.sizes = sorted({record["gold"] for record in scored})
        self.models = list(dict.fromkeys(name_of(record) for record in scored))
        self.families: dict[str, list[str]] = defaultdict(list)
        self._found: dict[tuple[str, str, int], dict[int, Record]] = defaultdict(dict)
        for record in scored:
            if record["dataset"] not in self.families[record["family"]]:
                self.families[record["family"]].append(record["dataset"])
            self._found[record["dataset"], name_of(record), record["seed"]][record["gold"]] = record

    def of_set(self, dataset: str, model: str, size: int, seed: int) -> Record | None:
        """The record of the largest number of gold items up to a size."""
        by_size = self._found.get((dataset, model, seed), {})
        within = [gold for gold in by_size if gold <= size]
        return by_size[max(within)] if within else None

    def repeats(self, model: str, family: str, size: int) -> list[list[Record]]:
        """One list of records for each repeat that covers all sets of a family; none for a size not run with."""
        if size not in self.sizes_of(model):
            return []
        sets = self.families[family]
        seeds = {seed for name, of_model, seed in self._found if name in sets and of_model == model}
        rows = [[self.of_set(name, model, size, seed) for name in sets] for seed in sorted(seeds)]
        return [[record for record in row if record is not None] for row in rows if None not in row]

    def sizes_of(self, model: str) -> list[int]:
        """The sizes with which a model was run on some set."""
        return sorted({size for (_, of, _), by_size in self._found.items() if of == model for size in by_size})

    def curve(self, model: str, family: str, field: str = "score") -> Curve:
        """A measure by size, averaged over a family's sets; empty where no repeat covers them all."""
        found = {
            size: [float(np.mean([record[field] for record in row])) for row in self.repeats(model, family, size)]
            for size in self.sizes
        }
        return {size: values for size, values in found.items() if values}

    def without_gold(self, family: str) -> Curve:
        """The scores of hlm without gold on the items that are scored, which are the same for all models."""
        return self.curve("hlm", family, "unsupervised")

    def describe_runs(self, model: str) -> str:
        """On how many sets, with what numbers of gold items and how often a model was run."""
        of_model = [(name, seed) for name, of, seed in self._found if of == model]
        sets, seeds = ({each[place] for each in of_model} for place in (0, 1))
        sizes = ", ".join(f"{size:,}" for size in self.sizes_of(model))
        return f"; {model}: {len(sets)} sets, {sizes} gold items, {len(seeds)} repeats" if of_model else ""

    def missing(self, model: str, family: str) -> list[str]:
        """The sets of a family on which a model was not run, or could not be."""
        run_on = {name for name, of_model, _ in self._found if of_model == model}
        return [name for name in self.families[family] if name not in run_on]


def _stand_in(stopped: Sequence[Record], records: Sequence[Record]) -> list[Record]:
    """The forests of the draws on which AMCL was stopped, under its name, with the time of both."""
    forests = {_draw(record): record for record in records if record["model"] == "rf" and "score" in record}
    pairs = [(record, forests[_draw(record)]) for record in stopped if _draw(record) in forests]
    return [{**rf, "model": "amcl", "seconds": late["seconds"] + rf["seconds"]} for late, rf in pairs]


def _draw(record: Record) -> tuple[Any, ...]:
    return tuple(record.get(field) for field in ("dataset", "seed", "gold", "trees", "searched"))


def name_of(record: Record) -> str:
    """The name of a record's model, which says if its forests are smaller than the paper's."""
    small = record["model"] in FORESTS and not (record.get("searched") and record["trees"] >= TREES)
    return f"{record['model']}{SMALL if small else ''}"


def tables(records: Sequence[Record]) -> str:
    """Scores and running times by number of gold items, in markdown."""
    results = Results(records)
    parts = [_score_table(results, family) for family in results.families]
    return "\n\n".join([*parts, _seconds_table(results), *_notes(results, records)])


def _score_table(results: Results, family: str) -> str:
    sets = results.families[family]
    title = f"Score in percent, mean over the {len(sets)} {family} sets ± standard deviation over repeats"
    curves = {"hlm without gold": results.without_gold(family)}
    curves |= {model: results.curve(model, family) for model in results.models}
    rows = []
    for model, curve in curves.items():
        if curve:
            shown = [spread(curve.get(size, [])) for size in results.sizes]
            rows.append([model, *shown, str(min(len(values) for values in curve.values()))])
    head = ["model", *[f"{size:,}" for size in results.sizes], "repeats"]
    return f"**{title}, by number of gold items**\n\n{table(head, rows)}"


def _seconds_table(results: Results) -> str:
    """Running time averaged over the sets of all families in which a model is complete."""
    rows = []
    for model in results.models:
        shown = []
        for size in results.sizes:
            found = [row for family in results.families for row in results.repeats(model, family, size)]
            times = [record["seconds"] for row in found for record in row]
            shown.append(seconds(float(np.mean(times))) if times else "–")
        published = f"{SEMI_SECONDS[model]:.1f} s" if model in SEMI_SECONDS else "–"  # no small forests there
        rows.append([model, *shown, published])
    head = ["model", *[f"{size:,}" for size in results.sizes], "the paper, 10,000"]
    title = "Processor time of learning and labeling, mean over sets, by number of gold items"
    return f"**{title}**\n\n{table(head, rows)}"


def _notes(results: Results, records: Sequence[Record]) -> list[str]:
    """What a reader must know of the numbers: where hlm gains, what stood in for AMCL, what was not run."""
    notes = [_gain(results, family) for family in results.families if "hlm" in results.models]
    small = sorted({record["trees"] for record in records if name_of(record).endswith(SMALL)})
    if small:
        notes.append(
            f"Models that are called small have forests of {' or '.join(map(str, small))} trees of any depth. The "
            f"others have {TREES} trees of the best of twelve shapes, by five-fold cross-validation, as in the paper"
            f"{''.join(map(results.describe_runs, FORESTS))}."
        )
    of_amcl = [record for record in records if record["model"] == "amcl"]
    if of_amcl:
        late = [record for record in of_amcl if record.get("stopped")]
        unsolved = sum(any("took its place" in said for said in record.get("warnings", [])) for record in of_amcl)
        notes.append(
            f"A random forest took the place of amcl in {unsolved + len(late)} of {len(of_amcl)} cells: in {unsolved} "
            f"there was no solution or the program was too large, as in the paper"
            + (f"; {len(late)} were {late[0]['note']}, a limit of ours." if late else ".")
        )
    for name in sorted(results.left_out):
        models = dict.fromkeys(f"{r['model']} was {r['note']}" for r in results.stopped if r["dataset"] == name)
        notes.append(f"Left out for all models: {name}, since {' and '.join(models)}.")
    for family in results.families:
        for model in results.models:
            missing = results.missing(model, family)
            if missing:
                notes.append(f"Not run: {model} on {', '.join(missing)}; it is left out of the {family} averages.")
    return [note for note in notes if note]


def _gain(results: Results, family: str) -> str:
    """From how many gold items on fine-tuning is above hlm without gold."""
    curve, without = results.curve("hlm", family), results.curve("hlm", family, "unsupervised")
    better = [size for size, values in curve.items() if np.mean(values) > np.mean(without[size])]
    lasting = [size for size in better if all(larger in better for larger in curve if larger > size)]
    if not lasting:
        return (
            f"On the {family} sets, hlm fine-tuned on the largest number of gold items is not above hlm without gold."
        )
    return f"On the {family} sets, hlm fine-tuned is above hlm without gold from {lasting[0]:,} gold items on."


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One panel a family: score by number of gold items, a band of one standard deviation over repeats."""
    results = Results(records)
    columns = len(results.families)
    figure, panels = new_figure(0.8 + 4.4 * columns, 4.2, columns=columns)
    for axes, (family, sets) in zip(panels[0], results.families.items(), strict=True):
        for model in results.models:
            if curve := results.curve(model, family):
                _draw_curve(axes, curve, style(model, results.models))
        line = np.mean([np.mean(values) for values in results.without_gold(family).values()])
        axes.axhline(line, color="0.35", linestyle=(0, (6, 3)), linewidth=1.2, label="hlm without gold")
        axes.set_xscale("log")
        axes.set(title=f"{family}: mean of {len(sets)} sets", xlabel="gold items", ylabel="score (%)")
    entries = {
        label: handle for axes in panels[0] for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(entries.values(), entries, loc="outside lower center", ncols=3 * len(panels[0]), frameon=False)
    return [save(figure, folder / "semi.png")]


def _draw_curve(axes: Any, curve: Curve, look: Mapping[str, Any]) -> None:
    sizes = list(curve)
    middle = np.array([np.mean(values) for values in curve.values()])
    width = np.array([np.std(values, ddof=1) if len(values) > 1 else 0.0 for values in curve.values()])
    axes.plot(sizes, middle, **look)
    axes.fill_between(sizes, middle - width, middle + width, color=look["color"], alpha=0.15, linewidth=0)
