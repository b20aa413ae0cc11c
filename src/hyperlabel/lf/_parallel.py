"""Functions of a row in parallel: in threads for those that wait, in processes for those that compute.

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any, Self

from hyperlabel.errors import HyperlabelError, ParameterError
from hyperlabel.lf._define import CacheError, LabelingFunction
from hyperlabel.lf._items import Items, RowBatch, make_rows
from hyperlabel.lf._retries import Function, StoppedError
from hyperlabel.lf._run import CHUNK, Advance, Answer, answer_rows, chunks, prepare, run_rows

Count = Callable[[int, int], None]

CHUNKS_PER_JOB = 8
"""At least this many chunks per process, so that a process that is done early finds more to do."""


def run_threads(
    lfs: Sequence[LabelingFunction], items: Items, *, tolerant: bool, advance: Advance, threads: int, count: Count
) -> list[Answer]:
    """Run functions of a row, several rows at a time; otherwise like `run_rows`.

    Instead of `advance`, `count` is called after each call, with 1, and with 1 if it failed or else 0. Calls that have
    started are waited for before an error is raised; a chunk of rows ends with its slowest call.
    """
    caller = _ThreadedCaller(threads, count)
    return run_rows(lfs, items, tolerant=tolerant, call=caller, stopped=caller.stopped)


class _ThreadedCaller:
    """Calls a function on some rows in threads, as `call_each` does one by one."""

    def __init__(self, threads: int, count: Count) -> None:
        self.threads, self.count, self.stopped = threads, count, threading.Event()

    def __call__(self, function: Function, rows: list[Any], tolerant: bool) -> tuple[list[Any], dict[int, Exception]]:
        replies: list[Any] = [None] * len(rows)
        errors: dict[int, Exception] = {}
        fatal: list[BaseException] = []  # not the LF's: an interrupt, or a cache that fails
        waiting, lock = iter(range(len(rows))), threading.Lock()

        def work() -> None:
            while (row := self._next(waiting, lock)) is not None:
                try:
                    replies[row] = function(rows[row])
                except StoppedError:
                    return
                except BaseException as error:
                    if isinstance(error, CacheError) or not isinstance(error, Exception):
                        fatal.append(error)
                    else:
                        errors[row] = error
                    if fatal or not tolerant:
                        self.stopped.set()
                self.count(1, int(row in errors))

        self._run(work, min(self.threads, len(rows)))
        if fatal:
            raise fatal[0]
        return replies, errors

    def _next(self, waiting: Iterator[int], lock: threading.Lock) -> int | None:
        with lock:
            return None if self.stopped.is_set() else next(waiting, None)

    def _run(self, work: Callable[[], None], threads: int) -> None:
        if threads <= 1:
            return work()
        # Daemons: a call that never ends does not keep Python from exiting.
        workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        except BaseException:  # an interrupt: no more calls are made
            self.stopped.set()
            raise


def run_processes(
    lfs: Sequence[LabelingFunction], items: Items, *, jobs: int, tolerant: bool, advance: Advance
) -> list[Answer]:
    """Run functions of a row in `jobs` processes; otherwise like `run_rows`."""
    packed = pack(lfs)
    bounds = list(chunks(items.n, min(CHUNK, -(-max(items.n, 1) // (CHUNKS_PER_JOB * jobs)))))
    items.cut(0, 0)  # reads the columns once, before threads would all do so
    idle: SimpleQueue[Worker] = SimpleQueue()

    def run(bounds: tuple[int, int]) -> list[Answer]:
        worker = idle.get()
        try:
            return worker.run(bounds[0], items.cut(*bounds))
        finally:
            idle.put(worker)

    parts = []
    with ExitStack() as stack:
        for _ in range(min(jobs, len(bounds))):
            idle.put(stack.enter_context(Worker(packed, tolerant)))
        pool = stack.enter_context(ThreadPoolExecutor(idle.qsize()))
        for (start, stop), answers in zip(bounds, pool.map(run, bounds), strict=True):
            parts.append(answers)
            advance(stop - start)
    return [Answer.join(answers) for answers in zip(*parts, strict=True)]


class Worker:
    """A process that runs LFs, from `pack`, on the chunks it is sent; a failure may be an abstention (`tolerant`)."""

    def __init__(self, packed: bytes, tolerant: bool) -> None:
        # The LFs' own modules are found where this process finds them. The current folder comes last, if at all, so
        # that a file in it with the name of a package is not taken for the package.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        last = [os.getcwd()] if "" in sys.path else []
        program = f"import sys; from hyperlabel.lf._parallel import serve; sys.path += {last!r}; serve({os.getpid()})"
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._packed, self._tolerant = packed, tolerant

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def run(self, start: int, part: RowBatch) -> list[Answer]:
        """Return the answers of all LFs on some items; the first is row `start`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            message = self._packed, self._tolerant, start, part
            pickle.dump(message, self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            self._packed = b""  # LFs are sent once
            result = pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError) as error:
            raise HyperlabelError(
                f"a process that ran LFs ended with code {self.process.wait()} on rows {start} to "
                f"{start + part.n - 1}; run with jobs=1 to see which LF is the cause"
            ) from error
        if isinstance(result, HyperlabelError):
            raise result
        return result  # type: ignore[no-any-return]


def pack(lfs: Sequence[LabelingFunction]) -> bytes:
    """Pickle LFs for another process: by cloudpickle, which handles nearly every function, or else by pickle."""
    dumps: Callable[[object], bytes] = importlib.import_module("cloudpickle" if _has_cloudpickle() else "pickle").dumps
    try:
        return dumps(list(lfs))
    except Exception:
        for lf in lfs:
            try:
                dumps(lf)
            except Exception as error:
                raise ParameterError(
                    f"LF '{lf.name}' cannot be sent to another process ({type(error).__name__}: {error}); {_remedy()}"
                ) from error
        raise


def _has_cloudpickle() -> bool:
    return importlib.util.find_spec("cloudpickle") is not None


def _remedy() -> str:
    if _has_cloudpickle():
        return "make what cannot be pickled inside the function, or use jobs=1"
    return "run: pip install cloudpickle, or use jobs=1"


def serve(parent: int) -> None:
    """Run LFs on the chunks that arrive, until there are no more or the process `parent` is gone."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what LFs print goes to standard error, not among the answers
    functions: list[tuple[str, Function]] = []
    while True:
        try:
            packed, tolerant, start, part = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        result: list[Answer] | HyperlabelError
        try:
            functions = _unpack(packed) if packed else functions
            rows = make_rows(part)
            result = [answer_rows(name, function, rows, start, tolerant) for name, function in functions]
        except HyperlabelError as error:
            result = error
        pickle.dump(result, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _end_with(parent: int) -> None:
    """End this process with the one that started it: an LF may run forever, and nobody would be left to stop it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _unpack(packed: bytes) -> list[tuple[str, Function]]:
    try:
        return [(lf.name, prepare(lf)) for lf in pickle.loads(packed)]
    except HyperlabelError:
        raise
    except Exception as error:
        raise ParameterError(
            f"the LFs could not be loaded in another process ({type(error).__name__}: {error}); {_remedy()}"
        ) from error
