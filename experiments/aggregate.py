"""The paper's Table 2: every unsupervised label model on every set, beside the paper's scores and the ceiling.

Two protocols share the records. `all rows` is ours: every row of a set counts, models run with their defaults. `as
released` is that of the published numbers: the rows that the authors' loader keeps, models set to do what their
reference implementations do.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets import DataSet, load_datasets
from experiments.markdown import beside, bold_best, number, spread, table, titled
from experiments.paper import SCORES, SETS
from experiments.plots import COLOURS, MARKERS, new_figure, save
from experiments.protocol import (
    BINS,
    ceiling,
    check_models,
    compared_models,
    fit_best_prior,
    model_order,
    named_model,
    reliability,
    to_patterns,
)
from experiments.store import Cell, Options, Record, Store
from hyperlabel._core import brier, log_loss
from hyperlabel.errors import ConvergenceWarning, ParameterError

ALL_ROWS, AS_RELEASED = "all rows", "as released"
PRIORS = ("own", "uniform", "majority vote")
WIDEST = 20.0
"""Points at which the colours of gains end."""
LEAST_SHARE = 0.005
"""Of the items; bins of the reliability plot that hold fewer are not drawn."""
FAR = 2.0
"""Points; as-released scores that are further off the paper's are marked."""

REFERENCE: Mapping[str, dict[str, Any]] = {
    "mv": {},
    "dp": {"epochs": 30},
    "fs": {"triplets": "all"},
    "metal": {"sgd_steps": 100},
    "nplm": {"batch_size": 512},
    "ds": {"abstain": "ignore", "smoothing": 0.0, "max_iter": 100, "tol": 0.0},
    "ebcc": {},
    "cll": {},
    "hlm": {"weights": "hlm"},
    "released": {},
}
"""Parameters that make a model do what its reference implementation does: the models of the paper's Table 2, and its
released weights."""


AVERAGE_TITLE = "Scores in percent, mean over the sets of a family ± standard deviation over seeds"
PROBABILITY_TITLE = "Quality of the probabilities, mean over sets; lower is better"
BALANCE_TITLE = "Score in percent by class balance, mean over all sets"
RELEASED_TITLE = (
    "Scores in percent under the protocol of the published numbers "
    f"(in brackets: the paper's; \\*: more than {FAR:.0f} points from it)"
)


def run(options: Options, *, as_released: bool = False) -> None:
    """Score the models; records go to aggregate.jsonl.

    Args:
        options: What to run, and where.
        as_released: The authors' protocol, on the sets that their Table 2 has.
    """
    sets = {data.name: data for data in load_datasets(options.data, options.sets, as_released)}
    compared = compared_models()
    names = options.models or tuple(name for name in compared if name in REFERENCE or not as_released)
    check_models(names)
    if as_released:
        sets = {name: data for name, data in sets.items() if name in SETS}
        if not sets:
            raise ParameterError(f"'{options.data}' has none of the paper's sets; expected some of {', '.join(SETS)}")
    cells = [
        {"dataset": name, "model": model, "seed": seed, "protocol": AS_RELEASED if as_released else ALL_ROWS}
        for name in sets
        for model in names
        for seed in range(options.seeds if depends_on_seed(model, as_released) else 1)
    ]
    tops = {name: ceiling(data) for name, data in sets.items()}

    def work(cell: Cell) -> dict[str, Any]:
        data, settings = sets[cell["dataset"]], _settings(cell["model"], as_released)
        return {**measure(data, cell["model"], seed=cell["seed"], **settings), "ceiling": tops[data.name]}

    Store(options.out / "aggregate.jsonl", options.limit).run(cells, work, options.progress)


def measure(data: DataSet, model: str, **params: Any) -> dict[str, Any]:
    """How good a model's labels and probabilities are, and what the set is like."""
    fitted = fit_best_prior(data, model, **params)
    return {
        "family": data.family,
        "metric": data.metric,
        "n": len(data.votes),
        "m": data.votes.shape[1],
        "k": data.k,
        "patterns": to_patterns(data).n_patterns,
        "score": fitted.scores[fitted.prior],
        "prior": fitted.prior,
        "scores_by_prior": fitted.scores,
        "brier": brier(data.truth, fitted.probabilities),
        "log_loss": log_loss(data.truth, fitted.probabilities),
        "reliability": reliability(fitted.probabilities, data.truth),
        "seconds": fitted.seconds,
    }


