"""Prepares kernel sources: a release of Debian, a tree, or a tarball. Each source is unpacked once
into the cache.

Parts that User-mode Linux never compiles (other processors, graphics, sound) are left out, which
saves a third of the size. The Kconfig files of these parts are kept, because other Kconfig files
include them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailback.base import folders
from tailback.errors import InputError, TailbackError
from tailback.kernel import process, releases
from tailback.kernel.apt import Apt, Deb, newest
from tailback.kernel.steps import Steps

OLDEST = (6, 17)
"""The first release with DualPI2. The newest kernel of Debian must be at least this release."""

OTHER_PROCESSORS = (
    *("alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k", "microblaze"),
    *("mips", "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa"),
)
WIRELESS_MAKERS = ("ath", "broadcom", "intel", "marvell", "mediatek", "realtek", "ti")
NEVER_FOR_UML = {
    (".c", ".h", ".S", ".dts", ".dtsi", ".dtso"): (
        *(f"arch/{name}" for name in OTHER_PROCESSORS),
        "drivers/gpu",
        "drivers/infiniband",
        "drivers/media",
        "drivers/net/ethernet",
        *(f"drivers/net/wireless/{name}" for name in WIRELESS_MAKERS),
        "drivers/staging",
        "sound",
        "tools/perf",
        "tools/testing",
    ),
    (".rst", ".txt", ".yaml", ".svg"): ("Documentation",),
}
"""Files to leave out. Maps the ending of a file name to the folders in which files with this ending
are left out."""

PRODUCTS = (".o", ".a", ".ko", ".so", ".cmd", ".mod", ".mod.c", ".order", ".symvers")
PRODUCT_FOLDERS = re.compile(r"(include|arch/\w+/include)/(config|generated)|.*/\.git|\.git")
PRODUCT_FILES = (".config", ".config.old", "vmlinux", "vmlinux.unstripped", "System.map", "linux")


@dataclass(frozen=True)
class KernelSource:
    """A kernel tree in the cache."""

    identity: str
    """The identity of the source: a package and its version, or a hash of the content."""
    folder: Path
    """The folder of the tree. The folder exists once `prepare` has run."""
    package: dict[str, str] | None = None
    """Name and version of the source's Debian package. None if the source does not come from
    Debian."""
    deb: Deb | None = None
    origin: Path | None = None
    """The user's tree, tarball or package file. None if the source comes from Debian."""
    patch: dict[str, str] = field(default_factory=dict)
    """The patches of tailback that were applied to the source, with their hashes."""


def newest_package(apt: Apt) -> tuple[str, str]:
    """Return name and version of Debian's newest linux-source."""
    candidates: list[tuple[tuple[int, int], str]] = []
    for name in apt.names("linux-source-"):
        match = re.fullmatch(r"linux-source-(\d+)\.(\d+)", name)
        if match and (number := (int(match[1]), int(match[2]))) >= OLDEST:
            candidates.append((number, name))
    for _number, name in sorted(candidates, reverse=True):
        # apt's package lists may name a package that this suite no longer provides.
        if versions := apt.versions(name):
            return name, newest(versions)
    raise TailbackError(
        f"Debian's archive has no linux-source >= {OLDEST[0]}.{OLDEST[1]}; "
        "name a tree or tarball with --source"
    )


def package_of(apt: Apt, release: str) -> tuple[str, str]:
    """Return name and version of Debian's linux-source for a release such as "6.1", or for the
    newest release."""
    if release == releases.NEWEST:
        return newest_package(apt)
    name = f"linux-source-{release}"
    if name in apt.names(name) and (versions := apt.versions(name)):
        return name, newest(versions)
    suites = ", ".join(releases.suites(release))
    raise TailbackError(f"Debian's archive has no {name} ({suites}); name a tree with --source")


def debian(apt: Apt, cache: Path, release: str = releases.NEWEST) -> KernelSource:
    """Return Debian's source for a release."""
    name, version = package_of(apt, release)
    [deb] = apt.locate([f"{name}={version}"])
    return KernelSource(
        identity=f"{name}={version}",
        folder=cache / "sources" / f"{name}_{version}".replace(":", "_"),
        package={"name": name, "version": version},
        deb=deb,
    )


