"""From a trained torch network to a weights file that NumPy runs, refused if the two disagree."""

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from hyperlabel.errors import WeightsError
from hyperlabel.networks.base import Gold
from hyperlabel.networks.paper import forward, to_probabilities
from hyperlabel.networks.unrolled import UnrolledNetwork
from hyperlabel.patterns import Patterns
from hyperlabel.priors import IndependentPrior, PanelPrior, RulesPrior, drop_silent
from hyperlabel.theory.validity import to_signs
from hyperlabel.train.lessons import to_lesson
from hyperlabel.train.net import HyperNet, PoolLayer
from hyperlabel.train.unrolled import Batch, Lesson, UnrolledNet
from hyperlabel.votes import Votes
from hyperlabel.weights import Weights

TOLERANCE = 1e-5  # largest difference of a probability


@torch.no_grad()
def to_weights(net: HyperNet, header: dict[str, Any]) -> Weights:
    """The network's weights, each layer's maps fused into one matrix per term."""
    arrays: dict[str, NDArray[np.float32]] = {}
    for i, layer in enumerate(net.layers):
        matrices, bias = cast(PoolLayer, layer).fused()
        tensors = {f"layer{i}.{term}": matrix for term, matrix in matrices.items()} | {f"layer{i}.bias": bias}
        arrays |= {name: tensor.cpu().numpy().copy() for name, tensor in tensors.items()}
    for i, linear in enumerate(net.head):
        arrays |= {f"head{i}.{name}": tensor.cpu().numpy().copy() for name, tensor in linear.state_dict().items()}
    widths = [len(arrays[f"layer{i}.bias"]) for i in range(len(net.layers))]
    weights = Weights(arrays, {**header, "widths": widths})
    check_agreement(net, weights)
    return weights


@torch.no_grad()
def unrolled_weights(net: UnrolledNet, header: dict[str, Any]) -> Weights:
    """The weights of an unrolled network; refused if NumPy and torch disagree."""
    arrays = {
        f"step{i}.{name}": tensor.numpy().copy()
        for i, step in enumerate(net.steps)
        for name, tensor in step.state_dict().items()
    }
    weights = Weights(arrays, header)
    rng = np.random.default_rng(0)
    for number in range(10):
        prior = RulesPrior(items=(50, 400)) if number % 2 else PanelPrior(items=(50, 400))
        lesson = to_lesson(drop_silent(prior.sample(rng)), rng)
        ours = _read_steps(UnrolledNetwork(weights), lesson)
        _check_distance(ours, net(Batch([lesson]))[-1].exp().numpy())
    return weights


def _read_steps(network: UnrolledNetwork, lesson: Lesson) -> NDArray[np.float64]:
    """Probabilities after the last step. -> (p, k)."""
    counts = lesson.gold.astype(np.int64)
    known = np.flatnonzero(counts.any(1))
    gold = Gold(lesson.patterns.take(known), counts[known])
    return network.probabilities(lesson.patterns, network.read_steps(lesson.patterns, gold))


@torch.no_grad()
def check_agreement(net: HyperNet, weights: Weights) -> None:
    """Compare torch on items with NumPy on patterns, on seeded synthetic votes of several shapes.

    Raises:
        WeightsError: A probability differs by more than the tolerance.
    """
    rng = np.random.default_rng(0)
    for _ in range(10):
        votes = IndependentPrior(items=(50, 400)).sample(rng).votes
        patterns = Patterns.from_votes(Votes.from_array(votes, n_classes=2))
        logits, _ = forward(weights, patterns)
        ours = patterns.expand(to_probabilities(logits))
        theirs = to_probabilities(net.cpu()(torch.from_numpy(to_signs(votes)))[:, None].numpy())
        _check_distance(ours, theirs)


def _check_distance(ours: NDArray[np.float64], theirs: NDArray[Any]) -> None:
    worst = float(np.abs(ours - theirs).max())
    if not worst <= TOLERANCE:  # also if it is NaN
        raise WeightsError(
            f"the exported weights give probabilities that differ by {worst:.1e} from the trained network's "
            f"(at most {TOLERANCE} is allowed); nothing was written"
        )
