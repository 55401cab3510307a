"""Finds the built guest kernels, and provides their properties to the engine.

A guest kernel ("kit" in code) is a kernel with its modules, tools and the guest's root
file system.

    from tailback.kernel import kit

    with_mine = kit.current().with_modules(["mycodel"])
    with_mine.load_order(qdiscs=["codel"], ccs=["cubic"])  # paths, first to last

This module never changes a guest kernel. `tailback.kernel.build` makes guest kernels.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.base import foreign, names
from tailback.errors import InputError
from tailback.kernel import contents, releases
from tailback.kernel import manifest as manifests

COMMAND = "tailback kernel build"
MANIFEST = "kit.json"
SHELF = "module.json"
"""File name of the manifest of a module that the user built into the guest kernel."""
LIBRARY = "libguest.so"
LAUNCHER = "launch"
HERE = Path(__file__).parent
PROGRAMS: dict[str, tuple[str, ...]] = {
    LIBRARY: ("preload/memory.c", "preload/random.c"),
    LAUNCHER: (
        "launch/filter.c",
        "launch/landlock.c",
        "launch/main.c",
        "launch/namespaces.c",
        "launch/privileges.c",
        "launch/root.c",
        "launch/launch.h",
    ),
}
"""The programs of a guest kernel that run on this machine, by file name, with the source files of
each."""
SCHEDULE = "tbsched"
"""The kernel module of the queue discipline that marks and drops by packet number."""
OUTAGE = "sch_outage"
"""The kernel module of the queue discipline that holds packets back while a link's rate is 0."""
IMPAIR = "sch_impair"
"""The folder of kernel modules for the impairments that netem does not have."""
FORMAT = 2
OF_KIT = ("linux", "root")
"""The files and folders of a guest kernel that are hashed when the guest kernel is assembled."""
HASHED = (
    "recipe",
    "files",
    "kernel",
    "config_hash",
    "patches",
    "iproute2",
    "packages",
    "qdisc",
    "cc",
    "modules",
)
"""The keys of the manifest that identify a guest kernel. The other keys describe the origin of the
guest kernel."""


