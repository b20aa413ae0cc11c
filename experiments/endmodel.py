"""The paper's Table 6: end models trained on each label model's probabilities, scored on the truth of the test split.

Label models see the votes of all items, as in the paper, or those outside the test split only. An end model learns
from the items outside the test split that have votes: a random quarter of them, with generated labels, chooses its
hyper-parameters. All items of the test split are scored, with votes or without. Sets of numeric features get an MLP;
texts get TF-IDF with a linear model or an MLP on top, or a transformer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import DataSet, Ints, load_datasets
from experiments.markdown import beside, bold_best, number, spread, table
from experiments.paper import END_MODELS
from experiments.plots import COLOURS, new_figure, save
from experiments.protocol import compared_models, fit_best_prior, model_order, score
from experiments.store import Cell, Options, Record, Store
from hyperlabel.data import SPLITS, find_f1_rule, read_wrench
from hyperlabel.errors import ParameterError

TRUTH = "truth"
"""In the place of a label model: the true classes of the same items, for comparison."""

HARD = ":hard"
"""Behind the name of a label model: an end model learns its most probable classes, not its probabilities."""

TEXT_MODELS = {"linear": "TF-IDF with a linear model", "mlp": "TF-IDF (SVD) with an MLP"}
"""What needs no download; any other name is a transformer's."""

DIMENSIONS = 300
"""To which TF-IDF is reduced for an MLP."""

SETTING = ("text_model", "search", "test_votes")
TEST_SHARE, SPLIT_SEED = 0.25, 0
"""Of the random split of a set whose benchmark's split is not known."""
PANELS = 4
"""Panels side by side."""


@dataclass(frozen=True, eq=False)
class Task:
    """What an end model learns from and is scored on.

    Attributes:
        data: The votes that label models see; the truth of the test split is hidden.
        train: (t,) items of `data` outside the test split.
        inputs: (t, q) features, or t texts.
        test_inputs: Those of the test split.
        test_truth: Its classes.
    """

    data: DataSet
    train: Ints
    inputs: Any
    test_inputs: Any
    test_truth: Ints


def run(options: Options, *, text_model: str = "linear", search: str = "paper", test_votes: bool = True) -> None:
    """Train and score end models; records go to endmodel.jsonl. Sets without inputs or split get a note.

    Args:
        options: What to run, and where; models are label models, with `:hard` behind them or not, or `truth`.
        text_model: What learns from texts: `linear` or `mlp` on TF-IDF, or a transformer by its folder or name.
        search: The hyper-parameters to try: `paper` or `small`.
        test_votes: Whether label models see the votes of the test split too.
    """
    _check(text_model, search)
    setting = dict(zip(SETTING, (text_model, search, test_votes), strict=True))
    sets = {data.name: data for data in load_datasets(options.data, options.sets)}
    tasks = {name: _task_or_note(data, options.data, test_votes) for name, data in sets.items()}
    models = options.models or (*compared_models(), TRUTH)
    skipped = [{"dataset": name, **setting} for name, task in tasks.items() if isinstance(task, str)]
    cells = [
        {"dataset": name, "model": model, "seed": seed, **setting}
        for name, task in tasks.items()
        if isinstance(task, Task)
        for model in models
        for seed in range(options.seeds)
    ]

    def work(cell: Cell) -> dict[str, Any]:
        task = tasks[cell["dataset"]]
        return {"note": task} if isinstance(task, str) else measure(task, cell)

    Store(options.out / "endmodel.jsonl").run([*skipped, *cells], work, options.progress)


def _check(text_model: str, search: str) -> None:
    """Find out at once what would stop every cell."""
    from hyperlabel.classify import GRIDS, Transformer

    if search not in GRIDS:
        raise ParameterError(f"search is {search!r}; expected one of {', '.join(GRIDS)}")
    if text_model not in TEXT_MODELS:
        Transformer(text_model).load_source(n_classes=2)


def _task_or_note(data: DataSet, folder: Path, test_votes: bool) -> Task | str:
    try:
        return make_task(data, folder, test_votes)
    except ParameterError as error:
        return str(error)


