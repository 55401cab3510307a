"""Makes stored runs with programs, without a guest: it runs the simulator and adds the programs'
files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import tailback
from tailback import _native
from tailback.store.results import Results

SCENARIO = """
title = "A program beside a flow"
duration = "3s"
warmup = "1s"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fq_codel", ecn = true }
[path]
rtt = "20ms"
[[flows]]
name = "cubic"
cc = "cubic"
ecn = true
[sweep]
seeds = 2
"""

DATE = 1_767_225_600


def measures(mbit: float, **more: Any) -> dict[str, Any]:
    """Return measures of a program that sends at this rate for 2 s."""
    delivered = int(mbit * 250_000)
    spread = {"mean": 25.0, "p50": 24.5, "p99": 31.0, "max": 33.0}
    return {
        "throughput_mbit": mbit,
        "back_mbit": 0.25,
        "completion_s": 1.5,
        "rtt_ms": spread,
        "rtt_of": "base and sojourn",
        "delay_ms": {"mean": 5.0, "p50": 4.5, "p99": 11.0, "max": 13.0},
        "packets": 1700,
        "received_packets": 1690,
        "drops": 10,
        "marks": 26,
        "sce_marks": 0,
        "causes": {"aqm": 10, "mark": 26},
        "ecn_sent": {"not_ect": 4, "ect1": 0, "ect0": 1696, "ce": 0},
        "delivered_bytes": delivered,
        "back_bytes": 62_500,
        "from_s": 1.0,
        "to_s": 3.0,
        **more,
    }


def program(name: str, mbit: float, **more: Any) -> dict[str, Any]:
    """Return the summary of a program with one 5-tuple."""
    one = {
        "protocol": "udp",
        "sender": "10.3.0.1:4433",
        "receiver": "10.4.0.1:40000",
        "tuples": 1,
        **measures(mbit),
    }
    return {
        "name": name,
        "kind": None,
        **measures(mbit),
        "status": {"sender": None, "receiver": 0},
        "exit_s": {"sender": None, "receiver": 2.5},
        "results": {"goodput_mbit": 0.97 * mbit, "loss": None},
        "tuples": [one],
        **more,
    }


def stored(out: Path, *programs: dict[str, Any]) -> Results:
    """Run the scenario and add programs to its results. With the second seed, the throughput of
    each program is 0.1 Mbit/s higher."""
    results = tailback.run(SCENARIO, out=out)
    for number, run in enumerate(results):
        own = [
            {**one, "throughput_mbit": one["throughput_mbit"] + 0.1 * number} for one in programs
        ]
        summary = json.loads((run.path / "summary.json").read_text())
        summary["programs"] = own
        text = json.dumps(summary).encode()
        (run.path / "summary.json").write_bytes(text)
        seal(run.path, programs=[planned(one["name"]) for one in programs])
    return tailback.open_results(out)


def planned(name: str) -> dict[str, Any]:
    """Return the table of a program in the scenario."""
    return {"name": name, "date": DATE, "start": 500_000_000}


def seal(run: Path, **canonical: Any) -> None:
    """Update the manifest's hashes for the changed summary and the added files."""
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["sha256"]
    for path in [run / "summary.json", *(run / "programs").rglob("*")]:
        if path.is_file():
            data = path.read_bytes()
            mark = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            manifest["files"][path.relative_to(run).as_posix()] = mark
    manifest["canonical"] |= canonical
    (run / "manifest.json").write_bytes(_native.seal(json.dumps(manifest, indent=2)))
