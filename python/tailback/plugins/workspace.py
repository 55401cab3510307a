"""Runs cargo to compile plugins and the engine's sources into a copy of `tailback._native`.

cargo runs in a workspace in the user's cache. The workspace links to the engine's crates and to the
plugins, and has a package that combines them. The engine's Cargo.lock fixes the versions of
dependencies. A plugin's Cargo.lock fixes the versions of dependencies that only the plugin has.
Missing dependencies are downloaded from crates.io.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tailback import _native
from tailback.base import folders, machine
from tailback.base.progress import Progress
from tailback.errors import InputError, TailbackError
from tailback.kernel import process
from tailback.plugins import locks, shipping, sources
from tailback.plugins.crate import Crate

OWN = "tailback-own"
"""The package that combines engine and plugins."""

SHARED = ("tailback-engine", "tailback-record", "tailback-conformance", "tailback-sim")
"""The crates of tailback that a plugin may depend on."""


def cache() -> Path:
    """Return the folder of all copies, in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "tailback" / "crates"


def key(crates: Sequence[Crate]) -> str:
    """Return a copy's name, which is a hash of the engine and these plugins."""
    parts = [_native.engine_version(), sys.platform, *(f"{c.name} {c.digest}" for c in crates)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def copy_of(crates: Sequence[Crate]) -> Path:
    """Return the path of the compiled module with these plugins, whether or not it is built."""
    return cache() / "built" / key(crates) / "_native.abi3.so"


def build(crates: Sequence[Crate]) -> Path:
    """Compile the copy with these plugins, and return its path."""
    done = copy_of(crates)
    with _workspace(crates) as folder:
        target = _target(folder)
        _cargo(crates, folder, "build", "--release", "--package", OWN)
        built = next(
            path
            for name in ("libtailback_own.so", "libtailback_own.dylib", "tailback_own.dll")
            if (path := target / "release" / name).exists()
        )
        done.parent.mkdir(parents=True, exist_ok=True)
        part = done.with_suffix(f".{os.getpid()}")
        shutil.copy(built, part)
        part.replace(done)
    return done


def test(crates: Sequence[Crate]) -> list[str]:
    """Run the tests in the plugins, and return cargo's output."""
    with _workspace(crates) as folder:
        packages = [word for crate in crates for word in ("--package", crate.name)]
        # Also name the combining package, because cargo then reuses the engine that was compiled
        # for that package.
        return _cargo(crates, folder, "test", "--tests", "--package", OWN, *packages)


@contextmanager
def _workspace(crates: Sequence[Crate]) -> Iterator[Path]:
    """Yield a workspace with these plugins. A lock keeps other processes out of the workspace."""
    engine = sources.find()
    version = hashlib.sha256(f"{engine.root}\n{_native.engine_version()}".encode() + engine.lock)
    folder = cache() / f"workspace-{version.hexdigest()[:12]}"
    (folder / "own" / "src").mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        machine.lock(lock)
        members = [f"crates/{name}" for name in shipping.CRATES]
        members += ["own", *(f"mine/{crate.name}" for crate in crates)]
        manifest = engine.manifest(members) + _patches()
        _write(folder / "Cargo.toml", manifest)
        locked = [crate.lock for crate in crates if crate.lock is not None]
        if locked or not (folder / "Cargo.lock").exists():
            (folder / "Cargo.lock").write_text(locks.merged(engine.lock.decode(), locked))
        _link(folder / "crates", engine.root / "crates")
        folders.remove(folder / "mine", inside=folder)
        (folder / "mine").mkdir()
        for crate in crates:
            _link(folder / "mine" / crate.name, crate.folder)
        _write(folder / "own" / "Cargo.toml", _own_manifest(crates))
        _write(folder / "own" / "src" / "lib.rs", _own_source(crates))
        yield folder


def patches(root: Path) -> str:
    """Return the `[patch]` table that points tailback's crates to the engine's sources."""
    lines = [
        f'{name} = {{ path = "{root}/{name.removeprefix("tailback-")}" }}\n' for name in SHARED
    ]
    return "[patch.crates-io]\n" + "".join(lines)


def _patches() -> str:
    return "\n" + patches(Path("crates"))


def _own_manifest(crates: Sequence[Crate]) -> str:
    lines = [
        "[package]",
        f'name = "{OWN}"',
        'version = "0.0.0"',
        "edition.workspace = true",
        "publish = false",
        "",
        "[lib]",
        'crate-type = ["cdylib"]',
        "test = false",
        "doctest = false",
        "",
        "[dependencies]",
        "tailback-binding.workspace = true",
        'pyo3 = { version = "*", features = ["abi3-py311", "extension-module"] }',
        *(f'{c.module} = {{ package = "{c.name}", path = "../mine/{c.name}" }}' for c in crates),
    ]
    return "\n".join(lines) + "\n"


def _own_source(crates: Sequence[Crate]) -> str:
    listed = "".join(
        f'    Crate {{ name: "{c.name}", hash: "{c.hash}", register: {c.module}::register }},\n'
        for c in crates
    )
    return f"""//! The engine with crates of the user's: written by tailback.

use pyo3::prelude::*;
use tailback_binding::Crate;

static CRATES: &[Crate] = &[
{listed}];

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {{
    tailback_binding::fill(module, CRATES)
}}
"""


def _write(path: Path, text: str) -> None:
    """Write a file only if its content changes, because cargo compares modification times."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _link(link: Path, to: Path) -> None:
    if not link.is_symlink() or link.readlink() != to:
        link.unlink(missing_ok=True)
        link.symlink_to(to)


def _target(folder: Path) -> Path:
    """Return cargo's target folder. In a checkout, return the checkout's target folder, so that
    cargo reuses the crates compiled there.
    """
    found = sources.find()
    if named := os.environ.get("CARGO_TARGET_DIR"):
        return Path(named).absolute()
    return (found.root if found.checkout else folder) / "target"


def _environment(folder: Path) -> dict[str, str]:
    extra = {"CARGO_TARGET_DIR": str(_target(folder)), "CARGO_TERM_COLOR": "never"}
    # Use the toolchain that compiled this checkout, because another toolchain would compile
    # everything again.
    configs = sorted(_target(folder).glob("maturin/pyo3-config-*.txt"), key=_age)
    if configs:
        extra["PYO3_CONFIG_FILE"] = str(configs[-1])
    else:
        extra["PYO3_PYTHON"] = sys.executable
    return process.environment(extra)


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _cargo(crates: Sequence[Crate], folder: Path, command: str, *words: str) -> list[str]:
    if shutil.which("cargo") is None:
        names = ", ".join(crate.name for crate in crates)
        raise TailbackError(
            f"cargo, which compiles {names}, is not there; "
            f"install Rust {sources.find().oldest_rust} or later (rustup.rs)"
        )
    try:
        # Add the plugins and their dependencies to Cargo.lock, without changing other entries.
        _offline_first(folder, "update", "--workspace")
        # Give the new Cargo.lock the modification time of the engine's Cargo.lock. Cargo.lock is
        # part of the engine's version hash. With a newer time, cargo would compile the engine again
        # for each set of plugins.
        old = sources.find().root / "Cargo.lock"
        shutil.copystat(old, folder / "Cargo.lock")
        with Progress(0, enabled=None, what="crates compiled") as shown:
            return _offline_first(folder, *_flags(crates), command, *words, shown=shown)
    except process.CommandFailed as error:
        raise _refused(crates, error.lines, command) from None


CUSTOM = 'getrandom_backend="custom"'
"""With this setting of rustc, getrandom takes its bytes from a function of the plugin."""


def _flags(crates: Sequence[Crate]) -> list[str]:
    """Return cargo's options for the source of randomness of plugins."""
    if not any(crate.own_randomness for crate in crates):
        return []
    # cargo adds these flags to the flags in its configuration files. If RUSTFLAGS is set, cargo
    # ignores all these flags, so `_offline_first` adds the flags to RUSTFLAGS instead.
    flags = json.dumps(["--cfg", CUSTOM])
    return ["--config", f"build.rustflags={flags}"]


_STEP = re.compile(r" *Building \[.*\] (\d+)/(\d+)")
"""Matches cargo's line of progress."""


def _offline_first(folder: Path, *words: str, shown: Progress | None = None) -> list[str]:
    """Run cargo offline, and again with network access if files are missing. `shown` displays the
    progress."""
    env = _environment(folder)
    if shown is not None:
        # If stderr is not a terminal, cargo prints progress only with both settings.
        env |= {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "80"}

    def update(line: str) -> None:
        if shown is not None and (step := _STEP.match(line)):
            done, shown.total = int(step[1]), int(step[2])
            shown.update(done, done / shown.total)

    if "--config" in words and (known := env.get("RUSTFLAGS")) is not None:
        env["RUSTFLAGS"] = f"{known} --cfg {CUSTOM}"
    try:
        return process.run(
            ["cargo", *words, "--offline"], cwd=folder, env=env, on_line=update, redraws=True
        )
    except process.CommandFailed as error:
        if "--offline" not in "\n".join(error.lines):
            raise
    return process.run(["cargo", *words], cwd=folder, env=env, on_line=update, redraws=True)


QUIET = re.compile(
    r" *(Compiling|Finished|Locking|Updating|Adding|Removing|Downloading|Downloaded|Fetch|Blocking|"
    r"Running|Fresh|Building|Doc-tests) .*"
    r"|warning: build failed, waiting for other jobs.*|error: could not compile `.*"
    r"|warning: `.*` \(.*\) generated \d+ warnings?.*"
    r"|running 0 tests|test result: ok\. 0 passed.*"
)


def diagnostics(crates: Sequence[Crate], lines: Sequence[str]) -> str:
    """Return the output of rustc and of tests, with workspace paths replaced by the user's
    folders."""
    text = "\n".join(line for line in lines if not QUIET.fullmatch(line)).strip("\n")
    text = re.sub(r"\n{3,}", "\n\n", text)
    for crate in crates:
        text = text.replace(f"mine/{crate.name}/", f"{crate.shown.rstrip('/')}/")
    return text


def _refused(crates: Sequence[Crate], lines: Sequence[str], command: str) -> TailbackError:
    names = ", ".join(crate.name for crate in crates)
    for crate in crates:
        missing = f"cannot find (value|function) `register` in (crate|module) `{crate.module}`"
        if any(re.search(missing, line) for line in lines):
            return InputError(
                f"{crate.shown}: {crate.name} registers nothing; write in src/lib.rs:\n"
                "pub fn register(registry: &mut tailback_engine::crates::Registry)"
            )
    said = diagnostics(crates, lines)
    if command == "test" and any(line.startswith("test result: FAILED") for line in lines):
        return TailbackError(f"tests of {names} fail:\n{said}")
    return InputError(f"{names} does not compile with the engine:\n{said}")
