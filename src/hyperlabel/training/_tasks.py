"""Training tasks: data, gradients, validation and export of a network. The loop knows nothing else about it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from hyperlabel._core import sigmoid
from hyperlabel.data import Patterns, Votes
from hyperlabel.errors import WeightsError
from hyperlabel.networks import Gold, UnrolledNetwork, Weights, forward
from hyperlabel.training._compiled import CompiledNet, SignedVotes, can_compile
from hyperlabel.training._labeled_priors import (
    LABELED_PRIORS,
    ConfusionPrior,
    CrowdPrior,
    PanelPrior,
    drop_silent,
    is_poor,
)
from hyperlabel.training._net import HyperNet, PoolLayer, make_net
from hyperlabel.training._paper_priors import IndependentPrior, ReleasedPrior, Task, to_signs
from hyperlabel.training._recipe import Recipe
from hyperlabel.training._rule_priors import IndependentRulesPrior, LabeledPrior, LabeledTask, RulesPrior, TopicsPrior
from hyperlabel.training._unrolled_net import Batch, TrainingSet, UnrolledNet, loss, sum_groups

GOLD_SHARE = 0.3  # largest share of the items that is gold
LEAST_GOLD = 5
VALIDATION_PRIORS: tuple[LabeledPrior, ...] = (
    RulesPrior(),
    CrowdPrior(),
    PanelPrior(),
    TopicsPrior(),
    IndependentRulesPrior(),  # the last two are never trained on
    ConfusionPrior(),
)

Example = tuple[torch.Tensor | SignedVotes, NDArray[np.bool_]]
"""A validation set: signs (n, m), or votes for the compiled network, and (n,) whether an item is of class 1."""
VALIDATION_SEED = 2023  # the validation sets are the same for every run and every recipe
Net = TypeVar("Net", bound=nn.Module)
Drawn = TypeVar("Drawn")
TOLERANCE = 1e-5  # largest difference of a probability


@dataclass(frozen=True)
class TrainingSetPrior:
    """A distribution over training sets: tasks of a prior, grouped by patterns."""

    prior: LabeledPrior  # where tasks come from
    gold_chance: float  # how often some of the truth is gold
    balance_power: float  # see `TrainingSet`; crowds and panels are left as they are, since F1 is rarely used there

    def sample(self, rng: np.random.Generator) -> TrainingSet:
        """Draw one training set."""
        task = drop_silent(self.prior.sample(rng))
        has_gold = rng.random() < self.gold_chance
        power = 0.0 if task.family in ("crowd", "panel") else self.balance_power
        return to_training_set(task, rng if has_gold else None, power)


def to_training_set(task: LabeledTask, rng: np.random.Generator | None, balance_power: float = 0.0) -> TrainingSet:
    """Group a task by patterns; with a generator, the truth of some items is gold."""
    patterns = Patterns.from_votes(Votes.from_array(task.votes.astype(np.int64), n_classes=task.n_classes))
    truth = patterns.count_labels(task.truth).astype(np.float32)
    gold = np.zeros_like(truth) if rng is None else _draw_gold(rng, task, patterns)
    return TrainingSet(patterns, truth, gold, balance_power)


def _draw_gold(rng: np.random.Generator, task: LabeledTask, patterns: Patterns) -> NDArray[np.float32]:
    """Draw gold counts of a random number of random items. (p, k)."""
    n = len(task.truth)
    size = int(np.exp(rng.uniform(np.log(LEAST_GOLD), np.log(max(LEAST_GOLD + 1, GOLD_SHARE * n)))))
    gold = np.full(n, -1, np.int64)
    items = rng.choice(n, size, replace=False)
    gold[items] = task.truth[items]
    return patterns.count_labels(gold).astype(np.float32)


def draw_validation_sets(rng: np.random.Generator, count: int) -> list[TrainingSet]:
    """Draw training sets of several priors in turn, two of them never used in training; without gold."""
    training_sets: list[TrainingSet] = []
    while len(training_sets) < count:
        task = drop_silent(VALIDATION_PRIORS[len(training_sets) % len(VALIDATION_PRIORS)].sample(rng))
        if len(task.truth) and not is_poor(task):
            training_sets.append(to_training_set(task, None))
    return training_sets


def _by_classes(training_sets: Iterable[TrainingSet]) -> list[Batch]:
    groups: dict[int, list[TrainingSet]] = defaultdict(list)
    for training_set in training_sets:
        groups[training_set.patterns.n_classes].append(training_set)
    return [Batch(group) for group in groups.values()]


def backward_sets(net: UnrolledNet, training_sets: Sequence[TrainingSet]) -> float:
    """Accumulate the gradient of the mean loss over training sets, and return that mean."""
    total = 0.0
    for batch in _by_classes(training_sets):
        part = loss(net(batch), batch) * (batch.sets / len(training_sets))
        part.backward()  # type: ignore[no-untyped-call]
        total += part.item()
    return total


@torch.no_grad()
def validate_sets(net: UnrolledNet, training_sets: Sequence[TrainingSet]) -> float:
    """Return the accuracy averaged over training sets."""
    scores = []
    for batch in _by_classes(training_sets):
        right = batch.truth.gather(1, net(batch)[-1].argmax(1, keepdim=True))[:, 0]
        items = sum_groups(batch.truth.sum(1), batch.of_set, batch.sets)
        scores.extend((sum_groups(right, batch.of_set, batch.sets) / items).tolist())
    return float(np.mean(scores))


def _compile(net: nn.Module, device: torch.device, *, masked: bool = False) -> CompiledNet | None:
    """Compile a network if possible: the paper's, on a CPU, with a C compiler."""
    if isinstance(net, HyperNet) and device.type == "cpu" and can_compile():
        return CompiledNet(net, masked=masked)
    return None


