"""Kills: at every call to the file system, and at random times, of everything that is written.

A child is forked, writes, and is killed (or interrupted, or meets a full disk) before the k-th call that Python's audit
hooks see. Afterwards the old result or the new one stands, whole; the next run leaves nothing else.
"""

import errno
import hashlib
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow  # noqa: F401  loaded once, before forks

import hyperlabel as hl
from hyperlabel import engines
from hyperlabel.data import write_table, write_whole
from tests.campaign.hostile import Rng

EVENTS = {
    "open",
    "os.rename",
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.chmod",
    "os.truncate",
    "os.listdir",
    "os.scandir",
    "shutil.rmtree",
    "fcntl.flock",
    "os.link",
    "os.symlink",
}
CELLS = np.random.default_rng(0).integers(-1, 3, (400, 4))
os.environ["SOURCE_DATE_EPOCH"] = "0"  # results are compared byte by byte, and labels.parquet tells the time
WAYS = ("kill", "interrupt", "full", "time", "limit")


def frame() -> Any:
    """Rows to write."""
    return pl.DataFrame({f"lf{j}": CELLS[:, j] for j in range(4)})


@cache
def fitted() -> hl.LabelModel:
    """A model to write."""
    return hl.label_model("ds").fit(CELLS)


@cache
def classifier() -> hl.Classifier:
    """A classifier to write."""
    return hl.Classifier().fit(CELLS[:40], np.eye(2)[np.arange(40) % 2])


@cache
def page() -> Any:
    """A report to write."""
    return hl.report(CELLS[:40])


@cache
def training() -> tuple[Any, ...]:
    """What a checkpoint holds."""
    import torch

    from hyperlabel.training import Recipe
    from hyperlabel.training._loop import RunProgress

    net = torch.nn.Linear(3, 3)
    with torch.no_grad():
        net.weight.fill_(0.5)
        net.bias.fill_(0.5)
    return Recipe(), RunProgress(), net, torch.optim.Adam(net.parameters())


def write_checkpoint(path: Path) -> None:
    """As training does."""
    from hyperlabel.training._loop import save_checkpoint

    save_checkpoint(path, *training())


def write_folder(path: Path) -> None:
    """As Spark and Dask do: a folder of several files."""

    def write(part: Path) -> None:
        part.mkdir()
        for number in range(3):
            (part / f"part-{number}.parquet").write_bytes(CELLS[number].tobytes() * 500)

    write_whole(path, write)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "model.safetensors": lambda path: fitted().save(path),
    "patterns.safetensors": lambda path: hl.Patterns.from_votes(hl.Votes.from_array(CELLS)).save(path),
    "weights.safetensors": lambda path: hl.HyperLabelModel("hlm").fit(CELLS[:4]).weights_.save(path),
    "table.csv": lambda path: write_table(frame(), path),
    "table.parquet": lambda path: write_table(frame(), path),
    "table.jsonl": lambda path: write_table(frame(), path),
    "table.arrow": lambda path: write_table(frame(), path),
    "table.csv.gz": lambda path: write_table(frame(), path),
    "votes.parquet": lambda path: hl.Votes.from_array(CELLS).save(path),
    "labels.parquet": lambda path: engines.label(frame(), out=path),
    "folder.parquet": write_folder,
    "classifier.safetensors": lambda path: classifier().save(path),
    "report.html": lambda path: page().save(path),
    "checkpoint.safetensors": write_checkpoint,
}
MAKERS = {"classifier.safetensors": classifier, "report.html": page, "checkpoint.safetensors": training}
"""What takes long is made once, before forks."""


def fork(work: Callable[[], None], seconds: float | None = None) -> int:
    """Run in a forked child, killed after some time if any is given; returns how it ended."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            work()
            status = 0
        except KeyboardInterrupt:
            status = 130
        except hl.HyperlabelError:
            status = 2
        finally:
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def digest(path: Path) -> str | None:
    """What stands there, file or folder; None for nothing."""
    if path.is_dir():
        return " ".join(f"{each.name}:{digest(each)}" for each in sorted(path.iterdir()))
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def takes_room(event: str, arguments: Any) -> bool:
    """Whether a call could find the disk full: removing and reading cannot."""
    if event == "open":
        return bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in ("os.mkdir", "os.rename", "os.link")


def at_event(number: int, way: str) -> None:
    """Let something happen before the k-th call from now on."""
    left = number

    def hook(event: str, arguments: Any) -> None:
        nonlocal left
        if event not in EVENTS or (way == "full" and not takes_room(event, arguments)):
            return
        left -= 1
        if left == 0:
            if way == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt if way == "interrupt" else OSError(errno.ENOSPC, "No space left on device")

    sys.addaudithook(hook)


def run_case(rng: Rng) -> None:
    """One writer that is stopped somewhere, and then run again."""
    name = list(WRITERS)[rng.integers(len(WRITERS))]
    MAKERS.get(name, fitted)()
    folder = Path(f"case-{os.getpid()}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / name
    has_old = bool(rng.integers(2))
    if has_old:
        make_old(path)
    before, way, number = digest(path), str(rng.choice(WAYS)), int(rng.integers(1, 40))

    def work() -> None:
        if way in ("kill", "interrupt", "full"):
            at_event(number, way)
        elif way == "limit":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
        WRITERS[name](path)

    ended = fork(work, float(rng.random() * 0.05) if way == "time" else None)
    after = digest(path)
    assert ended in (0, 2, 130, -signal.SIGKILL), (name, way, number, ended)
    whole = whole_result(name)
    is_aside = after is None and name.startswith("folder") and ended == -signal.SIGKILL  # until the next run
    assert is_aside or after in (before, whole), f"{name}, {way} {number}: neither the old result nor the new one"
    if ended in (2, 130):
        left = sorted(each.name for each in folder.iterdir() if each.name != name)
        assert not left, f"{name}, {way} {number}: {left} was left behind"
    assert fork(lambda: WRITERS[name](path)) == 0, f"{name}, {way} {number}: the next run fails"
    assert digest(path) == whole, f"{name}, {way} {number}: the next run writes something else"
    left = sorted(each.name for each in folder.iterdir() if each.name != name)
    assert not left, f"{name}, {way} {number}: the next run leaves {left}"


@cache
def whole_result(name: str) -> str | None:
    """What a writer writes when nobody stops it."""
    Path("whole").mkdir(exist_ok=True)
    assert fork(lambda: WRITERS[name](Path("whole", name))) == 0
    return digest(Path("whole", name))


def make_old(path: Path) -> None:
    """An older result."""
    if path.name.startswith("folder"):
        path.mkdir()
        (path / "part-0.parquet").write_bytes(b"old")
    else:
        path.write_bytes(b"old")
