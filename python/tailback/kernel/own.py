"""What a kit has of tailback's own.

Seeded random numbers, the program that starts it, the schedule of marks and losses, and Reno and
CUBIC with a factor of their own for marks (ABE), which Linux has not.
"""

from __future__ import annotations

import os
from pathlib import Path

from tailback.kernel import kit, modules, process
from tailback.kernel.steps import Steps

HERE = Path(__file__).parent
PROGRAMS = {
    kit.SEED_LIBRARY: ("seed.c", ["-shared", "-fPIC"]),
    kit.LAUNCHER: ("launch.c", []),
}
"""What is compiled for this machine: file, its source beside this file, flags."""
MODULES = (kit.SCHEDULE, "tcp_cubic_abe", "tcp_reno_abe")
"""Folders beside this file with modules, by name."""


def add(folder: Path, *, jobs: int, steps: Steps) -> None:
    """Adds what is missing or older than its source."""
    for name, (file, flags) in PROGRAMS.items():
        target, text = folder / name, HERE / file
        if not target.exists() or target.stat().st_mtime < text.stat().st_mtime:
            steps.step(f"compiling {file}")
            part = target.with_name(f".{name}.{os.getpid()}")
            process.run(["gcc", "-O2", "-Wall", "-Wextra", *flags, "-o", part, text])
            part.replace(target)
    for name in MODULES:
        steps.step(f"building module {name}")
        modules.build(folder, name, HERE / name, jobs=jobs)
