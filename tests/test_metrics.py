"""Tests that every command gives the same number for a metric, and that the number follows from the
metric's definition.

The expected metrics are computed from the stored JSON, without `tailback.metrics`."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import Tailback
from tailback.comparison import baseline
from tailback.comparison.gate import hold
from tailback.comparison.model import Cell
from tailback.comparison.text import difference_text
from tailback.comparison.thresholds import Threshold
from tailback.errors import InputError
from tailback.interop import csv as csv_export
from tailback.metrics import METRICS, Metric, estimate, pooling
from tailback.metrics.assertions import Assertion
from tailback.metrics.base import OfTwoResults
from tailback.metrics.estimates import with_spread
from tailback.metrics.pooling import Reading
from tailback.plot import PlotRequest
from tailback.plot.plan import PlotPanel
from tailback.plot.resolve import resolve
from tailback.report.sweep.cells import csv_of
from tailback.tuning.goals import There, quantity

SCENARIO = """\
title    = "everything"
duration = "6s"
warmup   = "1s"

[links.first]
rate  = "10Mbit"
queue = { aqm = "dualpi2" }
loss  = 0.02

[links.second]
rate  = "50Mbit"
queue = { aqm = "fifo", limit = "100p" }

[path]
rtt = "20ms"

[[flows]]
name  = "classic"
cc    = { name = "cubic", beta_ecn = 0.85 }
ecn   = true
class = "C"
route = ["first", "second"]
chunks = { bytes = "1mb", every = "500ms" }

[[flows]]
name  = "scalable"
cc    = "dctcp"
class = "L"
route = ["first", "second"]
chunks = { bytes = "1mb", every = "500ms" }

[[flows]]
name  = "short"
cc    = "reno"
chunks = { bytes = "40kb", think = "0s", count = 1 }
start = "2s"
route = ["second"]

[[traffic]]
name  = "web"
kind  = "web"
route = ["first"]

[[traffic]]
name  = "ping"
kind  = "ping"
interval = "20ms"
route = ["first"]

[[traffic]]
name  = "video"
kind  = "video"
bitrate = "300kbit"
route = ["first"]

[[traffic]]
name  = "page"
kind  = "page"
objects = 10
think = "100ms"
route = ["first"]

[[traffic]]
name  = "rpm"
kind  = "responsiveness"
interval = "500ms"
most_connections = 2
start = "500ms"
stop  = "2500ms"
route = ["first"]

[record]
statistics = "500ms"

