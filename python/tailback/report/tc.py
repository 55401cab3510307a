"""A queue's parameters as iproute2's `tc qdisc show` prints them, from a run's canonical point.

What the simulator has and tc has not stands behind it in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DUALPI2_ONLY_SIMULATED = (
    "scheduler",
    "arithmetic",
    "timer",
    "step_rule",
    "l_drop",
    "wrr_ratio",
    "tshift",
    "tspeed",
    "reset_statistics",
    "version",
)
_SHIFTED = ("tshift", "tspeed")


def qdisc(queue: Mapping[str, Any]) -> str:
    """The line of a queue, `{"name", "options"}`."""
    name, options = str(queue["name"]), dict(queue.get("options") or {})
    if name == "dualpi2":
        return _dualpi2(options)
    words = [f"qdisc {name}"]
    for option, value in options.items():
        if value is None or value is False:
            continue
        words.append(option if value is True else f"{option} {_value(option, value)}")
    return " ".join(words)


def _dualpi2(options: dict[str, Any]) -> str:
    words = ["qdisc dualpi2", f"limit {_value('limit', options.pop('limit'))}"]
    if (memory := options.pop("memlimit", None)) is not None:
        words.append(f"memlimit {_value('memlimit', memory)}")
    for option in ("target", "tupdate"):
        words.append(f"{option} {time(options.pop(option))}")
    for option in ("alpha", "beta"):
        words.append(f"{option} {options.pop(option):.6f}")
    words.append("any_ect" if options.pop("any_ect") else "l4s_ect")
    words.append(f"coupling_factor {options.pop('coupling_factor')}")
    if (overload := options.pop("overload", None)) is not None:
        words.append("drop_on_overload" if overload == "drop" else "drop_overflow")
    words.append(f"step_thresh {_value('step_thresh', options.pop('step_thresh'))}")
    if least := options.pop("min_qlen_step", 0):
        words.append(f"min_qlen_step {least}p")
    words.append(f"drop_{options.pop('drop')}")
    words.append(f"classic_protection {options.pop('classic_protection')}%")
    if (split := options.pop("split_gso", None)) is not None:
        words.append("split_gso" if split else "no_split_gso")
    scheduler = options.get("scheduler")
    if scheduler != "wrr-counter":
        options.pop("wrr_ratio", None)
    if scheduler not in ("wrr-counter", "ts-fifo"):
        for option in _SHIFTED:
            options.pop(option, None)
    rest = [
        f"{option} {_value(option, options[option])}"
        for option in _DUALPI2_ONLY_SIMULATED
        if options.get(option) is not None
    ]
    return " ".join(words) + (f" [{', '.join(rest)}]" if rest else "")


def _value(option: str, value: Any) -> str:
    match value:
        case {"packets": int(n)}:
            return f"{n}p"
        case {"bytes": int(n)}:
            return f"{n}b"
        case {"ns": int(n)}:
            return time(n)
        case bool():
            return "on" if value else "off"
        case int() if value >= 1000 and option in _TIMES:
            return time(value)
        case float():
            return f"{value:g}"
        case Mapping():
            return "{ " + " ".join(f"{k} {_value(k, v)}" for k, v in value.items()) + " }"
    return str(value)


_TIMES = ("target", "tupdate", "interval", "ce_threshold", "rtt", "max_rtt", "tshift")


def time(nanoseconds: int) -> str:
    """As tc prints times: 15ms, 500us, 1s; below a microsecond in nanoseconds."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.6g}{unit}"
    return f"{nanoseconds}ns"
