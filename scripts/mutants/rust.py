"""Makes and tests mutants of Rust sources. cargo-mutants lists the mutants, one build contains all
of them, and the tests run once for each mutant."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants import switch
from mutants.sample import CAUGHT, MISSED, ROOT, TIMEOUT, UNVIABLE, WORK, Mutant, copy_tree

VERSION = "27.1.0"
TOOLS = WORK.parent / "tools"
TREE = WORK / "tree"

MEMORY = 8 << 30
"""Memory that a mutant may allocate, in bytes. A mutant with an endless loop may fill a queue."""


@dataclass(frozen=True)
class Module:
    """Rust sources from whose mutants one sample is drawn."""

    package: str
    files: str


MODULES = {
    "tcp": Module("tailback-engine", "crates/engine/src/tcp/**"),
    "cc": Module("tailback-engine", "crates/engine/src/cc/**"),
    "aqm": Module("tailback-engine", "crates/engine/src/aqm/**"),
    "record": Module("tailback-record", "crates/record/src/**"),
}

PACKAGES = (
    "tailback-record",
    "tailback-engine",
    "tailback-run",
    "tailback-packetdrill",
    "tailback-scenario",
    "tailback-guest",
)
"""Packages whose tests run on a mutant. The mutant's own package comes first, and unit tests come
before other tests."""

FEATURES = "tailback-record/folder,tailback-record/pcapng"


@dataclass(frozen=True)
class Program:
    """A compiled test program."""

    path: str
    package: str
    unit: bool
    folder: str
    seconds: float = 0.0


def mutants(name: str) -> tuple[list[Mutant], int]:
    """Return the mutants of a module that an environment variable can enable, and the number of
    its other mutants.

    Mutants of `Debug` are left out, because only developers read its text.
    """
    module = MODULES[name]
    found, left_out = [], 0
    for entry in _list(module):
        if re.search(r"impl (std::)?(fmt::)?Debug for", entry["name"]):
            continue
        text = (ROOT / entry["file"]).read_text()
        if switch.place(text, entry, 0) is None:
            left_out += 1
            continue
        start = entry["span"]["start"]
        line = text.splitlines()[start["line"] - 1].strip()
        change = re.sub(r"^\S+:\d+:\d+: ", "", entry["name"])
        place = (start["line"], start["column"])
        found.append(Mutant(entry["name"], entry["file"], *place, change, line))
    return found, left_out


def test(
    tried: Mapping[str, Sequence[Mutant]],
    *,
    seed: int,
    done: Callable[[str], None],
    unit: bool,
) -> None:
    """Build the mutants of some modules into one set of programs, and run the tests on each mutant.
    With `unit`, run only unit tests. Call `done` with the module after every mutant."""
    entries = {e["name"]: e for name in tried for e in _list(MODULES[name])}
    every = [mutant for mutants in tried.values() for mutant in mutants]
    programs = _build(every, entries, unit=unit)
    environment = {
        **os.environ,
        # Every mutant must be tested with the same random inputs.
        "PROPTEST_RNG_SEED": str(seed),
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        "INSTA_UPDATE": "no",
        "INSTA_WORKSPACE_ROOT": str(TREE),
        "RUST_BACKTRACE": "0",
    }
    timed = [_baseline(program, environment) for program in programs]
    # Alternate between modules, so that an interrupted run has tried the same number of mutants of
    # each module.
    turns = [(name, mutant) for name in tried for mutant in tried[name]]
    turns.sort(key=lambda turn: tried[turn[0]].index(turn[1]))
    numbers = {id(mutant): number for number, mutant in enumerate(every, 1)}
    for name, mutant in turns:
        if mutant.outcome is not None:
            continue
        own = MODULES[name].package
        # Run the quick tests first, because they catch most mutants.
        order = sorted(timed, key=lambda p: p.seconds)
        chosen = {**environment, switch.VARIABLE: str(numbers[id(mutant)])}
        mutant.outcome = _meet(mutant, own, order, chosen)
        print(f"{mutant.outcome:8} {mutant}", file=sys.stderr, flush=True)
        done(name)


def _meet(
    mutant: Mutant, own: str, programs: Sequence[Program], environment: Mapping[str, str]
) -> str:
    """Run the tests of the mutant's module, then all tests, until one fails. Return the outcome."""
    within = Path(mutant.file).parts[3:]
    beside = "::".join(Path(part).stem for part in within[:2] if part != "mod.rs")
    folder = Path(within[0]).stem
    filters = [f"{name}::" for name in dict.fromkeys((beside, folder))]
    for program in programs:
        alone = filters if program.unit and program.package == own else []
        for tests in [*alone, ""]:
            status = _run(program, environment, 30 + 5 * program.seconds, tests)
            if status is None:
                return TIMEOUT
            if status:
                return CAUGHT
    return MISSED


