"""Figures 5 and 6: results with a step threshold."""

from __future__ import annotations

from typing import Any

import polars as pl

from tailback.figures import LinePanel, panels
from tailback.report import Section
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014 import table1
from tailback_studies.experiments.dctcp_internet_2014.builder import (
    OCCUPANCY,
    RATIO,
    UTILISATION,
    Builder,
    drawn,
)
from tailback_studies.experiments.dctcp_internet_2014.charts import staircase_rows
from tailback_studies.experiments.dctcp_internet_2014.words import m_name

STEP_X = "K / Min_Thresh_Reno"


def fig5(builder: Builder) -> Section | None:
    """Show the staircases."""
    staircases: list[pl.DataFrame] = []
    names: list[str] = []
    for tag, m in pts.ROWS:
        frame = builder.measured.frames.get(f"step-{tag}")
        if frame is None:
            continue
        name = m_name(m)
        names.append(name)
        means = pts.aggregate(table1.with_k(frame), ["k"]).with_columns(pl.lit(name).alias("M"))
        staircases.append(staircase_rows(means, m))
    if not staircases:
        return None
    frame = pl.concat(staircases, how="diagonal_relaxed")
    equal = [
        {
            "M": m_name(row.m),
            "x": row.k_over_m,
            "utilisation": row.utilisation,
            "occupancy": row.occupancy,
            "ratio": 1.0,
        }
        for row in builder.published
    ]
    ours = pl.DataFrame([e for e in equal if e["M"] in names])
    common: dict[str, Any] = {
        "x": "x",
        "x_title": STEP_X,
        "series": "M",
        "series_title": "Min_Thresh_Reno",
        "order": names,
        "ordered": True,
        "x_domain": (1.0, 3.0),
        "interpolate": "step-after",
        "points": False,
    }
    chart = panels(
        frame,
        [
            LinePanel.band(
                "ratio", RATIO, scale="log", rules=[(1.0, "equal")], published=ours, height=230
            ),
            LinePanel.band("utilisation", UTILISATION, published=ours, domain=(0.9, 1.0)),
            LinePanel.band("occupancy", OCCUPANCY, published=ours),
        ],
        **common,
    )
    caption = (
        "Each curve is for one value of Min_Thresh_Reno, the lower threshold of RED for Reno. All "
        "frames have a size of 1500 B, so only the number of whole frames in the threshold K "
        "matters. Therefore every curve has steps. The bands are 95 % intervals over the seeds. "
        "Open symbols show the values of K from Table I of the paper, at which both flows have "
        "equal throughput."
    )
    batches = [f"step-{tag}" for tag, _ in pts.ROWS]
    return drawn(
        "fig5",
        "Figure 5: step threshold",
        "Throughput ratio, utilisation and queue against the step threshold K",
        chart,
        caption,
        builder.facts(*batches),
    )


def fig6(builder: Builder) -> Section | None:
    """Show runs with different numbers of DCTCP flows."""
    frame = builder.measured.frames.get("fig6")
    if frame is None:
        return None
    m = 0.125
    frame = table1.with_k(frame).with_columns(
        pl.col("p:flows.dctcp.count").cast(pl.Int64).alias("count")
    )
    counts = sorted(frame["count"].unique())
    names = [f"N = {c}" for c in counts]
    staircases = []
    for count, name in zip(counts, names, strict=True):
        means = pts.aggregate(frame.filter(pl.col("count") == count), ["k"])
        staircases.append(staircase_rows(means.with_columns(pl.lit(name).alias("flows")), m))
    chart = panels(
        pl.concat(staircases, how="diagonal_relaxed"),
        [
            LinePanel.band(
                "ratio", "Reno / mean DCTCP", scale="log", rules=[(1.0, "equal")], height=220
            ),
            LinePanel.band("utilisation", UTILISATION),
            LinePanel.band("occupancy", OCCUPANCY),
        ],
        x="x",
        x_title=STEP_X,
        series="flows",
        series_title="DCTCP flows",
        order=names,
        ordered=True,
        x_domain=(1.0, 3.0),
        interpolate="step-after",
        points=False,
    )
    crossings = []
    for count in counts:
        share = pts.equal_share(
            frame.filter(pl.col("count") == count).with_columns(
                (pl.col("k") / (m * pts.BDP)).alias("x")
            ),
            "x",
            falling=True,
        )
        crossings.append(
            f"N = {count}: {share.x:.2f}" if share else f"N = {count}: none in this range"
        )
    caption = (
        "One Reno and N DCTCP flows, Min_Thresh_Reno = BDP/8. The ratio is Reno's throughput over "
        f"the mean of the DCTCP flows'. Equal sharing at K/M: {', '.join(crossings)}."
    )
    return drawn(
        "fig6",
        "Figure 6: one Reno and several DCTCP flows",
        "The step threshold with N DCTCP flows",
        chart,
        caption,
        builder.facts("fig6"),
    )
