"""Tests untrusted input: special files, decompression bombs, wrong schemas and numbers."""

from __future__ import annotations

import gzip
import json
import math
import os
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import SCENARIO, Tailback
from tailback.base import foreign
from tailback.comparison import compare_stored
from tailback.errors import InputError, ScenarioError

SECRET = "swordfish"

ODD: dict[str, Callable[[Path], Path]] = {
    "pipe": lambda folder: _made(folder / "pipe", os.mkfifo),
    "folder": lambda folder: _made(folder / "folder", os.mkdir),
    "zeros": lambda _: Path("/dev/zero"),
    "terminal": lambda _: Path("/dev/tty"),
    "nothing": lambda folder: folder / "nothing",
    "link": lambda folder: _made(folder / "link", lambda p: p.symlink_to("/dev/zero")),
    "circle": lambda folder: _made(folder / "circle", lambda p: p.symlink_to("circle")),
    "large": lambda folder: _made(folder / "large", _sparse),
}
"""Kinds of entries that may be at the path of a regular file."""


def _made(path: Path, make: Callable[[Path], object]) -> Path:
    make(path)
    return path


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("kind", ODD)
def test_only_regular_files_of_a_bounded_size_are_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = ODD[kind](Path())
    with pytest.raises(InputError) as caught:
        foreign.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    trace = {"bottleneck.rate": {"trace": str(path)}}
    with pytest.raises(ScenarioError) as refused:
        tb.check(SCENARIO, set=trace)
    assert f'trace "{path}": ' in str(refused.value)
    with pytest.raises(InputError):
        tb.check(path)
    data_file = tmp_path / "it.flent.gz"
    data_file.symlink_to(path.absolute())
    with pytest.raises(InputError):
        compare_stored([data_file, data_file])


def test_a_file_that_grows_is_read_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert foreign.read(path, limit=10) == b"0123456789"
    with pytest.raises(InputError, match="larger than"):
        foreign.read(path, limit=9)
    # Files in /proc report a size of 0, although they have content.
    with pytest.raises(InputError, match="larger than"):
        foreign.read(Path("/proc/self/status"), limit=9)


