"""Formats help texts, with options grouped by purpose, and examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

HEADINGS = {
    "How it runs": (
        *("engine", "crates", "seeds", "jobs", "cores", "cluster", "part"),
        *("unconfined", "trust_programs"),
    ),
    "Output": (
        *("out", "as_json", "read_only", "quiet", "pdf", "report_folder", "no_report", "junit"),
        *("page", "help"),
    ),
}
"""The headings of help texts, with the shared options under each heading. All other options come
first, under "Options"."""


class Command(click.Command):
    """A command whose help text groups the options and ends with examples."""

    def __init__(
        self, *args: Any, examples: Sequence[tuple[str, str]] = (), **attributes: Any
    ) -> None:
        """Create the command. Each of `examples` is a pair: a command line without `tailback`, and
        its description."""
        if examples:
            attributes["epilog"] = "\n\n".join(
                [
                    "Examples:",
                    *(
                        f"\b\n  {text[0].upper()}{text[1:]}:\n    tailback {line}"
                        for line, text in examples
                    ),
                ]
            )
        super().__init__(*args, **attributes)
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, grouped by heading."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], **{h: [] for h in HEADINGS}}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            # The usage line shows the arguments, so list only options.
            if record is not None and not isinstance(parameter, click.Argument):
                sections[_heading(parameter.name)].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Group(click.Group):
    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, with its name and the first sentence of its help."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, self.commands[name].get_short_help_str(limit=200))
                    for name in self.list_commands(ctx)
                ]
            )


def _heading(name: str | None) -> str:
    return next((heading for heading, names in HEADINGS.items() if name in names), "Options")
