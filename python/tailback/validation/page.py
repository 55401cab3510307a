"""The page of the validation: docs/validation.md with its figures, and the same as a report."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from tailback import store
from tailback.figures import export
from tailback.figures.theme import INK, Chart
from tailback.figures.time_series import thin, time_series
from tailback.report.model import Facts, Figure, Mark, Report, Section, Table, Text, Value
from tailback.report.tables import left, right, words
from tailback.report.write import to_markdown, write
from tailback.stored import StoredRun
from tailback.validation import Validation
from tailback.validation.cells import Cell, Measure
from tailback.validation.grid import QUEUES, QUICK_SEEDS, SEEDS
from tailback.validation.verdicts import LIMITS, Verdict, worst

CAUSES = Path(__file__).parent / "causes.toml"

UNEXPLAINED = "unexplained"

MOST = 20
"""Worst cells that are listed."""

TRACED = 3
"""Worst cells whose traces are drawn."""

REPRESENTATIVE = (
    ("codel-ecn", ("cubic",), 50e6, 0.04),
    ("fifo", ("reno",), 10e6, 0.04),
    ("red-ecn", ("dctcp",), 50e6, 0.01),
    ("pie", ("cubic",), 10e6, 0.1),
    ("codel-ecn", ("cubic", "dctcp"), 50e6, 0.04),
)
"""Cells whose traces are drawn whatever they say: queue, flows, rate, round-trip time."""

MOST_TRACES = 4
"""Flows of a cell whose windows are drawn, the first."""

SAMPLES = 1600
"""Rows of a panel of traces."""

NAMES = {
    "throughput": "throughput",
    "ratio": "throughput ratio",
    "delay": "mean queue delay",
    "signals": "marks and drops",
}


CSV_COLUMNS = (
    *("queue", "flows", "rate_bit", "rtt_s", "quantity", "flow", "unit"),
    *("sim", "sim_ci95", "kernel", "kernel_ci95", "n", "error", "noise", "verdict"),
)


def report(made: Validation) -> Report:
    """The page as a report."""
    facts = _facts(made)
    failed = sum(not verdict.holds for verdict in made.verdicts)
    lead = "The simulator and the Linux kernel in virtual time, given the same scenarios: " + (
        "every goal holds." if not failed else f"{failed} of {len(made.verdicts)} goals fail."
    )
    return Report(
        name="validation",
        title="The simulator against Linux",
        lead=lead,
        meta=[(name, version) for name, version in made.ran.versions.items()]
        + ([("kernel", kernel)] if (kernel := _kernel(made)) else []),
        sections=[
            Section("goals", "Goals", [_how(made), _goals(made.verdicts, facts)]),
            Section("errors", "Errors of every cell", [_heat(made, facts)]),
            Section("worst", "Worst cells", _worst(made, facts)),
            Section("traces", "Traces of both engines", list(_traces(made, facts))),
        ],
        files={"cells.csv": _csv(made.cells)},
    )


def save(made: Validation) -> Path:
    """Writes the report beside the results; returns the path of its page."""
    identity = json.dumps([made.ran.versions, [cell.runs for cell in made.cells]], sort_keys=True)
    name = hashlib.sha256(identity.encode()).hexdigest()[:20]
    return write(report(made), made.ran.root / "validations" / name)


def save_page(made: Validation, docs: Path) -> Path:
    """Writes validation.md (of some queues validation-FIRST.md) and the folder of its figures."""
    built = report(made)
    queues = _queues(made)
    name = f"validation-{queues[0]}" if queues else "validation"
    folder = docs / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for figure in built.figures():
        svg = export.svg(export.spec(figure.chart))
        (folder / f"{figure.id}.svg").write_text(svg, encoding="utf-8")
    for file, text in built.files.items():
        (folder / file).write_text(text, encoding="utf-8")
    page = docs / f"{name}.md"
    text = to_markdown(built).replace("](figures/", f"]({name}/")
    page.write_text(text, encoding="utf-8")
    return page


def _queues(made: Validation) -> list[str]:
    """The queues of the grid that were asked for; none if all were."""
    found = list(dict.fromkeys(batch.queue.name for batch in made.ran.batches))
    return found if len(found) < len(QUEUES) else []


def _command(made: Validation) -> str:
    """What makes the page."""
    words = ["tailback validate", *(["--quick"] if made.quick else [])]
    seeds = max((len(ids) for cell in made.cells for ids in cell.runs.values()), default=0)
    if seeds != (QUICK_SEEDS if made.quick else SEEDS):
        words.append(f"--seeds {seeds}")
    return " ".join([*words, *(f"--queue {name}" for name in _queues(made)), "--write"])


def _how(made: Validation) -> Text:
    runs = sum(len(ids) for cell in made.cells for ids in cell.runs.values())
    return Text(
        f"Made by `{_command(made)}`: {len(made.cells)} cells, {runs} runs. A cell is a set of "
        "flows in a queue at a rate and a round-trip time; its scenario files are "
        "`python/tailback/validation/*.toml`, and `cells.csv` has all its numbers.\n\n"
        "Numbers are means over seeds, errors those of the simulator relative to the kernel. "
        "For flows that compete the error of throughput is that over the rate of the link, and "
        "the ratio of their throughputs is judged beside it. Noise is half the 95 % interval of "
        "the difference of both means (Welch), from the spread over the seeds of both engines: a "
        "miss inside noise is not a miss. The column *noise ignored* counts it as one."
    )


def _facts(made: Validation) -> Facts:
    runs = [run for batch in made.ran.batches for r in batch.results.values() for run in r]
    durations = sorted({run.summary["duration_s"] for run in runs})
    warmups = sorted({run.summary["warmup_s"] for run in runs})
    return Facts(
        runs=len(runs),
        seeds=max((len(ids) for cell in made.cells for ids in cell.runs.values()), default=0),
        duration=", ".join(f"{d:g} s simulated" for d in durations),
        warmup=", ".join(f"{w:g} s" for w in warmups),
        engine=", ".join(f"{name} {version}" for name, version in made.ran.versions.items()),
    )


def _kernel(made: Validation) -> str:
    """Kernel, kit and tools of the guests, as a run's manifest has them."""
    for batch in made.ran.batches:
        for run in batch.results["kernel"]:
            environment = run.manifest.get("environment", {})
            kit = environment.get("kit", {})
            parts = [f"Linux {kit['kernel']}"] if "kernel" in kit else []
            parts += [f"kit {kit['hash'][:16]}"] if "hash" in kit else []
            parts += [f"iproute2 {kit['iproute2']}"] if "iproute2" in kit else []
            return ", ".join(parts)
    return ""