[sweep]
"flows.classic.cc.beta_ecn" = [0.85, 0.7]
seeds = 3
"""
KEY = "flows.classic.cc.beta_ecn"
SEEDS = 3

Json = Mapping[str, Any]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tb.Results:
    """Run a sweep of two points and three seeds."""
    return tb.run(SCENARIO, out=tmp_path_factory.mktemp("out"), jobs=1)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tb.Comparison:
    """Compare runs without and with the scalable flow."""
    return tb.compare(
        SCENARIO,
        {"alone": {"flows.scalable.stop": "1ms"}, "beside": {}},
        metrics=[f"{metric.on}.{metric.path}" for metric in METRICS],
        out=tmp_path_factory.mktemp("out"),
        jobs=1,
    )


# --- definitions --------------------------------------------------------------------------------


def stored(run: tb.Run) -> Json:
    """Return the summary of a run as stored."""
    found: Json = json.loads((run.path / "summary.json").read_text())
    return found


def dug(part: Any, path: str) -> float | None:
    for name in path.split("."):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part if isinstance(part, int | float) else None


def bins(part: Json) -> list[Json]:
    found: list[Json] = (part.get("completions") or {}).get("bins", [])
    return found


BOUNDS = {"1kB": 10**3, "3kB": 3000, "9kB": 9000, "27kB": 27_000, "81kB": 81_000}
BOUNDS |= {"243kB": 243_000, "729kB": 729_000, "1MB": 10**6}


def of_bin(path: str) -> Callable[[Json, Json], float | None]:
    head, name, *rest = path.split(".")
    statistic = rest[0] if rest else "mean"

    def value(_: Json, part: Json) -> float | None:
        own = [one for one in bins(part) if one["upto_bytes"] == BOUNDS[name]]
        return own[0][head][statistic] if own else None

    return value


def all_requests(_: Json, part: Json) -> float | None:
    own = [one for one in bins(part) if one["n"]]
    total = sum(one["n"] for one in own)
    return sum(one["n"] * one["completion_s"]["mean"] for one in own) / total if total else None


def class_ratio(word: str) -> Callable[[Json, Json], float | None]:
    def value(summary: Json, _: Json) -> float | None:
        first, second = (c["samples"][word]["mean"] for c in summary["classes"] if c["flows"])
        return first / second if first is not None and second else None

    return value


COMPUTED: dict[str, Callable[[Json, Json], float | None]] = {
    "throughput_total_mbit": lambda s, _: sum(f["throughput_mbit"] or 0 for f in s["flows"]),
    # A metric that is a ratio needs exactly two groups of flows, but this scenario has three
    # groups.
    "throughput_ratio": lambda *_: None,
    "class_rate_ratio": class_ratio("rate_mbit"),
    "class_window_ratio": class_ratio("window_bytes"),
    "requests": lambda _, part: dug(part, "completions.started"),
    "requests_completed": lambda _, part: dug(part, "completions.completed"),
    "requests_refused": lambda _, part: dug(part, "completions.refused"),
    "requests_completion_s": all_requests,
    "chunks": lambda _, part: dug(part, "chunks.begun"),
    "chunks_arrived": lambda _, part: dug(part, "chunks.arrived"),
}

BESIDE = {
    "echo_requests": "echoes.sent",
    "echoes": "echoes.answered",
    "echoes_lost": "echoes.lost",
    "echo_delay_ms": "echoes.back_ms",
    "frames": "frames.sent",
    "frames_complete": "frames.complete",
    "frames_lost": "frames.lost",
    "frames_judged": "frames.judged",
    "late_share": "frames.late_share",
    "frame_delay_ms": "frames.delay_ms",
    "stalls": "frames.stalls",
    "stall_s": "frames.stall_s",
    "longest_stall_s": "frames.longest_stall_s",
    "media_mbit": "frames.bitrate_mbit",
    "rpm": "responsiveness.rpm",
    "rpm_foreign": "responsiveness.foreign_rpm",
    "rpm_loaded": "responsiveness.loaded_rpm",
    "rpm_intervals": "responsiveness.intervals",
    "rpm_connections": "responsiveness.connections",
    "rpm_goodput_mbit": "responsiveness.goodput_mbit",
    "foreign_ms": "responsiveness.foreign_ms",
    "loaded_ms": "responsiveness.loaded_ms",
}
"""For metrics whose name differs from the name of their field: the field, by the metric's path."""


def parts(summary: Json, on: str) -> Iterator[tuple[str, str, Json]]:
    """Yield kind, name and JSON of every part of a summary that can have metrics."""
    if on == "flow":
        yield from (("flow", one["name"], one) for one in summary["flows"])
        yield from (("traffic", one["name"], one) for one in summary["traffic"])
    elif on == "link":
        yield from (("link", name, one) for name, one in summary["queues"].items())
    elif on == "class":
        yield from (("class", one["name"], one) for one in summary["classes"])
    else:
        yield "run", "", summary


def defined(metric: Metric, summary: Json, part: Json) -> float | None:
    """Compute a metric of one run by its definition."""
    if metric.path.startswith("harm."):
        return None
    if metric.path in COMPUTED:
        return COMPUTED[metric.path](summary, part)
    if metric.path.startswith(("completion_s.", "normalised.")):
        return of_bin(metric.path)(summary, part)
    if metric.path.startswith("chunk_ms."):
        return dug(part, f"chunks.took_ms.{metric.path.removeprefix('chunk_ms.')}")
    name, dot, statistic = metric.path.partition(".")
    if name in BESIDE:
        return dug(part, f"{BESIDE[name]}{dot}{statistic}")
    path = metric.path.removeprefix("sampled_")
    head, _, statistic = path.partition(".")
    if path != metric.path or (statistic and not isinstance(part.get(head), Mapping)):
        return dug(part, f"samples.{path}")
    return dug(part, path)


Expected = dict[tuple[str, str], dict[int, float]]


def expected(metric: Metric, runs: list[tb.Run]) -> Expected:
    """Compute the expected values by kind and name of the part, then by seed."""
    found: Expected = {}
    for run in runs:
        summary = stored(run)
        for kind, name, part in parts(summary, metric.on):
            value = defined(metric, summary, part)
            if metric.path == "throughput_gain" and kind == "flow":
                value = gain(run, part)
            if value is not None:
                found.setdefault((kind, name), {})[run.seed] = value
    return found


