"""Engines: they run a point and leave a run folder. One file for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from tailback.base import machine
from tailback.base.names import unknown
from tailback.errors import InputError, TailbackError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tailback._native import Control, Point, Scenario, Store

NAMES = ("sim", "kernel", "kernel-realtime")

KERNELS: dict[str, Literal["virtual", "real"]] = {"kernel": "virtual", "kernel-realtime": "real"}
"""The words for the kernel engine, each with its clock."""


class Engine(Protocol):
    """Runs points; called from several threads at once."""

    @property
    def name(self) -> str:
        """Its name in results: sim or kernel."""

    @property
    def version(self) -> str:
        """Release and hash of its sources; results of two versions are never mixed."""

    def load(self, read: Callable[[Mapping[str, Any]], Scenario]) -> Scenario:
        """Read a scenario for this engine: `read` takes the arguments of `_native.load`."""

    def memory(self, point: Point) -> int:
        """Estimate of what a run needs, bytes."""

    def cpu_s(self, packets: int) -> float:
        """Estimate of the CPU time of a run with this many packets at its links, s."""

    def run(self, scenario: Scenario, index: int, store: Store, control: Control) -> None:
        """Runs one point and stores its folder."""


def get(name: str) -> Engine:
    """The engine of this name.

    `kernel-realtime` is the kernel engine on the machine's clock, with a version of its own.
    """
    if name == "sim":
        from tailback.running.engines import sim

        return sim.ENGINE
    if isinstance(name, str) and name in KERNELS:
        machine.check_for_kernel_engine()
        from tailback.kernel import kit
        from tailback.running.engines.kernel import Kernel

        return Kernel(kit.current(), KERNELS[name])
    raise InputError(unknown("engine", str(name), list(NAMES)))


def word(engine: Engine) -> str:
    """The name by which an engine is requested."""
    clock = getattr(engine, "clock", None)
    return next((word for word, own in KERNELS.items() if own == clock), engine.name)


def versions() -> dict[str, set[str]]:
    """The versions of each engine that this installation has, by its name in results. An engine
    without its kernel kit is left out.
    """
    by_engine: dict[str, set[str]] = {}
    for name in NAMES:
        try:
            engine = get(name)
        except TailbackError:
            continue
        by_engine.setdefault(engine.name, set()).add(engine.version)
    return by_engine


def unlike(name: str, version: str) -> str:
    """Name what is here instead of this version of an engine; empty if nothing differs.

    Parts that a scenario adds do not count: plugins, and files for a guest. A plugin that
    this command names (`--with`, the environment) is compared by its own hash. Also empty if the
    engine is not installed.
    """
    from tailback.store.versions import engine_of, hashes_of

    # A simulator's version needs no kernel kit.
    has = {get(name).version} if name == "sim" else versions().get(name, set())
    if has and engine_of(version) not in has:
        return f"{name} {', '.join(sorted(has))}"
    return _unlike_crates(hashes_of(version))


def _unlike_crates(stored: Mapping[str, str]) -> str:
    """The plugins that this command names and that were different in the run."""
    from tailback.plugins import asked, crate

    folders = asked.by_environment() if stored else []
    named = crate.read_all(folders)
    return ", ".join(
        f"{one.name}-{one.hash}" for one in named if stored.get(one.name, one.hash) != one.hash
    )
