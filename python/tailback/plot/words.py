"""Writes the names of keys and quantities, and values with their units, for figures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from tailback.metrics import Metric

_KEYS = {
    "rtt": "RTT",
    "cc": "congestion control",
    "ecn": "ECN",
    "mss": "MSS",
    "rwnd": "receive window",
    "sce": "SCE",
    "tcp": "TCP",
}
_PARTS = {
    "flow": "flow",
    "cc": "congestion control",
    "link": "link",
    "aqm": "queue",
    "class": "class",
    "seed": "seed",
}
_OF = re.compile(
    r"(?:flows|links|traffic)(?:\.(?P<name>[^.\[]+)|\[(?P<number>\d+)\])\.(?P<rest>.+)"
)


def key(path: str) -> str:
    """Return the title of a swept key, or of the flow, link, class or seed."""
    if path in _PARTS:
        return _PARTS[path]
    if found := _OF.fullmatch(path):
        whose = found["name"] or f"{path.partition('[')[0]} {found['number']}"
        return f"{key(found['rest'])} of {whose}"
    parts = path.split(".")
    if parts[-1] == "aqm":
        parts.pop()
    if parts[0] == "bottleneck" and parts[1:2] == ["queue"]:
        parts.pop(0)
    return " ".join(_KEYS.get(part, part.replace("_", " ")) for part in parts)


_NUMBER = re.compile(
    r"(?P<number>[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?) ?(?P<unit>[a-zA-Z%]*)"
)

_TIMES = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "secs": 1e9}
_RATES = {
    f"{prefix}{end}": times * bits
    for prefix, times in (("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12))
    for end, bits in (("bit", 1.0), ("bps", 8.0))
}
_RATE_NAMES = {1.0: "bit/s", 1e3: "kbit/s", 1e6: "Mbit/s", 1e9: "Gbit/s", 1e12: "Tbit/s"}
_SIZES = {"p": "packets", "bdp": "BDP", "b": "bytes", "kb": "KiB", "mb": "MiB", "gb": "GiB"}


def split(label: str) -> tuple[float, str] | None:
    """Split a value of a scenario into number and unit, such as (10.0, "Mbit/s"). Return None for a
    value that is a name."""
    found = _NUMBER.fullmatch(label.strip())
    if found is None:
        return None
    number, unit = float(found["number"].replace("_", "")), found["unit"].lower()
    if not unit:
        return number, ""
    if unit in _TIMES:
        shown = "s" if unit.startswith("sec") else unit
        return number, shown
    if unit in _RATES:
        bits = _RATES[unit]
        # Rates in bytes per second are converted to bits per second.
        scale = bits if bits in _RATE_NAMES else bits / 8
        return number * bits / scale, _RATE_NAMES[scale]
    if unit in _SIZES:
        return number, _SIZES[unit]
    return (number, "%") if unit == "%" else None


_SAME = {
    **{unit: ("time", _TIMES[unit]) for unit in ("ns", "us", "ms", "s")},
    **{unit: ("rate", scale) for scale, unit in _RATE_NAMES.items()},
    **{unit: ("size", 1024.0**i) for i, unit in enumerate(("bytes", "KiB", "MiB", "GiB"))},
}


def converted(number: float, unit: str, wanted: str) -> float | None:
    """Convert a number to another unit. If no unit is given, return the number unchanged. Return
    None if the units measure different things.
    """
    if unit in ("", wanted):
        return number
    if unit == "%" and not wanted:
        return number / 100
    if unit not in _SAME or wanted not in _SAME or _SAME[unit][0] != _SAME[wanted][0]:
        return None
    return float(f"{number * _SAME[unit][1] / _SAME[wanted][1]:.12g}")


def numbers(labels: Sequence[str]) -> tuple[list[float], str] | None:
    """Return the values of a key as numbers in a common unit. Return None if the values are names
    or their units measure different things."""
    found = [split(label) for label in labels]
    known = [one for one in found if one is not None]
    if not found or len(known) < len(found):
        return None
    units = list(dict.fromkeys(unit for _, unit in known))
    if all(_SAME.get(unit, ("",))[0] == "size" for unit in units):
        # Sizes with and without a unit share one axis, in bytes.
        return [float(f"{number * _SAME[unit][1]:.12g}") for number, unit in known], "bytes"
    if len(units) == 1:
        return [number for number, _ in known], units[0]
    families = {_SAME[unit][0] for unit in units if unit in _SAME}
    if len(families) != 1 or any(unit not in _SAME for unit in units):
        return None
    # Choose the largest unit in which all numbers are at least 0.1.
    family, least = families.pop(), min(abs(n) * _SAME[unit][1] for n, unit in known)
    every = sorted((s, unit) for unit, (kind, s) in _SAME.items() if kind == family)
    base = next((unit for s, unit in reversed(every) if least >= 0.1 * s), every[0][1])
    made = (number * _SAME[unit][1] / _SAME[base][1] for number, unit in known)
    return [float(f"{number:.12g}") for number in made], base


def value(label: str) -> str:
    """Return a value as text: "10 Mbit/s" for "10Mbit", "codel, target 5 ms" for a table."""
    if (found := split(label)) is not None:
        number, unit = found
        return f"{number:.12g} {unit}" if unit else f"{number:.12g}"
    if label.startswith("{"):
        try:
            return _table(tomllib.loads(f"it = {label}")["it"])
        except tomllib.TOMLDecodeError:
            return label
    return label


def _table(table: dict[str, Any]) -> str:
    named = [str(table[name]) for name in ("name", "aqm") if name in table]
    rest = [
        f"{_KEYS.get(name, name.replace('_', ' '))} {_inner(inner)}"
        for name, inner in table.items()
        if name not in ("name", "aqm")
    ]
    return ", ".join([*named, *rest])


def _inner(inner: Any) -> str:
    match inner:
        case bool():
            return "on" if inner else "off"
        case str():
            return value(inner)
        case dict():
            return f"({_table(inner)})"
        case list():
            return " ".join(_inner(one) for one in inner)
    return str(inner)


_STEMS = {
    "delay_ms": "queue delay",
    "rtt_ms": "RTT",
    "srtt_ms_mean": "smoothed RTT",
    "throughput_mbit": "throughput",
    "throughput_total_mbit": "throughput of all flows",
    "throughput_gain": "throughput gain",
    "throughput_ratio": "throughput ratio",
    "rate_mbit": "rate",
    "window_bytes": "window",
    "occupancy_bytes_mean": "queue length",
    "completion_s": "completion time",
    "requests_completion_s": "completion time of requests",
    "one_way_delay_ms": "one-way delay",
    "frame_delay_ms": "delay of frames",
    "chunk_ms": "time of chunks",
    "page_load_ms": "time to load a page",
    "jain": "Jain's index",
    "sce_marks": "SCE marks",
    "marks": "CE marks",
    "retransmits": "retransmissions",
    "mark_share": "share of packets marked",
    "drop_share": "share of packets dropped",
    "normalised": "normalised completion time",
}
_RANKS = {"mean": "mean {}", "p50": "median {}", "max": "largest {}"}


def metric(found: Metric) -> tuple[str, str]:
    """Return the title and the unit of a metric."""
    if found.of_two is not None:
        return f"harm to {metric(found.of_two.quantity)[0]}", ""
    stem, _, rest = found.path.partition(".")
    title = _STEMS.get(stem, stem.replace("_", " "))
    unit = "bytes" if found.unit == "byte" else found.unit
    if rest in _RANKS:
        title = _RANKS[rest].format(title)
    elif rank := re.fullmatch(r"(?:(.*)\.)?p(\d+)", rest):
        ending = {"1": "st", "2": "nd", "3": "rd"}.get(rank[2], "th")
        of = f" up to {rank[1]}" if rank[1] else ""
        title = f"{title}{of}, {rank[2]}{ending} percentile"
    elif rest:
        title = f"{title}, {rest.replace('_', ' ')}"
    if stem in ("srtt_ms_mean", "occupancy_bytes_mean"):
        title = f"mean {title}"
    return title, "" if unit == "packets" else unit


_SERIES = {
    "cwnd": "congestion window",
    "ssthresh": "slow-start threshold",
    "srtt": "smoothed RTT",
    "in_flight": "packets in flight",
    "delivered": "delivered",
    "backlog_packets": "backlog",
    "backlog": "backlog",
    "acked": "acknowledged",
    "completion": "completion time",
    "rate": "rate",
    "ca_state": "congestion state",
    "mode": "phase of BBR",
    "phase": "phase of PROBE_BW",
    "codel_dropping": "state of CoDel",
}


def series(name: str) -> str:
    """Return the title of a recorded series, without its unit."""
    return _SERIES.get(name, name.replace("_", " ").replace(".", " "))


def with_unit(title: str, unit: str) -> str:
    """Return a title with its unit, as for an axis."""
    return f"{title} ({unit})" if unit else title
