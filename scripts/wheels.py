"""Checks the size, the platform and the contents of built wheels.

`python scripts/wheels.py dist/*.whl` prints a line for each wheel and exits with 1 if a check
fails.
"""

from __future__ import annotations

import argparse
import glob
import sys
import zipfile
from pathlib import Path

import linked

MAX_MB = 12.0
"""The largest size of a wheel, in megabytes."""

GUEST = "tailback/kernel/tailback-guest"
LABORATORY = "tailback/interop/lab/single.html"
EXTENSIONS = {
    "manylinux": "tailback/_native.abi3.so",
    "macosx": "tailback/_native.abi3.so",
    "win": "tailback/_native.pyd",
}
"""The extension module in a wheel, by the beginning of the wheel's platform tag."""
NEEDED = ("tailback/examples/first.toml", "tailback/plugins/sources/Cargo.lock")
STARTS = {
    ("manylinux", "x86_64"): b"\x7fELF\x02\x01",
    ("manylinux", "aarch64"): b"\x7fELF\x02\x01",
    ("macosx", "arm64"): bytes.fromhex("cffaedfe0c000001"),
    ("macosx", "x86_64"): bytes.fromhex("cffaedfe07000001"),
    ("win", "amd64"): b"MZ",
}
"""The first bytes of the extension module, by system and processor."""


def problems(wheel: Path, *, laboratory: bool = True) -> list[str]:
    """Return what is wrong with a wheel. `laboratory` says whether the wheel must contain the
    laboratory's page.
    """
    found = []
    size = wheel.stat().st_size / 1e6
    if size > MAX_MB:
        found.append(f"has {size:.1f} MB, more than {MAX_MB:g} MB")
    *_, python, abi, platform = wheel.stem.split("-")
    if (python, abi) != ("cp311", "abi3"):
        found.append(f"is for {python}-{abi}, not for every Python from 3.11 on")
    known = [key for key in STARTS if platform.startswith(key[0]) and platform.endswith(key[1])]
    if not known:
        return [*found, f"is for an unsupported platform, {platform}"]
    (system, processor) = known[0]
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        extension = EXTENSIONS[system]
        needed = [extension, *NEEDED, *([LABORATORY] if laboratory else [])]
        found += [f"does not contain {name}" for name in needed if name not in inside]
        if extension in inside:
            with archive.open(extension) as file:
                if not file.read(8).startswith(STARTS[system, processor]):
                    found.append(f"has an extension module that is not for {platform}")
    kernel = (system, processor) == ("manylinux", "x86_64")
    if kernel and GUEST not in inside:
        found.append(f"does not contain {GUEST}, which the kernel engine needs")
    if not kernel and GUEST in inside:
        found.append(f"contains {GUEST}, which runs on Linux on x86-64 only")
    return found


def unloadable(wheel: Path) -> list[str]:
    """Return reasons why a wheel's extension module could not be loaded on macOS or Windows.
    `auditwheel` checks wheels for Linux."""
    platform = wheel.stem.rsplit("-", 1)[1]
    extension = next((name for start, name in EXTENSIONS.items() if platform.startswith(start)), "")
    if not platform.startswith(("macosx", "win")):
        return []
    with zipfile.ZipFile(wheel) as archive:
        if extension not in archive.namelist():
            return []
        try:
            module = linked.read(archive.read(extension))
        except ValueError as error:
            return [f"has an extension module that {error}"]
    return linked.problems(module, platform)


def main() -> int:
    """Check the wheels on the command line. Return 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-laboratory", action="store_true", help="accept wheels without it")
    parser.add_argument("wheels", nargs="+", help="files or patterns")
    given = parser.parse_args()
    # Expand patterns here, because the shell of Windows does not expand them.
    wheels = [Path(path) for pattern in given.wheels for path in sorted(glob.glob(pattern))]
    status = 0 if wheels else 1
    if not wheels:
        print("error: there is no wheel; run `make wheel`", file=sys.stderr)
    for wheel in wheels:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        found = problems(wheel, laboratory=not given.no_laboratory)
        for problem in [*found, *unloadable(wheel)]:
            print(f"error: {wheel.name} {problem}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
