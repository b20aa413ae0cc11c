"""Training of what hlm3 learns beside hlm2: how far pairs of LFs depend on each other, and the gate (torch).

    hyperlabel train --model hlm3 --out FOLDER --runs 6

Stages: the network of pairs; synthetic sets read in all ways; the gate, several runs, of which the one with the least
loss on synthetic validation sets is exported. What is in the folder is kept, so a stopped training goes on.
"""

import json
import math
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hyperlabel._core import Float64
from hyperlabel.networks import (
    LOG_HEAT,
    STRETCH,
    MixedNetwork,
    Pairs,
    Weights,
    compare_pairs,
    count_pairs,
    describe_pairs,
    fit_levels,
    load_weights,
    mixed_shapes,
)
from hyperlabel.training._gate_sets import GateSet, read_sets
from hyperlabel.training._judge_priors import gate_prior
from hyperlabel.training._rule_priors import LabeledTask

DESCRIPTION = "hlm2 and a second reading by EM, with a learned choice between them; trained on synthetic votes only."
WIDTH, PAIR_WIDTH = 32, 24
LEAST = 1e-4  # probabilities count as at least this in the loss
CAUTION = 0.01  # of the loss, per share of the EM: it has to be worth it
ALONE = 0.5  # weight of the loss of each reading alone, by its share, which makes the choice sharp
RULE_POWER, GOLD_POWER = 0.3, 0.75  # in sets of rules, items of rare classes count more, by this power


@dataclass(frozen=True)
class GatePlan:
    """How much is trained."""

    pair_sets: int = 6000
    shards: int = 3
    sets: int = 5000  # of each shard
    many: int = 2500  # sets of many LFs
    validation: int = 1500
    steps: int = 3000
    batch: int = 32
    lr: float = 3e-3
    decay: float = 1e-3


def find_dependence(pairs: Pairs, votes: Any, truth: Any, k: int) -> tuple[Float64, Float64]:
    """Return agreement of pairs beyond independence given the truth, 1 for copies, and how well it is known. (q, q)."""
    q = len(pairs.lfs)
    agree, expected = np.zeros((q, q)), np.zeros((q, q))
    for c in range(k):
        rows = votes[truth == c]
        joint, same = count_pairs(rows, np.ones(len(rows)), k)
        shares = np.stack([(rows == v).sum(0) for v in range(k)], 1) + 0.01
        shares = shares / shares.sum(1, keepdims=True)
        agree += same
        expected += joint * (shares @ shares.T)
    free = np.maximum(pairs.joint - expected, 1e-9)
    known = np.where(free > 0.05 * pairs.joint, free / (free + 20), 0)
    return np.clip((agree - expected) / free, -0.2, 1), known


def describe_task(rng: np.random.Generator, task: LabeledTask) -> tuple[Float64, Float64, Float64] | None:
    """Return features, dependence and weights of some pairs of a set; None if agreement says nothing."""
    votes, k = task.votes.astype(np.int64), task.n_classes
    cast = (votes[:, :, None] == np.arange(k)).sum(0).astype(np.float64)
    pairs = compare_pairs(cast, np.arange(votes.shape[1]), *count_pairs(votes, np.ones(len(votes)), k))
    dependence, known = find_dependence(pairs, votes, task.truth, k)
    one, other = np.nonzero(np.triu(known > 0.1, 1))
    if not len(one) or votes.shape[1] < 3:
        return None
    picked = rng.permutation(len(one))[:150]
    one, other = one[picked], other[picked]
    features = describe_pairs(pairs, fit_levels(pairs), k, one, other)
    return features, dependence[one, other], known[one, other] / math.sqrt(len(one))


