"""Compares the simulator with Linux, scenario by scenario, for the command `tailback validate` and
its page.

`grid` defines the scenarios, `cells` compares the measurements of both engines, `verdicts` defines
the limits for their differences, and `causes` explains differences that exceed a limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tailback.running.options import RunOptions
from tailback_studies.reproduction.judges import Judge
from tailback_studies.validation import grid
from tailback_studies.validation.causes import Cause, explain
from tailback_studies.validation.cells import Cell, cell
from tailback_studies.validation.verdicts import Miss, judges, misses


@dataclass(frozen=True)
class Validation:
    """The measured scenarios of the validation, and whether they are within the limits."""

    ran: grid.GridRuns
    cells: list[Cell]
    quick: bool
    causes: list[Cause] = field(default_factory=list)
    """The cause of each difference that exceeds a limit, in the order of `misses`."""

    @cached_property
    def judges(self) -> list[Judge]:
        """The result of each goal."""
        return judges(self.cells)

    @cached_property
    def misses(self) -> list[Miss]:
        """All differences that exceed a limit."""
        return misses(self.cells)

    @property
    def holds(self) -> bool:
        """Whether every goal holds over all scenarios of the validation."""
        return len(self.cells) == self.ran.cells and all(judge.holds for judge in self.judges)

    def cpu_s(self, engine: str, family: str | None = None) -> float:
        """Return the processor time of an engine's runs, including stored runs."""
        chosen = [b for b in self.ran.batches if family in (None, b.queue.family)]
        return math.fsum(run.timing["cpu_s"] for b in chosen for run in b.results[engine])

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "engines": self.ran.versions,
            "cells": [found.to_dict() for found in self.cells],
            "summary": [judge.row() for judge in self.judges],
            "misses": [
                {**miss.to_dict(), "cause": cause.text}
                for miss, cause in zip(self.misses, self.causes, strict=True)
            ],
        }


def validate(
    options: RunOptions,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    stored: bool = False,
) -> Validation:
    """Run the scenarios of `grid` on both engines, and compare the results.

    `only` names the queues to run. If `stored` is true, compare only stored runs, and make no new
    runs.
    """
    ran = grid.run(options, quick=quick, only=only, stored=stored)
    cells = cells_of(ran)
    found = explain(misses(cells), ran, options, stored=stored)
    return Validation(ran, cells, quick, found)


def cells_of(ran: grid.GridRuns) -> list[Cell]:
    """Return the scenarios whose runs are complete on both engines."""
    cells = []
    for batch in ran.batches:
        for sim, kernel in batch.pairs():
            cells.append(
                cell(
                    batch.queue.name,
                    batch.mix,
                    *_where(batch.queue, sim[0].params),
                    [run.summary for run in sim],
                    [run.summary for run in kernel],
                    {"sim": [r.run_id for r in sim], "kernel": [r.run_id for r in kernel]},
                    grid.kinds(batch.queue, batch.mix),
                )
            )
    return cells


def _where(queue: grid.GridQueue, params: Mapping[str, Any]) -> tuple[float, float]:
    """Return the rate (in bit/s) and the round-trip time (in seconds) of a scenario."""
    if queue.fixed:
        return queue.point
    return float(params["bottleneck.rate"]), float(params["path.rtt"]) / 1e9
