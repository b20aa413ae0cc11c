"""`hyperlabel compare`: every label model on the same votes, against the truth."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from hyperlabel.cli._options import JsonOptions, LearningOptions, Option, TableOptions, VotesName, split_names
from hyperlabel.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from hyperlabel._core import Metric
    from hyperlabel.data import Votes
    from hyperlabel.models import LabelModel

MODELS_HELP = "Only these models, such as hlm3,mv,ds; give a saved model or weights by file name."
TRUTH_HELP = "True classes, for the score; given in the same ways as gold."


def compare(
    votes: VotesName,
    *,
    truth: Annotated[str, Option(metavar="COLUMN|FILE", help=TRUTH_HELP)],
    models: Annotated[str | None, Option("--models", "--model", metavar="A,B,...", help=MODELS_HELP)] = None,
    learning: LearningOptions,
    reading: TableOptions,
    output: JsonOptions,
) -> None:
    """Compare all label models on VOTES.

    Prints score, Brier score and time of each, best first; --gold adds the models that need it. It scores the
    items that have known truth and no gold; an item without a label, such as one without votes, is wrong.

    Example: hyperlabel compare votes.csv --truth truth --models hlm3,mv,ds
    """
    from hyperlabel._core import check_metric
    from hyperlabel.cli import _terminal as terminal
    from hyperlabel.cli._inputs import Selection, open_votes

    summary = terminal.Summary()
    metric = check_metric(learning.metric, "--metric")
    with terminal.say_warnings(strict=output.strict) as messages:
        selection = Selection.parse(reading)
        candidates = _make_models(split_names(models, "--models"), learning, selection.classes)
        source, labels = open_votes(votes, selection, {"truth": truth, "gold": learning.gold})
        comparison = Comparison.of(source.votes, labels["truth"], labels["gold"])
        messages.lines.append(source.columns.describe())
    results = []
    with terminal.progress("comparing", len(candidates)) as advance:
        for name, model in candidates.items():
            results.append(evaluate(name, model, comparison, metric))
            advance(1)
    if output.json:
        summary.add_columns(source.columns)
        scored = int((comparison.truth >= 0).sum())
        content: dict[str, Any] = {"rows": source.votes.n_items, "scored": scored, "metric": metric}
        summary.print(**content, results=list(map(asdict, results)))
    else:
        terminal.output.print(result_table(results, metric, comparison.votes.n_classes))
    terminal.say(comparison.describe())


@dataclass(frozen=True)
class Comparison:
    """Votes to compare models on."""

    votes: "Votes"  # the votes, with all classes
    truth: "NDArray[np.int64]"  # (n,) true classes of the items that are scored, -1 for others
    gold: "NDArray[np.int64] | None"  # (n,) classes to learn from, -1 for unknown; None if there are none

    @classmethod
    def of(cls, votes: "Votes", truth: object, gold: object) -> "Comparison":
        """Match truth and gold with the votes; gold is not scored."""
        import numpy as np

        votes, scored = votes.with_labels(truth, "truth")
        learned = None
        if gold is not None:
            votes, learned = votes.with_labels(gold, "gold")
            scored = np.where(learned >= 0, -1, scored)
        if not (scored >= 0).any():
            raise ParameterError("no item has known truth and no gold; nothing can be compared")
        return cls(votes, scored, learned)

    def describe(self) -> str:
        """Return what was scored, in one line."""
        starts, scored = self.votes.rows.starts, self.truth >= 0
        silent = int((scored & (starts[1:] == starts[:-1])).sum())
        other = "" if self.gold is None else " and no gold"
        return (
            f"scored: {scored.sum():,} of {self.votes.n_items:,} items, those with known truth{other}; "
            f"{silent:,} of them have no votes, so no label, which counts as wrong"
        )


@dataclass(frozen=True)
class Result:
    """The result of one model, or why it has none."""

    name: str
    score: float = float("nan")
    brier: float = float("nan")
    seconds: float = float("nan")
    note: str = ""


def _make_models(
    names: Sequence[str] | None, options: LearningOptions, classes: Sequence[Hashable] | None
) -> "dict[str, LabelModel]":
    """Make the models that were named, else all that can learn from the input, with the options that each takes.

    A single model must take all options.
    """
    from hyperlabel.cli._inputs import apply_options, make_model
    from hyperlabel.models import label_model_class, label_models

    if names is None:
        names = [name for name in label_models() if options.gold is not None or not label_model_class(name).needs_gold]
    models = {name: make_model(name) for name in names}
    for name, model in models.items():
        if not model.is_fitted:
            apply_options(model, options, classes, name, every=len(names) == 1)
    return models


def evaluate(name: str, model: "LabelModel", comparison: Comparison, metric: "Metric") -> Result:
    """Fit a model and score its labels; if the votes do not suit the model, its note says so."""
    import time
    import warnings

    import numpy as np

    from hyperlabel._core import brier, score
    from hyperlabel.data import ABSTAIN, decode
    from hyperlabel.errors import ConvergenceWarning, HyperlabelError

    votes, truth = comparison.votes, comparison.truth
    gold = None if comparison.gold is None else decode(comparison.gold, votes.classes)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            if not model.is_fitted:
                model.set_params(classes=votes.classes).fit(votes, gold)
            labels = model.label(votes, metric)
    except HyperlabelError as error:
        return Result(name, note=str(error))
    seconds = time.perf_counter() - start
    note = "did not converge" if any(issubclass(w.category, ConvergenceWarning) for w in caught) else ""
    best, shares = labels.best, labels.probabilities
    if labels.classes != votes.classes:
        # A saved model may have other classes, or another order. Those that the truth lacks come last, and are wrong.
        number = {c: i for i, c in enumerate(dict.fromkeys((*votes.classes, *labels.classes)))}
        column = np.array([number[c] for c in labels.classes], np.intp)
        shares = np.zeros((len(labels), len(number)))
        shares[:, column] = labels.probabilities
        best = np.append(np.where(column < votes.n_classes, column, ABSTAIN), ABSTAIN)[best]
    return Result(name, score(metric, truth, best, votes.n_classes), brier(truth, shares), seconds, note)


def result_table(results: Sequence[Result], metric: "Metric", n_classes: int) -> "Table":
    """Return a table of the results, best first."""
    import math

    from rich.table import Table

    head = "macro f1" if metric == "f1" and n_classes > 2 else metric
    table = Table("model", head, "Brier score", "seconds", "note")
    for column in table.columns[1:4]:
        column.justify = "right"
    for r in sorted(results, key=lambda r: 1.0 if math.isnan(r.score) else -r.score):
        figures: Any = ("", "", "") if math.isnan(r.score) else (f"{r.score:.4f}", f"{r.brier:.4f}", f"{r.seconds:.3f}")
        table.add_row(r.name, *figures, r.note)
    return table