def make_task(data: DataSet, folder: Path, test_votes: bool) -> Task:
    """The task of a set.

    Raises:
        ParameterError: It has no test split, no texts or features, or nothing to learn from.
    """
    inputs, truth, split = _read_source(data, folder)
    outside = split[data.rows] != "test"  # (n,) of the items with votes
    test = np.flatnonzero((split == "test") & (truth >= 0))
    if not len(test) or not outside.any():
        raise ParameterError("no items with truth in the test split, or none with votes outside it")
    seen = replace(data, truth=np.where(outside, data.truth, -1))
    if not test_votes:
        votes = data.votes[outside]
        votes = votes[:, (votes >= 0).any(0)]
        seen = replace(data, votes=votes, truth=data.truth[outside], rows=data.rows[outside], split=None)
    train = np.flatnonzero(split[seen.rows] != "test")
    return Task(seen, train, _take(inputs, seen.rows[train]), _take(inputs, test), truth[test])


def _read_source(data: DataSet, folder: Path) -> tuple[Any, Ints, NDArray[np.str_]]:
    """Inputs, truth and split of all rows of a set's source, those of items without votes included."""
    if data.raw is not None and data.raw.is_dir():
        source = read_wrench(data.raw)
        return _to_inputs(source.records), source.truth, source.split
    with np.load(folder / f"{data.name}.npz") as file:
        arrays = dict(file)
    truth, inputs = arrays["y"].astype(np.int64), arrays.get("X")
    if inputs is None and data.raw is None:
        raise ParameterError("no texts or features at hand")
    if inputs is None:
        return _to_inputs(replace(data, rows=np.arange(len(truth))).read_raw()), truth, _find_split(folder, data.name)
    return inputs.astype(np.float64), truth, _find_split(folder, data.name)


def _find_split(folder: Path, name: str) -> NDArray[np.str_]:
    """The benchmark's split, of this file or of the one with the same votes in the folder above; else a random one."""
    with np.load(folder / f"{name}.npz") as arrays:
        votes, own = arrays["L"], arrays.get("split")
    above = folder.parent / f"{name}.npz"
    if own is None and above.exists():
        with np.load(above) as arrays:
            own = arrays.get("split") if np.array_equal(arrays["L"], votes) else None
    if own is None:
        own = np.where(np.random.default_rng(SPLIT_SEED).random(len(votes)) < TEST_SHARE, SPLITS.index("test"), 0)
    split: NDArray[np.str_] = np.array(SPLITS)[own]
    return split


def _to_inputs(records: Sequence[dict[str, Any]]) -> Any:
    """Features if every record has them, else texts."""
    if all("feature" in record for record in records):
        return np.array([record["feature"] for record in records], np.float64)
    if all("text" in record for record in records):
        return [mark_entities(record) for record in records]
    raise ParameterError("no texts or features at hand")


def mark_entities(record: dict[str, Any]) -> str:
    """A record's text; where the task is the relation of two spans of it, words before and after each span say so.

    >>> mark_entities({"text": "smoke caused by fire", "span1": [0, 5], "span2": [16, 20]})
    'e1start smoke e1end caused by e2start fire e2end'
    """
    text = str(record["text"])
    spans = [(*record[f"span{entity}"], entity) for entity in (1, 2) if f"span{entity}" in record]
    for start, end, entity in sorted(spans, reverse=True):
        text = f"{text[:start]}e{entity}start {text[start:end]} e{entity}end{text[end:]}"
    return text


def _take(inputs: Any, rows: Ints) -> Any:
    return inputs[rows] if isinstance(inputs, np.ndarray) else [inputs[row] for row in rows]


