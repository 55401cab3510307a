"""The report: what was expected, then a section for each experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import polars as pl

from tailback.experiments.abe_2017 import enter, equal, groups, layout, short, single, truth
from tailback.experiments.abe_2017.cells import Measured, Predicted
from tailback.experiments.abe_2017.tradeoff import Point as Choice
from tailback.experiments.abe_2017.truth import Verdict
from tailback.figures import Panel, cdf, cumulative, panel, panels
from tailback.figures.theme import Chart, colour_scale
from tailback.metrics.statistics import Estimate
from tailback.report import Column, Facts, Figure, Mark, Report, Section, Table, Text, Value
from tailback.results import Results

TITLE = "ABE: a gentler backoff, run again"
SOURCE = (
    "N. Khademi, G. Armitage, M. Welzl, S. Zander, G. Fairhurst, D. Ros, \u201cAlternative "
    "Backoff: Achieving Low Latency and High Throughput with ECN and AQM\u201d, IFIP Networking "
    "2017, of which the poster is public; RFC 8511"
)
#: Round-trip time of the distributions, ms.
SHOWN_RTT = 80.0

Block = Text | Figure | Table


@dataclass(frozen=True)
class Ran:
    """What a report rests on."""

    facts: Mapping[str, Facts]
    runs: int
    engine: str
    quick: bool


def ran(results: Mapping[str, Sequence[Results]], *, quick: bool) -> Ran:
    """The facts of the results of each plan."""
    out = {}
    for name, found in results.items():
        runs = [run for result in found for run in result]
        if not runs:
            continue
        durations = sorted({run.summary["duration_s"] for run in runs})
        warmups = sorted({run.summary["warmup_s"] for run in runs})
        first = f"{found[0].engine} {found[0].version}"
        deviations = ["every segment is a packet: no TSO, GSO, GRO"]
        if found[0].engine != "sim":
            deviations.append("PIE is that of a kernel of today")
        out[name] = Facts(
            runs=len(runs),
            seeds=max(len(group) for result in found for group in result.groups()),
            duration=_range(durations),
            warmup=_range(warmups) if warmups[-1] else "",
            engine=first,
            options=("start offsets drawn from 0 to the RTT",),
            deviations=deviations,
        )
    engine = next(iter(out.values())).engine if out else ""
    return Ran(out, sum(facts.runs for facts in out.values()), engine, quick)


def _range(values: Sequence[float]) -> str:
    low, high = values[0], values[-1]
    return f"{low:g} s" if low == high else f"{low:g} to {high:g} s"


def report(
    found: Measured,
    verdicts: Sequence[Verdict],
    numbers: Sequence[Predicted],
    made: Ran,
    name: str,
) -> Report:
    """The report of a run."""
    lead = (
        "With short queues a sender that halves its window on a mark leaves the link idle. ABE "
        "backs off less on marks than on losses: what that gains, and what it costs others."
    )
    if made.quick:
        lead += " A quick run: fewer places, factors and seeds."
    sections = []
    if verdicts:
        blocks: list[Block] = [expectations(verdicts), *_why(verdicts)]
        sections.append(Section("result", "What was expected", blocks))
    single_facts = made.facts.get("single", Facts())
    for part in layout.KERNEL_PARTS:
        points = [p for p in found.single if p.setup.part == part]
        if points:
            shown = single_blocks(points, single_facts)
            sections.append(Section(part, section_title(part), shown))
    if found.single:
        sections.append(formula_section(found.single, single_facts))
    later: Mapping[str, tuple[str, Callable[[Facts], list[Block]] | None]] = {
        "equal-probability": (
            "equal",
            (lambda facts: equal_blocks(found.equal, facts)) if found.equal else None,
        ),
        "experiment-5": (
            "enter",
            (lambda facts: enter_blocks(found.enter, facts)) if found.enter else None,
        ),
        "experiment-6": (
            "groups",
            (lambda facts: group_blocks(found.groups, facts)) if found.groups else None,
        ),
        "experiment-7": (
            "short",
            (lambda facts: short_blocks(found, facts)) if found.sizes else None,
        ),
        "trade-off": (
            "tradeoff",
            (lambda facts: choice_blocks(found.tradeoff, facts)) if found.tradeoff else None,
        ),
    }
    for part, (plan, build) in later.items():
        if build is not None:
            shown = build(made.facts.get(plan, Facts()))
            sections.append(Section(part, section_title(part), shown))
    return Report(
        name=name,
        title=TITLE,
        lead=lead,
        meta=[("source", SOURCE), ("engine", made.engine), ("runs", str(made.runs))],
        sections=sections,
        cells=[cell for cell, _ in numbers],
        files={"predicted.csv": _predicted(numbers)},
    )


def with_files(made: Report, files: Mapping[str, str]) -> Report:
    """The report with more files."""
    return replace(made, files={**made.files, **files})


def _predicted(numbers: Sequence[Predicted]) -> str:
    """Measured against predicted, where theory says something."""
    lines = ["id,quantity,predicted,measured,n,ci95"]
    for cell, value in numbers:
        if value is not None and cell.measured is not None:
            half = "" if cell.ci95 is None else f"{cell.ci95:.6g}"
            lines.append(
                f"{cell.id},{cell.quantity},{value:.6g},{cell.measured:.6g},{cell.n},{half}"
            )
    return "\n".join(lines) + "\n"


def section_title(part: str) -> str:
    """Number and what it is."""
    title = layout.PARTS[part]
    number = part.removeprefix("experiment-")
    return f"Experiment {number}: {title[0].lower()}{title[1:]}" if number.isdigit() else title


# --- what was expected -------------------------------------------------------------------------


def expectations(verdicts: Sequence[Verdict]) -> Table:
    """Every expectation and what came out."""
    columns = [
        Column("", align="left"),
        Column("expected", align="left"),
        Column("measured", align="left"),
        Column("cells"),
        Column("of these hold"),
        Column("", align="left"),
    ]
    rows: list[list[Value]] = [
        [
            v.title,
            v.expected,
            v.measured,
            v.cells,
            v.held,
            Mark("holds", "pass") if v.holds else Mark("does not", "miss"),
        ]
        for v in verdicts
    ]
    return Table("expectations", "Expectations", columns, rows)


#: Why an expectation does not hold, by the beginning of its id.
WHY = {
    "utilisation.cubic": (
        "**CUBIC's formula** takes the curve to its top. In whole segments the last one below it "
        "takes cbrt(1/C) = 1.4 s, and the mark comes before: with small factors, whose curves are "
        "short on the paths of these experiments, that is more than 2 points."
    ),
    "poster": (
        "**Ten against ten.** At 20 ms path and target hold 33 segments for twenty flows: ssthresh "
        "is at its floor of two segments, and no factor makes a difference. The longer the path, "
        "the closer are the ratios to those at equal mark probability; the average over all "
        "round-trip times hides both. With NewReno flows the poster's range comes out: against "
        "CUBIC on average, against NewReno at long round-trip times. Ten CUBIC flows with ABE have "
        "it against neither, but against NewReno where CUBIC is ahead anyway, at 320 ms."
    ),
    "cubic-gains-less": (
        "**CUBIC at 320 ms** is mostly cut twice, a round-trip time apart: a full queue is marked "
        "until the answer to its first mark has come back, and what is marked after that counts "
        "anew. Two cuts to 0.7 leave 0.49 of the window, two to 0.85 leave 0.72, and the gain is "
        "over the former."
    ),
    "queue-delay": (
        "**Queue delay.** With the standard backoff one flow leaves the queue empty for a part of "
        "each cycle, and that part decides the median. A gentler one leaves it less empty: the "
        "median moves towards the target, by more than 2 ms where the target is 20 ms, or where a "
        "packet takes 1.2 ms and CoDel holds four of them. The 99th percentiles hardly move."
    ),
}


def _why(verdicts: Sequence[Verdict]) -> list[Block]:
    """What is known of those that do not hold."""
    off = [verdict.id for verdict in verdicts if not verdict.holds]
    return [
        Text(text) for start, text in WHY.items() if any(name.startswith(start) for name in off)
    ]


# --- one flow ----------------------------------------------------------------------------------


def beta_text(cc: str, beta: float) -> str:
    """A factor in a legend."""
    return f"{beta:g}, standard" if beta == layout.STANDARD[cc] else f"{beta:g}"


def single_blocks(points: Sequence[single.Point], facts: Facts) -> list[Block]:
    """Curves, distributions and a table for each queue."""
    out: list[Block] = []
    for setup in dict.fromkeys(p.setup for p in points):
        own = [p for p in points if p.setup == setup]
        drawn = [p for p in own if p.beta in layout.DRAWN[setup.cc]]
        out += [
            _curves(setup, drawn, facts),
            _distribution(setup, drawn, facts),
            _gains(setup, own),
        ]
    return out


def _curves(setup: single.Setup, points: Sequence[single.Point], facts: Facts) -> Figure:
    frame = pl.DataFrame(
        [
            {
                "rtt": p.rtt_ms,
                "beta": beta_text(setup.cc, p.beta),
                **_band("gain", p.gain, 100, -1),
                **_band("utilisation", p.utilisation, 100),
                "delay": p.delay["p50"],
            }
            for p in points
        ],
        infer_schema_length=None,
    )
    theory = pl.DataFrame(
        [
            {
                "rtt": p.rtt_ms,
                "beta": beta_text(setup.cc, p.beta),
                "utilisation": 100 * p.predicted,
            }
            for p in points
            if p.predicted is not None
        ]
    )
    chart = panels(
        frame,
        [
            Panel("gain", "throughput gain, %", "gain_low", "gain_high", rules=[(0.0, "")]),
            Panel(
                "utilisation",
                "utilisation, %",
                "utilisation_low",
                "utilisation_high",
                published=theory,
                published_label="formula",
            ),
            Panel("delay", "median queue delay, ms", height=130),
        ],
        x="rtt",
        x_title="round-trip time, ms",
        series="beta",
        series_title="beta after a mark",
        order=[beta_text(setup.cc, b) for b in sorted({p.beta for p in points})],
        ordered=True,
        x_scale="log",
        x_ticks=sorted({p.rtt_ms for p in points}),
    )
    caption = (
        f"Gain over beta = {layout.STANDARD[setup.cc]:g}, seed by seed. Hollow marks: the "
        "formula's utilisation for the windows at reductions that were measured. Bands: 95 % over "
        "seeds."
    )
    title = f"{setup.title}, {setup.rate_mbit:g} Mbit/s"
    return Figure(f"{setup.part}-{setup.id}", title, chart, caption, facts)


def _band(name: str, value: Estimate, scale: float, shift: float = 0.0) -> dict[str, float | None]:
    """A mean and its interval as columns."""
    low, high = value.ci95 or (None, None)

    def shown(number: float | None) -> float | None:
        return None if number is None else scale * (number + shift)

    return {name: shown(value.mean), f"{name}_low": shown(low), f"{name}_high": shown(high)}


def _distribution(setup: single.Setup, points: Sequence[single.Point], facts: Facts) -> Figure:
    rtts = sorted({p.rtt_ms for p in points})
    rtt = SHOWN_RTT if SHOWN_RTT in rtts else rtts[len(rtts) // 2]
    shown = {}
    for p in points:
        if p.rtt_ms != rtt:
            continue
        pooled = (
            pl.concat([run.histogram("delay_ns") for run in p.runs])
            .group_by("lower", "width")
            .agg(pl.col("count").sum())
            .sort("lower")
        )
        lower = (pooled["lower"] / 1e6).to_list()
        upper = ((pooled["lower"] + pooled["width"]) / 1e6).to_list()
        shown[beta_text(setup.cc, p.beta)] = cumulative(lower, upper, pooled["count"].to_list())
    chart = cdf(
        shown,
        x_title="queue delay, ms",
        series_title="beta after a mark",
        ordered=True,
        height=180,
    )
    return Figure(
        f"delay-{setup.part}-{setup.id}",
        f"{setup.title}: queue delay of packets at {rtt:g} ms",
        chart,
        "All seeds together, after the warm-up.",
        facts,
    )


def _gains(setup: single.Setup, points: Sequence[single.Point]) -> Table:
    betas = sorted({p.beta for p in points})
    columns = [Column("RTT, ms"), *(Column(beta_text(setup.cc, b)) for b in betas)]
    known = {(p.rtt_ms, p.beta): p for p in points}
    rows: list[list[Value]] = []
    for rtt in sorted({p.rtt_ms for p in points}):
        row: list[Value] = [f"{rtt:g}"]
        for beta in betas:
            p = known.get((rtt, beta))
            row.append(None if p is None else _gain_text(p))
        rows.append(row)
    return Table(
        f"gains-{setup.part}-{setup.id}",
        f"{setup.title}, {setup.rate_mbit:g} Mbit/s",
        columns,
        rows,
        "Gain of throughput, and utilisation with median and 99th percentile of the queue delay "
        "(ms) below it.",
    )


def _gain_text(p: single.Point) -> str:
    use = "" if p.utilisation.mean is None else f"{100 * p.utilisation.mean:.1f} %"
    delay = " / ".join("" if v is None else f"{v:.1f}" for v in (p.delay["p50"], p.delay["p99"]))
    gain = "" if p.gain.mean is None else f"{100 * (p.gain.mean - 1):+.1f} %; "
    return f"{gain}{use}; {delay}"


def formula_section(points: Sequence[single.Point], facts: Facts) -> Section:
    """Predicted against measured, and where the formula does not apply."""
    judged = [p for p in points if p.predicted is not None and p.utilisation.mean is not None]
    order = ["hold", "short path", "unequal cycles", "Reno-friendly", "fast convergence"]
    gaps: dict[tuple[str, str], list[tuple[float, float]]] = {}
    rows = []
    for p in judged:
        assumptions = p.doubt or "hold"
        one, each = 100 * truth.gap(p), 100 * truth.cycle_gap(p)
        gaps.setdefault((p.setup.cc, assumptions), []).append((one, each))
        measured = 100 * min(1.0, p.utilisation.mean or 0.0)
        for how, by in (("one cycle, the mean", one), ("cycle by cycle", each)):
            rows.append(
                {
                    "how": how,
                    "predicted": measured - by,
                    "measured": measured,
                    "assumptions": assumptions,
                    "what": truth.where(p),
                }
            )
    frame = pl.DataFrame(rows)
    low = 5 * (float(min(frame["predicted"].min(), frame["measured"].min())) // 5)  # type: ignore[type-var, arg-type]
    scale = alt.Scale(domain=[low, 100], nice=False)
    line = (
        alt.Chart(pl.DataFrame({"x": [low, 100.0], "y": [low, 100.0]}))
        .mark_line(color="#52606d", strokeDash=[5, 4], strokeWidth=1)
        .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
    )
    dots = (
        alt.Chart(frame)
        .mark_point(filled=True, size=40)
        .encode(
            x=alt.X("predicted:Q", title="utilisation by the formula, %", scale=scale),
            y=alt.Y("measured:Q", title="measured, %", scale=scale),
            color=alt.Color("assumptions:N", scale=colour_scale(order)),
            tooltip=["what:N", "predicted:Q", "measured:Q"],
        )
    )
    charts = [
        alt.layer(line, dots.transform_filter(alt.datum.how == how)).properties(
            width=290, height=290, title=how
        )
        for how in ("one cycle, the mean", "cycle by cycle")
    ]
    chart = alt.hconcat(*charts, spacing=20)
    figure = Figure(
        "formula",
        "Utilisation: measured against the formula",
        chart,
        "Each point is a factor at a round-trip time. Left: the reference's formula with the mean "
        "window at reductions; right: the same for each cycle with its own windows.",
        facts,
    )
    table = Table(
        "formula-gaps",
        "Where its assumptions hold",
        [
            Column("", align="left"),
            Column("assumptions", align="left"),
            Column("cells"),
            Column("mean gap, points"),
            Column("largest"),
            Column("within 2"),
            Column("cycle by cycle: largest"),
            Column("within 2"),
        ],
        [
            [
                layout.NAMES[cc],
                name,
                len(gaps[cc, name]),
                f"{sum(g for g, _ in gaps[cc, name]) / len(gaps[cc, name]):+.2f}",
                f"{max((g for g, _ in gaps[cc, name]), key=abs):+.2f}",
                sum(abs(g) <= 2 for g, _ in gaps[cc, name]),
                f"{max((e for _, e in gaps[cc, name]), key=abs):+.2f}",
                sum(abs(e) <= 2 for _, e in gaps[cc, name]),
            ]
            for cc in ("reno", "cubic")
            for name in order
            if (cc, name) in gaps
        ],
        "Gap: measured less predicted utilisation.",
    )
    return Section("formula", "The formula", [Text(FORMULA), figure, table])


FORMULA = f"""
A sawtooth from beta x to x, with x the window at a reduction over the bandwidth-delay product: for
AIMD u = [(1 - beta\u00b2x\u00b2)/2 + (x\u00b2 - 1)/2] / [(1 - beta x) + (x\u00b2 - 1)/2], for
CUBIC its curve, which gives (3 + beta)/4 for x = 1. x is measured: ssthresh over beta, after the
warm-up.

