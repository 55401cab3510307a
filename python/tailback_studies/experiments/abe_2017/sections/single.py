"""Section: utilisation, delay and gain of a single flow, for each queue."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.figures import LinePanel, cdf, cumulative, panels
from tailback.report import Block, Facts, ReportFigure, Table, Value
from tailback.report.tables import right
from tailback_studies.experiments.abe_2017 import layout, single
from tailback_studies.experiments.abe_2017.sections.words import band, beta_text

# Round-trip time (in ms) of the drawn distributions.
SHOWN_RTT = 80.0


def blocks(points: Sequence[single.SinglePoint], facts: Facts) -> list[Block]:
    """For each queue, draw curves and distributions, and make a table."""
    out: list[Block] = []
    for setup in dict.fromkeys(p.setup for p in points):
        subset = [p for p in points if p.setup == setup]
        drawn = [p for p in subset if p.beta in layout.DRAWN[setup.cc]]
        out += [
            _curves(setup, drawn, facts),
            _distribution(setup, drawn, facts),
            _gains(setup, subset),
        ]
    return out


def _curves(
    setup: single.AbeSetup, points: Sequence[single.SinglePoint], facts: Facts
) -> ReportFigure:
    frame = pl.DataFrame(
        [
            {
                "rtt": p.rtt_ms,
                "beta": beta_text(setup.cc, p.beta),
                **band("gain", p.gain, 100, -1),
                **band("utilisation", p.utilisation, 100),
                "delay": p.delay["p50"],
            }
            for p in points
        ],
        infer_schema_length=None,
    )
    theory = pl.DataFrame(
        [
            {"rtt": p.rtt_ms, "beta": beta_text(setup.cc, p.beta), "utilisation": 100 * p.predicted}
            for p in points
            if p.predicted is not None
        ]
    )
    chart = panels(
        frame,
        [
            LinePanel.band("gain", "throughput gain, %", rules=[(0.0, "")]),
            LinePanel.band(
                "utilisation", "utilisation, %", published=theory, published_label="formula"
            ),
            LinePanel("delay", "median queue delay, ms", height=130),
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
        "The figure shows the gain in throughput over a run with beta = "
        f"{layout.STANDARD[setup.cc]:g} and the same seed. "
        "Hollow marks show the utilisation that the formula predicts from the windows measured at "
        "reductions. Bands show 95 % intervals over the seeds."
    )
    title = f"{setup.title}, {setup.rate_mbit:g} Mbit/s"
    return ReportFigure(f"{setup.part}-{setup.id}", title, chart, caption, facts)


def _distribution(
    setup: single.AbeSetup, points: Sequence[single.SinglePoint], facts: Facts
) -> ReportFigure:
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
        shown, x_title="queue delay, ms", series_title="beta after a mark", ordered=True, height=180
    )
    return ReportFigure(
        f"delay-{setup.part}-{setup.id}",
        f"{setup.title}: queue delay of packets at {rtt:g} ms",
        chart,
        "All seeds together, after the warm-up.",
        facts,
    )


def _gains(setup: single.AbeSetup, points: Sequence[single.SinglePoint]) -> Table:
    betas = sorted({p.beta for p in points})
    columns = right("RTT, ms", *(beta_text(setup.cc, b) for b in betas))
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


def _gain_text(p: single.SinglePoint) -> str:
    use = "" if p.utilisation.mean is None else f"{100 * p.utilisation.mean:.1f} %"
    delay = " / ".join("" if v is None else f"{v:.1f}" for v in (p.delay["p50"], p.delay["p99"]))
    gain = "" if p.gain.mean is None else f"{100 * (p.gain.mean - 1):+.1f} %; "
    return f"{gain}{use}; {delay}"