def _goals(verdicts: Sequence[Verdict], facts: Facts) -> Table:
    columns = [*left("goal"), *right("cells", "value", "noise ignored", "holds")]
    rows: list[list[Value]] = [
        [
            verdict.goal,
            verdict.cells,
            _percent(verdict, verdict.value),
            _percent(verdict, verdict.plain),
            Mark("yes", "pass") if verdict.holds else Mark("no", "miss"),
        ]
        for verdict in verdicts
    ]
    return Table("goals-table", "Agreement that is asked for", columns, rows, "", facts)


def _percent(verdict: Verdict, value: float) -> str:
    return f"{100 * value:.{2 if 'median' in verdict.goal else 1}f} %"


def _heat(made: Validation, facts: Facts) -> Figure:
    """Errors of all cells, a panel for each quantity."""
    rows: list[dict[str, Any]] = []
    for cell in made.cells:
        for limit in LIMITS:
            found = cell.worst(limit.quantity)
            if found is None:
                continue
            error = 100 * found.error
            rows.append(
                {
                    "of": f"{cell.queue}: {cell.flows}",
                    "at": f"{cell.rate_bit / 1e6:g} Mbit/s, {cell.rtt_s * 1e3:g} ms",
                    "quantity": NAMES[limit.quantity],
                    "error": max(-999.0, min(999.0, error)),
                    "over": max(-9.0, min(9.0, error / (100 * limit.relative))),
                    "text": _short(error),
                    "missed": limit.missed(cell),
                }
            )
    return Figure(
        "errors",
        "Errors in percent",
        _panels(pl.DataFrame(rows), made),
        "Error of the simulator in percent, of throughput that of the flow that is furthest off. "
        "Colours are in units of what is allowed; a frame marks what is further off by more than "
        "noise.",
        facts,
    )


