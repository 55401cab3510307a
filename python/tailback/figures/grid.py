"""Draws tables of coloured cells. Each cell shows its value as a number, such as a relative error
in percent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from tailback.figures.theme import INK, Chart


def grid(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    facet: str,
    x_title: str,
    y_title: str,
    value_title: str,
    order: Sequence[str],
    limit: float,
    columns: int = 3,
    cell: int = 30,
) -> Chart:
    """Draw small tables side by side, one for each entry of `order`. The entries are values of the
    column `facet`.

    Rows and columns are the values of `y` and `x`, evenly spaced. The column
    `value` contains signed relative differences, which the cells show in
    percent. The colour scale ends at `limit` and at `-limit`. Cells without a
    value stay white."""
    rows = frame.filter(pl.col(value).is_not_null()).with_columns(
        (100 * pl.col(value)).round(1).alias("percent")
    )
    span = 100 * limit
    ends = {"x": sorted(frame[x].unique()), "y": sorted(frame[y].unique())}
    x_axis = alt.X(f"{x}:O", title=x_title, sort=ends["x"], axis=alt.Axis(labelAngle=0))
    y_axis = alt.Y(f"{y}:O", title=y_title, sort=ends["y"])
    colour = alt.Color(
        "percent:Q",
        title=value_title,
        scale=alt.Scale(scheme="blueorange", domain=[-span, 0, span], clamp=True),
        legend=alt.Legend(format="+.0f"),
    )
    # Black text is not readable on the dark ends of the scale.
    ink = alt.condition(f"abs(datum.percent) > {0.7 * span}", alt.value("white"), alt.value(INK))
    boxes = alt.Chart().mark_rect(stroke="white")
    boxes = boxes.encode(
        x=x_axis,
        y=y_axis,
        color=colour,
        tooltip=[
            alt.Tooltip(f"{y}:O", title=y_title),
            alt.Tooltip(f"{x}:O", title=x_title),
            alt.Tooltip("percent:Q", title=value_title, format="+.1f"),
        ],
    )
    texts = alt.Chart().mark_text(fontSize=10)
    texts = texts.encode(x=x_axis, y=y_axis, text=alt.Text("percent:Q", format="+.1f"), color=ink)
    size = {"width": cell * len(ends["x"]), "height": cell * len(ends["y"])}
    parts = {name: rows.filter(pl.col(facet) == name) for name in order}
    return Tables(alt.layer(boxes, texts, data=rows.clear(), **size), parts, columns)


@dataclass(frozen=True)
class Tables:
    """A figure of several tables that differ only in their names and data.

    This class replaces Altair's own concatenation. Altair copies and joins every part of every
    table several times, which takes as long as drawing the tables.
    """

    table: Chart
    """The chart of one table, without rows of data."""
    parts: Mapping[str, pl.DataFrame]
    columns: int

    def to_dict(self) -> dict[str, Any]:
        """Return the specification that `altair.concat` would return."""
        spec = self.table.to_dict(validate=False)
        datasets, tables = {}, []
        for title, part in self.parts.items():
            values = part.to_dicts()
            # Altair names data by a hash of its content.
            text = json.dumps(values, sort_keys=True, default=str)
            name = f"data-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
            datasets[name] = values
            tables.append(
                {
                    "layer": spec["layer"],
                    "data": {"name": name},
                    "height": spec["height"],
                    "title": title,
                    "width": spec["width"],
                }
            )
        return {
            "config": spec["config"],
            "concat": tables,
            "columns": self.columns,
            "spacing": 18,
            "$schema": spec["$schema"],
            "datasets": datasets,
        }