def test_what_is_unpacked_is_bounded() -> None:
    path = Path("x")
    assert (
        foreign.gunzip(gzip.compress(b"abc") + gzip.compress(b"def") + b"\0\0", path) == b"abcdef"
    )
    bomb = gzip.compress(bytes(1 << 20))
    for data, said in (
        (bomb, "larger than"),
        (bomb + bomb, "larger than"),
        (gzip.compress(b"") * 1000, "members"),
        (gzip.compress(b"abc")[:-9], "truncated"),
        (gzip.compress(b"abc") + b"more", "not gzip"),
        (zlib.compress(b"abc"), "not gzip"),
    ):
        with pytest.raises(InputError, match=said):
            foreign.gunzip(data, path, limit=(1 << 20) - 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "deep"),
        ('{"a":' * 100_000, "deep"),
        ("[" * 65 + "]" * 65, "deep"),
        ("[" + "0," * 5_000_000 + "0]", "values"),
        ("NaN", "NaN"),
        ("[Infinity]", "Infinity"),
        ("[-Infinity]", "Infinity"),
        ("1e999", "range"),
        ("9" * 400, "range"),
        ("9" * 100_000, "range"),
        ('"\\ud800"', "surrogate"),
        ('"\\udc00\\ud800 \\\\ud800"', "surrogate"),
        ("{", "not JSON"),
        ("[1,]", "not JSON"),
        ("", "not JSON"),
    ],
)
def test_json_is_bounded(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        foreign.parse_json(text.encode(), Path("x"))


def test_brackets_in_texts_are_no_depth() -> None:
    for value in ("\U0001f600 \\ud800", '["\\"[[[[', "[" * 1000, "\\" * 7 + '"' + "{" * 100):
        assert foreign.parse_json(json.dumps([value]).encode(), Path("x")) == [value]
    deep = "[" * 64 + "]" * 64
    assert foreign.parse_json(deep.encode(), Path("x")) != []


# --- data files of Flent ------------------------------------------------------------------------


def measured(change: Callable[[dict[str, Any]], object] = lambda _: None) -> bytes:
    """Return a data file, changed by a function."""
    samples = [{"t": 1000.0 + i, "val": 4.0, "dur": 1.0, "tcp_rtt": 50.0} for i in range(1, 9)]
    data: dict[str, Any] = {
        "version": 4,
        "x_values": [],
        "results": {},
        "raw_values": {"TCP upload": samples},
        "metadata": {
            "NAME": "tcp_1up",
            "TITLE": "bed",
            "HOST": "a",
            "LOCAL_HOST": "b",
            "LENGTH": 8,
            "STEP_SIZE": 0.2,
        },
    }
    change(data)
    return gzip.compress(json.dumps(data).encode(), mtime=0)


def meta(**values: object) -> bytes:
    return measured(lambda data: data["metadata"].update(values))


def rows(*values: object) -> bytes:
    return measured(lambda data: data["raw_values"].update({"TCP upload": list(values)}))


def series(name: str, value: object) -> bytes:
    return measured(lambda data: data["raw_values"].update({name: value}))


def text(before: bytes, after: bytes) -> bytes:
    """Replace a word in the JSON."""
    whole = gzip.decompress(measured())
    assert before in whole
    return gzip.compress(whole.replace(before, after))


MALFORMED: dict[str, bytes] = {
    "a time beyond floats": text(b'"t": 1001.0', b'"t": 1e999'),
    "a time of 400 digits": text(b'"t": 1001.0', b'"t": ' + b"9" * 400),
    "a value of 310 digits": text(b'"val": 4.0', b'"val": ' + b"9" * 310),
    "a value that is NaN": text(b'"val": 4.0', b'"val": NaN'),
    "an infinite duration": text(b'"dur": 1.0', b'"dur": Infinity'),
    "a huge value": rows({"t": 1.0, "val": 1e300, "dur": 1.0}),
    "a huge whole value": text(b'"val": 4.0', b'"val": 1' + b"0" * 300),
    "a huge time": rows({"t": 1e300, "val": 1.0}),
    "times 300 years apart": rows({"t": 0.0, "val": 1.0}, {"t": 1e10, "val": 1.0}),
    "samples of no duration": rows({"t": 1.0, "val": 1.0, "dur": 0}),
    "samples of negative duration": rows({"t": 1.0, "val": 1.0, "dur": -5}),
    "no samples": rows(),
    "only nulls": rows({"t": 1.0, "val": None}),
    "a sample that is a list": rows([1, 2]),
    "a sample that is a text": rows("x"),
    "a time that is a text": rows({"t": "1", "val": 1.0}),
    "a time that is true": rows({"t": True, "val": 1.0}),
    "values that are texts": rows({"t": 1.0, "val": "4"}),
    "values that are lists": rows({"t": 1.0, "val": [4]}),
    "samples that are an object": series("TCP upload", {"t": 1.0}),
    "samples that are null": series("TCP upload", None),
    "a series that is a number": series("Ping", 7),
    "a title that is an object": meta(TITLE={"a": 1}),
    "a title that is a number": meta(TITLE=5),
    "a name that is a list": meta(NAME=["tcp_1up"]),
    "an empty name": meta(NAME=""),
    "no step": meta(STEP_SIZE=0),
    "a step that is a text": meta(STEP_SIZE="0.2"),
    "a huge step": meta(STEP_SIZE=1e300),
    "a negative length": meta(LENGTH=-1),
    "a start that is no time": meta(TAILBACK={}, T0="yesterday"),
    "a start that is a number": meta(TAILBACK={}, T0=0),
    "a start before time": meta(TAILBACK={}, T0="0001-01-01T00:00:00+23:59"),
    "a start long before its samples": meta(TAILBACK={}, T0="9999-01-01T00:00:00Z"),
    "a version in other digits": measured(lambda data: data.update(version="\u00b2")),
    "a version of many digits": measured(lambda data: data.update(version="9" * 5000)),
    "a version that is true": measured(lambda data: data.update(version=True)),
    "a version of 4.0": measured(lambda data: data.update(version=4.0)),
    "metadata twice": text(b'{"version": 4,', b'{"metadata": 1, "version": "x",'),
    "not JSON": gzip.compress(b"{'version': 4}"),
    "not UTF-8": gzip.compress(b'{"version": "\xff"}'),
    "UTF-16": gzip.compress(gzip.decompress(measured()).decode().encode("utf-16")),
    "deep": gzip.compress(b'{"version": 4, "metadata": ' + b"[" * 200_000),
    "zlib": zlib.compress(gzip.decompress(measured())),
    "cut": measured()[:-30],
    "rubbish behind": measured() + b"rubbish",
    "a bit turned": measured()[:40] + bytes([measured()[40] ^ 1]) + measured()[41:],
    "nothing": b"",
    "a text": b"hello",
    "a bomb": gzip.compress(bytes(70 << 20), 9),
    "many empty members": gzip.compress(b"") * 100_000,
    "many values": gzip.compress(b'{"version": 4, "metadata": [' + b"0," * 5_000_000 + b"0]}"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_file_is_a_sentence(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.flent.gz").write_bytes(measured())
    Path("bad.flent.gz").write_bytes(MALFORMED[kind])
    with pytest.raises(InputError) as caught:
        compare_stored([Path("good.flent.gz"), Path("bad.flent.gz")])
    lines = str(caught.value).splitlines()
    assert lines
    assert all(line.startswith("bad.flent.gz: ") and len(line) < 300 for line in lines), lines


@pytest.mark.parametrize(
    "good",
    [
        measured(),
        meta(TITLE=None, FLENT_VERSION={"odd": []}, T0=7, TIME=[]),
        series("TCP upload::\u00b2", [{"t": 1001.0, "val": 1.0}]),
        series("TCP download " + "7" * 5000, [{"t": 1001.0, "val": 1.0}]),
        series("x" * 10_000, []),
        rows({"t": 1.0, "val": -1e15, "dur": 1e-9}, {"t": 0.5, "val": 1e15, "tcp_rtt": 1e15}),
        rows(*({"t": 5.0, "val": float(i)} for i in range(5))),
        rows({"t": 1.0, "val": True}, {"t": 2.0, "val": 1.0, "dur": None, "tcp_cwnd": "x"}),
    ],
)
def test_an_odd_file_is_read(good: bytes, tmp_path: Path) -> None:
    paths = [tmp_path / "a.flent.gz", tmp_path / "b.flent.gz"]
    for path in paths:
        path.write_bytes(good)
    made = compare_stored(paths)
    for variant in made.variants:
        for run in variant.results:
            assert run.summary["flows"]
            assert all(math.isfinite(flow["throughput_mbit"]) for flow in run.summary["flows"])
            run.series()


def test_a_thousand_problems_are_not_all_told(tmp_path: Path) -> None:
    path = tmp_path / "bad.flent.gz"
    path.write_bytes(
        measured(lambda data: data["raw_values"].update({str(i): 7 for i in range(1000)}))
    )
    with pytest.raises(InputError) as caught:
        compare_stored([path, path])
    lines = set(str(caught.value).splitlines())
    assert len(lines) < 30
    assert any("more" in line for line in lines)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
from tailback.cli.main import main
main()
"""


def test_bombs_take_little_memory(tmp_path: Path) -> None:
    """Files of 10 MB unpack to gigabytes of text. As Python objects, the text would need 20 times
    as much memory."""
    (tmp_path / "good.flent.gz").write_bytes(measured())
    # Blocks after a full flush are independent, so a file can repeat a block.
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = head + block * 600
    tables = b"{}," * 2_000_000
    for name, content in (
        ("bomb", bomb),
        ("tables", gzip.compress(b'{"version": 4, "metadata": [' + tables + b"{}]}", 1)),
    ):
        (tmp_path / f"{name}.flent.gz").write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, "compare", "good.flent.gz", f"{name}.flent.gz"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith(f"error: {name}.flent.gz: "), done.stderr


# --- traces -------------------------------------------------------------------------------------


def test_a_trace_is_there_once_for_all_points_and_seeds(tmp_path: Path) -> None:
    """2000 runs share a trace of two million lines. Copies for each run would need 32 GB."""
    (tmp_path / "up").write_text("".join(f"{i // 2}\n" for i in range(2_000_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scenario = tmp_path / "it.toml"
    scenario.write_text(
        'duration = "1s"\nbottleneck.rate = { trace = "up" }\n[[flows]]\ncc = "reno"\n'
        '[sweep]\n"path.rtt" = ["1ms", "2ms"]\nseeds = 1000\n'
    )
    found = tb.check(scenario)
    assert len(found.points) == 2000
    assert len({point.run_id for point in found.points}) == 2000
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) >> 10 < 500


def test_a_sweep_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    """A sweep copies its values into every sweep point, so a small file with many sweep points
    needs much memory."""
    steps = ", ".join(f'["{i}ms", "10Mbit"]' for i in range(10_000))
    scenario = tmp_path / "it.toml"
    scenario.write_text(
        f'duration = "1s"\nbottleneck.rate = {{ steps = [{steps}] }}\n[[flows]]\ncc = "reno"\n'
        f'[sweep]\n"path.rtt" = {[f"{i}us" for i in range(1, 1001)]}\n'
    )
    with pytest.raises(ScenarioError, match="together have too many values"):
        tb.check(scenario)


@pytest.mark.parametrize(
    "content",
    [SECRET, f"1\n2\n{SECRET}\n", f"{SECRET}:x:0:0\n", f"-{SECRET}", f'key = "{SECRET}"\n'],
)
def test_a_diagnostic_repeats_nothing_of_another_file(content: str, tmp_path: Path) -> None:
    path = tmp_path / "shadow"
    path.write_text(content)
    for rate in ({"trace": str(path)},):
        with pytest.raises(ScenarioError) as caught:
            tb.check(SCENARIO, set={"bottleneck.rate": rate})
        assert SECRET not in str(caught.value)
        assert "is not a whole number of milliseconds" in str(caught.value)


def test_a_file_that_is_no_scenario_is_not_repeated(tailback: Tailback, tmp_path: Path) -> None:
    for content in (
        f"root:{SECRET}:19000:0\ndaemon:{SECRET}:\n",
        f"-----BEGIN-----\nAA{SECRET}==\n{SECRET}=\n",
        f"export KEY={SECRET}\n",
        f'{{"key": "{SECRET}"}}\n',
        f'password = "{SECRET}"\n',
    ):
        (tmp_path / "other").write_text(content)
        for command in ("check", "run"):
            done = tailback(command, "other")
            assert (done.returncode, done.stdout) == (2, "")
            assert SECRET not in done.stderr, done.stderr


def test_a_fragment_of_the_kernels_is_foreign_too(tailback: Tailback, tmp_path: Path) -> None:
    (tmp_path / "fragment").write_text(f"{SECRET}\n")
    done = tailback("kernel", "build", "--config", "fragment")
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: fragment:1 is not valid" in done.stderr
    assert SECRET not in done.stderr
