"""How far a stated balance of all items is to be believed on the covered ones: learned on synthetic sets.

For each set: the log loss of covered items for a grid of trusts, with the true balance stated and with one that is off.
"""
import argparse, pickle
import numpy as np
from safetensors.numpy import load_file
from training.hlm3.common import *
from training.hlm3 import hlm3 as h
from training.hlm3.judges import JudgesPrior
from hyperlabel.training._labeled_priors import CrowdPrior, PanelPrior
from hyperlabel.training._rule_priors import TopicsPrior
from hyperlabel.training import RulesPrior

GRID = np.linspace(0, 1, 11)
PRIORS = ((RulesPrior(max_cells=50_000), 0.5), (RulesPrior(lfs=(3, 12), max_cells=60_000), 0.15), (TopicsPrior(max_cells=50_000), 0.15), (JudgesPrior(max_cells=20_000), 0.1), (CrowdPrior(max_votes=8000, max_cells=100_000), 0.1))


def logits_of(patterns, k, net):
    """Logits of rows with votes by the default model: hlm3's where it applies. -> Votes, (p, k)."""
    state, _ = hlm2(patterns)
    e = state.evidence
    v = h.Votes(patterns.to_array().astype(np.int16), patterns.counts, k)
    if h.applies(v.cast.reshape(v.m, k), v.total, False):
        mixed = h.mix(h.read_experts(v, h.Hlm2(e.table, e.bias, e.scale, e.power, e.vote_weight), net), net)
        return v, mixed.bias + (mixed.scale * np.maximum(v.size, 1) ** mixed.power)[:, None] * v.by_row(mixed.table)
    return v, e.bias + (e.scale * np.maximum(v.size, 1.0) ** e.power)[:, None] * v.by_row(e.table)


def features(covered, votes_per_item, k, conf, stated):
    """Coverage, how uncovered it is, votes per item, classes, confidence, the rarest class as stated."""
    return np.array([1.0, np.log(covered + 1e-3), np.log((1 - covered) + 0.02), np.log(votes_per_item), np.log(k) - 0.7, conf - 0.8, np.log(stated.min() * k + 1e-2) + 1])


def gather(seed, count, net):
    rng, out = np.random.default_rng(seed), []
    chances = np.array([c for _, c in PRIORS])
    while len(out) < count:
        task = PRIORS[rng.choice(len(chances), p=chances / chances.sum())][0].sample(rng)
        k = task.n_classes
        votes = task.votes[:, (task.votes >= 0).any(0)].astype(np.int64)
        kept = (votes >= 0).any(1)
        if kept.sum() < 30 or votes.shape[1] < 2:
            continue
        b = (np.bincount(task.truth, minlength=k) + 0.5) / (len(task.truth) + 0.5 * k)
        p = to_patterns(votes[kept], k)
        truth = p.count_labels(task.truth[kept]).astype(float)
        mv = h.Votes(p.to_array().astype(np.int16), p.counts, k).by_row(np.tile(np.eye(k), (votes.shape[1], 1))).argmax(1)
        acc = truth[np.arange(len(mv)), mv].sum() / truth.sum()
        if acc < (0.58 if k == 2 else 0.45) and rng.random() < 0.85:
            continue
        v, logits = logits_of(p, k, net)
        w = v.counts
        covered = kept.mean()
        stated = [b]
        for size in (rng.uniform(0.05, 0.15), 0.2):
            off = b.copy()
            i = rng.integers(k) if rng.random() < 0.5 else b.argmax()
            off[i] -= min(size, off[i] - 0.02)
            off[np.arange(k) != i] += (b[i] - off[i]) / (k - 1)
            stated.append(np.clip(off, 0.02, None) / np.clip(off, 0.02, None).sum())
        losses, share = [], (truth.sum(0) + 1) / (truth.sum() + k)
        # Sets of rules are often scored by F1: rare classes count more, as with gold in hlm2.
        valued = truth * (share**-0.75 if task.family in ("rules", "topics") else np.ones(k))
        for s in stated:
            row = []
            for trust in GRID:
                q = h.softmax(logits + h.balance_shift(logits, w, s, covered, trust))
                row.append((-(valued * np.log(np.maximum(q, 1e-4))).sum() / valued.sum() / np.log(k), truth[np.arange(len(q)), q.argmax(1)].sum() / truth.sum()))
            losses.append(row)
        q = h.softmax(logits)
        est = w @ q / w.sum()
        out.append((features(covered, (w @ v.size) / w.sum(), k, float(q.max(1) @ w / w.sum()), b), np.array(losses), task.family, est, b, truth.sum(0) / truth.sum()))
    return out


def fit(data):
    import torch
    X = torch.tensor(np.stack([d[0] for d in data]), dtype=torch.float32)
    L = torch.tensor(np.stack([d[1][:, :, 0] for d in data]), dtype=torch.float32)  # (sets, stated, grid)
    L = (torch.tensor([0.5, 0.3, 0.2])[None, :, None] * L).sum(1)
    theta = torch.zeros(X.shape[1], requires_grad=True)
    opt = torch.optim.Adam([theta], 0.05)
    for _ in range(600):
        lam = torch.sigmoid(X @ theta) * 10
        low = lam.floor().clamp(0, 9).long(); f = lam - low
        loss = ((1 - f) * L.gather(1, low[:, None])[:, 0] + f * L.gather(1, low[:, None] + 1)[:, 0]).mean() + 1e-3 * (theta[1:] ** 2).sum()
        opt.zero_grad(); loss.backward(); opt.step()
    return theta.detach().numpy(), float(loss.detach())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(); parser.add_argument("--weights"); parser.add_argument("--sets", type=int, default=1500); parser.add_argument("--out", default="out/hlm3/balance.npz"); o = parser.parse_args()
    net = {n: a.astype(np.float64) for n, a in load_file(o.weights).items()}
    data = gather(31, o.sets, net)
    theta, loss = fit(data)
    print("theta", theta.round(3), "loss", loss)
    X = np.stack([d[0] for d in data]); L = np.stack([d[1] for d in data])
    lam = 1 / (1 + np.exp(-X @ theta)); cov = np.exp(X[:, 1])
    for lo, hi in ((0, .3), (.3, .6), (.6, .85), (.85, .99), (.99, 1.1)):
        m = (cov >= lo) & (cov < hi)
        if m.any():
            at = np.rint(lam[m] * 10).astype(int); i = np.arange(m.sum())
            print(f"coverage {lo}-{hi}: {m.sum()} sets, trust {lam[m].mean():.2f}; loss none {L[m][:,0,0,0].mean():.4f} full {L[m][:,0,10,0].mean():.4f} learned {L[m][i,0,at,0].mean():.4f}; off .2 full {L[m][:,2,10,0].mean():.4f} learned {L[m][i,2,at,0].mean():.4f}; accuracy none {100*L[m][:,0,0,1].mean():.2f} full {100*L[m][:,0,10,1].mean():.2f} learned {100*L[m][i,0,at,1].mean():.2f}, off .2 full {100*L[m][:,2,10,1].mean():.2f} learned {100*L[m][i,2,at,1].mean():.2f}")
    np.savez(o.out, theta=theta)
