"""Shows progress on stderr for commands that take longer than two seconds.

A terminal shows a bar with the time left. A notebook shows one line of text, which each update
replaces. If stderr is neither a terminal nor in a notebook, it may be a file, so a line is printed
every few seconds. `--quiet` or TAILBACK_QUIET=1 hides progress and messages. TAILBACK_PROGRESS=off
hides only progress.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from tailback.base import terminal

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE_S = 2.0
"""Seconds that a command runs before a bar appears."""

EVERY_S = 5.0
"""The shortest time between two lines of progress, in seconds."""

SHARE = 0.02
"""The shortest time between two lines, as a share of the elapsed time. A command that runs for a
day therefore prints only a few hundred lines."""

QUIET, SHOWN = "TAILBACK_QUIET", "TAILBACK_PROGRESS"


def is_quiet() -> bool:
    """Return whether to print only results, warnings and errors."""
    return os.environ.get(QUIET, "") not in ("", "0")


def _is_wanted() -> bool:
    return not is_quiet() and os.environ.get(SHOWN, "") not in ("off", "0")


def say(text: str) -> None:
    """Print a line about the current step on stderr."""
    if not is_quiet():
        terminal.note(text)


@contextmanager
def within(text: str) -> Iterator[None]:
    """Show a text such as "codel, 3 of 12" before the progress of all batches in the `with`
    block."""
    _around.append(text)
    try:
        yield
    finally:
        _around.pop()


_around: list[str] = []


def bar() -> RichProgress:
    """Return a Rich progress bar that is not started yet."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    from tailback.base.console import PlainConsole

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TimeLeft(),
        console=PlainConsole(stderr=True),
        transient=True,
    )


class _View(Protocol):
    """The interface of every display of progress: terminal, lines or notebook."""

    def update(self, what: str, fraction: float) -> None:
        """Show the fraction of the work that is finished. `what` describes the finished work in
        words, such as "3/12 runs"."""

    def close(self) -> None:
        """End the display, whether the work succeeded or not."""


class _Bar:
    """Shows progress on a terminal. Rich is imported only when the bar appears."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def update(self, what: str, fraction: float) -> None:
        if self._bar is None:
            if time.monotonic() - self._since < PATIENCE_S:
                return
            self._bar = bar()
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        if self._task is not None:
            self._bar.update(self._task, completed=fraction, description=what)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


class _Lines:
    """Prints progress as lines if stderr is not a terminal. The time until the first line is
    measured from the start of the first batch, because many short batches may together take long.
    """

    started: float | None = None
    last = 0.0

    def __init__(self) -> None:
        self._since = time.monotonic()
        if _Lines.started is None:
            _Lines.started = _Lines.last = self._since

    def update(self, what: str, fraction: float) -> None:
        now = time.monotonic()
        waited = max(EVERY_S, SHARE * (now - (_Lines.started or now)))
        if now - _Lines.last < waited:
            return
        _Lines.last = now
        terminal.note(_text(what, fraction, now - self._since))

    def close(self) -> None:
        """Do nothing, because printed lines are not removed at the end."""


class _Notebook:
    """Shows progress in a notebook through IPython's display function, which needs no widgets."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._handle: Any = None
        self._last = 0.0
        self._said = ""

    def update(self, what: str, fraction: float) -> None:
        now = time.monotonic()
        # Store the text even if it is too early to show it, because `close` may show it.
        self._said = what
        if now - self._since < PATIENCE_S or now - self._last < 0.25:
            return
        self._last = now
        self._show(_Shown(_text(what, fraction, now - self._since), fraction))

    def close(self) -> None:
        if self._handle is not None:
            took = duration(time.monotonic() - self._since)
            self._show(_Shown(f"{self._said}, {took}", None))

    def _show(self, shown: _Shown) -> None:
        if self._handle is None:
            display = importlib.import_module("IPython.display").display
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)


class _Shown:
    """A line of text about the progress, which IPython can display."""

    def __init__(self, text: str, fraction: float | None) -> None:
        self._text = text
        self._fraction = fraction

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        import html

        text = html.escape(self._text)
        if self._fraction is None:
            return text
        return f'<progress max="1" value="{self._fraction:.4f}"></progress> {text}'


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this process. Do not import IPython to find out."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _text(what: str, fraction: float, elapsed_s: float) -> str:
    left = ""
    if fraction > 0:
        left = f", {duration(elapsed_s * (1 - fraction) / fraction)} left"
    return f"{what}, {100 * fraction:.0f} %{left}"


def duration(seconds: float) -> str:
    """Format a time in words: "40 s", "12 min", "3 h 20 min"."""
    minutes = round(seconds / 60)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Shows the progress of a batch of runs, or of the work that `what` names. If `enabled` is
    None, the environment decides whether to show it."""

    def __init__(self, total: int, *, enabled: bool | None, what: str = "runs") -> None:
        self.total = total
        self._what = what
        self._view: _View | None = None
        if enabled is False or (enabled is None and not _is_wanted()):
            return
        if _in_notebook():
            self._view = _Notebook()
        elif sys.stderr is not None and sys.stderr.isatty():
            self._view = _Bar()
        else:
            self._view = _Lines()

    def update(self, done: int, fraction: float) -> None:
        """Show the number of finished runs, and the fraction of all work that is finished."""
        if self._view is not None:
            around = "".join(f"{text}: " for text in _around)
            self._view.update(f"{around}{done}/{self.total} {self._what}", fraction)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._view is not None:
            self._view.close()
