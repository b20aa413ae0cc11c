"""Functions of a row that wait for another service, in threads; each result counts as soon as it arrives."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from hyperlabel.lf.define import CacheError, LabelingFunction
from hyperlabel.lf.items import Items
from hyperlabel.lf.patience import StoppedError
from hyperlabel.lf.run import Advance, Answer, as_lf_error, describe_failure, run_rows


def run_calls(
    lfs: Sequence[LabelingFunction],
    items: Items,
    *,
    tolerant: bool,
    advance: Advance = lambda rows: None,
    threads: int = 1,
    tell: Callable[[int, int], None] = lambda done, failed: None,
) -> list[Answer]:
    """Run functions of a row, several rows at a time; otherwise like `run_rows`.

    Instead of `advance`, `tell` is called after each call, with 1, and with 1 if it failed or else 0. Calls that have
    started are waited for before an error is raised; a chunk of rows ends with its slowest call.

    >>> from hyperlabel.lf.items import read_items
    >>> lf = LabelingFunction("loud", lambda x: 1 if x.isupper() else -1)
    >>> run_calls([lf], read_items(["HELLO", "hello"]), tolerant=False, threads=2)[0].codes.tolist()
    [0, 1]
    """
    stopped = threading.Event()

    def answer(name: str, function: Callable[[Any], Any], rows: list[Any], start: int, tolerant: bool) -> Answer:
        calls = _Calls(function, rows, tolerant, tell, stopped)
        calls.run(threads)
        return calls.answer(name, start)

    return run_rows(lfs, items, tolerant=tolerant, answer=answer, stopped=stopped)


class _Calls:
    """One function on some rows."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        rows: list[Any],
        tolerant: bool,
        tell: Callable[[int, int], None],
        stopped: threading.Event,
    ) -> None:
        self.function, self.rows, self.tolerant, self.tell, self.stopped = function, rows, tolerant, tell, stopped
        self.said: list[Any] = [None] * len(rows)
        self.errors: dict[int, Exception] = {}
        self.ended: BaseException | None = None  # not an error of an LF: an interrupt, or a cache that fails
        self._waiting = iter(range(len(rows)))
        self._lock = threading.Lock()

    def run(self, threads: int) -> None:
        """Call the function on all rows."""
        if threads == 1:
            return self._work()
        # Daemons: a call that never ends does not keep Python from exiting.
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(min(threads, len(self.rows)))]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        except BaseException:  # an interrupt: no more calls are made
            self.stopped.set()
            raise

    def _work(self) -> None:
        while (row := self._next()) is not None:
            failed = 0
            try:
                self.said[row] = self.function(self.rows[row])
            except StoppedError:
                return
            except CacheError as error:
                self._end(error)
            except Exception as error:
                failed = 1
                self._fail(row, error)
            except BaseException as error:
                self._end(error)
            self.tell(1, failed)

    def _next(self) -> int | None:
        with self._lock:
            return None if self.stopped.is_set() else next(self._waiting, None)

    def _fail(self, row: int, error: Exception) -> None:
        with self._lock:
            self.errors[row] = error
        if not self.tolerant:
            self.stopped.set()

    def _end(self, error: BaseException) -> None:
        self.ended = error
        self.stopped.set()

    def answer(self, name: str, start: int) -> Answer:
        """The answer of the LF; rows are counted from `start`."""
        if self.ended is not None:
            raise self.ended
        first = min(self.errors, default=0)
        if self.errors and not self.tolerant:
            error = self.errors[first]
            raise as_lf_error(name, start + first, self.rows[first], error) from error
        failure = describe_failure(start + first, self.errors[first]) if self.errors else ""
        return Answer.from_votes(name, self.said, start, len(self.errors), failure)
