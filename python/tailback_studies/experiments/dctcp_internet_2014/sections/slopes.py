"""Figures 7 to 9: rate ratio, queue and fairness if Reno and DCTCP each have a RED slope.

Formula (3) is shown together with the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tailback.figures import LinePanel, heatmap, panels
from tailback.report import Column, Mark, ReportFigure, Section, Status, Table, TableCell, Value
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014.builder import (
    OCCUPANCY,
    RATIO,
    Builder,
    drawn,
)
from tailback_studies.experiments.dctcp_internet_2014.charts import formula_curve, ridge_chart
from tailback_studies.experiments.dctcp_internet_2014.words import nearest, sixteenths, spread


def slopes(builder: Builder) -> pl.DataFrame | None:
    """Return the runs with all combinations of Min_Thresh_DCTCP (column min, in BDP) and
    Max_Prob_DCTCP (column prob)."""
    frame = builder.measured.frames.get("slope")
    if frame is None:
        return None
    return frame.with_columns(
        pl.col(f"p:{pts.ECN}.min").map_elements(sixteenths, return_dtype=pl.Float64).alias("min"),
        pl.col(f"p:{pts.ECN}.probability").cast(pl.Float64).alias("prob"),
    )


def fig7(builder: Builder) -> Section | None:
    """Plot the ratio of the flows' rates and the queue against Max_Prob_DCTCP."""
    frame = slopes(builder)
    if frame is None:
        return None
    grid = sorted(frame["min"].unique())
    chosen = [nearest(grid, want) for want in (0.125, 0.25, 0.5, 0.75, 1.0)]
    chosen = list(dict.fromkeys(chosen))
    names = [f"{v:g} BDP" for v in chosen]
    means = pl.concat(
        [
            pts.aggregate(frame.filter(pl.col("min") == v), ["prob"]).with_columns(
                pl.lit(name).alias("Min_Thresh_DCTCP")
            )
            for v, name in zip(chosen, names, strict=True)
        ],
        how="diagonal_relaxed",
    )
    chart = panels(
        means,
        [
            LinePanel.band("ratio", RATIO, scale="log", rules=[(1.0, "equal")], height=240),
            LinePanel.band("occupancy", OCCUPANCY),
        ],
        x="prob",
        x_title="Max_Prob_DCTCP",
        series="Min_Thresh_DCTCP",
        series_title="Min_Thresh_DCTCP",
        order=names,
        ordered=True,
        x_domain=(0.0, 1.0),
    )
    caption = (
        "Both sides are slopes 2 BDP wide; Min_Thresh_Reno = BDP, Max_Prob_Reno = 0.1, w = 0.002 "
        "on both averages. Bands: 95 % intervals over seeds."
    )
    top = frame.filter((pl.col("min") - 1.0).abs() < 1e-6)
    if top.height:
        ratios = pts.aggregate(top, ["prob"])["ratio"].to_list()
        builder.claim(
            "No equal share is reached at Min_Thresh_DCTCP = BDP.",
            f"Reno/DCTCP is {min(ratios):.2f} to {max(ratios):.2f} for Max_Prob_DCTCP up to 1",
            "below 1",
            max(ratios) < 1,
        )
    return drawn(
        "fig7",
        "Figure 7: slope for DCTCP",
        "Throughput ratio and queue over Max_Prob_DCTCP",
        chart,
        caption,
        builder.facts("slope"),
    )


def fig8(builder: Builder) -> Section | None:
    """Plot Jain's index against Min_Thresh_DCTCP and Max_Prob_DCTCP."""
    frame = slopes(builder)
    if frame is None:
        return None
    means = pts.aggregate(frame, ["min", "prob"])
    curve = formula_curve(0.0, float(max(frame["min"])))
    chart = heatmap(
        means.select("min", "prob", "jain"),
        x="min",
        y="prob",
        value="jain",
        x_title="Min_Thresh_DCTCP in BDP",
        y_title="Max_Prob_DCTCP",
        value_title="Jain's index",
        domain=(0.5, 1.0),
        overlays=[("formula (3)", curve)],
    )
    caption = (
        "Jain's index of the two throughputs, mean over seeds: 1 is equal sharing, 0.5 is one flow "
        "alone. The line is formula (3), Min_Thresh_DCTCP/Min_Thresh_Reno = (r \u2212 1)/r with r "
        "= Max_Prob_DCTCP/Max_Prob_Reno. A cell of the figure extends half-way to its neighbours."
    )
    return drawn(
        "fig8",
        "Figure 8: Jain's index over the DCTCP slope",
        "Jain's index over Min_Thresh_DCTCP and Max_Prob_DCTCP",
        chart,
        caption,
        builder.facts("slope"),
    )


