"""Compares Table I with the measured values. Defines the tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from tailback.report import TableCell
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.reproduction.sources import published_rows


@dataclass(frozen=True)
class Table1Row:
    """A row of Table I as published."""

    # Min_Thresh_Reno / BDP.
    m: float
    k_over_m: float
    utilisation: float
    # Mean queue, in BDP.
    occupancy: float
    two_reno_utilisation: float
    two_reno_occupancy: float


def published() -> list[Table1Row]:
    rows = published_rows(__package__, "table1.csv")
    return [Table1Row(*(float(value) for value in row.values())) for row in rows]


def with_k(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the column `k`, which contains the step threshold in bytes."""
    key = pl.col(f"p:{pts.ECN}.min").map_elements(pts.bdp_size, return_dtype=pl.Float64)
    return frame.with_columns((key * pts.BDP).round(3).alias("k"))


def share(frame: pl.DataFrame, m: float) -> pts.EqualShare | None:
    """Return the K/M at which the Reno flow and the DCTCP flow have equal rates, for one M."""
    ready = with_k(frame).with_columns((pl.col("k") / (m * pts.BDP)).alias("x"))
    return pts.equal_share(ready, "x", falling=True)


def step_cells(row: Table1Row, equal_share: pts.EqualShare | None) -> list[TableCell]:
    """Find the K for which Reno and DCTCP have equal rates.

    Return K/M, utilisation and queue at this K with the published values.

    Tolerances: 0.1 or one frame for K/M, 0.01 for utilisation, and 0.02 BDP or 8 % for the queue.
    If a value has two tolerances, the larger tolerance applies. The tolerance of K is at least one
    frame, because the queue holds whole frames."""
    head = f"Table I/M={row.m:g}"
    n = equal_share.n if equal_share else 0
    return [
        TableCell(
            f"{head}/K over M",
            "k_over_m",
            "1",
            row.k_over_m,
            equal_share.x if equal_share else None,
            n,
            equal_share.ci95 if equal_share else None,
            max(0.1, pts.FRAME / (row.m * pts.BDP)),
        ),
        TableCell(
            f"{head}/Reno and DCTCP/utilisation",
            "utilisation",
            "1",
            row.utilisation,
            equal_share.utilisation if equal_share else None,
            n,
            equal_share.utilisation_ci95 if equal_share else None,
            0.01,
        ),
        TableCell(
            f"{head}/Reno and DCTCP/occupancy",
            "occupancy_bdp",
            "BDP",
            row.occupancy,
            equal_share.occupancy if equal_share else None,
            n,
            equal_share.occupancy_ci95 if equal_share else None,
            max(0.02, 0.08 * row.occupancy),
        ),
    ]


def two_reno_cells(row: Table1Row, frame: pl.DataFrame) -> list[TableCell]:
    """Return the utilisation and queue of two Reno flows with the published values."""
    head = f"Table I/M={row.m:g}"
    size = pl.col(f"p:{pts.CLASSIC}.min").map_elements(pts.bdp_size, return_dtype=pl.Float64)
    runs = frame.filter((size - row.m).abs() < 1e-3)
    means = pts.aggregate(runs.with_columns(pl.lit(row.m).alias("m")), ["m"]).to_dicts()
    mean: Mapping[str, float | None] = means[0] if means else {}
    return [
        TableCell(
            f"{head}/two Reno/utilisation",
            "two_reno_utilisation",
            "1",
            row.two_reno_utilisation,
            mean.get("utilisation"),
            runs.height,
            pts.half(mean, "utilisation"),
            0.01,
        ),
        TableCell(
            f"{head}/two Reno/occupancy",
            "two_reno_occupancy_bdp",
            "BDP",
            row.two_reno_occupancy,
            mean.get("occupancy"),
            runs.height,
            pts.half(mean, "occupancy"),
            max(0.02, 0.08 * row.two_reno_occupancy),
        ),
    ]


def cells(frames: Mapping[str, pl.DataFrame], prefix: str = "") -> list[TableCell]:
    """Return all numbers of Table I, computed from the batches `<prefix>step-<M>` and
    `<prefix>two-reno`."""
    out: list[TableCell] = []
    two = frames.get(f"{prefix}two-reno")
    for (tag, _), row in zip(pts.ROWS, published(), strict=True):
        steps = frames.get(f"{prefix}step-{tag}")
        out += step_cells(row, None if steps is None else share(steps, row.m))
        if two is not None:
            out += two_reno_cells(row, two)
    return out