def gain(run: tb.Run, part: Json) -> float | None:
    """Return the flow's throughput divided by its throughput with the standard backoff (0.7) and
    the same seed."""
    others = [one for one in run.beside.values() if one.params[KEY] == 0.7]
    over = [one for one in others if one.seed == run.seed and run.baseline == one.run_id]
    if not over:
        return None
    base = next(f for f in stored(over[0])["flows"] if f["name"] == part["name"])
    own, before = part["throughput_mbit"], base["throughput_mbit"]
    return own / before if own is not None and before else None


def mean(by_seed: Mapping[int, float]) -> float:
    return math.fsum(by_seed.values()) / len(by_seed)


OF_ONE = [metric for metric in METRICS if not metric.path.startswith("harm.")]
HARM = [metric for metric in METRICS if metric.path.startswith("harm.")]


def point(results: tb.Results) -> list[tb.Run]:
    return results.groups()[0]


# --- metrics in every command ---------------------------------------------------------------------


def test_the_scenario_has_a_value_of_every_metric(results: tb.Results) -> None:
    # Metrics of programs need the kernel engine, so `test_fields` tests them.
    simulated = [m for m in OF_ONE if m.parts != ("program",)]
    lacking = {m.path for m in simulated if not expected(m, point(results))}
    assert lacking <= {"throughput_ratio", "completion_s.729kB", "completion_s.1MB"} | {
        path for m in OF_ONE if (path := m.path).startswith(("normalised.729kB", "normalised.1MB"))
    }
    assert [m.path for m in HARM] == [
        *("harm.throughput", "harm.completion", "harm.requests", "harm.rtt_mean", "harm.rtt_p99"),
        *("harm.one_way_mean", "harm.one_way_p99", "harm.frame_p99"),
        *("harm.drops", "harm.chunk_mean", "harm.chunk_p99"),
    ]


FRAMES = {"flow": "frame", "traffic": "sources", "link": "queues", "class": "classes"}


def test_frames_have_what_is_defined(results: tb.Results) -> None:
    seen = 0
    for metric in METRICS:
        for kind, name in expected(metric, list(results)):
            if kind == "run":
                continue
            frame = getattr(results, FRAMES[kind])()
            if metric.name not in frame or metric.path == "throughput_gain":
                continue
            seen += 1
            of = "source" if kind == "traffic" else kind
            for run in point(results):
                rows = frame.filter((frame[of] == name) & (frame["run_id"] == run.run_id))
                own = expected(metric, [run]).get((kind, name), {}).get(run.seed)
                assert rows[metric.name].to_list() == [own], (metric.path, name)
    assert seen > 50
    for metric in HARM:
        assert not any(metric.name in getattr(results, frame)() for frame in FRAMES.values())


def drawn(results: tb.Results, **asked: Any) -> list[dict[str, Any]]:
    """Return the rows of a figure without drawing it."""
    plan = resolve(results, PlotRequest(**asked))
    chart = plan.kind.draw(plan).layers(PlotPanel(400, 300, 10))
    found: list[dict[str, Any]] = chart.data.values
    return found


PART = {"flow": "flow", "traffic": "flow", "link": "link", "class": "class"}
EVERY_KIND = ("line", "bar", "box", "cdf", "ccdf", "scatter", "heat")


