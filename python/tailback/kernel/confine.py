"""Confines a guest: starts it by the launcher, and finds which walls this machine supports.

A guest's kernel is a process of this machine, and modules run inside that process with its rights.
The launcher (launch/main.c) therefore starts the process behind walls, such as namespaces and
filters of system calls. A warning lists the walls that a machine does not have.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tailback.errors import InputError, TailbackError
from tailback.kernel import releases
from tailback.kernel.kit import Kit

VARIABLE = "TAILBACK_UNCONFINED"
"""If this variable is 1, guests run even if no wall keeps them from this machine's files."""

TRUST = "TAILBACK_TRUST_PROGRAMS"
"""If this variable is 1, programs of scenarios run even if a wall is missing."""

WALLS = {
    "user": "a user namespace",
    "mount": "a mount namespace",
    "pid": "a PID namespace",
    "ipc": "an IPC namespace",
    "uts": "a UTS namespace",
    "net": "a network namespace",
    "landlock": "Landlock",
    "scopes": "Landlock's scopes",
    "seccomp": "a filter of system calls",
}
"""The walls, by their names in the launcher's first line."""

SAYS = "tailback: walls "

UNCONFINED = 126
"""Exit status of a launcher that did not start the guest because walls are missing."""

SPARE_MIB = 576
"""Memory of this machine that a guest may use beyond its own; the launcher limits it."""

LOADER = "/lib64/ld-linux-x86-64.so.2"

READABLE = ("/etc/ld.so.cache", "/proc/cpuinfo")
"""Paths of this machine that a guest may read: library folders, and the processor's properties.
"""


@dataclass(frozen=True)
class Walls:
    """Which walls the launcher could set up."""

    missing: dict[str, str]
    """The walls that could not be set up, each with the reason."""

    @classmethod
    def parse(cls, line: str) -> Walls:
        """Read the launcher's first line."""
        found = dict(re.findall(r"(\w+)=(\d+)", line.removeprefix(SAYS)))
        errors = {name: int(found.get(name, "38")) for name in WALLS}
        return cls({name: os.strerror(error) for name, error in errors.items() if error})

    @property
    def refused(self) -> bool:
        """Whether the launcher refused to start the guest, because no wall kept it from files."""
        return {"mount", "landlock"} <= self.missing.keys() and not allowed()

    @property
    def lacks(self) -> str:
        """Name the missing walls that no other wall replaces; empty if none is missing."""
        lacks = dict(self.missing)
        # Each of these also confines signals and sockets. Linux before 6.12 has no Landlock scopes.
        if not {"pid", "net"} & lacks.keys():
            lacks.pop("scopes", None)
        # The user namespace only serves to make the others, so it is not missed if they exist.
        if "mount" not in lacks:
            lacks.pop("user", None)
        return ", ".join(f"{WALLS[name]} ({reason})" for name, reason in lacks.items())

    @property
    def warning(self) -> str | None:
        """Return the warning about missing walls, if any."""
        if not self.lacks:
            return None
        return (
            f"this machine does not give guests {self.lacks}: a malicious module could reach more "
            "of it than its run; docs/concepts/kernel.md explains what"
        )


REFUSED = (
    "this machine has neither Landlock nor mount namespaces, so that a guest's modules could "
    "read and write what you can; use --unconfined (or TAILBACK_UNCONFINED=1) to run them all the "
    "same"
)


def allowed() -> bool:
    """Whether the user has said that guests may run without walls."""
    return _is_set(VARIABLE)


def check_programs(kit: Kit) -> None:
    """Refuse to run programs of a scenario on a machine without a wall.

    Programs are foreign code more often than modules are. The user may allow them by `TRUST`.
    """
    if _is_set(TRUST) or not (lacks := walls(kit).lacks):
        return
    raise InputError(
        f"this machine does not give guests {lacks}, and the scenario runs programs, which are "
        "kept from your files and your network by all of these; use --trust-programs "
        f"(or {TRUST}=1) to run them all the same"
    )


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


_found: dict[Path, Walls] = {}


def walls(kit: Kit) -> Walls:
    """Find the walls of this machine by running the launcher without a guest."""
    if kit.launcher not in _found:
        with tempfile.TemporaryDirectory(prefix="tailback-") as folder:
            done = subprocess.run(
                command(kit, Path(folder), 1, [LOADER, "--help"]),
                cwd=folder,
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        first = done.stdout.partition("\n")[0]
        if not first.startswith(SAYS):
            raise TailbackError(
                f"{kit.launcher} does not report its walls: {first or done.stderr}; "
                "run: tailback kernel build"
            )
        _found[kit.launcher] = Walls.parse(first)
    return _found[kit.launcher]


MOST_PLACES = 16
"""The most places of a run with programs: folders of the scenario, and package roots."""


def command(
    kit: Kit,
    workplace: Path,
    memory_mib: int,
    boot: Sequence[str],
    readable: Iterable[Path] = (),
) -> list[str]:
    """Return the command that starts a kernel confined to its workplace.

    `boot` is the kernel with its arguments; `readable` are further paths that it may read."""
    launcher = kit.launcher.resolve()
    linux = kit.linux.resolve()
    # The loader looks for libraries by these names, which may be links, so they are not resolved.
    programs = [LOADER, *_libraries(linux), linux, kit.library.resolve()]
    shown = [*map(Path, READABLE), kit.root, kit.path / "modules", *readable]
    words = [word for path in shown for word in ("-r", str(path.resolve()))]
    words += [word for path in programs for word in ("-x", str(path))]
    words += ["-w", str(workplace.resolve())]
    confined = "unconfined" if allowed() else "confined"
    # The launcher gets our process number, so that the guest ends when we end.
    start = [str(launcher), str(os.getpid()), str(memory_mib), confined, mode(kit)]
    return [*start, *words, "--", *boot]


def mode(kit: Kit) -> str:
    """How a kernel intercepts the system calls of its guest's processes; older ones use ptrace."""
    return "seccomp" if releases.of(kit.version) >= releases.SECCOMP else "ptrace"


@cache
def _libraries(linux: Path) -> tuple[str, ...]:
    """The libraries of this machine that a program is linked to."""
    done = subprocess.run(
        [LOADER, "--list", linux], capture_output=True, text=True, check=False, env={}
    )
    found = re.findall(r" => (/\S+) \(", done.stdout)
    if done.returncode or not found:
        raise TailbackError(
            f"{linux} finds no libraries on this machine: {done.stderr.strip()}; "
            "run: tailback kernel build"
        )
    return tuple(found)
