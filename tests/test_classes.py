"""Tests statistics by class of flows: summary, files, metrics, comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback
from conftest import Tailback
from tailback import metrics
from tailback.errors import ScenarioError

SCENARIO = """
duration = "5s"
warmup = "1s"
[bottleneck]
rate = "20Mbit"
delay = "2ms"
queue = { aqm = "codel", ecn = true }
[path]
rtt = "10ms"
[record]
statistics = "500ms"
[[flows]]
name = "L"
cc = "dctcp"
class = "L"
count = 2
[[flows]]
name = "C"
cc = "cubic"
class = "C"
[[traffic]]
kind = "cbr"
name = "udp"
rate = "2Mbit"
class = "C-udp"
"""

SHARES = ("rate_mbit", "window_bytes", "utilisation", "mark_share", "drop_share", "delay_ms")


def summary_of(text: str, out: Path) -> tuple[Any, Mapping[str, Any]]:
    """Run a scenario. Return the run and its summary."""
    run = tailback.run(text, out=out)[0]
    return run, run.summary


def rank(values: list[float], p: int) -> float:
    """Return a percentile by nearest rank, computed with integers."""
    return sorted(values)[max(1, -(-p * len(values) // 100)) - 1]


def test_statistics_follow_from_the_samples(tmp_path: Path) -> None:
    run, summary = summary_of(SCENARIO, tmp_path)
    classes = summary["classes"]
    assert [(c["name"], c["link"], c["flows"], c["sources"]) for c in classes] == [
        ("L", "bottleneck", 2, 0),
        ("C", "bottleneck", 1, 0),
        ("C-udp", "bottleneck", 0, 1),
    ]
    queue = summary["queue"]
    for total in ("packets", "bytes", "drops", "marks"):
        assert sum(c[total] for c in classes) == queue[total] > 0, total
    delay = sum(c["packets"] * c["delay_ms"]["mean"] for c in classes) / queue["packets"]
    assert delay == pytest.approx(queue["delay_ms"]["mean"], rel=1e-12)

    series = run.series()

    def values(quantity: str, **of: str) -> list[float]:
        rows = series.filter(
            pl.col("quantity") == quantity, *(pl.col(k) == v for k, v in of.items())
        )
        return list(rows["value"])

    for c in classes:
        for quantity in ("utilisation", "delay_ms", "mark_share", "drop_share"):
            found = values(f"class.{c['name']}.{quantity}", link="bottleneck")
            stat = c["samples"][quantity]
            assert stat["n"] == len(found) == 8
            assert stat["mean"] == pytest.approx(sum(found) / 8, rel=1e-12)
            for p in (1, 25, 50, 75, 99):
                assert stat[f"p{p}"] == rank(found, p), (c["name"], quantity, p)
            assert stat["max"] == max(found)
    rates = [*values("rate_mbit", flow="L/1"), *values("rate_mbit", flow="L/2")]
    stat = classes[0]["samples"]["rate_mbit"]
    assert (stat["n"], stat["p25"], stat["p99"]) == (16, rank(rates, 25), rank(rates, 99))
    # All packets of the class belong to its flows, so rates over 4 s add up to its bytes.
    assert 4 * 2 * stat["mean"] == pytest.approx(classes[0]["bytes"] * 8 / 1e6, rel=1e-12)
    # A window is the rate times the RTT. The RTT is the mean queue delay of the interval, plus the
    # path's 10 ms, plus the link's 2 ms.
    delays = values("class.L.delay_ms", link="bottleneck")
    windows = [r * 1e6 / 8 * (d + 12) / 1e3 for r, d in zip(rates, delays * 2, strict=True)]
    stat = classes[0]["samples"]["window_bytes"]
    assert stat["mean"] == pytest.approx(sum(windows) / 16, rel=1e-12)
    assert stat["p75"] == pytest.approx(rank(windows, 75), rel=1e-12)
    used = [sum(c["samples"]["utilisation"]["mean"] for c in classes)]
    assert used[0] == pytest.approx(queue["samples"]["utilisation"]["mean"], rel=1e-12)
    assert queue["samples"]["utilisation"]["mean"] == pytest.approx(queue["utilisation"], rel=1e-12)
    assert classes[2]["samples"]["rate_mbit"]["n"] == 0
    assert classes[2]["samples"]["rate_mbit"]["mean"] is None

    buckets = run.histogram("delay_ns.C")
    assert buckets["count"].sum() == classes[1]["packets"]


def test_metrics_of_classes(tmp_path: Path) -> None:
    _, summary = summary_of(SCENARIO, tmp_path)
    l4s, classic, _ = summary["classes"]
    for name in ("delay_ms.p99", "rate_mbit.mean", "window_bytes.p1", "drop_share.p99"):
        quantity, _, word = name.partition(".")
        part = l4s if quantity == "delay_ms" else l4s["samples"]
        assert metrics.find(name, "class").value(l4s) == part[quantity][word]
    for word, quantity in (("rate", "rate_mbit"), ("window", "window_bytes")):
        expected = l4s["samples"][quantity]["mean"] / classic["samples"][quantity]["mean"]
        assert metrics.find(f"class_{word}_ratio").value(summary) == expected
    # Without two classes, the ratio is undefined.
    assert metrics.find("class_rate_ratio").value({"classes": [l4s]}) is None
    assert metrics.find("class_rate_ratio").value({}) is None
    assert metrics.find("rate_mbit.mean").value({"samples": None}) is None


def test_without_classes_there_are_none(tmp_path: Path) -> None:
    plain = "\n".join(
        line for line in SCENARIO.splitlines() if not line.startswith(("class", "statistics"))
    )
    results = tailback.run(plain, out=tmp_path / "plain")
    summary = results[0].summary
    assert summary["classes"] == []
    assert summary["queue"]["samples"] is None
    assert not [c for c in results.queues().columns if c.startswith(("samples", "utilisation_"))]
    with_classes = tailback.run(SCENARIO, out=tmp_path / "classes")
    other = with_classes[0].summary
    assert other["flows"] == summary["flows"], "counting changes nothing"
    assert {**other["queue"], "samples": None} == summary["queue"]
    assert other["run_id"] != summary["run_id"]
    frame = with_classes.classes()
    assert frame["class"].to_list() == ["L", "C", "C-udp"]
    assert frame["utilisation_n"].to_list() == [8, 8, 8]


def test_the_same_bytes_at_any_number_of_jobs(tmp_path: Path) -> None:
    runs = [tailback.run(SCENARIO, seeds=3, jobs=jobs, out=tmp_path / str(jobs)) for jobs in (1, 2)]
    for one, other in zip(*runs, strict=True):
        for name in ("summary.json", "series.parquet", "histograms.parquet"):
            assert (one.path / name).read_bytes() == (other.path / name).read_bytes(), name


def test_classes_are_compared_by_name(tmp_path: Path) -> None:
    compared = tailback.compare(
        SCENARIO,
        {"base": {}, "more": {"bottleneck.queue.target": "20ms"}},
        seeds=3,
        metrics=["class.delay_ms.mean", "class_rate_ratio"],
        out=tmp_path,
    )
    cells = [(cell.kind, cell.name, cell.quantity) for cell in compared.cells]
    assert cells == [
        ("class", "L", "delay_ms.mean"),
        ("class", "C", "delay_ms.mean"),
        ("class", "C-udp", "delay_ms.mean"),
        ("run", "", "class_rate_ratio"),
    ]
    assert all(cell.differences["more"].absolute > 0 for cell in compared.cells[:3])
    assert {row["quantity"] for row in compared.summary()} == {
        "class.delay_ms.mean",
        "class_rate_ratio",
    }


def test_a_table_of_classes(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "classes.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    done = tailback("run", file)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.split()[:2] == ["class", "link"])
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["L", "C", "C-udp"]
    points = json.loads(tailback("run", file, "--json").stdout)["points"]
    assert [c["name"] for c in points[0]["classes"]] == ["L", "C", "C-udp"]
    assert tuple(points[0]["classes"][0]["samples"]) == SHARES
    listed = tailback("list", "metrics").stdout
    assert "class_window_ratio" in listed
    assert "drop_share.p25" in listed


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('class = "C"', 'class = ""', '"" cannot be the name of a class'),
        ('class = "C"', 'class = "a/b"', '"a/b" cannot be the name of a class'),
        ('class = "C"', f'class = "{"x" * 33}"', "cannot be the name of a class"),
        ('statistics = "500ms"', 'statistics = "4001ms"', "from 1ms to the measured time, 4s"),
        ('statistics = "500ms"', 'statistics = "10us"', "from 1ms to the measured time, 4s"),
    ],
)
def test_bad_input(old: str, new: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        tailback.check(SCENARIO.replace(old, new, 1))
    assert message in str(error.value)


def test_samples_without_classes_are_the_links(tmp_path: Path) -> None:
    plain = "\n".join(line for line in SCENARIO.splitlines() if not line.startswith("class"))
    _, summary = summary_of(plain.replace("500ms", "3s"), tmp_path)
    assert summary["classes"] == []
    # The warm-up of 3 s leaves time for only one whole interval.
    assert summary["queue"]["samples"]["utilisation"]["n"] == 1
