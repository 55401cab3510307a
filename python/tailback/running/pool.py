"""A pool of threads. A thread that hangs can be abandoned, because a plugin's code may never
return.

Python cannot stop compiled code. The pool therefore abandons a thread that hangs, and the thread
ends with the process. Other threads continue.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from tailback.errors import InputError

T = TypeVar("T")

VARIABLE = "TAILBACK_PLUGIN_TIMEOUT"
"""Environment variable with a number of seconds. If a run with plugins does not advance for this
long, tailback abandons the run."""

PATIENCE_S = 60.0
"""The number of seconds if TAILBACK_PLUGIN_TIMEOUT is not set."""

GRACE_S = 5.0
"""Seconds for which the pool waits at its end for a run that may be stuck."""


class Pool(Generic[T]):
    """Threads that process jobs in the order of submission."""

    def __init__(self, workers: int, work: Callable[[T], None]) -> None:
        self._work = work
        self._todo: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._at: dict[threading.Thread, T | None] = {}
        self._given_up: list[T] = []
        #: Finished jobs, each with its exception or None.
        self.done: queue.SimpleQueue[tuple[T, BaseException | None]] = queue.SimpleQueue()
        for _ in range(workers):
            self._start()

    def _start(self) -> None:
        # Use daemon threads, because the interpreter would wait at exit for the threads of a
        # `ThreadPoolExecutor`.
        name = f"run_{len(self._at)}"
        thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._at[thread] = None
        thread.start()

    def _run(self) -> None:
        thread = threading.current_thread()
        while (item := self._todo.get()) is not None:
            self._at[thread] = item
            error: BaseException | None = None
            try:
                self._work(item)
            except BaseException as raised:
                error = raised
            self._at[thread] = None
            self.done.put((item, error))
            del item, error

    def submit(self, item: T) -> None:
        """Add a job."""
        self._todo.put(item)

    def give_up(self, item: T) -> None:
        """Abandon the thread of this job, and start another thread."""
        self._given_up.append(item)
        self._start()

    def stop(self, doubtful: Iterable[T]) -> None:
        """Drop queued jobs, and wait for running jobs. Do not wait for abandoned jobs, and wait
        only briefly for the jobs in `doubtful`.
        """
        try:
            while True:
                self._todo.get_nowait()
        except queue.Empty:
            pass
        for _ in self._at:
            self._todo.put(None)
        unsure = list(doubtful)
        for thread, item in list(self._at.items()):
            if not any(item is one for one in self._given_up):
                thread.join(GRACE_S if any(item is one for one in unsure) else None)


class Watch(Generic[T]):
    """Detects runs that make no progress."""

    def __init__(self, limit_s: float) -> None:
        self._limit = limit_s
        self._last = time.monotonic()
        self._seen: dict[T, tuple[float, float]] = {}

    def stuck(self, fractions: Iterable[tuple[T, float]]) -> list[T]:
        """Return the runs whose fraction has not changed for too long. Call this function several
        times a second.
        """
        now = time.monotonic()
        # If much time has passed since the last call, the machine was suspended, so count at most 1
        # s.
        step = min(now - self._last, 1.0)
        self._last = now
        runs = []
        for run, fraction in fractions:
            before, waited = self._seen.get(run, (-1.0, 0.0))
            # A run with fraction 1 is being stored, which may take long.
            waited = waited + step if fraction == before and fraction < 1.0 else 0.0
            self._seen[run] = fraction, waited
            if waited >= self._limit:
                runs.append(run)
        return runs


def patience_s() -> float:
    """Return the number of seconds without progress after which a run with plugins is abandoned."""
    text = os.environ.get(VARIABLE)
    if not text:
        return PATIENCE_S
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise InputError(f"{VARIABLE}={text}: expected seconds, more than 0")
    return value
