"""Lessons that come with tailback. `tailback new --lesson NAME` writes a lesson to a folder."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from tailback import examples
from tailback.base.foreign import line
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.store import layout

SCENARIO, QUESTION, ANSWER = "scenario.toml", "lesson.md", "answer.md"

NAMES = (
    "standing-queue",
    "codel-law",
    "pie",
    "ecn-against-drops",
    "dctcp-starves-reno",
    "dualpi2",
    "bbr-phases",
    "rtt-unfairness",
)
"""The lessons. Each lesson builds on the lessons before it."""


def title(name: str) -> str:
    """Return the title of a lesson."""
    text = _folder(name).joinpath(QUESTION).read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


def command_of(name: str) -> str | None:
    """Return the command that writes the lesson or the example with this name. Return None if no
    lesson and no example has this name."""
    return f"tailback new --lesson {name}" if name in NAMES else examples.command_of(name)


def write(name: str, folder: Path | str) -> list[Path]:
    """Write a lesson's files to a new or empty folder. Return their paths."""
    source, folder = _folder(name), Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{line(folder)}: already exists; name a folder that is new or empty")
    written: list[Path] = []
    for inside, file in _files(source, Path()):
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        with layout.replacing(target) as part:
            part.write_bytes(file.read_bytes())
        written.append(target)
    return written


def _folder(name: str) -> Traversable:
    if name not in NAMES:
        if (command := examples.command_of(name)) is not None:
            raise InputError(
                f'lesson "{name}" does not exist; run: {command}, because {name} is an example'
            )
        raise InputError(unknown("lesson", name, NAMES))
    return files(__name__).joinpath(name)


def _files(folder: Traversable, inside: Path) -> list[tuple[Path, Traversable]]:
    found: list[tuple[Path, Traversable]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _files(entry, inside / entry.name)
        else:
            found.append((inside / entry.name, entry))
    return found
