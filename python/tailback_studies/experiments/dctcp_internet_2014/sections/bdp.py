"""Additional section: the paper's formula (3) at other bandwidth-delay products."""

from __future__ import annotations

import polars as pl

from tailback.figures import LinePanel, panels
from tailback.report import Section, TableCell
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder, drawn
from tailback_studies.experiments.dctcp_internet_2014.words import rate


def bdp(builder: Builder) -> Section | None:
    """Compare formula (3) with measurements at each bandwidth-delay product."""
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
            LinePanel.band("jain", "Jain's index", domain=(0.5, 1.0), rules=[(0.99, "0.99")]),
            LinePanel.band("ratio", "throughput Reno / DCTCP", scale="log", rules=[(1.0, "equal")]),
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
        "The paper has one BDP, 20.83 packets. Here thresholds follow the BDP, and formula (3) "
        f"gives the probabilities. {says}. The reason: DCTCP's window goes with 1/p, Reno's with "
        "1/\u221ap. The ratio of probabilities that gives equal windows therefore grows with the "
        "window, but the formula does not contain the window."
    )
    for row in means.iter_rows(named=True):
        builder.cells.append(
            TableCell(
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
    return drawn(
        "bdp",
        "Beyond the paper: formula (3) at other BDPs",
        "Equal sharing on formula (3) over the BDP",
        chart,
        caption,
        builder.facts("bdp", deviations=("rates of 2.5 to 80 Mbit/s; the paper has 10 Mbit/s",)),
    )
