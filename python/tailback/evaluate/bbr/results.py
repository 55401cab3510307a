"""Defines the result of a case: a section with the samples that decided its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailback.evaluate.bbr.case import Case
from tailback.evaluate.model import SectionResult

if TYPE_CHECKING:
    from tailback.report.model import Block


@dataclass(frozen=True)
class CaseResult(SectionResult):
    """The result of a case: a section with the states that decided its verdict."""

    trace: Sequence[dict[str, float | str]] = field(default=(), kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as `--json` prints it, with its `trace`."""
        return super().to_dict() | {"trace": list(self.trace)}


def seeds_note(seeds: int) -> str:
    """Return a sentence about how many runs decided the verdicts."""
    if seeds == 1:
        return "One run of each case; --seeds N repeats it, and one failure fails the case."
    return f"{seeds} seeds of each case; one failure fails the case."


def blocks(case: Case, rows: Sequence[dict[str, float | str]], caption: str) -> Sequence[Block]:
    """Return a table of the samples around the decision, for the report."""
    from tailback.report.model import Column, Table

    if not rows:
        return ()
    columns = [
        Column(head, "" if isinstance(value, str) else ".6g") for head, value in rows[0].items()
    ]
    name = f"states-{case.id.replace('.', '-')}"
    return (
        Table(
            name, "States around the decision", columns, [list(r.values()) for r in rows], caption
        ),
    )
