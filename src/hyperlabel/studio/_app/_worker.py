"""Running LFs that can be stopped: Python functions of a row run in a separate process."""

import threading

from hyperlabel.errors import HyperlabelError
from hyperlabel.lf import (
    Advance,
    Answer,
    ColumnFunction,
    Items,
    LabelingFunction,
    PromptFunction,
    ValueFunction,
    Worker,
    chunks,
    pack,
)
from hyperlabel.studio._project import run_here

_CHUNK = 2_000  # rows between two reports of progress


class LFStoppedError(HyperlabelError):
    """An LF was stopped by the user."""


class StoppableRun:
    """Runs one LF at a time; `stop` ends it from another thread, even in an endless loop.

    Attributes:
        lf: Name of the LF that is running; None if there is none.
        done: Rows done.
        total: Rows in total.
    """

    def __init__(self) -> None:
        self.lf: str | None = None
        self.done = self.total = 0
        self._worker: Worker | None = None
        self._stopped = threading.Event()

    def __call__(self, lf: LabelingFunction, items: Items, advance: Advance) -> Answer:
        """Run an LF; ready-made ones and those of whole columns are fast and run in this process."""
        if isinstance(lf, ValueFunction | ColumnFunction):
            return run_here(lf, items, advance)
        self.lf, self.done, self.total = lf.name, 0, items.n
        self._stopped.clear()
        try:
            return self._run(lf, items, advance)
        except HyperlabelError as error:
            if self._stopped.is_set():
                message = f"LF '{lf.name}' was stopped after {self.done:,} rows; nothing was changed"
                raise LFStoppedError(message) from error
            raise
        finally:
            self.lf = self._worker = None

    def _run(self, lf: LabelingFunction, items: Items, advance: Advance) -> Answer:
        answers = []
        with Worker(pack([lf]), tolerant=False) as self._worker:
            for start, stop in chunks(items.n, _CHUNK):
                if self._stopped.is_set():
                    raise HyperlabelError("stopped")
                (answer,) = self._worker.run(start, items.cut(start, stop))
                answers.append(answer)
                self.done = stop
                advance(stop - start)
        answer = Answer.join(answers)
        return answer.read_by(lf) if isinstance(lf, PromptFunction) else answer

    def stop(self) -> None:
        """Stop the LF that is running, if there is one."""
        worker = self._worker
        if self.lf is not None:
            self._stopped.set()
        if worker is not None:
            worker.process.kill()
