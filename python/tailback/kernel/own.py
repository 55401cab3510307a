"""What a kit has of tailback's own: seeded random numbers, and the schedule of marks and losses."""

from __future__ import annotations

import os
from pathlib import Path

from tailback.kernel import kit, modules, process
from tailback.kernel.steps import Steps

HERE = Path(__file__).parent
SEED_SOURCE = HERE / "seed.c"
MODULES = (kit.SCHEDULE,)
"""Folders beside this file with modules, by name."""


def add(folder: Path, *, jobs: int, steps: Steps) -> None:
    """Adds what is missing or older than its source."""
    library = folder / kit.SEED_LIBRARY
    if not library.exists() or library.stat().st_mtime < SEED_SOURCE.stat().st_mtime:
        steps.step("compiling the seeded random numbers")
        part = library.with_name(f".{library.name}.{os.getpid()}")
        flags = ["-O2", "-Wall", "-Wextra", "-shared", "-fPIC"]
        process.run(["gcc", *flags, "-o", part, SEED_SOURCE])
        part.replace(library)
    for name in MODULES:
        steps.step(f"building module {name}")
        modules.build(folder, name, HERE / name, jobs=jobs)
