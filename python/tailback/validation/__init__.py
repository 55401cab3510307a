"""The simulator against Linux, cell by cell: the command `tailback validate` and its page.

`grid` says what runs, `cells` what was measured, `verdicts` what agreement is asked for, `page`
writes it down; `causes.toml` says why a cell differs, where somebody has looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tailback.validation import grid
from tailback.validation.cells import Cell, cell
from tailback.validation.verdicts import Verdict, verdicts


@dataclass(frozen=True)
class Validation:
    """Cells of the grid and what they say."""

    ran: grid.Ran
    cells: list[Cell]
    quick: bool

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Every goal."""
        return verdicts(self.cells)

    @property
    def holds(self) -> bool:
        """Whether every goal holds."""
        return all(verdict.holds for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "engines": self.ran.versions,
            "cells": [found.to_dict() for found in self.cells],
            "summary": [verdict.to_dict() for verdict in self.verdicts],
        }


def validate(
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path | None = None,
    progress: bool | None = None,
    only: Sequence[str] = (),
) -> Validation:
    """Runs the grid on both engines and compares them; `only` names queues."""
    ran = grid.run(quick=quick, seeds=seeds, jobs=jobs, out=out, progress=progress, only=only)
    return Validation(ran, cells_of(ran), quick)


def cells_of(ran: grid.Ran) -> list[Cell]:
    """The cells of what has run on both engines."""
    found = []
    for batch in ran.batches:
        for sim, kernel in batch.pairs():
            params = sim[0].params
            found.append(
                cell(
                    batch.queue.name,
                    batch.mix,
                    float(params["bottleneck.rate"]),
                    float(params["path.rtt"]) / 1e9,
                    [run.summary for run in sim],
                    [run.summary for run in kernel],
                    {"sim": [r.run_id for r in sim], "kernel": [r.run_id for r in kernel]},
                )
            )
    return found