def drawn_values(results: tb.Results, metric: Metric, kind: str, where: Json) -> list[float]:
    """Return the values that a kind of plot shows for one part at the first sweep point."""
    y = f"{metric.on}.{metric.path}"
    if kind == "heat":
        down = next((key for key in where if key != KEY), "seed")
        rows = drawn(results, kind=kind, x=KEY, y=down, color=y, where=where)
        return [row["y"] for row in rows]
    if kind == "scatter":
        return [row["x"] for row in drawn(results, kind=kind, x=y, y=y, where=where)]
    if kind in ("cdf", "ccdf"):
        rows = drawn(results, kind=kind, y=y, where=where)
        return sorted({row["x"] for row in rows})
    rows = drawn(results, kind=kind, x=KEY, y=y, where=where)
    return [row["p50"] for row in rows if "p50" in row] if kind == "box" else [r["y"] for r in rows]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_plots_draw_what_is_defined(results: tb.Results, kind: str) -> None:
    results.require_whole()
    seen = 0
    for metric in OF_ONE:
        for (what, name), by_seed in expected(metric, point(results)).items():
            where: dict[str, tuple[str, ...]] = {KEY: ("0.85",)}
            if what != "run":
                where[PART[what]] = (name,)
            own = sorted(by_seed.values())
            shown = drawn_values(results, metric, kind, where)
            if kind in ("cdf", "ccdf"):
                # A CCDF ends before the largest value, because no value exceeds the largest value.
                inner = [one for one in own if kind == "cdf" or one < own[-1]]
                for one in inner:
                    assert any(x == pytest.approx(one, rel=1e-5, abs=1e-9) for x in shown), (
                        metric.path,
                        name,
                    )
                assert min(shown) == pytest.approx(own[0], rel=1e-5, abs=1e-9)
            elif kind == "box":
                middle = (own[(len(own) - 1) // 2] + own[len(own) // 2]) / 2
                assert shown == [pytest.approx(middle, rel=1e-5, abs=1e-9)], (metric.path, name)
            elif kind == "heat" and what == "run":
                assert sorted(shown) == [pytest.approx(one, rel=1e-5, abs=1e-9) for one in own], (
                    metric.path
                )
            else:
                assert shown == [pytest.approx(mean(by_seed), rel=1e-5, abs=1e-9)], (
                    metric.path,
                    name,
                )
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_harm_of_one_result_is_refused_by_every_plot(results: tb.Results, kind: str) -> None:
    results.require_whole()
    for metric in HARM:
        with pytest.raises(InputError, match="needs two results"):
            drawn_values(results, metric, kind, {})


def at_first_point(compared: tb.Comparison) -> list[Cell]:
    return [cell for cell in compared.cells if cell.labels[KEY] == "0.85"]


def test_comparisons_have_what_is_defined(compared: tb.Comparison) -> None:
    cells: dict[tuple[str, str, str], Cell] = {
        (c.kind, c.name, c.quantity): c for c in at_first_point(compared)
    }
    seen = 0
    for metric in OF_ONE:
        for column in compared.variants:
            for (kind, name), by_seed in expected(metric, point(column.results)).items():
                cell = cells[kind, name, metric.path]
                assert cell.samples[column.name] == pytest.approx(by_seed)
                found = cell.values[column.name]
                assert (found.n, found.of) == (len(by_seed), SEEDS)
                if found.at_least is None:
                    assert found.mean == pytest.approx(mean(by_seed))
                seen += 1
    assert seen > 200


def test_harm_is_what_it_is_defined_as(compared: tb.Comparison) -> None:
    """Ware et al. define harm as the loss divided by the better of the values with and without the
    competitor."""
    alone, beside = ([stored(run) for run in point(v.results)] for v in compared.variants)
    reads: dict[str, tuple[Callable[[Json, Json], float | None], bool]] = {
        "harm.throughput": (lambda _, part: part["throughput_mbit"], True),
        "harm.completion": (lambda _, part: part.get("completion_s"), False),
        "harm.requests": (all_requests, False),
        "harm.rtt_mean": (lambda _, part: dug(part, "rtt_ms.mean"), False),
        "harm.rtt_p99": (lambda _, part: dug(part, "rtt_ms.p99"), False),
    }
    cells = {(c.name, c.quantity): c for c in at_first_point(compared)}
    seen = set()
    for path, (read, more) in reads.items():
        for kind, name in (("flows", "classic"), ("flows", "short"), ("traffic", "web")):
            pairs = [
                tuple(read(one, next(p for p in one[kind] if p["name"] == name)) for one in (a, b))
                for a, b in zip(alone, beside, strict=True)
            ]
            known = [(a, b) for a, b in pairs if a is not None and b is not None and a and b]
            if not known:
                assert (name, path) not in cells
                continue
            harms = [(a - b) / a if more else (b - a) / b for a, b in known]
            found = cells[name, path].values["beside"]
            assert (found.n, found.of) == (len(known), SEEDS)
            assert found.mean == pytest.approx(math.fsum(harms) / len(harms))
            assert cells[name, path].values["alone"].n == 0
            # The harm is compared with 0, because a flow without a competitor suffers no harm.
            samples = cells[name, path].samples
            assert sorted(samples["beside"].values()) == pytest.approx(sorted(harms))
            assert {*samples["alone"].values()} == {0.0}
            seen.add(path)
    assert seen == set(reads)


def test_the_gate_holds_what_is_defined(compared: tb.Comparison) -> None:
    for metric in OF_ONE:
        name = f"{metric.on}.{metric.path}"
        of_all = expected(metric, point(compared.baseline.results))
        if not of_all:
            with pytest.raises(InputError, match="to compare a variant with"):
                hold(compared, [Threshold.parse(f"{name}:1000%")])
            continue
        found = hold(compared, [Threshold.parse(f"{name}:1000%")])
        held = {
            (v.cell.kind, v.cell.name): v.cell.samples["alone"]
            for v in found.verdicts
            if v.cell.labels[KEY] == "0.85"
        }
        assert held == {key: pytest.approx(by_seed) for key, by_seed in of_all.items()}
    for metric in HARM:
        with pytest.raises(InputError, match=f"write {metric.path}:\\+0.1"):
            hold(compared, [Threshold.parse(f"{metric.path}:10%")])
    # With every seed, the harm to the classic flow is above 0 and far below the bound of 1000.
    found = hold(compared, [Threshold.parse("harm.throughput@classic:+1000")])
    assert found.answer == "holds"
    assert {verdict.cell.name for verdict in found.verdicts} == {"classic"}


def test_a_baseline_keeps_what_is_defined(results: tb.Results, tmp_path: Path) -> None:
    target = tmp_path / "kept.tailback.json"
    baseline.write(results, OF_ONE, target)
    kept = json.loads(target.read_text())["points"][0]
    cells = {(c["kind"], c["name"], c["quantity"]): c["values"] for c in kept["cells"]}
    for metric in OF_ONE:
        for (kind, name), by_seed in expected(metric, point(results)).items():
            values = cells[kind, name, metric.path]
            by_seed_kept = dict(zip(kept["seeds"], values, strict=True))
            assert {seed for seed, value in by_seed_kept.items() if value is not None} == set(
                by_seed
            )
            for seed, value in by_seed.items():
                assert by_seed_kept[seed] == pytest.approx(value, rel=1e-9)
    for metric in HARM:
        with pytest.raises(
            OfTwoResults,
            match=r"choose (throughput|completion|requests|rtt|one_way|frame|drops|chunk)",
        ):
            baseline.write(results, [metric], tmp_path / "harm.tailback.json")


ASSERTED = {"flow": "flow", "traffic": "flow", "link": "link", "class": "class_name"}


def test_assertions_are_of_what_is_defined(results: tb.Results) -> None:
    run = point(results)[0]
    for metric in OF_ONE:
        for (kind, name), by_seed in expected(metric, [run]).items():
            who: dict[str, Any] = {ASSERTED[kind]: name} if name else {}
            value = by_seed[run.seed]
            exact = Assertion(metric.path, min=value, max=value, **who)
            assert not list(exact.failures(run.summary)), (metric.path, name)
            above = Assertion(metric.path, min=math.nextafter(value, math.inf), **who)
            assert len(list(above.failures(run.summary))) == 1
    for metric in HARM:
        with pytest.raises(OfTwoResults):
            list(Assertion(metric.path, flow="classic", max=1).failures(run.summary))


def test_every_command_takes_the_name_behind_the_metric(results: tb.Results) -> None:
    """`NAME@PART` works in `[[assert]]`, in `--fail-if` and in `plot`."""
    run = point(results)[0]
    tables, written = [], 0
    for metric in OF_ONE:
        for (_, name), by_seed in expected(metric, [run]).items():
            value = by_seed[run.seed]
            words = [metric.path, metric.name, f"{metric.on}.{metric.path}"]
            texts = [f"{word}@{name}" if name else word for word in words]
            written += 1
            if metric.path == "throughput_gain":
                continue
            text = texts[written % len(texts)]
            tables.append(f'[[assert]]\nmetric = "{text}"\nmin = {value!r}\nmax = {value!r}\n')
            if not name:
                continue
            plan = resolve(
                results, PlotRequest(kind="bar", x=KEY, y=text, where={"seed": (str(run.seed),)})
            )
            rows = plan.kind.draw(plan).layers(PlotPanel(400, 300, 10)).data.values
            assert [row["y"] for row in rows if row["x"] == "0.85"] == [
                pytest.approx(value, rel=1e-5, abs=1e-9)
            ], text
            assert Threshold.parse(f"{text}:10%").name == name
    assert written > 200
    one = re.sub(r'"flows.classic.cc.beta_ecn" = .*\n', "", SCENARIO).replace(
        "seeds = 3", "seeds = 1"
    )
    checked = tb.run(one + "\n".join(tables), out=results.root, jobs=1)
    assert len(checked.asserts) == len(tables)
    assert not checked.failed_assertions()


def test_tuning_takes_what_is_defined(results: tb.Results) -> None:
    run = point(results)[0]
    canonical = run.manifest["canonical"]
    there = There(
        {"flows": canonical["flows"], "links": canonical["links"], "traffic": canonical["traffic"]}
    )
    for metric in OF_ONE:
        for (_, name), by_seed in expected(metric, [run]).items():
            text = f"{metric.path}@{name}" if name else metric.path
            assert quantity(text, there).value(run.summary) == by_seed[run.seed]
    with pytest.raises(InputError, match=r"expected delay_ms.mean@first or delay_ms.mean@second"):
        quantity("delay_ms.mean", there)
    for metric in HARM:
        with pytest.raises(OfTwoResults):
            quantity(f"{metric.path}@classic", there)


def test_the_report_of_a_sweep_has_what_is_defined(results: tb.Results) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_of(results.groups()))))
    kinds = {"source": "traffic"}
    found = {
        (row[KEY], kinds.get(row["of"], row["of"]), row["name"], row["metric"]): row for row in rows
    }
    for metric in OF_ONE:
        for (kind, name), by_seed in expected(metric, point(results)).items():
            row = found["0.85", kind, name, metric.name]
            assert (int(row["n"]), int(row["runs"])) == (len(by_seed), SEEDS)
            if not row["at_least"]:
                assert float(row["mean"]) == pytest.approx(mean(by_seed))
    assert not {row["metric"] for row in rows} & {metric.name for metric in HARM}


