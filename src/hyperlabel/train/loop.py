"""One training run: iterate, log, validate, checkpoint."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from hyperlabel.errors import WeightsError
from hyperlabel.files import replacing
from hyperlabel.shown import printable, show
from hyperlabel.tables import reason_of
from hyperlabel.train.checkpoint import RunProgress, load_net, load_optimizer, read_progress, save_checkpoint, writing
from hyperlabel.train.courses import MakeCourse, make_course
from hyperlabel.train.recipe import Recipe

CHECKPOINT, LOG = "checkpoint.safetensors", "log.jsonl"
CHECKPOINT_SECONDS = 120.0


def run_folder(out: Path, run: int) -> Path:
    """Where a run keeps its files."""
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
        make: MakeCourse = make_course,
    ) -> None:
        self.recipe, self.run, self.folder = recipe, run, folder
        self.course = make(recipe, device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1000 * recipe.seed + run)
            self.net: nn.Module = self.course.new_net()
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
        """What a line of the log says about validation: all sets, or the first ones and now and then all."""
        recipe, iteration, accuracy = self.recipe, self.progress.iteration, {}
        if recipe.quick_sets:
            accuracy["quick_accuracy"] = self.course.validate(self.net, recipe.quick_sets)
        if not recipe.quick_sets or iteration % recipe.full_every == 0 or iteration == recipe.iterations:
            accuracy["validation_accuracy"] = self.course.validate(self.net, recipe.validation_sets)
        return accuracy

    def _iterate(self) -> tuple[float, float]:
        """One step of the optimizer; returns the loss and the seconds spent on drawing data."""
        recipe, iteration = self.recipe, self.progress.iteration
        rng = np.random.default_rng([recipe.seed, self.run, iteration])
        with _clock() as elapsed:
            tasks = self.course.sample_batch(rng, recipe.batch)
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.lr_at(iteration)
        self.optimizer.zero_grad()
        loss = self.course.backward(self.net, tasks)
        if recipe.schedule == "cosine":
            nn.utils.clip_grad_norm_(self.net.parameters(), recipe.clip)
        self.optimizer.step()
        self.progress.iteration += 1
        return loss, elapsed[0]
