"""Lists every number of a sweep, as tables in the report and as cells.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tailback.metrics import METRICS, Estimate, Metric, estimate, find, harm, parts, pooling
from tailback.metrics.estimates import with_spread
from tailback.metrics.parts import Kind, Part
from tailback.metrics.pooling import Reading
from tailback.plot import words
from tailback.report.model import Block, Column, Facts, Table, Value
from tailback.report.tables import left
from tailback.report.text import plain
from tailback.store.results import Run

MOST_ROWS = 150
"""The largest number of rows of a table on a page. The file cells.csv has all rows."""

#: The kind of part in the rows of each table, in the order of cells.csv.
_KINDS_OF: Mapping[str, Kind] = {
    "flow": "flow",
    "source": "traffic",
    "program": "program",
    "class": "class",
    "link": "link",
    "run": "run",
}

_SHOWN = {
    "flow": (
        *("throughput_mbit", "rtt_mean_ms", "rtt_p99_ms", "completion_s"),
        *("retransmits", "drops", "marks", "sce_marks"),
    ),
    "source": (
        *("rpm", "page_load_p50_ms", "page_load_p99_ms"),
        *("one_way_delay_p50_ms", "one_way_delay_p99_ms", "rtt_p50_ms", "rtt_p99_ms"),
        *("frame_delay_p99_ms", "late_share", "stall_s", "throughput_mbit", "requests"),
        *("drops", "marks", "sce_marks"),
    ),
    "program": (
        *("throughput_mbit", "rtt_mean_ms", "rtt_p50_ms", "rtt_p99_ms", "completion_s"),
        *("drops", "marks", "sce_marks"),
    ),
    "class": ("delay_mean_ms", "delay_p50_ms", "delay_p99_ms", "rate_mean_mbit"),
    "link": (
        *("utilisation", "delay_mean_ms", "delay_p50_ms", "delay_p99_ms"),
        *("occupancy_mean_bytes", "packets", "drops", "marks", "sce_marks"),
    ),
}
_TITLES = {
    "flow": "Flows",
    "source": "Traffic",
    "program": "Programs",
    "class": "Classes",
    "link": "Links",
}
_KINDS = {"flow": "cc", "source": "kind", "program": "kind", "link": "aqm", "class": "link"}

_ABOUT = {
    "program": "Payload that reached the receiver's host. The RTT of TCP is measured from its "
    "packets; other RTTs are the sum of the base RTT and the time in queues. "
}


def tables(groups: Sequence[Sequence[Run]], facts: Facts) -> list[Block]:
    """Return a separate table for each kind of part: flows, links, classes and so on."""
    made = (_table(groups, what, facts) for what in _SHOWN)
    return [table for table in made if table is not None]


def _table(groups: Sequence[Sequence[Run]], what: str, facts: Facts) -> Table | None:
    kind = _KINDS_OF[what]
    metrics = [find(name, parts.on(kind)) for name in _SHOWN[what]]
    if what == "program":
        metrics += _own(groups)
    metrics += _harms(groups, kind)
    paths = list(dict.fromkeys(path for group in groups for path in group[0].params))
    heads = [*paths, what, _KINDS[what]]
    labels: list[list[str]] = []
    numbers: list[list[str]] = []
    total = 0
    for group in groups:
        by_run = _by_run(group, kind)
        for i, part in enumerate(by_run[0]):
            total += 1
            if total > MOST_ROWS:
                continue
            point = [words.value(group[0].labels.get(path, "")) for path in paths]
            labels.append([*point, part["name"], part[_KINDS[what]] or "program"])
            numbers.append([with_spread(_over_seeds(by_run, i, m)) for m in metrics])
    if not labels:
        return None
    # If all rows have the same label, print it only once.
    same = [i for i in range(len(heads)) if len({row[i] for row in labels}) == 1]
    same = same if len(labels) > 1 else []
    # Leave out columns in which every value is 0 or missing.
    empty = [i for i in range(len(metrics)) if {row[i] for row in numbers} <= {"0", "\u2013"}]
    columns = [
        *left(*(head for i, head in enumerate(heads) if i not in same)),
        *(_column(metric) for i, metric in enumerate(metrics) if i not in empty),
    ]
    rows: list[list[Value]] = [
        [
            *(text for i, text in enumerate(row) if i not in same),
            *(text for i, text in enumerate(values) if i not in empty),
        ]
        for row, values in zip(labels, numbers, strict=True)
    ]
    caption = (
        _ABOUT.get(what, "")
        + "Mean over seeds \u00b1 half the 95 % interval (Student's t) where seeds differ."
    )
    if any("(" in text for row in numbers for text in row):
        caption += " (n of N): only n of the N seeds have the value; >: the mean over all seeds "
        caption += "is larger, since some transfers had not finished."
    if same:
        everywhere = ", ".join(f"{heads[i]} {labels[0][i]}" for i in same)
        caption += f" In every row: {plain(everywhere)}."
    if any(metric.path.startswith(f"{harm.FIELD}.") for metric in metrics):
        caption += (
            " Harm by a competitor, seed by seed: for rates, the loss relative to the rate "
            "without it; for times, the increase relative to the time with it. If it helps, the "
            "value is negative."
        )
    if empty:
        zero = ", ".join(metrics[i].name for i in empty)
        caption += f" 0 or not measured: {zero}."
    if total > MOST_ROWS:
        caption += f" The first {MOST_ROWS} of {total} rows; cells.csv has all."
    return Table(f"{what}s", _TITLES[what], columns, rows, caption, facts)


def _own(groups: Sequence[Sequence[Run]]) -> list[Metric]:
    """Return a metric for each number that programs wrote to files."""
    names = (
        name for run, *_ in groups for p in parts.programs(run.summary) for name in p["results"]
    )
    return [find(f"results.{name}", "flow") for name in dict.fromkeys(names)]


def _harms(groups: Sequence[Sequence[Run]], kind: Kind) -> list[Metric]:
    """For each competitor that some run leaves out, return the harm metrics that have a value."""
    runs = [run for group in groups for run in group]
    names = harm.competitors(run.without for run in runs)
    every = (
        replace(harm.by(metric, name), path=f"{metric.path} by {name}")
        for name in names
        for metric in harm.METRICS
        if kind in metric.parts
    )
    summaries = [part for run in runs for part in parts.of(run.summary, kind)] if names else []
    return [one for one in every if any(one.value(part) is not None for part in summaries)]


def _column(metric: Metric) -> Column:
    """Return the table column of a metric. The name has no unit, because the heading shows the unit
    separately.
    """
    name = metric.name
    for unit in ("_mbit", "_ms", "_bytes", "_s"):
        name = name.removesuffix(unit)
    return Column(name.replace("_", " "), unit="" if metric.unit == "packets" else metric.unit)


def _over_seeds(by_run: Sequence[Sequence[Part]], index: int, metric: Metric) -> Estimate:
    """Estimate a metric of the flow, link or class at this index of each run."""
    return pooling.over_runs(metric, [pooling.read(metric, own[index]) for own in by_run])


def _by_run(group: Sequence[Run], kind: Kind) -> list[Sequence[Part]]:
    return [parts.of(run.summary, kind) for run in group]


def _read_over_seeds(metric: Metric, seeds: Sequence[Part]) -> Estimate | None:
    """Estimate a metric of a part over seeds like `pooling.over_runs`. Return None if the metric
    has neither a value nor a lower bound for any of the seeds.

    A large sweep has millions of values, so this function reads each value only once.
    """
    value, at_least = metric.value, metric.at_least
    values = [value(part) for part in seeds]
    if at_least is not None and None in values:
        readings = [pooling.read(metric, part) for part in seeds]
        return pooling.over_runs(metric, readings) if any(map(_is_known, readings)) else None
    if values.count(None) == len(values):
        return None
    return estimate(values, least=metric.least, most=metric.most)


def _is_known(reading: Reading) -> bool:
    return reading.value is not None or reading.at_least is not None


def csv_of(groups: Sequence[Sequence[Run]]) -> str:
    """Return CSV with a row for each metric of each flow, link or class at each sweep point.

    A row has the unrounded mean over seeds and half the width of its 95 % interval. The row also
    has the number of seeds with a value, and the number of all seeds. If transfers did not finish,
    the row also has a lower bound of the mean.
    """
    paths = list(dict.fromkeys(path for group in groups for path in group[0].params))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*paths, "of", "name", "metric", "unit", "mean", "n", "ci95", "runs", "at_least"]
    )
    # The name of a metric, and the kinds of parts that have it, are computed at each use, so look
    # them up only once.
    metric_names: dict[str, str] = {}
    by_kind = {kind: [m for m in METRICS if kind in m.parts] for kind in _KINDS_OF.values()}
    for group in groups:
        point = [group[0].labels.get(path, "") for path in paths]
        for what, kind in _KINDS_OF.items():
            by_run = _by_run(group, kind)
            if not by_run[0]:
                continue
            own = _own([[group[0]]]) if what == "program" else []
            known = by_kind[kind]
            if own or any(run.without for run in group):
                more = (*own, *_harms([group], kind))
                known = [*known, *(metric for metric in more if kind in metric.parts)]
            for i, part in enumerate(by_run[0]):
                name = "" if kind == "run" else part["name"]
                seeds = [of_run[i] for of_run in by_run]
                for metric in known:
                    found = _read_over_seeds(metric, seeds)
                    if found is None:
                        continue
                    metric_name = metric_names.get(metric.path)
                    if metric_name is None:
                        metric_name = metric_names[metric.path] = metric.name
                    # None becomes an empty field.
                    row = [*point, what, name, metric_name, metric.unit]
                    spread = [found.half_width, found.of, found.at_least]
                    writer.writerow([*row, found.mean, found.n, *spread])
    return out.getvalue()
