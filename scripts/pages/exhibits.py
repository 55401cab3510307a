"""Writes web/exhibits.json: the published experiments in the gallery of the laboratory.

An exhibit is a scenario with a sweep, and the published values of its points. Each point is the run
that the experiment itself makes for the published row, with the first seed. Other exhibits are only
scenario files, because the publication has no numbers for them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pages import ROOT
from tailback import _native
from tailback.base import toml
from tailback_studies import experiments
from tailback_studies.experiments import (
    abe_2017,
    ccafct_2020,
    dctcp_internet_2014,
    dualpi2_2022,
    imc_bbr_2023,
    l4s_tests_2020,
    pam_2025_l4s,
    sce_2019,
)

FILE = ROOT / "web/exhibits.json"

Table = dict[str, Any]
Measure = Mapping[str, str | float]


@dataclass(frozen=True)
class Quantity:
    """A published quantity, and the number in `summary.json` that corresponds to it."""

    name: str
    unit: str
    #: Where `web/src/published.ts` finds the measured value in the summary. Empty if the summary
    #: does not contain the value.
    measure: Measure


@dataclass(frozen=True)
class Row:
    """A point of an exhibit."""

    label: str
    made: Table
    values: Sequence[float | None]


Exhibit = dict[str, Any]


def flows(prefix: str, field: str, how: str = "sum", **more: str | float) -> Measure:
    """Return the position in the summary of a field of a group of flows. `how` is "sum" or
    "first"."""
    return {"list": "flows", "item": prefix, "field": field, "how": how, **more}


def queue(name: str, field: str, factor: float = 1.0) -> Measure:
    """Return the position in the summary of a field of a queue, and the factor that converts the
    field to the published unit."""
    return {"list": "queues", "item": name, "field": field, "how": "sum", "factor": factor}


JAIN: Measure = {"list": "", "item": "", "field": "jain", "how": "sum"}


def text() -> str:
    """Return the content of `web/exhibits.json`."""
    made: list[Exhibit] = []
    for module, build in BUILDERS.items():
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        for number, exhibit in enumerate(build()):
            # The title is only in the first exhibit of an experiment, to keep the page small.
            title = {} if number else {"title": experiments.get(name).title}
            made.append({"of": name, **title, **exhibit})
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in made]
    return "[\n" + ",\n".join(lines) + "\n]\n"


# --- scenarios ----------------------------------------------------------------------------------


def exhibit(
    label: str, source: str, quantities: Sequence[Quantity], rows: Sequence[Row]
) -> Exhibit:
    """Return an exhibit whose points are these rows."""
    distinct: list[Table] = []
    for row in rows:
        # Two published rows may be the same run, for example if the queue ignores the buffer.
        if row.made not in distinct:
            distinct.append(row.made)
    indices = [distinct.index(row.made) for row in rows]
    return {
        "label": label,
        "text": swept(source, distinct),
        # Columns compress better than rows.
        "rows": [row.label for row in rows],
        **({} if indices == list(range(len(rows))) else {"points": indices}),
        "columns": [
            {"name": q.name, "unit": q.unit, **q.measure, "values": [_short(v) for v in column]}
            for q, column in zip(
                quantities, zip(*(row.values for row in rows), strict=True), strict=True
            )
        ],
    }


def _short(value: float | None) -> float | int | None:
    """Round a value to three significant digits, as the page shows it."""
    if value is None or math.isnan(value):
        return None
    rounded = float(f"{value:.3g}")
    return int(rounded) if rounded.is_integer() else rounded


def swept(source: str, rows: Sequence[Table]) -> str:
    """Return a scenario with a sweep that gives these scenarios, in this order."""
    first, flat = rows[0], [dict(_flat(row)) for row in rows]
    keys = [key for key in flat[0] if any(one.get(key) != flat[0][key] for one in flat)]
    if any(one.keys() != flat[0].keys() for one in flat):
        raise ValueError(f"{source}: rows of one exhibit have different keys")
    lines = [f"# {source}", *_document(first)]
    if keys:
        lines += ["", "[[sweep.zip]]"]
        lines += [f"{toml.key(key)} = {toml.value([one[key] for one in flat])}" for key in keys]
    written = "\n".join(lines) + "\n"
    made = _native.load(written.encode(), "exhibit").points
    wanted = [_native.load(toml.dumps(row).encode(), "row").points[0] for row in rows]
    if [point.run_id for point in made] != [point.run_id for point in wanted]:
        raise ValueError(f"{source}: the sweep does not give the runs of the experiment")
    return written


def _flat(scenario: Table) -> Iterator[tuple[str, Any]]:
    """Yield the values of a scenario by their path in a sweep."""
    for key, value in scenario.items():
        if isinstance(value, list):
            for entry in value:
                for inner, item in entry.items():
                    yield f"{key}.{entry['name']}.{inner}", item
        elif key == "links":
            for name, link in value.items():
                for inner, item in link.items():
                    yield f"links.{name}.{inner}", item
        elif isinstance(value, dict):
            for inner, item in value.items():
                yield f"{key}.{inner}", item
        else:
            yield key, value


def _document(scenario: Table) -> Iterator[str]:
    """Yield the lines of a scenario, with a heading for each section."""
    for key, value in scenario.items():
        if not isinstance(value, dict | list):
            yield f"{toml.key(key)} = {toml.value(value)}"
    for key, value in scenario.items():
        if isinstance(value, list):
            sections = [(f"[[{key}]]", entry) for entry in value]
        elif key == "links":
            sections = [(f"[links.{toml.key(name)}]", link) for name, link in value.items()]
        elif isinstance(value, dict):
            sections = [(f"[{key}]", value)]
        else:
            continue
        for heading, table in sections:
            yield ""
            yield heading
            yield from (f"{toml.key(name)} = {toml.value(item)}" for name, item in table.items())


def alone(package: Any, files: Iterable[tuple[str, str]]) -> Iterator[Exhibit]:
    """Yield exhibits that are scenario files without published values."""
    for name, label in files:
        file = ROOT / "python" / package.__name__.replace(".", "/") / f"scenarios/{name}.toml"
        written = file.read_text(encoding="utf-8")
        yield {"label": label, "text": written, "rows": [], "columns": []}


# --- experiments --------------------------------------------------------------------------------


def imc() -> Iterator[Exhibit]:
    """Yield an exhibit of figure 5 for each buffer and version of BBR."""
    from tailback_studies.experiments.imc_bbr_2023 import counting, layout, points

    known = layout.published()
    quantities = [Quantity("goodput", "Mbit/s", flows("flow", "throughput_mbit"))]
    for kernel, ccs in layout.KERNELS.items():
        if kernel in counting.COUNTS_THE_QUEUE:
            # iperf also counts data that it receives after the sender has ended. The summary does
            # not contain a rate that includes such data.
            continue
        for buffer, words in layout.BUFFER_WORDS.items():
            rows = [
                Row(
                    f"{layout.WORDS[row.cc]}, {row.place.rate_mbit} Mbit/s, {row.place.rtt_ms} ms",
                    points.made(row),
                    [known[row]],
                )
                for row in layout.ROWS
                if row in known and row.kernel == kernel and row.place.buffer_kb == buffer
            ]
            names = f"{layout.WORDS[ccs[1]]} and CUBIC, Linux {kernel}, buffer {words}"
            yield exhibit(f"Figure 5: {names}", f"Goodput of {names}", quantities, rows)


def pam() -> Iterator[Exhibit]:
    """Yield an exhibit for each competitor."""
    from tailback_studies.experiments.pam_2025_l4s import layout, points

    known = layout.published()
    quantities = [
        Quantity("Prague, rate", "Mbit/s", flows("prague", "throughput_mbit")),
        Quantity("competitor, rate", "Mbit/s", flows("classic", "throughput_mbit")),
        Quantity("Prague, smoothed RTT", "ms", flows("prague", "srtt_ms_mean", "first")),
        Quantity("competitor, smoothed RTT", "ms", flows("classic", "srtt_ms_mean", "first")),
    ]
    groups: dict[str, list[Row]] = {}
    for row in layout.ROWS:
        if (row, layout.COLUMNS[0]) not in known:
            continue
        many = f", {row.n_prague} and {row.n_classic} flows" if row.many else ""
        label = f"{layout.QUEUES[row.aqm]}, {row.buffer_bdp:g} BDP{many}"
        values = [known[row, column].mean for column in layout.COLUMNS]
        groups.setdefault(row.group, []).append(Row(label, points.made(row), values))
    for group, rows in groups.items():
        yield exhibit(
            f"Prague beside {group}", f"Prague beside {group}, by queue", quantities, rows
        )


def sce() -> Iterator[Exhibit]:
    """Yield an exhibit for each set-up of a table: one flow, or a pair in one mode of Cake."""
    from tailback_studies.experiments.sce_2019 import layout, points

    known = layout.published()
    tables: dict[tuple[Any, str], Any] = {
        (table.setup, table.quantity): table for table in layout.TABLES.values()
    }
    for setup in layout.SETUPS:
        names = ("flow",) if setup.kind == "one-flow" else ("first", "second")
        quantities, keys = [], []
        fields = (("throughput_mbit", "Mbit/s"), ("srtt_ms_mean", "ms"))
        for quantity, (field, unit) in zip(layout.QUANTITIES, fields, strict=True):
            table = tables[setup, quantity]
            for at, (name, cc) in enumerate(zip(names, setup.ccs, strict=True), 1):
                which = f"{layout.NAMES[cc]}{f' ({name})' if len(names) > 1 else ''}"
                words = f"{which}, {layout.WORDS[quantity]}"
                quantities.append(Quantity(words, unit, flows(name, field)))
                keys.append((table.number, at))
        if (setup, "jain") in tables:
            quantities.append(Quantity("Jain's index", "", JAIN))
            keys.append((tables[setup, "jain"].number, 0))
        rows = []
        for setting, places in points.every([setup]).items():
            (batch,) = points.plan({setting: places}, seeds=1)
            base: Any = dict(batch.job.scenario)  # type: ignore[arg-type]
            (axis,) = base.pop("sweep")["zip"]
            for at, place in enumerate(places):
                made = json.loads(json.dumps(base))
                made["bottleneck"]["rate"] = axis["bottleneck.rate"][at]
                made["path"]["rtt"] = axis["path.rtt"][at]
                made["duration"] = axis["duration"][at]
                values = [known.get((*key, *place)) for key in keys]
                if any(value is not None for value in values):
                    rows.append(Row(f"{place[0]:g} Mbit/s, {place[1]:g} ms", made, values))
        if not rows:
            continue
        numbers = sorted({number for number, _ in keys})
        told = f"Tables {', '.join(map(str, numbers))}: {setup.title}"
        yield exhibit(told, told, quantities, rows)


def l4s() -> Iterator[Exhibit]:
    """Yield the tables S1 (by rate and queue) and S6, and the scenarios of S2 to S4."""
    from tailback_studies.experiments.l4s_tests_2020 import layout, points

    known = layout.published()
    rates = [
        Quantity("first flow", "Mbit/s", flows("first", "throughput_mbit")),
        Quantity("second flow", "Mbit/s", flows("second", "throughput_mbit")),
    ]
    ratio = flows("first", "throughput_mbit", over="second")
    last = {"s1": Quantity("Jain's index", "", JAIN), "s6": Quantity("ratio", "", ratio)}
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in layout.ROWS:
        key = (row.table, row.name, row.columns[0])
        if key not in known or row in layout.DEFECTS:
            continue
        first, second = row.flows
        names = [f"{layout.WORDS[flow.cc]}" for flow in row.flows]
        if row.table == "s1":
            group = f"S1: {row.queue}, {row.rate_mbit} Mbit/s"
            label = f"{names[0]} {first.rtt_ms} ms, {names[1]} {second.rtt_ms} ms"
        else:
            group = "S6: two flows in one RFC 3168 queue"
            label = f"{row.queue}, {names[1]}{', no ECN' if second.bleached else ''}"
        values = [known.get((row.table, row.name, column)) for column in row.columns]
        groups.setdefault((row.table, group), []).append(Row(label, points.made(row), values))
    for (table, group), rows in groups.items():
        yield exhibit(group, group, [*rates, last[table]], rows)
    yield from alone(
        l4s_tests_2020,
        [("s2", "S2: a rate step down"), ("s3", "S3: variable rates"), ("s4", "S4: both ways")],
    )


def dualpi2() -> Iterator[Exhibit]:
    """Yield an exhibit for each archive with published values."""
    from tailback_studies.experiments.dualpi2_2022 import layout, points

    known = layout.published()

    def of_class(name: str, field: str, **more: str | float) -> Measure:
        return {"list": "classes", "item": name, "field": field, "how": "sum", **more}

    both = [
        (f"queue delay of {name}, {words}", "ms", of_class(name, field), column)
        for name, side in (("L", "ecn"), ("C", "nonecn"))
        for words, field, column in (
            ("mean", "delay_ms.mean", f"qs_{side}_mean"),
            ("99th percentile", "delay_ms.p99", f"qs_{side}_p99"),
        )
    ]
    ratio = of_class("L", "samples.rate_mbit.mean", over="C")
    groups: dict[str, list[Row]] = {}
    shown: dict[str, list[tuple[str, str, Measure, str]]] = {}
    for run in layout.RUNS:
        case = run.cases[0]
        if run not in layout.published_runs() or not run.rtt_nonecn:
            continue
        mixed = run.archive.kind == layout.MIXED
        group = f"{run.archive.title}, {'mixed RTTs' if mixed else 'overload'}"
        shown[group] = [*both, ("ratio of the rates", "", ratio, "rate_ratio")] if mixed else both
        values = [known.get((run.archive.name, case.name, entry[3])) for entry in shown[group]]
        made = points.made(run, points.SECONDS, points.AS_PUBLISHED)
        groups.setdefault(group, []).append(Row(run.words, made, values))
    for group, rows in groups.items():
        quantities = [Quantity(name, unit, measure) for name, unit, measure, _ in shown[group]]
        yield exhibit(group, group, quantities, rows)


def ccafct() -> Iterator[Exhibit]:
    """Yield an exhibit of completion times for each competitor, and one without a competitor.

    A run's summary does not contain the publication's statistics.
    """
    from tailback_studies.experiments.ccafct_2020 import layout, points

    known = layout.published()
    quantities = [
        Quantity(f"completion time, {name}", "ms", {})
        for name in ("geometric mean", "median", "95th percentile")
    ]
    for competitor, words in layout.WORDS.items():
        competitors = (competitor,) if competitor else ()
        rows = [
            Row(
                f"{row.rtt_ms} ms",
                _drawn(points.made(row.rtt_ms, competitors=competitors)),
                [known[row, f"{name}_ms"] for name in layout.STATISTICS],
            )
            for row in layout.ROWS
            if row.competitor == competitor and (row, "median_ms") in known
        ]
        told = f"Completion times {words}"
        yield exhibit(told, told, quantities, rows)


def _drawn(made: dict[str, Any]) -> dict[str, Any]:
    """Let the engine draw the requests at random instead of listing them, so that the page
    stays small."""
    for source in made["traffic"]:
        length = sum(float(gap.removesuffix("ns")) for gap in source.pop("gaps")) / 1e9
        del source["lengths"]
        start = float(source["start"].removesuffix("s"))
        sizes = {"lognormal": {"p5": "64kb", "p95": "2mb"}}
        source.update(arrival="200ms", sizes=sizes, stop=f"{start + length:.0f}s")
    return made


def dctcp() -> Iterator[Exhibit]:
    """Yield the half of Table I with two Reno flows, and the scenarios of the figures."""
    from tailback_studies.experiments.dctcp_internet_2014 import points, table1

    document = points.scenario("table1-two-reno")
    (axis,) = document.pop("sweep")["zip"]
    rows = []
    for at, row in enumerate(table1.published()):
        made = json.loads(json.dumps(document))
        for path, values in axis.items():
            *_, name = path.split(".")
            made["bottleneck"]["queue"]["classic"][name] = values[at]
        made["flows"][0].setdefault("name", "reno")
        values = [row.two_reno_utilisation, row.two_reno_occupancy]
        rows.append(Row(f"Min_Thresh_Reno {row.m:g} BDP", made, values))
    quantities = [
        Quantity("utilisation", "", queue("bottleneck", "utilisation")),
        Quantity("mean queue", "BDP", queue("bottleneck", "occupancy_bytes_mean", 1 / points.BDP)),
    ]
    yield exhibit("Table I: two Reno flows", "Table I: two Reno flows", quantities, rows)
    figures = [("fig1", "Figure 1"), ("fig2", "Figure 2")]
    figures += [(f"fig5-m{tag}", f"Figure 5, m = {tag}") for tag, _ in points.ROWS]
    figures += [
        ("fig6", "Figure 6"),
        ("slope", "Figures 7 to 9"),
        ("formula3", "Figure 9: formula (3)"),
    ]
    figures += [("fig10-width-bdp", "Figure 10, BDP"), ("fig10-width-min", "Figure 10, minimum")]
    yield from alone(dctcp_internet_2014, figures)


def abe() -> Iterator[Exhibit]:
    """Yield the scenarios. The publication shows its results only in figures, so it has no tables
    to read."""
    files = (
        ("single", "Experiments 1 to 4: one flow"),
        ("enter", "Convergence"),
        ("equal", "Rates at equal mark probability"),
        ("groups", "Ten flows against ten"),
        ("short", "Short flows"),
    )
    yield from alone(abe_2017, files)


BUILDERS: Mapping[Any, Callable[[], Iterator[Exhibit]]] = {
    abe_2017: abe,
    ccafct_2020: ccafct,
    dctcp_internet_2014: dctcp,
    dualpi2_2022: dualpi2,
    imc_bbr_2023: imc,
    l4s_tests_2020: l4s,
    pam_2025_l4s: pam,
    sce_2019: sce,
}
"""The experiments of publications, each with the function that yields its exhibits."""
