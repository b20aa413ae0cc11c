"""One model in many threads and processes, and with any number of BLAS threads: the same bits."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np

import hyperlabel as hl
from tests.campaign.hostile import Rng

THREADS = 16
BLAS = """
import numpy as np, sys, hyperlabel as hl
rng = np.random.default_rng(int(sys.argv[1]))
votes = rng.integers(-1, 3, (3000, 12))
shares = hl.label_model(sys.argv[2]).fit_predict_proba(votes)
sys.stdout.buffer.write(shares.tobytes())
"""


def label(task: tuple[hl.LabelModel, Any]) -> bytes:
    """The bits of the probabilities."""
    model, votes = task
    shares: Any = model.predict_proba(votes)
    return bytes(shares.tobytes())


def run_case(rng: Rng) -> None:
    """One model and some votes, labeled in every way at once."""
    votes = rng.integers(-1, 3, (int(rng.integers(10, 400)), 6))
    name = str(rng.choice(["hlm3", "hlm", "ds", "mv", "fs"]))
    model = hl.label_model(name)
    fitted = model.fitted_on(votes)
    for used in (model, fitted):
        expected, tasks = label((used, votes)), [(used, votes)] * (2 * THREADS)
        with ThreadPoolExecutor(THREADS) as pool:
            assert set(pool.map(label, tasks)) == {expected}, f"{name} in threads"
    way = rng.integers(20)
    if way < 2:
        context = multiprocessing.get_context(("fork", "spawn")[way])
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            assert set(pool.map(label, [(fitted, votes)] * 4)) == {label((fitted, votes))}, ("fork", "spawn")[way]
    elif way == 2:
        compare_blas(int(rng.integers(1000)), name)


def compare_blas(seed: int, name: str) -> None:
    """With one BLAS thread and with four."""
    command = [sys.executable, "-c", BLAS, str(seed), name]
    bits = []
    for threads in ("1", "4"):
        counts = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        bits.append(subprocess.run(command, capture_output=True, check=True, env={**os.environ, **counts}).stdout)
    one, four = (np.frombuffer(each) for each in bits)
    assert len(one)
    np.testing.assert_array_equal(one, four, err_msg=f"{name} with four BLAS threads")
