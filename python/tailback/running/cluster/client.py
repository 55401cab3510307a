"""Sends runs to the workers of a cluster, and verifies and stores the results.

The store stays consistent if a process dies. If a worker dies, its runs go to another worker. If
the scheduler or this process dies, run the command again. The repeated command reuses the stored
runs.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.base import folders
from tailback.base.progress import Progress, say
from tailback.errors import DamagedResults, InputError, InputErrors, TailbackError
from tailback.running import engines
from tailback.running.cluster import worker
from tailback.running.spread import parcel, recipe

if TYPE_CHECKING:
    from distributed import Client, Future

    from tailback import _native
    from tailback.running.execution import Planned

CONNECT_S = 10.0
"""Seconds within which a scheduler must answer."""

LOOK_S = 0.2
"""Seconds between checks that the scheduler still exists."""

PATIENCE_S = 5.0
"""After this many seconds without any worker, tailback prints a message."""

AHEAD = 3
"""How many runs to send at the same time for each thread of the workers. With this many runs, no
worker has to wait, and results are stored as fast as they arrive.
"""

PIECE = 16 << 20
"""The largest number of bytes of a file in one message. Only files with packets can be larger than
this."""

ATTEMPTS = 3
"""How often to send a run if its result is lost or damaged."""


class ClusterLost(TailbackError):
    """Raised if the scheduler cannot be reached, or the connection is lost."""


class Cluster:
    """A Dask cluster. The connection is opened when the first run has to be executed."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Client | None = None
        self._fit: set[str] = set()
        """Addresses of workers that have the same versions as this process."""

    def close(self) -> None:
        """End the connection. Workers stop the runs that they are still executing for this
        client."""
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=2)  # type: ignore[no-untyped-call]
            self._client = None

    def execute(
        self, planned: Sequence[Planned], folder: _native.Store, progress: bool | None
    ) -> dict[str, str]:
        """Execute and store these runs. Return error messages by run id."""
        if not planned:
            return {}
        recipes = {
            id(run.scenario): recipe.of(run.scenario, engines.word(run.runner)) for run in planned
        }
        client = self._connected()
        words = sorted({made.engine for made in recipes.values()})
        self._await_workers(client)
        self._refuse_others(client, words)
        runs = folder.path("x").parent
        with folders.scratch(runs) as scratch:
            batch = _Batch(client, self._address, folder, scratch, recipes)
            return batch.run(planned, progress)

    def _connected(self) -> Client:
        from distributed import Client

        if self._client is None or self._client.status != "running":
            self.close()
            path = Path(self._address)
            where: dict[str, Any] = {"address": self._address}
            if path.suffix == ".json" or path.is_file():
                where = {"scheduler_file": str(path)}
                # A scheduler that has just been started may not have written its file yet.
                late = time.monotonic() + CONNECT_S
                while not path.is_file() and time.monotonic() < late:
                    time.sleep(LOOK_S)
                if not path.is_file():
                    raise InputError(
                        f"--cluster {path}: no such file; name the file that the "
                        "scheduler wrote (--scheduler-file), or its address"
                    )
            try:
                self._client = Client(  # type: ignore[no-untyped-call]
                    **where, timeout=CONNECT_S, set_as_default=False, name="tailback"
                )
            except (OSError, ValueError, TypeError, KeyError) as error:
                reason = str(error).partition("\n")[0] or type(error).__name__
                raise InputError(
                    f"--cluster {self._address}: no scheduler answers ({reason}); expected an "
                    "address such as tcp://host:8786, or the file of --scheduler-file"
                ) from None
        return self._client

    def _await_workers(self, client: Client) -> None:
        since, announced = time.monotonic(), False
        while not _workers(client):
            if client.status != "running":
                raise ClusterLost(_gone(self._address))
            if not announced and time.monotonic() - since > PATIENCE_S:
                say(f"{self._address} has no workers yet; waiting for one")
                announced = True
            time.sleep(LOOK_S)

    def _refuse_others(self, client: Client, words: Sequence[str]) -> None:
        """Check that every worker has the same versions of tailback and the engines. Raise an error
        otherwise."""
        addresses = [one for one in _workers(client) if one not in self._fit]
        if not addresses:
            return
        versions = client.run(worker.versions, words, workers=addresses, on_error="return")
        here = worker.versions(words)
        wrong = []
        for address in sorted(versions):
            there = versions[address]
            if there == here:
                continue
            if isinstance(there, BaseException):
                wrong.append(
                    f"worker {address}: tailback is not installed there ({there}); expected "
                    f"tailback {here['tailback']}"
                )
                continue
            differing = [word for word in here if there.get(word) != here[word]]
            actual = ", ".join(
                f"{'' if word == 'tailback' else 'engine '}{word} {there.get(word)}"
                for word in differing
            )
            expected = ", ".join(here[word] for word in differing)
            wrong.append(f"worker {address}: has {actual}; expected {expected}, as here")
        if wrong:
            raise InputErrors(*wrong)
        self._fit.update(versions)


