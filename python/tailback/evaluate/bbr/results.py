"""Defines the result of a case, which is a section with the samples that decided the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tailback.evaluate.bbr.case import Case, Finding
from tailback.evaluate.model import SectionResult

if TYPE_CHECKING:
    from tailback.report.model import Block


T = TypeVar("T")


@dataclass(frozen=True)
class CaseResult(SectionResult):
    """The result of a case: a section with the states that decided its verdict."""

    trace: Sequence[dict[str, float | str]] = field(default=(), kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as `--json` prints it, with its `trace`."""
        return super().to_dict() | {"trace": list(self.trace)}


def worst(findings: Sequence[tuple[Finding, T]]) -> tuple[Finding, T]:
    """Return the finding that decides the verdict over all seeds: the first `fail`, otherwise the
    first `undecided`, otherwise the first finding. Each finding is paired with the data of its
    run."""
    order = {"fail": 0, "undecided": 1}
    return min(findings, key=lambda pair: order.get(pair[0].verdict, 2))


def decided(
    case: Case,
    found: Finding,
    runs: Sequence[str],
    rows: Sequence[dict[str, float | str]],
    *,
    side: str,
    note: str,
    caption: str,
) -> CaseResult:
    """Return the result of a case from the finding that decides it. `side` says whether a value
    passes above or below the bound. `rows` are the samples around the decision.
    """
    return CaseResult(
        case.id,
        case.title,
        case.source,
        found.verdict,
        found.measure,
        found.value,
        found.bound,
        None,
        case.file.name,
        note,
        tuple(runs),
        at_least=side == "at least",
        is_exact=side == "exactly",
        blocks=lambda: blocks(case, rows, caption),
        trace=rows,
    )


def seeds_note(seeds: int) -> str:
    if seeds == 1:
        return "One run of each case. With --seeds N, a case fails if one of N runs fails."
    return f"Each case ran with {seeds} seeds, and fails if one seed fails."


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
