"""Prints line and branch coverage of the engine and the record crate by file.

    python3 scripts/coverage.py [--lines]

Runs the Rust tests with LLVM's coverage counters (`-C instrument-coverage`). Branch coverage needs
the option `-Z coverage-options=branch`, which stable Rust accepts if RUSTC_BOOTSTRAP is set. The
script needs llvm-profdata and llvm-cov of rustc's LLVM release. The script finds these programs in
rustup's component or in PATH. Otherwise the script unpacks Debian packages into target/llvm.
`--lines` also prints the lines that no test reaches, and the branches that no test takes. For a
branch, the script prints line, column and the value that the condition never had.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from itertools import groupby, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "target" / "coverage"
PACKAGES = ("engine", "record", "scenario", "guest", "packetdrill", "swarm")
"""The crates whose tests run: all crates that use the engine or its records."""
MEASURED = ("crates/engine/src", "crates/record/src")


def main() -> int:
    tools = _tools()
    objects = _tests()
    profiles = sorted(map(str, (TARGET / "profiles").glob("*.profraw")))
    merged = TARGET / "all.profdata"
    files = TARGET / "profiles.txt"
    files.write_text("\n".join(profiles))
    _run([tools["profdata"], "merge", "--sparse", f"--input-files={files}", "-o", str(merged)])
    each = [word for path in objects[1:] for word in ("--object", path)]
    text = _run(
        [tools["cov"], "export", f"--instr-profile={merged}", objects[0], *each]
        + [str(ROOT / folder) for folder in MEASURED]
    )
    table(json.loads(text)["data"][0]["files"], lines="--lines" in sys.argv[1:])
    return 0


def table(files: Iterable[Mapping[str, object]], *, lines: bool) -> None:
    """Print line and branch coverage by file, lowest first, then sums."""
    rows = []
    for file in files:
        path = Path(str(file["filename"])).relative_to(ROOT)
        if path.name == "tests.rs" or path.name == "testing.rs":
            continue
        covered = _lines(file, _first_test(ROOT / path))
        branches = _branches(file, _first_test(ROOT / path))
        rows.append((path, covered, branches))
    rows.sort(key=lambda row: (_share(row[1]), str(row[0])))
    width = max(len(str(row[0])) for row in rows)
    print(f"{'file':{width}}  {'lines':>15}  {'branches':>15}")
    for path, covered, branches in rows:
        print(f"{path!s:{width}}  {_cell(covered)}  {_cell(branches)}")
        missed = [line for line, hit in sorted(covered.items()) if not hit]
        if lines and missed:
            print(f"    not reached: {_spans(missed)}")
        untaken = [key for key, hit in sorted(branches.items()) if not hit]
        if lines and untaken:
            sides = (
                f"{line}:{column} {str(not side).lower()}" for line, column, *_, side in untaken
            )
            print(f"    not taken: {', '.join(sides)}")
    for name in MEASURED:
        part = [row for row in rows if str(row[0]).startswith(name)]
        sums = [{(row[0], key): hit for row in part for key, hit in row[i].items()} for i in (1, 2)]
        print(f"{name:{width}}  {_cell(sums[0])}  {_cell(sums[1])}")


def _first_test(path: Path) -> int:
    """Return the line at which a file's tests begin. The coverage of the tests themselves is not
    counted."""
    lines = path.read_text().splitlines()
    for number, (line, behind) in enumerate(pairwise(lines), 1):
        # Skip `#[cfg(test)] mod tests;`, because these tests are in another file.
        if line == "#[cfg(test)]" and behind.endswith("{"):
            return number
    return sys.maxsize


def _lines(file: Mapping[str, object], end: int) -> dict[int, bool]:
    """Return whether each line was reached, from LLVM's segments."""
    # A segment extends from its line and column to the next segment. The fields of a segment are
    # line, column, count, whether it has a count, whether it begins a region, and whether it is a
    # gap.
    covered: dict[int, bool] = {}
    last = None
    for line, of_line in groupby(file["segments"], key=lambda s: s[0]):  # type: ignore[call-overload]
        if last is not None and last[3] and not last[5]:
            for between in range(last[0] + 1, line):
                covered[between] = covered.get(between, False) or last[2] > 0
        starts = [last] if last is not None and last[3] and not last[5] else []
        segments = list(of_line)
        counts = [s[2] for s in starts] + [s[2] for s in segments if s[3] and s[4] and not s[5]]
        if counts:
            covered[line] = max(counts) > 0
        last = segments[-1]
    return {line: hit for line, hit in covered.items() if line < end}


