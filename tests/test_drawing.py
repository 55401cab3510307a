"""Tests that a figure does not depend on the figures that the process has drawn before."""

from __future__ import annotations

import json
import sys
from typing import Any

import altair as alt
import polars as pl
import pytest

from tailback.figures import drawing, export, grid

COUNT = 6


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a new drawing process after every few figures."""
    monkeypatch.setattr(drawing, "ENOUGH", 4)


def texts(count: int = COUNT) -> dict[str, str]:
    """Draw figures that have a gradient and a clip each."""
    frame = pl.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 2.0]})
    out = {}
    for number in range(count):
        chart = alt.Chart(frame).mark_line(clip=True).encode(x="x", y="y")
        chart += alt.Chart(frame).mark_point().encode(x="x", y="y", color="y:Q")
        made = export.spec(chart.properties(title=f"figure {number}", width=100))
        out[f"figure-{number}"] = json.dumps(made)
    return out


def test_the_same_bytes_at_any_number_of_processes() -> None:
    wanted = texts()
    here = drawing.svgs(wanted, jobs=0)
    assert list(here) == list(wanted)
    for svg in here.values():
        assert 'id="gradient_0"' in svg
        assert 'url(#gradient_0)"' in svg
        assert 'id="clip0"' in svg
    for jobs in (1, 2):
        with drawing.drawing(jobs) as made:
            for name, text in wanted.items():
                made.add(name, text)
            assert len(made._processes) == jobs
            assert made.svgs() == here
            assert set(made._made) == set(here), "others have drawn all of them"
    # Ids in a figure start at 0, even after other figures.
    assert export.svg_of(wanted["figure-0"]) == here["figure-0"]


def test_without_another_process_it_is_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = texts()
    here = drawing.svgs(wanted, jobs=0)
    for executable in ("", "/nowhere/python", "/bin/false"):
        monkeypatch.setattr(sys, "executable", executable)
        assert drawing.svgs(wanted, jobs=1) == here


def test_what_cannot_be_drawn_says_so() -> None:
    wanted = {**texts(), "wrong": '{"mark": "no such mark"}'}
    with pytest.raises(ValueError, match="filled"):
        drawing.svgs(wanted, jobs=1)


def test_texts_that_look_like_ids_stay() -> None:
    svg = (
        '<svg><linearGradient id="gradient_3"/><clipPath id="clip7"/>'
        '<path fill="url(#gradient_3)" clip-path="url(#clip7)"/><text>gradient_3 clip7</text></svg>'
    )
    assert export.numbered(svg) == (
        '<svg><linearGradient id="gradient_0"/><clipPath id="clip0"/>'
        '<path fill="url(#gradient_0)" clip-path="url(#clip0)"/><text>gradient_3 clip7</text></svg>'
    )


def test_tables_are_what_altair_makes_of_them() -> None:
    frame = pl.DataFrame(
        [
            {"flow": flow, "rate": rate, "delay": delay, "error": 0.01 * rate - 0.002 * delay}
            for flow in ("a", "b", "c")
            for rate in (1.0, 5.0)
            for delay in (0.0, 20.0)
        ]
    )
    options: dict[str, Any] = {
        **{"x": "delay", "y": "rate", "value": "error", "facet": "flow"},
        **{"x_title": "delay", "y_title": "rate", "value_title": "error", "limit": 0.1},
    }
    made = export.spec(grid(frame, order=["a", "b", "c"], columns=2, **options))
    assert alt.ConcatChart.from_dict(made).to_dict()["columns"] == 2
    parts = []
    for flow in ("a", "b", "c"):
        [only] = grid(frame, order=[flow], **options).to_dict()["concat"]
        rows = grid(frame, order=[flow], **options).to_dict()["datasets"][only["data"]["name"]]
        part = {key: value for key, value in only.items() if key != "data"}
        parts.append(alt.LayerChart.from_dict({**part, "data": {"values": rows}}))
    assert export.spec(alt.concat(*parts, columns=2, spacing=18)) == made