def to_example(net: nn.Module, task: Task, device: torch.device) -> Example:
    """Return a task without the items that have no vote, in the form that is fastest for this network."""
    voted = (task.votes >= 0).any(axis=1)
    votes, truth = task.votes[voted], task.target[voted] > 0.5
    if _compile(net, device) is not None:
        return SignedVotes.from_array(votes), truth
    return torch.from_numpy(to_signs(votes)).to(device), truth


def backward_tasks(net: nn.Module, tasks: Sequence[Task], device: torch.device, *, masked: bool = False) -> float:
    """Accumulate the gradient of the mean cross-entropy over all items of a batch; returns that mean.

    Items without a vote count as items, but teach nothing. If `masked`, only items of the paper's network whose pooled
    embedding sums to more than zero teach and count.
    """
    total, compiled = sum(len(task.target) for task in tasks), _compile(net, device, masked=masked)
    if compiled is not None:
        summed = sum(compiled.backward(SignedVotes.from_array(task.votes), task.target) for task in tasks)
        count = max(1, compiled.taught if masked else total)
        compiled.send_back(1 / count)
        return summed / count
    if masked:
        with torch.no_grad():
            total = max(1, sum(_summed_loss(net, task, device, masked)[1] for task in tasks))
    loss = 0.0
    for task in tasks:  # one graph at a time: memory
        part = _summed_loss(net, task, device, masked)[0] / total
        part.backward()  # type: ignore[no-untyped-call]
        loss += part.item()
    return loss


def _summed_loss(net: nn.Module, task: Task, device: torch.device, masked: bool) -> tuple[torch.Tensor, int]:
    """The summed loss of the items that teach, and their number."""
    teaches = torch.from_numpy((task.votes >= 0).any(axis=1)).to(device)
    signs, target = torch.from_numpy(to_signs(task.votes)).to(device), torch.from_numpy(task.target).to(device)
    if masked and isinstance(net, HyperNet):
        items = net.pool(signs)
        teaches, logits = teaches & (items.sum(1) > 0), net.judge(items)
    else:
        logits = net(signs)
    loss = functional.binary_cross_entropy_with_logits(logits[teaches], target[teaches], reduction="sum")
    return loss, int(teaches.sum())


@torch.no_grad()
def accuracies(net: nn.Module, examples: Sequence[Example], device: torch.device) -> list[float]:
    """Return the accuracy on each example."""
    compiled, shares = _compile(net, device), []
    for votes, truth in examples:
        if compiled is not None and isinstance(votes, SignedVotes):
            logits = compiled.logits(votes)
        else:
            logits = net(votes).cpu().numpy()
        shares.append(float(np.mean((logits > 0) == truth)))
    return shares


