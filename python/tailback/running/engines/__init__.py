"""Contains the engines. An engine is a module that runs a point of a sweep and stores the
result."""

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
    """The interface of an engine. Several threads use an engine at the same time."""

    @property
    def name(self) -> str:
        """The engine's name in results: sim or kernel."""

    @property
    def version(self) -> str:
        """The release, and a hash of everything that affects results.

        Results of different versions are not mixed.
        """

    def load(self, read: Callable[[Mapping[str, Any]], Scenario]) -> Scenario:
        """Read a scenario for this engine, with `read`, which takes the arguments of
        `_native.load`."""

    def memory(self, point: Point) -> int:
        """Estimate the memory of a run in bytes."""

    def cpu_s(self, packets: int) -> float:
        """Estimate the CPU time of a run (in seconds) from the number of packets on all links."""

    def run(self, scenario: Scenario, index: int, store: Store, control: Control) -> None:
        """Run one sweep point and store its folder."""


def get(name: str) -> Engine:
    """Return the engine with this name.

    `kernel-realtime` is the kernel engine with the machine's clock. The version of
    `kernel-realtime` differs from the version of `kernel`.
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
    """Return the engine's name on the command line."""
    clock = getattr(engine, "clock", None)
    return next((word for word, own in KERNELS.items() if own == clock), engine.name)


def versions() -> dict[str, set[str]]:
    """Return the installed versions of each engine, by the engine's name in results. The kernel
    engine is left out if no guest kernel is built.
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
    """Return the installed version of an engine if it differs from `version`, otherwise an empty
    text.

    The parts of a version that come from a scenario (plugins, files for a guest) are ignored.
    Plugins that this command names (`--with`, the environment) are compared by their hashes. The
    result is empty if the engine is not installed.
    """
    from tailback.store.versions import engine_of, hashes_of

    # For the simulator, do not call `versions`, because it also looks for guest kernels.
    has = {get(name).version} if name == "sim" else versions().get(name, set())
    if has and engine_of(version) not in has:
        return f"{name} {', '.join(sorted(has))}"
    return _unlike_crates(hashes_of(version))


def _unlike_crates(stored: Mapping[str, str]) -> str:
    """Return the plugins of this command that the stored run also used, but with another hash."""
    from tailback.plugins import asked, crate

    folders = asked.by_environment() if stored else []
    named = crate.read_all(folders)
    return ", ".join(
        f"{one.name}-{one.hash}" for one in named if stored.get(one.name, one.hash) != one.hash
    )
