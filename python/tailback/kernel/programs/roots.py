"""Makes package roots, which are file systems for programs. Package roots consist of Debian's
packages, without files of this machine. The cache of guest kernels has the results:

    roots/pins/HASH.json    the versions chosen for some names of packages
    roots/HASH/root/        those packages, unpacked
    roots/HASH/root.json    their names and versions, and the hash of every file

Packages are unpacked but not installed. The packages' scripts never run, so this module makes the
few links and files that the scripts would generate. The versions of packages are chosen once and
stored. `tailback kernel build` asks Debian's archive for new versions.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.base import folders, foreign, names
from tailback.errors import InputError
from tailback.kernel import apt, contents, kit, manifest, process, releases
from tailback.kernel.apt import Apt, Deb
from tailback.kernel.steps import Steps

RECIPE = 1
"""Version of the recipe. Increase this number if a change to this package assembles the same
packages into a different root."""

FOLDER = "roots"
MANIFEST = "root.json"

BASE = ("libc6", "libgcc-s1", "libstdc++6", "ca-certificates", "busybox-static")
"""The packages of every root: the libraries that most programs need, certificates (which depend on
OpenSSL), and a shell with common tools.
"""

FOR_INSTALLING = frozenset(
    {
        *("adduser", "base-passwd", "debconf", "init-system-helpers", "libdebconfclient0"),
        *("libpam-modules", "libpam-modules-bin", "libsemanage-common", "login.defs", "passwd"),
    }
)
"""Packages that only installation scripts need. A root has such a package only if it is
requested."""

TO_USR = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
SUPERFLUOUS = tuple(
    f"usr/share/{name}"
    for name in ("doc", "man", "info", "locale", "lintian", "bash-completion", "doc-base", "bug")
)

BUSYBOX = "usr/bin/busybox"
CERTIFICATES = "usr/share/ca-certificates"
BUNDLE = "etc/ssl/certs/ca-certificates.crt"

NAME = r"[a-z0-9][a-z0-9+.-]{1,99}(=[A-Za-z0-9.+:~-]{1,99})?"

PIN: Mapping[str, manifest.Check] = {
    "packages": manifest.every(
        manifest.table(
            {
                "name": manifest.text(r"[a-z0-9][a-z0-9+.-]{1,99}"),
                "version": manifest.LINE,
                "file": manifest.text(r"[A-Za-z0-9][A-Za-z0-9._+%~-]{1,250}\.deb"),
                "size": manifest.whole,
                "sha256": manifest.SHA256,
            }
        )
    )
}
ROOT: Mapping[str, manifest.Check] = {
    "hash": manifest.SHA256,
    "packages": manifest.each(manifest.LINE, manifest.LINE),
    "files": manifest.each(manifest.INSIDE, manifest.ENTRY),
}


@dataclass(frozen=True)
class Root:
    """A package root in the cache, with its packages."""

    path: Path
    """The folder that programs see as /."""
    packages: dict[str, str]
    """The root's packages and their versions."""
    identity: str
    """Hash of the inputs from which the root was made."""


def get(packages: Iterable[str], steps: Steps) -> Root:
    """Return the root with these packages and the packages that every root has. Make it if
    necessary.

    Raises one `InputError` for all packages that Debian does not have.
    """
    asked = tuple(sorted(set(packages)))
    if wrong := [name for name in asked if not re.fullmatch(NAME, name)]:
        listed = ", ".join(f'"{foreign.line(name)}"' for name in wrong)
        raise InputError(f"{listed}: expected the name of a Debian package, or NAME=VERSION")
    cache = kit.cache() / FOLDER
    with _lock(cache, steps):
        debs = _pinned(cache, asked, steps)
        identity = _identity(debs)
        folder = cache / identity[:16]
        if not _sound(folder, identity):
            # The chosen versions may have disappeared from the package lists, but the archive still
            # has the packages.
            files = _archive().fetch(debs, steps)
            steps.step(f"unpacking {len(files)} packages for {', '.join(asked) or 'programs'}")
            _make(folder, files, identity, apt.versions_of(debs))
    return Root(folder / "root", dict(apt.versions_of(debs)), identity)


def verify(root: Root) -> None:
    """Raise an error if a root has changed since it was unpacked."""
    folder = root.path.parent
    facts = manifest.read(folder / MANIFEST, ROOT)
    if said := contents.differences(facts["files"], contents.of(folder, ("root",))):
        raise InputError(
            f"the packages in {root.path} have changed since they were unpacked: "
            f"{contents.listed(said)}; "
            f"remove {folder}, and it is made again"
        )


def forget() -> None:
    """Delete the stored versions, so that the next run asks the archive again."""
    for path in (kit.cache() / FOLDER / "pins").glob("*.json"):
        path.unlink(missing_ok=True)


def archive_names() -> list[str]:
    """Return the names of all packages in the archive's lists. Empty if no lists were fetched."""
    with contextlib.suppress(process.CommandFailed):
        return _archive().names("")
    return []


