"""Textbook, its variants, and (only with --real, which is logged) the 44 sets."""
import argparse, datetime, sys
import numpy as np
from safetensors.numpy import load_file
from training.hlm3.common import *
from training.hlm3 import hlm3 as h
import textbook as book
import hyperlabel as hl


def predict(votes, k, net, gold_labels=None, details=False):
    p = to_patterns(votes, k)
    gold = None if gold_labels is None else p.count_labels(gold_labels)
    state, proba2 = hlm2(p, gold)
    v = h.Votes(p.to_array().astype(np.int16), p.counts, k)
    e = state.evidence
    if "calm" in net and gold is None and h.is_dense_panel(v) and not e.vote_weight:
        f, logits = h.describe_many(v, h.Hlm2(e.table, e.bias, e.scale, e.power, e.vote_weight))
        proba = h.softmax(np.exp(np.clip(f @ net["calm"], -2, 1)) * logits)
        return (p.expand(proba), 0.999) if details else p.expand(proba)
    if not h.applies(v.cast.reshape(v.m, k), v.total, gold is not None):
        return (p.expand(proba2), 1.0) if details else p.expand(proba2)
    e = state.evidence
    mixed = h.mix(h.read_experts(v, h.Hlm2(e.table, e.bias, e.scale, e.power, e.vote_weight), net, gold), net)
    proba = h.judge(v, mixed)
    if gold is not None:
        g = gold * e.gold_worth
        proba = (e.gold_weight * proba + g) / (e.gold_weight + g.sum(1, keepdims=True))
    return (p.expand(proba), float(mixed.shares[0])) if details else p.expand(proba)


def variants(rng, count):
    """The textbook's families with other numbers."""
    out = {}
    for i in range(count):
        u, c = rng.uniform, i % 9
        n = int(np.exp(u(np.log(300), np.log(5000))))
        if c == 0: case = dict(n=n, skill=list(u(.55, .95, 3)))
        elif c == 1: case = dict(n=n, skill=[u(.82, .97)] + [u(.54, .65)] * int(rng.integers(3, 8)))
        elif c == 2: case = dict(n=n, skill=list(np.linspace(u(.5, .6), u(.75, .95), int(rng.integers(5, 16)))), coverage=float(rng.choice([1, u(.2, .8)])))
        elif c == 3: b = u(.6, .9); case = dict(n=n, skill=list(u(.6, .92, int(rng.integers(4, 9)))), balance=(b, 1 - b))
        elif c == 4: case = dict(n=n, skill=list(u(.65, .85, int(rng.integers(4, 8)))) + [u(.15, .35)])
        elif c == 5: k = int(rng.integers(3, 6)); case = dict(n=max(n, 800), skill=[u(.8, .93)] + [1 / k + u(.08, .2)] * int(rng.integers(3, 6)), balance=(1 / k,) * k)
        elif c == 6: k = int(rng.integers(3, 6)); b = rng.dirichlet(np.full(k, 5.0)); case = dict(n=n, skill=list(np.linspace(1 / k + .08, u(.7, .9), int(rng.integers(5, 10)))), balance=tuple(b))
        elif c == 7: case = dict(n=n, skill=[tuple(u(.55, .95, 2)) for _ in range(int(rng.integers(4, 8)))])
        else:
            s = list(rng.permutation(np.linspace(u(.6, .7), u(.8, .9), int(rng.integers(4, 8)))))
            case = dict(n=max(n, 600), skill=s, copies={int(rng.integers(len(s))): int(rng.integers(1, 4))})
        out[f"{i} family {c}"] = case
    return out


