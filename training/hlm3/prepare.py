"""Synthetic sets read by both branches, for training the gate. Shards of pickles."""
import argparse, os, pickle, time
import numpy as np
from training.hlm3.common import hlm2, to_patterns
from training.hlm3 import hlm3 as h
from training.hlm3.prior import MANY_SHARES, SHARES, sample

ITEMS = 300
GOLD_CHANCE = 0.45


def draw_gold(rng, task, patterns):
    n = len(task.truth)
    size = int(min(np.exp(rng.uniform(np.log(5), np.log(220))), 0.5 * n))
    gold = np.full(n, -1)
    pick = rng.choice(n, size, replace=False)
    gold[pick] = task.truth[pick]
    return gold


def prepare(rng, task, net, gold_chance=GOLD_CHANCE, items=ITEMS):
    """What the gate learns from: all readings, features, and the truth of some hidden items. None if there is one reading."""
    k = task.n_classes
    p = to_patterns(task.votes.astype(np.int64), k)
    rows = p.to_array().astype(np.int16)
    has_gold = rng.random() < gold_chance
    if rows.shape[1] > h.MOST_PAIRED and not has_gold:
        return None
    votes = h.Votes(rows, p.counts, k)
    if not h.applies(votes.cast.reshape(votes.m, k), votes.total, has_gold):
        return None
    labels = draw_gold(rng, task, p) if has_gold else np.full(len(task.truth), -1)
    gold = p.count_labels(labels) if has_gold else None
    state, _ = hlm2(p, gold)
    e = state.evidence
    ex = h.read_experts(votes, h.Hlm2(e.table, e.bias, e.scale, e.power, e.vote_weight), net, gold)
    hidden = np.flatnonzero(labels < 0)
    pick = hidden if len(hidden) <= items else rng.choice(hidden, items, replace=False)
    masked = np.full(len(labels), -1)
    masked[pick] = task.truth[pick]
    target = p.count_labels(masked)
    kept = np.flatnonzero(target.any(1))
    ex = ex._replace(tables=[t.astype(np.float32) for t in ex.tables], of_lf=ex.of_lf.astype(np.float32))
    return dict(family=task.family, k=k, rows=rows[kept].astype(np.int8), target=target[kept].astype(np.float32), ex=ex,
                gold=0 if gold is None else int(gold.sum()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=1000); parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="out/hlm3/sets"); parser.add_argument("--name"); parser.add_argument("--many", action="store_true"); parser.add_argument("--pairs", default="out/hlm3/pairs.npz"); o = parser.parse_args()
    net = {n: a.astype(np.float64) for n, a in np.load(o.pairs).items()}
    os.makedirs(o.out, exist_ok=True)
    rng, done, skipped, t = np.random.default_rng(o.seed), [], 0, time.time()
    while len(done) < o.sets:
        task = sample(rng, MANY_SHARES if o.many else SHARES)
        s = prepare(rng, task, net)
        if s is None:
            skipped += 1
            continue
        done.append(s)
    path = f"{o.out}/{o.name or o.seed}.pkl"
    with open(path + ".part", "wb") as f:
        pickle.dump(done, f)
    os.replace(path + ".part", path)
    print(f"seed {o.seed}: {len(done)} sets, skipped {skipped}, {time.time() - t:.0f}s, {os.path.getsize(path) / 1e6:.0f} MB")
