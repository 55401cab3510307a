"""Tests figures over time, and the style of figures."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback
from conftest import Tailback
from tailback.errors import InputErrors
from tailback.plot import Figure, PlotRequest, figure
from tailback.plot.kinds import common
from tailback.plot.kinds.time import MOST_BINS
from tailback.plot.look import FigureLook

SCENARIO = """\
title = "over time"
duration = "5s"
warmup = "1s"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "codel" }
[path]
rtt = "20ms"
[record]
interval = "20ms"
events = true
[[flows]]
cc = "cubic"
[[flows]]
cc = "bbr"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    return tailback.run(SCENARIO, out=tmp_path_factory.mktemp("out"), jobs=1, progress=False)


def drawn(results: tailback.Results, *, size: dict[str, Any] | None = None, **asked: Any) -> Figure:
    names = FigureLook.__dataclass_fields__
    look = FigureLook(**{key: asked.pop(key) for key in list(asked) if key in names})
    return figure(results, PlotRequest(kind="time", look=look, **asked), **(size or {}))


def rows(made: Figure) -> list[dict[str, Any]]:
    spec = made.chart.to_dict()
    found: list[dict[str, Any]] = max(spec["datasets"].values(), key=len)
    return found


def texts(made: Figure) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", made.svg)


def test_the_delay_over_time_is_the_backlog_over_the_rate(run: tailback.Results) -> None:
    made = drawn(run, y="delay_ms")
    backlog = run.series(0, "backlog_bytes").with_columns(pl.col("time_ns") / 1e9)
    by_time = {round(t, 6): v for t, v in backlog.select("time_ns", "value").iter_rows()}
    found = rows(made)
    assert len(found) > 50
    for row in found:
        assert math.isclose(row["y"], by_time[round(row["x"], 6)] * 8e3 / 10e6, rel_tol=1e-5)
    assert "queue delay, backlog over rate (ms)" in " ".join(texts(made))


def test_a_rate_that_changes_gives_the_delay_at_its_own_time(tmp_path: Path) -> None:
    text = SCENARIO.replace('"10Mbit"', '{ steps = [["0s", "10Mbit"], ["3s", "2Mbit"]] }')
    results = tailback.run(text, out=tmp_path, progress=False)
    after = {round(r["x"], 6): r["y"] for r in rows(drawn(results, y="delay_ms")) if r["x"] > 3.1}
    backlog = results.series(0, "backlog_bytes").filter(pl.col("time_ns") > 3_100_000_000)
    checked = 0
    for time_ns, value in backlog.select("time_ns", "value").iter_rows():
        if round(time_ns / 1e9, 6) in after:
            assert math.isclose(after[round(time_ns / 1e9, 6)], value * 8e3 / 2e6, rel_tol=1e-5)
            checked += 1
    assert checked > 20


def test_one_run_shows_every_sample_and_only_its_time(run: tailback.Results) -> None:
    where = {"flow": ("cubic",)}
    samples = run.series(0, "in_flight", flow="cubic")
    whole = rows(drawn(run, y="in_flight", where=where))
    values = samples["value"].to_list()
    changes = [v for i, v in enumerate(values) if i in (0, len(values) - 1) or v != values[i - 1]]
    assert [row["y"] for row in whole] == changes
    part = rows(drawn(run, y="in_flight", where=where, begin="2s", end="3000ms"))
    assert (part[0]["x"], part[-1]["x"] <= 3) == (2, True)
    # The curve begins with the last value that was sampled before the shown time range.
    before = samples.filter(pl.col("time_ns") <= 2_000_000_000)["value"].last()
    assert part[0]["y"] == before


def test_a_thinned_series_shows_its_extremes(tmp_path: Path) -> None:
    text = SCENARIO.replace('"20ms"\nevents', '"1ms"\nevents')
    results = tailback.run(text, out=tmp_path, progress=False)
    made = drawn(results, y="backlog_bytes")
    found = rows(made)
    samples = results.series(0, "backlog_bytes")["value"]
    assert len(samples) > 2 * MOST_BINS > len(found)
    assert max(row["high"] for row in found) == samples.max()
    assert all(row["low"] <= row["y"] <= row["high"] for row in found)
    assert any("smallest to the largest" in note for note in made.plan.missing)


def test_states_have_names(run: tailback.Results) -> None:
    said = texts(drawn(run, y="mode"))
    assert {"STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT", "phase of BBR"} <= set(said)
    assert all(float(row["y"]).is_integer() for row in rows(drawn(run, y="mode")))


def test_events_are_ticks_at_their_times(run: tailback.Results) -> None:
    made = drawn(run, y="in_flight", events=("all",))
    ticks = [row for row in rows(made) if "event" in row]
    drops = run.series(0).filter(pl.col("quantity").str.starts_with("drop."))
    times = {float(f"{time / 1e9:.6g}") for time in drops["time_ns"]}
    shown = {row["at"] for row in ticks if row["event"] == "drops"}
    assert shown
    assert shown <= times
    exits = {row["series"]: row["at"] for row in ticks if row["event"] == "slow-start-exit"}
    first = run.series(0, "ssthresh", flow="cubic")["time_ns"][0] / 1e9
    assert exits["cubic"] == pytest.approx(first)
    assert {"drops", "slow start exit"} <= set(texts(made))


