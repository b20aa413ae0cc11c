"""Learn how far two LFs depend on each other beyond the truth, from agreement alone. Supervised by synthetic truth."""
import argparse, time, os
import numpy as np, torch
from torch import nn
from training.hlm3.common import to_patterns
from training.hlm3 import hlm3 as h
from training.hlm3.prior import sample


def target(rows, counts, truth, lfs, k):
    """Agreement of pairs beyond independence given the truth: 1 for exact copies. (q, q), and joint items."""
    q = len(lfs)
    rows = rows[:, lfs]
    agree, expect, joint = np.zeros((q, q)), np.zeros((q, q)), np.zeros((q, q))
    for c in range(k):
        w = truth[:, c]
        voted = rows >= 0
        n = voted.T @ (voted * w[:, None])
        shares = np.stack([((rows == v) * w[:, None]).sum(0) for v in range(k)], 1)
        shares = (shares + 0.01) / (shares.sum(1, keepdims=True) + 0.01 * k)
        for v in range(k):
            cast = rows == v
            agree += cast.T @ (cast * w[:, None])
        joint += n
        expect += n * (shares @ shares.T)
    return (agree - expect) / np.maximum(joint - expect, 1e-9), joint, 1 - expect / np.maximum(joint, 1e-9)


def gather(seed, count):
    rng, X, Y, W = np.random.default_rng(seed), [], [], []
    while len(X) < count:
        task = sample(rng)
        p = to_patterns(task.votes.astype(np.int64), task.n_classes)
        k = task.n_classes
        v = h.Votes(p.to_array(), p.counts, k)
        pairs = h.compare_pairs(v.cast.reshape(v.m, k), *h.count_pairs(v))
        if (pairs.informed > 0.1).sum() < 4:
            continue
        level = h.fit_levels(pairs)
        truth = p.count_labels(task.truth).astype(float)
        y, joint, free = target(p.to_array(), p.counts, truth, pairs.lfs, k)
        w = np.where(free > 0.05, joint * free / (joint * free + 20), 0)
        i, j = np.nonzero(np.triu(w > 0.1, 1))
        if not len(i):
            continue
        pick = rng.permutation(len(i))[:150]
        i, j = i[pick], j[pick]
        X.append(h.describe_pairs(pairs, level, k, v.m, i, j)); Y.append(np.clip(y[i, j], -0.2, 1)); W.append(w[i, j] / np.sqrt(len(i)) * np.ones(len(i)))
    return [np.concatenate(a).astype(np.float32) for a in (X, Y, W)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(); parser.add_argument("--sets", type=int, default=3000); parser.add_argument("--seed", type=int, default=0); parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--out", default="out/hlm3/pairs.npz"); o = parser.parse_args()
    os.makedirs("out/hlm3", exist_ok=True)
    t = time.time(); X, Y, W = gather(o.seed, o.sets); Xv, Yv, Wv = gather(o.seed + 10_000, o.sets // 6)
    print("sets", o.sets, "pairs", len(X), f"{time.time()-t:.0f}s", flush=True)
    torch.manual_seed(o.seed); torch.set_num_threads(1)
    width = o.width
    net = nn.Sequential(nn.Linear(X.shape[1], width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
    opt = torch.optim.Adam(net.parameters(), 3e-3)
    X, Y, W, Xv, Yv, Wv = map(torch.from_numpy, (X, Y, W, Xv, Yv, Wv))
    steps = 4000
    for s in range(steps):
        for g in opt.param_groups: g["lr"] = 4e-3 * 0.5 * (1 + np.cos(np.pi * s / steps))
        b = torch.randint(0, len(X), (1024,))
        loss = (W[b] * (torch.sigmoid(net(X[b]))[:, 0] - Y[b]) ** 2).sum() / W[b].sum()
        opt.zero_grad(); loss.backward(); opt.step()
        if s % 500 == 499:
            with torch.no_grad():
                e = torch.sigmoid(net(Xv))[:, 0]
                print(s + 1, f"train {loss.item():.5f} valid {((Wv*(e-Yv)**2).sum()/Wv.sum()).item():.5f} const {((Wv*((Wv*Yv).sum()/Wv.sum()-Yv)**2).sum()/Wv.sum()).item():.5f}", flush=True)
    arrays = {f"pair{i}.{n}": getattr(net[2 * i], n).detach().numpy().astype(np.float64) for i in range(3) for n in ("weight", "bias")}
    np.savez(o.out, **arrays)
