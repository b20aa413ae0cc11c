"""Spark and Dask: the same rows as memory, also where workers are killed while they work. Long form only.

Both are clusters of this machine alone, with two workers in processes of their own. A worker is killed one to three
times, each time at the first moment with tasks under way after one drawn from the time that the same work took when
nobody was killed. A case returns how many kills there were, and how many of them surely hit a worker with a task.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hyperlabel as hl
from tests.campaign import engines
from tests.campaign.hostile import Rng
from tests.engines_fixtures import start_spark

ROWS, FILES = 60_000, 6
CASE_SECONDS = 300  # a cluster starts, and a worker that was killed starts again
MODELS = ("mv", "ds", "hlm3")
SPARK = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "600m",
    "spark.task.maxFailures": "3",
    "spark.deploy.maxExecutorRetries": "-1",  # executors are started again, however often they are killed
    "spark.shuffle.io.maxRetries": "1",  # nobody answers in place of an executor that was killed
    "spark.shuffle.io.retryWait": "500ms",
    "spark.network.timeout": "60s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "5s",
}


@cache
def dask_workers() -> Any:
    """Two workers, which are started again when they die."""
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    )
    return distributed.Client(cluster)


@cache
def spark() -> Any:
    """A master and two executors, each a process; what they write beside results is in this folder."""
    import pyspark

    home = Path("spark").resolve()
    home.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        (home / each.name).symlink_to(each)
    os.environ["SPARK_HOME"] = str(home)  # where workers keep their logs
    session = start_spark("local-cluster[2,1,700]", SPARK)
    session.sparkContext.setLogLevel("OFF")
    return session


CLUSTERS: dict[str, Callable[[], Any]] = {"dask": dask_workers, "spark": spark}


def run_case(rng: Rng) -> Counter[str]:
    """A small table compared with memory, or a larger one in which workers are killed."""
    engine = str(rng.choice(list(CLUSTERS)))
    CLUSTERS[engine]()
    if rng.random() < 0.3:
        engines.run_case(rng, (engine,))
        return Counter()
    return kill_workers(engine, str(rng.choice(MODELS)), rng)


@cache
def votes() -> pl.DataFrame:
    """Rows in several files, enough for every worker; returned with the number of each row."""
    cells = np.random.default_rng(0).integers(-1, 3, (ROWS, 6))
    frame = pl.DataFrame({"row": range(ROWS), **{f"lf{j}": cells[:, j] for j in range(6)}})
    Path("large").mkdir()
    for number, part in enumerate(frame.iter_slices(ROWS // FILES)):
        part.write_parquet(f"large/{number}.parquet")
    return frame


@cache
def undisturbed(engine: str, model: str) -> tuple[float, list[Any]]:
    """Seconds that the work takes when nobody is killed, the second time, and the labels."""
    votes()
    for _ in range(2):
        started, out = time.monotonic(), Path(f"{engine}-{model}.parquet")
        label(engine, model, out)
    return time.monotonic() - started, labels_in(out)


def label(engine: str, model: str, out: Path) -> None:
    """The work, by rows of the files and not by patterns alone."""
    hl.engines.label("large", model=model, engine=engine, out=out, lfs=[f"lf{j}" for j in range(6)])


def labels_in(out: Path) -> list[Any]:
    """The labels of a result, in the order of rows."""
    return pl.read_parquet(f"{out}/*.parquet").sort("row")["label"].to_list()


def kill_workers(engine: str, model: str, rng: Rng) -> Counter[str]:
    """The result is whole, or it is one error and the old result stands. -> kills, and those that hit a task."""
    seconds, expected = undisturbed(engine, model)
    if engine == "dask":
        prepare_dask(rng)
    out = Path("killed.parquet")
    out.mkdir(exist_ok=True)
    (out / "old.parquet").write_bytes(b"old")
    times = rng.random(rng.integers(1, 4)) * seconds
    counts, done = Counter[str](), threading.Event()
    killers = [threading.Thread(target=kill_busy, args=(engine, rng, after, done, counts)) for after in times]
    for killer in killers:
        killer.start()
    try:
        label(engine, model, out)
    except hl.HyperlabelError:
        assert [each.name for each in out.iterdir()] == ["old.parquet"], "neither the old result nor the new one"
    else:
        assert labels_in(out) == expected
    finally:
        done.set()
        for killer in killers:
            killer.join()
    left = [each.name for each in Path().iterdir() if each.name.endswith(".part")]
    assert not left, f"{left} was left behind"
    for each in out.iterdir():
        each.unlink()
    return counts


def prepare_dask(rng: Rng) -> None:
    """Two workers, and a number of them that work may lose before it is given up; none is an error at once."""
    import distributed

    if len(workers_of("dask")) < 2:  # one that was killed while it started is not started again
        old = distributed.default_client()
        old.close()
        old.cluster.close()
        dask_workers.cache_clear()
    dask_workers().cluster.scheduler.allowed_failures = int(rng.integers(3))


def kill_busy(engine: str, rng: Rng, after: float, done: threading.Event, counts: Counter[str]) -> None:
    """Kill one of our own workers as soon as one has a task, some time after the start; none once the work is done."""
    done.wait(after)
    while not done.is_set():
        busy, idle = (busy_on_dask if engine == "dask" else busy_on_spark)()
        if busy:
            hits = rng.random() < 0.9 or not idle
            os.kill(int(rng.choice(busy if hits else idle)), signal.SIGKILL)
            counts.update(kills=1, hits=int(hits))
            return
        done.wait(0.003)


def busy_on_dask() -> tuple[list[int], list[int]]:
    """The workers with tasks, and those without."""
    client = dask_workers()
    tasks, nannies = client.processing(), client.cluster.workers.values()
    running = [nanny for nanny in nannies if nanny.process is not None and nanny.process.process is not None]
    pids = {nanny.process.process.pid: bool(tasks.get(nanny.worker_address)) for nanny in running}
    return [pid for pid, busy in pids.items() if busy], [pid for pid, busy in pids.items() if not busy]


def busy_on_spark() -> tuple[list[int], list[int]]:
    """The executors if all have tasks, and the daemons of Python, which may have none; nobody if an executor rests."""
    tracker = spark().sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    if sum(stage.numActiveTasks for stage in stages if stage is not None) < 2:
        return [], []
    pids = workers_of("spark")
    executors = [pid for pid in pids if "ExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_text()]
    return executors, [pid for pid in pids if pid not in executors]


def workers_of(engine: str) -> list[int]:
    """Processes that descend from this one and do its work."""
    if engine == "dask":
        return [pid for pids in busy_on_dask() for pid in pids]
    found, parents = [], {os.getpid()}
    for _ in range(5):  # this process, its JVM, the executors, their daemons, the daemons' workers
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(entry.read_text().rsplit(")", 1)[1].split()[1])
                command = (entry.parent / "cmdline").read_text()
            except (OSError, UnicodeDecodeError):
                continue
            pid = int(entry.parent.name)
            if parent in parents and pid not in parents:
                parents.add(pid)
                found += [pid] if "pyspark.daemon" in command or "ExecutorBackend" in command else []
    return found