def test_events_that_were_not_recorded_are_named(tmp_path: Path) -> None:
    text = SCENARIO.replace("events = true\n", "")
    results = tailback.run(text, out=tmp_path, progress=False)
    made = drawn(results, y="cwnd", events=("drops",))
    assert made.plan.missing == ["drops are not recorded; set record.events = true"]


def test_rules_limits_and_titles(run: tailback.Results) -> None:
    look: dict[str, Any] = {
        "rules": ("y=0.005s", "x=2s"),
        "y_limits": "0:30ms",
        "title": "Delay over time",
    }
    said = texts(drawn(run, y="delay_ms", **look))
    assert {"0.005 s", "2 s", "Delay over time"} <= set(said)
    assert {"10", "20", "30"} <= set(said)


def test_slides_have_large_letters_on_a_page_of_16_to_9(run: tailback.Results) -> None:
    made = figure(run, PlotRequest(kind="time", y="delay_ms"), style_name="slides")
    size = re.search(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', made.svg)
    assert size is not None
    assert float(size[1]) == pytest.approx(254 * 96 / 25.4, rel=0.01)
    assert float(size[1]) / float(size[2]) == pytest.approx(16 / 9, rel=0.02)
    sizes = {float(found) for found in re.findall(r'font-size="([\d.]+)px"', made.svg)}
    # A font size of 24 points is 32 pixels.
    assert max(sizes) == pytest.approx(32)


def test_everything_wrong_with_a_look_is_reported_at_once(run: tailback.Results) -> None:
    with pytest.raises(InputErrors) as caught:
        drawn(
            run,
            y="delay_ms",
            begin="3s",
            end="2s",
            rules=("5ms", "y=5Mbit"),
            x_limits="5",
            y_limits="3:2",
            events=("dorps",),
        )
    said = "\n".join(map(str, caught.value.problems))
    for begin in (
        "--to: not after --from",
        '--rule "5ms": expected y=VALUE',
        '--rule y: "5Mbit" is not a value of this axis; expected a number in ms',
        '--x-limits "5": expected LOW:HIGH',
        '--y-limits: "3:2" is empty',
        '--events: event "dorps" does not exist',
    ):
        assert begin in said


def test_a_ratio_has_1_in_the_middle() -> None:
    scale, axis, (low, high) = common.value_axis([0.8, 1.1], "auto", 200, 10, centre=1.0)
    assert scale["type"] == "log"
    assert low * high == pytest.approx(1)
    assert 1.0 in axis["values"]
    assert all(
        any(math.isclose(a * b, 1, rel_tol=0.01) for b in axis["values"]) for a in axis["values"]
    )


def bottom(made: Figure) -> float:
    """Return the smallest lower end of the y axes of a figure."""
    found: list[float] = []

    def visit(spec: Any) -> None:
        for key, value in spec.items() if isinstance(spec, dict) else enumerate(spec):
            if key == "y" and isinstance(value, dict) and "domain" in value.get("scale", {}):
                found.append(value["scale"]["domain"][0])
            if isinstance(value, dict | list):
                visit(value)

    visit(made.chart.to_dict())
    return min(found)


def test_an_axis_of_rates_begins_at_0(tmp_path: Path) -> None:
    # Without other flows and without losses, the flow's throughput is always close to the link's
    # rate.
    alone = SCENARIO.rpartition("[[flows]]")[0].replace('"codel"', '"codel", ecn = true')
    alone += "ecn = true\n"
    varied = f'{alone}[sweep]\n"path.rtt" = ["10ms", "20ms"]\n'
    found = tailback.run(varied, out=tmp_path, jobs=1, progress=False)
    where = {"rtt": ("20ms",)}
    over_time = drawn(found, y="throughput", begin="2s", where=where)
    rates = [row["y"] for row in rows(over_time)]
    assert min(rates) > 0.6 * max(rates)
    assert bottom(over_time) == 0
    assert bottom(figure(found, PlotRequest(kind="line", y="throughput_mbit"))) == 0
    # The axes of other quantities may begin near the smallest value. Users may also set the lower
    # end.
    assert bottom(figure(found, PlotRequest(kind="line", y="utilisation"))) > 0.5
    assert bottom(drawn(found, y="throughput", begin="2s", where=where, y_limits="4:")) == 4


def test_numbers_have_their_thousands_apart() -> None:
    assert common.number(5000) == ",.6~r"
    assert common.is_log([1, 99], "auto") is False
    assert common.is_log([1, 101], "auto") is True


def test_the_command_takes_the_options(run: tailback.Results, tailback: Tailback) -> None:
    folder = run.root / "sweeps" / run.id
    made = tailback(
        *("plot", folder, "--kind", "time", "--y", "delay_ms", "--from", "2s", "--to", "4s"),
        *("--rule", "y=5ms", "--style", "slides", "--title", "A title", "--out", "f.svg"),
    )
    assert made.returncode == 0, made.stderr
    wrong = tailback("plot", folder, "--kind", "cdf", "--from", "2s", "--style", "slide")
    assert wrong.returncode == 2
    assert "error: --from: cdf has no time\n  set --kind time" in wrong.stderr
    assert 'write "slides"' in wrong.stderr
