"""Several runs side by side, each in its own process; then the choice among them, its weights and its curves."""

import dataclasses
import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import torch

from hyperlabel.classify import find_device
from hyperlabel.data import write_text, write_whole
from hyperlabel.errors import HyperlabelError, ParameterError, require
from hyperlabel.training._loop import CHECKPOINT, LOG, Run, load_net, read_log, read_progress, run_folder
from hyperlabel.training._recipe import Recipe
from hyperlabel.training._tasks import MakeTask, make_training_task

POLL_SECONDS = 1.0
FAILED = 2  # exit code of a job that said what went wrong
TURN = 5_000  # iterations of every run before any run goes on: unfinished runs can be compared

WEIGHTS = "weights.safetensors"
MODELS = {"gnn": "hlm", "deepset": "hlm-deepset", "mlp": "hlm-mlp", "unrolled": "hlm2"}
"""The names of the architectures in a weights file; the second and the third are the paper's ablations."""
DESCRIPTIONS = {
    "hlm": "Hyper label model (Wu et al., ICLR 2023), trained by hyperlabel on synthetic votes only.",
    "hlm-deepset": "Ablation of the hyper label model (Wu et al., ICLR 2023), trained on synthetic votes only.",
    "hlm-mlp": "Ablation of the hyper label model (Wu et al., ICLR 2023), trained on synthetic votes only.",
    "hlm2": "Unrolled label model of hyperlabel, trained on synthetic votes only.",
}

CHANCE = 0.6945  # a little above ln 2, the loss of knowing nothing: anything higher is warm-up
PANELS = {"loss": "training loss (mean of each stretch)", "validation_accuracy": "validation accuracy"}


@dataclass(frozen=True)
class RunSummary:
    """Figures of a run, for the choice among runs."""

    run: int  # number of the run
    mean_accuracy: float  # validation accuracy averaged over all validations on all sets: the paper's criterion
    last_accuracy: float  # validation accuracy at the end
    last_loss: float  # mean training loss of the last stretch
    iterations: int  # iterations done
    seconds: float  # time spent


def summarize(out: Path, run: int) -> RunSummary:
    """The summary of a run from its log."""
    records = read_log(run_folder(out, run))
    accuracies = [record["validation_accuracy"] for record in records if "validation_accuracy" in record]
    last = records[-1]
    return RunSummary(
        run=run,
        mean_accuracy=sum(accuracies) / len(accuracies),
        last_accuracy=accuracies[-1],
        last_loss=last["loss"],
        iterations=last["iteration"],
        seconds=last["seconds"],
    )


def select_run(out: Path, runs: int) -> RunSummary:
    """The run whose validation accuracy, averaged over its iterations, is highest (ties: the first)."""
    return max((summarize(out, run) for run in range(runs)), key=lambda summary: summary.mean_accuracy)


def check_resumable(recipe: Recipe, out: Path, runs: int) -> None:
    """Refuse to continue from checkpoints of another recipe, or without their log."""
    for folder in (run_folder(out, run) for run in range(runs)):
        path = folder / CHECKPOINT
        if not path.exists():
            continue
        other, progress = read_progress(path)
        if other != recipe:
            differs = ", ".join(f"{name} {value}, not {mine}" for name, value, mine in other.compare(recipe))
            raise ParameterError(f"{path} was made with {differs}; use the same options, or another --out")
        if progress.iteration not in {record["iteration"] for record in read_log(folder)}:
            raise ParameterError(
                f"{folder / LOG} has no line for iteration {progress.iteration}, that of its checkpoint; "
                f"delete {folder} to train that run again"
            )