def _panels(frame: pl.DataFrame, made: Validation) -> Chart:
    order = list(dict.fromkeys(f"{cell.queue}: {cell.flows}" for cell in made.cells))
    places = sorted({(cell.rate_bit, cell.rtt_s) for cell in made.cells})
    at = [f"{rate / 1e6:g} Mbit/s, {rtt * 1e3:g} ms" for rate, rtt in places]
    charts = []
    for i, limit in enumerate(LIMITS):
        rows = frame.filter(pl.col("quantity") == NAMES[limit.quantity])
        x = alt.X("at:N", sort=at, title=None, axis=alt.Axis(labelAngle=-60, labelLimit=140))
        y = alt.Y(
            "of:N",
            sort=order,
            title=None,
            scale=alt.Scale(domain=order),
            axis=alt.Axis(labels=i == 0, ticks=i == 0, labelLimit=220),
        )
        base = alt.Chart(rows)
        cells = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
            x=x,
            y=y,
            color=alt.Color(
                "over:Q",
                title="error over what is allowed",
                scale=alt.Scale(scheme="purpleorange", domain=[-2, 2], clamp=True, reverse=True),
                legend=alt.Legend(orient="bottom", gradientLength=220),
            ),
            tooltip=["of:N", "at:N", alt.Tooltip("error:Q", format="+.2f")],
        )
        frames = (
            base.transform_filter("datum.missed")
            .mark_rect(fill=None, stroke=INK, strokeWidth=1.6)
            .encode(x=x, y=y)
        )
        dark = alt.condition("abs(datum.over) > 1.4", alt.value("white"), alt.value(INK))
        texts = base.mark_text(fontSize=9).encode(x=x, y=y, text="text:N", color=dark)
        charts.append(
            alt.layer(cells, frames, texts).properties(
                title=NAMES[limit.quantity], width=34 * len(at), height=17 * len(order)
            )
        )
    return alt.hconcat(*charts, spacing=14)


def _short(error: float) -> str:
    if not math.isfinite(error) or abs(error) >= 1000:
        return "∞" if error > 0 else "−∞"
    return f"{error:+.0f}" if abs(error) >= 9.95 else f"{error:+.1f}"


def missed_words(cell: Cell) -> list[str]:
    """What a cell misses by more than noise, in words."""
    found = []
    for limit in LIMITS:
        for measure in limit.misses(cell):
            if measure.inside_noise:
                continue
            flow = f" of {measure.flow}" if measure.flow and len(cell.mix) > 1 else ""
            sim, kernel = (_number(measure, engine) for engine in ("sim", "kernel"))
            unit = f" {measure.unit}" if measure.unit else ""
            found.append(f"{NAMES[limit.quantity]}{flow} {sim} against {kernel}{unit}")
    return found


def _number(measure: Measure, engine: str) -> str:
    value = measure.shown(engine).mean
    return "–" if value is None else f"{value:.4g}"


def cause(cell: Cell, table: Sequence[dict[str, Any]] | None = None) -> str:
    """Why a cell differs, from the first entry of `causes.toml` that fits it."""
    for entry in table if table is not None else causes():
        if (
            cell.queue in entry.get("queues", [cell.queue])
            and cell.flows in entry.get("flows", [cell.flows])
            and cell.where in entry.get("at", [cell.where])
        ):
            return str(entry["cause"])
    return UNEXPLAINED


def causes() -> list[dict[str, Any]]:
    """What is known about cells that differ."""
    with CAUSES.open("rb") as file:
        table: list[dict[str, Any]] = tomllib.load(file).get("cell", [])
    return table


