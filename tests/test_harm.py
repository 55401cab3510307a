"""Tests harm in runs: assertions, `run --without`, plots. `test_compare` tests harm in
comparisons."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import COMMAND
from tailback.errors import InputError
from tailback.metrics import METRICS
from tailback.plot import PlotRequest
from tailback.plot.resolve import resolve
from tailback.plot.values import numbers
from tailback.running import absence, engines, execution, scenarios
from tailback.running.options import RunOptions
from tailback.store import archive

TWO = """\
title    = "An incumbent and a newcomer"
duration = "4s"
warmup   = "1s"
host_jitter = "100us"

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "fifo", limit = "30p" }

[path]
rtt = "20ms"

[[flows]]
name = "incumbent"
cc   = "cubic"

[[flows]]
name  = "newcomer"
cc    = "bbr"
start = "500ms"

[[traffic]]
name = "stream"
kind = "cbr"
rate = "1Mbit"

[sweep]
"bottleneck.queue.limit" = ["10p", "60p"]
seeds = 2
"""
ASSERT = """
[[assert]]
metric  = "harm_throughput"
flow    = "incumbent"
without = "newcomer"
max     = 0.05
"""


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False
    )


def run(out: Path, text: str = TWO, *without: str) -> tb.Results:
    runner = engines.get("sim")
    loaded = scenarios.load(text, [], None, runner)
    options = RunOptions.of(out=out, progress=False)
    return execution.run_loaded([loaded], [runner], options, without)[0]


def flow(run_: tb.Run, name: str) -> dict[str, Any]:
    found: dict[str, Any]
    [found] = [one for one in run_.summary["flows"] if one["name"] == name]
    return found


def test_an_assertion_on_harm_makes_the_runs_without_the_competitor(tmp_path: Path) -> None:
    results = run(tmp_path, TWO + ASSERT)
    assert len(results) == 4
    silent = {"flows.newcomer.start": "0s", "flows.newcomer.stop": "1ns"}
    with scenarios.quiet():
        alone = tb.run(TWO, set=silent, out=tmp_path, progress=False)
    assert len(list((tmp_path / "runs").iterdir())) == 8, "they are the same runs"
    harms = []
    for beside, before in zip(results, alone, strict=True):
        assert (beside.labels, beside.seed) == (before.labels, before.seed)
        with_it, free = (flow(one, "incumbent") for one in (beside, before))
        rates = [one["throughput_mbit"] for one in (free, with_it)]
        harms.append((rates[0] - rates[1]) / rates[0])
        own = with_it["harm"]["newcomer"]
        assert own["throughput"] == harms[-1]
        rtts = [one["rtt_ms"]["mean"] for one in (free, with_it)]
        assert own["rtt_mean"] == (rtts[1] - rtts[0]) / rtts[1]
        # An endless flow without chunks has no completion time and no chunk times.
        assert own["chunk_mean"] is own["completion"] is None
        assert "harm" not in flow(beside, "newcomer")
        assert beside.summary["traffic"][0]["harm"]["newcomer"]["one_way_p99"] > 0
    assert all(0.3 < one < 1 for one in harms)
    means = [v for v in results.verdicts() if v.seed is None]
    assert [(v.without, v.name, v.held) for v in means] == [("newcomer", "incumbent", False)] * 2
    assert means[0].value == pytest.approx(sum(harms[:2]) / 2)
    [first, *_] = results.failed_assertions()
    assert first.startswith("harm.throughput of flow incumbent by newcomer is 0.")
    assert "expected at most 0.05" in first


def test_a_competitor_that_is_absent_sends_nothing_on_the_shortest_path(tmp_path: Path) -> None:
    short = TWO.replace('"20ms"', '"20us"').replace('"10Mbit"', '"1Gbit"').partition("[sweep]")[0]
    sim = engines.get("sim")
    with scenarios.quiet():
        loaded = scenarios.load(short.replace('"100us"', '"0s"'), [], None, sim)
    alone = [absence.without(loaded, sim, name) for name in ("newcomer", "stream")]
    options = RunOptions.of(out=tmp_path, progress=False)
    newcomer, stream = execution.run_loaded(alone, [sim, sim], options)
    assert (newcomer.title, stream[0].summary["traffic"][0]["sent_packets"]) == (
        "An incumbent and a newcomer, without newcomer",
        0,
    )
    assert flow(newcomer[0], "newcomer")["packets"] == 0
    assert flow(newcomer[0], "incumbent")["packets"] > 1000


def test_without_a_name_every_other_flow_has_to_hold(tmp_path: Path) -> None:
    text = TWO + ASSERT.replace('flow    = "incumbent"\n', "")
    failed = run(tmp_path, text).failed_assertions()
    assert failed
    assert all(" of flow incumbent by newcomer " in one for one in failed)


def test_stored_results_keep_their_harm(tmp_path: Path) -> None:
    made = run(tmp_path, TWO, "newcomer", "stream")
    again = tb.open_results(tmp_path)
    # `latest` is the sweep that ran last, even if other sweeps ran within the same second.
    assert again.id == made.id
    for _ in range(20):
        run(tmp_path, TWO, "newcomer", "stream")
        assert tb.open_results(tmp_path).id == made.id
    assert [one.summary for one in again] == [one.summary for one in made]
    assert set(flow(again[0], "incumbent")["harm"]) == {"newcomer", "stream"}
    assert set(flow(again[0], "newcomer")["harm"]) == {"stream"}
    column = again.frame()["harm_newcomer_throughput"].to_list()
    assert column[0] == flow(again[0], "incumbent")["harm"]["newcomer"]["throughput"]
    assert column[1] is None, "the newcomer has none by itself"
    # The run without the competing flow is deleted, so the harm that this flow does is unknown.
    shutil.rmtree(tmp_path / "runs" / again[0].without["newcomer"])
    lost = tb.open_results(tmp_path)
    assert set(flow(lost[0], "incumbent")["harm"]) == {"stream"}
    # Without the option `--without`, the results of the same scenario do not contain harm.
    assert "harm" not in flow(run(tmp_path / "plain")[0], "incumbent")


def test_pruning_keeps_the_runs_that_harm_needs(tmp_path: Path) -> None:
    made = run(tmp_path, TWO, "newcomer")
    [alone] = [one.index.id for one in archive.kept(tmp_path) if one.index.id != made.id]
    planned = archive.plan(tmp_path, [alone])
    assert ([one.index.id for one in planned.sweeps], planned.runs) == ([alone], [])
    assert len(archive.plan(tmp_path, [alone, made.id]).runs) == 8


def test_a_run_whose_counterpart_is_lost_fails_its_assertion(tmp_path: Path) -> None:
    results = run(tmp_path, TWO + ASSERT.replace("0.05", "1"))
    assert results.failed_assertions() == []
    shutil.rmtree(tmp_path / "runs" / results[0].without["newcomer"])
    fresh = replace(tb.open_results(tmp_path), asserts=results.asserts)
    [message] = fresh.failed_assertions()
    assert message.startswith("harm.throughput of flow incumbent by newcomer is not available")


def drawn(results: tb.Results, **asked: str) -> dict[tuple[str, str], list[float]]:
    plan = resolve(results, PlotRequest(**asked))  # type: ignore[arg-type]
    found: dict[tuple[str, str], list[float]] = {}
    for one in numbers(plan, plan.y):
        place = one.place
        member = plan.members[place.run]
        found.setdefault((place.part, member.texts["bottleneck.queue.limit"]), []).append(one.value)
    return found


def test_harm_over_a_sweep(tmp_path: Path) -> None:
    results = run(tmp_path, TWO, "newcomer", "stream")
    by_newcomer = drawn(results, without="newcomer")
    assert by_newcomer == {
        ("incumbent", f"{limit} packets"): [
            flow(one, "incumbent")["harm"]["newcomer"]["throughput"]
            for one in results
            if one.labels["bottleneck.queue.limit"] == f"{limit}p"
        ]
        for limit in ("10", "60")
    }
    delays = drawn(results, without="newcomer", y="harm_one_way_p99")
    assert {name for name, _ in delays} == {"stream"}
    plan = resolve(results, PlotRequest(without="newcomer"))
    assert plan.y.title == "harm to throughput by newcomer"
    titled = resolve(results, PlotRequest(without="newcomer", y="harm_one_way_p99")).y.title
    assert titled == "harm to one-way delay, 99th percentile by newcomer"
    assert plan.command().endswith("--without newcomer")
    # With two competitors, the user must name one for the plot.
    with pytest.raises(InputError, match="needs two results"):
        resolve(results, PlotRequest(y="harm_throughput"))
    only = run(tmp_path, TWO, "newcomer")
    assert drawn(only, y="harm_throughput") == by_newcomer
    with pytest.raises(InputError, match=r"without stream; use one of newcomer, or run the scen"):
        resolve(only, PlotRequest(without="stream"))
    with pytest.raises(InputError, match=r"nothing was run without x; run the scenario again with"):
        resolve(run(tmp_path, TWO), PlotRequest(without="x"))


def test_metrics_of_harm_are_those_that_assertions_take() -> None:
    for metric in METRICS:
        if metric.path.startswith("harm."):
            kind = "traffic" if metric.parts == ("traffic",) else "flow"
            name = {"flow": "incumbent", "traffic": "stream"}[kind]
            text = ASSERT.replace("harm_throughput", metric.path).replace("incumbent", name)
            tb.check(TWO + text)


@pytest.mark.parametrize(
    ("text", "words", "messages"),
    [
        (
            TWO + ASSERT.replace('without = "newcomer"\n', ""),
            ("run",),
            ('"harm.throughput" compares with a run without a competitor', '"without"'),
        ),
        (
            TWO + ASSERT.replace('"newcomer"', '"newcomr"') + ASSERT.replace("_thr", "_tr"),
            ("check",),
            (
                'f.toml:34:11: there is no flow or source named "newcomr"',
                'write "newcomer"',
                'unknown metric "harm_troughput"',
            ),
        ),
        (TWO, ("run", "--without", "newcommer"), ('"newcommer" does not exist', '"newcomer"')),
        (
            TWO + '"flows.newcomer.start" = ["0s", "1s"]\n',
            ("run", "--without", "newcomer"),
            ("--without newcomer: its start and stop are swept", "use other keys in the sweep"),
        ),
    ],
)
def test_bad_input(
    tmp_path: Path, text: str, words: tuple[str, ...], messages: tuple[str, ...]
) -> None:
    (tmp_path / "f.toml").write_text(text, encoding="utf-8")
    done = command(tmp_path, words[0], "f.toml", *words[1:])
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    for message in messages:
        assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["f.toml"]


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(TWO + ASSERT, encoding="utf-8")
    assert "8 runs" in command(tmp_path, "check", "f.toml").stdout
    done = command(tmp_path, "run", "f.toml", "-q")
    assert done.returncode == 1
    assert "harm by newcomer" in done.stdout
    assert "assertion does not hold: harm.throughput of flow incumbent by newcomer" in done.stderr
    found = json.loads(command(tmp_path, "run", "f.toml", "--json", "-q").stdout)
    assert found["points"][0]["flows"][0]["harm"]["newcomer"]["throughput"] > 0.3
    assert {one["without"] for one in found["assertions"]} == {"newcomer"}
    drawn_ = command(tmp_path, "plot", "--without", "newcomer", "--out", "harm.svg", "-q")
    assert drawn_.returncode == 0, drawn_.stderr
    assert "harm to throughput by newcomer" in (tmp_path / "harm.svg").read_text(encoding="utf-8")


def test_a_report_shows_the_harm_by_each_competitor(tmp_path: Path) -> None:
    """The table and `cells.csv` list the harm by competitor. A figure shows only the flows that the
    competitor harms."""
    results = run(tmp_path, TWO, "newcomer", "stream")
    by_limit: dict[str, list[float]] = {}
    for one in results.points:
        harm = flow(one, "incumbent")["harm"]["newcomer"]["throughput"]
        by_limit.setdefault(one.labels["bottleneck.queue.limit"], []).append(harm)
    page = results.report()
    rows = list(csv.DictReader((page.parent / "cells.csv").read_text().splitlines()))
    found = {
        row["bottleneck.queue.limit"]: float(row["mean"])
        for row in rows
        if row["name"] == "incumbent" and row["metric"] == "harm_throughput by newcomer"
    }
    expected = {limit: sum(harms) / len(harms) for limit, harms in by_limit.items()}
    assert found == pytest.approx(expected)
    assert len(set(found.values())) == 2
    assert min(found.values()) > 0
    text = (page.parent / "report.md").read_text()
    assert "harm throughput by newcomer" in text
    assert "harm throughput by stream" in text
    names = sorted(path.name for path in (page.parent / "figures").glob("flow-harm*.vl.json"))
    assert names == ["flow-harm-throughput-2.vl.json", "flow-harm-throughput.vl.json"]
    # The figure leaves out the competitor, because a flow does not harm itself. One flow is left.
    assert '"newcomer"' not in (page.parent / "figures" / names[1]).read_text()