def _settings(model: str, as_released: bool) -> dict[str, Any]:
    return REFERENCE.get(model, {}) if as_released else {}


@cache
def depends_on_seed(model: str, as_released: bool = False) -> bool:
    """Whether a model's probabilities differ between two seeds; tried on a small matrix.

    >>> depends_on_seed("mv"), depends_on_seed("ebcc")
    (False, True)
    """
    votes = _noisy_votes(np.random.default_rng(0), n=600, m=6)
    settings = _settings(model, as_released)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it concerns this small matrix only
        one, two = (named_model(model, n_classes=2, seed=seed, **settings).fit(votes) for seed in (0, 1))
    return not np.array_equal(one.predict_proba(votes), two.predict_proba(votes))


def _noisy_votes(rng: np.random.Generator, n: int, m: int) -> np.ndarray[Any, Any]:
    """Votes that are right seven times in ten and cast seven times in ten. -> (n, m)."""
    truth = rng.integers(0, 2, (n, 1))
    votes = np.where(rng.random((n, m)) < 0.7, truth, 1 - truth)
    return np.where(rng.random((n, m)) < 0.7, votes, -1)


@dataclass(frozen=True)
class Board:
    """The records of one protocol, by model and set."""

    models: list[str]  # in the order of `label_models`, others last
    sets: dict[str, list[str]]  # in the order of the records, by family
    # The records by (model, set), one per seed; those without a score are not among them.
    found: dict[tuple[str, str], list[Record]]

    @classmethod
    def from_records(cls, records: Sequence[Record], protocol: str) -> "Board":
        """The records of a protocol."""
        chosen = [r for r in records if r["protocol"] == protocol]
        found: dict[tuple[str, str], list[Record]] = {}
        sets: dict[str, list[str]] = {}
        for r in chosen:
            if "score" in r:
                found.setdefault((r["model"], r["dataset"]), []).append(r)
                family = sets.setdefault(r["family"], [])
                family.extend([r["dataset"]] if r["dataset"] not in family else [])
        return cls(model_order(r["model"] for r in chosen), sets, found)

    @property
    def all_sets(self) -> list[str]:
        """The sets of all families."""
        return [name for names in self.sets.values() for name in names]

    def about(self, name: str) -> Record:
        """Some record of a set, for what does not depend on the model."""
        return next(rs[0] for (_, dataset), rs in self.found.items() if dataset == name)

    def values(self, model: str, name: str, field: str = "score") -> list[float]:
        """A measure of a model on a set, one value per seed."""
        return [float(r[field]) for r in self.found.get((model, name), [])]

    def averages(self, model: str, names: Sequence[str], field: str = "score") -> list[float]:
        """A measure averaged over sets, one value per seed; none if a set has no score."""
        by_set = [self.values(model, name, field) for name in names]
        if not by_set or not all(by_set):
            return []
        seeds = max(map(len, by_set))
        return [float(np.mean([values[seed % len(values)] for values in by_set])) for seed in range(seeds)]


def tables(records: Sequence[Record]) -> str:
    """All tables, as markdown."""
    ours, released = Board.from_records(records, ALL_ROWS), Board.from_records(records, AS_RELEASED)
    parts = []
    if ours.sets:
        parts += [titled(AVERAGE_TITLE, _average_table(ours))]
        parts += [titled(_set_title(names, family), _set_table(ours, family)) for family, names in ours.sets.items()]
        parts += [titled(PROBABILITY_TITLE, _probability_table(ours)), titled(BALANCE_TITLE, _balance_table(ours))]
    if released.sets:
        parts += [titled(RELEASED_TITLE, _released_table(released))]
    return "\n\n".join([*parts, *_remarks(records)])


def _average_table(board: Board) -> str:
    """Families and all sets; one row per model, the best in bold, with the error bar over seeds."""
    columns = {f"{family} ({len(names)})": names for family, names in board.sets.items()}
    columns[f"all ({len(board.all_sets)})"] = board.all_sets
    by_column = []
    for names in columns.values():
        averages = [board.averages(model, names) for model in board.models]
        cells = [spread(values, 2) for values in averages]
        by_column.append(bold_best(cells, [_mean(v) for v in averages], 2))
    rows = [[model, *cells] for model, *cells in zip(board.models, *by_column, strict=True)]
    tops = [number(float(np.mean([board.about(n)["ceiling"] for n in names])), 2) for names in columns.values()]
    return table(["model", *columns], [*rows, ["*ceiling*", *tops]])


