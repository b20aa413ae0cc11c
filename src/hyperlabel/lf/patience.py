"""How to call an LF that may be slow or fail: a timeout, a rate, and retries with growing pauses."""

import asyncio
import functools
import inspect
import math
import os
import random
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from hyperlabel.errors import ParameterError
from hyperlabel.shown import show

Function = Callable[[Any], Any]

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before the second try, and at most


class StoppedError(Exception):
    """The run was stopped while a call waited for its turn or its next try."""


@dataclass(frozen=True)
class Patience:
    """How an LF is called."""

    # Seconds that a call may take; a longer call fails with TimeoutError; None for no limit.
    timeout: float | None = None
    rate: float | None = None  # calls that may start per second, over all threads; None for no limit
    retry: tuple[type[Exception], ...] = ()  # the exceptions after which a call is tried again
    tries: int = 5  # the maximum number of tries

    @classmethod
    def state(cls, name: str, timeout: Any, rate: Any, retry: Any, tries: Any) -> "Patience":
        """The checked arguments of an LF."""
        listed = tuple(retry) if isinstance(retry, tuple | list) else (retry,)
        if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in listed):
            raise ParameterError(f"LF '{name}': retry is {show(retry)}; expected an exception class, or several")
        if not isinstance(tries, int) or isinstance(tries, bool) or tries < 1:
            raise ParameterError(f"LF '{name}': tries is {show(tries)}; expected a whole number, at least 1")
        seconds = check_positive(name, "timeout", timeout, "a number of seconds")
        return cls(seconds, check_positive(name, "rate", rate, "a number of calls per second"), listed, tries)


def check_positive(name: str, argument: str, value: Any, expected: str) -> float | None:
    """Check that an argument of an LF is a number above 0, or None."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf):
        return value
    raise ParameterError(f"LF '{name}': {argument} is {show(value)}; expected {expected} above 0, or None")


def call_patiently(function: Function, patience: Patience, stopped: threading.Event | None = None) -> Function:
    """A function of a row that keeps to a rate and is tried again; `within` or `in_loop` keep the timeout.

    `stopped` is set when nobody waits for the result anymore.

    >>> answers = iter([ConnectionError(), "spam"])
    >>> def ask(x):
    ...     answer = next(answers)
    ...     if isinstance(answer, Exception):
    ...         raise answer
    ...     return answer
    >>> call_patiently(ask, Patience(retry=(ConnectionError,)))("text")
    'spam'
    """
    if patience.rate is None and not patience.retry:
        return function
    stop = threading.Event() if stopped is None else stopped
    turns = _Turns(patience.rate, stop)

    def call(x: Any) -> Any:
        for tried in range(1, patience.tries):
            turns.wait()
            try:
                return function(x)
            except patience.retry:
                longest = min(FIRST_PAUSE * 2 ** (tried - 1), LONGEST_PAUSE)
                _pause(longest * random.uniform(0.5, 1), stop)  # at random, so that calls do not come back together
        turns.wait()
        return function(x)

    return call


class _Turns:
    """Turns at an even pace."""

    def __init__(self, rate: float | None, stopped: threading.Event) -> None:
        self._step, self._stopped = 0.0 if rate is None else 1 / rate, stopped
        self._next, self._lock = time.monotonic(), threading.Lock()

    def wait(self) -> None:
        """Wait for the next turn."""
        if not self._step:
            return
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._step
        _pause(turn - time.monotonic(), self._stopped)


def _pause(seconds: float, stopped: threading.Event) -> None:
    if stopped.wait(max(seconds, 0)):
        raise StoppedError


def within(seconds: float, function: Function) -> Function:
    """A function that fails after some time. Python cannot stop it: its call is left behind in a thread.

    >>> within(5, len)("four")
    4
    """
    local = threading.local()  # each thread has its own helper, as long as that answers

    def call(x: Any) -> Any:
        result: Future[Any] = Future()
        local.helper = getattr(local, "helper", None) or _Helper()
        local.helper.tasks.put((result, function, x))
        try:
            return result.result(seconds)
        except BaseException as error:  # even an interrupt
            if result.done():  # the function's own error
                raise
            local.helper = None
            if isinstance(error, TimeoutError):
                raise _late(seconds) from None
            raise

    return call


class _Helper:
    """A thread that calls functions, until nobody needs it and its last call is done."""

    def __init__(self) -> None:
        self.tasks: SimpleQueue[tuple[Future[Any], Function, Any] | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(self.tasks,), daemon=True).start()

    def __del__(self) -> None:
        self.tasks.put(None)


def _serve(tasks: "SimpleQueue[tuple[Future[Any], Function, Any] | None]") -> None:
    while (task := tasks.get()) is not None:
        result, function, x = task
        try:
            result.set_result(function(x))
        except BaseException as error:  # for the thread that waits
            result.set_exception(error)
        del task, result, function, x  # nothing is kept alive while it waits


def _late(seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {seconds:g} s")


def is_async(function: object) -> bool:
    """Whether a function, or a callable object, is `async def`."""
    called = type(function).__call__ if callable(function) else None
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def in_loop(function: Callable[[Any], Awaitable[Any]], seconds: float | None) -> Function:
    """A plain function that runs an async one in the event loop of all LFs, and cancels it after some time.

    >>> async def double(x):
    ...     return 2 * x
    >>> in_loop(double, None)(4)
    8
    """

    def call(x: Any) -> Any:
        asked: Any = function(x) if seconds is None else _wait(function(x), seconds)
        running = asyncio.run_coroutine_threadsafe(asked, _event_loop(os.getpid()))
        try:
            return running.result()
        except BaseException:  # even an interrupt
            running.cancel()
            raise

    return call


async def _wait(awaitable: Awaitable[Any], seconds: float) -> Any:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await awaitable
    except TimeoutError:
        if limit.expired():
            raise _late(seconds) from None
        raise


@functools.cache
def _event_loop(process: int) -> asyncio.AbstractEventLoop:
    """The one loop of a process, in its own thread: clients stay bound to the loop they were first used in."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="hyperlabel-lfs", daemon=True).start()
    return loop