It does not know of the round trip of the reduction, in which the window does not grow, and of ACKs
for two segments. Together they cost about two segments of window: on paths that hold fewer than
{single.LEAST_PATH:g} segments more than 2 points (**short path**). It assumes equal cycles: here a
standard deviation of the windows at reductions of at most {100 * single.EQUAL_CYCLES:g} % of their
mean. PIE draws its marks, and CoDel marks a second time when a gentle backoff does not empty the
queue within an interval
(**unequal cycles**).

CUBIC's curve is not what grows where Reno's growth is back at the old window first
(**Reno-friendly**). Alone on CoDel it meets the mark on its plateau, a little below the last
maximum, so that **fast convergence** makes every other cycle a longer and lower one, which costs up
to 6 points; without it (last set-up of experiment 4) what is left is whole segments: the last
segment below the plateau takes cbrt(1/C) = 1.4 s, in which the curve of the formula is at the top.

**Cycle by cycle** the same formula is applied from each reduction to the next, with these effects
in it. What is still further off has several reductions between two samples of ssthresh.
"""


# --- equal probability -------------------------------------------------------------------------


def equal_blocks(points: Sequence[equal.Point], facts: Facts) -> list[Block]:
    """The ratios against the table."""
    columns = [
        Column("", align="left"),
        Column("marks", align="left"),
        Column("beta"),
        Column("Mbit/s"),
        Column("ratio"),
        Column("by the table"),
        Column("error"),
        Column("by the law of random marks"),
    ]
    rows: list[list[Value]] = []
    for p in points:
        if p.error is None or p.ratio.mean is None or p.throughput.mean is None:
            continue
        standard = p.beta == layout.STANDARD[p.cc]
        good = abs(p.error) <= truth.RATIO
        rows.append(
            [
                layout.NAMES[p.cc],
                p.marks,
                beta_text(p.cc, p.beta),
                f"{p.throughput.mean:.3f}",
                _with(p.ratio, 3),
                f"{p.table:.3f}",
                None if standard else Mark(f"{100 * p.error:+.1f} %", "pass" if good else "miss"),
                None if p.random is None else f"{p.random:.3f}",
            ]
        )
    caption = (
        "One flow on a link on which nothing queues, whose marks are a schedule: every 1000th "
        "segment (CUBIC: 10,000th), or each with that probability. The table's law is that of "
        "periodic marks; with marks at random the standard backoff, whose window swings more, gets "
        "a little more of its mean, and the ratio is smaller (Dumas, Guillemin, Robert 2002)."
    )
    return [
        Table("equal-probability", "Rate over that of the standard", columns, rows, caption, facts)
    ]


def _with(value: Estimate, digits: int) -> str:
    if value.mean is None:
        return ""
    half = "" if value.half_width is None else f" \u00b1{value.half_width:.{digits}f}"
    return f"{value.mean:.{digits}f}{half}"


# --- convergence -------------------------------------------------------------------------------


def enter_blocks(points: Sequence[enter.Point], facts: Facts) -> list[Block]:
    """Time to a fair share."""
    out: list[Block] = []
    for cc, queue in dict.fromkeys((p.cc, p.queue) for p in points):
        own = [p for p in points if (p.cc, p.queue) == (cc, queue)]
        frame = pl.DataFrame(
            [
                {"beta": p.beta, "rtt": f"{p.rtt_ms:g} ms", **_band("seconds", p.seconds, 1)}
                for p in own
            ],
            infer_schema_length=None,
        )
        chart = panel(
            frame,
            Panel("seconds", "time to 0.95, s", "seconds_low", "seconds_high"),
            x="beta",
            x_title="beta after a mark, of both flows",
            series="rtt",
            series_title="round-trip time",
            order=[f"{rtt:g} ms" for rtt in sorted({p.rtt_ms for p in own})],
            x_ticks=sorted({p.beta for p in own}),
        )
        title = f"Two {layout.NAMES[cc]} flows on {layout.QUEUES[queue].title}"
        caption = (
            "Time from the entry of the second flow until Jain's index of what both have delivered "
            "since is 0.95; a run that does not get there counts with the 60 s that were left."
        )
        out.append(Figure(f"enter-{cc}-{queue}", title, chart, caption, facts))
        columns = [Column("RTT, ms"), *(Column(beta_text(cc, b)) for b in _betas(own))]
        known = {(p.rtt_ms, p.beta): p for p in own}
        rows: list[list[Value]] = []
        for rtt in sorted({p.rtt_ms for p in own}):
            cells = [known.get((rtt, b)) for b in _betas(own)]
            rows.append([f"{rtt:g}", *(None if p is None else _enter_text(p) for p in cells)])
        out.append(
            Table(
                f"enter-table-{cc}-{queue}",
                title,
                columns,
                rows,
                "Mean over seeds in seconds, its interval, and the share of runs that got there if "
                "not all did.",
            )
        )
    return out


def _betas(points: Iterable[Any]) -> list[float]:
    return sorted({p.beta for p in points})


def _enter_text(p: enter.Point) -> str:
    share = "" if p.reached == 1 else f" ({100 * p.reached:.0f} %)"
    return _with(p.seconds, 1) + share


# --- groups ------------------------------------------------------------------------------------


def group_blocks(points: Sequence[groups.Point], facts: Facts) -> list[Block]:
    """Ten against ten."""
    out: list[Block] = []
    frame = pl.DataFrame(
        [
            {"beta": p.beta, "case": p.case, **_band("ratio", p.ratio, 1)}
            for p in points
            if p.rtt_ms is None
        ],
        infer_schema_length=None,
    )
    order = list(dict.fromkeys(p.case for p in points))
    poster = pl.DataFrame(
        [
            {"beta": beta, "case": case, "ratio": ratio}
            for beta, ratio in groups.PUBLISHED.items()
            for case in order[:1]
        ]
    )
    chart = panel(
        frame,
        Panel(
            "ratio",
            "throughput ratio",
            "ratio_low",
            "ratio_high",
            published=poster,
            published_label="poster: 1.25 to 2",
            rules=[(1.25, "poster, beta 0.7"), (2.0, "poster, beta 0.85")],
            height=260,
        ),
        x="beta",
        x_title="beta after a mark, of the ten flows with ABE",
        series="case",
        series_title="",
        order=order,
        x_ticks=_betas(points),
    )
    caption = (
        "Mean throughput of ten flows with ABE over that of ten without, over all round-trip "
        "times. The poster says that the average is between 1.25 and 2 for 0.7 to 0.85."
    )
    out.append(Figure("ten-to-ten", "Ten against ten", chart, caption, facts))
    for case in order:
        own = [p for p in points if p.case == case]
        rtts: list[float | None] = [*sorted({p.rtt_ms for p in own if p.rtt_ms is not None}), None]
        columns = [
            Column("beta"),
            *(Column("all" if rtt is None else f"{rtt:g} ms") for rtt in rtts),
            Column("at equal p"),
        ]
        known = {(p.beta, p.rtt_ms): p for p in own}
        rows: list[list[Value]] = []
        for beta in _betas(own):
            row: list[Value] = [beta_text(own[0].abe, beta)]
            for rtt in rtts:
                p = known.get((beta, rtt))
                row.append(None if p is None else _with(p.ratio, 2))
            predicted = known[beta, None].predicted
            rows.append([*row, None if predicted is None else f"{predicted:.2f}"])
        out.append(
            Table(
                f"ten-to-ten-{own[0].abe}-{own[0].standard}",
                case,
                columns,
                rows,
                "Ratio by factor and round-trip time with 95 % intervals over seeds; on the right "
                "what two flows with the same mark probability would have.",
                facts,
            )
        )
    return out


# --- short flows -------------------------------------------------------------------------------


def short_blocks(found: truth.Found, facts: Facts) -> list[Block]:
    """Completion times and reductions."""
    out: list[Block] = []
    for cc, queue in dict.fromkeys((p.cc, p.queue) for p in found.sizes):
        own = [p for p in found.sizes if (p.cc, p.queue) == (cc, queue)]
        frame = pl.DataFrame(
            [
                {
                    "size": p.segments,
                    "beta": beta_text(cc, p.beta),
                    "completion": p.completion.mean,
                    "marked": 100 * len(p.unlucky) / max(1, len(p.flows)),
                }
                for p in own
            ],
            infer_schema_length=None,
        )
        chart = panels(
            frame,
            [
                Panel("completion", "completion, s"),
                Panel("marked", "flows with a mark, %", height=90),
            ],
            x="size",
            x_title="size, segments",
            series="beta",
            series_title="beta after a mark",
            order=[beta_text(cc, b) for b in _betas(own)],
            ordered=True,
            points=False,
        )
        title = f"{layout.NAMES[cc]} on {layout.QUEUES[queue].title}, 80 ms"
        caption = "Mean over seeds; below, the share of flows that met a mark before their end."
        out.append(Figure(f"short-{cc}-{queue}", title, chart, caption, facts))
        out.append(_luck(cc, queue, own))
    if found.steps:
        out.append(_reductions(found.steps, facts))
    return out


def _luck(cc: str, queue: str, points: Sequence[short.Point]) -> Table:
    """Flows that ended before the first mark, those just behind, and what ABE makes of them."""
    columns = [
        Column("size, segments", align="left"),
        Column("flows with a mark"),
        *(Column(beta_text(cc, b)) for b in _betas(points)),
    ]
    sizes = sorted({p.segments for p in points})
    known = {(p.segments, p.beta): p for p in points}
    standard = layout.STANDARD[cc]
    rows: list[list[Value]] = []
    step = max(1, len(sizes) // 10)
    for size in sizes[::step]:
        base = known[size, standard]
        row: list[Value] = [str(size), f"{len(base.unlucky)} of {len(base.flows)}"]
        for beta in _betas(points):
            p = known[size, beta]
            lucky, unlucky = _mean(p.lucky), _mean(p.unlucky)
            row.append(" / ".join("\u2013" if v is None else f"{v:.3f}" for v in (lucky, unlucky)))
        rows.append(row)
    return Table(
        f"luck-{cc}-{queue}",
        f"{layout.NAMES[cc]} on {layout.QUEUES[queue].title}: lucky / unlucky",
        columns,
        rows,
        "Mean completion in seconds of flows that ended before a mark fell (lucky), and of those "
        "that met one (unlucky).",
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _reductions(steps: Sequence[short.Steps], facts: Facts) -> Table:
    columns = [
        Column("", align="left"),
        Column("RTT, ms"),
        Column("beta"),
        Column("window over what is held"),
        Column("reductions"),
        Column("most"),
        Column("log_beta(0.5)"),
        Column("runs up to twice that, within"),
    ]
    rows: list[list[Value]] = []
    for s in steps:
        text = f"{s.within} of {s.bounded}"
        rows.append(
            [
                f"{layout.NAMES[s.cc]} on {layout.QUEUES[s.queue].title}",
                f"{s.rtt_ms:g}",
                beta_text(s.cc, s.beta),
                _with(s.overshoot, 2),
                _with(s.steps, 1),
                s.most,
                s.bound,
                (Mark(text, "pass" if s.within == s.bounded else "miss") if s.bounded else None),
            ]
        )
    caption = (
        "Reductions from the end of slow start until path and queue at its target hold the window. "
        "The bound log_beta(0.5), rounded up, is that of a window of twice that; where the queue "
        "lets the window grow further before it marks, it does not apply."
    )
    return Table("reductions", "Reductions after slow start", columns, rows, caption, facts)


# --- trade-off ---------------------------------------------------------------------------------

#: Columns of the view: field, title, what to show of a point.
COSTS: Sequence[tuple[str, str, Callable[[Choice], float | None]]] = (
    ("loss", "loss of a competitor, %", lambda p: 100 * p.loss),
    ("delay", "mean queue delay, ms", lambda p: p.delay_ms),
    ("convergence", "time to a fair share, s", lambda p: p.convergence_s.mean),
)


def choice_blocks(points: Sequence[Choice], facts: Facts) -> list[Block]:
    """Everything a factor does, on one page."""
    out: list[Block] = [Text(TRADE_OFF)]
    for cc in dict.fromkeys(p.cc for p in points):
        own = [p for p in points if p.cc == cc]
        out += [_choice_chart(cc, own, facts), _choice_table(cc, own, facts)]
    return out


def _choice_chart(cc: str, points: Sequence[Choice], facts: Facts) -> Figure:
    queues = [layout.QUEUES[q].title for q in dict.fromkeys(p.queue for p in points)]
    frame = pl.DataFrame(
        [
            {
                "queue": layout.QUEUES[p.queue].title,
                "beta": p.beta,
                "gain": 100 * p.gain,
                **{name: value(p) for name, _, value in COSTS},
                "front": "on it" if p.best else "off it",
                "label": f"{p.beta:g}" if p.beta in (layout.STANDARD[cc], 0.8, 0.9) else "",
            }
            for p in points
        ]
    )
    colour = alt.Color("queue:N", scale=colour_scale(queues), legend=alt.Legend(title=None))
    charts: list[Chart] = []
    for name, title, _ in COSTS:
        x = alt.X(f"{name}:Q", title=title, scale=alt.Scale(zero=False))
        y = alt.Y("gain:Q", title="gain alone, %" if not charts else None)
        base = alt.Chart(frame).encode(x=x, y=y)
        line = base.mark_line(strokeWidth=1, opacity=0.6).encode(color=colour, order="beta:Q")
        dots = base.mark_point(filled=False, size=45, opacity=1, strokeWidth=1.5).encode(
            color=colour,
            fill=alt.Fill("queue:N", scale=colour_scale(queues), legend=None),
            fillOpacity=alt.condition("datum.front == 'on it'", alt.value(1), alt.value(0)),
            tooltip=["queue:N", "beta:Q", "gain:Q", *(f"{n}:Q" for n, _, _ in COSTS), "front:N"],
        )
        text = base.mark_text(dy=-8, fontSize=9).encode(text="label:N", color=colour)
        charts.append(alt.layer(line, dots, text).properties(width=215, height=260))
    chart = alt.hconcat(*charts, spacing=14)
    title = f"{layout.NAMES[cc]}: gain against each cost"
    caption = (
        f"A line for each queue, from beta {layout.STANDARD[cc]:g} (gain 0) up; some factors stand "
        "beside their points. Filled: on the Pareto front of gain, loss, delay and convergence in "
        "that queue; hollow: another factor is as good in all of them and better in one. Less than "
        "1 point of gain, 2 of loss, 1 ms and 1 s count for nothing."
    )
    return Figure(f"trade-off-{cc}", title, chart, caption, facts)


def _choice_table(cc: str, points: Sequence[Choice], facts: Facts) -> Table:
    columns = [
        Column("queue", align="left"),
        Column("beta"),
        Column("gain"),
        Column("competitor's loss"),
        Column("queue delay, ms"),
        Column("99th percentile"),
        Column("convergence, s"),
        Column("Pareto front", align="left"),
    ]
    rows: list[list[Value]] = [
        [
            layout.QUEUES[p.queue].title,
            beta_text(cc, p.beta),
            f"{100 * p.gain:+.1f} %",
            f"{100 * p.loss:+.1f} %",
            f"{p.delay_ms:.2f}",
            f"{p.delay_p99_ms:.1f}",
            _with(p.convergence_s, 1),
            "on it" if p.best else "",
        ]
        for p in points
    ]
    return Table(f"trade-off-table-{cc}", layout.NAMES[cc], columns, rows, "", facts)


TRADE_OFF = """
At 10 Mbit/s and 80 ms: **gain** is what a flow with ABE gets alone over the standard backoff, with
its **queue delay**; **loss** is what a flow without ABE loses beside it, of what it has beside its
like; **convergence** is experiment 5 with both flows gentler. In a queue of its own (FQ-CoDel,
Cake) a competitor loses only what the other no longer leaves unused. Through DualPI2 such flows
pass the classic queue.
"""
