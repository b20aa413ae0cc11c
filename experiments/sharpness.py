"""How sharp the probabilities of the paper's network should be: one power, fitted on synthetic votes.

    python -m experiments sharpness --weights src/hyperlabel/networks/weights/hlm.safetensors

The network is trained on uniform votes, where knowing all there is to know leaves every item close to even odds; its
raw probabilities are close to uniform wherever it is used. Raised to a power and normalized they can be right without
a look at other items: `HyperLabelModel(weights="hlm", calibrated=True)`. The power is the one under which the truth of
synthetic rules, crowds, panels and topics is likeliest, each set counting the same. It is written to the header of the
weights; no real set has a part in it.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hyperlabel.data import Patterns, Votes
from hyperlabel.networks import Weights, load_network, load_weights, sharpen
from hyperlabel.training import LabeledTask, MixturePrior

SETS = 120
SEED = 0
POWERS = 2 ** np.arange(0, 9, 0.25)
LEAST = 1e-12  # so that the loss of an item that is wrong for certain is finite

Judged = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Raw probabilities of patterns (p, k), and their items of each class (p, k)."""


def judge(weights: Weights, task: LabeledTask) -> Judged:
    """What the network says of a task, raw."""
    patterns = Patterns.from_votes(Votes.from_array(task.votes.astype(np.int64), n_classes=task.n_classes))
    _, probabilities = load_network(weights).read_at_once(patterns, None)
    return probabilities, patterns.count_labels(task.truth)


def loss(judged: Judged, power: float) -> float:
    """Cross-entropy of the truth as a share of log k."""
    raw, truth = judged
    right = np.log(np.maximum(sharpen(raw, power), LEAST))
    return float(-(truth * right).sum() / truth.sum() / np.log(raw.shape[1]))


def fit(weights: Weights, sets: int = SETS) -> tuple[float, list[float]]:
    """The best power, and the mean loss of each of `POWERS`."""
    rng, prior = np.random.default_rng(SEED), MixturePrior()
    judged = [judge(weights, prior.sample(rng)) for _ in range(sets)]
    losses = [float(np.mean([loss(each, power) for each in judged])) for power in POWERS]
    return float(POWERS[int(np.argmin(losses))]), losses


def run(path: Path, sets: int = SETS) -> float:
    """Fit the power of a weights file and write it to its header."""
    weights = load_weights(path)
    power, losses = fit(weights, sets)
    for each, mean in zip(POWERS, losses, strict=True):
        print(f"{each:7.2f}  {mean:.4f}{'  <-' if each == power else ''}")
    Weights(weights.arrays, weights.header | {"sharpness": power}).save(path)
    return power