def run_book(net, cases, seeds, peers=("mv", "ds", "fs"), gold=0, quiet=False):
    total, families = [], {}
    for name, case in cases.items():
        rows = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            votes, truth, logs = book.draw(rng, **case)
            k = logs.shape[1]
            labels = None
            kept = np.ones(len(truth), bool)
            if gold:
                pick = rng.choice(len(truth), gold, replace=False)
                labels = np.full(len(truth), -1); labels[pick] = truth[pick]; kept[pick] = False
            proba, share2 = predict(votes, k, net, labels, details=True)
            row = [100 * (logs.argmax(1) == truth)[kept].mean(), 100 * (proba.argmax(1) == truth)[kept].mean(), ece(truth[kept], proba[kept]), share2, proba[kept].max(1).mean()]
            state, p2 = hlm2(to_patterns(votes, k), None if labels is None else to_patterns(votes, k).count_labels(labels))
            p2 = to_patterns(votes, k).expand(p2)
            row += [100 * (p2.argmax(1) == truth)[kept].mean()]
            for m in peers:
                model = hl.label_model(m)
                if "n_classes" in model.get_params(): model.set_params(n_classes=k)
                row.append(100 * (np.asarray(model.fit_predict(votes)) == truth).mean())
            rows.append(row)
        r = np.mean(rows, 0); total.append(r)
        families.setdefault(name.split("family")[-1], []).append(r)
        if not quiet:
            print(f"{name:34} optimum {r[0]:5.1f} ours {r[1]:5.1f} ece {r[2]:.3f} hlm2-share {r[3]:.2f} hlm2 {r[5]:5.1f} " + " ".join(f"{m} {x:5.1f}" for m, x in zip(peers, r[6:])))
    r = np.mean(total, 0); t = np.array(total)
    behind = (t[:, 6:].max(1) - t[:, 1]).max() if len(peers) else 0
    if quiet:
        for f, rr in families.items():
            m = np.mean(rr, 0); print(f"  family {f}: optimum {m[0]:.2f} ours {m[1]:.2f} ece {m[2]:.3f} hlm2 {m[5]:.2f} best peer {np.mean(np.array(rr)[:,6:].max(1)) if len(peers) else 0:.2f}")
    print(f"MEAN optimum {r[0]:.2f} ours {r[1]:.2f} ece {r[2]:.4f} hlm2 {r[5]:.2f} " + " ".join(f"{m} {x:.2f}" for m, x in zip(peers, r[6:])) + f" behind best peer by at most {behind:.1f}", flush=True)


def run_real(net, note, verbose=True):
    with open("training/hlm3/results/looks.log", "a") as f:
        lines = [f"{datetime.datetime.utcnow():%H:%M} {note}:"]
        allr = []
        for family in FAMILIES:
            rows = []
            for n in names(family):
                v, t, k = load(n)
                proba, share2 = predict(v, k, net, details=True)
                p = to_patterns(v, k); p2 = p.expand(hlm2(p)[1])
                rows.append((score(n, t, proba.argmax(1)), brier(t, proba), ece(t, proba), score(n, t, p2.argmax(1)), brier(t, p2), ece(t, p2), share2))
                if verbose and share2 < 1: print(f"  {n:20} ours {rows[-1][0]:6.2f} hlm2 {rows[-1][3]:6.2f} brier {rows[-1][1]:.4f} / {rows[-1][4]:.4f} ece {rows[-1][2]:.3f} / {rows[-1][5]:.3f} hlm2-share {share2:.2f}")
            allr += rows
            r = np.mean(rows, 0)
            lines.append(f"{family} {r[0]:.2f} ({r[0]-r[3]:+.2f}) brier {r[1]:.4f} ({r[1]-r[4]:+.4f}) ece {r[2]:.3f}/{r[5]:.3f}")
        r = np.mean(allr, 0)
        lines.append(f"all {r[0]:.2f} brier {r[1]:.4f} ece {r[2]:.4f}")
        print("\n".join(lines)); f.write("  ".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", default="out/hlm3/hlm3.safetensors"); parser.add_argument("--calm"); parser.add_argument("--real"); parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", default="book,variants"); o = parser.parse_args()
    net = {n: a.astype(np.float64) for n, a in load_file(o.weights).items()}
    if "calm" not in net and o.calm:
        net["calm"] = np.load(o.calm)["theta"].astype(float)
    if "book" in o.parts: run_book(net, book.CASES, range(o.seeds))
    if "variants" in o.parts: run_book(net, variants(np.random.default_rng(77), 90), range(1), quiet=True)
    if "gold" in o.parts: run_book(net, book.CASES, range(o.seeds), peers=(), gold=50)
    if o.real: run_real(net, o.real)
