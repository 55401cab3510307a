"""From runs to cells: flows and links matched by name, differences tested over all of them; what
differs at one point is a family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tailback.comparison.families import false_discovery
from tailback.comparison.model import Cell, Comparison, Judged, Kind, VariantResults
from tailback.comparison.points import key_of, runs_by_point
from tailback.metrics import Metric, estimate
from tailback.metrics.differences import Difference, paired, unpaired
from tailback.results import Run


def judge(
    columns: Sequence[VariantResults], wanted: Sequence[Metric], failures: Sequence[str] = ()
) -> Comparison:
    """Compares what has been run."""
    runs = [runs_by_point(column.results) for column in columns]
    drafts: list[Cell] = []
    for params in columns[0].seeds:
        groups = [found.get(params, []) for found in runs]
        drafts += _cells_of_point(dict(params), columns, groups, wanted)
    places = [(i, variant) for i, cell in enumerate(drafts) for variant in cell.differences]
    qs = false_discovery(
        [drafts[i].differences[variant].p for i, variant in places],
        [(key_of(drafts[i].params), variant) for i, variant in places],
    )
    judged: list[dict[str, Judged]] = [{} for _ in drafts]
    for (i, variant), q in zip(places, qs, strict=True):
        judged[i][variant] = Judged(**{**vars(drafts[i].differences[variant]), "q": q})
    cells = [
        Cell(c.params, c.labels, c.kind, c.name, c.metric, c.values, differences)
        for c, differences in zip(drafts, judged, strict=True)
    ]
    titles = list(dict.fromkeys(c.results.title for c in columns if c.results.title))
    title = " and ".join(titles) or " and ".join(c.name for c in columns)
    return Comparison(title, list(columns), cells, columns[0].results.root, list(failures))


def _cells_of_point(
    params: dict[str, float | str],
    columns: Sequence[VariantResults],
    groups: Sequence[Sequence[Run]],
    wanted: Sequence[Metric],
) -> Iterator[Cell]:
    # In the order of the sweep, if there is a run that has it.
    params = next((group[0].params for group in groups if group), params)
    labels = next((group[0].labels for group in groups if group), {})
    kinds: tuple[Kind, ...] = ("flow", "traffic", "link", "class", "run")
    for kind in kinds:
        on = "flow" if kind == "traffic" else kind
        for name, parts in _matched(kind, groups):
            for metric in wanted:
                if metric.on != on:
                    continue
                # By variant, then by seed.
                found = [
                    {run.seed: metric.value(part(run.summary)) for run in group} if part else {}
                    for group, part in zip(groups, parts, strict=True)
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
                yield Cell(params, labels, kind, name, metric, values, differences)


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


Part = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def _matched(
    kind: Kind, groups: Sequence[Sequence[Run]]
) -> Iterator[tuple[str, list[Part | None]]]:
    """The flows (traffic, links, classes) of a point: a name, and for each variant what reads it.

    They are matched by name. Where names differ (a default name is that of the congestion control)
    but not their number, they are matched in the order of the file; not so classes.
    """
    if kind == "run":
        yield "", [lambda summary: summary for _ in groups]
        return
    key = {"flow": "flows", "traffic": "traffic", "link": "queues", "class": "classes"}[kind]
    # Runs of before there were classes have none.
    found = [_part_names(group[0].summary.get(key, ())) if group else [] for group in groups]
    first = next((named for named in found if named), [])
    slots: dict[str, list[Part | None]] = {}
    for i, named in enumerate(found):
        in_order = kind != "class" and set(named) != set(first) and len(named) == len(first)
        for at, name in enumerate(named):
            slot = slots.setdefault(first[at] if in_order else name, [None] * len(groups))
            slot[i] = _reader(key, at, name)
    yield from slots.items()


def _part_names(parts: Any) -> list[str]:
    return list(parts) if isinstance(parts, Mapping) else [part["name"] for part in parts]


def _reader(key: str, at: int, name: str) -> Part:
    return lambda summary: summary[key][name if key == "queues" else at]