def train_pairs(seed: int, sets: int, steps: int = 4000) -> dict[str, Any]:
    """Train the network of pairs on synthetic sets. -> its arrays."""
    rng, prior = np.random.default_rng(seed), gate_prior()
    found: list[tuple[Float64, Float64, Float64]] = []
    while len(found) < sets:
        each = describe_task(rng, prior.sample(rng))
        found += [] if each is None else [each]
    x, y, w = (torch.tensor(np.concatenate(parts), dtype=torch.float32) for parts in zip(*found, strict=True))
    torch.manual_seed(seed)
    layers = [nn.Linear(x.shape[1], PAIR_WIDTH), nn.Linear(PAIR_WIDTH, PAIR_WIDTH), nn.Linear(PAIR_WIDTH, 1)]
    net = nn.Sequential(layers[0], nn.SiLU(), layers[1], nn.SiLU(), layers[2])
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 4e-3 * _cosine(step, steps)
        some = torch.randint(0, len(x), (1024,))
        error = (torch.sigmoid(net(x[some]))[:, 0] - y[some]) ** 2
        optimizer.zero_grad()
        torch.autograd.backward(w[some] @ error / w[some].sum())
        optimizer.step()
    named = [(f"pair{i}.{name}", value) for i, layer in enumerate(layers) for name, value in layer.named_parameters()]
    return {name: value.detach().numpy() for name, value in named}


def _cosine(step: int, steps: int) -> float:
    return 0.5 * (1 + math.cos(math.pi * step / steps))


