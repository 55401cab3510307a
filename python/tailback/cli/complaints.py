"""Prints errors and warnings on stderr: `error: FILE:LINE:COLUMN: what is wrong`, then the line of
the file with a caret under the error, then advice.

The message of an error may end in advice, in one of these forms: `WHAT; expected WHAT ELSE; did you
mean "NAME"?`, `GIVEN: expected WHAT ELSE`, `WHAT; run: COMMAND`, or another imperative of
`_VERBS`."""

from __future__ import annotations

import re

import click

from tailback._native import Diagnostic, Scenario
from tailback.base import names, terminal
from tailback.base.foreign import line, shown
from tailback.base.located import Located
from tailback.base.progress import is_quiet

Problem = Diagnostic | Located | str

INDENT = "  "

MOST_COLUMNS = 100
"""The largest number of characters of a source line to print. If a line is longer, only the part
around the caret is printed."""

MOST_LISTED = 80
"""If the list of valid names has more characters than this number, the advice suggests only the
nearest name."""

_VERBS = (
    "add",
    "check",
    "choose",
    "compress",
    "free",
    "give",
    "install",
    "list",
    "move",
    "name",
    "omit",
    "open",
    "remove",
    "rename",
    "repair",
    "repeat",
    "replace",
    "report",
    "run",
    "run:",
    "see",
    "set",
    "split",
    "try",
    "use",
    "verify",
    "write",
)

_ADVICE = re.compile(
    rf"(?P<what>.+?)(?:; (?P<advice>(?:expected|did you mean|{'|'.join(_VERBS)}) .+)"
    r"|: (?P<instead>expected .+))",
    re.DOTALL,
)

_EXPECTED = re.compile(
    r"(?:expected (?P<expected>.+?))?(?:(?:; )?did you mean \"(?P<nearest>.+)\"\?)?", re.DOTALL
)


def error(problem: Problem) -> None:
    terminal.err(text_of("error", problem))


def warn(problem: Problem) -> None:
    terminal.err(text_of("warning", problem))


def note_replaced_sweeps(scenario: Scenario) -> None:
    """Print a note for each swept key that `--set` replaces by one value."""
    if is_quiet():
        return
    for index, key, values in scenario.replaced:
        path, value = scenario.overrides[index]
        count = "1 value" if values == 1 else f"{values} values"
        setting = line(f"{path}={value}")
        terminal.err(f"note: `--set {setting}` replaces the sweep of `{line(key)}` ({count})")


def text_of(kind: str, problem: Problem) -> str:
    """Return the lines to print for a problem. The first line begins with `kind`."""
    # Test for `str` and not for `Diagnostic`, because an engine with plugins has its own class of
    # diagnostics.
    if not isinstance(problem, str):
        place = f"{problem.place}: " if problem.place else ""
        # The message of a diagnostic may end in advice, like a problem that is a plain string.
        what, advice = (problem.message, problem.help) if problem.help else split(problem.message)
        lines = [f"{place}{what}", *_excerpt(problem)]
    else:
        what, advice = split(problem)
        # If a message has several lines, it is the output of another program, such as a compiler.
        lines = what.split("\n")
    if advice is not None:
        lines.append(advice)
    return f"{kind}: " + f"\n{INDENT}".join(lines)


def split(message: str) -> tuple[str, str | None]:
    """Split a message into the description of the error and the advice. The advice is None if the
    message does not have advice."""
    parts = _ADVICE.fullmatch(message)
    if parts is None:
        return message, None
    what = parts["what"] if parts["instead"] is None else f"{parts['what']} is not valid"
    advice = parts["advice"] or parts["instead"]
    hints = _EXPECTED.fullmatch(advice)
    return what, advice if hints is None else _imperative(**hints.groupdict())


def _imperative(expected: str | None, nearest: str | None) -> str:
    if nearest is None:
        return f"use {expected}"
    written = f'write "{nearest}"'
    if expected is None:
        return written
    others = expected.removeprefix("one of ")
    if others == expected:
        return f"{written}, or use {others}"
    if others == nearest or len(others) > MOST_LISTED:
        return written
    return f"{written}, or another of {others}"


def _excerpt(diagnostic: Diagnostic | Located) -> list[str]:
    begin = diagnostic.column - 1
    # A place without a line number means that tailback made the TOML text from a Python table. The
    # user has never seen the lines of this TOML text.
    is_there = re.search(rf":\d+:{diagnostic.column}$", diagnostic.place) is not None
    # If a key is missing at the top level of the file, there is no line to show.
    is_there = is_there and (begin > 0 or diagnostic.width > 0)
    if not is_there or not diagnostic.source.strip():
        return []
    from rich.cells import cell_len

    end = begin + max(diagnostic.width, 1)
    source = diagnostic.source
    before, marked, after = map(_flat, (source[:begin], source[begin:end], source[end:]))
    if len(before) + len(marked) + len(after) > MOST_COLUMNS:
        most = MOST_COLUMNS // 3
        before = before if len(before) <= most else f"...{before[-most:]}"
        marked = marked[:most]
        after = after if len(after) <= most else f"{after[:most]}..."
    carets = "^" * max(cell_len(marked), 1)
    return [f"{before}{marked}{after}".rstrip(), f"{' ' * cell_len(before)}{carets}"]


def _flat(text: str) -> str:
    """Return a line with control characters escaped and tabs expanded, so that all characters have
    the same width."""
    return shown(text).replace("\t", "    ")


def of_click(exception: click.ClickException) -> str:
    """Convert the message of a usage error from click to the style of tailback's messages."""
    context = exception.ctx if isinstance(exception, click.UsageError) else None
    command = context.command_path if context is not None else "tailback"
    advice = f"run: {command} --help"
    match exception:
        case click.MissingParameter():
            what = exception.format_message()
        case click.BadParameter(param=click.Parameter() as parameter):
            what = f"{parameter.get_error_hint(context)}: {_lower(exception.message)}"
        case click.UsageError():
            what = exception.message
            if near := _nearest(exception, context):
                advice = f'did you mean "{near}"?'
        case _:
            what = exception.format_message()
    what = re.sub(r"'(-[\w-]+|[A-Z]+)'", r"\1", _lower(what.rstrip(".")))
    what = re.sub(r"'([^']*)'", r'"\1"', what)
    return what if _ADVICE.fullmatch(what) else f"{what}; {advice}"


def _nearest(exception: click.UsageError, context: click.Context | None) -> str | None:
    """Return the option or command that the user probably meant."""
    if isinstance(exception, click.NoSuchOption) and context is not None:
        options = [name for one in context.command.params for name in one.opts]
        return names.nearest(exception.option_name, options)
    name = getattr(exception, "command_name", None)
    if name is None or context is None or not isinstance(context.command, click.Group):
        return None
    return names.nearest(name, context.command.list_commands(context))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if not text[:2].isupper() else text