def test_an_export_has_what_is_defined(results: tb.Results, tmp_path: Path) -> None:
    run = point(results)[0]
    *_, summary = csv_export.FORMAT.export(run.path, tmp_path / "run.csv", ())
    rows = {
        (row["kind"], row["name"], row["quantity"]): row["value"]
        for row in csv.DictReader(summary.open())
    }
    seen = 0
    for metric in OF_ONE:
        for (kind, name), by_seed in expected(metric, [run]).items():
            found = rows.get((kind, name, metric.name))
            if found is not None and metric.path != "throughput_gain":
                assert float(found) == by_seed[run.seed], (metric.path, name)
                seen += 1
    assert seen > 50


def test_the_table_and_the_json_have_what_is_defined(
    results: tb.Results, tailback: Tailback
) -> None:
    shown = tailback("results", "show", results.id, "--out", results.root, "--json")
    points = json.loads(shown.stdout)["points"]
    for run, printed in zip(results, points, strict=True):
        own = stored(run)
        for key in ("queues", "classes", "traffic", "jain"):
            assert printed[key] == own[key]
        for flow, kept in zip(printed["flows"], own["flows"], strict=True):
            assert {**flow, **kept} == flow
    table = tailback("results", "show", results.id, "--out", results.root).stdout
    columns = {
        "Mbit/s": "throughput_mbit",
        "RTT ms": "rtt_ms.mean",
        "retrans": "retransmits",
        "drops": "drops",
        "marks": "marks",
    }
    # Skip the first table, which has latencies.
    of_flows = itertools.dropwhile(lambda line: "Mbit/s" not in line, table.splitlines())
    head, *lines = [re.split(r"\s{2,}", line.strip()) for line in of_flows]
    row = next(line for line in lines if line[1] == "classic")
    for title, path in columns.items():
        metric = next(m for m in METRICS if m.path == path and m.on == "flow")
        values = expected(metric, point(results))["flow", "classic"].values()
        assert row[head.index(title)] == with_spread(estimate(values))