def measure(task: Task, cell: Cell) -> dict[str, Any]:
    """How well an end model does that learned from a label model, and how good the labels were."""
    items, probabilities = _generate(task, cell["model"], cell["seed"])
    model = _end_model(task, cell["text_model"], cell["search"], cell["seed"])
    model.fit(_take(task.inputs, items), probabilities)
    found, test = getattr(model, "head", model), replace(task.data, truth=task.test_truth)
    given = replace(task.data, truth=task.data.truth[task.train[items]])
    predicted = model.predict_proba(task.test_inputs)
    return {
        "family": task.data.family,
        "metric": task.data.metric,
        "inputs": "features" if isinstance(task.inputs, np.ndarray) else "texts",
        "n_train": len(items),
        "n_test": len(task.test_truth),
        "score": score(test, predicted.argmax(1)),
        "score_for_f1": score(test, _decide_for_f1(predicted)) if test.metric == "f1" else None,
        "label_score": score(given, probabilities.argmax(1)) if (given.truth >= 0).any() else None,
        "validation": 100 * found.best_score_,
        "params": found.best_params_,
    }


def _decide_for_f1(probabilities: NDArray[np.float64]) -> NDArray[np.intp]:
    """The labels with the best F1 if the probabilities are right. (n, k) -> (n,)."""
    each = np.ones(len(probabilities), np.int64)
    return find_f1_rule(lambda rule: rule.sums(probabilities, each), probabilities.shape[1]).decide(probabilities)


def _generate(task: Task, model: str, seed: int) -> tuple[Ints, NDArray[np.float64]]:
    """Which training items to learn from, and their (., k) probabilities."""
    if model != TRUTH:
        fitted = fit_best_prior(task.data, model.removesuffix(HARD), seed=seed).probabilities[task.train]
        learned = np.eye(task.data.k)[fitted.argmax(1)] if model.endswith(HARD) else fitted
        return np.arange(len(task.train)), learned
    truth = task.data.truth[task.train]
    known = np.flatnonzero(truth >= 0)
    if not len(known):
        raise ParameterError("no training item has a known class")
    return known, np.eye(task.data.k)[truth[known]]


def _end_model(task: Task, text_model: str, search: str, seed: int) -> Any:
    from hyperlabel.classify import GRIDS, MLP, BaseClassifier, Linear, Search, Tfidf, Transformer

    def tuned(model: BaseClassifier, kind: str) -> Search:
        return Search(model, GRIDS[search][kind], metric=task.data.metric, seed=seed)

    if isinstance(task.inputs, np.ndarray):
        return tuned(MLP(seed=seed), "mlp")
    if text_model == "linear":
        return Tfidf(tuned(Linear(), "linear"))
    if text_model == "mlp":
        return Tfidf(tuned(MLP(seed=seed), "mlp"), dimensions=DIMENSIONS)
    return tuned(Transformer(text_model, seed=seed), "transformer")


