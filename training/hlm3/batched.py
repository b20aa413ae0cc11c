"""Batches of sets of the same number of classes, for a gate that is trained many sets at a time."""
import numpy as np, torch
from torch import nn

STRETCH, LEAST = 1.3, 1e-4


class Batch:
    """Concatenated sets."""

    def __init__(self, sets):
        self.sets, self.k = len(sets), sets[0]["k"]
        k, rows, lfs = self.k, [len(s["target"]) for s in sets], [s["m"] for s in sets]
        self.of_lf_set = torch.repeat_interleave(torch.arange(len(sets)), torch.tensor(lfs))
        self.of_row_set = torch.repeat_interleave(torch.arange(len(sets)), torch.tensor(rows))
        self.of_set, self.of_lf = torch.stack([s["of_set"] for s in sets]), torch.cat([s["of_lf"] for s in sets])
        self.cast, self.vcast = torch.cat([s["cast"] for s in sets]), torch.cat([s["vcast"] for s in sets])
        none = lambda s: torch.zeros(1, s["m"], k, k)
        self.tables = torch.cat([s["tables"] if len(s["tables"]) == 3 else torch.cat([s["tables"], none(s)]) for s in sets], 1)
        self.biases = torch.stack([s["biases"] if len(s["biases"]) == 3 else torch.cat([s["biases"], torch.zeros(1, k)]) for s in sets])
        self.has_gold = torch.tensor([float(s["gold"] > 0) for s in sets])
        start = np.r_[0, np.cumsum(lfs)[:-1]] * k
        nodes, sizes = [], []
        for s, first in zip(sets, start):
            voted = s["node"] < s["m"] * k
            nodes.append(s["node"][voted] + int(first)); sizes.append(voted.sum(1))
        self.node, size = torch.cat(nodes), torch.cat(sizes)
        self.offsets = torch.cat([torch.zeros(1, dtype=torch.long), size.cumsum(0)[:-1]])
        self.logsize = torch.cat([s["logsize"] for s in sets])
        self.power, self.vw = torch.tensor([s["power"] for s in sets], dtype=torch.float32), torch.tensor([s["vw"] for s in sets], dtype=torch.float32)
        self.shares, self.target = torch.cat([s["shares"] for s in sets]), torch.cat([s["target"] for s in sets])
        self.alone = torch.cat([s["alone"] for s in sets], 1)
        self.scale = 1 / (torch.zeros(len(sets)).index_add(0, self.of_row_set, self.target.sum(1)) * np.log(k))

    def by_set(self, values):
        return torch.zeros(self.sets, *values.shape[1:]).index_add(0, self.of_lf_set, values)

    def rows_by_set(self, values):
        return torch.zeros(self.sets, *values.shape[1:]).index_add(0, self.of_row_set, values)


def gate_batch(gate, b):
    act = nn.functional.silu
    x = torch.cat([b.of_lf, b.of_set[b.of_lf_set]], 1)
    x = act(gate.lf1(act(gate.lf0(x))))
    s = act(gate.set0(torch.cat([b.by_set(b.cast[:, None] * x), b.of_set], 1)))
    o = gate.set1(s)
    lf = gate.out(torch.cat([x, s[b.of_lf_set]], 1))
    return lf + o[b.of_lf_set, :2], o[:, 2:]


def mix_batch(gate, b):
    """Probabilities of rows (r, k), mean shares (sets, 3), temperatures (sets, 3)."""
    logits, temps = gate_batch(gate, b)
    g = (STRETCH * torch.sigmoid(logits) - (STRETCH - 1) / 2).clamp(0, 1)
    gold = g[:, 1] * b.has_gold[b.of_lf_set]
    a = torch.stack([(1 - gold) * (1 - g[:, 0]), (1 - gold) * g[:, 0], gold], 1)
    heat = torch.exp(temps.clamp(-4, 1.5))
    table = torch.einsum("me,emvc->mvc", a * heat[b.of_lf_set], b.tables).reshape(-1, b.k)
    mean = b.by_set(b.vcast[:, None] * a)
    bias = torch.einsum("se,sec->sc", mean * heat, b.biases)
    total = nn.functional.embedding_bag(b.node, table, b.offsets, mode="sum")
    factor = torch.exp((mean[:, 0] * b.power)[b.of_row_set] * b.logsize)
    p = torch.softmax(bias[b.of_row_set] + factor[:, None] * total, 1)
    w = (mean[:, 0] * b.vw)[b.of_row_set, None]
    return (1 - w) * p + w * b.shares, mean, heat


def loss_batch(gate, b, caution, either):
    p, mean, heat = mix_batch(gate, b)
    loss = -(b.scale[b.of_row_set, None] * b.target * torch.log(p.clamp(min=LEAST))).sum() / b.sets + caution * mean[:, 1].mean()
    if either:
        both = torch.log_softmax(heat[b.of_row_set, :2].T[:, :, None] * b.alone, 2).clamp(min=float(np.log(LEAST)))
        alone = -(both * b.target).sum(2)  # (2, r)
        alone = b.rows_by_set(alone.T) * b.scale[:, None]  # (sets, 2)
        loss = loss + either * ((1 - b.has_gold) * (mean[:, :2] * alone).sum(1)).mean()
    return loss


def validate_batches(gate, batches):
    """{(family, gold): mean of accuracy, loss, Brier score, hlm2's share, confidence}."""
    rows = {}
    with torch.no_grad():
        for sets, b in batches:
            p, mean, _ = mix_batch(gate, b)
            y = b.target
            n = b.rows_by_set(y.sum(1))
            acc = b.rows_by_set(y.gather(1, p.argmax(1, keepdim=True))[:, 0]) / n
            loss = b.rows_by_set(-(y * torch.log(p.clamp(min=LEAST))).sum(1)) * b.scale
            bri = b.rows_by_set(y.sum(1) * (p**2).sum(1) - 2 * (y * p).sum(1) + y.sum(1)) / n
            conf = b.rows_by_set(y.sum(1) * p.max(1).values) / n
            for i, s in enumerate(sets):
                rows.setdefault((s["family"], s["gold"] > 0), []).append([float(v[i]) for v in (acc, loss, bri, mean[:, 0], conf)])
    return {f: np.mean(r, 0) for f, r in rows.items()}


def group(sets, size):
    """Batches of all sets, by number of classes."""
    by_k = {}
    for s in sets:
        by_k.setdefault(s["k"], []).append(s)
    return [(g[i : i + size], Batch(g[i : i + size])) for g in by_k.values() for i in range(0, len(g), size)]
