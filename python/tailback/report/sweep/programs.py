"""Compares the measurements of programs with the measurements of the network.

Figures show QUIC logs, the kernel's tcp_info, and RTTs computed from packets. Tables list 5-tuples
and files written by programs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from tailback.base.foreign import line
from tailback.errors import InputError, ScenarioWarning
from tailback.figures.theme import Chart
from tailback.figures.time_series import thin, time_series
from tailback.metrics import parts
from tailback.plot import words
from tailback.programs import kept, logs, qlog
from tailback.report.model import Block, Facts, ReportFigure, Table, Value
from tailback.report.sweep.axes import MOST_COLOURS
from tailback.report.tables import left, right
from tailback.report.tables import words as word_columns
from tailback.report.text import code, plain
from tailback.store.results import Run

MAX_SAMPLES = 4800
"""The largest number of rows of data in a panel."""
MOST_PROGRAMS = 6
"""The largest number of programs to draw."""
MOST_ROWS = 60
"""The largest number of rows of a table."""
MOST_LINKS = 12
"""The largest number of files to list for each side."""

SHOWN = (".txt", ".log", ".csv", *qlog.ENDINGS)
"""Endings of files that a browser shows as text."""


def blocks(groups: Sequence[Sequence[Run]], facts: Facts) -> list[Block]:
    """Return figures and a table of 5-tuples for the first run, and the files of all runs."""
    runs = [run for group in groups for run in group if parts.programs(run.summary)]
    if not runs:
        return []
    content: list[Block] = []
    first = runs[0]
    names = [program["name"] for program in parts.programs(first.summary)][:MOST_PROGRAMS]
    series = first.series()
    for number, name in enumerate(names, 1):
        figure = _figure(first, series, name, number, facts)
        if figure is not None:
            content.append(figure)
    if any(program["tuples"] for program in parts.programs(first.summary)):
        content.append(_tuples(first, facts))
    files = _files(runs, facts)
    return [*content, *([files] if files else [])]


def _figure(
    run: Run, series: pl.DataFrame, name: str, number: int, facts: Facts
) -> ReportFigure | None:
    rows = series.filter(pl.col("flow") == name)
    program = next(p for p in parts.programs(run.summary) if p["name"] == name)
    # If the program reports RTTs of a protocol other than TCP, its TCP connection carries only
    # control messages. Leave out this connection.
    kernels = rows if program["rtt_of"] == "tcp" else rows.clear()
    logs = list(_logs(run, name))
    rtt: dict[str, pl.DataFrame] = {
        "packets": _of(rows, "rtt_ns", 1e-6),
        "TCP, srtt": _of(kernels, "srtt_ns", 1e-6),
    }
    cwnd: dict[str, pl.DataFrame] = {}
    rules: set[str] = set()
    base_ms = _plan(run, name).get("rtt", 0) / 1e6
    for title, trace, moved in logs:
        unit_ms = qlog.rtt_unit_ms(trace, base_ms)
        if unit_ms != 1.0:
            rules.add(f"RTTs of {plain(title)} are in seconds, as no RTT is below the path's")
        for word, samples in (("smoothed", trace.smoothed_rtt), ("latest", trace.latest_rtt)):
            rtt[f"{title}, {word}"] = _frame(moved(samples), unit_ms)
        cwnd[title] = _frame(moved(trace.cwnd), 1e-3)
    queue = {"queue": _of(rows, "delay_ns", 1e-6)}
    panels = (
        ("cwnd, kB", cwnd),
        ("cwnd, segments", {"TCP": _of(kernels, "cwnd", 1.0)}),
        ("RTT, ms", rtt),
        ("time in queues, ms", queue),
    )
    seen = [
        (title, found)
        for title, lines in panels
        if (found := {key: points for key, points in lines.items() if points.height})
    ]
    if not seen:
        return None
    charts: list[Chart] = []
    for title, lines in seen:
        chosen = dict(list(lines.items())[:MOST_COLOURS])
        frame = pl.concat(
            points.with_columns(pl.lit(key).alias("of")) for key, points in chosen.items()
        )
        drawn, rule = thin(frame, by=["of"], limit=MAX_SAMPLES)
        if rule:
            rules.add(rule)
        charts.append(
            time_series(
                drawn,
                y_title=title,
                order=list(chosen),
                series="of",
                series_title="as told by",
                height=130,
                x_title="time in s" if title == seen[-1][0] else None,
            )
        )
    chart = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared", color="independent")
    what = {
        "tcp": "RTT by packets: of TCP data that was sent once",
        "base and sojourn": "RTT by packets: the base RTT and the time in queues there and back",
    }.get(program["rtt_of"], "No RTT by packets")
    told = f" Logs: {', '.join(plain(title) for title, *_ in logs)}." if logs else ""
    notes = "".join(f"; {rule}" for rule in sorted(rules))
    caption = f"Seed {run.seed}{_where(run)}{notes}. {what}, mean of each interval.{told}"
    return ReportFigure(f"program-{number}", f"{line(name)} over time", chart, caption, facts)


def _logs(run: Run, name: str) -> Iterator[tuple[str, qlog.Trace, Any]]:
    """For each log of a program, yield its title, its trace, and a function that converts its times
    to times of the run.
    """
    plan = _plan(run, name)
    end_s = run.summary["duration_s"]
    for file in logs.files(run.stored, name):
        try:
            traces = logs.traces(run.stored, file)
        except InputError as error:
            text = f"program {name}: {file.side}: not drawn: {error}"
            warnings.warn(text, ScenarioWarning, stacklevel=2)
            continue
        for trace in traces:
            short = file.name.removeprefix(f"{kept.OUT}/")
            title = line(f"{trace.vantage or file.side}, {short if len(short) < 24 else 'qlog'}")

            def moved(samples: qlog.Samples, trace: qlog.Trace = trace) -> qlog.Samples:
                return qlog.over_run(
                    trace,
                    samples,
                    date_s=_date_s(run, plan),
                    start_s=plan.get("start", 0) / 1e9,
                    end_s=end_s,
                )

            yield title, trace, moved


def _date_s(run: Run, plan: Mapping[str, Any]) -> float:
    """Return the date at time 0 on the clock that the program reads, in seconds since 1970.

    In a guest, time 0 is later than the date of the scenario, because the guest prepares the run
    first. Earlier versions of tailback did not record this date.
    """
    guest = (run.manifest.get("environment") or {}).get("guest") or {}
    recorded = guest.get("clock_at_start_ns")
    return recorded / 1e9 if recorded else float(plan.get("date", 0))


def _plan(run: Run, name: str) -> Mapping[str, Any]:
    planned = run.manifest["canonical"].get("programs", ())
    for one in planned if isinstance(planned, list) else ():
        if isinstance(one, dict) and one.get("name") in (name, parts_name(name)):
            return one
    return {}


def parts_name(name: str) -> str:
    """Return the program's name in the scenario: quic for quic/1."""
    return name.rpartition("/")[0]


