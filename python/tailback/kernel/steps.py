"""Shows the steps of a build on stderr: as a progress bar on a terminal, otherwise as one line per
step."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from tailback.base import terminal
from tailback.base.progress import bar, is_quiet

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Steps:
    """Shows one step at a time. Rich is imported only when the display appears."""

    def __init__(self, *, enabled: bool | None = None) -> None:
        self._enabled = enabled if enabled is not None else not is_quiet()
        self._terminal = sys.stderr.isatty()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._text = ""

    def step(self, text: str, total: float | None = None) -> None:
        """Begin a step. `total` is the amount of work. Without `total`, the bar shows no
        progress."""
        if not self._enabled or text == self._text:
            return
        self._text = text
        if not self._terminal:
            terminal.note(text)
            return
        if self._bar is None:
            self._show()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(text, total=total)

    def at(self, completed: float) -> None:
        """Show how much of the step is done, in the unit of `total`."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=completed)

    def note(self, text: str) -> None:
        """Print a note while the build continues."""
        if not self._enabled:
            return
        if self._bar is not None:
            self._bar.console.print(f"tailback: {text}")
        else:
            terminal.note(text)

    def _show(self) -> None:
        self._bar = bar()
        self._bar.start()

    def __enter__(self) -> Steps:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