class Results:
    """The records of one setting, looked up by label model and set.

    Args:
        records: Of endmodel.jsonl, all of the same setting.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.scored = [record for record in records if "score" in record]
        self.sets = list(dict.fromkeys(record["dataset"] for record in self.scored))
        self.models = model_order(record["model"] for record in self.scored)

    def values(self, model: str, name: str, field: str = "score") -> list[float]:
        """A measure, one value per seed; empty where it is not known."""
        found = [record.get(field) for record in self.scored if (record["model"], record["dataset"]) == (model, name)]
        return [value for value in found if value is not None]

    def mean(self, model: str, name: str, field: str = "score") -> float:
        """A measure, averaged over seeds."""
        values = self.values(model, name, field)
        return float(np.mean(values)) if values else float("nan")

    def averages(self, model: str, field: str = "score") -> list[float]:
        """A measure averaged over the sets, one value per seed; empty if a set misses."""
        by_set = [self.values(model, name, field) for name in self.sets]
        return [float(np.mean(values)) for values in zip(*by_set, strict=False)]

    def has(self, field: str) -> bool:
        """Whether a measure is known anywhere."""
        return any(record.get(field) is not None for record in self.scored)

    @property
    def title(self) -> str:
        """What was run."""
        first = self.scored[0]
        texts = any(record["inputs"] == "texts" for record in self.scored)
        features = any(record["inputs"] == "features" for record in self.scored)
        text_model = TEXT_MODELS.get(first["text_model"], f"transformer {first['text_model']}")
        used = " and ".join([text_model] * texts + ["MLP on features"] * features)
        return f"{used}, search `{first['search']}`, label models see {_seen_votes(first)}"


def _seen_votes(record: Record) -> str:
    return "all votes" if record["test_votes"] else "the votes outside the test split"


def settings(records: Sequence[Record]) -> list[Results]:
    """The records by setting; settings without a score are left out."""

    def key(record: Record) -> list[str]:
        return [str(record[field]) for field in SETTING]

    found = [Results(list(group)) for _, group in groupby(sorted(records, key=key), key)]
    return [results for results in found if results.scored]


def tables(records: Sequence[Record]) -> str:
    """Test scores of the end models and quality of the labels they learned from, in markdown."""
    parts = []
    for results in settings(records):
        parts += [f"### End models: {results.title}", _score_table(results)]
        parts += [_measure_table(results, field, title) for field, title in MEASURES.items() if results.has(field)]
        parts += _notes(results)
    return "\n\n".join([*parts, *_not_run(records)])


def _not_run(records: Sequence[Record]) -> list[str]:
    """The sets without any score, and why."""
    scored = {record["dataset"] for record in records if "score" in record}
    reasons: dict[str, dict[str, None]] = {}
    for record in records:
        if "note" in record and record["dataset"] not in scored:
            reasons.setdefault(record["note"], {})[record["dataset"]] = None
    return [f"Not run ({note}): {', '.join(names)}." for note, names in reasons.items()]


def _score_table(results: Results) -> str:
    """A row a label model: the end model's test score by set, the paper's in brackets."""
    rivals = [model for model in results.models if model != TRUTH]
    columns = []
    for name in results.sets:
        cells = [spread(results.values(model, name)) for model in rivals]
        cells = bold_best(cells, [results.mean(model, name) for model in rivals])
        published = [END_MODELS.get(model, {}).get(name) for model in rivals]
        columns.append([beside(cell, paper) for cell, paper in zip(cells, published, strict=True)])
    averages = [results.averages(model) for model in rivals]
    means = [float(np.mean(values)) if values else float("nan") for values in averages]
    columns.append(bold_best([spread(values) for values in averages], means))
    rows = [[model, *cells] for model, *cells in zip(rivals, *columns, strict=True)]
    if TRUTH in results.models:
        shown = [spread(results.values(TRUTH, name)) for name in results.sets]
        rows.append(["*true labels*", *shown, spread(results.averages(TRUTH))])
    head = ["label model", *_set_heads(results), "average"]
    title = "Score of the end model on the test split in percent, mean ± standard deviation over seeds"
    return f"**{title} (the paper's in brackets)**\n\n{table(head, rows)}"


def _set_heads(results: Results) -> list[str]:
    metrics = {record["dataset"]: "F1" if record["metric"] == "f1" else "acc" for record in results.scored}
    return [f"{name} ({metrics[name]})" for name in results.sets]


MEASURES = {
    "score_for_f1": "The same end models on F1 sets, with the labels of the best F1 if their probabilities are right",
    "label_score": "Score of the generated labels that it learned from, in percent",
}
"""Tables below that of the scores: field of the records, and title."""


def _measure_table(results: Results, field: str, title: str) -> str:
    """A row a label model that has it: a measure on the sets that have it, averaged over seeds."""
    known = {(m, s): results.values(m, s, field) for m in results.models if m != TRUTH for s in results.sets}
    rivals = list(dict.fromkeys(model for (model, _), values in known.items() if values))
    sets = {s: h for s, h in zip(results.sets, _set_heads(results), strict=True) if any(known[m, s] for m in rivals)}
    columns = []
    for name in sets:
        means = [results.mean(model, name, field) for model in rivals]
        columns.append(bold_best([number(mean) for mean in means], means))
    rows = [[model, *cells] for model, *cells in zip(rivals, *columns, strict=True)]
    return f"**{title}**\n\n{table(['label model', *sets.values()], rows)}"


def _notes(results: Results) -> list[str]:
    """What a reader must know of the numbers."""
    counts = {len(results.values(model, name)) for model in results.models for name in results.sets} - {0}
    seeds = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    sizes = {r["dataset"]: f"{r['dataset']} {r['n_train']:,} and {r['n_test']:,}" for r in reversed(results.scored)}
    notes = [
        f"Repeats: {seeds} (5 in the paper). A seed decides which quarter of the items chooses the hyper-parameters, "
        "and all else that is random. Items to learn from (that quarter included) and items of the test split: "
        + "; ".join(sizes[name] for name in results.sets)
        + ".",
    ]
    if any(name in END_MODELS["mv"] and _has_texts(results, name) for name in results.sets):
        notes.append(_encoder_note(results))
    return notes


def _has_texts(results: Results, name: str) -> bool:
    return any(record["inputs"] == "texts" for record in results.scored if record["dataset"] == name)


def _encoder_note(results: Results) -> str:
    text_model = results.scored[0]["text_model"]
    if text_model not in TEXT_MODELS:
        return "The paper fine-tunes a pre-trained BERT on texts; the numbers here are those of the named transformer."
    return (
        "The paper fine-tunes a pre-trained BERT on texts; here they are encoded by TF-IDF, which knows words but no "
        "language. So the numbers in brackets are not to be matched: compare the order of the label models."
    )


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """One figure a setting, one panel a set: end model, generated labels and the paper's end model by label model."""
    found = settings(records)
    names = ["endmodel.png", *(f"endmodel-{place}.png" for place in range(2, 1 + len(found)))]
    return [_draw_setting(results, folder / name) for results, name in zip(found, names, strict=False)]


