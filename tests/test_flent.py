"""Tests Flent's data files. Flent must open and plot exported files, with the numbers of the run.
`compare` must read data files and runs together, and reject other files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import tailback as tb
from conftest import Tailback
from tailback.comparison import Comparison, compare_stored
from tailback.errors import InputError

ONE = """\
title    = "CUBIC through CoDel"
duration = "5s"

[bottleneck]
rate  = "10Mbit"
queue = { aqm = "codel" }

[path]
rtt = "40ms"

[[flows]]
cc = "cubic"
"""

TWO = ONE.replace("CUBIC", "two") + '[[flows]]\ncc = "reno"\nstart = "1s"\n'

BOTH_WAYS = TWO + "reverse = true\n"

PLOTS_OF_ONE = (
    "totals",
    "totals_with_tcp_rtt",
    "tcp_rtt",
    "tcp_cwnd",
    "ping_cdf",
    "tcp_rtt_cdf",
    "box_totals",
    "box_totals_combine",
    "tcp_rtt_box_combine",
)

PLOTS_OF_TWO = (
    "totals",
    "upload",
    "tcp_rtt",
    "tcp_cwnd",
    "tcp_rtt_cdf",
    "box_totals",
    "box_totals_combine",
    "box_combine",
)

FIRST, SECOND = (0x1B, 0x9E, 0x77), (0xD9, 0x5F, 0x02)
"""The colours of Flent's first two curves."""

CACHE = Path(sys.prefix) / "matplotlib"
"""The folder of Matplotlib's list of fonts. The tests keep this folder, because making the list
takes seconds."""

FLENT = """\
import sys
import flent
for args in map(str.split, sys.argv[1:]):
    sys.argv = ["flent", *args]
    flent.run_flent()
"""


def flent(folder: Path, *commands: str) -> str:
    """Run these Flent commands in one process, and return their output."""
    done = subprocess.run(
        [sys.executable, "-c", FLENT, *commands],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(folder), "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(CACHE)},
    )
    # Flent always ends with status 0, so errors are only in its output.
    assert (done.returncode, done.stderr) == (0, "")
    greetings = ("Starting Flent", "Initialised matplotlib")
    lines = done.stdout.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(greetings))


def pixels(file: Path) -> dict[Any, int]:
    """Count the pixels of each colour in a picture."""
    with Image.open(file) as image:
        assert image.width > 400
        colours = image.convert("RGB").getcolors(1 << 24)
    assert colours is not None
    return {colour: count for count, colour in colours}


def run(folder: Path, text: str, engine: str = "sim", **values: object) -> tb.Run:
    """Run a scenario that has a single run. Return the run."""
    chosen = {name.replace("__", "."): value for name, value in values.items()}
    [made] = tb.run(text, set=chosen, engine=engine, out=folder / "results")
    return made


def exported(tailback: Tailback, made: tb.Run, name: str) -> dict[str, Any]:
    """Export a run as a data file beside the results folder. Return the contents of the data
    file."""
    done = tailback("export", made.path, "--format", "flent", "--out", f"{name}.flent.gz")
    assert (done.returncode, done.stdout) == (0, f"{name}.flent.gz\n"), done.stderr
    return contents_of(made.path.parents[2] / f"{name}.flent.gz")


def contents_of(file: Path) -> dict[str, Any]:
    """Return the contents of a data file."""
    data: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return data


