"""Builds a guest kernel in five steps: kernel source, configuration, kernel, root file system and
modules.

    downloads/          packages as fetched
    apt/, apt-tools/    lists of packages
    tools/              flex, bison, ... if the machine does not have them
    sources/            kernel trees
    kernels/HASH/       linux, ko/, build/ (what modules are compiled against), modules/
    kits/HASH/          a kernel with a guest root
    current             the guest kernel in use, a link

A kernel without a root file system is complete once its kernel.json exists. A guest kernel also has
a root file system, and is complete once its kit.json exists. Until this file exists, the folder is
unfinished, and the next build resumes the work. If the root's packages become newer, the build
makes a new guest kernel with the same kernel.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback import registry
from tailback.base import folders, foreign
from tailback.errors import InputError, TailbackError
from tailback.kernel import (
    apt,
    config,
    contents,
    kit,
    manifest,
    modules,
    own,
    patches,
    process,
    releases,
    root,
    source,
    tools,
)
from tailback.kernel.kit import Kit
from tailback.kernel.programs import built, roots
from tailback.kernel.steps import Steps

KERNEL = "kernel.json"
RECIPE = 1
"""Version of the build recipe. Increase this number if a change to this package makes different
guest kernels from the same input."""

LINES_OF_A_BUILD = 1200
"""Estimated number of lines that make prints for a whole build. The first build on a machine
replaces this estimate with its own count."""

ALWAYS_QDISCS = ("mq", "noqueue", "pfifo_fast", "pfifo_head_drop")
"""Queue disciplines that every kernel has, in addition to the built-in ones in tailback's
registry."""


def build(
    *,
    origin: Path | None = None,
    release: str | None = None,
    with_patch: bool = False,
    fragments: Sequence[Path] = (),
    extra: Sequence[str] = (),
    programs: Sequence[str] = (),
    jobs: int | None = None,
    progress: bool | None = None,
) -> Kit:
    """Build the guest kernel, modules or programs that are missing, and return the guest kernel.

    `origin` is a tree, a tarball or a linux-source package to use instead of Debian's newest
    kernel. `release` chooses an older kernel of Debian. `with_patch` applies tailback's patch for
    programs to `origin`. A Debian kernel always gets this patch if the patch applies. `extra` lists
    modules as `NAME=DIR` or `DIR`. `programs` lists tailback's own programs by name. If only
    modules or programs are requested, they are built for the current guest kernel, or for the guest
    kernel of `release`. The built guest kernel becomes the current guest kernel, except with
    `release`.
    """
    if origin is not None and release is not None:
        raise InputError("--source and --release: both name a kernel; remove one of them")
    if with_patch and origin is None:
        raise InputError(
            "--with-patch is only for --source, because tailback always patches "
            "Debian's source; remove --with-patch"
        )
    suites = releases.suites(release) if release is not None else releases.NEWEST_SUITES
    beside = release is not None and release != releases.NEWEST
    built.check(programs)
    named = [modules.spelled(text) for text in extra]
    theirs = [config.load(path) for path in fragments]
    cache = kit.cache()
    cache.mkdir(parents=True, exist_ok=True)
    cores = jobs or len(os.sched_getaffinity(0))
    with Steps(enabled=progress) as steps, process.terminable(), _lock(cache, steps):
        tools.check()
        only_modules = (named or programs) and origin is None and not theirs
        there_is = _built(cache, release) if only_modules else None
        if there_is is not None:
            folder = there_is
        else:
            wanted = Wanted(origin, release or releases.NEWEST, suites, theirs, with_patch)
            folder = _kit(cache, wanted, cores, steps)
            # Also fetch the packages that every root file system for programs has, so that a second
            # build needs no network.
            roots.forget()
            roots.get((), steps)
            if not beside or not (cache / "current" / kit.MANIFEST).exists():
                _choose(cache, folder)
        own.add(folder, jobs=cores, steps=steps)
        for name, path in named:
            steps.step(f"building module {name}")
            modules.build(folder, name, path, jobs=cores)
        for name in programs:
            built.build(name, steps=steps)
        found = kit.load(folder)
        found.verify()
        return found


@dataclass(frozen=True)
class Wanted:
    """The kernel to build."""

    origin: Path | None
    """The user's tree, tarball or package. None for a Debian kernel."""
    release: str
    """The Linux release to build. Debian's suites in `suites` have its source. The release is used
    only if `origin` is None."""
    suites: tuple[str, ...]
    fragments: Sequence[config.Fragment]
    """Kernel options in addition to the options of tailback's own fragments."""
    with_patch: bool
    """Whether tailback's patch for programs must apply to the user's tree."""