def _branches(file: Mapping[str, object], end: int) -> dict[tuple[int, ...], bool]:
    """Return whether each branch was taken in each direction, in any instance of a generic
    function."""
    sides: dict[tuple[int, ...], bool] = {}
    for branch in file["branches"]:  # type: ignore[attr-defined]
        *place, taken, not_taken = branch[:6]
        if place[0] < end:
            # Side 0 counts how often the condition was true, and side 1 how often it was false.
            for side, count in enumerate((taken, not_taken)):
                key = (*place, side)
                sides[key] = sides.get(key, False) or count > 0
    return sides


def _share(cells: Mapping[object, bool]) -> float:
    return sum(cells.values()) / len(cells) if cells else 1.0


def _cell(cells: Mapping[object, bool]) -> str:
    if not cells:
        return f"{'-':>15}"
    return f"{sum(cells.values())}/{len(cells)} {100 * _share(cells):5.1f}%".rjust(15)


def _spans(lines: list[int]) -> str:
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in spans)


def _tests() -> list[str]:
    """Build and run the tests. Return the paths of the test programs."""
    profiles = TARGET / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    for old in profiles.glob("*.profraw"):
        old.unlink()
    environment = {
        **os.environ,
        "RUSTC_BOOTSTRAP": "1",
        "RUSTFLAGS": "-C instrument-coverage -Z coverage-options=branch",
        "LLVM_PROFILE_FILE": str(profiles / "%m-%p.profraw"),
        "CARGO_TARGET_DIR": str(TARGET),
    }
    packages = [word for name in PACKAGES for word in ("--package", f"tailback-{name}")]
    features = ["--features", "tailback-record/folder,tailback-record/pcapng"]
    command = ["cargo", "test", "--quiet", *packages, *features]
    built = _run([*command, "--no-run", "--message-format=json"], environment)
    messages = [json.loads(line) for line in built.splitlines() if line.startswith("{")]
    programs = [m["executable"] for m in messages if m.get("executable")]
    # Lines that a failing test reaches are also counted.
    tested = subprocess.run(
        [*command, "--no-fail-fast"], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    if tested.returncode:
        print(tested.stdout, "coverage: tests failed", sep="\n", file=sys.stderr)
    return programs


def _tools() -> dict[str, str]:
    """Return the paths of llvm-profdata and llvm-cov that can read the profiles of this rustc."""
    version = _run(["rustc", "-vV"])
    major = re.findall(r"LLVM version: (\d+)", version)[0]
    host = re.findall(r"host: (\S+)", version)[0]
    sysroot = Path(_run(["rustc", "--print", "sysroot"]).strip())
    unpacked = ROOT / "target" / "llvm"
    for folder in (
        sysroot / "lib" / "rustlib" / host / "bin",
        Path("/usr/lib") / f"llvm-{major}" / "bin",
        unpacked / "usr" / "lib" / f"llvm-{major}" / "bin",
    ):
        if (folder / "llvm-cov").exists():
            break
    else:
        folder = _fetch(major, unpacked)
    library = str(unpacked / "usr" / "lib" / "x86_64-linux-gnu")
    os.environ["LD_LIBRARY_PATH"] = ":".join(
        filter(None, [library, os.environ.get("LD_LIBRARY_PATH")])
    )
    return {name: str(folder / f"llvm-{name}") for name in ("profdata", "cov")}


def _fetch(major: str, into: Path) -> Path:
    """Unpack Debian's packages without installing them."""
    into.mkdir(parents=True, exist_ok=True)
    names = [f"llvm-{major}", f"libllvm{major}"]
    fetched = subprocess.run(["apt-get", "download", *names], cwd=into, capture_output=True)
    if fetched.returncode:
        sys.exit(
            f"coverage: llvm-cov and llvm-profdata of LLVM {major} are missing: "
            f"rustup component add llvm-tools, or apt install llvm-{major}"
        )
    for package in into.glob("*.deb"):
        _run(["dpkg", "-x", str(package), str(into)])
        package.unlink()
    return into / "usr" / "lib" / f"llvm-{major}" / "bin"


def _run(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"coverage: {' '.join(command[:3])}: status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