def _archive() -> Apt:
    cache = kit.cache()
    return Apt(cache / "apt", releases.NEWEST_SUITES, downloads=cache / "downloads")


def _pinned(cache: Path, asked: Sequence[str], steps: Steps) -> list[Deb]:
    key = {"asked": asked, "base": BASE, "without": sorted(FOR_INSTALLING)}
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    pin = cache / "pins" / f"{digest[:16]}.json"
    if pin.exists():
        return [Deb(**package) for package in manifest.read(pin, PIN)["packages"]]
    archive = _archive()
    archive.update(steps)
    steps.step(f"looking up {', '.join(asked) or 'the packages of programs'}")
    try:
        closure = archive.closure([*BASE, *asked])
    except process.CommandFailed as error:
        raise InputError(_refusal(error, archive)) from error
    plain = {name.partition("=")[0] for name in asked}
    needed = [package for package in closure if _kept(package.partition("=")[0], plain)]
    debs = sorted(archive.locate(needed), key=lambda deb: deb.name)
    pin.parent.mkdir(parents=True, exist_ok=True)
    manifest.write(pin, {"asked": asked, "packages": [vars(deb) for deb in debs]})
    return debs


def _kept(name: str, asked: set[str]) -> bool:
    return name in asked or name not in FOR_INSTALLING


def _refusal(error: process.CommandFailed, archive: Apt) -> str:
    """Return apt's error about the packages, and suggest the nearest valid names."""
    messages = []
    for line in error.lines:
        if missing := re.match(r"E: (?:Unable to locate package|Version .* for) (\S+)", line):
            name = missing[1].strip("'‘’")
            near = archive.names(name[:2])
            messages.append(names.unknown("package", name, near) if near else line[3:])
        elif line.startswith("E: ") or re.search(r" but \S+ is (not|to be) ", line):
            messages.append(line.removeprefix("E: ").strip())
    return "\n".join(dict.fromkeys(messages)) or str(error)


def _identity(debs: Sequence[Deb]) -> str:
    parts = {"recipe": RECIPE, "packages": sorted(deb.sha256 for deb in debs)}
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _sound(folder: Path, identity: str) -> bool:
    try:
        facts: dict[str, Any] = manifest.read(folder / MANIFEST, ROOT)
    except InputError:
        return False
    return bool(facts["hash"] == identity and (folder / "root").is_dir())


def _make(folder: Path, files: Sequence[Path], identity: str, versions: Mapping[str, str]) -> None:
    """Assemble a root in a temporary folder, then replace the old root."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folders.remove(folder, inside=folder.parent)
    with folders.scratch(folder.parent) as scratch:
        staging = scratch / "made"
        root = staging / "root"
        _assemble(files, root)
        manifest.write(
            staging / MANIFEST,
            {"hash": identity, "packages": versions, "files": contents.of(staging, ("root",))},
        )
        staging.rename(folder)


def _assemble(files: Sequence[Path], root: Path) -> None:
    for name in TO_USR:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for deb in files:
        apt.unpack(deb, root)
    for name in SUPERFLUOUS:
        folders.remove(root / name, inside=root)
    for name in ("etc", "var", "var/log", "var/tmp", "var/cache", "var/lib"):
        (root / name).mkdir(exist_ok=True)
    (root / "var/run").unlink(missing_ok=True)
    (root / "var/run").symlink_to("/run")
    _tools(root)
    _certificates(root)
    for base, inner, names_ in os.walk(root):
        for name in (*inner, *names_):
            _plain_mode(Path(base, name))


def _tools(root: Path) -> None:
    """Add sh and the common tools from busybox, if no package has them."""
    for line in process.run([root / BUSYBOX, "--list-full"]):
        path = root / "usr" / line.removeprefix("usr/")
        is_tool = re.fullmatch(r"(usr/)?s?bin/[a-zA-Z0-9_.\[-]+", line)
        if is_tool and not path.is_symlink() and not path.exists():
            path.symlink_to("/usr/bin/busybox")


def _certificates(root: Path) -> None:
    """Write the bundle of certificates, which the installation script of ca-certificates would
    write."""
    texts = [path.read_bytes() for path in sorted((root / CERTIFICATES).rglob("*.crt"))]
    bundle = root / BUNDLE
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_bytes(b"".join(text.rstrip(b"\n") + b"\n" for text in texts))


def _plain_mode(path: Path) -> None:
    """Make files readable for this user and writable only for their owner. Packages may set other
    modes.
    """
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return
    path.chmod((mode & 0o755) | (0o700 if stat.S_ISDIR(mode) else 0o600))


@contextlib.contextmanager
def _lock(cache: Path, steps: Steps) -> Iterator[None]:
    """Let only one process unpack packages into root file systems. A second process waits, and then
    uses the result of the first process.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            steps.step("waiting for another process to unpack packages")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
