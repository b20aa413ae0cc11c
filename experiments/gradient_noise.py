"""How noisy is the gradient of a batch: the paper's 50 matrices with one label vector each, or fewer with averages?

Cross-entropy is linear in its target, so averaging valid label vectors leaves the expected gradient as it is. What
it does to the noise is measured here: the variance of the gradient over batches, averaged over all parameters, at
the start of training and after some hundred and some thousand steps, relative to the paper's batch.

    python experiments/gradient_noise.py --out training/gradient_noise.md
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from hyperlabel.training import Recipe, Run, UniformPrior, backward_tasks

BATCHES = ((50, 0), (8, 64), (4, 128), (3, 192), (2, 256), (2, 1024))
POINTS = (0, 500, 3000)
CPU = torch.device("cpu")
REACH = Recipe(
    widths=(8, 8, 8, 32), iterations=50_000, batch=4, candidates=128, max_cells=120_000, schedule="constant", lr=0.001,
    log_every=500, validation_sets=2,
)  # fmt: skip


def gradients(net: torch.nn.Module, matrices: int, candidates: int, total: int) -> tuple[np.ndarray, float]:
    """Gradients of independent batches (batches, parameters), `total` matrices in all, and CPU seconds per batch."""
    repeats = total // matrices
    prior, rng, drawn = UniformPrior(max_cells=120_000, candidates=candidates), np.random.default_rng([matrices]), []
    start = time.process_time()
    for _ in range(repeats):
        net.zero_grad()
        backward_tasks(net, [prior.sample(rng) for _ in range(matrices)], CPU)
        drawn.append(torch.cat([p.grad.ravel() for p in net.parameters() if p.grad is not None]).numpy().copy())
    return np.stack(drawn), (time.process_time() - start) / repeats


def table(seed: int, total: int) -> list[str]:
    """The lines of the table."""
    lines = ["| steps | batch | variance | share of the paper's | squared signal | ms per batch |"]
    lines.append("|---|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        run = Run(replace(REACH, seed=seed), 0, Path(folder), CPU, resume=False)
        for point in POINTS:
            run.train(until=point) if point else None
            paper = None
            for matrices, candidates in BATCHES:
                drawn, seconds = gradients(run.net, matrices, candidates, total)
                variance, signal = float(drawn.var(0, ddof=1).mean()), float((drawn.mean(0) ** 2).mean())
                paper = paper or variance
                name = f"{matrices} x {candidates} candidates" if candidates else f"{matrices} x 1 y (paper)"
                cells = (
                    point,
                    name,
                    f"{variance:.2e}",
                    f"{variance / paper:.2f}",
                    f"{signal:.1e}",
                    f"{seconds * 1e3:.0f}",
                )
                lines.append("| " + " | ".join(map(str, cells)) + " |")
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--matrices", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    title = "# Noise of the gradient by batch\n\nVariance over batches, averaged over the parameters of 8-8-8-32"
    head = f"{title} ({options.matrices} matrices per batch size; `python experiments/gradient_noise.py`).\n"
    options.out.write_text("\n".join([head, *table(options.seed, options.matrices)]) + "\n")


if __name__ == "__main__":
    main()