def _of(rows: pl.DataFrame, quantity: str, scale: float) -> pl.DataFrame:
    return rows.filter(pl.col("quantity") == quantity).select(
        (pl.col("time_ns") / 1e9).alias("time_s"), (pl.col("value") * scale).alias("value")
    )


def _frame(samples: qlog.Samples, scale: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time_s": [at for at, _ in samples],
            "value": [value * scale for _, value in samples],
        },
        schema={"time_s": pl.Float64, "value": pl.Float64},
    )


def _where(run: Run) -> str:
    found = ", ".join(f"{key} = {words.value(label)}" for key, label in run.labels.items())
    return f" at {plain(found)}" if found else ""


def _tuples(run: Run, facts: Facts) -> Table:
    columns = [
        *left("program", "protocol", "sender", "receiver"),
        *right(
            *("Mbit/s", "RTT ms", "RTT p99 ms", "packets", "drops", "marks"),
            *("ECT(0)", "ECT(1)", "done s"),
        ),
    ]
    rows: list[list[Value]] = []
    total = 0
    for program in parts.programs(run.summary):
        for flow in program["tuples"]:
            total += 1
            if total > MOST_ROWS:
                continue
            sender = flow["sender"] or f"{flow['tuples']} more"
            rows.append(
                [
                    *(line(text or "") for text in (program["name"], flow["protocol"])),
                    *(line(text or "") for text in (sender, flow["receiver"])),
                    *(
                        _short(value)
                        for value in (
                            flow["throughput_mbit"],
                            flow["rtt_ms"]["mean"],
                            flow["rtt_ms"]["p99"],
                        )
                    ),
                    *(flow[key] for key in ("packets", "drops", "marks")),
                    *(flow["ecn_sent"][key] for key in ("ect0", "ect1")),
                    _short(flow["completion_s"]),
                ]
            )
    more = f" The first {MOST_ROWS} of {total} rows." if total > MOST_ROWS else ""
    caption = (
        f"Seed {run.seed}{_where(run)}. Packets and ECN fields as the sender's host sent them; "
        f"drops and marks of both directions at every link.{more}"
    )
    return Table("tuples", "Programs by 5-tuple", columns, rows, caption, facts)


def _short(value: float | None) -> Value:
    return None if value is None else f"{value:.4g}"


def _files(runs: Sequence[Run], facts: Facts) -> Table | None:
    rows: list[list[Value]] = []
    total = 0
    for run in runs:
        for program in parts.programs(run.summary):
            by_side: dict[str, list[str]] = {}
            for file in kept.files(run.stored, program["name"]):
                by_side.setdefault(file.side, []).append(file.name)
            for side, names in by_side.items():
                total += 1
                if total > MOST_ROWS:
                    continue
                point = ", ".join(words.value(label) for label in run.labels.values())
                base = f"../../runs/{run.run_id}/{kept.FOLDER}/{program['name']}/{side}"
                shown = [_link(base, name) for name in names[:MOST_LINKS]]
                if len(names) > MOST_LINKS:
                    shown.append(f"{len(names) - MOST_LINKS} more")
                rows.append([point, str(run.seed), line(program["name"]), side, ", ".join(shown)])
    if not rows:
        return None
    titles = ["point", "seed", "program", "side"]
    if not any(row[0] for row in rows):
        del titles[0]
        rows = [row[1:] for row in rows]
    columns = [*left(*titles), *word_columns("files")]
    more = f" The first {MOST_ROWS} of {total} rows." if total > MOST_ROWS else ""
    caption = f"What programs wrote, in the folders of their runs.{more}"
    return Table("files", "Files of programs", columns, rows, caption, facts)


def _link(base: str, name: str) -> str:
    # Link only files that a browser shows as text and whose names need no escaping.
    if name.endswith(SHOWN) and not any(c in name for c in " ()<>[]\\`*"):
        return f"[{plain(name)}]({base}/{name})"
    return code(name)
