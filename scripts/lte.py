"""Writes the named path `lte`. The rate of this path varies like the rate of a cellular link.

The path is an example without a published source. The rate, in packets of 1500 B a second, is a
Brownian motion between 0 and 1000. When the rate reaches 0, it stays at 0 for one second on
average.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / "crates/engine/src/profiles/lte.toml"

#: Standard deviation of the change of the rate within a second, in packets per second.
SIGMA = 200.0
#: The highest rate in packets per second, and the bits of a packet.
HIGHEST, BITS = 1000.0, 1500 * 8
#: A link's rate stays at 0 for 1 / ESCAPES seconds on average.
ESCAPES = 1.0
#: Duration of each step, and total duration of all steps, in s.
STEP, LENGTH = 0.2, 60.0
SEED, FIRST = 3, 500.0

SOURCE = "an example; no published source; scripts/lte.py generates the rates"

HEADER = f"""\
# A cellular link with outages: up to 12 Mbit/s and an RTT of 40 ms. The rate changes every 200 ms.
# source: {SOURCE}
[path]
rtt = "40ms"

[bottleneck]
queue = {{ aqm = "fifo", limit = "1000p" }}
rate = {{ steps = [
"""


def rates() -> list[float]:
    """Return the rate of each step, in packets per second."""
    draw = random.Random(SEED)
    rate = FIRST
    found = []
    for _ in range(round(LENGTH / STEP)):
        found.append(rate)
        if rate <= 0 and draw.random() > 1 - math.exp(-ESCAPES * STEP):
            continue
        rate = min(max(rate + draw.gauss(0, SIGMA * math.sqrt(STEP)), 0.0), HIGHEST)
    return found


def text() -> str:
    """Return the text of the path's file."""
    steps = []
    last = None
    for place, rate in enumerate(rates()):
        # Round to 100 kbit/s to keep the path's file small, because the laboratory's web page
        # contains this file.
        mbit = round(rate * BITS / 1e6, 1)
        if mbit != last:
            steps.append(f'  ["{round(place * STEP * 1000)}ms", "{mbit:g}Mbit"],\n')
        last = mbit
    return HEADER + "".join(steps) + "] }\n"


if __name__ == "__main__":
    PLACE.write_text(text())
