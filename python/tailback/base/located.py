"""Mistakes in files that the validator of scenarios does not read, with their places."""

from __future__ import annotations

from dataclasses import dataclass

from tailback.base.foreign import line as one_line


@dataclass(frozen=True)
class Located:
    """A mistake at a place of a file, which is printed like a diagnostic of a scenario."""

    file: str
    line: int
    column: int
    message: str
    help: str | None = None
    """What the user should do, as an imperative."""
    source: str = ""
    """The line of the file."""
    width: int = 1
    """Characters that the carets mark."""

    @property
    def place(self) -> str:
        """`FILE:LINE:COLUMN`."""
        return f"{one_line(self.file)}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" + (f"; {self.help}" if self.help else "")
