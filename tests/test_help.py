"""Checks that every command has examples that parse, and a help text for each option."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest

from tailback.cli.help import Command
from tailback.cli.main import PURPOSES, cli


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with the words that a user types to run it."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())
        else:
            yield name, command


COMMANDS = dict(every_command())
EXAMPLES = [
    pytest.param(line, id=line)
    for command in COMMANDS.values()
    if isinstance(command, Command)
    for line, _ in command.examples
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_parses(line: str) -> None:
    words = shlex.split(line.partition(">")[0])
    name = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
    with COMMANDS[name].make_context(name, words[len(name.split()) :]) as context:
        assert context.command is COMMANDS[name]


@pytest.mark.parametrize("name", [name for name in COMMANDS if " " not in name])
def test_a_command_has_two_examples_and_explains_its_options(name: str) -> None:
    command = COMMANDS[name]
    assert isinstance(command, Command)
    assert len(command.examples) >= (1 if name == "completion" else 2)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_commands_are_grouped_by_purpose() -> None:
    context = click.Context(cli, info_name="tailback")
    text = cli.get_help(context)
    order = [text.index(f"{heading}:") for heading in PURPOSES]
    assert order == sorted(order)
    # click shortens a long sentence, which then ends in "...".
    assert "..." not in text.replace("[ARGS]...", "")