def _set_title(names: Sequence[str], family: str) -> str:
    published = any(name in scores for scores in SCORES.values() for name in names)
    return f"Scores in percent, {family} sets" + (" (in brackets: the paper's)" if published else "")


def _set_table(board: Board, family: str) -> str:
    """A row a set: ceiling, then the models, with the paper's score in brackets where it has one."""
    rows = []
    for name in board.sets[family]:
        about = board.about(name)
        cells = _score_cells(board, name)
        rows.append([name, "F1" if about["metric"] == "f1" else "acc", number(about["ceiling"]), *cells])
    names = board.sets[family]
    averages = [_mean(board.averages(model, names)) for model in board.models]
    shown = bold_best([number(mean) for mean in averages], averages)
    means = [beside(cell, _published(model, names)) for cell, model in zip(shown, board.models, strict=True)]
    top = number(float(np.mean([board.about(n)["ceiling"] for n in names])))
    return table(["set", "metric", "ceiling", *board.models], [*rows, ["**average**", "", top, *means]])


def _published(model: str, names: Sequence[str]) -> float | None:
    """The paper's score of a model, averaged over sets; None if it lacks one of them."""
    scores = SCORES.get(model, {})
    return _mean([scores[name] for name in names]) if scores.keys() >= set(names) else None


def _score_cells(board: Board, name: str) -> list[str]:
    values = [board.values(model, name) for model in board.models]
    means = [_mean(v) for v in values]
    shown = bold_best([number(mean) for mean in means], means)
    published = [SCORES.get(model, {}).get(name) for model in board.models]
    return [beside(cell, paper) for cell, paper in zip(shown, published, strict=True)]


def _probability_table(board: Board) -> str:
    """Brier score and log loss by family, and the calibration error over all sets."""
    columns = {**board.sets, "all": board.all_sets}
    head = [f"{measure}, {family}" for measure in ("Brier score", "log loss") for family in columns]
    by_column = []
    for field in ("brier", "log_loss"):
        for names in columns.values():
            means = [_mean(board.averages(model, names, field)) for model in board.models]
            by_column.append(bold_best([number(mean, 3) for mean in means], means, 3, lowest=True))
    errors = [calibration_error(board, model) for model in board.models]
    by_column.append(bold_best([number(error, 3) for error in errors], errors, 3, lowest=True))
    rows = [[model, *cells] for model, *cells in zip(board.models, *by_column, strict=True)]
    return table(["model", *head, "calibration error"], rows)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def calibration_error(board: Board, model: str) -> float:
    """Distance of confidence from the share of right labels, over the bins of a set, averaged over sets."""
    errors = []
    for name in board.all_sets:
        for record in board.found.get((model, name), [])[:1]:
            bins = {field: np.array(values) for field, values in record["reliability"].items()}
            errors.append(np.abs(bins["confidence"] - bins["right"]).sum() / bins["items"].sum())
    return _mean(errors)


def _balance_table(board: Board) -> str:
    """Averages over all sets with each class balance, for the models that can be given one."""
    rows = []
    for model in board.models:
        found = [
            board.found[model, name][0]["scores_by_prior"] for name in board.all_sets if (model, name) in board.found
        ]
        if len(found) == len(board.all_sets) and any(len(scores) > 1 for scores in found):
            tried = [_mean([s[prior] for s in found]) if prior in found[0] else np.nan for prior in PRIORS]
            rows.append([model, *(number(value, 2) for value in tried)])
    return table(["model", *PRIORS], rows)


def _released_table(board: Board) -> str:
    """A row a set; a score more than two points off the paper's has a star."""
    rows = []
    for name in board.all_sets:
        cells = []
        for model in board.models:
            mean, paper = _mean(board.values(model, name)), SCORES.get(model, {}).get(name)
            star = "\\*" if paper is not None and abs(mean - paper) > FAR else ""
            cells.append(beside(number(mean) + star, paper))
        rows.append([name, *cells])
    means = [spread(board.averages(model, board.all_sets)) for model in board.models]
    averages = [
        beside(mean, _published(model, board.all_sets)) for mean, model in zip(means, board.models, strict=True)
    ]
    return table(["set", *board.models], [*rows, ["**average**", *averages]])