def users(path: Path, cache: Path, steps: Steps) -> KernelSource:
    """Return the source from the user's tree, tarball or linux-source package file."""
    path = path.resolve()
    if path.is_dir():
        for needed in ("Makefile", "Kconfig", "arch/um/Kconfig"):
            if not (path / needed).exists():
                raise InputError(
                    f"{path}: not a kernel source tree: it does not have {needed}; name its top "
                    f"folder"
                )
        steps.step("reading the source tree")
        identity = f"tree:{tree_hash(path)}"
    elif path.is_file():
        steps.step("reading the source archive")
        with path.open("rb") as file:
            identity = f"file:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    else:
        raise InputError(f"{path}: no such file or folder; name a kernel tree or tarball")
    short = identity.replace(":", "-")[:21]
    return KernelSource(identity=identity, folder=cache / "sources" / short, origin=path)


def prepare(source: KernelSource, apt: Apt | None, env: dict[str, str], steps: Steps) -> None:
    """Unpack the tree into its folder, unless the folder exists."""
    if source.folder.exists():
        return
    begun = source.folder.with_name(source.folder.name + ".part")
    folders.remove(begun, inside=begun.parent)
    begun.mkdir(parents=True)
    origin = source.origin
    if origin is not None and origin.is_dir():
        steps.step("copying the source tree")
        for relative in tree_files(origin):
            target = begun / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin / relative, target, follow_symlinks=False)
    else:
        if source.deb is not None and apt is not None:
            [origin] = apt.fetch([source.deb], steps)
        assert origin is not None
        steps.step(f"unpacking {source.identity}")
        _unpack(origin, begun, env)
        if not (begun / "arch/um/Kconfig").exists():
            raise InputError(
                f"{origin}: not the source of a kernel: no arch/um/Kconfig in it; "
                "name a kernel tree or tarball"
            )
    begun.rename(source.folder)


def tree_files(tree: Path) -> Iterator[str]:
    """Yield the sorted paths of a tree's files. Skip build products and the parts that this module
    leaves out.
    """
    for folder, inner, files in os.walk(tree):
        at = os.path.relpath(folder, tree)
        prefix = "" if at == "." else at + "/"
        # A link to a folder counts as a file.
        linked = [name for name in inner if os.path.islink(os.path.join(folder, name))]
        inner[:] = sorted(
            name
            for name in inner
            if name not in linked and not PRODUCT_FOLDERS.fullmatch(prefix + name)
        )
        for name in sorted([*files, *linked]):
            if name.endswith(PRODUCTS) or (not prefix and name in PRODUCT_FILES):
                continue
            if not left_out(prefix + name):
                yield prefix + name


def left_out(relative: str) -> bool:
    """Return whether a file belongs to a part of the kernel that this module leaves out."""
    for endings, places in NEVER_FOR_UML.items():
        if relative.endswith(endings):
            return any(relative.startswith(place + "/") for place in places)
    return False


def tree_hash(tree: Path) -> str:
    """Return a hash of the names and contents of the files that `tree_files` yields."""
    total = hashlib.sha256()
    for relative in tree_files(tree):
        path = tree / relative
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        total.update(f"{relative}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def kernel_version(folder: Path) -> str:
    """Return the version in the tree's Makefile, such as 7.3.4."""
    fields: dict[str, str] = {}
    for line in (folder / "Makefile").read_text(encoding="utf-8").splitlines()[:20]:
        name, equals, value = line.partition("=")
        if equals:
            fields[name.strip()] = value.strip()
    numbers = [fields.get(name, "") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(number for number in numbers if number) + fields.get("EXTRAVERSION", "")


def _unpack(archive: Path, into: Path, env: dict[str, str]) -> None:
    variables = process.environment(env)
    if archive.suffix == ".deb":
        # The package has one large tarball, which is unpacked through a pipe.
        stream = 'dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "./usr/src/*.tar.xz" | xz -dc'
        file = "-"
    else:
        stream, file = ":", '"$1"'
    script = f"{stream} | tar -tf {file} 2>/dev/null | head -n 1"
    names = process.run(["bash", "-c", script, "bash", archive], env=variables)
    # The tarball has a single folder. The folder's name depends on the archive.
    match = re.match(r"(\./)?[^/]+", names[0]) if names else None
    if match is None:
        raise InputError(
            f"{archive}: not an archive of kernel source; name a kernel tree or tarball"
        )
    excludes = [
        f"--exclude={match[0]}/{folder}/*{ending}"
        for endings, folders in NEVER_FOR_UML.items()
        for folder in folders
        for ending in endings
    ]
    depth = 2 if match[1] else 1
    options = ["--anchored", "--wildcards", f"--strip-components={depth}", "-C", str(into)]
    script = f'set -o pipefail; {stream} | tar -xf {file} "${{@:2}}"'
    try:
        process.run(["bash", "-c", script, "bash", archive, *options, *excludes], env=variables)
    except process.CommandFailed as error:
        raise InputError(
            f"{archive}: cannot be unpacked: {error}; name a tarball that is complete"
        ) from error
