"""Train the gate on prepared sets: proper log loss of the mixed probabilities, as a share of log k."""
import argparse, glob, pathlib, pickle, time
import numpy as np, torch
from torch import nn
from safetensors.numpy import save_file
from training.hlm3 import hlm3 as h
from training.hlm3.batched import Batch, group, loss_batch, validate_batches



class Gate(nn.Module):
    def __init__(self, width=32, n_set=h.SET_FEATURES, n_lf=h.LF_FEATURES):
        super().__init__()
        self.lf0, self.lf1 = nn.Linear(n_set + n_lf, width), nn.Linear(width, width)
        self.set0, self.set1 = nn.Linear(width + n_set, width), nn.Linear(width, 5)
        self.out = nn.Linear(2 * width, 2)
        for layer in (self.set1, self.out):
            nn.init.zeros_(layer.weight); nn.init.zeros_(layer.bias)
        self.set1.bias.data[:2] = -1.0

    def forward(self, of_set, of_lf, cast):
        act = nn.functional.silu
        x = torch.cat([of_lf, of_set.expand(len(of_lf), -1)], 1)
        x = act(self.lf1(act(self.lf0(x))))
        s = act(self.set0(torch.cat([cast @ x, of_set])))
        o = self.set1(s)
        lf = self.out(torch.cat([x, s.expand(len(x), -1)], 1))
        return lf + o[:2], o[2:]


def weigh(target, family, gold):
    """Items of rare classes count more in sets of rules, which are often scored by F1; as in the course of hlm2."""
    power = 0.75 if gold else 0.3  # what hlm2 does with gold
    if family not in ("rules", "topics"):
        return target
    share = target.sum(0) + 1
    share = share / share.sum()
    value = share**-power
    return target * value / (value * share).sum()


def to_tensors(s):
    ex, k = s["ex"], s["k"]
    rows = s["rows"].astype(np.int64)
    r, m = rows.shape
    node = np.where(rows >= 0, rows + np.arange(m) * k, m * k)
    size = (rows >= 0).sum(1)
    t = lambda a: torch.tensor(np.asarray(a), dtype=torch.float32)
    tables = torch.stack([t(x).view(m, k, k) for x in ex.tables])  # (e, m, k, k)
    shares = np.stack([(rows == v).sum(1) for v in range(k)], 1) / size[:, None]
    bag = [nn.functional.embedding_bag(torch.from_numpy(node), torch.cat([x.reshape(m * k, k), torch.zeros(1, k)]), mode="sum") for x in tables[:2]]
    bag[0] = bag[0] * t((size / ex.reference) ** ex.power)[:, None]
    alone = torch.stack([bag[i] + t(ex.biases[i]) for i in range(2)])
    return dict(alone=alone, k=k, m=m, node=torch.from_numpy(node), logsize=t(np.log(size / ex.reference)), tables=tables, biases=t(np.stack(ex.biases)),
                power=ex.power, vw=ex.vote_weight, shares=t(shares), of_set=t(ex.of_set), of_lf=t(ex.of_lf), cast=t(np.sqrt(ex.cast) / np.sqrt(ex.cast).sum()),
                vcast=t(ex.cast / ex.cast.sum()), target=t(weigh(s["target"], s["family"], s["gold"])), family=s["family"], gold=s["gold"])


def show(v):
    for f in sorted(v):
        print(f"   {f[0]:8}{'gold' if f[1] else '    '} acc {100*v[f][0]:.2f} loss {v[f][1]:.4f} brier {v[f][2]:.4f} hlm2 {v[f][3]:.2f} conf {100*v[f][4]:.2f}")


def export(gate, path, pairs, **metadata):
    arrays = {f"gate.{n}": p.detach().numpy().astype(np.float32) for n, p in gate.named_parameters()}
    arrays |= {n: a.astype(np.float32) for n, a in np.load(pairs).items()}
    save_file(arrays, path, {n: str(v) for n, v in metadata.items()})


def mean_loss(v):
    """Validation loss: every family and gold state counts once."""
    return float(np.mean([x[1] for x in v.values()]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="out/hlm3/sets"); parser.add_argument("--pairs", default="out/hlm3/pairs.npz"); parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0); parser.add_argument("--out", default="out/hlm3/run-0.safetensors"); parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--decay", type=float, default=1e-3); parser.add_argument("--caution", type=float, default=0.01); parser.add_argument("--either", type=float, default=0.5)
    parser.add_argument("--lr", type=float, default=3e-3); parser.add_argument("--batch", type=int, default=32)
    o = parser.parse_args()
    torch.set_num_threads(1); torch.manual_seed(o.seed)
    sets = [to_tensors(s) for f in sorted(glob.glob(f"{o.data}/*.pkl")) if "valid" not in f for s in pickle.load(open(f, "rb"))]
    valid = [to_tensors(s) for s in pickle.load(open(f"{o.data}/valid.pkl", "rb"))]
    print(len(sets), "sets", len(valid), "valid", flush=True)
    batches = group(valid, 64)
    gate = Gate(o.width)
    gate.set1.bias.data[:2] = -30
    base = validate_batches(gate, batches)
    print("hlm2 alone:", f"loss {mean_loss(base):.4f}"); show(base)
    gate = Gate(o.width); opt = torch.optim.AdamW(gate.parameters(), o.lr, weight_decay=o.decay)
    first, checkpoint = 0, pathlib.Path(o.out + ".checkpoint")
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        gate.load_state_dict(saved["gate"]); opt.load_state_dict(saved["opt"]); first = saved["step"]
        print("resumes at", first)
    t0, run, by_k = time.time(), [], {}
    for each in sets:
        by_k.setdefault(each["k"], []).append(each)
    for step in range(first, o.steps):
        for g in opt.param_groups: g["lr"] = float(o.lr * min(1, (step + 1) / 100) * 0.5 * (1 + np.cos(np.pi * step / o.steps)))
        rng = np.random.default_rng([o.seed, step])
        of_k = by_k[sets[rng.integers(len(sets))]["k"]]  # a batch has sets of one number of classes
        opt.zero_grad()
        loss = loss_batch(gate, Batch([of_k[i] for i in rng.integers(0, len(of_k), o.batch)]), o.caution, o.either)
        loss.backward()
        nn.utils.clip_grad_norm_(gate.parameters(), 1.0)
        opt.step(); run.append(loss.item())
        if (step + 1) % 500 == 0:
            v = validate_batches(gate, batches)
            print(f"{step+1} train {np.mean(run[-500:]):.4f} valid {mean_loss(v):.4f} acc {100*np.mean([x[0] for x in v.values()]):.2f} {time.time()-t0:.0f}s", flush=True)
            torch.save({"gate": gate.state_dict(), "opt": opt.state_dict(), "step": step + 1}, checkpoint)
    v = validate_batches(gate, batches)
    show(v)
    export(gate, o.out, o.pairs, valid_loss=mean_loss(v), sets=len(sets), recipe=vars(o))
    checkpoint.unlink(missing_ok=True)
