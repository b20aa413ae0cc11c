"""`hyperlabel compare`: every label model on the same votes, against the truth."""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress
from rich.table import Table

from hyperlabel.cli.label import CLASSES_HELP, LFS_HELP, LONG_HELP, VOTES_HELP
from hyperlabel.cli.tables import Source, open_source, read_labels, split_names
from hyperlabel.cli.terminal import console, output, say
from hyperlabel.errors import ConvergenceWarning, HyperlabelError, ParameterError
from hyperlabel.metrics import Metric, brier, check_metric
from hyperlabel.models import label_model, label_model_class, label_models
from hyperlabel.votes import Votes

Option = typer.Option

TRUTH_HELP = "True classes, for the score: a column of VOTES, a table with 'id' and the class, or an npy array."
GOLD_HELP = "Known classes, to learn from and not scored; given in the same ways."


@dataclass(frozen=True)
class Result:
    """What one model reached, or why it reached nothing."""

    name: str
    score: float = float("nan")
    brier: float = float("nan")
    seconds: float = float("nan")
    note: str = ""


def compare(
    votes: Annotated[Path, typer.Argument(metavar="VOTES", help=VOTES_HELP, show_default=False)],
    truth: Annotated[str, Option(metavar="COLUMN|FILE", help=TRUTH_HELP)],
    gold: Annotated[str | None, Option(metavar="COLUMN|FILE", help=GOLD_HELP)] = None,
    models: Annotated[str | None, Option(metavar="A,B,...", help="Some models only, such as hlm,mv,ds.")] = None,
    metric: Annotated[str, Option(metavar="NAME", help="accuracy, or f1 of the second class.")] = "accuracy",
    classes: Annotated[str | None, Option(metavar="A,B,...", help=CLASSES_HELP)] = None,
    lfs: Annotated[str | None, Option(metavar="A,B,...", help=LFS_HELP)] = None,
    long: Annotated[str | None, Option(metavar="ITEM,LF,VOTE", help=LONG_HELP)] = None,
) -> None:
    """Compare all label models on VOTES.

    Prints score, Brier score and time of each, best first; --gold adds the models that need it. Scored are the items
    that have votes, known truth and no gold.
    """
    measure = check_metric(metric, "--metric")
    columns, triple, stated = split_names(lfs, "--lfs"), split_names(long, "--long"), split_names(classes, "--classes")
    names = split_names(models, "--models") or [
        n for n in label_models() if gold or not label_model_class(n).needs_gold
    ]
    for name in names:
        label_model_class(name)  # a name that is not known is an error before any work
    source = open_source(votes, lfs=columns, long=triple, classes=stated, labels=[truth, gold] if gold else [truth])
    read, known, hidden = read_truth(source, truth, gold)
    results = []
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        for name in bar.track(names, description="comparing"):
            results.append(evaluate(name, read, known, hidden, measure))
    output.print(result_table(results, metric))
    say(f"scored: {(known >= 0).sum():,} of {read.n_items:,} items, those with votes and known truth")


def read_truth(
    source: Source, truth: str, gold: str | None
) -> tuple[Votes, NDArray[np.int64], NDArray[np.int64] | None]:
    """Votes with all classes, the truth to score with, and the gold to learn from. -> votes, (n,), (n,) or None."""
    read, known = source.votes.with_labels(read_labels(truth, source, "truth"), "truth")
    hidden = None
    if gold is not None:
        read, hidden = read.with_labels(read_labels(gold, source, "gold"), "gold")
        known = np.where(hidden >= 0, -1, known)  # what was learned from is not scored
    known[np.diff(read.rows.starts) == 0] = -1  # every model is equally helpless without votes
    if not (known >= 0).any():
        raise ParameterError("no item has votes, known truth and no gold; there is nothing to compare with")
    return read, known, hidden


def evaluate(
    name: str, votes: Votes, truth: NDArray[np.int64], gold: NDArray[np.int64] | None, metric: Metric
) -> Result:
    """Fit a model on votes and score it; a model that the votes do not suit says so in its note."""
    start = time.perf_counter()
    model = label_model(name, classes=votes.classes)
    hint = None if gold is None else votes.decode(gold)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            probabilities = model.fit(votes, hint).predict_proba(votes)
        seconds = time.perf_counter() - start
        score = model.score(votes, votes.decode(truth), metric=metric)
    except HyperlabelError as error:
        return Result(name, note=str(error))
    note = "did not converge" if any(issubclass(w.category, ConvergenceWarning) for w in caught) else ""
    return Result(name, score, brier(truth, probabilities), seconds, note)


def result_table(results: list[Result], metric: str) -> Table:
    """The results, best first."""
    table = Table("model", metric, "Brier score", "seconds", "note")
    for column in table.columns[1:4]:
        column.justify = "right"
    for r in sorted(results, key=lambda r: -np.nan_to_num(r.score, nan=-1)):
        figures = ("", "", "") if np.isnan(r.score) else (f"{r.score:.4f}", f"{r.brier:.4f}", f"{r.seconds:.3f}")
        table.add_row(r.name, *figures, r.note)
    return table
