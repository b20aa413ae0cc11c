"""Spark and Dask: the same rows as memory, also where workers are killed while they work. Long form only."""

import os
import signal
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hyperlabel as hl
from tests.campaign import engines
from tests.campaign.hostile import Rng
from tests.engines_fixtures import start_spark

ROWS = 200_000
CASE_SECONDS = 600  # a session starts, and a worker that was killed starts again


@cache
def dask_workers() -> Any:
    """Two workers in processes of their own, which are started again when they die."""
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    )
    return distributed.Client(cluster)


@cache
def spark() -> Any:
    """A session that tries again what a killed worker left."""
    return start_spark("local[2,4]", {"spark.task.maxFailures": "4"})


def run_case(rng: Rng) -> None:
    """A small table compared with memory, or a large one in which a worker is killed."""
    engine = str(rng.choice(["dask", "spark"]))
    (dask_workers if engine == "dask" else spark)()
    if rng.random() < 0.5:
        engines.run_case(rng, (engine,))
    else:
        kill_a_worker(engine, rng)


def kill_a_worker(engine: str, rng: Rng) -> None:
    """The result is whole, or it is one error and the old result stands."""
    cells = rng.integers(-1, 3, (ROWS, 4))
    Path("large").mkdir(exist_ok=True)
    for number, part in enumerate(np.array_split(cells, 4)):
        frame = pl.DataFrame({f"lf{j}": part[:, j] for j in range(4)})
        frame.write_parquet(f"large/{number}.parquet")
    out = Path("killed.parquet")
    out.mkdir(exist_ok=True)
    (out / "old.parquet").write_bytes(b"old")
    killer = threading.Timer(float(rng.random() * 4), lambda: kill_one(engine, rng))
    killer.start()
    try:
        hl.engines.label("large", model="mv", engine=engine, out=out)
    except hl.HyperlabelError:
        assert [each.name for each in out.iterdir()] == ["old.parquet"], "neither the old result nor the new one"
    else:
        assert len(pl.read_parquet(f"{out}/*.parquet")) == ROWS
    finally:
        killer.cancel()
        killer.join()
    left = [each.name for each in Path().iterdir() if each.name.endswith(".part")]
    assert not left, f"{left} was left behind"
    for each in out.iterdir():
        each.unlink()


def kill_one(engine: str, rng: Rng) -> None:
    """Kill one of our own workers."""
    pids = workers_of(engine)
    if pids:
        os.kill(int(rng.choice(pids)), signal.SIGKILL)


def workers_of(engine: str) -> list[int]:
    """Processes that descend from this one and do its work."""
    if engine == "dask":
        return [worker.process.process.pid for worker in dask_workers().cluster.workers.values() if worker.process]
    found, parents = [], {os.getpid()}
    for _ in range(4):  # this process, its JVM, its daemon, the daemon's workers
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(entry.read_text().rsplit(")", 1)[1].split()[1])
                command = (entry.parent / "cmdline").read_text()
            except OSError:
                continue
            pid = int(entry.parent.name)
            if parent in parents and pid not in parents:
                parents.add(pid)
                found += [pid] if "pyspark.daemon" in command else []
    return found
