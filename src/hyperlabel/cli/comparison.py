"""Label models scored on the same votes, for `hyperlabel compare`."""

import time
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress
from rich.table import Table

from hyperlabel.cli.models import make_model, tell_model
from hyperlabel.cli.options import LearningOptions
from hyperlabel.cli.tables import VotesInput, read_labels
from hyperlabel.cli.terminal import console
from hyperlabel.errors import ConvergenceWarning, HyperlabelError, ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.labels import Labels
from hyperlabel.metrics import Metric, brier, score
from hyperlabel.models import LabelModel, label_model_class, label_models
from hyperlabel.votes import Votes
from hyperlabel.votes.classes import ABSTAIN, Classes, decode


@dataclass(frozen=True)
class Contest:
    """What models are compared on."""

    votes: Votes  # the votes, with all classes
    truth: NDArray[np.int64]  # (n,) true classes of the items that are scored, -1 for others
    gold: NDArray[np.int64] | None  # (n,) classes to learn from, -1 for unknown; None if there are none

    def describe(self) -> str:
        """What was scored, in one line."""
        scored = self.truth >= 0
        silent = int((scored & (np.diff(self.votes.rows.starts) == 0)).sum())
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


def choose_models(names: Sequence[str] | None, *, with_gold: bool) -> list[str]:
    """The models to compare: those that were named, else all that can learn from the input."""
    usable = [name for name in label_models() if with_gold or not label_model_class(name).needs_gold]
    return usable if names is None else list(names)


def make_models(
    names: Sequence[str], options: LearningOptions, classes: Sequence[Hashable] | None
) -> dict[str, LabelModel]:
    """The models by name, each given the options that it takes; an only model must take them all."""
    models = {name: make_model(name) for name in names}
    for name, model in models.items():
        if not model.is_fitted:
            tell_model(model, options, classes, name, every=len(names) == 1)
    return models


def read_truth(source: VotesInput, truth: str, gold: str | None) -> Contest:
    """The votes with the truth to score with and the gold to learn from, which is not scored."""
    read, known = source.votes.with_labels(read_labels(truth, source, "truth"), "truth")
    hidden = None
    if gold is not None:
        read, hidden = read.with_labels(read_labels(gold, source, "gold"), "gold")
        known = np.where(hidden >= 0, -1, known)
    if not (known >= 0).any():
        raise ParameterError("no item has known truth and no gold; nothing can be compared")
    return Contest(read, known, hidden)


def compare_models(models: Mapping[str, LabelModel], contest: Contest, metric: Metric) -> list[Result]:
    """The result of each model, with a progress bar on a terminal."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        tracked = bar.track(models.items(), total=len(models), description="comparing")
        return [evaluate(name, model, contest, metric) for name, model in tracked]


def evaluate(name: str, model: LabelModel, contest: Contest, metric: Metric) -> Result:
    """Fit a model and score its labels; if the votes do not suit the model, its note says so."""
    votes, truth = contest.votes, contest.truth
    gold = None if contest.gold is None else decode(contest.gold, votes.classes)
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
    best, shares = _in_classes(labels, votes.classes)
    return Result(name, score(metric, truth, best, votes.n_classes), brier(truth, shares), seconds, note)


def _in_classes(labels: Labels, classes: Classes) -> tuple[NDArray[np.intp], Float64]:
    """The labels and probabilities of a model in the classes of the truth. -> (n,), (n, k and more).

    A saved model may have other classes, or another order. Those that the truth lacks come last, and are wrong.
    """
    if labels.classes == classes:
        return labels.best, labels.probabilities
    number = {c: i for i, c in enumerate(dict.fromkeys((*classes, *labels.classes)))}
    place = np.array([number[c] for c in labels.classes], np.intp)
    shares = np.zeros((len(labels), len(number)))
    shares[:, place] = labels.probabilities
    best = np.append(np.where(place < len(classes), place, ABSTAIN), ABSTAIN)[labels.best]
    return best, shares


def result_table(results: Sequence[Result], metric: Metric, n_classes: int) -> Table:
    """The results, best first."""
    table = Table("model", "macro f1" if metric == "f1" and n_classes > 2 else metric, "Brier score", "seconds", "note")
    for column in table.columns[1:4]:
        column.justify = "right"
    for r in sorted(results, key=lambda r: -np.nan_to_num(r.score, nan=-1)):
        figures = ("", "", "") if np.isnan(r.score) else (f"{r.score:.4f}", f"{r.brier:.4f}", f"{r.seconds:.3f}")
        table.add_row(r.name, *figures, r.note)
    return table
