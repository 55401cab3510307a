"""Checks that only one function in Python and one function in Rust remove folders by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import ROOT
from tailback.base import folders

REMOVES = re.compile(
    r"\brmtree\b|\bremovedirs\b|\brmdir\b|\bremove_dir(_all)?\b|\brm +-[a-zA-Z]*r|\"rm\", *\"-"
)

SOURCES = {
    "python": "*.py",
    "crates": "*.rs",
    "scripts": "*",
    "playground": "*.ts",
}

PLACES = {"python/tailback/base/folders.py", "crates/record/src/scratch.rs"}

CALLERS = {
    # These modules remove only folders that they made.
    "scripts/generate.py",
    "scripts/league.py",
    "scripts/wine.py",
    "python/tailback/plugins/workspace.py",
    "python/tailback/running/engines/kernel.py",
    "python/tailback/kernel/build.py",
    "python/tailback/kernel/modules.py",
    "python/tailback/kernel/patches/__init__.py",
    "python/tailback/kernel/programs/built.py",
    "python/tailback/kernel/programs/roots.py",
    "python/tailback/kernel/root.py",
    "python/tailback/kernel/source.py",
}


def sources() -> dict[str, str]:
    """Return the sources of tailback by path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8", "replace")
        for folder, names in SOURCES.items()
        for path in sorted((ROOT / folder).rglob(names))
        if path.is_file() and "node_modules" not in path.parts
    }


def test_nothing_else_removes_folders() -> None:
    found = {name for name, text in sources().items() if REMOVES.search(text)}
    # Tests of the crates remove their files with `tempfile`.
    assert found == PLACES


def test_callers_are_known() -> None:
    called = {name for name, text in sources().items() if "folders.remove(" in text}
    assert called <= CALLERS, "a new caller is looked at, then listed here"


@pytest.mark.parametrize("name", ["..", ".", "../elsewhere", "link", "link/kept", "", "/tmp"])
def test_only_what_lies_inside_is_removed(name: str, tmp_path: Path) -> None:
    inside, elsewhere = tmp_path / "inside", tmp_path / "elsewhere"
    inside.mkdir()
    (elsewhere / "kept").mkdir(parents=True)
    (inside / "link").symlink_to(elsewhere)
    with pytest.raises(ValueError, match="not removed"):
        folders.remove(inside / name, inside=inside)
    assert (elsewhere / "kept").is_dir()
    assert inside.is_dir()


def test_what_is_inside_is_removed_and_links_in_it_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    own = tmp_path / "own"
    own.mkdir()
    (own / "link").symlink_to(elsewhere)
    folders.remove(own, inside=tmp_path)
    folders.remove(tmp_path / "nothing", inside=tmp_path)
    assert not own.exists()
    assert elsewhere.is_dir()
