"""Draws figures. Each kind of plot has a module. All plots have the same style."""

from tailback.figures import export
from tailback.figures.cdf import cdf, cumulative
from tailback.figures.differences import differences
from tailback.figures.grid import grid
from tailback.figures.heatmap import heatmap
from tailback.figures.lines import LinePanel, panel, panels
from tailback.figures.time_series import thin, time_series

__all__ = [
    "LinePanel",
    "cdf",
    "cumulative",
    "differences",
    "export",
    "grid",
    "heatmap",
    "panel",
    "panels",
    "thin",
    "time_series",
]
