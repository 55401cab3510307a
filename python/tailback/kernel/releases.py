"""Lists releases of Linux, with the Debian suites that have their sources, and the features that
are missing in old releases.

The tables in this module declare all differences between releases. To support another release, add
it to these tables.
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
"""The suites of the newest kernel source, and of the packages of the guest's root."""

SUITES: dict[str, tuple[str, ...]] = {
    "5.10": ("bullseye",),
    "6.1": ("bookworm",),
    "6.12": ("trixie",),
}
"""For each release, the suites of Debian that have its source."""

SECCOMP: Release = (6, 16)
"""The first release in which User-mode Linux can intercept system calls with seccomp
(`seccomp=on`). Earlier releases use ptrace."""

ROOT_WITHOUT_DEVICE: Release = (6, 6)
"""The first release that can mount a root file system without a device, whatever the value of
`root` is."""

COMPAT: Release = (7, 1)
"""The first release for which modules are compiled unchanged. For earlier releases, modules include
compat.h."""

HOST_RANDOM: Release = (5, 19)
"""The first release in which User-mode Linux takes its entropy from this machine's getrandom()."""


@dataclass(frozen=True)
class Help:
    """Settings with which an older kernel builds and runs like the newest kernel."""

    before: Release
    """The changes apply to kernels before this release."""
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
    """Return the first two numbers of a version such as 6.1.176. Return (0, 0) if the version does
    not begin with numbers.
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def numbers(version: str) -> list[int]:
    """Return the numbers of a version, as a key for sorting versions."""
    return [int(number) for number in re.findall(r"\d+", version)]


def text(version: str) -> str:
    """Return the first two numbers of a version as text, such as 6.1."""
    return ".".join(map(str, of(version)))


def suites(release: str) -> tuple[str, ...]:
    """Return the suites that have the source of a release."""
    if release == NEWEST:
        return NEWEST_SUITES
    if release not in SUITES:
        raise InputError(unknown("release", release, [*SUITES, NEWEST]))
    return SUITES[release]


def helps(version: str) -> Sequence[Help]:
    """Return the changes that a kernel of this version needs."""
    return [one for one in HELPS if of(version) < one.before]
