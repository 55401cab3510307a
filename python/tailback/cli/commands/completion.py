"""`tailback completion`: prints a script that lets a shell complete commands."""

from __future__ import annotations

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.help import Command

SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=Command,
    examples=(
        (
            "completion bash > ~/.local/share/bash-completion/completions/tailback",
            "install the completion for bash",
        ),
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script that completes tailback's commands and options in a shell.

    For bash, add this line to ~/.bashrc: eval "$(tailback completion bash)". For zsh, add this line
    to ~/.zshrc: eval "$(tailback completion zsh)". For fish, run: tailback completion fish >
    ~/.config/fish/completions/tailback.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, "click has all of SHELLS"
    root = context.find_root()
    terminal.out(made(root.command, {}, "tailback", "_TAILBACK_COMPLETE").source())
    return OK