@pytest.mark.parametrize("engine", ["sim", "kernel"])
def test_flent_plots_a_run(
    engine: str, tailback: Tailback, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if engine == "kernel":
        request.getfixturevalue("kernel_kit")
    one = run(tmp_path, ONE, engine)
    two = run(tmp_path, TWO, engine)
    assert exported(tailback, one, "one")["metadata"]["NAME"] == "tcp_1up"
    assert exported(tailback, two, "two")["metadata"]["NAME"] == "tcp_2up"
    wanted = [("one", plot) for plot in PLOTS_OF_ONE] + [("two", plot) for plot in PLOTS_OF_TWO]
    if engine == "kernel":
        # Both engines write the same fields, so a few plots are enough here.
        wanted = [
            ("one", "totals_with_tcp_rtt"),
            ("two", "tcp_cwnd"),
            ("two", "box_totals_combine"),
        ]
    flent(
        tmp_path,
        *(f"-i {file}.flent.gz -p {plot} -o {file}-{plot}.png" for file, plot in wanted),
    )
    for file, plot in wanted:
        found = pixels(tmp_path / f"{file}-{plot}.png")
        if "box" not in plot:
            assert found.get(FIRST, 0) > 100, (file, plot)
        if file == "two" and plot in ("totals", "upload", "tcp_rtt", "tcp_cwnd", "tcp_rtt_cdf"):
            assert found.get(SECOND, 0) > 100, (file, plot)

    # Flent prints the same numbers as the run's summary.
    for made, file, names in ((one, "one", [""]), (two, "two", ["::1", "::2"])):
        text = flent(tmp_path, f"-i {file}.flent.gz -f summary")
        means = dict(re.findall(r"^ (\S.*?) +: +([\d.]+) ", text, re.MULTILINE))
        table = flent(tmp_path, f"-i {file}.flent.gz -f csv")
        rows = list(csv.DictReader(io.StringIO(table)))
        series = made.series()
        for flow, place in zip(made.summary["flows"], names, strict=True):
            name = f"TCP upload{place}"
            assert float(means[name]) == pytest.approx(flow["throughput_mbit"], abs=0.005)
            assert float(means[f"{name}::tcp_rtt"]) == pytest.approx(
                flow["srtt_ms_mean"], abs=0.005
            )
            known = {
                (row["quantity"], row["time_ns"] / 1e9): row["value"]
                for row in series.filter(series["flow"] == flow["name"]).iter_rows(named=True)
            }
            cwnds = {
                float(row[f"tcp_{len(names)}up"]): float(cwnd)
                for row in rows
                if (cwnd := row[f"{name}::tcp_cwnd"])
            }
            assert len(cwnds) >= 39
            assert cwnds == {at: value for (q, at), value in known.items() if q == "cwnd"}


@pytest.mark.parametrize("engine", ["sim", "kernel"])
@pytest.mark.parametrize("warmup", ["0s", "1s"])
def test_every_byte_is_in_the_file(
    engine: str, warmup: str, tailback: Tailback, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if engine == "kernel":
        request.getfixturevalue("kernel_kit")
    # The second flow and the run both end in the middle of an interval.
    text = TWO.replace("5s", "4.95s") + 'bytes = "500kb"\n'
    made = run(tmp_path, text, engine, warmup=warmup)
    data = exported(tailback, made, "all")
    since = {"0s": 0.0, "1s": 1.0}[warmup]
    cubic, reno = made.summary["flows"]
    assert reno["completion_s"] is not None
    for flow, name in ((cubic, "TCP upload::1"), (reno, "TCP upload::2")):
        samples = [row for row in data["raw_values"][name] if "val" in row]
        measured = [row for row in samples if row["t"] > since + 1e-9]
        mbit = sum(row["val"] * row["dur"] for row in measured)
        assert mbit * 1e6 / 8 == pytest.approx(flow["delivered_bytes"], rel=1e-12)
        time = sum(row["dur"] for row in measured)
        assert mbit / time == pytest.approx(flow["throughput_mbit"], rel=1e-9)
        assert samples[-1]["t"] == pytest.approx(flow["to_s"], rel=1e-12)
        assert all(a["t"] < b["t"] for a, b in pairwise(samples))
    assert len(data["x_values"]) == 51
    assert all(len(column) == 51 for column in data["results"].values())
    assert data["metadata"]["LENGTH"] == pytest.approx(4.95 - since)
    # `DELAY` is the warm-up that Flent's box and cumulative plots leave out.
    delay, total = data["metadata"]["DELAY"], data["metadata"]["TOTAL_LENGTH"]
    assert delay == since
    assert total - delay == pytest.approx(4.95)


def test_the_same_run_gives_the_same_file(tailback: Tailback, tmp_path: Path) -> None:
    made = run(tmp_path, ONE)
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        out = folder / "x.flent.gz"
        assert tailback("export", made.path, "--format", "flent", "--out", out).returncode == 0
    assert (tmp_path / "a/x.flent.gz").read_bytes() == (tmp_path / "b/x.flent.gz").read_bytes()


def test_a_ping_is_the_path_and_the_queues_found(tailback: Tailback, tmp_path: Path) -> None:
    steps = {"steps": [["0s", "10Mbit"], ["2s", "5Mbit"]]}
    made = run(tmp_path, ONE, bottleneck__rate=steps, bottleneck__delay="3ms")
    data = exported(tailback, made, "ping")
    series = made.series()
    backlog = series.filter(series["quantity"] == "backlog_bytes")
    known = [
        (row["time_ns"] / 1e9, 43 + row["value"] * 8e3 / (5e6 if row["time_ns"] >= 2e9 else 10e6))
        for row in backlog.iter_rows(named=True)
    ]
    found = [(row["t"], row["val"]) for row in data["raw_values"]["Ping (ms) ICMP"]]
    assert len(found) == 49
    for (at, value), (time, expected) in zip(found, known, strict=True):
        assert at == time
        assert value == pytest.approx(expected, rel=1e-12)
    assert max(value for _, value in found) > 45


def test_directions_have_their_tests(tailback: Tailback, tmp_path: Path) -> None:
    down = ONE + "reverse = true\n"
    three = TWO + '[[flows]]\ncc = "dctcp"\n'
    for text, test, series in (
        (BOTH_WAYS, "tcp_bidirectional", ["TCP download", "TCP upload"]),
        (down, "tcp_ndown", ["TCP download::1"]),
        (three, "tcp_nup", ["TCP upload::1", "TCP upload::2", "TCP upload::3"]),
        (
            BOTH_WAYS + "count = 2\n",
            "rrul_be_nflows",
            ["TCP download BE::1", "TCP download BE::2", "TCP upload BE::1"],
        ),
    ):
        made = run(tmp_path, text, bottleneck__both_directions=True)
        data = exported(tailback, made, test)
        assert data["metadata"]["NAME"] == test
        assert sorted(name for name in data["raw_values"] if "TCP" in name) == series
        flent(
            tmp_path,
            *(
                f"-i {test}.flent.gz -p {plot} -o {test}-{plot}.png"
                for plot in ("totals", "tcp_cwnd")
            ),
        )
        for plot in ("totals", "tcp_cwnd"):
            assert pixels(tmp_path / f"{test}-{plot}.png").get(FIRST, 0) > 100
    # The bytes of each flow are in the series of its direction.
    made = run(tmp_path, BOTH_WAYS, bottleneck__both_directions=True)
    raw = exported(tailback, made, "ways")["raw_values"]
    for flow, name in zip(made.summary["flows"], ("TCP upload", "TCP download"), strict=True):
        sent = sum(row["val"] * row["dur"] for row in raw[name] if "val" in row)
        assert sent * 1e6 / 8 == pytest.approx(flow["delivered_bytes"], rel=1e-12)


def test_every_window_of_a_record_of_acks(tailback: Tailback, tmp_path: Path) -> None:
    made = run(tmp_path, ONE, record__series="acks")
    raw = exported(tailback, made, "acks")["raw_values"]["TCP upload"]
    series = made.series()
    windows = series.filter(series["quantity"] == "cwnd")
    times = dict(windows.select("time_ns", "value").iter_rows())
    assert len(times) > 1000
    assert {row["t"]: row["tcp_cwnd"] for row in raw if "tcp_cwnd" in row} == {
        at / 1e9: value for at, value in times.items()
    }
    rates = [row for row in raw if "val" in row]
    assert len(rates) == 50
    mean = sum(row["val"] * row["dur"] for row in rates) / sum(row["dur"] for row in rates)
    # The sender counts bytes when they are acknowledged, half a round trip after delivery.
    assert mean == pytest.approx(made.summary["flows"][0]["throughput_mbit"], rel=1e-9)


def test_what_has_no_series_is_not_exported(tailback: Tailback, tmp_path: Path) -> None:
    off = run(tmp_path, ONE, record__series="off")
    silent = run(
        tmp_path, ONE.partition("[[flows]]")[0] + '[[traffic]]\nkind = "cbr"\nrate = "1Mbit"\n'
    )
    fine = run(tmp_path, ONE)
    for args, expected in (
        ((off.path,), 'record.series = "interval"'),
        ((silent.path,), "no TCP flow"),
        ((fine.path, "--out", "x.json"), ".flent.gz"),
        ((fine.path, "--interface", "bottleneck.in"), "only for"),
    ):
        done = tailback("export", *args, "--format", "flent")
        assert (done.returncode, done.stdout) == (2, ""), args
        assert expected in done.stderr
    assert not list(tmp_path.glob("*.flent.gz"))
    assert not (tmp_path / "x.json").exists()


# The times in the data file are like the times of a test bed. Flows start 5 s after the test, and
# each sample has a duration.
T0 = 1_563_000_000.0
RATES = {"TCP upload::1": (4.0, 6.0), "TCP upload::2": (3.0, 2.0)}


def measured(**changes: Any) -> dict[str, Any]:
    """Return a data file like the data files of a test bed. `changes` maps paths to values. The
    value `None` removes a key."""
    raw: dict[str, list[dict[str, float]]] = {
        "Ping (ms) ICMP": [{"t": T0 + 0.2 * i, "val": 40.5} for i in range(1, 70)]
    }
    for name, (early, late) in RATES.items():
        # The samples have unequal lengths: 1 s of start-up at one rate, then 3 s at another rate.
        ends = ((5.25, 0.25), (6.0, 0.75), (8.0, 2.0), (9.0, 1.0))
        raw[name] = [
            {"t": T0 + end, "dur": dur, "val": early if end <= 6 else late} for end, dur in ends
        ]
        more = 2.0 if name == "TCP upload::1" else 0.0
        raw[name] += [
            {"t": T0 + 5 + 0.5 * i, "tcp_rtt": (50 if i <= 2 else 44) + more, "tcp_cwnd": 20.0 + i}
            for i in range(1, 9)
        ]
    data: dict[str, Any] = {
        "version": 4,
        "x_values": [0.2 * i for i in range(70)],
        "results": {name: [None] * 70 for name in raw},
        "raw_values": raw,
        "metadata": {
            "NAME": "tcp_2up",
            "TITLE": "bed",
            "HOST": "server",
            "LOCAL_HOST": "client",
            "LENGTH": 4,
            "STEP_SIZE": 0.2,
            "TIME": "2019-07-13T06:40:00.000000Z",
            "T0": "2019-07-13T06:40:00.000000Z",
            "FLENT_VERSION": "1.3.0",
            "TEST_PARAMETERS": {"upload_streams": "2"},
        },
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        part = data
        for key in parents:
            part = part[key]
        if value is None:
            del part[last]
        else:
            part[last] = value
    return data


def write(file: Path, data: object) -> Path:
    """Write a data file with this content."""
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress(json.dumps(data).encode(), mtime=0))
    return file


def values(made: Comparison) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the mean and n of each value, keyed by name, quantity and column."""
    return {
        (cell.name or cell.kind, cell.quantity): {
            column: (found.mean, found.n) for column, found in cell.values.items()
        }
        for cell in made.cells
    }


def test_flent_reads_the_test_bed_of_these_tests(tmp_path: Path) -> None:
    write(tmp_path / "bed.flent.gz", measured())
    flent(tmp_path, "-i bed.flent.gz -p tcp_rtt -o bed.png")
    assert pixels(tmp_path / "bed.png").get(FIRST, 0) > 100


def test_a_test_bed_beside_a_run(tailback: Tailback, tmp_path: Path) -> None:
    bed = write(tmp_path / "bed.flent.gz", measured())
    made = run(tmp_path, TWO)
    found = values(compare_stored([made.path, bed]))
    cubic, reno = made.summary["flows"]
    title = "two through CoDel"
    assert found["cubic", "throughput_mbit"] == {
        title: (cubic["throughput_mbit"], 1),
        "bed": (pytest.approx(5.5), 1),
    }
    assert found["reno", "throughput_mbit"]["bed"] == (pytest.approx(2.25), 1)
    assert found["reno", "srtt_ms_mean"] == {
        title: (reno["srtt_ms_mean"], 1),
        "bed": (pytest.approx(45.5), 1),
    }
    assert found["run", "throughput_total_mbit"] == {
        title: (pytest.approx(cubic["throughput_mbit"] + reno["throughput_mbit"]), 1),
        "bed": (pytest.approx(7.75), 1),
    }
    assert found["run", "jain"]["bed"] == (pytest.approx(7.75**2 / 2 / (5.5**2 + 2.25**2)), 1)
    assert found["run", "throughput_ratio"]["bed"] == (pytest.approx(5.5 / 2.25), 1)
    assert len(found) == 7

    # If a run has a warm-up, a comparison also leaves out the same time at the start of the data
    # file.
    warm = run(tmp_path, TWO, warmup="1s")
    compared = compare_stored([bed, warm.path])
    found = values(compared)
    assert found["TCP upload::1", "throughput_mbit"] == {
        "bed": (pytest.approx(6.0), 1),
        title: (warm.summary["flows"][0]["throughput_mbit"], 1),
    }
    assert found["TCP upload::2", "srtt_ms_mean"]["bed"] == (pytest.approx(44.857142857), 1)
    assert any("first 1 s do not count" in note for note in compared.notes())

    done = tailback("compare", made.path, "bed.flent.gz")
    assert done.returncode == 0, done.stderr
    assert "5.5" in done.stdout
    assert "each point has one run, which shows nothing about noise" in done.stdout
    page = Path(re.search(r"report: (.*)", done.stdout)[1])  # type: ignore[index]
    assert "bed.flent.gz" in (tmp_path / page).read_text(encoding="utf-8")
    # A data file can also be compared with a whole sweep if the sweep has only one sweep point.
    assert tailback("compare", "bed.flent.gz", tmp_path / "results").returncode == 0


def test_what_is_exported_comes_back(tailback: Tailback, tmp_path: Path) -> None:
    for warmup in ("0s", "1s"):
        made = run(tmp_path, TWO, warmup=warmup)
        exported(tailback, made, "back")
        done = tailback("compare", made.path, "back.flent.gz", "--json", "--no-report")
        assert done.returncode == 0, done.stderr
        cells = json.loads(done.stdout)["cells"]
        assert [cell["quantity"] for cell in cells if cell["kind"] == "flow"] == [
            "throughput_mbit",
            "srtt_ms_mean",
        ] * 2
        for cell in cells:
            sim, file = cell["values"]["sim"]["mean"], cell["values"]["flent"]["mean"]
            assert file == pytest.approx(sim, rel=1e-9), cell["quantity"]


def test_files_of_a_folder_are_replicates(tmp_path: Path) -> None:
    for i in range(3):
        raw = measured()["raw_values"]
        for name in RATES:
            for row in raw[name]:
                if "val" in row:
                    row["val"] += i
        write(tmp_path / "bed" / f"{i}.flent.gz", measured(raw_values=raw))
    other = tmp_path / "other"
    other.mkdir()
    [one, two] = tb.run(TWO, out=tmp_path / "results", seeds=2)
    sweep = next((tmp_path / "results" / "sweeps").iterdir())
    made = compare_stored([sweep, tmp_path / "bed"])
    cell = next(c for c in made.cells if c.name == "cubic" and c.quantity == "throughput_mbit")
    bed = cell.values["bed"]
    assert bed.n == 3
    assert bed.mean == pytest.approx(6.5)
    # The interval uses Student's t for two degrees of freedom. Neighbouring values differ by 1.
    assert bed.half_width == pytest.approx(4.302652730 / 3**0.5, rel=1e-9)
    assert cell.values["two through CoDel"].n == 2
    assert not cell.differences["bed"].paired
    assert cell.differences["bed"].p is not None
    assert (one.seed, two.seed) == (1, 2)
    # Data files have no seeds, so they cannot be paired with runs.
    for i in range(3):
        write(other / f"{i}.flent.gz", measured(metadata__TITLE="other"))
    made = compare_stored([tmp_path / "bed", other])
    assert not any(d.paired for cell in made.cells for d in cell.differences.values())
    # A file with a different set-up is not a replicate.
    write(other / "9.flent.gz", measured(**{"raw_values__TCP upload::2": None}))
    with pytest.raises(InputError, match=r"9\.flent\.gz: tcp_2up with TCP upload::1; expected"):
        compare_stored([tmp_path / "bed", other])


def test_a_test_bed_stands_beside_one_point(tailback: Tailback, tmp_path: Path) -> None:
    write(tmp_path / "bed.flent.gz", measured())
    runs = tb.run(TWO + '[sweep]\n"path.rtt" = ["20ms", "40ms"]\n', out=tmp_path / "results")
    done = tailback("compare", "results", "bed.flent.gz")
    assert done.returncode == 2
    assert "results: 2 points" in done.stderr
    assert "of a run" in done.stderr
    done = tailback("compare", runs[1].path, "bed.flent.gz", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "path.rtt = 40ms" in done.stdout
    for args, expected in (
        (("bed.flent.gz",), "nothing to compare it with"),
        (("bed.flent.gz", "bed.flent.gz"), "twice"),
        (("bed.flent.gz", "none"), 'sweep "none" does not exist'),
        (("bed.flent.gz", "none.flent.gz"), "none.flent.gz: No such file"),
        (("bed.flent.gz", "results", "--seeds", "3"), "--seeds"),
        (("bed.flent.gz", "results", "--variant", "a"), "use one file with --variant"),
    ):
        done = tailback("compare", *args)
        assert (done.returncode, done.stdout) == (2, ""), args
        assert expected in done.stderr, (args, done.stderr)


WHOLE = gzip.compress(json.dumps(measured()).encode(), mtime=0)


def packed(**changes: Any) -> bytes:
    """Return a data file with these changes."""
    return gzip.compress(json.dumps(measured(**changes)).encode(), mtime=0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ["empty", "gzip-compressed JSON"]),
        (WHOLE[: len(WHOLE) // 2], ["truncated", "a data file of Flent"]),
        (WHOLE[:100] + bytes(40) + WHOLE[140:], ["damaged"]),
        (WHOLE[:-8] + bytes(8), ["damaged"]),
        (json.dumps(measured()).encode(), ["not gzip data", "gzip-compressed JSON"]),
        (
            gzip.compress(b'{"version": 4,\n "metadata": oops}', mtime=0),
            ["not JSON", "line 2, column 14"],
        ),
        (gzip.compress(b"\xff\xfe\x00", mtime=0), ["not UTF-8 text"]),
        (gzip.compress(b"[" * 100_000, mtime=0), ["nested more than 64 deep"]),
        (gzip.compress(b"[1, 2]", mtime=0), ["a JSON array", "expected an object"]),
        (gzip.compress(b"{}", mtime=0), ["neither version nor metadata"]),
        (packed(version=5), ["format version 5 is newer", "expected version 4"]),
        (packed(version=3), ["format version 3 is older", "expected version 4"]),
        (packed(version="four"), ["a format version that is not a number", "expected version 4"]),
        (packed(version=None), ["no format version", "expected version 4"]),
        (packed(metadata=None), ["metadata is missing; expected an object"]),
        (packed(metadata=[]), ["metadata is a JSON array; expected an object"]),
        (
            packed(metadata__NAME=None, metadata__STEP_SIZE=None),
            ["metadata lacks NAME, STEP_SIZE; expected NAME, TITLE, HOST, LOCAL_HOST, LENGTH"],
        ),
        (packed(metadata__LENGTH="long"), ['metadata LENGTH is "long"; expected seconds above 0']),
        (packed(metadata__STEP_SIZE=0), ["metadata STEP_SIZE is 0; expected seconds above 0"]),
        (
            packed(raw_values=None, x_values=None),
            ["x_values is missing; expected a list", "raw_values is missing; expected an object"],
        ),
        (packed(results=[]), ["results is a JSON array; expected an object"]),
        (packed(raw_values={}), ["no throughput of a TCP flow", "found none"]),
        (
            packed(**{"raw_values__TCP upload::1": None, "raw_values__TCP upload::2": None}),
            ["no throughput of a TCP flow", "TCP download BE::1", 'found "Ping (ms) ICMP"'],
        ),
        (packed(**{"raw_values__TCP upload::1": [{"val": 1}]}), ['"TCP upload::1"[0]', '"t"']),
        (packed(**{"raw_values__TCP upload::1": 7}), ["is 7; expected a list of samples"]),
    ],
)
def test_a_file_that_is_none(
    content: bytes, said: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.flent.gz").write_bytes(WHOLE)
    (tmp_path / "bad.flent.gz").write_bytes(content)
    with pytest.raises(InputError) as caught:
        compare_stored([Path("good.flent.gz"), Path("bad.flent.gz")])
    lines = str(caught.value).splitlines()
    assert all(line.startswith("bad.flent.gz: ") for line in lines)
    for words in said:
        assert any(words in line for line in lines), lines


def test_all_bad_files_are_told_at_once(tailback: Tailback, tmp_path: Path) -> None:
    write(tmp_path / "new.flent.gz", measured(version=9))
    write(tmp_path / "bare.flent.gz", measured(metadata__HOST=None, metadata__LENGTH=-1))
    (tmp_path / "cut.flent.gz").write_bytes(WHOLE[:-20])
    write(tmp_path / "bed.flent.gz", measured())
    done = tailback("compare", *(f"{name}.flent.gz" for name in ("new", "bed", "bare", "cut")))
    assert (done.returncode, done.stdout) == (2, "")
    errors = re.findall(r"^error: (.+?): ", done.stderr, re.MULTILINE)
    assert errors == [
        "new.flent.gz",
        "bare.flent.gz",
        "bare.flent.gz",
        "cut.flent.gz",
    ]
    assert "Traceback" not in done.stderr
