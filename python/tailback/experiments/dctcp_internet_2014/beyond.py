"""Beyond the paper: readings of its open options, other BDPs, what each option changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from tailback.experiments.dctcp_internet_2014 import points as pts
from tailback.experiments.dctcp_internet_2014 import table1
from tailback.experiments.dctcp_internet_2014.options import BASES, DECLARED, OPTIONS, READINGS
from tailback.experiments.dctcp_internet_2014.words import (
    rate,
)
from tailback.figures import Panel, panels
from tailback.metrics.crossing import crossing
from tailback.metrics.statistics import estimate
from tailback.report import Cell, Column, Figure, Mark, Section, Table, Text, Value

if TYPE_CHECKING:
    from tailback.experiments.dctcp_internet_2014.figures import Builder

ABLATION_ROWS = {"step-0.125": "M = 1/8", "step-1": "M = 1", "slope-0.5": "slope"}
QUANTITIES = ("share", "utilisation", "queue")


def readings(builder: Builder) -> Section | None:
    """Which combinations of the open options agree with everything published."""
    rows: list[list[Value]] = []
    used: list[str] = []
    for name, title, _, _ in READINGS:
        prefix = f"readings/{name}/"
        along = builder.measured.frames.get(f"{prefix}formula3")
        if along is None:
            continue
        used += [b for b in builder.measured.frames if b.startswith(prefix)]
        cells = table1.cells(builder.measured.frames, prefix)
        k, u, q = (
            [c.status == "pass" for c in cells if c.quantity in kind]
            for kind in (
                ("k_over_m",),
                ("utilisation", "two_reno_utilisation"),
                ("occupancy_bdp", "two_reno_occupancy_bdp"),
            )
        )
        on_formula = pts.aggregate(along, [f"p:{pts.ECN}.min"])
        jains, ratio = on_formula["jain"].to_list(), on_formula["ratio"].to_list()
        worst = min(jains)
        good = sum(k) + sum(u) + sum(q)
        total = len(k) + len(u) + len(q)
        measured = [c.measured for c in cells if c.quantity == "k_over_m"]
        rows.append(
            [
                title,
                Mark(f"{good} of {total}", "pass" if good == total else "miss"),
                f"{sum(k)} of {len(k)}",
                ", ".join("\u2014" if v is None else f"{v:.2f}" for v in measured),
                f"{sum(u)} of {len(u)}",
                f"{sum(q)} of {len(q)}",
                Mark(f"{worst:.3f}", "pass" if worst >= 0.99 else "miss"),
                f"{min(ratio):.2f} to {max(ratio):.2f}",
            ]
        )
    if not rows:
        return None
    text = (
        "The paper leaves open how its queue counts, and its numbers say more than its text. "
        "Each row below is one combination of the open options, "
        "run against all of Table I and against formula (3) at three thresholds. What is "
        "changed is named; everything else is as in this report's figures.\n\n"
        "Two things follow. Utilisation and queue at small thresholds depend on how fast RED's "
        "average forgets while the queue is empty: with Linux's clock, one step for each packet of "
        "1000 B that could have been sent, the average stays high over the gaps, Reno is dropped "
        "too early, and the rows of Table I at 1/8 and 1/4 BDP are out of reach. And formula (3) "
        "needs growth and marking that match: half a packet per RTT (delayed ACKs, counted as "
        "Linux 3.2 does) with marks at the slope's own probability, or a whole packet with "
        "uniformised RED, which marks twice as often. The second pair is not the kernel that the "
        "paper ran, and its queues are longer than those of Table I.\n\n"
        "The first row was chosen **after** seeing these numbers. It is an inference about "
        "the paper's set-up, not a prediction."
    )
    table = Table(
        "readings-table",
        "Agreement of each reading with the published numbers",
        [
            Column("changed", align="left", words=True),
            Column("Table I", unit="in agreement"),
            Column("K/M"),
            Column("K/M", unit="M = 1/8, 1/4, 1/2, 1/\u221a2, 1"),
            Column("utilisation"),
            Column("queue"),
            Column("formula (3)", unit="smallest Jain's index"),
            Column("Reno/DCTCP", unit="on formula (3)"),
        ],
        rows,
        "Tolerances as in Table I above. Published K/M: "
        + ", ".join(f"{row.k_over_m:g}" for row in builder.published)
        + ". Runs are shorter and thresholds coarser than in the figures.",
        builder.facts(*used),
    )
    return Section("readings", "Which reading of the paper fits", [Text(text), table])


def bdp(builder: Builder) -> Section | None:
    """Formula (3) at other BDPs."""
    frame = builder.measured.frames.get("bdp")
    if frame is None:
        return None
    size = pl.col("p:bottleneck.rate").map_elements(rate, return_dtype=pl.Float64) * 0.025 / 8
    frame = frame.with_columns(
        (size / pts.FRAME).alias("bdp_packets"),
        (pl.col(f"p:{pts.ECN}.probability").cast(pl.Float64)).alias("prob"),
    ).with_columns(((1 - 0.1 / pl.col("prob")) * 8).round(0).truediv(8).alias("min"))
    mins = sorted(frame["min"].unique())
    names = {v: f"{v:g} (r = {1 / (1 - v):.3g})" for v in mins}
    means = pl.concat(
        [
            pts.aggregate(frame.filter(pl.col("min") == v), ["bdp_packets"]).with_columns(
                pl.lit(names[v]).alias("min")
            )
            for v in mins
        ],
        how="diagonal_relaxed",
    )
    chart = panels(
        means,
        [
            Panel(
                "jain",
                "Jain's index",
                "jain_low",
                "jain_high",
                domain=(0.5, 1.0),
                rules=[(0.99, "0.99")],
            ),
            Panel(
                "ratio",
                "throughput Reno / DCTCP",
                "ratio_low",
                "ratio_high",
                scale="log",
                rules=[(1.0, "equal")],
            ),
        ],
        x="bdp_packets",
        x_title="BDP in packets of 1500 B",
        series="min",
        series_title="Min_DCTCP/Min_Reno",
        order=list(names.values()),
        ordered=True,
        x_scale="log",
        x_ticks=sorted(means["bdp_packets"].unique()),
    )
    held = (
        means.group_by("bdp_packets", maintain_order=True)
        .agg(pl.col("jain").min())
        .filter(pl.col("jain") >= 0.99)
    )
    sizes = sorted(held["bdp_packets"].to_list())
    if len(sizes) > 1:
        where = f"from {sizes[0]:.0f} to {sizes[-1]:.0f} packets of BDP"
    else:
        where = f"only at {sizes[0]:.0f} packets of BDP" if sizes else "nowhere"
    says = f"Jain's index is at least 0.99 for all three thresholds {where}"
    caption = (
        f"The paper has one BDP, 20.83 packets. Thresholds follow the BDP, the probabilities "
        f"are formula (3)'s. {says}. The reason: DCTCP's window "
        "goes with 1/p, Reno's with 1/\u221ap, so the ratio of probabilities that gives equal "
        "windows grows with the window, and the formula has no window in it."
    )
    for row in means.iter_rows(named=True):
        builder.cells.append(
            Cell(
                f"BDP sweep/BDP={row['bdp_packets']:.4g} packets/Min_DCTCP over "
                f"Min_Reno={row['min'].split()[0]}/Jain",
                "jain_bdp_sweep",
                "1",
                None,
                row["jain"],
                row["n"],
                pts.half(row, "jain"),
            )
        )
    return Section(
        "bdp",
        "Beyond the paper: formula (3) at other BDPs",
        [
            Figure(
                "bdp",
                "Equal sharing on formula (3) over the BDP",
                chart,
                caption,
                builder.facts(
                    "bdp", deviations=("rates of 2.5 to 80 Mbit/s; the paper has 10 Mbit/s",)
                ),
            )
        ],
    )


def ablation(builder: Builder) -> Section | None:
    """What each open option changes."""
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
        "First row: values with the reading of this report. Below: the difference that one "
        "option makes by itself. "
        "Equal share is K/M for the two rows of Table I and Max_Prob_DCTCP for the slope with "
        "Min_Thresh_DCTCP = BDP/2 "
        "(formula (3): 0.2). **Bold**: the 95 % interval of the difference, paired by seed, "
        "does not contain 0; with "
        f"{len(rows) - 1} options some will be so by chance. \u2014: no equal share within "
        f"the range searched, or the option does not apply.",
        builder.facts(*used),
    )
    return Section("ablation", "Beyond the paper: what the open options change", [table])


def ablation_row(frame: pl.DataFrame | None, row: str) -> list[dict[str, float]] | None:
    """Equal share, utilisation and queue there, by seed. For each seed with a crossing."""
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
    """The row of the declared defaults."""
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
    """Differences to the defaults, paired by seed."""
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


def declared_table() -> Table:
    """The options the paper leaves open."""
    return Table(
        "declared",
        "The set-up, and where each part of it comes from",
        [Column(title, align="left", words=True) for title in ("option", "here", "from", "remark")],
        [[option, value, BASES[basis], remark] for option, value, basis, remark in DECLARED],
        "Two of them are not in the source: of the combinations tried, this is the only one that "
        "agrees with all of Table I and with formula (3); see the section on readings. The "
        "ablation "
        "shows what each option changes by itself.",
    )
