"""Finds which modules of a Rust crate use which other modules. Tests check these dependencies.

A module may use an item that the root of its folder (`mod.rs`) declares. Using such an item does
not count as a dependency on another module of the folder. If the root only re-exports the item with
`use`, the module depends on the module that declares the item."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RustPath = tuple[str, ...]
"""A path inside a crate as a tuple of its segments. For example, `crate::tcp::ack` is `("tcp",
"ack")`."""

_USE = re.compile(r"(?<![\w:])(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
_INLINE = re.compile(r"(?<![\w:])\$?((?:crate|self|super)(?:\s*::\s*\w+)+)")


def code(path: Path) -> str:
    """Return a source without comments and without the test module at its end."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    return text.partition("#[cfg(test)]\nmod tests {")[0]


def sources(folder: Path) -> Iterator[Path]:
    """Yield the Rust files in a folder and below it, except test files."""
    for path in sorted(folder.rglob("*.rs")):
        if "test" not in path.stem:
            yield path


def use_tree(text: str) -> Iterator[tuple[RustPath, str]]:
    """Yield each path of a `use` declaration, and the name under which it is imported."""
    text = text.strip()
    head, brace, _ = text.partition("{")
    if brace:
        prefix = _segments(head)
        for part in _list(text[len(head) + 1 : text.rindex("}")]):
            for path, name in use_tree(part):
                if path == ("self",):
                    yield prefix, prefix[-1] if name == "self" else name
                else:
                    yield prefix + path, name
        return
    path_text, renamed, name = re.sub(r"\s+", " ", text).partition(" as ")
    path = _segments(path_text)
    if path:
        yield path, name.strip() if renamed else path[-1]


def _segments(text: str) -> RustPath:
    return tuple(part.strip() for part in text.split("::") if part.strip())


def _list(text: str) -> Iterator[str]:
    """Split a text at commas outside of braces."""
    depth, part = 0, ""
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield part
            part = ""
        else:
            part += character
    if part.strip():
        yield part


@dataclass(frozen=True)
class RustModule:
    """A file of a crate: its module path, its imports, and other paths in its code."""

    path: RustPath
    text: str
    uses: Mapping[str, RustPath]
    """Names that `use` imports, each with its path."""
    globs: frozenset[RustPath]
    """Modules that the file imports with a glob."""
    inline: frozenset[RustPath]
    """Paths that the code names in full, without importing them."""


def module_path(source: Path, file: Path) -> RustPath:
    """Return the module path of a file in a crate's `src`."""
    parts = file.relative_to(source).with_suffix("").parts
    if parts[-1] == "mod" or parts in (("lib",), ("main",)):
        return parts[:-1]
    return parts


def _absolute(at: RustPath, path: RustPath, aliases: frozenset[str]) -> RustPath | None:
    """Return a path relative to the crate's root, or None if it is in another crate."""
    if path[0] == "crate" or path[0] in aliases:
        return path[1:]
    if path[0] not in ("self", "super"):
        return None
    base, rest = at, path
    while rest and rest[0] in ("self", "super"):
        base, rest = (base[:-1] if rest[0] == "super" else base), rest[1:]
    return base + rest


def parse(text: str, at: RustPath, children: frozenset[str], aliases: frozenset[str]) -> RustModule:
    """Read the source of the module `at`, which has the submodules `children`."""
    uses: dict[str, RustPath] = {}
    globs: set[RustPath] = set()
    for match in _USE.finditer(text):
        for path, name in use_tree(match[2]):
            below = at + path if path[0] in children else None
            target = _absolute(at, path, aliases) or below
            if target is None:
                continue
            if name == "*":
                globs.add(target[:-1])
            else:
                uses[name] = target
    inline = {
        target
        for match in _INLINE.finditer(_USE.sub("", text))
        if (target := _absolute(at, _segments(match[1]), aliases))
    }
    return RustModule(at, text, uses, frozenset(globs), frozenset(inline))


@cache
def modules(source: Path) -> Mapping[RustPath, RustModule]:
    """Return the modules in a crate's `src` by path. If the crate has two roots, use `lib.rs`."""
    files: dict[RustPath, Path] = {}
    for file in sources(source):
        files.setdefault(module_path(source, file), file)
    texts = {path: code(file) for path, file in files.items()}
    root = texts.get((), "")
    aliases = frozenset(re.findall(r"extern crate self as (\w+);", root))
    return {
        path: parse(
            text,
            path,
            frozenset(other[-1] for other in files if other and other[:-1] == path),
            aliases,
        )
        for path, text in texts.items()
    }


def named(crate: Mapping[RustPath, RustModule], module: RustModule) -> set[RustPath]:
    """Return the paths that a module uses, after following re-exports."""
    paths = {*module.uses.values(), *module.inline}
    for above in module.globs:
        paths.add(above)
        if above in crate:
            words = set(re.findall(r"\w+", module.text))
            paths |= {path for name, path in crate[above].uses.items() if name in words}
    return {_followed(crate, path) for path in paths}


def _followed(crate: Mapping[RustPath, RustModule], path: RustPath) -> RustPath:
    """Follow re-exports to the module that declares the path."""
    for _ in range(8):
        for length in range(len(path)):
            at, name = path[:length], path[length]
            handed = crate[at].uses.get(name) if at in crate else None
            if handed and path[: length + 1] not in crate and handed != path[: length + 1]:
                path = handed + path[length + 1 :]
                break
        else:
            break
    return path


def folders(crate: Mapping[RustPath, RustModule]) -> list[RustPath]:
    """Return the paths of modules that have submodules, with the root first."""
    return sorted({path[:-1] for path in crate if path})


def graph(crate: Mapping[RustPath, RustModule], folder: RustPath) -> dict[str, set[str]]:
    """Map each file in a folder, at any depth, to the other files in this folder that the file
    uses.
    """
    depth = len(folder)
    rooms: dict[str, set[str]] = {}
    for path, module in crate.items():
        if len(path) <= depth or path[:depth] != folder:
            continue
        rooms.setdefault(path[depth], set()).update(
            other[depth]
            for other in named(crate, module)
            if len(other) > depth and other[:depth] == folder
        )
    return {room: (others & set(rooms)) - {room} for room, others in rooms.items()}