def test_the_rules_are_listed(tailback: Tailback) -> None:
    listed = tailback("list", "metrics", "--options").stdout
    assert listed.count("    computed from: ") == len(METRICS)
    assert (
        listed.count("    if a run has no value: tables show a lower bound instead of the mean")
        == 1
    )
    assert listed.count("only pairs of runs that both have a value count") == len(HARM)


# --- missing values --------------------------------------------------------

LOSSY = """\
title    = "losses"
duration = "20s"
warmup   = "1s"

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "fifo", limit = "20p" }
loss  = 0.08

[path]
rtt = "60ms"

[[flows]]
name  = "short"
cc    = "cubic"
bytes = "1350kb"

[[flows]]
name = "long"
cc   = "reno"

[sweep]
seeds = 6
"""


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> tb.Results:
    """Run a scenario in which only some transfers finish."""
    return tb.run(LOSSY, out=tmp_path_factory.mktemp("out"), jobs=1)


def test_survivors_are_no_sample(lossy: tb.Results, tailback: Tailback, tmp_path: Path) -> None:
    flows = [run.summary["flows"][0] for run in lossy]
    times = [flow["completion_s"] for flow in flows]
    finished = [time for time in times if time is not None]
    assert 0 < len(finished) < len(times), "the scenario has to have both"
    bounds = [
        time if time is not None else flow["unfinished_s"]
        for time, flow in zip(times, flows, strict=True)
    ]
    for flow in flows:
        if flow["completion_s"] is None:
            # The transfer began at most an RTT after the flow's start, and did not end before the
            # end of the run.
            assert 20 - 0.06 <= flow["unfinished_s"] <= 20
    assert all("unfinished_s" not in run.summary["flows"][1] for run in lossy), "it has no size"
    frame = lossy.frame().filter(flow="short")
    assert frame["unfinished_s"].null_count() == len(finished)

    said = f"{len(finished)} of {len(times)}"
    bound = math.fsum(bounds) / len(bounds)
    table = tailback("results", "show", lossy.id, "--out", lossy.root).stdout
    head, row = (re.split(r"\s{2,}", line) for line in table.splitlines()[1:3])
    assert row[head.index("done s")] == f"> {bound:.4g}"
    assert row[head.index("finished")] == said
    assert "the mean over all seeds is larger" in table

    (cell,) = csv.DictReader(
        line for line in io.StringIO(csv_of(lossy.groups())) if re.search("^of|completion_s", line)
    )
    assert (cell["mean"], cell["n"], cell["runs"]) == ("", str(len(finished)), str(len(times)))
    assert float(cell["at_least"]) == pytest.approx(bound)

    plan = resolve(lossy, PlotRequest(kind="bar", x="flow", y="completion_s"))
    assert not plan.kind.draw(plan).layers(PlotPanel(400, 300, 10)).data.values
    (note,) = plan.missing
    assert f"only {said} transfers finished" in note

    target = tmp_path / "kept.tailback.json"
    baseline.write(lossy, [m for m in METRICS if m.path == "completion_s"], target)
    kept = baseline.read(target)
    (at,) = (kept.kept or {}).values()
    (readings,) = (of["completion_s"] for of in at.cells["flow"].values())
    assert [one.value is None for one in readings.values()] == [one is None for one in times]
    assert [one.at_least is None for one in readings.values()] == [one is not None for one in times]


