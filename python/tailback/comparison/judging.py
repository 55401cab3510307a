"""From runs to cells: flows and links matched by name, differences tested over all of them; what
differs at one point is a family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tailback.comparison.families import false_discovery
from tailback.comparison.model import Cell, Comparison, Judged, VariantResults
from tailback.comparison.points import Params, key_of, runs_by_point
from tailback.comparison.sides import KINDS, LIKE_FLOWS, Kind, Ran, Side, Values
from tailback.metrics import Metric, estimate
from tailback.metrics.differences import Difference, paired, unpaired


def judge(
    columns: Sequence[VariantResults], wanted: Sequence[Metric], failures: Sequence[str] = ()
) -> Comparison:
    """Compares what has been run."""
    sides = [_sides(column) for column in columns]
    drafts: list[Cell] = []
    for params in columns[0].seeds:
        here = [found.get(params) for found in sides]
        drafts += _cells_of_point(dict(params), columns, here, wanted)
    places = [(i, variant) for i, cell in enumerate(drafts) for variant in cell.differences]
    qs = false_discovery(
        [drafts[i].differences[variant].p for i, variant in places],
        [(key_of(drafts[i].params), variant) for i, variant in places],
    )
    judged: list[dict[str, Judged]] = [{} for _ in drafts]
    for (i, variant), q in zip(places, qs, strict=True):
        judged[i][variant] = Judged(**{**vars(drafts[i].differences[variant]), "q": q})
    cells = [
        Cell(c.params, c.labels, c.kind, c.name, c.metric, c.values, differences, c.samples)
        for c, differences in zip(drafts, judged, strict=True)
    ]
    titles = list(dict.fromkeys(c.results.title for c in columns if c.results.title))
    title = " and ".join(titles) or " and ".join(c.name for c in columns)
    return Comparison(title, list(columns), cells, columns[0].results.root, list(failures))


def _sides(column: VariantResults) -> Mapping[Params, Side]:
    """What it has at every point."""
    if column.kept is not None:
        return column.kept
    return {params: Ran(runs) for params, runs in runs_by_point(column.results).items()}


def _cells_of_point(
    params: dict[str, float | str],
    columns: Sequence[VariantResults],
    sides: Sequence[Side | None],
    wanted: Sequence[Metric],
) -> Iterator[Cell]:
    # In the order of the sweep, if there is a run that has it.
    params = next((side.params for side in sides if side), params)
    labels = next((side.labels for side in sides if side), {})
    for kind in KINDS:
        on = "flow" if kind in LIKE_FLOWS else kind
        for name, places in _matched(kind, sides):
            for metric in wanted:
                if metric.on != on:
                    continue
                # By variant, then by seed.
                found: list[Values] = [
                    side.values(kind, at, metric) if side and at is not None else {}
                    for side, at in zip(sides, places, strict=True)
                ]
                if metric.against is not None:
                    yield from _of_both(params, labels, kind, name, metric, columns, found)
                    continue
                values = {
                    column.name: estimate(by_seed.values())
                    for column, by_seed in zip(columns, found, strict=True)
                }
                if all(value.n == 0 for value in values.values()):
                    continue
                differences: dict[str, Judged] = {}
                for column, by_seed in zip(columns[1:], found[1:], strict=True):
                    difference = _difference(columns[0], column, found[0], by_seed)
                    if difference is not None:
                        differences[column.name] = Judged(**vars(difference))
                samples = {
                    column.name: {seed: x for seed, x in by_seed.items() if x is not None}
                    for column, by_seed in zip(columns, found, strict=True)
                }
                yield Cell(params, labels, kind, name, metric, values, differences, samples)


def _of_both(
    params: dict[str, float | str],
    labels: dict[str, str],
    kind: Kind,
    name: str,
    metric: Metric,
    columns: Sequence[VariantResults],
    found: Sequence[Mapping[int, float | None]],
) -> Iterator[Cell]:
    """A metric of two results: a value for each variant but the baseline, and no test. What it is
    made of is tested under its own name.
    """
    against, base = metric.against, found[0]
    values = {columns[0].name: estimate(())}
    for column, by_seed in zip(columns[1:], found[1:], strict=True):
        if column.paired_with(columns[0]):
            pairs = [(base.get(seed), other) for seed, other in by_seed.items()]
        else:
            pairs = [(estimate(base.values()).mean, estimate(by_seed.values()).mean)]
        values[column.name] = estimate(
            against(one, other)
            for one, other in pairs
            if against is not None and one is not None and other is not None
        )
    if any(value.n for value in values.values()):
        yield Cell(params, labels, kind, name, metric, values, {})


def _difference(
    base: VariantResults,
    other: VariantResults,
    a: Mapping[int, float | None],
    b: Mapping[int, float | None],
) -> Difference | None:
    if other.paired_with(base):
        pairs = [
            (x, y) for seed, x in a.items() if x is not None and (y := b.get(seed)) is not None
        ]
        return paired([x for x, _ in pairs], [y for _, y in pairs])
    return unpaired(
        [x for x in a.values() if x is not None], [y for y in b.values() if y is not None]
    )


def _matched(kind: Kind, sides: Sequence[Side | None]) -> Iterator[tuple[str, list[int | None]]]:
    """The flows (traffic, links, classes) of a point: a name, and its place in each variant.

    They are matched by name. Where names differ (a default name is that of the congestion control)
    but not their number, they are matched in the order of the file; not so classes.
    """
    found = [side.names(kind) if side else [] for side in sides]
    first = next((named for named in found if named), [])
    slots: dict[str, list[int | None]] = {}
    for i, named in enumerate(found):
        in_order = kind != "class" and set(named) != set(first) and len(named) == len(first)
        for at, name in enumerate(named):
            slot = slots.setdefault(first[at] if in_order else name, [None] * len(sides))
            slot[i] = at
    yield from slots.items()
