"""Time of hlm3's part beside the whole fit_predict of hlm2, on the 44 sets: ratio by set and geometric mean."""
import argparse, time
from training.hlm3.evaluate import *


def extra(p, k, e, net):
    v = h.Votes(p.to_array().astype(np.int16), p.counts, k)
    h.judge(v, h.mix(h.read_experts(v, h.Hlm2(e.table, e.bias, e.scale, e.power, e.vote_weight), net), net))


def is_read_twice(p, k):
    """hlm2 knows this from its first pass, so it is not timed."""
    cast = np.bincount(p.lf * k + p.vote, p.counts[p.row], p.n_lfs * k).reshape(-1, k)
    return h.applies(cast, float(p.counts.sum()), False)


def best(f, repeats=7):
    """CPU time, since the machine is shared."""
    out = []
    for _ in range(repeats):
        s = time.process_time_ns(); f(); out.append(time.process_time_ns() - s)
    return min(out) / 1e9


if __name__ == "__main__":
    parser = argparse.ArgumentParser(); parser.add_argument("--weights"); parser.add_argument("--parts", action="store_true"); o = parser.parse_args()
    net = {n: a.astype(np.float64) for n, a in load_file(o.weights).items()}
    ratios = []
    for f in FAMILIES:
        for n in names(f):
            v, t, k = load(n)
            whole = best(lambda: hl.HyperLabelModel(n_classes=k).fit_predict(v))
            p = to_patterns(v, k); e = hlm2(p)[0].evidence
            p = to_patterns(v, k)
            more = best(lambda: extra(p, k, e, net)) if is_read_twice(p, k) else 0.0
            ratios.append(1 + more / whole)
            if ratios[-1] > 1.05: print(f"{n:20} fit_predict {1e3*whole:7.2f} ms, hlm3 more {1e3*more:7.2f} ms, ratio {ratios[-1]:.2f}", flush=True)
    print("geometric mean of ratios", np.exp(np.mean(np.log(ratios))))