class _Batch:
    def __init__(
        self,
        client: Client,
        address: str,
        folder: _native.Store,
        scratch: Path,
        recipes: Mapping[int, recipe.ScenarioRecipe],
    ) -> None:
        self._client = client
        self._address = address
        self._folder = folder
        self._scratch = scratch
        self._recipes = recipes
        self._pool = ThreadPoolExecutor(parcel.THREADS, thread_name_prefix="take")
        self._taken: queue.SimpleQueue[tuple[Planned, str | Exception | None]]
        self._taken = queue.SimpleQueue()
        self._out: dict[str, tuple[Planned, Future[Any]]] = {}
        self._tried: dict[str, int] = {}
        self._large: set[str] = set()

    def run(self, planned: Sequence[Planned], progress: bool | None) -> dict[str, str]:
        """Send all runs to workers, store the results, and return the failures."""
        failures: dict[str, str] = {}
        self._large = _with_packets(planned)
        todo = list(reversed(planned))
        total, cost, done = sum(run.cost for run in planned), 0.0, 0
        try:
            with Progress(len(planned), enabled=progress) as bar:
                while todo or self._out:
                    room = AHEAD * sum(_workers(self._client).values()) or 1
                    while todo and len(self._out) < room:
                        self._send(todo.pop())
                    for run, failed in self._back():
                        if failed is None:
                            todo.append(run)
                            continue
                        if failed:
                            failures[run.run_id] = f"run {run.run_id} ({run.label}): {failed}"
                        done, cost = done + 1, cost + run.cost
                        bar.update(done, cost / total)
                    bar.update(done, cost / total)
        finally:
            # After an error or Ctrl-C, cancel the remaining runs.
            with contextlib.suppress(Exception):
                out = [future for _, future in self._out.values()]
                self._client.cancel(out)  # type: ignore[no-untyped-call]
            # Wait until the last results are stored.
            self._pool.shutdown(wait=True, cancel_futures=True)
        return failures

    def _send(self, run: Planned) -> None:
        order = worker.Order(
            self._recipes[id(run.scenario)],
            run.index,
            run.run_id,
            run.scenario.engine_version,
        )
        # Use a new key for each attempt, because Dask would return the earlier result for a known
        # key. A client of another version may also have sent the same run.
        key = f"run-{run.run_id}-{uuid.uuid4().hex[:12]}"
        future = self._client.submit(worker.play, order, key=key, pure=False)
        self._out[run.run_id] = (run, future)

        def take() -> None:
            try:
                self._taken.put((run, self._take(run, future)))
            except Exception as error:
                self._taken.put((run, error))

        def back(_: Future[Any]) -> None:
            # If a result arrives after the end of the batch, the thread pool is closed and rejects
            # it.
            with contextlib.suppress(RuntimeError):
                self._pool.submit(take)

        future.add_done_callback(back)  # type: ignore[no-untyped-call]

    def _back(self) -> Iterator[tuple[Planned, str | None]]:
        """Wait briefly, then yield the results that have arrived."""
        try:
            run, failed = self._taken.get(timeout=LOOK_S)
        except queue.Empty:
            if self._client.status != "running":
                raise ClusterLost(_gone(self._address)) from None
            return
        self._out.pop(run.run_id, None)
        if isinstance(failed, Exception):
            raise failed
        yield run, failed

    def _take(self, run: Planned, future: Future[Any]) -> str | None:
        """Store a result. Return an empty text if the result is stored, an error message if the run
        failed, and None if the run must be repeated.
        """
        from distributed import KilledWorker

        try:
            version = run.scenario.engine_version
            if run.run_id in self._large:
                answer = self._call(worker.sizes, future)
                if isinstance(answer, dict):
                    pieces = {name: self._pieces(future, name, n) for name, n in answer.items()}
                    parcel.take(pieces, run.run_id, version, self._folder, self._scratch)
                    return ""
            else:
                answer = future.result()
                if isinstance(answer, dict):
                    whole = {name: [data] for name, data in answer.items()}
                    parcel.take(whole, run.run_id, version, self._folder, self._scratch)
                    return ""
        except DamagedResults as damage:
            return self._again(run, str(damage))
        except KilledWorker:
            return "every worker that executed this run died; the run may need more memory than a "
            "worker has"
        except Exception as error:
            if self._client.status != "running":
                raise ClusterLost(_gone(self._address)) from None
            if not _is_lost(error):
                raise
            return self._again(run, str(error))
        if answer.kind == "panic":
            return str(answer.text)
        if answer.kind == "cancelled":
            return self._again(run, "was stopped there")
        raise InputError(f"a worker of {self._address}: {answer.text}")

    def _again(self, run: Planned, why: str) -> str | None:
        self._tried[run.run_id] = self._tried.get(run.run_id, 0) + 1
        return None if self._tried[run.run_id] < ATTEMPTS else why

    def _call(self, function: Any, *args: Any) -> Any:
        return self._client.submit(function, *args, pure=False).result()

    def _pieces(self, future: Future[Any], name: str, size: int) -> Iterator[bytes]:
        for start in range(0, size, PIECE):
            yield self._call(worker.piece, future, name, start, PIECE)


def _is_lost(error: Exception) -> bool:
    """Return whether an error means that the worker was lost, so that the run must be repeated."""
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError

    named = type(error).__name__
    return isinstance(error, CancelledError | CommClosedError | OSError) or "Cancelled" in named


def _with_packets(planned: Sequence[Planned]) -> set[str]:
    """Return the ids of runs with packet captures.

    The files of such a run may be too large for one message.
    """
    scenarios = {id(run.scenario): run.scenario for run in planned}
    points = (point for scenario in scenarios.values() for point in scenario.points)
    return {point.run_id for point in points if '"packets":true' in point.canonical}


def _workers(client: Client) -> dict[str, int]:
    try:
        found = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, KeyError):
        return {}
    return {address: one["nthreads"] for address, one in found.items()}


def _gone(address: str) -> str:
    return (
        f"the scheduler {address} is gone; finished runs are stored, and the same command resumes "
        "from there"
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence Dask's log of connections, because this module itself reports lost connections."""
    # Import distributed before changing log levels, because the import itself sets log levels.
    import distributed  # noqa: F401

    names = [
        name
        for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict)
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio")
    ]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