class GateNet(nn.Module):
    """The gate; its layers are those of `mixed_shapes`. It starts with little trust in the EM and in gold alone."""

    def __init__(self) -> None:
        super().__init__()
        shapes = mixed_shapes(WIDTH)
        sizes = {name: shapes[f"gate.{name}.weight"] for name in ("lf0", "lf1", "set0", "set1", "out")}
        layers = {name: nn.Linear(size[1], size[0]) for name, size in sizes.items()}
        for name in ("set1", "out"):
            nn.init.zeros_(layers[name].weight)
            nn.init.zeros_(layers[name].bias)
        layers["set1"].bias.data[:2] = -1.0
        self.layers = nn.ModuleDict(layers)

    def forward(self, b: "GateBatch") -> tuple[Tensor, Tensor]:
        """Return log-odds of LFs, (m, 2), and log temperatures of sets, (t, 3)."""
        act, net = nn.functional.silu, self.layers
        hidden = act(net["lf1"](act(net["lf0"](torch.cat([b.of_lf, b.of_set[b.lf_set]], 1)))))
        summary = act(net["set0"](torch.cat([b.add_lfs(b.pool[:, None] * hidden), b.of_set], 1)))
        both = net["set1"](summary)
        return net["out"](torch.cat([hidden, summary[b.lf_set]], 1)) + both[b.lf_set, :2], both[:, 2:]

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays of a weights file."""
        named = self.layers.named_parameters()
        return {f"gate.{name}": value.detach().numpy() for name, value in named}


class GateBatch:
    """Sets of the same number of classes side by side: m LFs and r rows of t sets."""

    def __init__(self, sets: list[GateSet]) -> None:
        self.sets, self.k = len(sets), sets[0].target.shape[1]
        numbers = torch.arange(len(sets))
        self.lf_set = numbers.repeat_interleave(torch.tensor([len(s.cast) for s in sets]))
        self.row_set = numbers.repeat_interleave(torch.tensor([len(s.rows) for s in sets]))
        self.of_set, self.of_lf = _tensor(np.stack([s.of_set for s in sets])), _join([s.of_lf for s in sets])
        self.pool = _join([np.sqrt(s.cast) / np.sqrt(s.cast).sum() for s in sets])
        self.votes = _join([s.cast / s.cast.sum() for s in sets])
        self.tables = torch.cat([_tensor(_pad(s.tables)) for s in sets], 1)  # (3, m, k, k)
        self.biases = _tensor(np.stack([_pad(s.biases) for s in sets]))
        self.has_gold = _tensor(np.array([s.n_gold > 0 for s in sets]))
        self.power = _tensor(np.array([s.power for s in sets]))
        self.vote_weight = _tensor(np.array([s.vote_weight for s in sets]))
        self.target = _join([_weigh(s) for s in sets])
        self.scale = 1 / (self.add_rows(self.target.sum(1)) * math.log(self.k))
        self._add_votes(sets)

    def _add_votes(self, sets: list[GateSet]) -> None:
        """Set which nodes vote on which rows, log sizes of rows over the mean, and shares of votes."""
        votes = [s.votes for s in sets]
        size, of_node = np.concatenate([v.size for v in votes]), np.concatenate([v.of_node for v in votes])
        rows, nodes = np.array([len(v.size) for v in votes]), np.array([len(v.of_node) for v in votes])
        shape = len(size), len(of_node)
        starts = zip(votes, nodes.cumsum() - nodes, strict=True)
        self.by_row = _sums(size, [v.node + start for v, start in starts], shape)
        starts = zip(votes, rows.cumsum() - rows, strict=True)
        self.by_node = _sums(of_node, [v.row_by_node + start for v, start in starts], shape[::-1])
        mean = np.repeat([s.votes_per_item for s in sets], rows)
        self.log_size, self.shares = _tensor(np.log(size / mean)), _join([v.shares for v in votes])

    def add_lfs(self, values: Tensor) -> Tensor:
        """Sum over the LFs of each set. (m, ...) -> (t, ...)."""
        return torch.zeros(self.sets, *values.shape[1:]).index_add(0, self.lf_set, values)

    def add_rows(self, values: Tensor) -> Tensor:
        """Sum over the rows of each set. (r, ...) -> (t, ...)."""
        return torch.zeros(self.sets, *values.shape[1:]).index_add(0, self.row_set, values)

    def add_votes(self, table: Tensor) -> Tensor:
        """Sum the evidence of the votes of each row. (m, k, k) -> (r, k)."""
        table = table.reshape(-1, self.k)
        evidence: Tensor = _SumVotes.apply(table, self.by_row, self.by_node)  # type: ignore[no-untyped-call]
        return evidence


class _SumVotes(torch.autograd.Function):
    """A sum over votes whose gradient is a sum as well: several times as fast as that of `embedding_bag`."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, by_row: Tensor, by_node: Tensor) -> Tensor:
        """Sum the rows of a table. (nodes, k) -> (r, k)."""
        ctx.by_node = by_node
        return by_row @ table

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Sum the gradient. (r, k) -> (nodes, k)."""
        return ctx.by_node @ gradient, None, None


def _sums(size: NDArray[Any], columns: list[NDArray[Any]], shape: tuple[int, int]) -> Tensor:
    """Return the matrix that sums some rows of a table, from how many and which each sum has."""
    starts, column = torch.tensor(np.cumsum(np.append(0, size))), torch.tensor(np.concatenate(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "in beta state"
        return torch.sparse_csr_tensor(starts, column, torch.ones(len(column)), shape, check_invariants=False)


def _tensor(values: Any) -> Tensor:
    return torch.tensor(np.asarray(values), dtype=torch.float32)


def _join(parts: list[Any]) -> Tensor:
    return _tensor(np.concatenate(parts))


def _pad(readings: Float64) -> Float64:
    """Return the readings with one of gold, zero if there is none."""
    return readings if len(readings) == 3 else np.concatenate([readings, np.zeros_like(readings[:1])])


def _weigh(each: GateSet) -> Float64:
    """Return what the items of each row and class count: in sets of rules, which are often scored by F1, by rarity."""
    if each.family not in ("rules", "topics"):
        return each.target
    share = each.target.sum(0) + 1
    share = share / share.sum()
    value = share ** -(GOLD_POWER if each.n_gold else RULE_POWER)
    weighed: Float64 = each.target * value / (value @ share)
    return weighed


def find_loss(gate: GateNet, b: GateBatch) -> Tensor:
    """Return the loss of each set: cross-entropy as a share of log k, plus what makes the choice sharp. (t,)."""
    log_odds, log_heat = gate(b)
    stretched = (STRETCH * torch.sigmoid(log_odds) - (STRETCH - 1) / 2).clamp(0, 1)
    gold = stretched[:, 1] * b.has_gold[b.lf_set]
    shares = torch.stack([(1 - gold) * (1 - stretched[:, 0]), (1 - gold) * stretched[:, 0], gold], 1)  # (m, 3)
    heat = log_heat.clamp(*LOG_HEAT).exp()
    mean = b.add_lfs(b.votes[:, None] * shares)  # (t, 3)
    bias = torch.einsum("se,sec->sc", mean * heat, b.biases)
    evidence = b.add_votes(torch.einsum("me,emvc->mvc", shares * heat[b.lf_set], b.tables))
    factor = torch.exp((mean[:, 0] * b.power)[b.row_set] * b.log_size)
    beliefs = torch.softmax(bias[b.row_set] + factor[:, None] * evidence, 1)
    weight = (mean[:, 0] * b.vote_weight)[b.row_set, None]
    beliefs = (1 - weight) * beliefs + weight * b.shares
    loss = b.scale * b.add_rows(-(b.target * beliefs.clamp(min=LEAST).log()).sum(1))
    alone = torch.stack([_loss_alone(b, heat, e) for e in range(2)], 1)
    return loss + CAUTION * mean[:, 1] + ALONE * (1 - b.has_gold) * (mean[:, :2] * alone).sum(1)


def _loss_alone(b: GateBatch, heat: Tensor, e: int) -> Tensor:
    """Return the loss of one reading alone, with its temperature. (t,)."""
    factor = torch.exp(b.power[b.row_set] * b.log_size) if e == 0 else torch.ones(len(b.row_set))
    logits = factor[:, None] * b.add_votes(b.tables[e]) + b.biases[b.row_set, e]
    logs = torch.log_softmax(heat[b.row_set, e, None] * logits, 1).clamp(min=math.log(LEAST))
    return b.scale * b.add_rows(-(b.target * logs).sum(1))


def train_gate(sets: list[GateSet], validation: list[GateSet], plan: GatePlan, seed: int) -> tuple[GateNet, float]:
    """Train one run. -> the gate, and its loss on validation sets."""
    torch.manual_seed(seed)
    gate, by_k = GateNet(), _by_classes(sets)
    optimizer = torch.optim.AdamW(gate.parameters(), plan.lr, weight_decay=plan.decay)
    for step in range(plan.steps):
        rng = np.random.default_rng([seed, step])
        optimizer.param_groups[0]["lr"] = plan.lr * min(1, (step + 1) / 100) * _cosine(step, plan.steps)
        of_k = by_k[sets[rng.integers(len(sets))].target.shape[1]]  # a batch has sets of one number of classes
        optimizer.zero_grad()
        batch = GateBatch([of_k[i] for i in rng.integers(0, len(of_k), plan.batch)])
        torch.autograd.backward(find_loss(gate, batch).mean())
        nn.utils.clip_grad_norm_(gate.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        losses = [find_loss(gate, GateBatch(each)) for each in _by_classes(validation).values()]
    return gate, float(torch.cat(losses).mean())


def _by_classes(sets: list[GateSet]) -> dict[int, list[GateSet]]:
    by_k: dict[int, list[GateSet]] = {}
    for each in sets:
        by_k.setdefault(each.target.shape[1], []).append(each)
    return by_k


def train_mixed(out: Path, runs: int, plan: GatePlan, seed: int = 0) -> Iterator[str]:
    """Train everything that hlm3 adds to hlm2, and write `weights.safetensors`; yields what was done.

    Args:
        out: Folder; what is in it is kept.
        runs: Number of runs of the gate.
        plan: How much is trained.
        seed: Seed of everything.
    """
    torch.set_num_threads(1)
    base = load_weights("hlm2")
    if not (out / "pairs.npz").exists():
        np.savez(out / "pairs.npz", **train_pairs(seed, plan.pair_sets))
    yield "pairs of LFs: done"
    with np.load(out / "pairs.npz") as file:
        arrays = base.arrays | dict(file)
    header = base.header | {"model": "hlm3", "description": DESCRIPTION, "gate": WIDTH}
    network = MixedNetwork(Weights(arrays, header))
    validation = read_sets(out / "validation.npz", seed + 5000, plan.validation, network)
    sets = read_sets(out / "many.npz", seed + 900, plan.many, network, many=True)
    for shard in range(1, plan.shards + 1):
        sets += read_sets(out / f"sets-{shard}.npz", seed + shard, plan.sets, network)
        yield f"shard {shard} of {plan.shards}: {len(sets):,} sets"
    losses = []
    for run in range(runs):
        path = out / f"run-{run:02d}" / "weights.safetensors"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            gate, loss = train_gate(sets, validation, plan, seed + run)
            made = {"run": run, "loss": loss, "sets": len(sets), "steps": plan.steps}
            Weights(arrays | gate.to_arrays(), header | {"gate_run": made}).save(path)
        losses.append(load_weights(path).header["gate_run"]["loss"])
        yield f"run {run}: validation loss {losses[-1]:.4f}"
    best = int(np.argmin(losses))
    shutil.copyfile(out / f"run-{best:02d}" / "weights.safetensors", out / "weights.safetensors")
    summary = {"plan": asdict(plan), "seed": seed, "losses": losses, "chosen": best}
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    yield f"run {best} has the least validation loss; wrote weights.safetensors and summary.json to {out}"
