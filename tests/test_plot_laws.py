"""Tests the laws of congestion controls in figures."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tailback
from tailback.errors import InputError
from tailback.plot import laws

SCENARIO = {
    "duration": "2s",
    "warmup": "0s",
    "bottleneck": {"rate": "100Mbit", "loss": 0.01, "queue": "fifo"},
    "flows": [{"cc": "cubic", "rtt": "100ms"}, {"name": "near", "cc": "reno", "rtt": "20ms"}],
    "sweep": {"bottleneck.loss": [0.001, 0.01]},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    return tailback.run(SCENARIO, out=tmp_path_factory.mktemp("out"), progress=False)


def curves(chart: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each curve of a law."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in max(chart.to_dict()["datasets"].values(), key=len):
        if "law" in row:
            found.setdefault(row["law"], []).append(row)
    return found


@pytest.mark.parametrize(
    ("rtt_s", "loss", "window"),
    [
        # The tables of RFC 9438 section 5, within their rounding.
        *((0.1, 1e-4, 187), (0.1, 1e-5, 1054), (0.1, 1e-6, 5926), (0.01, 1e-6, 1200)),
        *((0.1, 1e-2, 12.2), (0.1, 1e-3, 39), (0.01, 1e-4, 120)),
    ],
)
def test_cubics_window(rtt_s: float, loss: float, window: float) -> None:
    at = laws.Conditions(rtt_s, 1448, 0.7)
    assert laws.cubic(loss, at) == pytest.approx(window, rel=0.025)


def test_a_curve_has_the_units_of_the_axis(results: tailback.Results) -> None:
    chart = results.plot("loss", "throughput_mbit", color="flow", laws=["rfc9438", "reno"])
    found = curves(chart)
    # For each law, the figure contains a curve for each RTT.
    assert len(found) == 4
    for rows in found.values():
        assert [rows[0]["x"], rows[-1]["x"]] == pytest.approx([0.001, 0.01])
        assert sum(bool(row["title"]) for row in rows) == 1
    near = [rows for rows in found.values() if any("1.22 / √p, 20 ms" in r["title"] for r in rows)]
    mbit = math.sqrt(1.5 / 0.01) * 1448 * 8 / 0.02 / 1e6
    assert near[0][-1]["predicted"] == pytest.approx(mbit, rel=1e-4)


def test_a_curve_in_segments(results: tailback.Results) -> None:
    chart = results.plot("loss", "cwnd", color="flow", where={"flow": "near"}, laws="reno")
    (rows,) = curves(chart).values()
    assert rows[0]["predicted"] == pytest.approx(math.sqrt(1500), rel=1e-4)
    assert {row["title"] for row in rows} == {"", "1.22 / √p"}


def test_a_figure_without_laws_is_as_before(results: tailback.Results) -> None:
    chart = results.plot("loss", "throughput_mbit", color="flow")
    assert "law" not in str(chart.to_dict())


def test_a_law_needs_a_probability_of_loss(results: tailback.Results) -> None:
    for options, said in (
        ({"laws": "rfc9439"}, 'law "rfc9439" does not exist'),
        ({"kind": "bar", "laws": "reno"}, 'bar does not draw laws; set kind="line"'),
        ({"y": "delay_ms.p99", "laws": "reno"}, "no law predicts delay_ms.p99"),
        ({"x": "seed", "color": "loss", "laws": "reno"}, "no probability of loss"),
    ):
        asked: dict[str, Any] = {"x": "loss", "y": "throughput_mbit", **options}
        with pytest.raises(InputError, match=said):
            results.plot(**asked)