def _exit_with_parent() -> None:
    """A killed command must not leave jobs behind that keep writing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@dataclass
class _Job:
    """A run in a process of its own, and the end of a pipe where it says what went wrong."""

    process: SpawnProcess
    messages: Connection


def _work(train: Callable[[int], None], run: int, say: Connection) -> None:
    """Train a run; what goes wrong on purpose is said to the parent, without a traceback."""
    try:
        train(run)
    except HyperlabelError as error:
        say.send_bytes(str(error).encode())
        sys.exit(FAILED)


def _train_one(recipe: Recipe, make: MakeTask, run: int, out: Path, threads: int, resume: bool, until: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends its jobs
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    Run(recipe, run, run_folder(out, run), find_device(), resume=resume, make=make).train(until=until)


def train_runs(
    recipe: Recipe, out: Path, runs: int, *, jobs: int, resume: bool, make: MakeTask = make_training_task
) -> Generator[dict[int, int], None, None]:
    """Train all runs, `jobs` at a time; yields, about once a second, the iterations each run has done.

    The threads of a job are fixed before it starts, for torch and for NumPy's BLAS: two libraries that both
    take all cores for two jobs make data generation three times slower. No job is left at the end, whatever happens.
    `make` makes the training task in each job; a function that jobs can import.

    Raises:
        HyperlabelError: A job failed; the error says why, or its traceback is on standard error.
    """
    threads = max(1, (os.cpu_count() or 1) // jobs)
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
    for until in range(TURN, recipe.iterations + TURN, TURN):
        job = partial(_train_one, recipe, make, out=out, threads=threads, resume=resume or until > TURN, until=until)
        yield from _train_turn(job, out, runs, jobs, resume=resume or until > TURN, until=until)
    yield iterations_done(out, runs)


def _train_turn(
    train: Callable[[int], None], out: Path, runs: int, jobs: int, *, resume: bool, until: int
) -> Generator[dict[int, int], None, None]:
    """Train all runs to iteration `until`, each by its number in a job of its own."""
    waiting = [run for run in range(runs) if not (resume and _has_reached(run_folder(out, run), until))]
    active: list[_Job] = []
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                active.append(_start(train, waiting.pop(0)))
            yield iterations_done(out, runs)
            wait([job.process.sentinel for job in active], POLL_SECONDS)
            active = [job for job in active if not _has_ended(job)]
    finally:
        for job in active:
            job.process.kill()
            job.process.join()
            job.messages.close()


def _start(train: Callable[[int], None], run: int) -> _Job:
    spawn = multiprocessing.get_context("spawn")
    messages, say = spawn.Pipe(duplex=False)
    process = spawn.Process(name=f"run {run}", target=_work, args=(train, run, say), daemon=True)
    process.start()
    say.close()
    return _Job(process, messages)


def _has_reached(folder: Path, until: int) -> bool:
    if not (folder / CHECKPOINT).exists():
        return False
    progress = read_progress(folder / CHECKPOINT)[1]
    return progress.done or progress.iteration >= until


def _has_ended(job: _Job) -> bool:
    name, code = job.process.name, job.process.exitcode
    if code == FAILED and job.messages.poll():
        raise HyperlabelError(f"{name}: {job.messages.recv_bytes().decode()}")
    if code:
        raise HyperlabelError(
            f"{name} ended with exit code {code} (negative: the signal that ended it); "
            "correct the cause and continue with --resume"
        )
    return code is not None


def iterations_done(out: Path, runs: int) -> dict[int, int]:
    """Iterations of each run, by its log."""
    logs = {run: read_log(run_folder(out, run)) for run in range(runs)}
    return {run: log[-1]["iteration"] if log else 0 for run, log in logs.items()}


def finish(recipe: Recipe, out: Path, runs: int, make: MakeTask = make_training_task) -> RunSummary:
    """Export every run, copy the selected one to `weights.safetensors`, write `summary.json` and `curves.png`.

    Networks that NumPy does not run are ablations and are not exported; they stay checkpoints.
    """
    chosen, training_task = select_run(out, runs), make(recipe, torch.device("cpu"))
    for run in range(runs):
        net = training_task.new_net()
        load_net(run_folder(out, run) / CHECKPOINT, net)
        weights = training_task.to_weights(net, _header(recipe, summarize(out, run), runs, selected=run == chosen.run))
        if weights is None:
            continue
        weights.save(run_folder(out, run) / WEIGHTS)
        if run == chosen.run:
            weights.save(out / WEIGHTS)
    summaries = [dataclasses.asdict(summarize(out, run)) for run in range(runs)]
    summary = {"recipe": dataclasses.asdict(recipe), "selected": chosen.run, "runs": summaries}
    write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n", "--out")
    draw_curves(out, runs, chosen.run)
    return chosen


def _header(recipe: Recipe, summary: RunSummary, runs: int, *, selected: bool) -> dict[str, Any]:
    """Return the header of a weights file."""
    model = MODELS[recipe.architecture]
    return {
        "model": model,
        "description": DESCRIPTIONS[model],
        **recipe.sizes,
        "recipe": dataclasses.asdict(recipe),
        "run": dataclasses.asdict(summary),
        "selected": f"of {runs} runs, by mean validation accuracy" if selected else "no",
    }


def draw_curves(out: Path, runs: int, selected: int) -> Path:
    """Write `curves.png`: loss and validation accuracy of every run, the selected one in front."""
    require("matplotlib", extra="plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, (field, title) in zip(panels, PANELS.items(), strict=True):
        for run in sorted(range(runs), key=lambda run: run == selected):
            records = [record for record in read_log(run_folder(out, run)) if field in record]
            style = {"color": "C0", "linewidth": 1.8} if run == selected else {"color": "0.7", "linewidth": 0.8}
            label = f"run {run}, selected" if run == selected else None
            axes.plot([r["iteration"] for r in records], [r[field] for r in records], label=label, **style)
        axes.set(xlabel="iteration", title=title)
        axes.grid(alpha=0.3)
    if panels[0].get_ylim()[0] < CHANCE:
        panels[0].set_ylim(top=CHANCE)
    panels[1].legend(loc="lower right")
    write_whole(out / "curves.png", lambda part: figure.savefig(part, format="png", dpi=120), argument="--out")
    return out / "curves.png"
