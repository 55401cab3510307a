"""Writes a new plugin, for `tailback new --crate`."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from tailback import __name__ as package
from tailback import registry
from tailback.base import folders, foreign
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.plugins import sources, workspace
from tailback.store import layout

KINDS = {"cc": "cc", "queue": "aqm", "traffic": "traffic", "stack": "programs"}
"""The kinds of new plugins, and the registry to which each kind belongs."""

KEYWORDS = (
    "abstract as async await become box break const continue crate do dyn else enum extern false "
    "final fn for gen if impl in let loop macro match mod move mut override priv pub ref return "
    "self static struct super trait true try type typeof union unsafe unsized use virtual where "
    "while yield"
)
"""Keywords of Rust, in any edition. Cargo rejects keywords as names of packages."""

LIBRARIES = frozenset(("alloc", "core", "proc_macro", "std", "test"))
"""Libraries that come with the Rust compiler."""

SCENARIO = {
    "cc": '[[flows]]\ncc = "{name}"\n\n[[flows]]\ncc = "cubic"\n',
    "queue": '[[flows]]\ncc = "cubic"\ncount = 2\n',
    "traffic": '[[flows]]\ncc = "cubic"\n\n[[traffic]]\nkind = "{name}"\nrate = "2Mbit"\n',
    "stack": '[[flows]]\ncc = "cubic"\n\n[[programs]]\nkind = "{name}"\n',
}


def write(kind: str, folder: Path) -> list[Path]:
    """Write a new plugin, and return its files. The plugin has the name of its folder."""
    if kind not in KINDS:
        raise InputError(unknown("crate", kind, list(KINDS)))
    name = folder.name
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", name):
        raise InputError(
            f"{foreign.line(folder)}: {name!r} cannot name a crate; "
            'expected a-z, 0-9, "-" and "_", a letter first'
        )
    refuse_unusable(name, foreign.line(folder))
    taken = [entry["name"] for entry in registry.entries(KINDS[kind])]
    if name in taken:
        raise InputError(
            f"{name} is one of tailback's own: {', '.join(taken)}; choose another name"
        )
    if folder.exists():
        raise InputError(f"{foreign.line(folder)} exists already; name another folder")
    texts = _texts(kind, name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Write either all files or no file, because a partial plugin would block the next attempt.
    with layout.naming(folder), folders.scratch(folder.parent) as scratch:
        begun = scratch / name
        for relative, text in texts.items():
            path = begun / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        begun.rename(folder)
    return [folder / relative for relative in texts]


def refuse_unusable(name: str, shown: str) -> None:
    """Reject a name that cargo cannot compile together with the engine."""
    module = name.replace("-", "_")
    packages = re.findall(r'(?m)^name = "([^"]+)"', sources.find().lock.decode())
    reason = None
    if module in KEYWORDS.split():
        reason = "is a keyword of Rust"
    elif module in LIBRARIES:
        reason = "is a library of Rust"
    elif module in {package.replace("-", "_") for package in (*packages, workspace.OWN)}:
        reason = "is a package that the engine is compiled from"
    if reason is not None:
        raise InputError(f'{shown}: "{name}" {reason} and cannot name a crate; choose another name')


def _template(name: str) -> str:
    return files(package).joinpath("plugins", "templates", f"{name}.rs").read_text("utf-8")


def _in_order(source: str) -> str:
    """Return Rust source with its `use` lines in the order of rustfmt."""
    uses = [line for line in source.splitlines() if line.startswith("use ")]
    names = sorted(uses, key=lambda line: line.removeprefix("use "))
    return source.replace("\n".join(uses), "\n".join(names))


def _texts(kind: str, name: str) -> dict[str, str]:
    module = name.replace("-", "_")
    struct = "".join(part.capitalize() for part in re.split("[-_]+", name))
    source = _template(kind)
    engine = sources.find()
    table = engine.manifest([])
    version = re.search(r'(?m)^version = "(\d+\.\d+)', table)
    edition = re.search(r'(?m)^edition = "(\d+)"', table)
    assert version is not None
    assert edition is not None
    # With tailback-sim as a dependency, `cargo test` runs a stack's tests without the command
    # `tailback`.
    more = f'\ntailback-sim = "{version[1]}"' if kind == "stack" else ""
    own_tests = {}
    if kind == "stack":
        tests = _template("stack_tests").replace("use MODULE::", f"use {module}::")
        own_tests["tests/bottleneck.rs"] = _in_order(tests)
    return {
        "Cargo.toml": f"""[package]
name = "{name}"
version = "0.1.0"
edition = "{edition[1]}"
rust-version = "{engine.oldest_rust}"
publish = false

[dependencies]
tailback-engine = "{version[1]}"{more}

[dev-dependencies]
tailback-conformance = "{version[1]}"
""",
        "src/lib.rs": source.replace('"NAME"', f'"{name}"').replace("TYPE", struct),
        "tests/conformance.rs": f"""//! What tailback asks of everything that is registered.

tailback_conformance::tests!({module}::register);
""",
        **own_tests,
        "scenario.toml": f"""title = "{name}"
with = ["."]
duration = "20s"

[bottleneck]
rate = "10Mbit"
queue = "{name if kind == "queue" else "fifo"}"

[path]
rtt = "40ms"

{SCENARIO[kind].format(name=name)}""",
        # .cargo/config.toml tells cargo and editors where the engine's crates are on this machine.
        # Other machines have other paths, so git ignores this file. Git keeps Cargo.lock, which has
        # no paths and which `cargo test --locked` needs.
        ".cargo/config.toml": workspace.patches(engine.root / "crates")
        + "\n[profile.test]\nopt-level = 2\n",
        ".gitignore": "/target/\n/.cargo/\n/results/\n",
    }