class TrainingTask(Protocol[Net, Drawn]):
    """Draws the data of a network, and trains, validates and exports it."""

    def new_net(self) -> Net:
        """Make an untrained network on its device; torch's seed decides its weights."""

    def sample_batch(self, rng: np.random.Generator, size: int) -> list[Drawn]:
        """Draw the data of one step."""

    def backward(self, net: Net, tasks: Sequence[Drawn]) -> float:
        """Accumulate the gradient of the mean loss over a batch, and return that mean."""

    def validate(self, net: Net, sets: int) -> float:
        """Return the accuracy averaged over the first validation sets, which come from other priors than training."""

    def to_weights(self, net: Net, header: dict[str, Any]) -> Weights | None:
        """Return the network in the form of a weights file; None if NumPy does not run it."""


class PaperTask:
    """The task of the paper's network and of its ablations."""

    def __init__(self, recipe: Recipe, device: torch.device) -> None:
        self.recipe, self.device, self.prior = recipe, device, recipe.make_prior()
        self._examples: list[Example] = []

    def new_net(self) -> nn.Module:
        """Make an untrained network."""
        return make_net(self.recipe.architecture, self.recipe.widths).to(self.device)

    def sample_batch(self, rng: np.random.Generator, size: int) -> list[Task]:
        """Draw matrices with their targets."""
        if isinstance(self.prior, ReleasedPrior):
            return self.prior.sample_batch(rng, size)
        return [self.prior.sample(rng) for _ in range(size)]

    def backward(self, net: nn.Module, tasks: Sequence[Task]) -> float:
        """Accumulate the gradient of the mean cross-entropy over all items, and return that mean."""
        return backward_tasks(net, tasks, self.device, masked=self.recipe.masked)

    @cached_property
    def validation_tasks(self) -> list[Task]:
        """The validation sets."""
        rng, prior = np.random.default_rng(VALIDATION_SEED), self.recipe.make_validation_prior()
        return [prior.sample(rng) for _ in range(self.recipe.validation_sets)]

    def validate(self, net: nn.Module, sets: int) -> float:
        """Return the accuracy averaged over the first validation sets."""
        if not self._examples:
            self._examples = [to_example(net, task, self.device) for task in self.validation_tasks]
        return float(np.mean(accuracies(net, self._examples[:sets], self.device)))

    def to_weights(self, net: nn.Module, header: dict[str, Any]) -> Weights | None:
        """Return the weights; None for the flat MLP."""
        return to_weights(net, header) if isinstance(net, HyperNet) else None


class UnrolledTask:
    """The task of the unrolled network, always on the CPU."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.prior = TrainingSetPrior(LABELED_PRIORS[recipe.prior](), recipe.gold_chance, recipe.balance_power)

    def new_net(self) -> UnrolledNet:
        """Make an untrained network."""
        return UnrolledNet(self.recipe.width, self.recipe.steps)

    def sample_batch(self, rng: np.random.Generator, size: int) -> list[TrainingSet]:
        """Draw training sets."""
        return [self.sample(rng) for _ in range(size)]

    def sample(self, rng: np.random.Generator) -> TrainingSet:
        """Draw one training set."""
        return self.prior.sample(rng)

    def backward(self, net: UnrolledNet, tasks: Sequence[TrainingSet]) -> float:
        """Accumulate the gradient of the mean loss over training sets, and return that mean."""
        return backward_sets(net, tasks)

    @cached_property
    def validation_tasks(self) -> list[TrainingSet]:
        """The validation sets."""
        return draw_validation_sets(np.random.default_rng(VALIDATION_SEED), self.recipe.validation_sets)

    def validate(self, net: UnrolledNet, sets: int) -> float:
        """Return the accuracy averaged over the first validation sets."""
        return validate_sets(net, self.validation_tasks[:sets])

    def to_weights(self, net: UnrolledNet, header: dict[str, Any]) -> Weights | None:
        """Return the weights."""
        return unrolled_weights(net, header)


MakeTask = Callable[[Recipe, torch.device], TrainingTask[Any, Any]]
"""Makes the training task of a recipe."""


def make_training_task(recipe: Recipe, device: torch.device) -> TrainingTask[Any, Any]:
    """Make the training task of a recipe."""
    return UnrolledTask(recipe) if recipe.is_unrolled else PaperTask(recipe, device)


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
        training_set = to_training_set(drop_silent(prior.sample(rng)), rng)
        network, patterns = UnrolledNetwork(weights), training_set.patterns
        state = network.read_steps(patterns, Gold.of(patterns, training_set.gold.astype(np.int64)))
        _check_distance(network.probabilities(patterns, state), net(Batch([training_set]))[-1].exp().numpy())
    return weights


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
