"""Points of sweeps that are laid side by side: every variant has the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback import _native, store
from tailback.comparison.variants import Variant
from tailback.errors import InputError
from tailback.numbers import short
from tailback.results import Results, Run

Params = tuple[tuple[str, float | str], ...]
"""A point: its parameters, ordered by path."""


def key_of(params: Mapping[str, float | str]) -> Params:
    return tuple(sorted(params.items()))


def seeds_by_point(
    points: Sequence[_native.Point] | Sequence[store.PointRef] | Sequence[Run],
) -> dict[Params, list[int]]:
    seeds: dict[Params, list[int]] = {}
    for point in points:
        seeds.setdefault(key_of(point.params), []).append(point.seed)
    return seeds


def runs_by_point(results: Results) -> dict[Params, list[Run]]:
    return {key_of(group[0].params): group for group in results.groups()}


def refuse_other_points(labels: Sequence[str], planned: Sequence[dict[Params, list[int]]]) -> None:
    """Every variant has the points of the baseline and no others."""
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
                    f'"{has}" has a point that "{lacks}" has not: {at or "no parameters"}{more}; '
                    "expected the same sweep in all"
                )


def refuse_mixed_axes(variants: Sequence[Variant], loaded: Sequence[_native.Scenario]) -> None:
    """A value set for one variant is not swept in another."""
    axes = [{path for axis in case.axes for path in axis} for case in loaded]
    for variant in variants:
        for path in variant.sets:
            for other, swept in zip(variants, axes, strict=True):
                if path in swept:
                    raise InputError(
                        f'variant "{variant.name}" sets {path}, which is swept in "{other.name}": '
                        "take it out of [sweep], or set it in every variant"
                    )
