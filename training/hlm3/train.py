"""Train everything that hlm3 learns, by one command; what exists in the folder is kept, so a stopped run resumes.

    python -m training.hlm3.train --out out/hlm3 --runs 6

Stages: the pair network; synthetic sets read by all readings (shards); the gate, several runs (each resumes from its last
checkpoint), of which the one with the least synthetic validation loss is exported; the trust in a stated class balance.
"""
import argparse, pathlib, subprocess, sys
import numpy as np


def stage(target, *command):
    if pathlib.Path(target).exists():
        print("kept", target)
        return
    print("making", target, flush=True)
    subprocess.run([sys.executable, "-m", *map(str, command)], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/hlm3")); parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--shards", type=int, default=3); parser.add_argument("--sets", type=int, default=5000); parser.add_argument("--steps", type=int, default=3000)
    o = parser.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    stage(o.out / "pairs.npz", "training.hlm3.train_pairs", "--sets", 6000, "--out", o.out / "pairs.npz")
    stage(o.out / "sets/valid.pkl", "training.hlm3.prepare", "--sets", 1500, "--seed", 5000, "--name", "valid", "--out", o.out / "sets", "--pairs", o.out / "pairs.npz")
    for s in range(1, o.shards + 1):
        stage(o.out / f"sets/{s}.pkl", "training.hlm3.prepare", "--sets", o.sets, "--seed", s, "--out", o.out / "sets", "--pairs", o.out / "pairs.npz")
    stage(o.out / "sets/many.pkl", "training.hlm3.prepare", "--many", "--sets", 2500, "--seed", 900, "--name", "many", "--out", o.out / "sets", "--pairs", o.out / "pairs.npz")
    for run in range(o.runs):
        stage(o.out / f"run-{run}.safetensors", "training.hlm3.train_gate", "--data", o.out / "sets", "--pairs", o.out / "pairs.npz", "--seed", run, "--steps", o.steps, "--out", o.out / f"run-{run}.safetensors")
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
    losses = []
    for run in range(o.runs):
        with safe_open(o.out / f"run-{run}.safetensors", "np") as f:
            losses.append(float(f.metadata()["valid_loss"]))
    best = int(np.argmin(losses))
    print("validation losses", losses, "best run", best)
    chosen = o.out / f"run-{best}.safetensors"
    stage(o.out / "balance.npz", "training.hlm3.balance", "--weights", chosen, "--sets", 1000, "--out", o.out / "balance.npz")
    more = {"balance.trust": np.load(o.out / "balance.npz")["theta"]}
    with safe_open(chosen, "np") as f:
        metadata = f.metadata() | {"run": str(best), "losses": str(losses)}
    save_file(load_file(chosen) | {n: a.astype(np.float32) for n, a in more.items()}, o.out / "hlm3.safetensors", metadata)
