"""Figure 10: results when all parameters are scaled with m."""

from __future__ import annotations

import polars as pl

from tailback.figures import LinePanel, panels
from tailback.report import Section
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014.builder import (
    OCCUPANCY,
    UTILISATION,
    Builder,
    drawn,
)
from tailback_studies.experiments.dctcp_internet_2014.words import interpolate, straight


def fig10(builder: Builder) -> Section | None:
    """Show the runs in which all parameters are scaled with m."""
    frames: list[pl.DataFrame] = []
    names = {"bdp": "DCTCP slope 2 BDP wide", "min": "DCTCP slope 2 Min_Thresh_Reno wide"}
    present: list[str] = []
    means_by: dict[str, pl.DataFrame] = {}
    for width, name in names.items():
        frame = builder.measured.frames.get(f"fig10-{width}")
        if frame is None:
            continue
        present.append(name)
        frame = frame.with_columns(
            pl.col(f"p:{pts.CLASSIC}.min")
            .map_elements(pts.bdp_size, return_dtype=pl.Float64)
            .alias("m")
        )
        means = pts.aggregate(frame, ["m"]).with_columns(pl.lit(name).alias("width"))
        means_by[width] = means
        frames.append(means)
    if not frames:
        return None
    frame = pl.concat(frames, how="diagonal_relaxed")
    chart = panels(
        frame,
        [
            LinePanel.band("jain", "Jain's index", domain=(0.5, 1.0)),
            LinePanel.band("utilisation", UTILISATION),
            LinePanel.band("occupancy", OCCUPANCY),
        ],
        x="m",
        x_title="m = Min_Thresh_Reno / BDP",
        series="width",
        series_title="",
        order=present,
        x_domain=(0.0, 1.05),
    )
    for width, name in names.items():
        if width not in means_by:
            continue
        means = means_by[width].sort("m")
        low = min(means["jain"].to_list())
        line, gap = straight(means["m"].to_list(), means["occupancy"].to_list())
        at = interpolate(means["m"].to_list(), means["utilisation"].to_list(), 0.3)
        builder.claim(
            f"Figure 10: Jain's index is nearly 1 throughout ({name}).",
            f"smallest value {low:.3f}",
            "at least 0.95",
            low >= 0.95,
        )
        builder.claim(
            f"Figure 10: the queue grows about linearly with m ({name}).",
            f"{line}, largest distance from it {gap:.3f} BDP",
            "distance of at most 0.05 BDP",
            gap <= 0.05,
        )
        if at is not None:
            builder.claim(
                f"Figure 10: about 100 % utilisation already at m = 0.3 ({name}).",
                f"utilisation {at:.3f}",
                "at least 0.98",
                at >= 0.98,
            )
    caption = (
        "Max_Prob_Reno = 0.1/m, Max_Prob_DCTCP = 0.2/m, Min_Thresh_DCTCP = Min_Thresh_Reno/2, "
        "Max_Thresh_Reno = 3 Min_Thresh_Reno. "
        "The paper does not say how wide the DCTCP slope is; both readings are shown."
    )
    return drawn(
        "fig10",
        "Figure 10: thresholds scaled with m",
        "Jain's index, utilisation and queue over m",
        chart,
        caption,
        builder.facts("fig10-bdp", "fig10-min"),
    )
