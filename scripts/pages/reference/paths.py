"""Writes the page of named paths: a description of each path, and a small picture of its rate and
RTT over time."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pages import REFERENCE
from tailback import _native

FOLDER = REFERENCE / "paths"
WIDTH, HEIGHT, MARGIN = 180, 60, 3
"""Size of a picture, in pixels. The rate is drawn in the upper half, and the RTT is drawn in the
lower half."""
MANY = 20
"""If a path has more steps than this number, its picture shows only the first ten seconds."""
UNITS = {"Gbit": 1e9, "Mbit": 1e6, "kbit": 1e3, "bit": 1.0, "ms": 1e-3, "us": 1e-6, "s": 1.0}
RATE, RTT = "#3b75af", "#c5543a"

Steps = Sequence[tuple[float, float]]
"""Steps of a value. Each step has a time in s, and the value from that time on."""

TEXT = """# Named paths

A named path is a preset of a network path, such as a satellite link. The preset sets keys of
`[path]` and `[bottleneck]`. If the scenario also sets one of these keys, the scenario's value has
priority:

```toml
duration = "20s"
path = { profile = "wifi-bad", rtt = "30ms" }
flows = [{ cc = "cubic" }]
```

In this scenario, `rtt` overrides the RTT of the named path. `tailback list paths` prints the name
and a description of each path. Add `--options` to print the keys that each path sets. A sweep over
`"path.profile"` runs one scenario on many paths. In each description, the RTT is the round-trip
time without queueing delay.

Each picture shows the rate (blue) and the round-trip time without queueing delay (red, dashed) over
time. Each curve is scaled from zero to its largest value. If the path has jitter, a red band shows
the jitter. The band begins at the round-trip time, and its height is twice the mean jitter.

"""

MISSING = """
## What is missing

The rates of `lte` and `leo` are invented. To replay a measured trace, use
`rate = { trace = "FILE" }`. FILE is a Mahimahi trace, or a CSV file of rate, delay and loss. No
named path models the request-grant cycle of DOCSIS, or the capacities that RFC 8867 gives for the
reverse direction.
"""


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the page and its pictures."""
    rows = ["| path | what it is | rate and RTT | source |", "|---|---|---|---|"]
    for path in json.loads(_native.registry_json())["paths"]:
        name = path["name"]
        yield FOLDER / f"{name}.svg", _picture(tomllib.loads(path["toml"]))
        picture = f"![Rate and RTT of {name} over time](paths/{name}.svg)"
        rows.append(f"| `{name}` | {path['doc']} | {picture} | {path['source']} |")
    yield REFERENCE / "paths.md", TEXT + "\n".join(rows) + "\n" + MISSING


def _number(text: str) -> float:
    """Return a rate in bit/s, or a time in s."""
    unit = next(unit for unit in UNITS if text.endswith(unit))
    return float(text.removesuffix(unit)) * UNITS[unit]


def _steps(pairs: Sequence[Sequence[str]]) -> Steps:
    return [(_number(at), _number(value)) for at, value in pairs]


def _picture(keys: dict[str, Any]) -> str:
    link, rtt = keys["bottleneck"], _number(keys["path"]["rtt"])
    rate = link["rate"]
    rates = [(0.0, _number(rate))] if isinstance(rate, str) else _steps(rate["steps"])
    impairments = link.get("impairments", [])
    delays = [_steps(one["steps"]) for one in impairments if one["kind"] == "delay"]
    rtts = [(at, rtt + more) for at, more in delays[0]] if delays else [(0.0, rtt)]
    last = max(rates[-1][0], rtts[-1][0])
    end = 10.0 if len(rates) > MANY or last == 0 else 1.5 * last
    bands = [
        (_number(start), min(_number(stop), end), 2 * _number(one["mean"]))
        for one in impairments
        if one["kind"] == "jitter"
        for start, stop in one.get("during", [["0s", "1000s"]])
    ]
    most_rtt = max([value for _, value in rtts] + [rtt + more for *_, more in bands])
    most_rate = max(value for _, value in rates)
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">'
    ]
    for start, stop, more in bands:
        x, y = _x(start, end), _y(rtt + more, most_rtt, RTT)
        width, height = _x(stop, end) - x, _y(rtt, most_rtt, RTT) - y
        svg.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'fill="{RTT}" fill-opacity="0.25"/>'
        )
    svg += [
        _line(rates, end, most_rate, RATE, ""),
        _line(rtts, end, most_rtt, RTT, ' stroke-dasharray="4 3"'),
        "</svg>",
    ]
    return "\n".join(svg) + "\n"


def _x(at: float, end: float) -> float:
    return MARGIN + (WIDTH - 2 * MARGIN) * min(at, end) / end


def _y(value: float, most: float, color: str) -> float:
    """Return the vertical position of a value, in the upper half for a rate or the lower half for
    an RTT."""
    bottom = HEIGHT / 2 if color == RATE else HEIGHT
    return bottom - MARGIN - (HEIGHT / 2 - 2 * MARGIN) * value / most


def _line(steps: Steps, end: float, most: float, color: str, dashes: str) -> str:
    """Return a staircase line from time 0 to the end."""
    points = []
    for (at, value), until in zip(steps, [*(at for at, _ in steps[1:]), end], strict=True):
        if at < end:
            points += [
                (_x(at, end), _y(value, most, color)),
                (_x(until, end), _y(value, most, color)),
            ]
    shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{shown}" fill="none" stroke="{color}" stroke-width="1.8"{dashes}/>'