def test_only_pairs_that_both_finished_are_compared(tmp_path: Path) -> None:
    found = tb.compare(
        LOSSY,
        {"base": {}, "worse": {"bottleneck.loss": 0.085}},
        metrics=["completion_s"],
        out=tmp_path,
        jobs=1,
    )
    (cell,) = (cell for cell in found.cells if cell.name == "short")
    base, worse = (
        {run.seed: time for run in column.results if (time := completion(run)) is not None}
        for column in found.variants
    )
    seeds = [seed for seed in base if seed in worse]
    assert len(seeds) < 6
    assert (cell.values["base"].n, cell.values["base"].of) == (len(base), 6)
    assert cell.values["worse"].mean is None
    difference = cell.differences["worse"]
    assert (difference.n, difference.runs) == (len(seeds), 6)
    gaps = [worse[seed] - base[seed] for seed in seeds]
    assert difference.absolute == pytest.approx(math.fsum(gaps) / len(gaps))
    assert difference_text(difference).endswith(f"({len(seeds)} of 6)")
    assert any("a difference uses the seeds" in note for note in found.notes())
    assert not any("same numbers" in note for note in found.notes())
    assert found.seeds_text == "6 seeds"


def completion(run: tb.Run) -> float | None:
    found: float | None = run.summary["flows"][0]["completion_s"]
    return found


def test_the_same_run_several_times_is_no_evidence(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        'duration = "3s"\nwarmup = "1s"\nstart_jitter = "0s"\n[bottleneck]\nrate = "10Mbit"\n'
        'queue = { aqm = "fifo", limit = "20p" }\n[path]\nrtt = "20ms"\n'
        '[[flows]]\ncc = "reno"\n'
    )
    shown = tailback("run", file, "--seeds", "3", "--out", tmp_path / "out").stdout
    assert "several runs show no more than one run" in shown
    assert "±" not in shown.partition("mean over")[0]
    done = tailback(
        "compare", file, "--variant", "a", "--variant", "b:path.rtt=30ms", "--seeds", "3",
        "--metric", "throughput_mbit", "--out", tmp_path / "out", "--no-report",
    )  # fmt: skip
    for name in ("a", "b"):
        assert f"{name}: every seed gave the same numbers" in done.stdout


