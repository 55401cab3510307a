"""Finds reasons for the differences between variants, by comparing the explanations of `tailback
explain` for their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailback.comparison import matching
from tailback.explain import explain
from tailback.explain.variants import Key, Reason, differing, facts
from tailback.store.run_folder import MANIFEST

if TYPE_CHECKING:
    from tailback.comparison.model import Comparison
    from tailback.store.results import Run

MEASURED = ("flent", "qlog")
"""Engine names of measured data. tailback cannot explain measured data, because such data does not
show what limited each flow and filled each queue."""

Facts = dict[Key, float]
"""Numbers from the explanation of a run, keyed by kind of object, object name and quantity."""

MOST_RUNS = 2000
"""The largest number of runs in a comparison for which tailback computes reasons."""


@dataclass(frozen=True)
class At:
    """The findings that explain the differences between variants at one sweep point (see
    `explain.variants`).
    """

    params: dict[str, float | str]
    labels: dict[str, str]
    reasons: list[Reason]

    def to_dict(self) -> dict[str, Any]:
        return {"params": self.params, "reasons": [r.to_dict() for r in self.reasons]}


def of(comparison: Comparison) -> list[At]:
    """Return the points at which a finding of `explain` differs between variants. The list is empty
    if runs have no `account.json`."""
    if any(column.engine in MEASURED or column.kept is not None for column in comparison.variants):
        return []
    points = comparison.points()
    if sum(len(group) for _, groups in points for group in groups) > MOST_RUNS:
        return []
    names = [variant.name for variant in comparison.variants]
    coarse = len({variant.engine for variant in comparison.variants}) > 1
    out = []
    for _, groups in points:
        # A variant has no runs at this sweep point if all of them failed.
        if not all(groups):
            continue
        by_variant = {name: _facts(g, coarse) for name, g in zip(names, groups, strict=True)}
        if not all(by_variant.values()):
            continue
        reasons = differing(_matched(by_variant))
        if reasons:
            first = groups[0][0]
            out.append(At(first.params, first.labels, reasons))
    return out


def _matched(by_variant: Mapping[str, Sequence[Facts]]) -> dict[str, list[Facts]]:
    """Return the findings of all variants, with flows and links renamed as in the baseline. Leave
    out flows and links that do not exist in every variant."""
    matched: dict[str, list[Facts]] = {
        name: [{} for _ in runs] for name, runs in by_variant.items()
    }
    kinds = dict.fromkeys(key[0] for runs in by_variant.values() for run in runs for key in run)
    for kind in kinds:
        named = [_names(runs, kind) for runs in by_variant.values()]
        for slot, match in enumerate(matching.matched(named, by_name=kind == "class")):
            if None in match.places:
                continue
            for (variant, runs), names, at in zip(
                by_variant.items(), named, match.places, strict=True
            ):
                own = names[at]  # type: ignore[index]
                for into, facts_ in zip(matched[variant], runs, strict=True):
                    for key, value in facts_.items():
                        if (key[0], key[2]) == (kind, own):
                            into[kind, slot, match.name, key[3]] = value
    return matched


def _names(runs: Sequence[Facts], kind: str) -> list[str]:
    """List the names of all flows or of all links, in the same order as in the scenario file."""
    return list(
        dict.fromkeys(
            name
            for run in runs
            for _, name in sorted({(key[1], key[2]) for key in run if key[0] == kind})
        )
    )


def _facts(group: Sequence[Run], coarse: bool) -> list[Facts]:
    # A run without a folder has no `account.json`, from which `explain` takes its findings.
    stored = [run.stored for run in group if (run.path / MANIFEST).exists()]
    found = [explain(run, series=False) for run in stored]
    return [facts(one, coarse=coarse) for one in found if one.flows or one.links]
