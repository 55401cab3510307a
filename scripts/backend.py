"""Builds wheels. This backend first makes two parts that maturin does not build, and then calls
maturin's backend.

These parts are the guest's init program and a copy of the engine's sources. pip uses this module
for a checkout or an sdist. `make wheel` makes both parts by running this file as a program."""

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
    """Build a wheel, with the guest's program and the engine's sources."""
    prepare()
    return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def prepare() -> None:
    """Build the guest's program and copy the engine's sources."""
    # The kernel engine needs Linux on x86-64. On other machines, a wheel has only the simulator.
    if sys.platform == "linux" and platform.machine() == "x86_64":
        guest()
    # Copy the engine's sources, because they are needed to compile users' algorithms.
    runpy.run_path(str(SHIPPING))["copy_to"]()


def guest() -> None:
    """Build the guest's program without debug symbols, because every boot of a guest reads the
    whole file.
    """
    package = ["--package", "tailback-guest", "--bin", "tailback-guest"]
    subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", *package], check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    shutil.copy(target / "release" / GUEST.name, GUEST)
    subprocess.run(["strip", GUEST], check=True)
    # Store the program's hash, with which tailback checks the file before use.
    told = hashlib.sha256(GUEST.read_bytes()).hexdigest()
    GUEST.with_name(f"{GUEST.name}.sha256").write_text(f"{told}\n", encoding="ascii")


if __name__ == "__main__":
    prepare()
