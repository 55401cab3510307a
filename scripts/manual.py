"""Writes the manual pages and shell completions of a wheel. The wheel installs these files into the
folder share/ of a Python environment, where `man` and the shells look for them.

    python scripts/manual.py DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class
from click_man.core import write_man_pages

from tailback import __version__
from tailback.cli.main import cli

PLACES = {
    "bash": "bash-completion/completions/tailback",
    "zsh": "zsh/site-functions/_tailback",
    "fish": "fish/vendor_completions.d/tailback.fish",
}


def main(share: Path) -> None:
    """Write manual pages and completions."""
    manual = share / "man" / "man1"
    manual.mkdir(parents=True, exist_ok=True)
    # The pages are made from a group's `commands`, so load all commands first. Usually, commands
    # are loaded only when they are first used.
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, name
        cli.add_command(command, name)
    # Leave the date out, so that the same sources give the same bytes.
    write_man_pages("tailback", cli, version=__version__, target_dir=str(manual), date=" ")
    for shell, place in PLACES.items():
        made = get_completion_class(shell)
        assert made is not None, shell
        path = share / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made(cli, {}, "tailback", "_TAILBACK_COMPLETE").source(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
