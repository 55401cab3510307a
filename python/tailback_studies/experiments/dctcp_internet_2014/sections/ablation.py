"""Additional section: the effect of each setting that the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from tailback.metrics.crossing import crossing
from tailback.metrics.statistics import estimate
from tailback.report import Column, Section, Table, Value
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014 import table1
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder
from tailback_studies.experiments.dctcp_internet_2014.options import OPTIONS

ABLATION_ROWS = {"step-0.125": "M = 1/8", "step-1": "M = 1", "slope-0.5": "slope"}


QUANTITIES = ("share", "utilisation", "queue")


def ablation(builder: Builder) -> Section | None:
    """Show the effect of each setting that the paper leaves open."""
    base = {
        row: ablation_row(builder.measured.frames.get(f"ablation/baseline/{row}"), row)
        for row in ABLATION_ROWS
    }
    if all(v is None for v in base.values()):
        return None
    rows: list[list[Value]] = [["as in the figures", *baseline_cells(base)]]
    used = [f"ablation/baseline/{row}" for row in ABLATION_ROWS]
    for option in OPTIONS:
        cells: list[Value] = []
        for row in ABLATION_ROWS:
            name = f"ablation/{option.id}/{row}"
            used.append(name)
            cells += difference_cells(
                base[row], ablation_row(builder.measured.frames.get(name), row)
            )
        rows.append([option.title, *cells])
    columns = [Column("option", align="left", words=True)]
    for title in ABLATION_ROWS.values():
        columns += [
            Column("equal share", unit=title, words=True),
            Column("utilisation", unit=title, words=True),
            Column("queue", unit=f"{title}, BDP", words=True),
        ]
    table = Table(
        "ablation-table",
        "What each option changes",
        columns,
        rows,
        "The first row has the values with the options of this report. The other rows have the "
        "difference that one option alone makes. Equal share is K/M for the two rows of Table I "
        "and Max_Prob_DCTCP for the slope with Min_Thresh_DCTCP = BDP/2 (formula (3): 0.2). "
        "**Bold**: the 95 % interval of the difference, paired by seed, does not contain 0; with "
        "so many options, some are bold by chance alone. \u2014: no equal share within the range "
        "searched, or the option does not apply.",
        builder.facts(*used),
    )
    return Section("ablation", "Beyond the paper: what the open options change", [table])


def ablation_row(frame: pl.DataFrame | None, row: str) -> list[dict[str, float]] | None:
    """Return for each seed the parameter at which both flows have equal rates, with the utilisation
    and queue at this parameter."""
    if frame is None:
        return None
    if row == "slope-0.5":
        ready = frame.with_columns(pl.col(f"p:{pts.ECN}.probability").cast(pl.Float64).alias("x"))
        falling = False
    else:
        m = float(row.removeprefix("step-"))
        ready = table1.with_k(frame).with_columns((pl.col("k") / (m * pts.BDP)).alias("x"))
        falling = True
    out: list[dict[str, float]] = []
    for (seed,), group in ready.group_by("seed", maintain_order=True):
        ordered = group.sort("x")
        ratios = ordered["ratio"].to_list()
        if any(r is None for r in ratios):
            continue
        where = crossing(ordered["x"].to_list(), pts.logs(ratios), falling=falling)
        if where is None:
            continue
        out.append(
            {
                "seed": float(seed),
                "share": where.x,
                "utilisation": where.at(ordered["utilisation"].to_list()),
                "queue": where.at(ordered["occupancy_bytes"].to_list()) / pts.BDP,
            }
        )
    return out


def baseline_cells(base: Mapping[str, list[dict[str, float]] | None]) -> list[Value]:
    """Return the table row of the chosen combination of settings."""
    out: list[Value] = []
    for row in ABLATION_ROWS:
        found = base[row]
        for name in QUANTITIES:
            mean = estimate(one[name] for one in found or ()).mean
            out.append(None if mean is None else f"{mean:.3f}")
    return out


def difference_cells(
    base: list[dict[str, float]] | None, tried: list[dict[str, float]] | None
) -> list[Value]:
    """Return the differences from the results of the chosen combination of settings, seed by
    seed."""
    if not base or not tried:
        return [None] * len(QUANTITIES)
    by_seed = {one["seed"]: one for one in base}
    pairs = [(by_seed[one["seed"]], one) for one in tried if one["seed"] in by_seed]
    out: list[Value] = []
    for name in QUANTITIES:
        gap = estimate(b[name] - a[name] for a, b in pairs)
        if gap.mean is None:
            out.append(None)
            continue
        text = "0" if gap.ci95 is None and gap.mean == 0 else f"{gap.mean:+.3f}"
        sure = gap.ci95 is not None and not gap.ci95[0] <= 0 <= gap.ci95[1]
        out.append(f"**{text}**" if sure else text)
    return out
