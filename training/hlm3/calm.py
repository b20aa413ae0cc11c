"""A temperature of hlm2 for dense panels of more than MOST_LFS LFs, linear in a few features; labels stay."""
import argparse, time
import numpy as np, torch
from training.hlm3.common import hlm2, to_patterns
from training.hlm3 import hlm3 as h
from training.hlm3.panels import GradedPrior, MisledPanelPrior
from training.hlm3.judges import JudgesPrior
from hyperlabel.training._labeled_priors import CrowdPrior, PanelPrior, drop_silent, is_poor

MANY = (h.MOST_LFS + 1, 130)
PRIORS = ((PanelPrior(judges=MANY, max_votes=20_000), .2), (MisledPanelPrior(judges=MANY, max_votes=20_000), .17), (GradedPrior(judges=MANY, max_votes=20_000), .18))


def gather(seed, count):
    rng, out, chances = np.random.default_rng(seed), [], np.array([c for _, c in PRIORS])
    while len(out) < count:
        task = drop_silent(PRIORS[rng.choice(len(chances), p=chances / chances.sum())][0].sample(rng))
        if len(task.truth) < 30 or task.votes.shape[1] <= h.MOST_LFS or (is_poor(task) and rng.random() < .7):
            continue
        k = task.n_classes
        p = to_patterns(task.votes.astype(np.int64), k)
        e = hlm2(p)[0].evidence
        if e.vote_weight:
            continue
        v = h.Votes(p.to_array().astype(np.int16), p.counts, k)
        f, logits = h.describe_many(v, h.Hlm2(e.table, e.bias, e.scale, e.power, e.vote_weight))
        y = p.count_labels(task.truth)
        rows = rng.permutation(len(y))[:200]
        out.append((f, torch.tensor(logits[rows], dtype=torch.float32), torch.tensor(y[rows], dtype=torch.float32), task.family))
    return out


def loss_of(theta, data):
    out = []
    for f, z, y, _ in data:
        heat = torch.exp((torch.tensor(f, dtype=torch.float32) @ theta).clamp(-2, 1))
        out.append(-(y * torch.log_softmax(heat * z, 1).clamp(min=-9.2)).sum() / y.sum() / np.log(y.shape[1]))
    return torch.stack(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(); parser.add_argument("--sets", type=int, default=800); parser.add_argument("--out", default="out/hlm3/calm.npz"); o = parser.parse_args()
    torch.set_num_threads(1)
    t = time.time(); data = gather(61, o.sets); print(len(data), f"{time.time()-t:.0f}s", flush=True)
    train, valid = data[: 3 * len(data) // 4], data[3 * len(data) // 4 :]
    theta = torch.zeros(h.CALM_FEATURES, requires_grad=True)
    opt = torch.optim.Adam([theta], 0.03)
    for step in range(150):
        loss = loss_of(theta, train).mean() + 1e-3 * (theta[1:] ** 2).sum()
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        a, b = loss_of(torch.zeros_like(theta), valid), loss_of(theta, valid)
        for fam in sorted({d[3] for d in valid}):
            i = [j for j, d in enumerate(valid) if d[3] == fam]
            print(fam, len(i), f"loss {a[i].mean():.4f} -> {b[i].mean():.4f}")
    print("theta", theta.detach().numpy().round(3), f"valid {a.mean():.4f} -> {b.mean():.4f}")
    np.savez(o.out, theta=theta.detach().numpy())
