"""Checkpoints: the network, the optimizer and the progress of a run in one safetensors file.

Data of iteration i is drawn from a generator seeded by (seed, run, i), so no random state needs to be kept
and a resumed run is the same as an uninterrupted one. Nothing is pickled.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from hyperlabel.errors import WeightsError
from hyperlabel.files import replacing
from hyperlabel.shown import printable, show
from hyperlabel.tables import reason_of
from hyperlabel.tensors import order_metadata
from hyperlabel.train.recipe import Recipe


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
    """Turn what a full disk, or one that cannot be written, raises into one clear error.

    >>> with writing(Path("runs/log.jsonl")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    hyperlabel.errors.WeightsError: runs/log.jsonl cannot be written: No space left on device; what is there stays ...
    """
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
