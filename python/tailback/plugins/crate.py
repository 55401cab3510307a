"""Describes a plugin: name, folder, and a hash of its sources."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.base import foreign
from tailback.errors import InputError
from tailback.plugins import compiled, sources
from tailback.store.versions import PLUGIN_NAME

MANIFEST = "Cargo.toml"
READY_MADE = ("quinn", "smoltcp", "str0m")
"""Stacks in the folder `stacks` of a checkout. Documents name these stacks by paths relative to the
checkout."""

HOW = "`tailback new --crate cc my-cc` begins one"


@dataclass(frozen=True)
class Crate:
    """A plugin: a Rust crate of the user."""

    name: str
    folder: Path
    """The absolute path of the plugin's folder."""
    shown: str
    """The path of the folder as the user wrote it."""
    digest: str
    """Hexadecimal hash of all sources from which the plugin is compiled."""
    lock: str | None = None
    """The content of the plugin's Cargo.lock. None if the plugin depends only on crates of
    tailback, because the file then has no effect."""
    own_randomness: bool = False
    """Whether the plugin has the function from which the library getrandom takes its bytes. The
    manifest of such a plugin has `getrandom = "custom"` in `[package.metadata.tailback]`."""

    @property
    def hash(self) -> str:
        """Return the digits of the plugin's hash that go into the engine's version."""
        return self.digest[:12]

    @property
    def module(self) -> str:
        """The plugin's name in Rust."""
        return self.name.replace("-", "_")


def read(folder: Path) -> Crate:
    """Read the plugin in a folder."""
    shown = foreign.line(_near(folder))
    if not folder.is_dir():
        raise InputError(f"{shown}: no such folder; {_expected(folder)}")
    path = folder / MANIFEST
    if not path.exists():
        raise InputError(
            f"{shown}: no {MANIFEST} in it, so it is not a crate; expected one ({HOW})"
        )
    table = _table(path)
    package = table.get("package")
    if not isinstance(package, dict):
        package = {}
    name = package.get("name")
    if not isinstance(name, str) or not PLUGIN_NAME.fullmatch(name):
        raise InputError(f"{shown}/{MANIFEST}: expected [package] with a name")
    if "workspace" in table:
        raise InputError(
            f"{shown}/{MANIFEST}: a plugin joins the workspace of the engine, so it cannot have "
            "its own [workspace]; remove [workspace]"
        )
    total = hashlib.sha256()
    for one in _parts(folder.resolve(), set()):
        for relative, data in compiled.files(one, _table(one / MANIFEST)):
            total.update(f"{relative}\0{hashlib.sha256(data).hexdigest()}\n".encode())
        total.update(b"\n")
    lock = _lock(folder, table)
    if lock is not None:
        total.update(lock.encode())
    own_randomness = _own_randomness(package, f"{shown}/{MANIFEST}")
    return Crate(name, folder.resolve(), shown, total.hexdigest(), lock, own_randomness)


def _expected(folder: Path) -> str:
    """Return what to write instead of a folder that does not exist."""
    if folder.parent.name == "stacks" and folder.name in READY_MADE:
        ready = sources.find().root / "stacks" / folder.name
        if ready.is_dir():
            return f"write {foreign.line(ready)}"
        return f"write the path of stacks/{folder.name} in a checkout of tailback"
    return f"expected that of a crate ({HOW})"


def _own_randomness(package: dict[str, Any], shown: str) -> bool:
    """Return whether a manifest asks for getrandom's custom back end."""
    metadata = package.get("metadata")
    table = metadata.get("tailback", {}) if isinstance(metadata, dict) else {}
    if table == {}:
        return False
    if table != {"getrandom": "custom"}:
        raise InputError(
            f'{shown}: [package.metadata.tailback]: expected only getrandom = "custom", or nothing'
        )
    return True


def _lock(folder: Path, table: dict[str, Any]) -> str | None:
    """Return the plugin's Cargo.lock if the plugin has dependencies besides tailback's crates."""
    foreign_ones = [name for name, _ in _dependencies(table) if not name.startswith("tailback-")]
    path = folder / "Cargo.lock"
    if not foreign_ones or not path.is_file():
        return None
    try:
        text = foreign.read(path).decode()
        tomllib.loads(text)
    except ValueError as error:
        raise InputError(f"{foreign.line(path)}: {error}; run: cargo generate-lockfile") from None
    return text


def _near(folder: Path) -> Path:
    """Return the path of a folder. If the folder is inside the current folder, the path is relative
    to the current folder."""
    try:
        return folder.absolute().relative_to(Path.cwd())
    except ValueError:
        return folder


def read_all(folders: Iterable[Path]) -> list[Crate]:
    """Read the plugins in these folders, each once, sorted by name."""
    crates: dict[str, Crate] = {}
    for folder in folders:
        crate = read(folder)
        same = crates.setdefault(crate.name, crate)
        if same.folder != crate.folder:
            raise InputError(
                f"{same.shown} and {crate.shown} are both crates with the name {crate.name}; "
                "rename one of them"
            )
    return sorted(crates.values(), key=lambda crate: crate.name)


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(foreign.read(path).decode())
    except ValueError as error:
        raise InputError(f"{foreign.line(path)}: {error}; repair the file") from None


def _parts(folder: Path, known: set[Path]) -> Iterator[Path]:
    """Yield the folders of a plugin and of the crates that it depends on by path."""
    known.add(folder)
    yield folder
    engine = sources.find().root / "crates"
    for _, dependency in _dependencies(_table(folder / MANIFEST)):
        if not isinstance(dependency, dict) or not isinstance(dependency.get("path"), str):
            continue
        path = (folder / dependency["path"]).resolve()
        # Leave out the engine's own crates, which the engine's version already covers.
        of_engine = path.parent == engine.resolve()
        if path not in known and not of_engine and (path / MANIFEST).exists():
            yield from _parts(path, known)


def _dependencies(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    tables = [table, *table.get("target", {}).values()]
    kinds = ("dependencies", "build-dependencies")
    wanted = [one.get(kind, {}) for one in tables if isinstance(one, dict) for kind in kinds]
    for some in wanted:
        if isinstance(some, dict):
            yield from some.items()
