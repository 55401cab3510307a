"""Finds which confinement mechanisms, such as namespaces, this machine supports.

tailback calls each mechanism a layer of isolation ("wall" in code).

A guest's kernel runs as a process of this machine. The guest's modules run in that process with the
same rights. The launcher (launch/main.c) therefore sets up the layers of isolation before it starts
the process. A warning lists the layers of isolation that the machine does not support.
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
"""If this environment variable is 1, guests run even if no layer of isolation protects this
machine's files."""

TRUST = "TAILBACK_TRUST_PROGRAMS"
"""If this environment variable is 1, programs of scenarios run even if a layer of isolation is
missing."""

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
"""The layers of isolation, with a description of each. The keys are the names that the launcher
prints in its first line."""

SAYS = "tailback: walls "

UNCONFINED = 126
"""Exit status of the launcher if it did not start the guest because layers of isolation are
missing."""

SPARE_MIB = 576
"""Memory, in MiB, that a guest's process may use on this machine in addition to the guest's own
memory. The launcher enforces the limit."""

LOADER = "/lib64/ld-linux-x86-64.so.2"

READABLE = ("/etc/ld.so.cache", "/proc/cpuinfo")
"""Paths of this machine that a guest may read: the cache of library paths, and the processor's
properties.
"""


@dataclass(frozen=True)
class Walls:
    """The layers of isolation that the launcher could set up, and the layers that it could not set
    up.
    """

    missing: dict[str, str]
    """The layers of isolation that could not be set up, each with its reason."""

    @classmethod
    def parse(cls, line: str) -> Walls:
        """Parse the launcher's first output line, which lists error numbers."""
        found = dict(re.findall(r"(\w+)=(\d+)", line.removeprefix(SAYS)))
        errors = {name: int(found.get(name, "38")) for name in WALLS}
        return cls({name: os.strerror(error) for name, error in errors.items() if error})

    @property
    def refused(self) -> bool:
        """Whether the launcher refuses to start the guest, because the guest could read this
        machine's files.
        """
        return {"mount", "landlock"} <= self.missing.keys() and not allowed()

    @property
    def lacks(self) -> str:
        """Return the layers of isolation that this machine does not support, each with the
        reason."""
        lacks = dict(self.missing)
        # Linux before 6.12 has no Landlock scopes for signals and sockets. These scopes are not
        # needed if the guest has separate PID and network namespaces.
        if not {"pid", "net"} & lacks.keys():
            lacks.pop("scopes", None)
        # The user namespace is only needed to make other namespaces. If the mount namespace exists,
        # ignore a missing user namespace.
        if "mount" not in lacks:
            lacks.pop("user", None)
        return ", ".join(f"{WALLS[name]} ({reason})" for name, reason in lacks.items())

    @property
    def warning(self) -> str | None:
        """Return a warning about unsupported layers of isolation, or `None`."""
        if not self.lacks:
            return None
        return (
            f"this machine does not support {self.lacks} for guests, so a malicious module could "
            "access more than its own run; docs/concepts/isolation.md describes the sandbox"
        )


REFUSED = (
    "this machine has neither Landlock nor mount namespaces, so that a guest's modules could read "
    "and write what you can; use --unconfined (or TAILBACK_UNCONFINED=1) to run guests anyway"
)


def allowed() -> bool:
    """Return whether the user has allowed guests without confinement."""
    return _is_set(VARIABLE)


def check_programs(kit: Kit) -> None:
    """For a scenario with programs, raise `InputError` unless this machine supports all layers of
    isolation.

    The rule for programs is stricter than the rule for modules, because programs are more often
    untrusted code. The environment variable that `TRUST` names allows programs on any machine.
    """
    if _is_set(TRUST) or not (lacks := walls(kit).lacks):
        return
    raise InputError(
        f"this machine does not give guests {lacks}, so the programs of the scenario could "
        "access your files and your network; use --trust-programs (or "
        f"{TRUST}=1) to run the programs anyway"
    )


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


_found: dict[Path, Walls] = {}


def walls(kit: Kit) -> Walls:
    """Run the launcher without a guest, to find which layers of isolation it can set up."""
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
                f"{kit.launcher} does not report how it isolates guests: {first or done.stderr}; "
                "run: tailback kernel build"
            )
        _found[kit.launcher] = Walls.parse(first)
    return _found[kit.launcher]


MOST_PLACES = 16
"""The largest number of places of a run with programs. A place is a folder of the scenario or a
package root."""


def command(
    kit: Kit,
    workplace: Path,
    memory_mib: int,
    boot: Sequence[str],
    readable: Iterable[Path] = (),
) -> list[str]:
    """Return the command that starts a kernel which can access only its workplace.

    `boot` is the kernel's command line. `readable` lists further paths that the kernel may read.
    """
    launcher = kit.launcher.resolve()
    linux = kit.linux.resolve()
    # The dynamic loader opens the loader and libraries by these paths, so do not replace symbolic
    # links by their targets.
    programs = [LOADER, *_libraries(linux), linux, kit.library.resolve()]
    shown = [*map(Path, READABLE), kit.root, kit.path / "modules", *readable]
    words = [word for path in shown for word in ("-r", str(path.resolve()))]
    words += [word for path in programs for word in ("-x", str(path))]
    words += ["-w", str(workplace.resolve())]
    confined = "unconfined" if allowed() else "confined"
    # The launcher kills the guest when the process with this id (tailback's own process) ends.
    start = [str(launcher), str(os.getpid()), str(memory_mib), confined, mode(kit)]
    return [*start, *words, "--", *boot]


def mode(kit: Kit) -> str:
    """Return how the kernel intercepts system calls of the guest's processes, which is `seccomp`,
    or `ptrace` in older releases."""
    return "seccomp" if releases.of(kit.version) >= releases.SECCOMP else "ptrace"


@cache
def _libraries(linux: Path) -> tuple[str, ...]:
    """Return the shared libraries that a program loads."""
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
