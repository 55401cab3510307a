"""Makes the guest's root file system: a folder with a few unpacked packages and no files of this
machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tailback.base import folders
from tailback.errors import TailbackError
from tailback.kernel import apt, process
from tailback.kernel.apt import Apt, Deb

RECIPE = 3
"""Version of the recipe. Increase this number if a change to this package assembles the same
packages into a different root."""

PACKAGES = ("libc6", "iproute2", "busybox-static")
"""The packages with the programs that the guest runs. Further libraries are dependencies of
iproute2."""

# Matches the libraries that iproute2 depends on, except libraries that it needs only for
# installation.
LIBRARY = re.compile(
    r"lib(?!debian-installer|c-gconv|newt|readline|slang|textwrap)(?!.*-bin).*\d.*|zlib1g"
)
PROGRAMS = ("usr/sbin/tc", "usr/sbin/ip", "usr/bin/ss")
EMPTY = ("proc", "sys", "run", "dev", "tmp", "job", "results", "extra", "modules", "programs")
INIT = """#!/usr/bin/busybox sh
for folder in job results extra; do
    /usr/bin/busybox mount -t hostfs none /$folder -o /$folder || exit 1
done
if [ -e /job/places ]; then
    /usr/bin/busybox mount -t tmpfs none /programs || exit 1
    while read name; do
        /usr/bin/busybox mkdir /programs/$name
        /usr/bin/busybox mount -r -t hostfs none /programs/$name -o /programs/$name || exit 1
    done < /job/places
fi
exec /job/agent
"""
"""The init script of the guest. The script mounts the run's own folders, and each place of a run
with programs. The agent sets up everything else.
"""
TO_USR = ("bin", "sbin", "lib", "lib64")
SUPERFLUOUS = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/bash-completion",
    "usr/share/info",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/x86_64-linux-gnu/audit",
    "usr/lib/x86_64-linux-gnu/ossl-modules",
    "usr/lib/x86_64-linux-gnu/engines-3",
    "usr/lib/locale",
    "etc",
    "var",
)


def packages(source: Apt) -> list[Deb]:
    """Return the newest versions of the packages of the root."""
    closure = source.dependencies("iproute2")
    libraries = [name for name in closure if LIBRARY.fullmatch(name)]
    return source.locate(list(dict.fromkeys([*PACKAGES, *sorted(libraries)])))


def assemble(debs: Sequence[Path], into: Path) -> None:
    """Unpack the packages into a new folder, and check that the programs find their libraries."""
    folders.remove(into, inside=into.parent)
    for name in TO_USR:
        (into / "usr" / name).mkdir(parents=True)
        (into / name).symlink_to(f"usr/{name}")
    for deb in debs:
        apt.unpack(deb, into)
    for name in SUPERFLUOUS:
        folders.remove(into / name, inside=into)
    for name in EMPTY:
        (into / name).mkdir(exist_ok=True)
        # The guest needs neither world-writable folders nor sticky bits.
        (into / name).chmod(0o755)
    (into / "etc").mkdir()
    init = into / "init"
    init.write_text(INIT, encoding="ascii")
    init.chmod(0o755)
    shell = into / "usr/bin/sh"
    if not shell.exists():
        shell.symlink_to("busybox")
    for program in PROGRAMS:
        missing = missing_libraries(into, program)
        if missing:
            raise TailbackError(
                f"{program} of the guest's root does not have {', '.join(missing)}: "
                "its packages are newer than this version of tailback; install a newer tailback"
            )


def missing_libraries(root: Path, program: str) -> list[str]:
    """Return the libraries that a program needs and that the root does not contain."""
    loader = root / "usr/lib64/ld-linux-x86-64.so.2"
    folders = [root / "usr/lib/x86_64-linux-gnu", root / "usr/lib"]
    try:
        lines = process.run(
            [
                loader.resolve(),
                "--inhibit-cache",
                "--library-path",
                ":".join(map(str, folders)),
                "--list",
                root / program,
            ]
        )
    except process.CommandFailed as error:
        # The loader stops at the first library that it cannot find.
        return re.findall(r"libraries: (\S+):", str(error)) or [str(error)]
    found = re.findall(r"^\s*(\S+) => (\S+)", "\n".join(lines), re.MULTILINE)
    # A library outside of the root belongs to this machine, so it counts as missing.
    return [name for name, path in found if not Path(path).resolve().is_relative_to(root.resolve())]
