"""Compares the speed of the simulator in the browser (`tailback lab`) with native runs, and prints
the size of the page's parts.

`make bench-lab` prints the table of docs/how-to/lab.md. The table shows medians of CPU time. The
simulator runs in node, which has the same V8 as Chromium. In a "watched" run, every packet of a
link is recorded, as on the page. Finally, Chromium opens the page and animates a run, and the
script counts frames per second.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tailback.running.batch import Job, run_many
from tailback.store.run_folder import StoredRun

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
REPEATS = 5
PACE = 50
"""Speed of the page while its frames are counted, as a multiple of real time."""

LONG = """\
duration = "30s"
[bottleneck]
rate = "100Mbit"
queue = {queue}
[path]
rtt = "20ms"
{flows}
"""

CASES = {
    "CUBIC, FIFO, 100 Mbit/s": ('{ aqm = "fifo", limit = "1bdp" }', '[[flows]]\ncc = "cubic"'),
    "CUBIC, CoDel, 100 Mbit/s": ('"codel"', '[[flows]]\ncc = "cubic"'),
    "DCTCP and CUBIC, DualPI2, 100 Mbit/s": (
        '{ aqm = "dualpi2", any_ect = true }',
        '[[flows]]\ncc = "dctcp"\n[[flows]]\ncc = "cubic"',
    ),
    "10 x CUBIC, FQ-CoDel, 100 Mbit/s": ('"fq_codel"', '[[flows]]\ncc = "cubic"\ncount = 10'),
}


def browser(jobs: list[dict[str, Any]]) -> list[float]:
    """Run the first sweep point of each job in node, and return its CPU time in seconds."""
    done = subprocess.run(
        ["node", str(WEB / "test/parity.mjs")],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
    )
    return [one["points"][0]["cpu_s"] for one in json.loads(done.stdout)]


def native(text: str) -> tuple[float, int]:
    """Return the CPU time of a native run in seconds, and the number of its data packets."""
    times = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.toml"
            path.write_text(text, encoding="utf-8")
            [ran] = run_many([Job(path)], out=Path(folder) / "out", progress=False)
            timing = StoredRun(ran.points[0].path).timing
            times.append(timing["cpu_s"])
    return statistics.median(times), timing["data_packets"]


def frames(text: str) -> list[float] | None:
    """Return the frames per second of the page while it animates a run, for each repetition, or
    None without Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return None
    done = subprocess.run(
        ["node", str(WEB / "test/frames.mjs"), chromium],
        input=json.dumps({"text": text, "pace": PACE, "repeats": REPEATS}),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> int:
    print(
        "| simulated, 30 s each | data packets | native run | in the browser | watched "
        "| speed in the browser / native speed |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for name, (queue, flows) in CASES.items():
        text = LONG.format(queue=queue, flows=flows)
        native_s, packets = native(text)
        job = {"name": name, "text": text, "files": {}}
        # Leave out the first run, because it includes the compilation of WebAssembly.
        plain = statistics.median(browser([job] * (REPEATS + 1))[1:])
        watched = statistics.median(browser([{**job, "watch": True}] * (REPEATS + 1))[1:])
        print(
            f"| {name} | {packets:,} | {1e3 * native_s:.0f} ms | {1e3 * plain:.0f} ms | "
            f"{1e3 * watched:.0f} ms | {native_s / plain:.2f} |"
        )
    queue, flows = CASES["CUBIC, CoDel, 100 Mbit/s"]
    rates = frames(LONG.format(queue=queue, flows=flows))
    if rates is None:
        print("frames per second: not measured, because Chromium is not installed")
    else:
        print(
            f"frames per second at {PACE} x real time, CUBIC through CoDel at 100 Mbit/s: median "
            f"{statistics.median(rates):.0f}, least {min(rates):.0f} of {len(rates)}"
        )
    for file in ("single.html", "tailback.wasm", "lab.js"):
        print(f"{file}: {(WEB / 'dist' / file).stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
