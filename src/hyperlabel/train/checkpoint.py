"""Checkpoints: the network, the optimizer and the progress of a run in one safetensors file.

Data of iteration i is drawn from a generator seeded by (seed, run, i), so no random state needs to be kept
and a resumed run is the same as an uninterrupted one. Nothing is pickled.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from hyperlabel.errors import WeightsError
from hyperlabel.files import replacing
from hyperlabel.train.recipe import Recipe


@dataclass
class Progress:
    """The progress of a run.

    Attributes:
        iteration: Iterations done.
        best_loss: Lowest mean loss between two lines of the log.
        best_iteration: When that was.
        seconds: Time spent, without interruptions.
        done: Whether no iteration is left.
    """

    iteration: int = 0
    best_loss: float = float("inf")
    best_iteration: int = 0
    seconds: float = 0.0
    done: bool = False


def save_checkpoint(
    path: Path, recipe: Recipe, progress: Progress, net: nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Write a checkpoint; the old file stays until the new one is complete."""
    tensors = {f"net/{name}": value.contiguous() for name, value in net.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimiser/{index}/{name}": value for name, value in state.items()}
    metadata = {"recipe": recipe.to_json(), "progress": json.dumps(asdict(progress))}
    with replacing(path) as part:
        save_file(tensors, part, metadata)


def read_progress(path: Path) -> tuple[Recipe, Progress]:
    """The recipe and the progress of a checkpoint, without its tensors.

    Raises:
        WeightsError: The file is broken, or not a checkpoint of this version.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        return Recipe.from_json(metadata["recipe"]), Progress(**json.loads(metadata["progress"]))
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} is not a checkpoint ({error}); delete it to train that run again") from error


def load_net(path: Path, net: nn.Module) -> None:
    """Read the weights of a checkpoint into a network of the same shape."""
    with safe_open(path, framework="pt") as file:
        names = [name for name in file.keys() if name.startswith("net/")]  # noqa: SIM118
        net.load_state_dict({name.removeprefix("net/"): file.get_tensor(name) for name in names})


def load_optimizer(path: Path, optimizer: torch.optim.Optimizer) -> None:
    """Read the state of a checkpoint into an optimizer over the same parameters."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118
            if name.startswith("optimiser/"):
                _, index, key = name.split("/")
                state.setdefault(int(index), {})[key] = file.get_tensor(name)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
