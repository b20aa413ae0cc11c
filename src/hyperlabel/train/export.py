"""From a trained torch network to a weights file that NumPy runs, refused if the two disagree."""

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from hyperlabel.errors import WeightsError
from hyperlabel.kernels import sigmoid
from hyperlabel.networks.base import Gold
from hyperlabel.networks.paper import forward
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
    gold = Gold.of(lesson.patterns, lesson.gold.astype(np.int64))
    return network.probabilities(lesson.patterns, network.read_steps(lesson.patterns, gold))


@torch.no_grad()
def check_agreement(net: HyperNet, weights: Weights) -> None:
    """Refuse weights unless torch on items and NumPy on patterns agree, on seeded synthetic votes of several shapes."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        votes = IndependentPrior(items=(50, 400)).sample(rng).votes
        patterns = Patterns.from_votes(Votes.from_array(votes, n_classes=2))
        logits, _ = forward(weights, patterns)
        signs = torch.from_numpy(to_signs(votes))
        theirs = torch.stack([net.cpu()(each) for each in (-signs, signs)], dim=1)  # class 0, class 1
        _check_distance(sigmoid(patterns.expand(logits).astype(np.float64)), theirs.sigmoid().numpy())


def _check_distance(ours: NDArray[np.float64], theirs: NDArray[Any]) -> None:
    worst = float(np.abs(ours - theirs).max())
    if not worst <= TOLERANCE:  # also if it is NaN
        raise WeightsError(
            f"the exported weights give probabilities that differ by {worst:.1e} from the trained network's "
            f"(at most {TOLERANCE} is allowed); nothing was written"
        )