def _draw_setting(results: Results, path: Path) -> Path:
    rivals = [model for model in results.models if model != TRUTH][::-1]  # the first on top
    columns = min(PANELS, len(results.sets))
    rows = -(-len(results.sets) // columns)
    size = (1.2 + 2.7 * columns, rows * (1.5 + 0.26 * len(rivals)) + 0.8)
    figure, panels = new_figure(*size, rows=rows, columns=columns, sharey=True)
    for axes, name, head in zip(panels.flat, results.sets, _set_heads(results), strict=False):
        _draw_panel(axes, results, name, rivals)
        axes.set(title=head, xlabel="score (%)")
    for axes in panels.flat[len(results.sets) :]:
        axes.set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("label model")
    shown = [axes.get_legend_handles_labels() for axes in panels.flat[: len(results.sets)]]
    legend = {label: handle for handles, labels in shown for handle, label in zip(handles, labels, strict=True)}
    side_by_side = (1, 2, 2, 4)[columns - 1]  # as many entries of the legend as the width has room for
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=side_by_side, frameon=False)
    return save(figure, path)


def _draw_panel(axes: Any, results: Results, name: str, rivals: Sequence[str]) -> None:
    places = np.arange(len(rivals))
    values = [results.values(model, name) for model in rivals]
    errors = [np.std(v, ddof=1) if len(v) > 1 else 0.0 for v in values]
    labels = [results.mean(model, name, "label_score") for model in rivals]
    published = [END_MODELS.get(model, {}).get(name, np.nan) for model in rivals]
    axes.plot(labels, places, "o", color="0.55", mfc="none", markersize=7, label="generated labels (training items)")
    if not np.isnan(published).all():
        axes.plot(published, places, "D", color=COLOURS[2], mfc="none", markersize=6, label="end model of the paper")
    means = [results.mean(model, name) for model in rivals]
    look = {"color": COLOURS[1], "markersize": 5, "capsize": 2.5, "linewidth": 1.2}
    axes.errorbar(means, places, xerr=errors, fmt="s", label="our end model (test split)", **look)
    if TRUTH in results.models:
        top = results.mean(TRUTH, name)
        axes.axvline(top, color=COLOURS[0], linestyle="--", linewidth=1, label="end model on true labels")
    axes.set_yticks(places, rivals)
