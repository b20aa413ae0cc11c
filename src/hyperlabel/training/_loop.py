"""One training run: iterate, log, validate, checkpoint.

A checkpoint is the network, the optimizer and the progress in one safetensors file. Data of iteration i is drawn from a
generator seeded by (seed, run, i), so no random state needs to be kept and a resumed run is the same as an
uninterrupted one. Nothing is pickled.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from hyperlabel._core import order_metadata, printable, replacing, show
from hyperlabel.data import reason_of
from hyperlabel.errors import WeightsError
from hyperlabel.training._recipe import Recipe
from hyperlabel.training._tasks import MakeTask, make_training_task

CHECKPOINT, LOG = "checkpoint.safetensors", "log.jsonl"
CHECKPOINT_SECONDS = 120.0


@dataclass
class RunProgress:
    """The progress of a run."""

    iteration: int = 0  # iterations done
    best_loss: float = float("inf")  # lowest mean loss between two lines of the log
    best_iteration: int = 0  # when that was
    seconds: float = 0.0  # time spent, without interruptions
    done: bool = False  # whether no iteration is left


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what a full disk, or one that cannot be written, raises into one clear error."""
    try:
        yield
    except (SafetensorError, OSError) as error:
        raise WeightsError(
            f"{printable(path)} cannot be written: {reason_of(error)}; what is there stays as it was: make room, or "
            "let that folder be written, then continue with --resume"
        ) from error


