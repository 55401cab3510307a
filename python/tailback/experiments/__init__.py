"""Published experiments, one package each.

A new experiment is a new package and one line in `_MODULES`; its module has a
constant `EXPERIMENT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from tailback.errors import InputError
from tailback.names import unknown

_MODULES = {
    "abe-2017": "tailback.experiments.abe_2017",
    "dctcp-internet-2014": "tailback.experiments.dctcp_internet_2014",
    "dualpi2-2022": "tailback.experiments.dualpi2_2022",
    "sce-2019": "tailback.experiments.sce_2019",
    "dualpi2-2019-wrr": "tailback.experiments.dualpi2_2019_wrr",
    "dualpi2-2019-refactoring": "tailback.experiments.dualpi2_2019_refactoring",
}

NAMES = tuple(_MODULES)


@dataclass(frozen=True)
class ReproduceResult:
    """How far off the published numbers an experiment is."""

    experiment: str
    engine: str
    report_dir: Path
    cells: list[dict[str, Any]] = field(default_factory=list)
    """id, quantity, unit, published, measured, n, ci95"""
    summary: list[dict[str, Any]] = field(default_factory=list)
    """quantity, cells, median_rel_error, p90_rel_error, median_abs_error, p90_abs_error"""

    def to_dict(self) -> dict[str, Any]:
        """The object that `reproduce --json` prints."""
        return {
            "experiment": self.experiment,
            "engine": self.engine,
            "cells": self.cells,
            "summary": self.summary,
        }


class Experiment(Protocol):
    """A published experiment."""

    @property
    def name(self) -> str:
        """The word on the command line."""

    @property
    def title(self) -> str:
        """Title, authors and year of the source."""

    @property
    def doc(self) -> str:
        """What it shows, in a sentence."""

    @property
    def parts(self) -> Sequence[str]:
        """Figures and tables that can be run by themselves."""

    def run(
        self,
        parts: Sequence[str] | None,
        *,
        quick: bool,
        seeds: int | None,
        jobs: int | None,
        out: Path,
        progress: bool | None,
        engine: str,
    ) -> ReproduceResult:
        """Runs the parts (default: all), writes the report, compares."""


def known_parts(parts: Sequence[str] | None, valid: Sequence[str]) -> tuple[str, ...]:
    """The parts asked for, or all, in the experiment's order; an unknown one is refused."""
    for part in parts or ():
        if part not in valid:
            raise InputError(unknown("part", part, valid))
    return tuple(part for part in valid if not parts or part in parts)


def get(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in _MODULES:
        raise InputError(unknown("experiment", name, NAMES))
    experiment: Experiment = import_module(_MODULES[name]).EXPERIMENT
    return experiment