@dataclass(frozen=True)
class Kit:
    """A built kernel with its root file system, and the user's modules that replace the kernel's
    own modules."""

    path: Path
    """Folder of the guest kernel in tailback's cache."""
    version: str
    """Version of the kernel, such as 7.3.4."""
    ccs: dict[str, str | None]
    """For each congestion control, the module that contains it, or None if it is built in."""
    qdiscs: dict[str, str | None]
    """For each kind of qdisc, the module that contains it, or None if it is built in."""
    linux: Path
    """The kernel, which is a program of this machine."""
    root: Path
    """The guest's root. Runs share this folder, so no run may write to it."""
    modules: dict[str, Path]
    """For each module, its .ko file on this machine."""
    depends: dict[str, tuple[str, ...]]
    """For each module, the modules that must be loaded before it."""
    identity: str
    """Hash of everything that can change a result: kernel, configuration, guest packages,
    modules."""
    manifest: dict[str, Any]
    """The content of kit.json. The manifests of chosen modules are under the key "chosen"."""

    @property
    def release(self) -> str:
        """The release of the guest kernel, such as 7.3."""
        return releases.text(self.version)

    @property
    def lets_time_pass(self) -> bool:
        """Whether virtual time advances while a program polls. Without tailback's patch of the
        kernel, virtual time stops while a program polls.
        """
        return "programs" in self.manifest.get("patches", {})

    @property
    def library(self) -> Path:
        """The library that is preloaded into the guest kernel's process. The library replaces the
        process's sources of random numbers by a seeded generator. The library also replaces the
        file for the guest's memory by anonymous memory.
        """
        return self.path / LIBRARY

    @property
    def launcher(self) -> Path:
        """The launcher, which starts a guest's kernel. The launcher confines the kernel to the
        files of the kernel's own run.
        """
        return self.path / LAUNCHER

    def verify(self, modules: Iterable[str] = ()) -> None:
        """Raise an error if the guest kernel or one of the user's modules has changed since it was
        built.

        `modules` names the user's modules to check, by their folders in `extras`. Later calls are
        fast, because unchanged files are not read again.
        """
        faults = contents.differences(self.manifest["files"], contents.of(self.path, OF_KIT))
        if content_hash(self.manifest) != self.manifest["hash"]:
            faults.append(f"{MANIFEST} differs")
        for name, texts in PROGRAMS.items():
            entry = self.manifest["programs"].get(name)
            built = contents.sha256(self.path / name)
            if entry is None or not built:
                faults.append(f"{name} is missing")
            elif entry["sha256"] != built:
                faults.append(f"{name} differs")
            elif entry["source"] != source_hash(texts):
                faults.append(f"{name} is that of another version of tailback")
        extra = self.path / "modules"
        if extra.is_symlink() and not extra.is_dir():
            faults.append(f"modules links to {os.readlink(extra)}, which is no folder")
        if faults:
            raise InputError(
                f"the guest kernel in {self.path} has changed since it was built: "
                f"{contents.listed(faults)}; "
                f"run: {COMMAND}"
            )
        for folder in sorted(set(modules)):
            self._verify_shelf(self.path / "modules" / folder)

    def _verify_shelf(self, shelf: Path) -> None:
        manifest = manifests.read(shelf / SHELF, manifests.MODULE)
        if said := shelf_differences(shelf, manifest):
            again = f"--module {manifest['name']}={manifest['from']}"
            raise InputError(
                f"module {manifest['name']} in {shelf} has changed since it was built: "
                f"{contents.listed(said)}; run: {COMMAND} {again}"
            )

    def with_modules(self, chosen: Iterable[str]) -> Kit:
        """Return this guest kernel with the user's modules, which replace the guest kernel's
        modules for the same algorithms.

        `chosen` lists names of modules, as given to `--module NAME=DIR`. NAME selects the newest
        version, and NAME-HASH a specific version.
        """
        kit = self
        taken: dict[str, str] = {}
        for name in dict.fromkeys(chosen):
            folder = self._shelf(name)
            manifest = manifests.read(folder / SHELF, manifests.MODULE)
            for kind in [*manifest["qdisc"], *manifest["cc"], *manifest["modules"]]:
                if taken.setdefault(kind, name) != name:
                    raise InputError(
                        f"modules {taken[kind]} and {name} both bring {kind}; "
                        "use one of them in a scenario"
                    )
            kit = kit._with(folder, manifest)
        return kit

    def load_order(self, *, qdiscs: Iterable[str] = (), ccs: Iterable[str] = ()) -> list[Path]:
        """Return the .ko files that provide these queue disciplines and congestion controls, in the
        order in which to load them. The list is empty if all are compiled into the kernel."""
        wanted: list[str] = []
        for kinds, label, have in (
            (qdiscs, "qdisc", self.qdiscs),
            (ccs, "congestion control", self.ccs),
        ):
            for kind in kinds:
                if kind not in have:
                    raise InputError(
                        f"kernel {self.version}: {names.unknown(label, kind, [*have])}"
                    )
                if module := have[kind]:
                    wanted.append(module)
        order: list[str] = []

        def add(module: str) -> None:
            if module in order or module not in self.modules:
                # Other modules are compiled into the kernel, so they need not be loaded.
                return
            for needed in self.depends.get(module, ()):
                add(needed)
            order.append(module)

        for module in wanted:
            add(module)
        return [self.modules[module] for module in order]

    def extras(self) -> list[dict[str, Any]]:
        """Return the manifests of all versions of all modules that `--module` built for this guest
        kernel."""
        modules = []
        for path in sorted((self.path / "modules").glob(f"*/{SHELF}")):
            if path.parent.is_symlink():
                continue
            manifest = manifests.read(path, manifests.MODULE)
            link = self.path / "modules" / manifest["name"]
            manifest["path"] = str(path.parent)
            manifest["current"] = link.is_symlink() and link.resolve() == path.parent.resolve()
            modules.append(manifest)
        return modules

    def _shelf(self, name: str) -> Path:
        folder = self.path / "modules" / name
        if "/" not in name and (folder / SHELF).exists():
            return folder.resolve()
        have = sorted({str(extra["name"]) for extra in self.extras()})
        hint = names.unknown("module", name, have) if have else f'module "{name}" does not exist'
        raise InputError(f"{hint}; run: {COMMAND} --module {name}=DIR")

    def _with(self, folder: Path, manifest: dict[str, Any]) -> Kit:
        mine = {name: folder / entry["file"] for name, entry in manifest["modules"].items()}
        depends = {name: tuple(entry["depends"]) for name, entry in manifest["modules"].items()}
        hashes = [f"{name}={entry['sha256']}" for name, entry in manifest["modules"].items()]
        chosen = sorted([*self.manifest.get("chosen", []), manifest], key=lambda one: one["name"])
        # Sort the hashes, because the order in which modules are chosen does not matter. Importing
        # `hashlib` is slow, and commands that only list kernels hash nothing.
        import hashlib

        inherited = self.manifest.get("module_hashes", [])
        all_hashes = sorted([*inherited, *hashes])
        identity = hashlib.sha256(
            "\n".join([self.manifest["hash"], *all_hashes]).encode()
        ).hexdigest()
        return dataclasses.replace(
            self,
            ccs=dict(sorted({**self.ccs, **_stems(manifest["cc"])}.items())),
            qdiscs=dict(sorted({**self.qdiscs, **_stems(manifest["qdisc"])}.items())),
            modules={**self.modules, **mine},
            depends={**self.depends, **depends},
            identity=identity,
            manifest={**self.manifest, "chosen": chosen, "module_hashes": all_hashes},
        )


