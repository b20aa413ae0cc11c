"""Another assumption about LFs than the paper's, trained at the short budget and compared.

    python -m experiments assumption --data DATA --seeds 1 --out experiments/results/assumption.md

The paper says that its method takes any rule sigma that says which labels are valid. Its own rule asks most LFs to be
better than random on both classes, so that no labels are valid where rules vote for one class only, as most real ones
do. `better_where_voting` asks it on the classes that an LF votes for alone. Training votes are uniform as in the paper,
but half of the LFs never vote for one of the classes. The paper's own rule, with the same budget, stands beside it.
Training goes on from its checkpoints where it was interrupted.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets import FAMILIES, by_family, load_datasets
from experiments.markdown import number, table
from experiments.protocol import make_model, score

ITERATIONS, BATCH, ONE_SIDED = 400, 2, 0.5
FOLDER = Path(__file__).with_name("results") / "bench" / "ablation" / "assumption"  # of the runs; not kept in git
RULES = {"majority": "most LFs better than random on both classes (the paper)", "own": "on the classes they vote for"}


def make_task(recipe: Any, device: Any) -> Any:
    """The training task of the paper's network under `better_where_voting`."""
    from hyperlabel.training import PaperTask, UniformPrior, better_where_voting

    task = PaperTask(recipe, device)
    task.prior = UniformPrior(assumption=better_where_voting, one_sided=ONE_SIDED)
    return task


def train(folder: Path, rule: str, runs: int) -> list[Path]:
    """Train the runs of a rule; -> their weights."""
    from hyperlabel.training import WEIGHTS, Recipe, finish, make_training_task, run_folder, train_runs

    recipe = Recipe(iterations=ITERATIONS, batch=BATCH, widths=(8, 8, 8, 32), log_every=ITERATIONS)
    make = make_training_task if rule == "majority" else make_task
    folder.mkdir(parents=True, exist_ok=True)
    with closing(train_runs(recipe, folder, runs, jobs=1, resume=True, make=make)) as steps:
        for _ in steps:
            pass
    finish(recipe, folder, runs, make)
    return [run_folder(folder, run) / WEIGHTS for run in range(runs)]


def run(data: Path, runs: int, folder: Path = FOLDER) -> str:
    """A table: the mean score by family of every run of both rules."""
    sets, rows = load_datasets(data), []
    for rule, words in RULES.items():
        for place, path in enumerate(train(folder / rule, rule, runs)):
            scores = [score(each, make_model(str(path), each).predict(each.votes)) for each in sets]
            rows.append([words, str(place), *[number(mean, 2) for mean in by_family(sets, scores)]])
    votes = [score(each, np.asarray(make_model("mv", each).predict(each.votes))) for each in sets]
    rows.append(["*majority vote, for comparison*", "", *[number(mean, 2) for mean in by_family(sets, votes)]])
    note = f"{ITERATIONS} steps of {BATCH} matrices. Scores in percent."
    return f"{table(['LFs are better than random', 'run', *FAMILIES, 'all'], rows)}\n\n{note}"
