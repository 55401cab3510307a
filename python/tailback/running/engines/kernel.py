"""Runs scenarios on the Linux kernel in virtual or real time, each run in its own guest."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.base import folders
from tailback.errors import GuestFailed, InputError, ScenarioWarning, TailbackError
from tailback.kernel import confine, contents, guest, kit
from tailback.programs import numbers
from tailback.running.engines.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tailback._native import Control, Point, Scenario, Store
    from tailback.kernel.kit import Kit
    from tailback.kernel.programs.check import Problem
    from tailback.kernel.programs.places import Places

AGENT = Path(kit.__file__).parent / "tailback-guest"
"""The executable of the guest's first process. This executable is built together with tailback."""

AGENT_HASH = AGENT.with_name(f"{AGENT.name}.sha256")
"""The file with the hash of the agent from its build."""

MEMORY_VARIABLE = "TAILBACK_GUEST_MIB"
"""Environment variable with the memory of a guest in MiB, for scenarios that need more than the
default."""

BOOT_S = 0.15
PACKET_S = 3e-6
"""CPU time in seconds for each packet at a link. `BOOT_S` is the CPU time of a guest without
packets. `BOOT_S` and `PACKET_S` were measured (docs/evidence/performance.md)."""

STALL_VARIABLE = "TAILBACK_STALL_S"
"""Environment variable with a number of seconds. If virtual time does not advance for this long in
real time, tailback ends the guest."""


