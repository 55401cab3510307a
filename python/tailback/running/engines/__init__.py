"""The engines. Each is a module that runs a point and stores a run folder."""

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
"""The names with which users request the kernel engine, each with its clock."""


class Engine(Protocol):
    """The interface of an engine, which runs points. Several threads call it at the same time."""

    @property
    def name(self) -> str:
        """The engine's name in results: sim or kernel."""

    @property
    def version(self) -> str:
        """Release and hash of the engine's sources. Results of different versions are never
        mixed."""

    def load(self, read: Callable[[Mapping[str, Any]], Scenario]) -> Scenario:
        """Read a scenario for this engine. `read` takes the arguments of `_native.load`."""

    def memory(self, point: Point) -> int:
        """Estimate the memory that a run needs, bytes."""

    def cpu_s(self, packets: int) -> float:
        """Estimate the CPU time of a run with this many packets at its links, s."""

    def run(self, scenario: Scenario, index: int, store: Store, control: Control) -> None:
        """Run one point and store its folder."""


def get(name: str) -> Engine:
    """Return the engine with this name.

    `kernel-realtime` is the kernel engine on the machine's clock. Its version differs from that of
    `kernel`.
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
    """Return the name with which users request an engine."""
    clock = getattr(engine, "clock", None)
    return next((word for word, own in KERNELS.items() if own == clock), engine.name)


def versions() -> dict[str, set[str]]:
    """Return the versions of each engine of this installation, by the engine's name in results.
    The kernel engine is left out if it has no kit.
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
    """Return the version of an engine in this installation, if it differs from `version`. Otherwise
    return an empty text.

    Parts of the version that come from a scenario (plugins and files for a guest) are ignored. A
    plugin that this command names (`--with`, the environment) is compared by its own hash. The
    result is also empty if the engine is not installed.
    """
    from tailback.store.versions import engine_of, hashes_of

    # The simulator's version can be found without a kernel kit.
    has = {get(name).version} if name == "sim" else versions().get(name, set())
    if has and engine_of(version) not in has:
        return f"{name} {', '.join(sorted(has))}"
    return _unlike_crates(hashes_of(version))


def _unlike_crates(stored: Mapping[str, str]) -> str:
    """Return the plugins of this command that had a different hash in the run."""
    from tailback.plugins import asked, crate

    folders = asked.by_environment() if stored else []
    named = crate.read_all(folders)
    return ", ".join(
        f"{one.name}-{one.hash}" for one in named if stored.get(one.name, one.hash) != one.hash
    )
