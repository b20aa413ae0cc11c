"""check.py's balance on the real sets, with the learned trust. Logged as a look."""
import argparse, datetime
from training.hlm3.balance import *

parser = argparse.ArgumentParser(); parser.add_argument("--weights"); parser.add_argument("--balance", default="out/hlm3/balance.npz"); parser.add_argument("--note", default=""); o = parser.parse_args()
net = {n: a.astype(np.float64) for n, a in load_file(o.weights).items()}
theta = net["balance.trust"] if "balance.trust" in net else np.load(o.balance)["theta"].astype(float)


def run(votes, k, b):
    kept = (votes >= 0).any(1)
    p = to_patterns(votes[kept], k)
    v, logits = logits_of(p, k, net)
    if b is not None:
        q, w = h.softmax(logits), v.counts
        trust = 1 / (1 + np.exp(-features(kept.mean(), (w @ v.size) / w.sum(), k, float(q.max(1) @ w / w.sum()), b) @ theta))
        logits = logits + h.balance_shift(logits, w, b, kept.mean(), trust)
    return p.expand(logits).argmax(1), kept


lines, costs, wrong = [f"{datetime.datetime.utcnow():%H:%M} balance, {o.note}:"], [], []
for name in ("youtube", "sms", "spouse", "agnews", "chemprot", "youtube_prompt", "sms_prompt"):
    data = np.load(DATA / f"{name}.npz")
    votes, truth, k = data["L"].astype(int), data["y"].astype(int), ANCHORS[name]["k"]
    shares = np.bincount(truth[truth >= 0], minlength=k) / (truth >= 0).sum()
    off = np.clip(shares + np.where(np.arange(k) == shares.argmax(), -0.2, 0.2 / (k - 1)), 0.02, None)
    s = []
    for b in (None, shares, off / off.sum()):
        labels, seen = run(votes, k, b); s.append(score(name, truth[seen], labels))
    costs.append(s[0] - s[1]); wrong.append(max(0.0, s[0] - s[2]))
    lines.append(f"{name} without {s[0]:.1f} true {s[1]:.1f} off {s[2]:.1f}"); print(lines[-1])
lines.append(f"mean cost {np.mean(costs):+.2f} worst {max(costs):+.1f}; a wrong balance costs {np.mean(wrong):.2f}"); print(lines[-1])
open("training/hlm3/results/looks.log", "a").write("  ".join(lines) + "\n")