def cache() -> Path:
    """Return the folder of all guest kernels: $TAILBACK_KIT, or tailback/kernel in the user's
    cache."""
    if named := os.environ.get("TAILBACK_KIT"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "tailback" / "kernel"


def current() -> Kit:
    """Return the guest kernel that was last built or made current."""
    folder = cache() / "current"
    if not (folder / MANIFEST).exists():
        raise InputError(f"the guest kernel is not built; run: {COMMAND}")
    kit = load(folder.resolve())
    kit.verify()
    return kit


def all_kits() -> list[Kit]:
    """Return every readable guest kernel, newest first."""
    folders = sorted(
        (path.parent for path in (cache() / "kits").glob(f"*/{MANIFEST}")),
        key=lambda folder: folder.stat().st_mtime,
        reverse=True,
    )
    found = []
    for folder in folders:
        with contextlib.suppress(InputError):
            found.append(load(folder))
    return found


HASH_DIGITS = 6
"""The smallest number of characters of a hash that may identify a guest kernel."""


def named(name: str, in_use: Kit | None = None) -> Kit:
    """Find a guest kernel by the release or version of its kernel, or by the beginning of its hash.

    If several guest kernels match, prefer `in_use`, then the newest guest kernel. The key `kernel`
    of a scenario follows the same rule (`map::kits` in Rust).
    """
    kits = all_kits()
    link = cache() / "current"
    if in_use is None and (link / MANIFEST).exists():
        in_use = load(link.resolve())
    for candidate in [in_use, *kits] if in_use is not None else kits:
        by_hash = len(name) >= HASH_DIGITS and candidate.identity.startswith(name)
        if name in (candidate.release, candidate.version) or by_hash:
            candidate.verify()
            return candidate
    have = sorted({candidate.version for candidate in kits}, key=releases.numbers)
    there_are = f"there are {', '.join(have)}" if have else "there are no guest kernels yet"
    raise InputError(f"no guest kernel of {name}: {there_are}; run: {COMMAND} --release {name}")


def with_modules(chosen: Sequence[str]) -> Kit:
    """Return the current guest kernel with these modules of the user."""
    return current().with_modules(chosen)


def load(folder: Path) -> Kit:
    """Load the guest kernel in a folder. This function does not check the guest kernel's files.
    `verify` checks them."""
    found = foreign.read_json(folder / MANIFEST, limit=manifests.MAX_BYTES)
    linux, root = folder / "linux", folder / "root"
    known = isinstance(found, dict) and found.get("format") == FORMAT
    if not known or not linux.exists() or not root.is_dir():
        raise InputError(f"the guest kernel in {folder} cannot be used; run: {COMMAND}")
    manifest = manifests.read(folder / MANIFEST, manifests.KIT)
    return Kit(
        path=folder,
        version=manifest["kernel"],
        ccs=_stems(manifest["cc"]),
        qdiscs=_stems(manifest["qdisc"]),
        linux=linux,
        root=root,
        modules={
            name: root / "modules" / entry["file"] for name, entry in manifest["modules"].items()
        },
        depends={name: tuple(entry["depends"]) for name, entry in manifest["modules"].items()},
        identity=manifest["hash"],
        manifest=manifest,
    )


def described() -> dict[str, Any]:
    """Return the manifest of the current guest kernel, to list its algorithms.

    This function checks only the manifest's format and algorithms, and reads no other file.
    """
    path = cache() / "current" / MANIFEST
    if not path.exists():
        raise InputError(f"the guest kernel is not built; run: {COMMAND}")
    return manifests.read(path, {name: manifests.KIT[name] for name in ("format", "qdisc", "cc")})


def _stems(files: dict[str, str | None]) -> dict[str, str | None]:
    return {kind: file.removesuffix(".ko") if file else None for kind, file in files.items()}


def content_hash(manifest: Mapping[str, Any]) -> str:
    """Compute the identity of a guest kernel: a hash of everything from which it was built and of
    all built files."""
    import hashlib

    parts = {name: manifest[name] for name in HASHED if name in manifest}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def source_hash(texts: Iterable[str]) -> str:
    """Return one hash over all of these source files, which are in this module's folder."""
    import hashlib

    together = "\n".join(f"{name} {contents.sha256(HERE / name)}" for name in texts)
    return hashlib.sha256(together.encode()).hexdigest()


def shelf_differences(shelf: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the differences between the files of a built module and its manifest."""
    entries = manifest["modules"].values()
    expected = {entry["file"]: entry["sha256"] for entry in entries}
    return contents.differences(expected, contents.of(shelf, expected))
