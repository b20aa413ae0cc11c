"""Functions of a row in parallel processes.

Each process is a fresh interpreter that gets the LFs once and then chunks of items: it does not run the user's
script again, so scripts need no guard, and it inherits no threads or locks.
"""

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from hyperlabel.errors import HyperlabelError, ParameterError
from hyperlabel.lf.define import LabelingFunction
from hyperlabel.lf.items import Items, Parcel, make_rows
from hyperlabel.lf.run import CHUNK, Advance, Answer, answer_each, chunks, prepare

CHUNKS_PER_JOB = 8
"""At least this many chunks per process, so that a process that is done early finds more to do."""


def run_jobs(
    lfs: Sequence[LabelingFunction], items: Items, *, jobs: int, tolerant: bool, advance: Advance
) -> list[Answer]:
    """Run functions of a row in `jobs` processes; otherwise like `run_rows`."""
    packed = pack(lfs)
    bounds = list(chunks(items.n, min(CHUNK, -(-max(items.n, 1) // (CHUNKS_PER_JOB * jobs)))))
    items.cut(0, 0)  # reads the columns once, before threads would all do so
    parts = []
    with ExitStack() as stack:
        workers: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(min(jobs, len(bounds))):
            workers.put(stack.enter_context(Worker(packed, tolerant)))
        pool = stack.enter_context(ThreadPoolExecutor(workers.qsize()))
        for (start, stop), answers in zip(bounds, pool.map(_with_one_of(workers, items), bounds), strict=True):
            parts.append(answers)
            advance(stop - start)
    return [Answer.join(answers) for answers in zip(*parts, strict=True)]


def _with_one_of(workers: "SimpleQueue[Worker]", items: Items) -> Callable[[tuple[int, int]], list[Answer]]:
    """A function that runs a chunk in whichever worker is idle."""

    def run(bounds: tuple[int, int]) -> list[Answer]:
        worker = workers.get()
        try:
            return worker.run(bounds[0], items.cut(*bounds))
        finally:
            workers.put(worker)

    return run


class Worker:
    """A process that runs LFs, from `pack`, on the chunks it is sent; a failure may be an abstention (`tolerant`)."""

    def __init__(self, packed: bytes, tolerant: bool) -> None:
        # The LFs' own modules are found where this process finds them. The current folder comes last, if at all, so
        # that a file in it with the name of a package is not taken for the package.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        last = [os.getcwd()] if "" in sys.path else []
        program = f"import sys; from hyperlabel.lf.jobs import serve; sys.path += {last!r}; serve({os.getpid()})"
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self.first: tuple[bytes, bool] | None = (packed, tolerant)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def run(self, start: int, part: Parcel) -> list[Answer]:
        """The answers of all LFs on some items; the first is row `start`."""
        try:
            if self.first is not None:
                self._send(self.first)
                self.first = None
            self._send((start, part))
            result = pickle.load(self.process.stdout)  # type: ignore[arg-type]
        except (EOFError, BrokenPipeError) as error:
            raise HyperlabelError(
                f"a process that ran LFs ended with code {self.process.wait()} on rows {start} to "
                f"{start + part.n - 1}; run with jobs=1 to see which LF is the cause"
            ) from error
        if isinstance(result, HyperlabelError):
            raise result
        return result  # type: ignore[no-any-return]

    def _send(self, message: object) -> None:
        assert self.process.stdin is not None
        pickle.dump(message, self.process.stdin, pickle.HIGHEST_PROTOCOL)
        self.process.stdin.flush()


def pack(lfs: Sequence[LabelingFunction]) -> bytes:
    """LFs as bytes for another process: by cloudpickle, which handles nearly every function, or else by pickle."""
    try:
        return _dumps()(list(lfs))
    except Exception:
        for lf in lfs:
            _check_packs(lf)
        raise


def _check_packs(lf: LabelingFunction) -> None:
    try:
        _dumps()(lf)
    except Exception as error:
        raise ParameterError(
            f"LF '{lf.name}' cannot be sent to another process ({type(error).__name__}: {error}); {_remedy()}"
        ) from error


def _remedy() -> str:
    if importlib.util.find_spec("cloudpickle"):
        return "make what cannot be pickled inside the function, or use jobs=1"
    return "run: pip install cloudpickle, or use jobs=1"


def _dumps() -> Callable[[object], bytes]:
    if importlib.util.find_spec("cloudpickle"):
        return importlib.import_module("cloudpickle").dumps  # type: ignore[no-any-return]
    return pickle.dumps


def serve(parent: int) -> None:
    """The loop of a worker: LFs first, then chunks, until there are no more or the process `parent` is gone."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what LFs print goes to standard error, not among the answers
    packed, tolerant = pickle.load(sys.stdin.buffer)
    functions = _unpack(packed)
    while True:
        try:
            start, part = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_answer(functions, start, part, tolerant), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _end_with(parent: int) -> None:
    """End this process with the one that started it: an LF may run forever, and nobody would be left to stop it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _unpack(packed: bytes) -> list[tuple[str, Callable[[Any], Any]]] | HyperlabelError:
    try:
        return [(lf.name, prepare(lf)) for lf in pickle.loads(packed)]
    except HyperlabelError as error:
        return error
    except Exception as error:
        return ParameterError(
            f"the LFs could not be loaded in another process ({type(error).__name__}: {error}); {_remedy()}"
        )


def _answer(
    functions: list[tuple[str, Callable[[Any], Any]]] | HyperlabelError, start: int, part: Parcel, tolerant: bool
) -> list[Answer] | HyperlabelError:
    if isinstance(functions, HyperlabelError):
        return functions
    rows = make_rows(part)
    try:
        return [answer_each(name, function, rows, start, tolerant) for name, function in functions]
    except HyperlabelError as error:
        return error
