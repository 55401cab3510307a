"""Checks the programs that a kernel build needs, and fetches small programs that are missing.

gcc and make have to be installed. flex, bison, m4, bc and xz are small. If one of these small
programs is missing, tailback unpacks its package into the cache and uses the program from there.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tailback.errors import InputError
from tailback.kernel import apt
from tailback.kernel.steps import Steps

REQUIRED = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "tar": "tar",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
"""The Debian package of each required program."""

FETCHABLE = {
    "flex": ("flex",),
    "bison": ("bison",),
    "m4": ("m4", "libsigsegv2"),
    "bc": ("bc", "libreadline8", "libreadline8t64"),
    "xz": ("xz-utils",),
    "patch": ("patch",),
}
"""For each program, the packages to unpack: first its own package, then libraries that a minimal
system may not have.

The names of library packages differ between Debian's releases. The list contains the package names
of all releases, and only existing packages are used.
"""

Which = Callable[[str], str | None]


def missing_packages(
    which: Which = shutil.which, *, has_headers: Callable[[], bool] | None = None
) -> list[str]:
    """Return the Debian packages that must be installed, without repetition."""
    packages = [package for program, package in REQUIRED.items() if not which(program)]
    if which("gcc") and not (has_headers or _has_headers)():
        packages.append("libc6-dev")
    if not apt.KEYRING.exists():
        packages.append("debian-archive-keyring")
    return packages


def missing_message(packages: Sequence[str]) -> str:
    """Return one line with the command that installs all of the packages."""
    names = " ".join(packages)
    return f"the kernel build needs {', '.join(packages)}; run: sudo apt install {names}"


def check() -> None:
    """Raise `InputError` on a machine that cannot build the guest kernel."""
    machine = platform.machine()
    if machine != "x86_64":
        raise InputError(
            f"the guest kernel is built and runs on x86_64 only, and this is {machine}; "
            "use the simulator, or another machine"
        )
    if packages := missing_packages():
        raise InputError(missing_message(packages))


def environment(cache: Path, steps: Steps) -> dict[str, str]:
    """Return environment variables that let the build find all its programs."""
    absent = [program for program in FETCHABLE if not shutil.which(program)]
    if not absent:
        return {}
    folder = cache / "tools"
    if not all((folder / "bin" / program).exists() for program in absent):
        _fetch(cache, folder, absent, steps)
    variables = {"PATH": f"{folder}/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    if "bison" in absent:
        variables["BISON_PKGDATADIR"] = str(folder / "unpacked/usr/share/bison")
    if "m4" in absent:
        variables["M4"] = str(folder / "bin/m4")
    return variables


def _fetch(cache: Path, folder: Path, absent: Sequence[str], steps: Steps) -> None:
    suite = apt.machine_suite()
    if suite is None:
        raise InputError(missing_message([FETCHABLE[program][0] for program in absent]))
    # Take packages of the machine's own release, because newer programs may need a newer libc.
    source = apt.Apt(cache / "apt-tools", [suite], downloads=cache / "downloads")
    source.update(steps)
    wanted = sorted({package for program in absent for package in FETCHABLE[program]})
    names = [name for name in wanted if source.versions(name)]
    unpacked = folder / "unpacked"
    for deb in source.fetch(source.locate(names), steps):
        apt.unpack(deb, unpacked)
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    libraries = [unpacked / "usr/lib/x86_64-linux-gnu", unpacked / "lib/x86_64-linux-gnu"]
    for program in absent:
        # A wrapper script sets the library path for this program only. A path set for the whole
        # build would also affect gcc and make.
        path = folder / "bin" / program
        path.write_text(
            "#!/bin/sh\n"
            f"LD_LIBRARY_PATH='{':'.join(map(str, libraries))}' "
            f"exec '{_program(unpacked, program)}' \"$@\"\n",
            encoding="utf-8",
        )
        path.chmod(0o755)


def _program(unpacked: Path, name: str) -> Path:
    for folder in ("usr/bin", "bin"):
        if (path := unpacked / folder / name).exists():
            return path
    raise InputError(missing_message([FETCHABLE[name][0]]))


def _has_headers() -> bool:
    done = subprocess.run(
        ["gcc", "-E", "-"],
        input=b"#include <stdio.h>\n#include <sys/ptrace.h>\n",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0
