"""What hlm3 must keep: order of items, LFs and classes does not matter, chunks add up, probabilities add up."""
import sys
import numpy as np
from safetensors.numpy import load_file
from training.hlm3 import hlm3 as h
from training.hlm3.common import hlm2, to_patterns
import textbook as book

WEIGHTS = sys.argv[1] if len(sys.argv) > 1 else "out/hlm3/hlm3.safetensors"
NET = {n: a.astype(np.float64) for n, a in load_file(WEIGHTS).items()}


def run(votes, k, labels=None):
    p = to_patterns(votes, k)
    gold = None if labels is None else p.count_labels(labels)
    e = hlm2(p, gold)[0].evidence
    v = h.Votes(p.to_array().astype(np.int16), p.counts, k)
    assert h.applies(v.cast.reshape(v.m, k), v.total, gold is not None)
    mixed = h.mix(h.read_experts(v, h.Hlm2(e.table, e.bias, e.scale, e.power, e.vote_weight), NET, gold), NET)
    return p.expand(h.judge(v, mixed)), v, mixed, e


for name in ("rare class", "four classes, eight judges", "five judges, one copied twice", "ten judges, 30 % of the votes"):
    rng = np.random.default_rng(1)
    votes, truth, logs = book.draw(rng, **book.CASES[name])
    k, m = logs.shape[1], votes.shape[1]
    for gold in (None, np.where(np.arange(len(truth)) < 50, truth, -1)):
        proba, v, mixed, e = run(votes, k, gold)
        assert np.allclose(proba.sum(1), 1)
        items, lfs, classes = rng.permutation(len(votes)), rng.permutation(m), rng.permutation(k)
        other = run(votes[items][:, lfs], k, None if gold is None else gold[items])[0]
        print(name, "order of items and LFs", np.abs(other - proba[items]).max())
        renamed = np.where(votes >= 0, classes[votes], -1)
        other = run(renamed, k, None if gold is None else np.where(gold >= 0, classes[gold], -1))[0]
        print(name, "order of classes", np.abs(other[:, classes] - proba).max())
    # Chunks: sums of two halves of the rows add up to those of all.
    half = np.arange(v.p) % 2 == 0
    parts = [h.Votes(v.rows[s], v.counts[s], k) for s in (half, ~half)]
    for f in (lambda x: h.count_pairs(x)[1:], lambda x: h.em_sums(x, mixed.table, mixed.bias, None)):
        whole, added = f(v), [sum(c) for c in zip(*map(f, parts))]
        assert all(np.allclose(a, b) for a, b in zip(whole, added))
    print(name, "chunks add up")
