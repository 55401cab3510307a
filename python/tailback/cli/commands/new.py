"""`tailback new`: prints a scenario, or writes a lesson or a new plugin."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.base.foreign import line
from tailback.base.names import nearest
from tailback.cli.boundary import OK
from tailback.cli.completing import example_names, lesson_names
from tailback.cli.help import Command
from tailback.errors import InputError


@click.command(
    cls=Command,
    examples=(
        ("new > first.toml", "write the first example to a file"),
        ("new --lesson codel-law", "write a lesson to the folder codel-law"),
        ("new --crate cc my-cc", "start a plugin with a congestion control"),
    ),
)
@click.argument("name", metavar="[NAME]", required=False, shell_complete=example_names)
@click.option(
    "--list",
    "listed",
    is_flag=True,
    help="List the names and titles of all example scenarios and lessons.",
)
@click.option(
    "--lesson",
    metavar="LESSON",
    shell_complete=lesson_names,
    help=(
        "Write a lesson (a scenario, a question and the answer) to the folder NAME [default: the "
        "lesson's name]."
    ),
)
@click.option(
    "--crate",
    "kind",
    type=click.Choice(("cc", "queue", "traffic", "stack")),
    help="Create a plugin (a Rust crate) in the folder NAME. Add your own algorithm or transport "
    "stack to this plugin.",
)
def new(name: str | None, listed: bool, lesson: str | None, kind: str | None) -> int:
    """Print an example scenario, write the files of a lesson, or create a plugin. Without a name,
    the command prints the example `first`."""
    if lesson is not None and kind is not None:
        raise click.UsageError("--lesson and --crate do not go together; expected one of them")
    if kind is not None:
        if name is None:
            raise click.UsageError(f"--crate {kind} needs a folder; name it, e.g. my-{kind}")
        return _begin(kind, name)
    if lesson is not None:
        return _teach(lesson, name)
    from tailback import examples
    from tailback.teaching import lessons

    if listed:
        titles = {one: examples.title(one) for one in examples.names()}
        taught = {one: lessons.title(one) for one in lessons.NAMES}
        width = max(map(len, (*titles, *taught)))
        for heading, found in (("", titles), ("lessons (--lesson)", taught)):
            if heading:
                terminal.out(f"\n{heading}")
            for one, title in found.items():
                terminal.out(f"{one:{width}}  {title}")
    else:
        terminal.out(examples.text(_example(name or "first")), end="")
    return OK


def _teach(lesson: str, name: str | None) -> int:
    from tailback.teaching import lessons

    folder = Path(name or lesson)
    for path in lessons.write(lesson, folder):
        terminal.out(path)
    terminal.err(
        f"begin with {folder / lessons.QUESTION}, and run its commands in the folder {folder}"
    )
    return OK


def _begin(kind: str, name: str) -> int:
    from tailback.plugins import begin

    folder = Path(name)
    for path in begin.write(kind, folder):
        terminal.out(path)
    terminal.err(
        f"its tests: tailback build --with {folder} --test; "
        f"a run: tailback run {folder / 'scenario.toml'}"
    )
    return OK


def _example(name: str) -> str:
    """Return the name of an example. If the name is the name of a lesson or similar to one, raise
    `InputError` with the command for lessons."""
    from tailback import examples
    from tailback.teaching import lessons

    known = examples.names()
    near = nearest(name, (*known, *lessons.NAMES))
    if name not in known and near in lessons.NAMES:
        raise InputError(f'example "{line(name)}" does not exist; run: {lessons.command_of(near)}')
    return name
