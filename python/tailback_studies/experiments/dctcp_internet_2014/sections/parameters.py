"""Figure 3: the marking curves of RED for Reno and for DCTCP."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from tailback.figures import LinePanel, panel
from tailback.report import Facts, Section
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder, drawn


def fig3(_builder: Builder) -> Section:
    """Draw the mark probability as a function of the average queue, with the settings of the
    scenario files."""
    rows: list[dict[str, Any]] = []
    for name, file in (("step threshold (IV-B)", "fig5-m0.5"), ("slopes (IV-C)", "slope")):
        queue = pts.scenario(file)["bottleneck"]["queue"]
        for flow, key in (("Reno: dropped", "classic"), ("DCTCP: marked", "ecn")):
            side = queue[key]
            low, high = pts.bdp_size(side["min"]), pts.bdp_size(side["max"])
            if file == "fig5-m0.5" and key == "ecn":
                # Draw the step at the K at which the paper reports equal rates, and not at the
                # first K of the sweep.
                low = high = 1.34 * 0.5
            prob = float(side["probability"])
            corners = [(0.0, 0.0), (low, 0.0)]
            corners += [(high, prob)] if high > low else []
            corners += [(high, 1.0), (3.3, 1.0)]
            rows += [
                {"panel": name, "flow": flow, "x": x, "y": y, "corner": i}
                for i, (x, y) in enumerate(corners)
            ]
    frame = pl.DataFrame(rows)
    charts = []
    for name in ("step threshold (IV-B)", "slopes (IV-C)"):
        chart = panel(
            frame.filter(pl.col("panel") == name),
            LinePanel("y", "probability", domain=(0.0, 1.0), height=190),
            x="x",
            x_title="average queue in BDP",
            series="flow",
            series_title="",
            order=["Reno: dropped", "DCTCP: marked"],
            x_domain=(0.0, 3.3),
            points=False,
            width=290,
        )
        charts.append(chart.properties(title=name))
    chart = alt.hconcat(*charts, spacing=30).resolve_scale(color="shared")
    caption = (
        "Left: Min_Thresh_Reno = BDP/2, K = 1.34 Min_Thresh_Reno on the queue itself. Right: "
        "Min_Thresh_Reno = BDP, Max_Prob_Reno = 0.1, Min_Thresh_DCTCP = BDP/2, Max_Prob_DCTCP = "
        "0.2; above Max_Thresh the probability is 1 (RED is not gentle here). Drawn from the "
        "scenario files, without runs."
    )
    return drawn(
        "fig3",
        "Figure 3: how the queue marks and drops",
        "Probability of a mark or drop",
        chart,
        caption,
        Facts(),
    )