def _remarks(records: Sequence[Record]) -> list[str]:
    """Cells without a score, and what models warned of, as not having converged."""
    said: dict[str, list[str]] = {}
    for r in records:
        notes = [f"no score ({r['note']})"] if "note" in r else r.get("warnings", [])
        for note in notes:
            said.setdefault(f"`{r['model']}`, {r['protocol']}: {note}", []).append(r["dataset"])
    lines = [f"- {note}: {', '.join(dict.fromkeys(names))}" for note, names in said.items()]
    return [titled("Warnings, and cells without a score", "\n".join(lines))] if lines else []


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """The gain over majority vote by set, and how far probabilities can be trusted."""
    board = Board.from_records(records, ALL_ROWS)
    drawn = []
    if len(board.models) > 1 and "mv" in board.models:
        drawn.append(_draw_gains(board, folder / "aggregate_gains.png"))
    if board.sets:
        drawn.append(_draw_reliability(board, folder / "aggregate_reliability.png"))
    return drawn


def _draw_gains(board: Board, path: Path) -> Path:
    """A field for each set and model, with the points above or below majority vote."""
    models = [model for model in board.models if model != "mv"]
    names = board.all_sets
    gains = np.array([[_gain(board, model, name) for model in models] for name in names])
    figure, [[axes]] = new_figure(1.8 + 0.62 * len(models), 1.4 + 0.27 * len(names))
    axes.grid(visible=False)
    field = axes.imshow(gains, cmap="PuOr_r", vmin=-WIDEST, vmax=WIDEST, aspect="auto")
    for (i, j), gain in np.ndenumerate(gains):
        colour = "white" if abs(gain) > 0.55 * WIDEST else "black"
        axes.text(j, i, _signed(gain), ha="center", va="center", size=7.5, color=colour)
    axes.set_xticks(range(len(models)), models)
    axes.set_yticks(range(len(names)), names, size=8)
    for border in np.cumsum([len(family) for family in board.sets.values()])[:-1]:
        axes.axhline(border - 0.5, color="black", linewidth=1)
    axes.set_xlabel("label model")
    axes.set_title("Points of accuracy or F1 above majority vote", size=11)
    figure.colorbar(field, ax=axes, extend="both", shrink=0.5, label="points")
    return save(figure, path)


def _signed(gain: float) -> str:
    """A gain with its sign; nothing where there is none to show."""
    return "" if np.isnan(gain) else "0.0" if abs(gain) < 0.05 else f"{gain:+.1f}"


def _gain(board: Board, model: str, name: str) -> float:
    return _mean(board.values(model, name)) - _mean(board.values("mv", name))


def _draw_reliability(board: Board, path: Path) -> Path:
    """A panel a model: the share of right labels by how sure the model is, one line a family."""
    columns = 4
    rows = -(-len(board.models) // columns)
    figure, panels = new_figure(11, 2.7 * rows + 0.5, rows, columns, sharex=True, sharey=True)
    for axes, model in zip(panels.flat, board.models, strict=False):
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
        for place, (family, names) in enumerate(board.sets.items()):
            confidence, right = pooled_reliability(board, model, names)
            axes.plot(confidence, right, color=COLOURS[place + 1], marker=MARKERS[place], markersize=4, label=family)
        axes.set(title=model, xlim=(0, 1.02), ylim=(0, 1.02), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        axes.tick_params(labelbottom=True)
    for axes in panels.flat[len(board.models) :]:
        axes.set_visible(False)
    figure.supxlabel("confidence: the largest probability of an item, mean of each tenth")
    figure.supylabel("share of right labels")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=len(board.sets))
    return save(figure, path)


def pooled_reliability(board: Board, model: str, names: Sequence[str]) -> tuple[Any, Any]:
    """Confidence and share of right labels by bin, every set weighing the same; bins that hold little are left out."""
    pooled = np.zeros((3, BINS))
    for name in names:
        for record in board.found.get((model, name), [])[:1]:
            bins = np.array([record["reliability"][field] for field in ("items", "confidence", "right")])
            pooled += bins / bins[0].sum()
    items, confidence, right = pooled[:, pooled[0] > LEAST_SHARE * max(1, len(names))]
    return confidence / items, right / items