def fig9(builder: Builder) -> Section | None:
    """Plot the parameters at which both flows get equal rates, together with formula (3)."""
    frame = slopes(builder)
    along = builder.measured.frames.get("formula3")
    if frame is None or along is None:
        return None
    jains = pts.aggregate(
        along.with_columns(
            pl.col(f"p:{pts.ECN}.min")
            .map_elements(sixteenths, return_dtype=pl.Float64)
            .alias("min")
        ),
        ["min"],
    )
    by_min = {row["min"]: row for row in jains.to_dicts()}
    ridge: list[dict[str, Any]] = []
    rows: list[list[Value]] = []
    for value in sorted({*frame["min"].unique(), *by_min}):
        if value >= 1.0:
            continue
        equal = _equal_share(builder, frame.filter(pl.col("min") == value), value)
        if equal.point is not None:
            ridge.append(equal.point)
        rows.append([value, *equal.columns, *_on_formula(builder, by_min.get(value), value)])
    worst = min((r["jain"] for v, r in by_min.items() if v <= 0.5), default=None)
    if worst is not None:
        builder.claim(
            "Formula (3) gives equal sharing (Jain's index at least 0.99 on it for "
            "Min_Thresh_DCTCP up to BDP/2).",
            f"the smallest value is {worst:.4f}",
            "at least 0.99",
            worst >= 0.99,
        )
    return Section(
        "fig9",
        "Figure 9: the ridge and formula (3)",
        [
            ReportFigure(
                "fig9",
                "Parameters of equal sharing",
                ridge_chart(ridge),
                RIDGE_CAPTION,
                builder.facts("slope"),
            ),
            Table(
                "fig9-table",
                "Equal sharing on slopes against formula (3)",
                [
                    Column("Min_Thresh_DCTCP", ".4g", unit="BDP"),
                    Column("Max_Prob_DCTCP", ".3f", unit="formula (3)"),
                    Column("Max_Prob_DCTCP", ".3f", unit="measured, equal share"),
                    Column("\u00b1", unit="95 %"),
                    Column("Reno/DCTCP", ".2f", unit="on formula (3)"),
                    Column("Jain's index", unit="on formula (3)"),
                    Column("\u00b1", unit="95 %"),
                ],
                rows,
                "The verdict (at least 0.99) is for Min_Thresh_DCTCP up to BDP/2. Equal share "
                "is interpolated on the grid of Figure 8; "
                "the index on the formula comes from runs with exactly its Max_Prob_DCTCP.",
                builder.facts("formula3"),
            ),
        ],
    )


@dataclass(frozen=True)
class RidgePoint:
    """For one Min_Thresh_DCTCP, the parameters at which both flows get the same rate."""

    point: dict[str, Any] | None
    """Point of the ridge in the figure: Max_Prob divided by Reno's Max_Prob, and 1 divided by
    Min_Thresh in BDP."""
    columns: list[Value]
    """Max_Prob_DCTCP that formula (3) predicts, the measured value, and half of the interval of the
    measured value."""


def _equal_share(builder: Builder, runs: pl.DataFrame, min_thresh: float) -> RidgePoint:
    predicted = pts.formula3(min_thresh)
    crossing = (
        pts.equal_share(runs.with_columns(pl.col("prob").log().alias("x")), "x", falling=False)
        if runs.height
        else None
    )
    measured = half = point = None
    if crossing:
        measured = math.exp(crossing.x)
        # The confidence interval is symmetric in the logarithm, so its upper half is longer.
        half = measured * math.expm1(crossing.ci95) if crossing.ci95 else None
        point = {
            "x": measured / 0.1,
            "y": 1 / min_thresh,
            "low": (measured - half) / 0.1 if half else None,
            "high": (measured + half) / 0.1 if half else None,
        }
    if runs.height and predicted <= 1:
        builder.cells.append(
            TableCell(
                f"Figure 9/Min_Thresh_DCTCP={min_thresh:g} BDP/Max_Prob_DCTCP of equal sharing",
                "max_prob_equal_share",
                "1",
                predicted,
                measured,
                crossing.n if crossing else 0,
                half,
                None,
                "published: formula (3)",
            )
        )
    formula = predicted if predicted <= 1 else None
    return RidgePoint(point, [formula, measured, spread(half, ".3f")])


def _on_formula(builder: Builder, row: Mapping[str, Any] | None, min_thresh: float) -> list[Value]:
    """Return rate ratio, Jain's index and the half-width of its confidence interval for runs whose
    parameters follow formula (3)."""
    if row is None:
        return [None, None, None]
    builder.cells.append(
        TableCell(
            f"Figure 9/Min_Thresh_DCTCP={min_thresh:g} BDP/Jain on formula (3)",
            "jain_formula_3",
            "1",
            None,
            row["jain"],
            row["n"],
            pts.half(row, "jain"),
        )
    )
    verdict: Status = "pass" if row["jain"] >= 0.99 else "miss"
    mark = Mark(f"{row['jain']:.4f}", verdict if min_thresh <= 0.5 else "info")
    return [row["ratio"], mark, spread(pts.half(row, "jain"), ".4f")]


RIDGE_CAPTION = (
    "Dots: the Max_Prob_DCTCP at which both flows get the same rate, for each Min_Thresh_DCTCP, "
    "with the 95 % interval over seeds. The dashed curve is computed for the paper's BDP of 20.83 "
    "packets, with W_DCTCP = 1/p, W_Reno = 0.87/\u221ap (delayed ACKs slow growth to half a "
    "packet per RTT), and marks with the probability of the slope. Uniformised RED marks twice as "
    "often, 2 p/(1 + p), and growth of a whole packet needs twice the probability. The two "
    "factors cancel, so equal sharing follows the formula with both of them or with neither."
)
