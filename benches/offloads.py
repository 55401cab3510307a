"""Compares offloads (`path.offloads`) of the simulator with the offloads of Linux.

    python benches/offloads.py
    python benches/offloads.py --only 1Gbit --no-kernel

The script runs each scenario in the simulator without offloads, in the simulator with offloads, and
on the kernel engine with offloads. The script prints a table in Markdown. The kernel engine needs
`tailback kernel build`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tailback

FIFO = {"aqm": "fifo", "limit": "102400b"}
FRAME = 1514


@dataclass(frozen=True)
class Case:
    """A flow, or several equal flows, over one bottleneck."""

    cc: str
    rate: str
    rtt: str
    queue: Mapping[str, Any]
    flows: int = 1
    ecn: bool = False

    @property
    def name(self) -> str:
        """The first cell of the scenario's row."""
        queue = dict(self.queue)
        name = queue.pop("aqm")
        options = ", ".join(f"{key} {str(value).lower()}" for key, value in queue.items())
        flows = f"{self.flows} x " if self.flows > 1 else ""
        queue_words = f"{name} ({options})" if options else name
        return f"{flows}{self.cc}, {self.rate}, {self.rtt}, {queue_words}"

    def scenario(self, *, offloads: bool) -> dict[str, Any]:
        """Return the scenario. Jitter is less than a packet time. With Cake, the link's burst is
        0."""
        burst = "0b" if self.queue["aqm"] == "cake" else "tc"
        return {
            "duration": "20s",
            "warmup": "5s",
            "host_jitter": "10us" if self.rate == "1Gbit" else "100us",
            "bottleneck": {"rate": self.rate, "burst": burst, "queue": dict(self.queue)},
            "path": {"rtt": self.rtt, "offloads": offloads},
            "record": {"series": "off"},
            "flows": [{"cc": self.cc, "ecn": self.ecn, "count": self.flows}],
        }


CASES = (
    Case("cubic", "100Mbit", "20ms", FIFO),
    Case("bbr", "100Mbit", "20ms", FIFO),
    Case("cubic", "1Gbit", "10ms", FIFO),
    Case("bbr", "1Gbit", "10ms", FIFO),
    Case("cubic", "1Gbit", "10ms", FIFO, flows=4),
    Case("cubic", "100Mbit", "20ms", {"aqm": "codel"}),
    Case("cubic", "100Mbit", "20ms", {"aqm": "fq_codel"}, flows=2, ecn=True),
    Case("cubic", "1Gbit", "20ms", {"aqm": "codel", "ecn": True}, ecn=True),
    Case("cubic", "100Mbit", "20ms", {"aqm": "pie"}, flows=4),
    Case(
        "dctcp", "100Mbit", "20ms", {"aqm": "codel", "ecn": True, "ce_threshold": "1ms"}, ecn=True
    ),
    Case("dctcp", "1Gbit", "5ms", {"aqm": "codel", "ecn": True, "ce_threshold": "1ms"}, ecn=True),
    Case("dctcp", "100Mbit", "20ms", {"aqm": "dualpi2", "split_gso": False}, flows=2, ecn=True),
    Case("dctcp", "100Mbit", "20ms", {"aqm": "dualpi2"}, flows=2, ecn=True),
    Case("cubic", "100Mbit", "20ms", {"aqm": "dualpi2"}, flows=2),
    Case("cubic", "100Mbit", "20ms", {"aqm": "cake"}, flows=2),
    Case("cubic", "1Gbit", "20ms", {"aqm": "cake"}, ecn=True),
    Case("cubic", "20Mbit", "20ms", {"aqm": "cake", "split_gso": False}, flows=2, ecn=True),
)


def cells(case: Case, engine: str, out: str, seeds: int, *, offloads: bool) -> list[str]:
    """Return the means over seeds: rate, mean delay of the queue, segments per packet, drops,
    retransmissions and marks."""
    scenario = case.scenario(offloads=offloads)
    runs = list(tailback.run(scenario, engine=engine, seeds=seeds, out=out))

    def mean(values: Sequence[float], digits: int) -> str:
        return f"{sum(values) / len(values):.{digits}f}"

    summaries = [run.summary for run in runs]
    queues = [summary["queue"] for summary in summaries]
    return [
        mean([sum(flow["throughput_mbit"] for flow in s["flows"]) for s in summaries], 1),
        mean([queue["delay_ms"]["mean"] for queue in queues], 2),
        mean([queue["bytes"] / queue["packets"] / FRAME for queue in queues], 1),
        mean([queue["drops"] for queue in queues], 0),
        mean([sum(flow["retransmits"] for flow in s["flows"]) for s in summaries], 0),
        mean([queue["marks"] for queue in queues], 0),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each row (default 3)")
    parser.add_argument("--no-kernel", action="store_true", help="run the simulator only")
    args = parser.parse_args()
    ways = [("simulator, off", "sim", False), ("simulator, on", "sim", True)]
    if not args.no_kernel:
        ways.append(("Linux, on", "kernel", True))
    print("| scenario | offloads | Mbit/s | queue, ms | segments | drops | sent again | marks |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as out:
        for case in CASES:
            if args.only not in case.name:
                continue
            for number, (way, engine, offloads) in enumerate(ways):
                name = "" if number else case.name
                found = cells(case, engine, out, args.seeds, offloads=offloads)
                print("| " + " | ".join([name, way, *found]) + " |", flush=True)


if __name__ == "__main__":
    main()
