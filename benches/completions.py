"""Compares completion times with the limits in the test suite of C4 (draft-huitema-ccwg-c4-test),
for docs/evidence/completions.md.

In each case, one flow sends a given amount of data alone over one of the suite's paths. The suite
runs each case 100 times. A case passes if the slowest run does not take longer than the limit. This
script runs the cases with the simulator's congestion controls.

    python benches/completions.py [--seeds N] [--write]
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tailback

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evidence" / "completions.md"
PROFILES = ROOT / "crates" / "engine" / "src" / "profiles"
MSS, FRAME = 1448, 1514

SEEDS = 100
DURATION = "60s"
CCS = ("cubic", "bbr", "bbr3")


@dataclass(frozen=True)
class Case:
    """A case of the suite: one flow alone on a path."""

    path: str
    megabytes: int
    limit_s: float
    """The suite's limit for C4, in seconds. The limit applies to the slowest of 100 runs."""
    why: str = ""
    """The reason if the simulator's times differ from the suite's by more than headers and
    handshakes explain."""


SATELLITE = {"slow_start": "careful-resume", "saved_window": 12948, "saved_rtt": "600.123ms"}
"""Careful resume with the window that the suite's satellite case remembers: 18.75 MB, in segments
of 1448 bytes."""

CASES = (
    Case("c4-basic", 10, 5.0),
    Case("c4-fast", 20, 1.3),
    Case(
        *("c4-satellite", 100, 7.4),
        "C4's test suite gives C4 the window and RTT of an earlier connection. The flows in the "
        "table start without this information. With Careful Resume, which uses the window and RTT "
        "of an earlier connection, CUBIC needs {resumed} s.",
    ),
    Case(
        *("low-and-up", 7, 7.9),
        "BBRv3 probes for a higher rate every 2 to 3 s; BBRv1 probes every 8 RTTs.",
    ),
    Case(
        "drop-and-back",
        7,
        8.15,
        "As on the path `low-and-up`, BBRv3 probes for a higher rate less often than BBRv1.",
    ),
    Case("black-hole", 10, 6.1),
    Case(
        *("short-to-long", 20, 22.0),
        "For 5 to 10 s after the RTT has grown, BBR still uses its old minimum RTT of 30 ms, so "
        "its window stays small. When the RTT grows, the queue's limit in bytes stays the same in "
        "tailback. In C4's test suite, the limit of the queue grows from 100 to 200 ms of data.",
    ),
    Case(
        *("wifi-bad", 4, 4.3),
        "BBR computes its window from the minimum RTT of 2 ms, which is far below the mean RTT. "
        "{early}",
    ),
    Case(
        "wifi-fade",
        10,
        6.2,
        "Even at the full rate, sending TCP's frames takes only 0.1 s less than the limit for C4. "
        "Sending the headers of these frames takes 0.2 s.",
    ),
    Case("suspension", 10, 5.4),
)

HEAD = """\
# Completion times on C4's paths

{verdict}

`python benches/completions.py --write` runs one flow alone on each named path of C4's test suite
(draft-huitema-ccwg-c4-test). The table shows the results of {runs} runs of the simulator, with
{seeds} seeds for each set-up ({date}).

| path | MB | least, s | limit for C4, s | {ccs} |
|---|--:|--:|--:|{marks}
{rows}

- *Limit for C4* is the largest time that C4's test suite allows for the slowest of 100 runs of C4.
  The suite publishes these limits but no measured times.
- *Least* is the shortest possible completion time. This time is the sum of the times for the
  handshake, for sending all frames at the full rate, and for the propagation of the last frame.
- The columns *cubic*, *bbr* and *bbr3* show the median completion time over all seeds and, in
  brackets, the longest time. A completion time begins with the first SYN and ends when the last
  byte reaches the receiver. A cell is **bold** if the longest time exceeds the limit for C4.
- *bbr* and *bbr3* are versions 1 and 3 of BBR. C4 itself is not part of tailback.

## Why times may differ from those of the suite

C4's test suite runs the QUIC stack picoquic, whose packets have no Ethernet header. In tailback,
TCP sends 1448 bytes of data in each frame of 1514 bytes. QUIC's handshake includes the TLS
handshake; in tailback, TCP's handshake is without TLS and takes one round trip.

| path | other reasons |
|---|---|
{reasons}
"""


