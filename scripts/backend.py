"""Builds wheels. It builds the parts that maturin does not build, and then calls maturin's backend.

maturin does not build the program that runs as the first process of a guest, and does not copy the
engine's sources. pip uses this module for a checkout or an sdist. `make wheel` builds these parts
beforehand. If this file is run as a program, it builds only these parts.
"""

from __future__ import annotations

import hashlib
import os
import platform
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import maturin
from maturin import *  # noqa: F403  # the hooks that stay as they are

ROOT = Path(__file__).resolve().parent.parent
SHARE = ROOT / "data" / "data" / "share"
"""Folder of the files that a wheel installs into share/ of an environment, if `make wheel` has
written them."""
SHIPPING = ROOT / "python" / "tailback" / "plugins" / "shipping.py"
GUEST = ROOT / "python" / "tailback" / "kernel" / "tailback-guest"

# maturin requires that this folder exists.
SHARE.mkdir(parents=True, exist_ok=True)


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel with all its parts."""
    prepare()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def prepare() -> None:
    """Build the parts of a wheel that maturin does not build."""
    # The kernel engine needs Linux on x86-64. On other machines, a wheel has only the simulator.
    if sys.platform == "linux" and platform.machine() == "x86_64":
        guest()
    # Copy the engine's sources, because they are needed to compile users' algorithms.
    runpy.run_path(str(SHIPPING))["copy_to"]()


def guest() -> None:
    """Build the guest's program without symbols, because each guest reads the file."""
    package = ["--package", "tailback-guest", "--bin", "tailback-guest"]
    subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", *package], check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    shutil.copy(target / "release" / GUEST.name, GUEST)
    subprocess.run(["strip", GUEST], check=True)
    # Store the hash of the program, so that tailback detects a change when it uses the program.
    told = hashlib.sha256(GUEST.read_bytes()).hexdigest()
    GUEST.with_name(f"{GUEST.name}.sha256").write_text(f"{told}\n", encoding="ascii")


if __name__ == "__main__":
    prepare()
