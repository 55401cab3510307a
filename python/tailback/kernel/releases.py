"""Releases of Linux: where Debian keeps their sources, and which features each does not have.

Each difference is declared in one of these tables. Start here to add a release.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tailback.base.names import unknown
from tailback.errors import InputError

Release = tuple[int, int]

NEWEST = "newest"

NEWEST_SUITES = ("trixie", "trixie-backports", "sid")
"""The suites of the newest source and of the packages of the guest's root."""

SUITES: dict[str, tuple[str, ...]] = {
    "5.10": ("bullseye",),
    "6.1": ("bookworm",),
    "6.12": ("trixie",),
}
"""For each release number, the suites of Debian that have its source."""

SECCOMP: Release = (6, 16)
"""First User-mode Linux that can intercept system calls of its processes with seccomp
(`seccomp=on`); earlier ones use ptrace."""

ROOT_WITHOUT_DEVICE: Release = (6, 6)
"""First Linux that can mount a root file system without a device, whatever `root` names."""

COMPAT: Release = (7, 1)
"""First Linux for which modules are built unchanged; for earlier ones compat.h is included."""

HOST_RANDOM: Release = (5, 19)
"""First User-mode Linux that takes its entropy from this machine's getrandom()."""


@dataclass(frozen=True)
class Help:
    """Changes that let an older kernel build and run like the newest."""

    before: Release
    """The changes are for kernels before this release."""
    reason: str
    make: tuple[str, ...] = ()
    """Additional arguments of make."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Additional options of the kernel's configuration."""


HELPS: tuple[Help, ...] = (
    Help(
        before=(6, 10),
        reason="CONFIG_BASE_SMALL was a number that followed from CONFIG_BASE_FULL",
        options={"CONFIG_BASE_FULL": "y", "CONFIG_BASE_SMALL": "0"},
    ),
    Help(
        before=(6, 2),
        reason="the small allocator was SLOB, whose memory is not aligned as gcc 12 takes it to be "
        "when it makes SSE of two stores (qdisc_alloc)",
        options={"CONFIG_SLUB": "y"},
    ),
    Help(
        before=(5, 15),
        reason="only what has block devices mounted a root of any kind",
        options={"CONFIG_BLOCK": "y"},
    ),
)


def of(version: str) -> Release:
    """The first two numbers of a version such as 6.1.176; (0, 0) if it begins otherwise."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def numbers(version: str) -> list[int]:
    """The numbers of a version, as a key to sort versions by."""
    return [int(number) for number in re.findall(r"\d+", version)]


def text(version: str) -> str:
    """Return the release of a version as text, such as 6.1."""
    return ".".join(map(str, of(version)))


def suites(release: str) -> tuple[str, ...]:
    """The suites that have the source of a release."""
    if release == NEWEST:
        return NEWEST_SUITES
    if release not in SUITES:
        raise InputError(unknown("release", release, [*SUITES, NEWEST]))
    return SUITES[release]


def helps(version: str) -> Sequence[Help]:
    """Return the changes that the build of this kernel needs."""
    return [one for one in HELPS if of(version) < one.before]