def save_checkpoint(
    path: Path, recipe: Recipe, progress: RunProgress, net: nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Write a checkpoint; the old file stays until the new one is complete."""
    tensors = {f"net/{name}": value.contiguous() for name, value in net.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimiser/{index}/{name}": value for name, value in state.items()}
    metadata = {"recipe": recipe.to_json(), "progress": json.dumps(asdict(progress))}
    with writing(path), replacing(path) as part:
        save_file(tensors, part, metadata)
        order_metadata(part)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what a damaged checkpoint, or another file, raises into one clear error."""
    try:
        yield
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise WeightsError(
            f"{printable(path)} is not a checkpoint ({reason_of(error)}); delete it to train that run again"
        ) from error


def read_progress(path: Path) -> tuple[Recipe, RunProgress]:
    """The recipe and the progress of a checkpoint, without its tensors; it must be one of this version."""
    with reading(path):
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        progress = RunProgress(**json.loads(metadata["progress"]))
        for name, value in asdict(progress).items():
            if not isinstance(value, int | float) or (name.endswith("iteration") and not isinstance(value, int)):
                raise ValueError(f"{name} is {show(value)}; expected a number")
        return Recipe.from_json(metadata["recipe"]), progress


def load_net(path: Path, net: nn.Module) -> None:
    """Read the weights of a checkpoint into a network of the same shape; a WeightsError if they do not fit."""
    with reading(path), safe_open(path, framework="pt") as file:
        names = [name for name in file.keys() if name.startswith("net/")]  # noqa: SIM118
        net.load_state_dict({name.removeprefix("net/"): file.get_tensor(name) for name in names})


def load_optimizer(path: Path, optimizer: torch.optim.Optimizer) -> None:
    """Read the state of a checkpoint into an optimizer over the same parameters; a WeightsError if it does not fit."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    with reading(path):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118
                if name.startswith("optimiser/"):
                    _, index, key = name.split("/")
                    state.setdefault(int(index), {})[key] = file.get_tensor(name)
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def run_folder(out: Path, run: int) -> Path:
    """Return the folder of the files of a run."""
    return out / f"run-{run:02d}"


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The records of a run's log, without an incomplete last line; empty if there is no log."""
    path = folder / LOG
    try:
        text = path.read_bytes().decode() if path.exists() else ""
        return [_read_record(line) for line in text.split("\n")[:-1]]  # what follows the last end of a line is torn
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsError(
            f"{printable(path)} is not what training wrote ({reason_of(error)}); delete {printable(folder)} to train "
            "that run again"
        ) from error


def _read_record(line: str) -> dict[str, Any]:
    """A line of a log; one without its numbers is refused."""
    record: dict[str, Any] = json.loads(line)
    for name in ("iteration", "loss"):
        value = record.get(name) if isinstance(record, dict) else None
        if not isinstance(value, int | float):
            raise ValueError(f"{name} is {show(value)} in {show(line)}; expected a number")
    return record


@contextmanager
def _clock() -> Iterator[list[float]]:
    elapsed, start = [0.0], time.perf_counter()
    yield elapsed
    elapsed[0] = time.perf_counter() - start


class Run:
    """A training run and its folder, for the checkpoint and the log.

    The number of the run and the recipe's seed seed everything. If it resumes, it continues from the folder's
    checkpoint, if there is one.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: int,
        folder: Path,
        device: torch.device,
        *,
        resume: bool,
        make: MakeTask = make_training_task,
    ) -> None:
        self.recipe, self.run, self.folder = recipe, run, folder
        self.training_task = make(recipe, device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1000 * recipe.seed + run)
            self.net: nn.Module = self.training_task.new_net()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=recipe.lr, amsgrad=True, fused=True)
        self.progress = RunProgress()
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if resume and (folder / CHECKPOINT).exists():
            self._restore()
        self._cut_log()

    def _restore(self) -> None:
        path = self.folder / CHECKPOINT
        _, self.progress = read_progress(path)
        load_net(path, self.net)
        load_optimizer(path, self.optimizer)

    def _cut_log(self) -> None:
        """Keep the lines of the log up to the checkpoint; the old log stays until the new one is complete."""
        records = [record for record in read_log(self.folder) if record["iteration"] <= self.progress.iteration]
        with writing(self.folder / LOG), replacing(self.folder / LOG) as part:
            part.write_text("".join(json.dumps(record) + "\n" for record in records))
        self.losses = [record["loss"] for record in records]

    def train(self, *, until: int | None = None) -> None:
        """Iterate to the end, or to iteration `until`."""
        stop = min(self.recipe.iterations, until or self.recipe.iterations)
        saved = time.perf_counter()
        while not self.progress.done and self.progress.iteration < stop:
            self._stretch(min(self.recipe.log_every, stop - self.progress.iteration))
            self.progress.done = self._finished()
            if self.progress.done or time.perf_counter() - saved > CHECKPOINT_SECONDS:
                self.save()
                saved = time.perf_counter()
        self.save()

    def save(self) -> None:
        """Write the checkpoint."""
        save_checkpoint(self.folder / CHECKPOINT, self.recipe, self.progress, self.net, self.optimizer)

    def _finished(self) -> bool:
        recipe, progress = self.recipe, self.progress
        stale = recipe.schedule == "constant" and progress.iteration - progress.best_iteration >= recipe.patience
        return stale or progress.iteration >= recipe.iterations

    def _stretch(self, iterations: int) -> None:
        """Some iterations, one validation, one line of the log."""
        losses, data_seconds = [], 0.0
        with _clock() as elapsed:
            for _ in range(iterations):
                loss, seconds = self._iterate()
                losses.append(loss)
                data_seconds += seconds
        progress = self.progress
        progress.seconds += elapsed[0]
        self.losses.append(float(np.mean(losses)))
        self._compare_loss()
        record = {
            "iteration": progress.iteration,
            "loss": self.losses[-1],
            **self._validate(),
            "lr": self.recipe.lr_at(progress.iteration - 1),
            "seconds": round(progress.seconds, 1),
            "data_share": round(data_seconds / elapsed[0], 3),
        }
        with writing(self.folder / LOG), (self.folder / LOG).open("a") as log:
            log.write(json.dumps(record) + "\n")

    def _compare_loss(self) -> None:
        """Record when the mean loss of the last lines of the log is the lowest so far."""
        window, progress = self.recipe.loss_window, self.progress
        recent = float(np.mean(self.losses[-window:]))
        if len(self.losses) >= window and recent < progress.best_loss:
            progress.best_loss, progress.best_iteration = recent, progress.iteration

    def _validate(self) -> dict[str, float]:
        """Return the accuracies for a line of the log: on all sets, or on the first ones and now and then on all."""
        recipe, iteration, accuracy = self.recipe, self.progress.iteration, {}
        if recipe.quick_sets:
            accuracy["quick_accuracy"] = self.training_task.validate(self.net, recipe.quick_sets)
        if not recipe.quick_sets or iteration % recipe.full_every == 0 or iteration == recipe.iterations:
            accuracy["validation_accuracy"] = self.training_task.validate(self.net, recipe.validation_sets)
        return accuracy

    def _iterate(self) -> tuple[float, float]:
        """One step of the optimizer; returns the loss and the seconds spent on drawing data."""
        recipe, iteration = self.recipe, self.progress.iteration
        rng = np.random.default_rng([recipe.seed, self.run, iteration])
        with _clock() as elapsed:
            tasks = self.training_task.sample_batch(rng, recipe.batch)
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.lr_at(iteration)
        self.optimizer.zero_grad()
        loss = self.training_task.backward(self.net, tasks)
        if recipe.schedule == "cosine":
            nn.utils.clip_grad_norm_(self.net.parameters(), recipe.clip)
        self.optimizer.step()
        self.progress.iteration += 1
        return loss, elapsed[0]