def _baseline(program: Program, environment: Mapping[str, str]) -> Program:
    begun = time.monotonic()
    if _run(program, environment, 1800):
        sys.exit(f"mutants: {program.path} fails without a mutant")
    seconds = time.monotonic() - begun
    name = Path(program.path).name
    print(f"{seconds:6.1f} s {program.package} {name}", file=sys.stderr, flush=True)
    return Program(program.path, program.package, program.unit, program.folder, seconds)


def _run(
    program: Program, environment: Mapping[str, str], limit: float, tests: str = ""
) -> int | None:
    """Run the tests of a program whose names contain the text `tests`. Return the exit status, or
    `None` if the time limit is exceeded."""
    running = subprocess.Popen(
        [program.path, "--quiet", *([tests] if tests else [])],
        cwd=program.folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
    )
    try:
        return running.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def _build(
    every: Sequence[Mutant], entries: Mapping[str, Mapping[str, Any]], *, unit: bool
) -> list[Program]:
    """Build the tests with all mutants, one of which an environment variable enables. Leave out
    mutants that do not compile."""
    while True:
        arms = _write(every, entries)
        messages = _cargo(unit=unit)
        wrong = {
            arm.number
            for message in messages
            for file, line in _errors(message)
            for arm in arms.get(file, ())
            if arm.first <= line <= arm.last
        }
        if wrong:
            for number in wrong:
                every[number - 1].outcome = UNVIABLE
            print(f"{len(wrong)} mutants do not compile", file=sys.stderr, flush=True)
            continue
        failed = [m for m in messages if m.get("reason") == "build-finished" and not m["success"]]
        if failed:
            rendered = [m["message"]["rendered"] for m in messages if any(_errors(m))]
            sys.exit("\n".join([*rendered, "mutants: the tests do not compile"]))
        return [
            Program(
                message["executable"],
                message["package_id"].rpartition("/")[2].partition("#")[2].partition("@")[0]
                or f"tailback-{Path(message['manifest_path']).parent.name}",
                "test" not in message["target"]["kind"],
                str(Path(message["manifest_path"]).parent),
            )
            for message in messages
            if message.get("executable") and message["profile"]["test"]
        ]


def _write(
    every: Sequence[Mutant], entries: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[switch.Arm]]:
    """Write the sources with all mutants. Return the lines of each mutant, by file."""
    changes: defaultdict[str, list[switch.Change]] = defaultdict(list)
    for number, mutant in enumerate(every, 1):
        if mutant.outcome != UNVIABLE:
            text = (ROOT / mutant.file).read_text()
            change = switch.place(text, entries[mutant.key], number)
            assert change is not None
            changes[mutant.file].append(change)
    written, arms = {}, {}
    for file in sorted({*changes, *(str(switch.crate_root(file)) for file in changes)}):
        text, arms[file] = switch.with_switches((ROOT / file).read_text(), changes[file])
        root = file == str(switch.crate_root(file))
        written[file] = text + switch.CHOICE if root else text
    copy_tree(TREE, written)
    return arms


def _errors(message: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the file and line of each error in a compiler message."""
    found = message.get("message")
    if not isinstance(found, dict) or found["level"] != "error":
        return []
    return [(s["file_name"], s["line_start"]) for s in found["spans"] if s["is_primary"]]


def _cargo(*, unit: bool) -> list[dict[str, Any]]:
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(WORK / "build"),
        "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
        "CARGO_PROFILE_TEST_DEBUG": "false",
        # Allow warnings, because tests must catch a mutant, not the compiler's lints.
        "RUSTFLAGS": "--cap-lints=warn",
    }
    own = {module.package for module in MODULES.values()}
    packages = [
        word for name in PACKAGES if name in own or not unit for word in ("--package", name)
    ]
    command = ["cargo", "test", "--quiet", *packages, "--features", FEATURES]
    command += ["--lib"] if unit else []
    done = subprocess.run(
        [*command, "--no-run", "--message-format=json"],
        cwd=TREE,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _list(module: Module) -> list[dict[str, Any]]:
    command = [_tool(), "mutants", "--dir", str(ROOT), "--no-config", "--list", "--json"]
    command += ["--package", module.package, "--file", module.files]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if listed.returncode:
        sys.exit(f"mutants: cargo mutants --list: status {listed.returncode}")
    found: list[dict[str, Any]] = json.loads(listed.stdout)
    return found


def _tool() -> str:
    """Return the path of cargo-mutants. If cargo-mutants is missing, install it into
    target/tools."""
    installed = TOOLS / "bin" / "cargo-mutants"
    if not installed.exists():
        if present := shutil.which("cargo-mutants"):
            return present
        command = ["cargo", "install", "cargo-mutants", "--locked", "--version", VERSION]
        if subprocess.run([*command, "--root", str(TOOLS)], cwd=ROOT).returncode:
            sys.exit("mutants: cannot install cargo-mutants: see above")
    return str(installed)
