"""Tests the command line: exit status, JSON, messages."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import COMMAND, SCENARIO, Tailback
from tailback import examples
from tailback.cli.tables import results as tables

FLOW = {
    "name": str,
    "cc": str,
    "throughput_mbit": float,
    "rtt_ms": {"mean": float, "p50": float, "p99": float},
    "srtt_ms_mean": float,
    "retransmits": int,
    "drops": int,
    "marks": int,
    "sce_marks": int,
    "completion_s": (float, type(None)),
}
QUEUE = {
    "delay_ms": dict.fromkeys(("mean", "p1", "p25", "p50", "p75", "p99", "max"), float),
    "packets": int,
    "drops": int,
    "marks": int,
    "sce_marks": int,
    "utilisation": float,
    "occupancy_bytes_mean": float,
}


def assert_shape(value: Any, shape: Any, at: str = "") -> None:
    """Check that a value has exactly the fields and types of the schema."""
    if isinstance(shape, dict):
        for key, inner in shape.items():
            assert key in value, f"{at}.{key} is missing"
            assert_shape(value[key], inner, f"{at}.{key}")
    else:
        assert isinstance(value, shape), f"{at} is {value!r}"


def test_json_is_what_the_design_says_and_nothing_else(tailback: Tailback, scenario: Path) -> None:
    done = tailback("run", scenario, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert_shape(data, {"engine": str, "version": str, "points": list})
    assert data["engine"] == "sim"
    [point] = data["points"]
    assert_shape(
        point,
        {
            "params": dict,
            "seed": int,
            "run_id": str,
            "duration_s": float,
            "flows": list,
            "queue": QUEUE,
            "queues": {"bottleneck": QUEUE},
            "traffic": list,
            "jain": float,
        },
    )
    assert point["params"] == {}
    assert (point["seed"], point["duration_s"]) == (1, 2.0)
    assert [flow["name"] for flow in point["flows"]] == ["cubic", "dctcp"]
    for flow in point["flows"]:
        assert_shape(flow, FLOW)
    # Together, two long flows fill the link of 10 Mbit/s.
    total = sum(flow["throughput_mbit"] for flow in point["flows"])
    assert 8.5 < total < 10
    assert point["queue"] == point["queues"]["bottleneck"]


def test_params_are_in_base_units_and_the_last_axis_is_fastest(
    tailback: Tailback, sweep: Path
) -> None:
    data = json.loads(tailback("run", sweep, "--json", "--seeds", "1").stdout)
    found = [
        (p["params"]["bottleneck.rate"], p["params"]["flows.cubic.cc"]) for p in data["points"]
    ]
    assert found == [(rate * 1e6, cc) for rate in (5.0, 10.0, 20.0) for cc in ("cubic", "reno")]


def test_set_takes_toml_and_bare_words(tailback: Tailback, scenario: Path) -> None:
    done = tailback(
        "run", scenario, "--json", "--set", "flows[0].cc=reno", "--set", 'duration="1s"',
        "--set", "bottleneck.queue={ aqm = \"fifo\", limit = \"30p\" }",
    )  # fmt: skip
    [point] = json.loads(done.stdout)["points"]
    assert point["duration_s"] == 1.0
    assert point["flows"][0]["cc"] == "reno"
    assert point["queue"]["marks"] == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1"),
        (SCENARIO.replace('rate  = "10Mbit"', 'rate  = "10Mb"'), "7:9"),
        (SCENARIO.replace("codel", "codle"), '\n  write "codel"'),
        (SCENARIO.replace("duration", "durration"), '\n  write "duration"'),
        (SCENARIO + '[sweep]\n"bottleneck.rat" = ["1Mbit"]\n', '\n  write "rate"'),
        (SCENARIO.replace("500ms", "5s"), "3:"),
        ("\x00\x01", "1:1"),
    ],
)
def test_bad_scenarios(tailback: Tailback, tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    for command in ("run", "check"):
        done = tailback(command, file)
        assert done.returncode == 2, done.stderr
        assert re.match(rf"error: {re.escape(str(file))}:\d+:\d+: ", done.stderr), done.stderr
        assert expected in done.stderr
        assert done.stdout == ""
    assert not (tmp_path / "results").exists(), "bad input writes nothing"


@pytest.mark.parametrize(
    "args",
    [
        ("run", "nothing.toml"),
        ("run", "."),
        ("run", "{scenario}", "--set", "bottleneck.rate"),
        ("run", "{scenario}", "--set", "bottleneck.rat=1Mbit"),
        ("run", "{scenario}", "--seeds", "0"),
        ("run", "{scenario}", "--seeds", "100001"),
        ("run", "{scenario}", "--seeds", "99999999999999999999999"),
        ("run", "{scenario}", "--jobs", "none"),
        ("run", "{scenario}", "--nonsense"),
        ("run",),
        ("nonsense",),
        ("reproduce", "nonsense"),
        ("list", "nonsense"),
        ("report", "nonsense"),
    ],
)
def test_bad_arguments(
    tailback: Tailback, scenario: Path, tmp_path: Path, args: tuple[str, ...]
) -> None:
    done = tailback(*(arg.format(scenario=scenario) for arg in args))
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "results").exists(), "bad input writes nothing"


def test_the_kernel_engine_without_a_kit_names_the_command(
    tailback: Tailback, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_KIT", str(tmp_path / "none"))
    for command in (("run", scenario), ("reproduce", "dctcp-internet-2014")):
        done = tailback(*command, "--engine", "kernel")
        assert done.returncode == 2
        assert done.stderr == "error: the guest kernel is not built\n  run: tailback kernel build\n"


def test_an_assertion_that_does_not_hold_fails_the_run(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "assert.toml"
    holds = '[[assert]]\nmetric = "utilisation"\nmin = 0.5\nmax = 1.01\n'
    file.write_text(SCENARIO + holds, encoding="utf-8")
    assert tailback("run", file).returncode == 0
    broken = '[[assert]]\nmetric = "throughput_mbit"\nflow = "cubic"\nmin = 50\n'
    file.write_text(SCENARIO + holds + broken, encoding="utf-8")
    done = tailback("run", file, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)["points"][0]["flows"][0]["throughput_mbit"]
    assert f"throughput_mbit of flow cubic is {found:g}, expected at least 50" in done.stderr


def test_check_says_how_many_runs(tailback: Tailback, sweep: Path, tmp_path: Path) -> None:
    done = tailback("check", sweep)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{sweep}: ok, 12 runs: about ")
    assert done.stdout.endswith(" of memory a run\n")
    assert list(tmp_path.iterdir()) == [sweep]


def test_runs_of_more_than_an_hour_are_warned_of(tailback: Tailback, scenario: Path) -> None:
    # A link of 10 Mbit/s carries 826 full frames a second, and a frame takes 100 ns of CPU time.
    done = tailback("check", scenario, "--set", "duration=1000000s", "--set", "path.rtt=1s")
    assert done.returncode == 0
    assert "1 run: about 830 million packets, 1.4 min of CPU time" in done.stdout
    assert "warning" not in done.stderr
    done = tailback("check", scenario, "--set", "duration=1000000s", "--seeds", "50")
    assert "50 runs: about 41 billion packets, 1.1 h of CPU time" in done.stdout
    assert "warning: 50 runs: about 41 billion packets, 1.1 h of CPU time" in done.stderr


def test_the_table_groups_seeds(tailback: Tailback, sweep: Path) -> None:
    done = tailback("run", sweep)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].strip() == "two flows"
    # The table has 2 flows at each of 6 sweep points, a title, a head, and the line about seeds.
    assert len(lines) == 15
    assert "±" in lines[2]
    assert "2 seeds" in lines[-1]


def on_a_terminal(*args: object, columns: int) -> list[str]:
    """Return the output of `tailback` on a terminal of this width, without trailing spaces."""
    master, slave = pty.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": str(columns)}
    command = [*COMMAND, *map(str, args)]
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(slave)
        text = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the command has closed the terminal
                break
            if not chunk:
                break
            text += chunk
    os.close(master)
    assert process.returncode == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode())
    return [line.rstrip() for line in plain.splitlines()]


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_no_terminal_is_too_narrow_for_a_number(
    tailback: Tailback, sweep: Path, tmp_path: Path, columns: int
) -> None:
    assert tailback("run", sweep).returncode == 0
    lines = on_a_terminal("run", sweep, "--out", tmp_path / "results", columns=columns)
    text = "\n".join(lines)
    assert "…" not in text
    points = json.loads(tailback("run", sweep, "--json").stdout)["points"]
    means = [(a["jain"] + b["jain"]) / 2 for a, b in zip(points[::2], points[1::2], strict=True)]
    for mean in means:
        assert f"{mean:.4g}" in text
    if columns >= 80:
        assert max(map(len, lines)) <= columns
    if columns == 200:
        assert "bottleneck.rate" in text
        assert len(lines) == 15, "one table"


@pytest.mark.parametrize("columns", [80, 120, 160])
def test_verdicts_fit_the_terminal(tailback: Tailback, tmp_path: Path, columns: int) -> None:
    parts = ("5.1.1-timeout", "5.2.1-beside-background", "7.1-ce", "5.3.1")
    words = [word for part in parts for word in ("--part", part)]
    command = ["evaluate", "cc", "cubic", "--quick", "--seeds", "2", "--no-report", *words]
    lines = on_a_terminal(*command, "--out", tmp_path / "results", columns=columns)
    lines = lines[: lines.index("")]
    assert max(map(len, lines)) <= columns
    text = "\n".join(lines)
    assert "…" not in text
    found = tailback(*command, "--out", tmp_path / "results", "--json")
    for section in json.loads(found.stdout)["sections"]:
        assert f"{section['id']} " in text
        assert set((section["measure"] or section["note"]).split()) <= set(text.split())
    # A pipe has no width, so each section is one line.
    piped = tailback(*command, "--out", tmp_path / "results").stdout.splitlines()
    assert piped.index("") == 1 + len(parts)


def test_columns_have_names_of_their_own_and_the_first_run_fits(tmp_path: Path) -> None:
    first = tmp_path / "first.toml"
    first.write_text(examples.text("first"), encoding="utf-8")
    title, head, row = on_a_terminal("run", first, "--out", tmp_path / "results", columns=100)
    names = re.split(r"\s{2,}", head)
    assert len(set(names)) == len(names) == len(row.split())
    # Every column names its unit, except columns of counts and names.
    counts = {"retrans", "drops", "marks"}
    assert all(re.search(r" (ms|%)$|^Mbit/s$", name) for name in set(names[2:]) - counts), names
    assert max(map(len, (title, head, row))) <= 100


def test_the_table_shows_every_link_and_other_traffic(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    links = "".join(f'[links.{name}]\nrate = "10Mbit"\n' for name in ("near", "far"))
    flow = '[[flows]]\ncc = "reno"\nroute = ["near", "far"]\n'
    cbr = '[[traffic]]\nkind = "cbr"\nrate = "2Mbit"\nroute = ["far"]\n'
    file.write_text(f'duration = "1s"\n{links}{flow}{cbr}', encoding="utf-8")
    done = tailback("run", file)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows if row] == [
        ["latency", "(median"],
        ["source", "kind"],
        ["cbr", "cbr"],
        ["flow", "cc"],
        ["reno", "reno"],
        ["cbr", "cbr"],
        ["link", "aqm"],
        ["near", "fifo"],
        ["far", "fifo"],
    ]


def test_the_table_shows_requests_by_size(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "web.toml"
    link = '[bottleneck]\nrate = "40Mbit"\n[path]\nrtt = "10ms"\n'
    web = '[[traffic]]\nkind = "web"\narrival = "20ms"\n'
    file.write_text(f'duration = "20s"\n{link}{web}', encoding="utf-8")
    done = tailback("run", file)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    header, row = lines[-2].split(), lines[-1].split()
    assert header[:6] == ["source", "requests", "done", "1", "kB", "ms"]
    assert row[0] == "web"
    started, completed = int(row[1]), int(row[2])
    # The number of requests is Poisson-distributed, with mean 1000 and standard deviation 32.
    assert 870 < started < 1130
    assert started - 20 <= completed <= started
    # The link has no other traffic. Requests of one or two segments take two round-trip times, and
    # larger requests take more. Bins of very large requests may be empty.
    times = [float(cell) for cell in row[3:] if cell != "–"]
    assert len(times) >= 7
    assert times[0] == pytest.approx(20, abs=1)
    assert times == sorted(times)

    metrics = tailback("list", "metrics").stdout
    assert "completion_s.81kB" in metrics
    assert "normalised.1MB.p99" in metrics


def test_a_sweep_with_requests_is_the_same_with_more_jobs(
    tailback: Tailback, tmp_path: Path
) -> None:
    file = tmp_path / "web.toml"
    link = '[bottleneck]\nrate = "10Mbit"\nqueue = { aqm = "codel", ecn = true }\n'
    flow = '[[flows]]\ncc = "dctcp"\n'
    web = '[[traffic]]\nkind = "web"\n[[traffic]]\nkind = "on-off"\n'
    sweep = '[sweep]\n"traffic[0].arrival" = ["20ms", "100ms"]\nseeds = 3\n'
    file.write_text(f'duration = "5s"\n{link}{flow}{web}{sweep}', encoding="utf-8")
    outputs = [
        tailback("run", file, "--json", "--jobs", jobs, "--out", tmp_path / jobs).stdout
        for jobs in ("1", "4")
    ]
    assert outputs[0] == outputs[1]
    points = json.loads(outputs[0])["points"]
    assert len({str(point["traffic"]) for point in points}) == 6, "each seed has its own"


def test_lists_name_what_scenarios_may_use(tailback: Tailback) -> None:
    assert "dctcp" in tailback("list", "cc").stdout
    assert "codel" in tailback("list", "aqm").stdout
    traffic = tailback("list", "traffic").stdout
    assert "cbr" in traffic
    assert "Linux" not in traffic, "a source of traffic is none of Linux's"
    assert "utilisation" in tailback("list", "metrics").stdout
    options = tailback("list", "aqm", "--options")
    assert "    target = 5ms" in options.stdout


def test_seeds_are_the_same_at_every_point(tailback: Tailback, sweep: Path) -> None:
    points = json.loads(tailback("run", sweep, "--json").stdout)["points"]
    assert [p["seed"] for p in points] == [1, 2] * 6
    assert len({p["run_id"] for p in points}) == 12


def test_a_sweep_has_a_report(tailback: Tailback, sweep: Path, tmp_path: Path) -> None:
    assert tailback("run", sweep).returncode == 0
    done = tailback("report", "results")
    assert done.returncode == 0, done.stderr
    page = tmp_path / done.stdout.strip()
    assert page.name == "index.html"
    text = (page.parent / "report.md").read_text(encoding="utf-8")
    # All figures have equal n, seeds, duration, warm-up and engine, so the page prints them once.
    for fact in ("12, 2 seeds per scenario", "2 s simulated", "the first 0.5 s", "sim 0."):
        assert text.count(fact) == 1, fact
    assert text.count("| 5 Mbit/s | cubic | cubic | cubic |") == 1
    figures = {p.name for p in page.parent.glob("figures/*.svg")}
    assert {"delay.svg", "time-1.svg", "link-delay-p99-ms.svg", "run-jain.svg"} <= figures
    cells = (page.parent / "cells.csv").read_text(encoding="utf-8").splitlines()
    throughputs = [line for line in cells if ",throughput_mbit," in line]
    # There are two flows at each of six sweep points.
    assert len(throughputs) == 12


def test_the_table_of_a_large_sweep_reads_only_the_points_that_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "many.toml"
    rtts = ", ".join(f'"{rtt}ms"' for rtt in range(20, 84))
    file.write_text(
        'duration = "100ms"\n[bottleneck]\nrate = "10Mbit"\n'
        'queue = { aqm = "fifo", limit = "20p" }\n[[flows]]\ncc = "reno"\n'
        f'[sweep]\nseeds = 2\n"path.rtt" = [{rtts}]\n'
    )
    results = tb.run(file, out=tmp_path / "out", progress=False)
    tables.show(results)
    read = ["brief" in vars(run) or "summary" in vars(run) for run in results.points]
    assert read == [True] * 120 + [False] * 8
    shown = capsys.readouterr().out
    assert shown.endswith("\n4 more sweep points; --json has them all\n")
    assert "\n83ms" not in shown
    assert "\n79ms" in shown
