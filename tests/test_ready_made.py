"""Tests that the output of ready-made programs agrees with their packets, and that the same seed
gives the same run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import contents
from tailback.errors import InputError
from tailback.kernel.kit import Kit
from tailback.kernel.programs import built
from tailback.kernel.steps import Steps

BASE: dict[str, Any] = {
    "duration": "8s",
    "bottleneck": {"rate": "10Mbit", "queue": {"aqm": "fq_codel", "ecn": True}},
    "path": {"rtt": "20ms"},
}


@pytest.fixture(scope="module")
def programs_kit(kernel_kit: Kit) -> None:
    if kernel_kit.manifest.get("lacks", True):
        pytest.skip("the guest kernel cannot run programs")


def run(out: Path, *entries: dict[str, Any], jobs: int = 1) -> tailback.Results:
    scenario = {**BASE, "programs": list(entries)}
    return tailback.run(scenario, engine="kernel", out=out, seeds=2, jobs=jobs)


def part(found: tailback.Results, name: str, seed: int = 1) -> dict[str, Any]:
    summary = next(one.summary for one in found if one.seed == seed)
    return next(program for program in summary["programs"] if program["name"] == name)


@pytest.mark.usefixtures("programs_kit")
def test_downloads_and_probes_agree_with_the_packets(tmp_path: Path) -> None:
    early = {"name": "early", "receiver": {"run": ["ping", "-c", "2", "{http.sender}"]}}
    entries = (
        # This entry shares a host with the entry `http`, which comes after it.
        {**early, "packages": ["iputils-ping"], "start": "5s"},
        {"kind": "http", "bytes": "2000000b", "tls": True, "ipv6": True},
        {"kind": "irtt", "start": "4s"},
        {"kind": "iperf3", "start": "4s", "udp": True, "bitrate": "1Mbit", "seconds": 2},
    )
    found = run(tmp_path / "one", *entries)
    http, irtt, iperf3 = (part(found, name) for name in ("http", "irtt", "iperf3"))
    assert part(found, "early")["status"] == {"sender": None, "receiver": 0}
    assert [one["status"] for one in (http, irtt, iperf3)] == [
        {"sender": None, "receiver": 0},
        {"sender": 0, "receiver": None},
        {"sender": 0, "receiver": 0},
    ]
    # Delivered bytes include TLS and its handshake. TLS adds a few kB that curl does not count.
    assert 2_000_000 < http["delivered_bytes"] < 2_020_000
    assert http["results"]["seconds"] == pytest.approx(http["completion_s"], abs=0.05)
    # Both hosts share a clock and the queue has no other traffic, so each direction takes half of
    # the RTT.
    assert irtt["results"]["irtt_back_mean_ms"] == pytest.approx(10.0, abs=0.1)
    assert irtt["rtt_ms"]["mean"] == pytest.approx(irtt["results"]["irtt_mean_ms"], abs=0.1)
    assert iperf3["results"]["goodput_mbit"] == pytest.approx(1.0, rel=0.02)
    # If two runs execute at the same time, their results must have the same bytes as before.
    run(tmp_path / "two", *entries, jobs=2)
    one, two = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert len(one) > 20
    assert [name for name in one if one[name] != two.get(name)] == []


@pytest.mark.usefixtures("programs_kit")
@pytest.mark.skipif(shutil.which("cargo") is None, reason="compiled by cargo")
def test_a_quic_stack_hears_marks_and_repeats(tmp_path: Path) -> None:
    with Steps(enabled=False) as steps:
        built.build("quinn", steps=steps)
    entry = {"kind": "quinn", "bytes": "4000000b", "threads": 2, "qlog": True}
    found = run(tmp_path / "one", entry)
    quic = part(found, "quinn")
    assert quic["status"]["receiver"] == 0
    assert quic["results"]["goodput_mbit"] == pytest.approx(9.3, rel=0.03)
    assert quic["ecn_sent"]["ect0"] > 2500
    assert quic["marks"] > 0
    assert quic["drops"] == 0
    run(tmp_path / "two", entry, jobs=2)
    one, two = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert any(name.endswith(".sqlog") for name in one)
    assert [name for name in one if one[name] != two.get(name)] == []
    deaf = part(run(tmp_path / "deaf", {**entry, "ect": False}), "quinn")
    assert (deaf["ecn_sent"]["ect0"], deaf["marks"]) == (0, 0)


def test_what_is_not_built_is_said_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_KIT", str(tmp_path))
    with pytest.raises(InputError, match=r"run: tailback kernel build --program aioquic"):
        built.find("aioquic")
    with Steps(enabled=False) as steps:
        made = built.build("aioquic", steps=steps)
    assert built.find("aioquic") == made
    assert built.key(made) == "built:aioquic"
    assert [path.name for path in made.iterdir()] == ["transfer"]
    before = built.identity(made)
    (made / "transfer").write_text("#!/bin/sh\n")
    assert built.identity(made) != before
    with pytest.raises(
        InputError, match=r"has changed since it was built: aioquic/transfer differs"
    ):
        built.find("aioquic")
    with Steps(enabled=False) as steps:
        assert built.identity(built.build("aioquic", steps=steps)) == before


def test_programs_and_compilers_that_are_not_there_are_said_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InputError) as refused:
        built.check(["quin", "quic-go", "aioquic", "quiche"])
    assert str(refused.value).splitlines() == [
        'program "quin" does not exist; expected one of aioquic, flent, quic-go, quiche, quinn, '
        's2n-quic; did you mean "quinn"?',
        "quic-go needs go, which is not here: https://go.dev/dl/",
        "quiche needs rustc, which is not here: https://rustup.rs/",
        "quiche needs g++, which is not here: sudo apt install g++",
    ]
