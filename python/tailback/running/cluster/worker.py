"""Executes runs on a worker of a cluster. Each thread executes one run at a time in a temporary
folder.

The client sends the names of functions, not their code. A worker without tailback, or with another
version, is therefore detected before it runs anything.
"""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tailback
from tailback import _native
from tailback.base import folders
from tailback.errors import Cancelled, EnginePanic, TailbackError
from tailback.running import engines, scenarios
from tailback.running.spread import parcel
from tailback.running.spread.recipe import ScenarioRecipe

WATCH_S = 0.5
"""Seconds between two checks of whether the client still wants a run."""


@dataclass(frozen=True)
class Order:
    """A run for a worker to execute."""

    recipe: ScenarioRecipe
    index: int
    run_id: str
    version: str
    """The version of the engine that must execute the run."""


@dataclass(frozen=True)
class Lost:
    """The reason why a run has no result."""

    kind: str
    """`panic` if the engine failed, `unfit` if this worker cannot execute the run, or
    `cancelled`."""
    text: str


Answer = dict[str, bytes] | Lost


def versions(words: Sequence[str]) -> dict[str, str]:
    """Return the installed versions of tailback and of these engines.

    For an engine that is missing, return the reason instead.
    """
    by_name = {"tailback": tailback.__version__}
    for word in words:
        try:
            by_name[word] = engines.get(word).version
        except TailbackError as error:
            by_name[word] = f"none ({error})"
    return by_name


def play(order: Order) -> Answer:
    """Execute a run. Return the content of the run's files, or the reason why the run has no
    result.
    """
    try:
        with _scratch() as scratch:
            scenario, run_ids = _read(order.recipe, scratch)
            if order.index >= len(run_ids) or run_ids[order.index] != order.run_id:
                return Lost(
                    "unfit",
                    f"run {order.run_id} is another run there: engine version "
                    f"{scenario.engine_version}; expected {order.version}",
                )
            store = _native.Store(scratch)
            control = _native.Control()
            with _watched(control):
                runner = engines.get(order.recipe.engine)
                runner.run(scenario, order.index, store, control)
            return parcel.files(store.path(order.run_id))
    except Cancelled:
        return Lost("cancelled", "")
    except EnginePanic as error:
        return Lost("panic", str(error))
    except TailbackError as error:
        return Lost("unfit", str(error))


def sizes(answer: Answer) -> dict[str, int] | Lost:
    """Return the sizes of a run's files, so that the client can fetch a large run in pieces."""
    if isinstance(answer, Lost):
        return answer
    return {name: len(data) for name, data in answer.items()}


def piece(answer: Answer, name: str, start: int, length: int) -> bytes:
    """Return part of a file."""
    assert isinstance(answer, dict)
    return answer[name][start : start + length]


_LOADED: OrderedDict[ScenarioRecipe, tuple[_native.Scenario, list[str]]] = OrderedDict()
_LOCK = threading.Lock()
MOST_LOADED = 8


def _read(recipe: ScenarioRecipe, scratch: Path) -> tuple[_native.Scenario, list[str]]:
    """Read a scenario, and return it with the ids of its runs.

    The scenario is cached for later runs.
    """
    with _LOCK:
        entry = _LOADED.get(recipe)
        if entry is None:
            scenario = _load(recipe, scratch)
            entry = (scenario, [point.run_id for point in scenario.points])
            _LOADED[recipe] = entry
            while len(_LOADED) > MOST_LOADED:
                _LOADED.popitem(last=False)
    return entry


def _load(recipe: ScenarioRecipe, scratch: Path) -> _native.Scenario:
    # Nest the folder so deeply that a file name with ".." cannot lead out of the temporary folder.
    deep = max((name.count("..") for name, _ in recipe.files), default=0)
    folder = scratch.joinpath("files", *["in"] * deep)
    folder.mkdir(parents=True)
    for name, data in recipe.files:
        file = folder / name
        if not file.resolve().is_relative_to(scratch.resolve()):
            raise TailbackError(f"{name}: not a file of a scenario")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    scenario = folder / "scenario.toml"
    scenario.write_bytes(recipe.text)
    return scenarios.load(scenario, recipe.values, recipe.seeds, engines.get(recipe.engine))


@contextmanager
def _scratch() -> Iterator[Path]:
    from distributed import get_worker

    try:
        parent = Path(get_worker().local_directory)
    except ValueError:
        # Outside a worker, use the system's temporary folder.
        parent = Path(tempfile.gettempdir())
    # Runs of one process do not share a store, so each thread has its own folder.
    with folders.scratch(parent) as scratch:
        own = Path(tempfile.mkdtemp(dir=scratch))
        yield own


@contextmanager
def _watched(control: _native.Control) -> Iterator[None]:
    """Stop the run if its client is gone or has cancelled it."""
    task = _task()
    if task is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_S):
            if task.state not in ("executing", "long-running"):
                control.cancel()

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _task() -> Any:
    """Return the state of the task that this thread works on, or None."""
    from distributed import get_worker

    try:
        own = get_worker()
        return own.state.tasks.get(own.get_current_task())
    except (ValueError, AttributeError):
        return None
