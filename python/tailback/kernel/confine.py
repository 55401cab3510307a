"""Confines a guest: the launcher, and which walls it could set up on this machine.

A guest's kernel is a process of this machine, and modules run in it. Whatever a module does, that
process does. The launcher (launch/main.c) starts the process behind walls; a warning lists the
walls that a machine does not have.
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
"""If it is 1, guests run even where no wall keeps them from this machine's files."""

TRUST = "TAILBACK_TRUST_PROGRAMS"
"""If it is 1, programs of scenarios run even where a wall is missing."""

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
    """The result of each wall."""

    missing: dict[str, str]
    """The walls that this machine does not have, with its reason."""

    @classmethod
    def parse(cls, line: str) -> Walls:
        """From the launcher's first line."""
        found = dict(re.findall(r"(\w+)=(\d+)", line.removeprefix(SAYS)))
        errors = {name: int(found.get(name, "38")) for name in WALLS}
        return cls({name: os.strerror(error) for name, error in errors.items() if error})

    @property
    def refused(self) -> bool:
        """Whether the launcher has not started the guest, because nothing kept it from files."""
        return {"mount", "landlock"} <= self.missing.keys() and not allowed()

    @property
    def lacks(self) -> str:
        """Name the missing walls that no other wall replaces; empty if none is missing."""
        lacks = dict(self.missing)
        # Each also confines signals and sockets; before Linux 6.12 there are no scopes.
        if not {"pid", "net"} & lacks.keys():
            lacks.pop("scopes", None)
        # Other walls replace these.
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

    Programs are foreign code more often than modules are. The user may trust them.
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
    """The walls of this machine: runs the launcher without a guest."""
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
"""Places of a run with programs: folders of a scenario, and package roots."""


def command(
    kit: Kit,
    workplace: Path,
    memory_mib: int,
    boot: Sequence[str],
    readable: Iterable[Path] = (),
) -> list[str]:
    """The command that starts the kernel, `boot`, in its workplace; it may read `readable` too."""
    launcher = kit.launcher.resolve()
    linux = kit.linux.resolve()
    # Libraries by the names that the loader looks for, which may be links.
    programs = [LOADER, *_libraries(linux), linux, kit.library.resolve()]
    shown = [*map(Path, READABLE), kit.root, kit.path / "modules", *readable]
    words = [word for path in shown for word in ("-r", str(path.resolve()))]
    words += [word for path in programs for word in ("-x", str(path))]
    words += ["-w", str(workplace.resolve())]
    confined = "unconfined" if allowed() else "confined"
    # It must end when we end, for whatever reason.
    start = [str(launcher), str(os.getpid()), str(memory_mib), confined, mode(kit)]
    return [*start, *words, "--", *boot]


def mode(kit: Kit) -> str:
    """How a kernel stops the processes of its guest at their calls: older ones by ptrace."""
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
