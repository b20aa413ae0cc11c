"""What several test files share: real votes, random weights, the command line in this process."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hyperlabel.cli import main
from hyperlabel.networks import Weights, paper_shapes, unrolled_shapes

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_votes() -> Callable[[str], np.ndarray]:
    """The (n, m) votes of a real data set by its name; skips where the data are not available."""

    def load(name):
        if not DATA.is_dir():
            pytest.skip(f"the real data sets are not available ({DATA} is not there)")
        return np.load(DATA / f"{name}.npz")["L"].astype(np.int64)

    return load


@pytest.fixture
def make_weights() -> Callable[..., Weights]:
    """Random weights, large enough that votes move the logits of a deep network."""

    def make(widths=(8, 8, 8, 32), seed=0):
        rng = np.random.default_rng(seed)
        arrays = {
            name: rng.normal(0, 1 / np.sqrt(shape[-1]), shape).astype(np.float32)
            for name, shape in paper_shapes(list(widths)).items()
        }
        return Weights(arrays, {"model": "random", "widths": list(widths)})

    return make


@pytest.fixture
def make_unrolled_weights() -> Callable[..., Weights]:
    """Random weights of an unrolled network, large enough that what it learns matters."""

    def make(width=8, steps=3, seed=0):
        rng = np.random.default_rng(seed)
        arrays = {
            name: rng.normal(0, 0.5 / np.sqrt(shape[-1]), shape).astype(np.float32)
            for name, shape in unrolled_shapes(width, steps).items()
        }
        return Weights(arrays, {"model": "random", "width": width, "steps": steps})

    return make


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def hyperlabel(monkeypatch, capsys) -> Callable[..., Outcome]:
    """The command line, run in this process."""

    return lambda *arguments: run_command(main, "hyperlabel", arguments, monkeypatch, capsys)


def run_command(main, name, arguments, monkeypatch, capsys) -> Outcome:
    """A command line, given its arguments, until it ends."""
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return Outcome(ended.value.code, captured.out, captured.err)
