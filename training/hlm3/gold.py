"""Gold on the 44 sets: ours with and without, hlm2 with gold, a gold-weighted vote, a random forest."""
import argparse, datetime
from sklearn.ensemble import RandomForestClassifier
from training.hlm3.evaluate import *


def gold_vote(votes, k, gold):
    """Votes weighted by log-odds of smoothed gold accuracy, as in two lines."""
    known = gold >= 0
    g, v = gold[known], votes[known]
    voted = v >= 0
    acc = (((v == g[:, None]) & voted).sum(0) + 1) / (voted.sum(0) + 2)
    w = np.log(acc / (1 - acc)) + (np.log(k - 1) if k > 2 else 0)
    s = np.stack([((votes == c) * w).sum(1) for c in range(k)], 1)
    return s.argmax(1)


def run(net, sizes, draws, forest, note, families=FAMILIES):
    lines = [f"{datetime.datetime.utcnow():%H:%M} gold, {note}:"]
    for size in sizes:
        for family in families:
            rows = []
            for n in names(family):
                v, t, k = load(n)
                plain = predict(v, k, net).argmax(1)
                for d in range(draws):
                    known = np.flatnonzero(t >= 0)
                    pick = np.random.default_rng(d).choice(known, min(size, len(known) // 2), replace=False)
                    gold, rest = np.full(len(t), -1), t.copy()
                    gold[pick], rest[pick] = t[pick], -1
                    ours = predict(v, k, net, gold)
                    p = to_patterns(v, k)
                    p2 = p.expand(hlm2(p, p.count_labels(gold))[1])
                    rf = np.nan
                    if forest:
                        rows_ = p.to_array(); rf_ = RandomForestClassifier(50, random_state=d).fit(v[pick], t[pick]); rf = score(n, rest, p.expand(rf_.predict(rows_)))
                    rows.append((score(n, rest, plain), score(n, rest, ours.argmax(1)), score(n, rest, p2.argmax(1)), score(n, rest, gold_vote(v, k, gold)), rf, brier(rest, ours), brier(rest, p2)))
                if family == "panel": print(f"  {n:16} {size} plain {np.mean(rows[-draws:],0)[0]:.1f} ours {np.mean(rows[-draws:],0)[1]:.1f} hlm2 {np.mean(rows[-draws:],0)[2]:.1f} gw {np.mean(rows[-draws:],0)[3]:.1f} rf {np.mean(rows[-draws:],0)[4]:.1f}")
            r = np.mean(rows, 0)
            lines.append(f"{family} {size}: without {r[0]:.2f} ours {r[1]:.2f} hlm2 {r[2]:.2f} gold vote {r[3]:.2f} forest {r[4]:.2f} brier {r[5]:.4f} hlm2 {r[6]:.4f}"); print(lines[-1], flush=True)
    open("training/hlm3/results/looks.log", "a").write("  ".join(lines) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(); parser.add_argument("--weights"); parser.add_argument("--note", default=""); parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--forest", action="store_true"); parser.add_argument("--sizes", default="20,50,100"); o = parser.parse_args()
    net = {n: a.astype(np.float64) for n, a in load_file(o.weights).items()}
    run(net, map(int, o.sizes.split(",")), o.draws, o.forest, o.note)