@dataclass(frozen=True)
class Kernel:
    """The kernel engine with one guest kernel and one clock."""

    kit: kit.Kit
    clock: guest.Clock = "virtual"
    name: str = field(default="kernel", init=False)
    _others: dict[str, Kernel] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def version(self) -> str:
        """The kernel's release, and a hash of everything that affects results."""
        return self._version([], [])

    @cached_property
    def has(self) -> str:
        """JSON that describes what this kernel supports. Under `others`, the JSON also describes
        the other kernels that a scenario may name.

        The Rust code that plans the guest's set-up reads this JSON.
        """
        return json.dumps({**self._has, "others": [Kernel(one)._has for one in self._kits]})

    @cached_property
    def _kits(self) -> list[Kit]:
        return kit.all_kits()

    @cached_property
    def _has(self) -> dict[str, Any]:
        modules = {name: f"/modules/{path.name}" for name, path in self.kit.modules.items()}

        def paths(kinds: dict[str, str | None]) -> dict[str, str | None]:
            return {kind: modules[stem] if stem else None for kind, stem in kinds.items()}

        return {
            "version": self.kit.version,
            "hash": self.kit.identity,
            "ccs": paths(self.kit.ccs),
            "qdiscs": paths(self.kit.qdiscs),
            "extra": self._extra,
            "registers": self._registers,
        }

    def of(self, name: str | None) -> Kernel:
        """Return the engine for the kernel with this name, or `self` if `name` is None."""
        if name is None:
            return self
        found = self._others.get(name)
        if found is None:
            found = Kernel(kit.named(name, self.kit), self.clock)
            self._others[name] = found
        return found

    @cached_property
    def _extra(self) -> dict[str, list[str]]:
        """Return the names by which scenarios refer to the user's modules: NAME for the newest
        version, and NAME-HASH for each version.
        """
        modules: dict[str, list[str]] = {}
        for manifest in self.kit.extras():
            folder = Path(manifest["path"]).name
            files = [f"/extra/{folder}/{m['file']}" for m in manifest["modules"].values()]
            modules[folder] = files
            if manifest["current"]:
                modules[manifest["name"]] = files
        return modules

    @cached_property
    def _registers(self) -> dict[str, list[str]]:
        """The algorithms that the user's modules register, according to the source code of these
        modules."""
        registrations: dict[str, list[str]] = {}
        for manifest in self.kit.extras():
            if manifest.get("guessed"):
                continue
            names = sorted({*manifest["cc"], *manifest["qdisc"]})
            registrations[Path(manifest["path"]).name] = names
            if manifest["current"]:
                registrations[manifest["name"]] = names
        return registrations

    def load(self, read: Callable[[Mapping[str, Any]], Scenario]) -> Scenario:
        """Read a scenario, and reject what Linux or this guest kernel does not support.

        The engine has one version for each kernel that sweep points name. The version identifies
        the kernel, and the user's modules and the programs of these sweep points.
        """
        identity = {"engine": self.name, "engine_version": self.version}
        scenario = read({**identity, "kit": self.has})
        chosen: dict[str | None, list[Point]] = {}
        for point in scenario.points:
            chosen.setdefault(point.kernel, []).append(point)
        versions = {}
        refused: list[Problem] = []
        for name, points in chosen.items():
            engine = self.of(name)
            modules = {module for point in points for module in point.modules}
            programs = engine._programs.check(points)
            refused += programs.problems
            versions[name] = engine._version(sorted(modules), programs.inputs)
        if refused:
            # Read the scenario again with the rejected names, to report where they are in the file.
            kit = {**json.loads(self.has), "refused": list(dict.fromkeys(refused))}
            scenario = read({**identity, "kit": json.dumps(kit)})
        if versions == {None: self.version}:
            return scenario
        return scenario.versioned(versions)

    def memory(self, point: Point) -> int:  # noqa: ARG002 (all points have the same limit)
        """Return the maximum amount of memory (in bytes) that a guest may use.

        Most guests use much less.
        """
        return (self._memory_mib + confine.SPARE_MIB) << 20

    def cpu_s(self, packets: int) -> float:
        """Estimate the CPU time of a run (in seconds) from the number of packets on all links."""
        return BOOT_S + packets * PACKET_S

    @cached_property
    def _memory_mib(self) -> int:
        return round(_setting(MEMORY_VARIABLE, guest.MEMORY_MIB))

    @cached_property
    def _stall_s(self) -> float:
        return _setting(STALL_VARIABLE, guest.STALL_S)

    def run(self, scenario: Scenario, index: int, store: Store, control: Control) -> None:
        """Run a sweep point in a guest, and store the results."""
        point = scenario.points[index]
        self.of(point.kernel)._run(scenario, point, index, store, control)

    def _run(
        self, scenario: Scenario, point: Point, index: int, store: Store, control: Control
    ) -> None:
        places = self._programs.places(point)
        workplace = store.workplace(point.run_id)
        try:
            self.kit.verify(self._shelves(set(point.modules)))
            finished = guest.run(
                self.kit,
                self._agent,
                workplace,
                job=self._job(scenario, index, places),
                seed=point.seed,
                clock=self.clock,
                duration_ns=point.duration_ns,
                cancelled=lambda: control.cancelled,
                progress=control.progress,
                memory_mib=self._memory_mib,
                stall_s=self._stall_s,
                places=places,
            )
            if finished.walls.warning is not None:
                warnings.warn(finished.walls.warning, ScenarioWarning, stacklevel=1)
            readings, missing = numbers.read(point.programs, workplace / "results")
            notes = [*finished.warnings, *missing]
            for text in notes:
                warnings.warn(f"run {point.run_id}: {text}", ScenarioWarning, stacklevel=1)
            environment = {
                **self._environment,
                "guest_memory_bytes": self._memory_mib << 20,
                "missing_walls": finished.walls.missing,
                "warnings": notes,
            }
            if places is not None:
                environment["package_roots"] = places.manifest()
            about_programs = scenario.store_guest(
                index,
                store,
                workplace / "results",
                environment=json.dumps(environment),
                wall_s=finished.wall_s,
                cpu_s=finished.cpu_s,
                memory_bytes=finished.memory_bytes,
                numbers=readings,
            )
            # Warn only about programs, because the manifest already contains the other warnings.
            for text in about_programs:
                warnings.warn(f"run {point.run_id}: {text}", ScenarioWarning, stacklevel=1)
        except OSError as error:
            raise GuestFailed(f"the files that the guest left are not a result: {error}") from error
        finally:
            folders.remove(workplace, inside=workplace.parent)

    def _job(self, scenario: Scenario, index: int, places: Places | None) -> str:
        if places is None:
            return scenario.guest_job(index, self.has)
        return scenario.guest_job(index, self.has, places.mapping())

    @cached_property
    def _programs(self) -> Programs:
        return Programs(self.kit)

    @cached_property
    def _environment(self) -> dict[str, Any]:
        of_kit = ("kernel", "hash", "config_hash", "source", "patches", "iproute2")
        names = (*of_kit, "packages", "modules")
        manifest = self.kit.manifest
        extra = {m["name"]: m["hash"] for m in self.kit.extras() if m["current"]}
        return {
            "kit": {name: manifest[name] for name in names if name in manifest} | {"extra": extra},
            "agent_sha256": hashlib.sha256(self._agent).hexdigest(),
            "clock": self.clock,
        }

    @cached_property
    def _agent(self) -> bytes:
        """Return the content of the agent, the guest's first process. Raise an error if the agent
        has changed since it was built. The guest runs exactly this content.
        """
        try:
            agent = AGENT.read_bytes()
            built = AGENT_HASH.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TailbackError(f"{error}; run: make build") from None
        if hashlib.sha256(agent).hexdigest() != built:
            raise TailbackError(f"{AGENT} has changed since it was built; run: make build")
        return agent

    def _shelves(self, modules: Iterable[str]) -> dict[str, str]:
        """Return the hash of each built module that a run uses, by folder."""
        own = {kit.SCHEDULE, *modules}
        shelves = {}
        for manifest in self.kit.extras():
            folder = Path(manifest["path"]).name
            if folder in own or (manifest["current"] and manifest["name"] in own):
                files = sorted(entry["sha256"] for entry in manifest["modules"].values())
                shelves[folder] = " ".join([manifest["hash"], *files])
        return shelves

    def _version(self, modules: list[str], roots: list[str]) -> str:
        """Return the engine's version.

        The version contains a hash of the scenario's modules and programs after a dot.
        """
        base = self._shelves([])
        shelves = self._shelves(modules)
        self.kit.verify(shelves)
        library = contents.sha256(self.kit.library)
        parts = [self.kit.identity, hashlib.sha256(self._agent).hexdigest(), library]
        if self._memory_mib != guest.MEMORY_MIB:
            parts.append(f"memory {self._memory_mib}")
        parts += [f"{folder} {hashes}" for folder, hashes in base.items()]
        added = [f"{name} {hashes}" for name, hashes in shelves.items() if name not in base]
        if roots:
            added += [*roots, *guest.PROGRAM_WORDS]
        more = f".{_digest(added)[:8]}" if added else ""
        # In real time, the engine has a different version, so that such results never
        # replace results in virtual time.
        clock = "-realtime" if self.clock == "real" else ""
        return f"{self.kit.version}+{_digest(parts)[:16]}{more}{clock}"


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _setting(variable: str, default: float) -> float:
    """Read a positive number from an environment variable, if it is set."""
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < 1e9:
        raise InputError(f"{variable}={text}: expected a number of at least 1")
    return value
