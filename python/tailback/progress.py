"""A bar with the time left, on stderr, for what lasts longer than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE_S = 2.0


def bar() -> RichProgress:
    """A bar that has not been started."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TimeLeft(),
        console=Console(stderr=True),
        transient=True,
    )


class Progress:
    """Shows how far a batch of runs (or of `what` else) is.

    Rich is imported when the bar appears, not before.
    """

    def __init__(self, total: int, *, enabled: bool | None, what: str = "runs") -> None:
        self._total = total
        self._what = what
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._since = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def update(self, done: int, fraction: float) -> None:
        """So many runs are done, and this part of the work of all of them."""
        if not self._enabled:
            return
        if self._bar is None:
            if time.monotonic() - self._since < PATIENCE_S:
                return
            self._show()
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, completed=fraction, description=f"{done}/{self._total} {self._what}"
            )

    def _show(self) -> None:
        self._bar = bar()
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
