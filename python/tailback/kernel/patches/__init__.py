"""Applies tailback's patch for User-mode Linux to a kernel tree.

`programs.patch` changes the Linux kernel and therefore has the kernel's licence (GPL-2.0), unlike
the rest of tailback.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shutil
from pathlib import Path

from tailback.base import folders
from tailback.errors import InputError
from tailback.kernel import process
from tailback.kernel.source import KernelSource
from tailback.kernel.steps import Steps

PROGRAMS = Path(__file__).parent / "programs.patch"
"""The patch that lets programs (`[[programs]]`) run in virtual time."""

OPTIONS = ("--strip=1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch")
"""The arguments of `patch`. With these arguments, `patch` asks no questions, and applies a change
only where it fits exactly."""


def sha256() -> str:
    return hashlib.sha256(PROGRAMS.read_bytes()).hexdigest()


def apply(tree: KernelSource, env: dict[str, str], steps: Steps, *, required: bool) -> KernelSource:
    """Return a patched copy of the tree, or the original tree if the patch does not apply.

    Raise `InputError` if the patch does not apply but is required.
    """
    digest = sha256()
    suffix = f"+programs-{digest[:12]}"
    folder = tree.folder.with_name(tree.folder.name + suffix)
    patched = dataclasses.replace(
        tree, identity=tree.identity + suffix, folder=folder, patch={PROGRAMS.stem: digest}
    )
    if folder.exists():
        return patched
    variables = process.environment(env)
    command: list[str | Path] = ["patch", *OPTIONS, "--input", PROGRAMS]
    try:
        process.run([*command, "--dry-run"], cwd=tree.folder, env=variables)
    except process.CommandFailed as error:
        if required:
            said = "\n".join(f"  {line}" for line in error.lines[-10:])
            raise InputError(
                f"{tree.origin}: the patch for programs does not apply to this tree\n{said}; "
                "use the sources that `tailback kernel list` names"
            ) from error
        steps.note(f"{tree.identity}: without the patch for programs, which does not fit it")
        return tree
    steps.step("applying the patch for programs")
    begun = folder.with_name(folder.name + ".part")
    folders.remove(begun, inside=begun.parent)
    # The size of a kernel tree is 1 GB, so the copy shares unchanged files by hard links.
    process.run(["cp", "-al", tree.folder, begun])
    for name in _changed():
        if (begun / name).exists():
            (begun / name).unlink()
            shutil.copy2(tree.folder / name, begun / name)
    process.run(command, cwd=begun, env=variables)
    begun.rename(folder)
    return patched


def _changed() -> list[str]:
    return re.findall(r"^\+\+\+ b/(\S+)$", PROGRAMS.read_text(encoding="utf-8"), re.MULTILINE)
