"""Finds the files from which cargo compiles a plugin.

Only these files are part of the plugin's hash.

The hash covers the manifest, Rust sources, everything in `src`, and every file that the Rust
sources or the manifest name. A source names a file if the name of the file or of one of its folders
occurs in the source outside of comments. A change to a file that a source includes therefore
changes run ids. A change to a scenario or baseline beside the sources does not change run ids.

tailback does not compile the plugin to find its files. The hash may therefore cover more files than
cargo reads, but should not cover fewer. All files of the folder are included if the plugin has a
build script. All files are also included if a source computes the path of a file that it includes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback.base import foreign

MANIFEST = "Cargo.toml"

APART = ("target", "tests", "benches", "examples", "results", "Cargo.lock")
"""Parts of a plugin's folder that are not compiled into the library."""

_COMMENT = re.compile(r"^\s*(?://|#\s).*$", re.MULTILINE)
"""A line of Rust or TOML that is only a comment."""

_INCLUDE = re.compile(r"\binclude(?:_\w+)?!\s*[(\[{]\s*")
_PATH = re.compile(
    r'(?P<top>concat!\s*\(\s*env!\s*\(\s*"CARGO_MANIFEST_DIR"\s*\)\s*,\s*)?'
    r'"(?P<name>[^"\\]*)"\s*[,)\]}]'
)
"""Matches the argument of an include macro if it is a string literal, alone or after the plugin's
folder."""


def files(folder: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of each file that is part of the hash, sorted."""
    every = list(_every(folder))
    sources = {
        path: foreign.read(folder / path)
        for path in every
        if path.endswith(".rs") or path == MANIFEST
    }
    texts = {path: data.decode(errors="replace") for path, data in sources.items()}
    if not _reads_unnamed_files(every, manifest, list(texts.values())):
        code = (_COMMENT.sub("", text) for text in texts.values())
        words = set(re.findall(r"[\w.-]+", "\n".join(code)))
        every = [path for path in every if _counts(path, words)]
    for path in every:
        yield path, sources.get(path) or foreign.read(folder / path)
    included = {name for path, text in texts.items() for name in _included(folder, path, text)}
    for path in sorted(included.difference(every)):
        yield path, foreign.read(folder / path)


def _every(folder: Path) -> Iterator[str]:
    """Yield the path of each file of a plugin that cargo might read, sorted."""
    for base, inner, names in os.walk(folder):
        at = Path(base).relative_to(folder)
        top = at == Path()
        inner[:] = sorted(n for n in inner if not n.startswith(".") and not (top and n in APART))
        for name in sorted(names):
            if name.startswith(".") or (top and name in APART) or name.endswith(".md"):
                continue
            if Path(base, name).is_file():
                yield str(at / name)


def _counts(path: str, words: set[str]) -> bool:
    parts = Path(path).parts
    if path == MANIFEST or path.endswith(".rs") or parts[0] == "src":
        return True
    return any(part in words for part in parts)


def _reads_unnamed_files(
    every: Sequence[str], manifest: Mapping[str, Any], texts: Sequence[str]
) -> bool:
    """Return whether cargo may read files that the sources do not name."""
    package = manifest.get("package", {})
    if package.get("build", "build.rs" in every):
        return True
    return any(
        _PATH.match(text, macro.end()) is None
        for text in texts
        for macro in _INCLUDE.finditer(text)
    )


def _included(folder: Path, source: str, text: str) -> Iterator[str]:
    """Yield the paths of files that a source includes with a literal path, relative to the folder.

    The files may be outside of the folder.
    """
    for macro in _INCLUDE.finditer(text):
        literal = _PATH.match(text, macro.end())
        if literal is None or literal["name"].endswith(".md"):
            continue
        base = folder if literal["top"] else (folder / source).parent
        path = base / literal["name"].lstrip("/") if literal["top"] else base / literal["name"]
        if path.is_file():
            yield os.path.relpath(path, folder)
