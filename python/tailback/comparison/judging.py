"""Computes the compared quantities of a comparison. A compared quantity has the values of one
metric of one object, such as a flow, for all variants at one sweep point. Objects of different
variants are matched by name. For each compared quantity, the difference from the baseline is
tested, and the differences at one sweep point are a family of tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tailback.comparison.families import false_discovery
from tailback.comparison.matching import matched
from tailback.comparison.model import Cell, Comparison, Judged, VariantResults
from tailback.comparison.points import runs_by_point
from tailback.comparison.sides import Ran, Side
from tailback.metrics import Metric, estimate, parts, pooling
from tailback.metrics.differences import Difference, paired, unpaired
from tailback.metrics.parts import KINDS, Kind
from tailback.metrics.pooling import Readings
from tailback.store.points import Key, point_key


def judge(
    columns: Sequence[VariantResults],
    wanted: Sequence[Metric],
    failures: Sequence[str] = (),
    looks: int = 1,
) -> Comparison:
    """Compare variants.

    If the results so far lead to more seeds, the differences are tested again after each addition,
    up to `looks` times. Every p value is then multiplied by this number (Bonferroni), so that a
    difference is not flagged merely because it was tested repeatedly.
    """
    sides = [_sides(column) for column in columns]
    drafts: list[Cell] = []
    for params in columns[0].seeds:
        here = [found.get(params) for found in sides]
        drafts += _cells_of_point(dict(params), columns, here, wanted)
    places = [(i, variant) for i, cell in enumerate(drafts) for variant in cell.differences]
    ps = [drafts[i].differences[variant].p for i, variant in places]
    qs = false_discovery(
        [None if p is None else min(1.0, looks * p) for p in ps],
        [(point_key(drafts[i]), variant) for i, variant in places],
    )
    judged: list[dict[str, Judged]] = [{} for _ in drafts]
    for (i, variant), q in zip(places, qs, strict=True):
        judged[i][variant] = Judged(**{**vars(drafts[i].differences[variant]), "q": q})
    cells = [
        replace(draft, differences=differences)
        for draft, differences in zip(drafts, judged, strict=True)
    ]
    titles = list(dict.fromkeys(c.results.title for c in columns if c.results.title))
    title = " and ".join(titles) or " and ".join(c.name for c in columns)
    return Comparison(title, list(columns), cells, columns[0].results.root, list(failures))


def _sides(column: VariantResults) -> Mapping[Key, Side]:
    """Return a variant's runs, or its values from a baseline file, by sweep point."""
    if column.kept is not None:
        return column.kept
    return {params: Ran(runs) for params, runs in runs_by_point(column.results).items()}


def _cells_of_point(
    params: dict[str, float | str],
    columns: Sequence[VariantResults],
    sides: Sequence[Side | None],
    wanted: Sequence[Metric],
) -> Iterator[Cell]:
    # Take the parameters of the first variant that has a run at this sweep point.
    params = next((side.params for side in sides if side), params)
    labels = next((side.labels for side in sides if side), {})
    for kind in KINDS:
        on = parts.on(kind)
        named = [side.names(kind) if side else [] for side in sides]
        for match in matched(named, by_name=kind == "class"):
            other_names = {
                column.name: names[at]
                for column, names, at, by_order in zip(
                    columns, named, match.places, match.by_order, strict=True
                )
                if by_order and at is not None
            }
            place = (params, labels, kind, match.name)
            for metric in wanted:
                if metric.on != on:
                    continue
                quantity = metric.of_two.quantity if metric.of_two else metric
                # The values by variant, then by seed.
                readings = [
                    side.readings(kind, at, quantity) if side and at is not None else {}
                    for side, at in zip(sides, match.places, strict=True)
                ]
                judged = _of_both if metric.of_two else _of_each
                cell = judged(place, metric, columns, readings)
                if cell is not None:
                    yield replace(cell, other_names=other_names)


Place = tuple[dict[str, float | str], dict[str, str], Kind, str]
"""Identifies a compared quantity by the sweep point's parameters, their labels, the kind of object,
and the object's name."""


def _of_each(
    place: Place,
    metric: Metric,
    columns: Sequence[VariantResults],
    readings: Sequence[Readings],
) -> Cell | None:
    """Return the compared quantity of a metric, with its value for every variant and the
    differences from the baseline."""
    values = {
        column.name: pooling.over_runs(metric, by_seed.values())
        for column, by_seed in zip(columns, readings, strict=True)
    }
    if all(value.n == 0 and value.at_least is None for value in values.values()):
        return None
    differences: dict[str, Judged] = {}
    for column, by_seed in zip(columns[1:], readings[1:], strict=True):
        difference = _difference(columns[0], column, readings[0], by_seed)
        if difference is not None:
            # If the variants are paired, take the larger of the two numbers of runs, because one
            # variant may lack runs of some seeds. For unpaired variants, take the smaller number of
            # runs.
            count = max if difference.paired else min
            runs = count(len(readings[0]), len(by_seed))
            differences[column.name] = Judged(**vars(difference), runs=runs)
    samples = {
        column.name: pooling.values(by_seed)
        for column, by_seed in zip(columns, readings, strict=True)
    }
    return Cell(*place, metric, values, differences, samples)


def _of_both(
    place: Place,
    metric: Metric,
    columns: Sequence[VariantResults],
    readings: Sequence[Readings],
) -> Cell | None:
    """Return the compared quantity of a metric that compares two results, such as harm. This
    compared quantity has a value for each variant except the baseline. The quantity is not tested,
    because the throughputs or delays from which the metric is computed are themselves compared
    quantities.

    Thresholds apply to the difference from 0."""
    base = readings[0]
    samples = {columns[0].name: dict.fromkeys(pooling.values(base), 0.0)}
    values = {columns[0].name: estimate(())}
    for column, by_seed in zip(columns[1:], readings[1:], strict=True):
        paired_runs = column.paired_with(columns[0])
        values[column.name] = pooling.between(metric, base, by_seed, paired=paired_runs)
        samples[column.name] = pooling.by_pair(metric, base, by_seed) if paired_runs else {}
    if all(value.n == 0 for value in values.values()):
        return None
    return Cell(*place, metric, values, {}, samples)


def _difference(
    base: VariantResults, other: VariantResults, a: Readings, b: Readings
) -> Difference | None:
    """Compute the difference between two variants.

    If the runs are paired, use the seeds for which both variants have a value. If the runs are
    unpaired and some runs did not finish, the finished runs are not a fair sample, so return None.
    """
    if other.paired_with(base):
        left, right = pooling.values(a), pooling.values(b)
        seeds = [seed for seed in left if seed in right]
        return paired([left[seed] for seed in seeds], [right[seed] for seed in seeds])
    if any(one.at_least is not None for one in (*a.values(), *b.values())):
        return None
    return unpaired([*pooling.values(a).values()], [*pooling.values(b).values()])
