"""Why variants differ: the explanations of their runs, set against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailback.explain import explain
from tailback.explain.variants import Reason, differing, facts
from tailback.stored import MANIFEST

if TYPE_CHECKING:
    from tailback.comparison.model import Comparison
    from tailback.results import Run

FLENT = "flent"
"""The engine of measured data, which has no account."""

MOST_RUNS = 2000
"""Of a larger comparison no reasons are looked for."""


@dataclass(frozen=True)
class At:
    """What differs at a point."""

    params: dict[str, float | str]
    labels: dict[str, str]
    reasons: list[Reason]

    def to_dict(self) -> dict[str, Any]:
        """The point in `--json`."""
        return {"params": self.params, "reasons": [r.to_dict() for r in self.reasons]}


def of(made: Comparison) -> list[At]:
    """The points at which some reason differs; empty where the runs have no account."""
    if any(column.engine == FLENT or column.kept is not None for column in made.variants):
        return []
    points = made.points()
    if sum(len(group) for _, groups in points for group in groups) > MOST_RUNS:
        return []
    names = [variant.name for variant in made.variants]
    coarse = len({variant.engine for variant in made.variants}) > 1
    out = []
    for _, groups in points:
        # A baseline of a file has no runs, a failed variant none here.
        if not all(groups):
            continue
        found = {name: _facts(g, coarse) for name, g in zip(names, groups, strict=True)}
        if not all(found.values()):
            continue
        reasons = differing(found)
        if reasons:
            first = groups[0][0]
            out.append(At(first.params, first.labels, reasons))
    return out


def _facts(group: Sequence[Run], coarse: bool) -> list[dict[Any, float]]:
    """Of every seed that has an account."""
    # Its summary is all that is known of a run without a folder.
    stored = [run.stored for run in group if (run.path / MANIFEST).exists()]
    found = [explain(run, series=False) for run in stored]
    return [facts(one, coarse=coarse) for one in found if one.flows or one.links]
