"""Checks that all variants of a comparison have the same sweep points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tailback import _native
from tailback.base.numbers import short
from tailback.comparison.variants import Variant
from tailback.errors import InputError
from tailback.store import points as keys
from tailback.store.points import Key, Swept
from tailback.store.results import Results, Run


class Seeded(Swept, Protocol):
    """A planned run: one point of a sweep with one seed."""

    @property
    def seed(self) -> int:
        """The seed of the run."""


def seeds_by_point(points: Iterable[Seeded]) -> dict[Key, list[int]]:
    seeds: dict[Key, list[int]] = {}
    for point in points:
        seeds.setdefault(keys.point_key(point), []).append(point.seed)
    return seeds


def runs_by_point(results: Results) -> dict[Key, list[Run]]:
    return {keys.point_key(group[0]): group for group in results.groups()}


def refuse_other_points(labels: Sequence[str], planned: Sequence[dict[Key, list[int]]]) -> None:
    """Raise `InputError` unless every variant has the same sweep points as the baseline."""
    first = planned[0]
    for name, points in zip(labels[1:], planned[1:], strict=True):
        for has, lacks, missing in (
            (labels[0], name, [p for p in first if p not in points]),
            (name, labels[0], [p for p in points if p not in first]),
        ):
            if missing:
                at = ", ".join(f"{path} = {short(value)}" for path, value in missing[0])
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                raise InputError(
                    f'"{has}" has a point that "{lacks}" does not have: '
                    f"{at or 'no parameters'}{more}; "
                    "expected the same sweep in all"
                )


def refuse_mixed_axes(variants: Sequence[Variant], loaded: Sequence[_native.Scenario]) -> None:
    """Raise `InputError` if one variant sets a key that another variant sweeps."""
    axes = [{path for axis in case.axes for path in axis} for case in loaded]
    for variant in variants:
        for path in variant.sets:
            for other, swept in zip(variants, axes, strict=True):
                if path in swept:
                    raise InputError(
                        f'variant "{variant.name}" sets {path}, which is swept in "{other.name}"; '
                        "remove it from [sweep], or set it in every variant"
                    )
