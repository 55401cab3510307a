"""Writes the named path `lte`: rates that wander as those of a cellular link may.

It is an example; no published source gives its numbers. The rate, in packets of 1500 B a second, is
a Brownian motion within 0 and 1000. A link whose rate is 0 stays so until it escapes, at a rate of
once a second."""

from __future__ import annotations

import math
import random
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / "crates/engine/src/profiles/lte.toml"

#: Standard deviation of the change in a second, packets a second.
SIGMA = 200.0
#: The highest rate, packets a second, and the bits of a packet.
HIGHEST, BITS = 1000.0, 1500 * 8
#: How often a link without a rate escapes, 1/s.
ESCAPES = 1.0
#: Seconds between steps, and of all steps.
STEP, LENGTH = 0.2, 60.0
SEED, FIRST = 3, 500.0

SOURCE = "an example; no published source; scripts/lte.py draws the rates"

HEADER = f"""\
# A cellular link at up to 12 Mbit/s and 40 ms, with outages; the rate changes every 200 ms.
# source: {SOURCE}
[path]
rtt = "40ms"

[bottleneck]
queue = {{ aqm = "fifo", limit = "1000p" }}
rate = {{ steps = [
"""


def rates() -> list[float]:
    """The rate of each step, packets a second."""
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
    """The file of the path."""
    steps = []
    last = None
    for place, rate in enumerate(rates()):
        # In steps of 100 kbit/s: the file is a part of the laboratory, whose size counts.
        mbit = round(rate * BITS / 1e6, 1)
        if mbit != last:
            steps.append(f'  ["{round(place * STEP * 1000)}ms", "{mbit:g}Mbit"],\n')
        last = mbit
    return HEADER + "".join(steps) + "] }\n"


if __name__ == "__main__":
    PLACE.write_text(text())