def times(case: Case, cc: str | dict[str, Any], seeds: int) -> list[float | None]:
    """Return the completion times of all seeds in s, sorted. If a run ends before the flow
    completes, the time is `None`."""
    scenario = {
        "duration": DURATION,
        "path": {"profile": case.path},
        "tcp": {"rwnd": "100mb"},
        "flows": [{"cc": cc, "bytes": f"{case.megabytes}mb"}],
        "sweep": {"seeds": seeds},
    }
    with tempfile.TemporaryDirectory() as folder:
        points = tailback.run(scenario, out=folder).to_dict()["points"]
    found = (point["flows"][0]["completion_s"] for point in points)
    return sorted(found, key=lambda time: (time is None, time))


def least_s(case: Case) -> float:
    """Return the time to send the data at the rate of the path, in seconds."""
    path = tomllib.loads((PROFILES / f"{case.path}.toml").read_text(encoding="utf-8"))
    rate, rtt = path["bottleneck"]["rate"], path["path"]["rtt"]
    steps = rate["steps"] if isinstance(rate, dict) else [["0s", rate]]
    rtt_s = float(rtt.removesuffix("ms")) / 1e3
    at, left = rtt_s, case.megabytes * 8e6 * FRAME / MSS
    times_of = [float(time.removesuffix("s")) for time, _ in steps]
    for end, (_, text) in zip([*times_of[1:], float("inf")], steps, strict=True):
        bit_s = float(text.removesuffix("bit").removesuffix("M")) * 1e6
        if at >= end:
            continue
        if bit_s and at + left / bit_s <= end:
            return at + left / bit_s + rtt_s / 2
        left -= bit_s * (end - at)
        at = end
    raise ValueError(f"{case.path}: it never sends everything")


def shown(found: list[float | None], limit_s: float) -> str:
    median, worst = found[len(found) // 2], found[-1]
    text = f"{_time(median)} ({_time(worst)})"
    return text if worst is not None and worst <= limit_s else f"**{text}**"


def _time(time: float | None) -> str:
    return f"over {DURATION}" if time is None else f"{time:.2f}"


def page(seeds: int) -> str:
    """Run every case, and return the text of docs/evidence/completions.md."""
    rows, within, runs = [], dict.fromkeys(CCS, 0), 0
    for case in CASES:
        columns = []
        for cc in CCS:
            found = times(case, cc, seeds)
            runs += len(found)
            within[cc] += found[-1] is not None and found[-1] <= case.limit_s
            columns.append(shown(found, case.limit_s))
        rows.append(
            f"| `{case.path}` | {case.megabytes} | {least_s(case):.2f} | {case.limit_s:g} | "
            + " | ".join(columns)
            + " |"
        )
        print(rows[-1], flush=True)
    by_path = {case.path: case for case in CASES}
    resumed = times(by_path["c4-satellite"], {"name": "cubic", **SATELLITE}, seeds)
    early = times(by_path["wifi-bad"], {"name": "cubic", "slow_start": "none"}, seeds)
    runs += len(resumed) + len(early)
    known = {
        "resumed": _time(resumed[-1]),
        "early": "Jitter makes CUBIC's HyStart end slow start early. Without HyStart, the worst "
        f"run of CUBIC needs {_time(early[-1])} s.",
    }
    *first, last = (f"on {within[cc]} paths with {cc}" for cc in CCS)
    kept = f"{', '.join(first)} and {last}"
    return HEAD.format(
        verdict="C4 is a congestion control whose test suite sets a time limit for each of "
        f"{len(CASES)} paths.\nIn tailback, the slowest of {seeds} runs stays within C4's "
        f"limit {kept}.",
        runs=runs,
        date=datetime.now(UTC).date(),
        seeds=seeds,
        ccs=" | ".join(CCS),
        marks="--:|" * len(CCS),
        rows="\n".join(rows),
        reasons="\n".join(
            f"| `{case.path}` | {case.why.format(**known)} |" for case in CASES if case.why
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--write", action="store_true", help="write docs/evidence/completions.md")
    args = parser.parse_args()
    text = page(args.seeds)
    if args.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
