"""Turns every exception of a command into a message on stderr and an exit status.

An exception of an unexpected type is a bug. tailback prints one sentence about it, and writes a
file to attach to a bug report. The terminal shows the traceback only with TAILBACK_DEBUG=1."""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TextIO, cast

import click

from tailback import _native
from tailback.base import disk, foreign, terminal
from tailback.cli import complaints
from tailback.errors import (
    DamagedResults,
    DamageWarning,
    InputError,
    RunsFailed,
    ScenarioWarning,
    TailbackError,
    VersionWarning,
)

OK, FAILED, BAD_INPUT, EXCEEDED, UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""EXCEEDED means that a `--fail-if` bound is exceeded, and UNKNOWN that more seeds are needed to
decide about a bound."""


def status_of(command: Callable[[], int | None]) -> int:
    """Run a command and return its exit status, even if the command raises an error."""
    terminal.prepare()
    _native.keep_panics()
    warnings.showwarning = _show_warning
    threading.excepthook = lambda found: _unexpected(found.exc_value)
    sys.unraisablehook = lambda found: _unexpected(found.exc_value)
    try:
        try:
            status = command()
            sys.stdout.flush()
            return status or OK
        except BaseException as error:
            return _said(error)
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Prevent the interpreter from writing the
        # remaining output to the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError:
        # stdout or stderr is closed, so no message can be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _said(error: BaseException) -> int:
    match error:
        case SystemExit() | BrokenPipeError():
            raise error
        case click.exceptions.NoArgsIsHelpError():
            terminal.out(error.format_message())
            return BAD_INPUT
        case KeyboardInterrupt() | click.exceptions.Abort():
            # Hide errors of destructors, because the interrupt may have left incomplete objects.
            sys.unraisablehook = lambda _: None
            terminal.note("interrupted; the results of finished runs are kept")
            return INTERRUPTED
        case click.ClickException():
            complaints.error(complaints.of_click(error))
            return BAD_INPUT
        case InputError():
            problems = error.problems
            if isinstance(error, DamagedResults):
                problems[-1] = _mended(problems[-1])
            for problem in problems:
                complaints.error(problem)
            return BAD_INPUT
        case RunsFailed():
            for failure in error.failures:
                complaints.error(failure)
            return FAILED
        case TailbackError():
            complaints.error(str(error))
            return FAILED
        case OSError():
            where = f"{foreign.line(error.filename)}: " if error.filename is not None else ""
            # Remove the errno that Rust's standard library appends to its messages.
            words = re.sub(r" \(os error \d+\)", "", str(error))
            words = f"{where}{error.strerror}" if error.strerror else words
            complaints.error(f"{words}{disk.where_full(error)}")
            return FAILED
        case MemoryError():
            complaints.error("out of memory; use fewer --jobs, or a smaller scenario")
            return FAILED
        case UnicodeEncodeError() if any("\ud800" <= c <= "\udfff" for c in error.object):
            complaints.error(
                f"{foreign.quoted(error.object)} is not UTF-8; expected names in UTF-8"
            )
            return BAD_INPUT
    _unexpected(error)
    return FAILED


def _mended(problem: complaints.Problem) -> complaints.Problem:
    """If a message about damaged results does not end in advice, append advice to it."""
    if isinstance(problem, str) and complaints.split(problem)[1] is None:
        return f"{problem}; run the scenario again, which repeats damaged runs"
    return problem


def _unexpected(error: BaseException | None) -> None:
    """Print a sentence about the bug, and write a file with data that helps to find it."""
    if error is None:
        return
    import platform
    import tempfile
    import traceback

    trace = "".join(traceback.format_exception(error))
    if panic := _native.kept_panic():
        trace += f"\n{panic}\n"
    about = "".join(
        f"{line}\n"
        for line in (
            f"tailback {_native.engine_version()}",
            f"Python {platform.python_version()}, {platform.platform()}",
            f"command: {sys.argv[1:]!r}",
            "",
        )
    )
    if os.environ.get("TAILBACK_DEBUG") == "1":
        terminal.err(trace)
    what = "nested too deeply" if isinstance(error, RecursionError) else foreign.quoted(error)
    try:
        # `mkstemp` gives each report a new name and lets only its owner read it.
        handle, path = tempfile.mkstemp(prefix="tailback-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(foreign.shown(about + trace))
        attach = f"with {path}"
    except OSError:
        attach = "with what TAILBACK_DEBUG=1 shows"
    complaints.error(f"unexpected {type(error).__name__}, {what}\nplease report it {attach}")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001 (`warnings` passes `file`)
    line: str | None = None,
) -> None:
    """Print a warning without the Python file and line, because the warning is about a scenario or
    stored results."""
    if issubclass(category, ScenarioWarning | DamageWarning | VersionWarning):
        found = message.args[0] if isinstance(message, Warning) and message.args else message
        complaints.warn(
            cast("_native.Diagnostic", found) if hasattr(found, "place") else str(message)
        )
    else:
        terminal.err(warnings.formatwarning(message, category, filename, lineno, line).rstrip())
