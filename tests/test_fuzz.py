"""Fuzzes readers of untrusted files. Any bytes must give a value or an error message.

`TAILBACK_FUZZ=N` tries N random files for each reader, instead of a few fixed ones."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tailback
from conftest import SCENARIO
from tailback.errors import InputError
from tailback.interop import flent_file
from tailback.kernel import kit
from tailback.store import layout
from tailback.store.results import open_run

EXAMPLES = int(os.environ.get("TAILBACK_FUZZ", "0"))

fuzzed = settings(
    max_examples=EXAMPLES or 150,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, -1, 2**31, 2**63, 2**64, 10**400])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["../../x", "\x1b[2J", "\0", "/dev/zero", "[bold]", "0" * 20, ".", ""])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)

PIECES = st.binary(max_size=6) | st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"NaN", b"1e999", b"-", b"\\u0000"]
)
EDITS = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 12), PIECES),
    min_size=1,
    max_size=4,
)


def edited(data: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Return bytes with some pieces removed and other pieces inserted."""
    for where, gone, piece in edits:
        at = int(where * (len(data) + 1))
        data = data[:at] + piece + data[at + gone :]
    return data


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to the parts of a document."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))[:4]
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return the document with a new part at a path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def documents(whole: Any) -> st.SearchStrategy[bytes]:
    """Return JSON with a changed part, or with changed bytes."""
    parts = st.tuples(st.sampled_from(places(whole)), VALUES)
    other = parts.map(lambda part: json.dumps(replaced(whole, *part)).encode())
    return other | EDITS.map(lambda edits: edited(json.dumps(whole).encode(), edits))


SAMPLES = [{"t": 0.1 * i, "val": 9.5 + i, "dur": 0.1, "tcp_rtt": 20.5} for i in range(4)]
FLENT = {
    "version": 4,
    "x_values": [0.0, 0.2],
    "results": {"TCP upload": [9.5, None]},
    "raw_values": {"TCP upload": SAMPLES, "Ping (ms) ICMP": SAMPLES},
    "metadata": {
        "NAME": "tcp_upload",
        "TITLE": "a title",
        "HOST": "there",
        "LOCAL_HOST": "here",
        "LENGTH": 60,
        "STEP_SIZE": 0.2,
        "TIME": "2024-05-01T10:00:00.000000Z",
        "T0": "2024-05-01T10:00:05.000000Z",
    },
}


def refused_or(read: Callable[[], object]) -> None:
    """Read a file. An error must be a sentence without control characters."""
    said = "read"
    try:
        read()
    except InputError as error:
        said = str(error)
    assert said.strip()
    assert "\x1b" not in said


@fuzzed
@given(data=documents(FLENT), zipped=st.booleans(), edits=st.just([]) | EDITS)
def test_flent_files(
    data: bytes, zipped: bool, edits: list[tuple[float, int, bytes]], tmp_path: Path
) -> None:
    path = tmp_path / "x.flent.gz"
    # Damage either the content or the compressed archive.
    inside = gzip.compress(data, 1) if zipped else edited(gzip.compress(data, 1), edits)
    path.write_bytes(inside)

    def read() -> None:
        file = flent_file.read(path)
        for flow in file.flows:
            file.throughput(flow)
            file.statistic(flow, "tcp_rtt")

    refused_or(read)


MANIFEST = {
    "format": 1,
    "hash": "0" * 64,
    "kernel": "7.3.4",
    "package": {"name": "linux-source-7.3", "version": "7.3.4-1"},
    "qdisc": {"codel": "sch_codel.ko", "fq": None},
    "cc": {"cubic": "tcp_cubic.ko", "reno": None},
    "modules": {
        "sch_codel": {"file": "sch_codel.ko", "sha256": "0" * 64, "depends": []},
        "tcp_cubic": {"file": "tcp_cubic.ko", "sha256": "0" * 64, "depends": ["sch_codel"]},
    },
}


@fuzzed
@given(data=documents(MANIFEST))
def test_kits(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "root" / "modules").mkdir(parents=True, exist_ok=True)
    (tmp_path / "linux").touch()
    (tmp_path / "kit.json").write_bytes(data)

    def read() -> None:
        found = kit.load(tmp_path)
        with suppress(InputError):
            found.load_order(qdiscs=["codel"], ccs=["cubic"])

    refused_or(read)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with one run."""
    folder = tmp_path_factory.mktemp("stored")
    path = folder / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    tailback.run(path, out=folder / "results")
    return folder / "results"


@fuzzed
@given(data=st.data())
def test_run_folders(data: st.DataObject, stored: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(stored, copy)
    [run] = (copy / "runs").glob("[!.]*")
    files = sorted(path for path in run.iterdir() if path.is_file())
    victim = data.draw(st.sampled_from(files))
    whole = victim.read_bytes()
    changed = EDITS.map(lambda edits: edited(whole, edits))
    if victim.suffix == ".json":
        changed |= documents(json.loads(whole))
    victim.write_bytes(data.draw(changed))

    def read() -> None:
        results = open_run(run)
        results.to_dict()
        results.frame()
        results.queues()
        results.series(0)
        results.histogram(0)

    refused_or(read)


@fuzzed
@given(data=st.data())
def test_indices_of_sweeps(data: st.DataObject, stored: Path, tmp_path: Path) -> None:
    [whole] = stored.glob("sweeps/*/index.json")
    path = tmp_path / "results" / "sweeps" / whole.parent.name / "index.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.draw(documents(json.loads(whole.read_bytes()))))
    refused_or(lambda: layout.read_index(path))