def _built(cache: Path, release: str | None) -> Path | None:
    """Return the newest guest kernel of this release, or None if none exists. Modules and programs
    are built for this guest kernel.
    """
    if release is not None and release != releases.NEWEST:
        found = [one for one in kit.all_kits() if one.release == release]
        return found[0].path if found else None
    current = cache / "current"
    return current.resolve() if (current / kit.MANIFEST).exists() else None


def kernel_hash(identity: str, fragments: Sequence[config.Fragment]) -> str:
    """Return the identity of a compiled kernel, which is a hash of its source and configuration."""
    return _digest({"recipe": RECIPE, "source": identity, "config": config.recipe(fragments)})


def kit_hash(identity: str, fragments: Sequence[config.Fragment], packages: dict[str, str]) -> str:
    """Return the identity of a guest kernel: a hash of its kernel and the packages of its root."""
    return _digest(
        {
            "kernel": kernel_hash(identity, fragments),
            "packages": packages,
            "root": root.RECIPE,
            "format": kit.FORMAT,
        }
    )


def _digest(inputs: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _kit(
    cache: Path,
    wanted: Wanted,
    jobs: int,
    steps: Steps,
) -> Path:
    """Return the folder of a guest kernel. Build the guest kernel if necessary."""
    env = tools.environment(cache, steps)
    debian = _archive(cache, releases.NEWEST_SUITES, steps)
    # All kernels use the same root file system, so that guest kernels differ only in the kernel.
    archive = debian
    if wanted.suites != releases.NEWEST_SUITES:
        archive = _archive(cache, wanted.suites, steps)
    if wanted.origin is not None:
        tree = source.users(wanted.origin, cache, steps)
    else:
        tree = source.debian(archive, cache, wanted.release)
    debs = root.packages(debian)
    packages = dict(apt.versions_of(debs))
    # Prepare the tree even if the guest kernel exists, because modules are compiled against the
    # tree's headers.
    source.prepare(tree, archive, env, steps)
    if wanted.origin is None or wanted.with_patch:
        tree = patches.apply(tree, env, steps, required=wanted.with_patch)
    version = source.kernel_version(tree.folder)
    fragments = [config.ours(), *config.older(version), *wanted.fragments]
    digest = kit_hash(tree.identity, fragments, packages)
    folder = cache / "kits" / digest[:16]
    if not _sound(folder):
        paths = debian.fetch(debs, steps)
        compiled = cache / "kernels" / kernel_hash(tree.identity, fragments)[:16]
        if not _compiled(compiled):
            _kernel(compiled, tree, fragments, env, jobs, steps)
        _prune(compiled / "build")
        steps.step("assembling the guest root")
        folders.remove(folder, inside=cache)
        root.assemble(paths, folder / "root")
        for module in (compiled / "ko").iterdir():
            shutil.copy2(module, folder / "root/modules")
        shutil.copy2(compiled / "linux", folder / "linux")
        # Modules belong to the kernel, and remain valid if other packages are chosen for the root
        # file system.
        for name in ("build", "modules"):
            (compiled / name).mkdir(exist_ok=True)
            (folder / name).symlink_to(os.path.relpath(compiled / name, folder))
        kernel = json.loads((compiled / KERNEL).read_text(encoding="utf-8"))
        facts = {
            "format": kit.FORMAT,
            "hash": "",
            "recipe": digest,
            **kernel,
            "iproute2": packages["iproute2"],
            "packages": packages,
            "files": contents.of(folder, kit.OF_KIT),
            "programs": {},
        }
        facts["hash"] = kit.content_hash(facts)
        manifest.write(folder / kit.MANIFEST, facts)
    return folder


def _archive(cache: Path, suites: tuple[str, ...], steps: Steps) -> apt.Apt:
    """Return an `Apt` for the suites, with fresh lists of packages."""
    own = "apt" if suites == releases.NEWEST_SUITES else "apt-" + "-".join(suites)
    archive = apt.Apt(cache / own, suites, downloads=cache / "downloads")
    archive.update(steps)
    return archive


def _sound(folder: Path) -> bool:
    """Return whether a guest kernel exists, and whether its kernel and root are unchanged since the
    build."""
    try:
        facts = manifest.read(folder / kit.MANIFEST, manifest.KIT)
    except InputError:
        return False
    whole = facts["format"] == kit.FORMAT and facts["hash"] == kit.content_hash(facts)
    return bool(whole and facts["files"] == contents.of(folder, kit.OF_KIT))


def _compiled(folder: Path) -> bool:
    """Return whether a kernel exists, and whether it and its modules are unchanged since the
    build."""
    try:
        facts = foreign.read_json(folder / KERNEL)
        expected = {f"ko/{m['file']}": m["sha256"] for m in facts["modules"].values()}
        # If an earlier version of tailback built the kernel, only the guest kernel's manifest has
        # the kernel's hash.
        expected["linux"] = facts.get("sha256", contents.sha256(folder / "linux"))
    except (InputError, KeyError, TypeError, AttributeError):
        return False
    return all(
        digest and contents.sha256(folder / name) == digest for name, digest in expected.items()
    )


def _kernel(
    folder: Path,
    tree: source.KernelSource,
    fragments: Sequence[config.Fragment],
    env: dict[str, str],
    jobs: int,
    steps: Steps,
) -> None:
    """Compile a kernel, or resume an interrupted build."""
    folder.mkdir(parents=True, exist_ok=True)
    make = Make(tree.folder, folder, env, jobs)
    try:
        newest = tree.origin is None and releases.of(make.version) >= source.OLDEST
        final, lacks = configure(make, fragments, steps, lenient=not newest)
    except InputError:
        # Start over, because an unfinished kernel with other options is useless.
        folders.remove(folder, inside=folder.parent)
        raise
    _compile(make, folder.parent, steps)
    shutil.copy2(make.build / "linux", folder / "linux")
    facts = {
        "sha256": contents.sha256(folder / "linux"),
        "kernel": source.kernel_version(tree.folder),
        "package": tree.package,
        "source": tree.identity,
        "source_tree": str(tree.folder),
        "patches": tree.patch,
        "config_hash": config.digest(final),
        "lacks": lacks,
        "helps": [one.reason for one in releases.helps(make.version)],
        "compiler": config.values(final).get("CONFIG_CC_VERSION_TEXT", "").strip('"'),
        **_inventory(tree.folder, folder),
    }
    manifest.write(folder / KERNEL, facts)


class Make:
    """Runs make in the build folder of a kernel."""

    def __init__(self, tree: Path, folder: Path, env: dict[str, str], jobs: int) -> None:
        self.tree = tree
        self.version = source.kernel_version(tree)
        self.build = folder / "build"
        self.log = folder / "build.log"
        self._jobs = jobs
        self._env = process.environment(
            {
                **env,
                # The file is outside the build folder, so make cannot change it.
                "KBUILD_KCONFIG": str(folder / config.KCONFIG.name),
                "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
                "KBUILD_BUILD_USER": "tailback",
                "KBUILD_BUILD_HOST": "tailback",
            }
        )
        self.build.mkdir(exist_ok=True)
        own = (tree / "Kconfig").read_text(encoding="utf-8")
        (folder / config.KCONFIG.name).write_text(config.kconfig(own), encoding="utf-8")

    def __call__(self, *targets: str, on_line: Any = None) -> None:
        """Make targets. The output of make goes to build.log."""
        flags = modules.build_flags(self.version)
        command = ["make", "-C", str(self.tree), f"O={self.build}", *flags]
        try:
            process.run(
                [*command, f"-j{self._jobs}", *targets],
                env=self._env,
                on_line=on_line,
                log=self.log,
            )
        except process.CommandFailed as error:
            shown = "\n".join(modules.diagnostics(error.lines)[-40:])
            message = f"make {' '.join(targets)} failed; its whole output is in {self.log}\n{shown}"
            raise TailbackError(message) from error


def configure(
    make: Make, fragments: Sequence[config.Fragment], steps: Steps, *, lenient: bool
) -> tuple[str, list[str]]:
    """Configure the kernel, unless an earlier attempt has already configured it.

    Returns the .config, and the options in tailback's fragments that the tree does not have.
    """
    dot_config = make.build / ".config"
    configured = make.build / ".tailback-configured"
    if not configured.exists():
        steps.step("configuring")
        make("tinyconfig")
        # If an option is assigned several times, kbuild uses the last assignment.
        with dot_config.open("a", encoding="utf-8") as file:
            for fragment in fragments:
                file.write(fragment.text())
        make("olddefconfig")
    final = dot_config.read_text(encoding="utf-8")
    lacks = _verify(fragments, final, steps, lenient=lenient)
    configured.touch()
    return final, lacks


def _verify(
    fragments: Sequence[config.Fragment], final: str, steps: Steps, *, lenient: bool
) -> list[str]:
    values = config.values(final)
    lacks: list[str] = []
    for name, refused in config.refused(fragments, values).items():
        if name == fragments[0].name and lenient:
            # A kernel tree that is older than a queue discipline does not have the queue
            # discipline's option.
            absent = [
                text
                for text in refused
                if config.DEVELOPED.match(text) and text.partition("=")[0] not in values
            ]
            lacks = [text.partition("=")[0] for text in absent]
            if absent:
                steps.note(f"this tree does not have {', '.join(lacks)}")
            refused = [text for text in refused if text not in absent]
        if refused:
            listed = "\n  ".join(refused)
            raise InputError(
                f"{name}: the kernel's configuration rejects\n  {listed}; "
                "remove these lines, or add the options that they depend on"
            )
    if values.get("CONFIG_HZ") != "1000":
        raise TailbackError(
            f"CONFIG_HZ is {values.get('CONFIG_HZ')}, not 1000; remove it from your configuration"
        )
    return lacks


def _compile(make: Make, cache: Path, steps: Steps) -> None:
    known = cache / "lines-of-a-build"
    try:
        total = int(known.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        total = LINES_OF_A_BUILD
    again = (make.build / "vmlinux.o").exists() or (make.build / "init/main.o").exists()
    steps.step("compiling the kernel" + (", where it was left" if again else ""), total)
    seen = 0

    def count(_line: str) -> None:
        nonlocal seen
        seen += 1
        steps.at(min(seen, total))

    make("linux", "modules", on_line=count)
    if not again:
        known.write_text(str(seen), encoding="utf-8")


def _inventory(tree: Path, folder: Path) -> dict[str, Any]:
    """Collect the modules, and the names of algorithms that the modules and the kernel register."""
    built = folder / "build"
    (folder / "ko").mkdir(exist_ok=True)
    order = (built / "modules.order").read_text(encoding="utf-8").split()
    sources: dict[Path, list[Path]] = {}
    for relative in order:
        path = (built / relative).with_suffix(".ko")
        target = folder / "ko" / path.name
        shutil.copy2(path, target)
        text = tree / Path(relative).with_suffix(".c")
        sources[target] = [text] if text.exists() else []
    inventory = modules.describe(sorted(sources), sources)
    qdiscs: dict[str, str | None] = dict.fromkeys((*ALWAYS_QDISCS, *registry.built_in("aqm")))
    ccs: dict[str, str | None] = dict.fromkeys(registry.built_in("cc"))
    for line in (built / "modules.builtin").read_text(encoding="utf-8").split():
        text = tree / Path(line.removeprefix("kernel/")).with_suffix(".c")
        if text.exists() and re.match(r"sch_|tcp_", text.name):
            content = text.read_text(encoding="utf-8", errors="replace")
            brought = modules.kinds(text.stem, [content], [], b"")
            qdiscs.update(dict.fromkeys(brought.qdiscs))
            ccs.update(dict.fromkeys(brought.ccs))
    return {
        "qdisc": dict(sorted({**qdiscs, **inventory["qdisc"]}.items())),
        "cc": dict(sorted({**ccs, **inventory["cc"]}.items())),
        "modules": inventory["modules"],
    }


def _prune(build: Path) -> None:
    """Delete the files of the build folder that the compilation of modules does not need.

    Call this function only after the kernel is complete, because without these files make would
    build everything again.
    """
    if (build / ".tailback-pruned").exists():
        return
    for folder, _inner, files in os.walk(build):
        if Path(folder).relative_to(build).parts[:1] in (("scripts",), ("tools",)):
            continue
        for name in files:
            if name.endswith((".o", ".a", ".ko", ".cmd", ".mod", ".mod.c")) or name.startswith(
                "vmlinux"
            ):
                os.unlink(os.path.join(folder, name))
    (build / "linux").unlink(missing_ok=True)
    (build / ".tailback-pruned").touch()


def _choose(cache: Path, folder: Path) -> None:
    link = cache / ".current.link"
    link.unlink(missing_ok=True)
    link.symlink_to(folder.relative_to(cache))
    link.replace(cache / "current")


@contextlib.contextmanager
def _lock(cache: Path, steps: Steps) -> Iterator[None]:
    """Let only one build run at a time. A second build waits until the first has ended, and then
    reuses its results.
    """
    with (cache / "lock").open("w", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                steps.step("waiting for another build to end")
                time.sleep(0.3)
        yield
