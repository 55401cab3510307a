"""Errors in files that the scenario validator does not read, with file, line and column."""

from __future__ import annotations

from dataclasses import dataclass

from tailback.base.foreign import line as one_line


@dataclass(frozen=True)
class Located:
    """An error at a line and column of a file, which is printed like an error in a scenario."""

    file: str
    line: int
    column: int
    message: str
    help: str | None = None
    """What the user should do, as an imperative."""
    source: str = ""
    """The text of the line with the error."""
    width: int = 1
    """How many characters the carets mark."""

    @property
    def place(self) -> str:
        return f"{one_line(self.file)}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" + (f"; {self.help}" if self.help else "")
