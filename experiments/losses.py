"""The training loss of networks on fresh synthetic votes, by how the number of items is drawn.

    python -m experiments losses --out experiments/results/losses.md

The authors' checkpoint records the loss of its last steps, which depends on the sizes that it was trained on. Beside
the losses stand the scores on real sets, as `experiments.runs` recorded them: which losses go with which scores? The
authors' weights take part where `experiments.references` has them.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.markdown import number, table
from experiments.references import RELEASED, RELEASED_FILE
from experiments.runs import averages, recipes
from experiments.store import Record, read_records
from hyperlabel import HyperLabelModel
from hyperlabel.training import ReleasedPrior, Task

MATRICES, CANDIDATES = 300, 1024
DRAWS = {"n uniform": False, "log n uniform": True}
FOLDERS = tuple(Path("training") / name for name in ("hlm-paper", "hlm-released", "hlm-released-log"))
RECORDS = Path("experiments/results/bench/runs.jsonl")


def run(folders: Sequence[Path] = FOLDERS, records: Path = RECORDS) -> str:
    """A table: mean loss and its standard error of the released weights and of every run, and its score on WRENCH.

    Args:
        folders: Each holds a folder of weights for each run, as `hyperlabel train` leaves them.
        records: Of `experiments.runs`.
    """
    scores = _scores(read_records(records))
    files = {RELEASED: RELEASED_FILE} if RELEASED_FILE.exists() else {}
    for folder in folders:
        for path in sorted(folder.glob("run-*/weights.safetensors")):
            files[f"{folder.name}, {path.parent.name}"] = path
    models = {
        name: HyperLabelModel(path, as_released=True) for name, path in files.items()
    }  # one logit, as in training
    tasks = {name: draw_tasks(log_items, MATRICES) for name, log_items in DRAWS.items()}
    rows = [
        [name, *(_show(losses(model, drawn)) for drawn in tasks.values()), number(scores.get(name, math.nan), 2)]
        for name, model in models.items()
    ]
    return table(["weights", *tasks, "WRENCH"], rows)


def _scores(records: Sequence[Record]) -> dict[str, float]:
    """The mean score on WRENCH of each run."""
    return {
        f"{recipe}, run-{number:02d}": mean
        for recipe, of in recipes(records).items()
        for number, mean in averages(of).items()
    }


def draw_tasks(log_items: bool, count: int) -> list[Task]:
    """Matrices as the authors' code draws them, with averaged targets."""
    prior = ReleasedPrior(candidates=CANDIDATES, log_items=log_items)
    return [prior.sample(np.random.default_rng([int(log_items), i])) for i in range(count)]


def losses(model: HyperLabelModel, tasks: Sequence[Task]) -> NDArray[np.float64]:
    """The mean cross-entropy over the items with votes of each matrix."""
    return np.array([_loss(model, task) for task in tasks])


def _loss(model: HyperLabelModel, task: Task) -> float:
    voted = (task.votes >= 0).any(axis=1)
    probabilities = model.fit_predict_proba(task.votes.astype(np.int64))[voted]
    target = task.target[voted]
    return float(-np.mean((1 - target) * np.log(probabilities[:, 0]) + target * np.log(probabilities[:, 1])))


def _show(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.6f} ± {values.std() / np.sqrt(len(values)):.6f}"