def _worst(made: Validation, facts: Facts) -> list[Text | Table | Figure]:
    missing = worst(made.cells, len(made.cells))
    if not missing:
        return [Text("No cell misses a limit by more than noise.")]
    columns = [*left("cell", "simulator against kernel"), *words("cause")]
    table = causes()
    rows: list[list[Value]] = [
        [cell.id, "; ".join(missed_words(cell)), cause(cell, table)] for cell in missing[:MOST]
    ]
    caption = f"{len(missing)} of {len(made.cells)} cells miss a limit by more than noise."
    if len(missing) > MOST:
        caption += f" The worst {MOST}."
    return [Table("worst-table", "Further off than noise", columns, rows, caption, facts)]


def _traces(made: Validation, facts: Facts) -> Iterator[Figure]:
    by_key = {(c.queue, c.mix, c.rate_bit, round(c.rtt_s, 9)): c for c in made.cells}
    chosen = [(by_key[key], "") for key in REPRESENTATIVE if key in by_key]
    chosen += [(cell, " (one of the worst)") for cell in worst(made.cells, TRACED)]
    seen: set[str] = set()
    for cell, remark in chosen:
        if cell.id in seen:
            continue
        seen.add(cell.id)
        chart, rules = _trace(made, cell)
        name = cell.id.replace("/", "").replace(" ", "-").replace("+", "-").lower()
        caption = f"Congestion windows and queue of both engines, first seed{rules}."
        yield Figure(f"trace-{name}", f"{cell.id}{remark}", chart, caption, facts)


def _trace(made: Validation, cell: Cell) -> tuple[Chart, str]:
    series = {
        engine: StoredRun(store.run_path(made.ran.root, ids[0])).series()
        for engine, ids in cell.runs.items()
    }
    names = {
        engine: list(frame.filter(pl.col("quantity") == "cwnd")["flow"].unique().sort())
        for engine, frame in series.items()
    }
    shown = range(min(len(cell.mix), MOST_TRACES))
    panels = [("cwnd", i, "cwnd, segments", 1.0) for i in shown]
    panels.append(("backlog_bytes", -1, "backlog, kB", 1e-3))
    charts, rules = [], set()
    for quantity, i, title, scale in panels:
        parts = []
        for engine, frame in series.items():
            rows = frame.filter(pl.col("quantity") == quantity)
            if i >= 0:
                rows = rows.filter(pl.col("flow") == names[engine][i])
            parts.append(
                rows.select(
                    (pl.col("time_ns") / 1e9).alias("time_s"),
                    pl.lit(engine).alias("engine"),
                    pl.col("value") * scale,
                )
            )
        drawn, rule = thin(pl.concat(parts), by=["engine"], limit=SAMPLES)
        rules |= {rule} if rule else set()
        chart = time_series(
            drawn,
            y_title=title,
            order=["sim", "kernel"],
            series="engine",
            series_title="engine",
            height=120,
        )
        charts.append(chart.properties(title=names["sim"][i] if i >= 0 else "queue"))
    made_of = alt.vconcat(*charts, spacing=14).resolve_scale(x="shared", color="shared")
    return made_of, "".join(f"; {rule}" for rule in sorted(rules))


def _csv(cells: Sequence[Cell]) -> str:
    """A row for each measure of each cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    limits = {limit.quantity: limit for limit in LIMITS}
    for cell in cells:
        for m in cell.measures:
            limit = limits.get(m.quantity)
            verdict = ""
            if limit is not None:
                within = limit.within(m)
                verdict = "within" if within else "noise" if m.inside_noise else "miss"
            sim, kernel = m.shown("sim"), m.shown("kernel")
            numbers = [sim.mean, sim.half_width, kernel.mean, kernel.half_width]
            writer.writerow(
                [cell.queue, cell.flows, f"{cell.rate_bit:g}", f"{cell.rtt_s:g}"]
                + [m.quantity, m.flow, m.unit]
                + ["" if v is None else f"{v:.6g}" for v in numbers]
                + [min(sim.n, kernel.n)]
                + [f"{m.error:.6g}", "" if m.noise is None else f"{m.noise:.6g}", verdict]
            )
    return out.getvalue()