def test_an_interval_ends_where_values_do() -> None:
    jain = next(metric for metric in METRICS if metric.path == "jain")
    found = pooling.over_runs(jain, [Reading(value) for value in (0.8, 0.99, 1.0)])
    free = estimate([0.8, 0.99, 1.0])
    assert free.ci95 is not None
    assert found.ci95 is not None
    assert free.ci95[1] > 1 == found.ci95[1]
    assert found.ci95[0] == free.ci95[0]
    assert found.half_width == free.half_width
    assert with_spread(found) == "0.93 −0.28 +0.07"


def test_a_baseline_with_a_cell_twice_is_refused(results: tb.Results, tmp_path: Path) -> None:
    target = tmp_path / "kept.tailback.json"
    baseline.write(results, [m for m in METRICS if m.path == "jain"], target)
    data = json.loads(target.read_text())
    for key, said in (("cells", "cells[0]"), ("seeds", "a seed twice")):
        broken = json.loads(json.dumps(data))
        first = broken["points"][0]
        if key == "cells":
            first["cells"].append({**first["cells"][0], "values": [1, 1, 1]})
        else:
            first["seeds"][1] = first["seeds"][0]
        target.write_text(json.dumps(broken))
        with pytest.raises(InputError, match=re.escape(said)):
            baseline.read(target)
    data["points"].append(data["points"][0])
    target.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"points\[2\] has the parameters of points\[0\]"):
        baseline.read(target)


def test_values_of_one_result_in_an_old_baseline_are_refused(
    results: tb.Results, tmp_path: Path
) -> None:
    target = tmp_path / "kept.tailback.json"
    baseline.write(results, [m for m in METRICS if m.path == "throughput_mbit"], target)
    target.write_text(target.read_text().replace('"throughput_mbit"', '"harm.throughput"'))
    with pytest.raises(InputError, match=r"harm.throughput needs two results"):
        baseline.read(target)


# --- metrics of a chosen link ---------------------------------------------------------------------

TWO_WAYS = """\
duration = "3s"
warmup   = "1s"

[links.forth]
rate  = "10Mbit"
queue = { aqm = "fifo", limit = "60p" }

[links.back]
rate  = "2Mbit"
queue = { aqm = "fifo", limit = "60p" }

[path]
rtt = "20ms"

[[flows]]
name  = "down"
cc    = "reno"
route = ["forth"]

[[flows]]
name  = "up"
cc    = "reno"
route = ["back"]
"""


def test_a_scatter_takes_the_link_of_each_flow(tmp_path: Path) -> None:
    results = tb.run(TWO_WAYS, out=tmp_path, jobs=1)
    (run,) = results
    asked = {"kind": "scatter", "x": "delay_ms.mean", "y": "throughput_mbit", "color": "flow"}
    plan = resolve(results, PlotRequest(**asked))  # type: ignore[arg-type]
    rows = {
        row["series"]: row
        for row in plan.kind.draw(plan).layers(PlotPanel(400, 300, 10)).data.values
    }
    for flow, link in (("down", "forth"), ("up", "back")):
        delay = stored(run)["queues"][link]["delay_ms"]["mean"]
        assert rows[flow]["x"] == pytest.approx(delay, rel=1e-5)
    assert rows["up"]["x"] > 2 * rows["down"]["x"]
    assert plan.across == "mean queue delay of the flow's first link (ms)"
    chosen = resolve(results, PlotRequest(**asked, where={"link": ("back",)}))  # type: ignore[arg-type]
    assert chosen.across == "mean queue delay of back (ms)"
    for kind in ("line", "bar", "box", "cdf"):
        one = resolve(results, PlotRequest(kind=kind, y="delay_ms.p99", where={"link": ("back",)}))
        assert "of back" in one.y.label


def test_a_bound_can_be_of_one_link(compared: tb.Comparison) -> None:
    found = hold(compared, [Threshold.parse("delay_ms.mean@second:1000%")])
    assert {(v.cell.kind, v.cell.name) for v in found.verdicts} == {("link", "second")}
    every = hold(compared, [Threshold.parse("link.delay_ms.mean:1000%")])
    assert {v.where() for v in every.verdicts} == {
        f"delay_mean_ms of link {link} ({KEY} = {beta})"
        for link in ("first", "second")
        for beta in ("0.85", "0.7")
    }
    with pytest.raises(InputError, match=r'"secnd" does not exist.*did you mean "second"'):
        hold(compared, [Threshold.parse("delay_ms.mean@secnd:1000%")])
