"""Limits of calls that may be slow or fail: a timeout, a rate, and retries after growing pauses."""

import asyncio
import functools
import inspect
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from hyperlabel._core import ABOVE_ZERO, check_count, check_number

Function = Callable[[Any], Any]
Exceptions = type[Exception] | tuple[type[Exception], ...]

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before the second try, and at most


class StoppedError(Exception):
    """The run ended while a call waited for its turn or its next try."""


@dataclass(frozen=True)
class RetryPolicy:
    """Limits of the calls of an LF."""

    timeout: float | None = None  # seconds per call; a longer call fails with TimeoutError
    rate: float | None = None  # calls that may start per second, over all threads
    retry: Exceptions = ()  # exceptions after which a call is tried again
    tries: int = 5  # the maximum number of tries

    def check(self, lf: str) -> "RetryPolicy":
        """Return the policy itself if its numbers are possible."""
        check_positive(lf, "timeout", self.timeout, "a number of seconds")
        check_positive(lf, "rate", self.rate, "a number of calls per second")
        check_count(self.tries, f"LF '{lf}': tries")
        return self


def check_positive(lf: str, argument: str, value: float | None, expected: str) -> None:
    """Check that an argument of an LF is a number above 0, or None."""
    if value is not None:
        check_number(value, f"LF '{lf}': {argument}", f"{expected} above 0, or None", least=ABOVE_ZERO)


def with_retries(function: Function, policy: RetryPolicy, stopped: threading.Event | None = None) -> Function:
    """Return a function that keeps to the rate of a policy and is tried again; `limit_time` keeps the timeout.

    `stopped` is set when nobody waits for the result anymore.
    """
    limiter = RateLimiter(policy.rate, stopped or threading.Event())

    def call(x: Any) -> Any:
        for tries in range(1, policy.tries):
            limiter.wait()
            try:
                return function(x)
            except policy.retry:
                longest = min(FIRST_PAUSE * 2 ** (tries - 1), LONGEST_PAUSE)
                limiter.pause(longest * random.uniform(0.5, 1))  # at random, so that calls do not come back together
        limiter.wait()
        return function(x)

    return call


class RateLimiter:
    """Turns at an even pace, until the run is stopped."""

    def __init__(self, rate: float | None, stopped: threading.Event) -> None:
        self._interval, self._stopped = 0.0 if rate is None else 1 / rate, stopped
        self._next, self._lock = time.monotonic(), threading.Lock()

    def wait(self) -> None:
        """Wait for the next turn."""
        if not self._interval:
            return
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._interval
        self.pause(turn - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Wait for some time; a StoppedError if the run ends meanwhile."""
        if self._stopped.wait(max(seconds, 0)):
            raise StoppedError


def is_async(function: object) -> bool:
    """Return whether a function, or a callable object, is `async def`."""
    called = type(function).__call__ if callable(function) else None
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def limit_time(function: Function, seconds: float | None, runs_async: bool) -> Function:
    """Return a plain function that fails after some seconds; an async one runs in the event loop of all LFs.

    A late async call is canceled. Python cannot stop a plain one: it is left behind in its thread.
    """
    start = _start_in_loop if runs_async else _start_thread

    def call(x: Any) -> Any:
        future = start(function, x)
        try:
            return future.result(seconds)
        except BaseException as error:  # even an interrupt
            if future.done():  # the function's own error
                raise
            future.cancel()
            if isinstance(error, TimeoutError):
                raise TimeoutError(f"no answer within {seconds:g} s") from None
            raise

    return call


def _start_in_loop(function: Function, x: Any) -> "Future[Any]":
    return asyncio.run_coroutine_threadsafe(function(x), _event_loop(os.getpid()))


@functools.cache
def _event_loop(process: int) -> asyncio.AbstractEventLoop:
    """The one loop of a process, in its own thread: clients stay bound to the loop they were first used in."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="hyperlabel-lfs", daemon=True).start()
    return loop


def _start_thread(function: Function, x: Any) -> "Future[Any]":
    future: Future[Any] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():  # nobody waits anymore
            return
        try:
            future.set_result(function(x))
        except BaseException as error:  # for the thread that waits
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()  # a call that never ends does not keep Python from exiting
    return future
