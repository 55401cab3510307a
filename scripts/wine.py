"""Tests the wheel for Windows on Linux, under Wine.

`python scripts/wine.py WHEEL` builds a Windows environment in target/wine. The environment contains
CPython and Microsoft's C library from Maven Central, the dependencies' wheels for Windows from the
package index, and the wheel. In this environment, the script compares the results with the recorded
hashes, runs the platform tests, and runs the first commands of the tutorial. The script exits with
status 1 if one of these steps fails.

The script needs wine, Maven and gcc-mingw-w64-x86-64 (Debian: wine64, maven,
gcc-mingw-w64-x86-64-win32). Wine is not Windows. A pass only shows that the code runs with Windows'
interfaces as Wine implements them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tailback.base import folders

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "target/wine"
PYTHON, PREFIX = HOME / "python", HOME / "prefix"
SITE = PYTHON / "lib/site-packages"

JARS = {
    "org.bytedeco:cpython:3.11.3-1.5.9:jar:windows-x86_64": "org/bytedeco/cpython/windows-x86_64/",
    "org.bytedeco:javacpp:1.5.9:jar:windows-x86_64": "org/bytedeco/javacpp/windows-x86_64/",
}
"""Archives on Maven Central with files for Windows, and the folder of these files in each."""

NATIVE = ("ucrtbase", "msvcp140", "vcruntime140", "vcruntime140_1")
"""The libraries of Microsoft's C runtime. Wine's own libraries do not have all functions that numpy
calls."""

PROGRAMS = ("wine", "mvn", "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-objdump")

PYTEST = (
    *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest"),
    # Leave out this test, which would not end: Wine does not close the output of a process's child.
    *("-k", "not needs_nothing_of_unix"),
)
"""The arguments of Python that run tests. Other steps run the commands of the test that is left
out."""

RANDOM = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    return SystemFunction036(data, (ULONG)size);
}
"""
"""The source of bcryptprimitives.dll, which Rust's library needs and Wine 8 does not have."""

ENTRY = "int DllMain(void *module, unsigned reason, void *reserved) { return 1; }\n"


def main() -> int:
    """Build the environment, test the wheel, and return 1 if a test fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    wheel: Path = parser.parse_args().wheel
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        print(f"error: missing on this machine: {', '.join(missing)}", file=sys.stderr)
        return 1
    if not wheel.is_file():
        print(f"error: {wheel} does not exist; run `make wheels`", file=sys.stderr)
        return 1
    if not (PYTHON / "python3.dll").exists():
        install_python()
    install(wheel)
    return test()


def install_python() -> None:
    """Initialise Wine, and install CPython for Windows with its dependencies."""
    folders.remove(HOME, inside=ROOT)
    PYTHON.mkdir(parents=True)
    for artifact, inside in JARS.items():
        call("mvn", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={HOME}")
        _, name, version, *_ = artifact.split(":")
        with zipfile.ZipFile(HOME / f"{name}-{version}-windows-x86_64.jar") as archive:
            for member in archive.namelist():
                path = PYTHON / member.removeprefix(inside)
                if member.startswith(inside) and not member.endswith("/") and not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(member))
    library("bcryptprimitives", RANDOM, "-ladvapi32")
    # Extension modules with the stable ABI call python3.dll, which forwards to this Python's DLL.
    listed = call("x86_64-w64-mingw32-objdump", "-p", str(PYTHON / "python311.dll"), quiet=True)
    names = re.findall(r"^\s*\[\s*\d+\] (\w+)$", listed.split("[Ordinal/Name Pointer]")[1], re.M)
    exports = HOME / "python3.def"
    lines = "".join(f"  {name}=python311.{name}\n" for name in names)
    exports.write_text(f"LIBRARY python3.dll\nEXPORTS\n{lines}", encoding="utf-8")
    call("wine", "winecfg", "-v", "win10", quiet=True)
    library("python3", ENTRY, str(exports))


def library(name: str, source: str, *more: str) -> None:
    """Compile a Windows library into Python's folder."""
    file = HOME / f"{name}.c"
    file.write_text(source, encoding="utf-8")
    target = str(PYTHON / f"{name}.dll")
    call("x86_64-w64-mingw32-gcc", "-shared", "-o", target, str(file), *more)


def install(wheel: Path) -> None:
    """Unpack the tested wheel, and the wheels of its dependencies and of pytest."""
    folder = HOME / "wheels"
    names = [
        line.split("#")[0].strip()
        for file in ("requirements.txt", "requirements-dev.txt")
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
        if file == "requirements.txt" or re.match(r"(pytest|pluggy|iniconfig)==", line)
    ]
    wanted = [name for name in names if name and not name.startswith(("maturin", "-"))]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    only = ["--only-binary=:all:", "--platform=win_amd64", "--python-version=3.11"]
    # On Windows, click needs colorama.
    call(*pip, *only, *wanted, "colorama")
    folders.remove(SITE, inside=HOME)
    for path in [*sorted(folder.glob("*.whl")), wheel]:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(SITE)


def test() -> int:
    """Test the installed wheel. Return 1 if a test fails."""
    work = HOME / "class"
    folders.remove(work, inside=HOME)
    work.mkdir()
    tailback = ("-m", "tailback")
    steps: list[tuple[str, Path, tuple[str, ...]]] = [
        ("results have the recorded hashes", ROOT, ("tests/guard.py",)),
        ("tests/test_platforms.py", ROOT, (*PYTEST, "tests/test_platforms.py")),
        ("tailback new first", work, (*tailback, "new", "first")),
        ("tailback run", work, (*tailback, "run", "first.toml")),
        ("tailback explain", work, (*tailback, "explain")),
        ("tailback plot", work, (*tailback, "plot", "--out", "figure.svg")),
        ("tailback report", work, (*tailback, "report", "latest")),
        ("tailback evaluate", work, (*tailback, "evaluate", "cc", "reno", "--quick")),
    ]
    failed = 0
    for title, folder, arguments in steps:
        done = python(*arguments, folder=folder)
        print(f"{'ok' if done.returncode == 0 else 'FAILED'}: {title}", flush=True)
        if title == "tailback new first":
            (work / "first.toml").write_text(done.stdout, encoding="utf-8")
        if done.returncode:
            failed = 1
            print((done.stdout + done.stderr)[-3000:], file=sys.stderr)
    return failed


def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python for Windows in a folder."""
    command = ["wine", str(PYTHON / "python.exe"), *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=1800,
        check=False,
    )


def call(*command: str, quiet: bool = False) -> str:
    """Run a program. Return the program's output, or raise an error if the program fails."""
    done = subprocess.run(
        command,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        text=True,
        check=True,
    )
    return done.stdout


def environment() -> dict[str, str]:
    """Return the environment of programs for Windows."""
    own = {
        "WINEPREFIX": str(PREFIX),
        "WINEDEBUG": "-all",
        "WINEARCH": "win64",
        "WINEDLLOVERRIDES": f"{','.join(NATIVE)}=n,b;mscoree,mshtml=",
        "PYTHONUTF8": "1",
    }
    inherited = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    return {**inherited, **own}


if __name__ == "__main__":
    sys.exit(main())
