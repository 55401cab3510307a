"""Reads and checks `account.json`, in which a run recorded data to explain its results."""

from __future__ import annotations

from typing import Any

from tailback.base import foreign
from tailback.errors import DamagedResults
from tailback.explain import words
from tailback.store import shape
from tailback.store.run_folder import ACCOUNT, StoredRun

FORMAT = 1
STATES = 5
"""The number of congestion states of Linux."""

_COUNTS = shape.each(shape.whole)
_SENDER = {
    "name": shape.text,
    "limited_ns": _COUNTS,
    "before_ns": _COUNTS,
    "reductions": {
        "counts": _COUNTS,
        "before": _COUNTS,
        "time_ns": [shape.whole],
        "reason": [shape.text],
        "from": [shape.whole],
        "to": [shape.whole],
    },
    # Runs of earlier versions of tailback do not have the key `slow_start`.
    "slow_start": shape.Absent(
        shape.maybe(
            {
                "at_ns": shape.whole,
                "why": shape.text,
                "cwnd": shape.whole,
                "srtt_ns": shape.whole,
                "min_rtt_ns": shape.whole,
                "lost": shape.whole,
                "settled": lambda value: isinstance(value, bool),
            }
        )
    ),
    "tcp_info": shape.maybe(
        {
            "elapsed_ns": shape.whole,
            "busy_ns": shape.whole,
            "rwnd_limited_ns": shape.whole,
            "sndbuf_limited_ns": shape.whole,
            "states": [shape.whole],
            "interval_ns": shape.whole,
        }
    ),
}
_LINK = {
    "name": shape.text,
    "held_byte_s": shape.each(shape.number),
    "minima": {
        **dict.fromkeys(("window_ns", "windows", "empty", "sum_ns"), shape.whole),
        "of_a_packet_ns": shape.Absent(shape.maybe(shape.number)),
    },
    "events": {
        "width_ns": shape.whole,
        "causes": shape.each([shape.whole]),
    },
}
SHAPE = {
    "format": shape.whole,
    "watched": lambda value: isinstance(value, bool),
    "flows": [_SENDER],
    "traffic": [_SENDER],
    "links": [_LINK],
}


def read(run: StoredRun) -> dict[str, Any] | None:
    """Return the account of a run, or None if the run comes from a version that did not write
    accounts."""
    if not run.has(ACCOUNT):
        return None
    file = run.path / ACCOUNT
    account: dict[str, Any] = foreign.parse_json(run.read(ACCOUNT), file)
    where = shape.fault(account, SHAPE)
    if where is None and account["format"] != FORMAT:
        where = "format"
    columns = ("time_ns", "reason", "from", "to")
    for sender in () if where else (*account["flows"], *account["traffic"]):
        if len({len(sender["reductions"][column]) for column in columns}) > 1:
            where = f"reductions of {sender['name']}"
    where = where or _stranger(account, run.summary)
    if where is not None:
        raise DamagedResults(f"{file}: {where} is not valid in this file of a run")
    return account


def _stranger(account: dict[str, Any], summary: dict[str, Any]) -> str | None:
    """Find a part of `account.json` that does not match the run's summary or that has an unknown
    name. Return the place of this part, or None if everything matches.
    """
    for kind, known in (("flows", summary["flows"]), ("links", summary["queues"])):
        # `account.json` and the summary list flows and links in the order of the scenario.
        if len(account[kind]) != len(known):
            return kind
    sources = {source["name"] for source in summary["traffic"]}
    if any(source["name"] not in sources for source in account["traffic"]):
        return "traffic"
    for sender in (*account["flows"], *account["traffic"]):
        reductions = sender["reductions"]
        reasons = {*reductions["counts"], *reductions["before"], *reductions["reason"]}
        if not reasons <= set(words.REASONS):
            return f"reductions of {sender['name']}"
        if not {*sender["limited_ns"], *sender["before_ns"]} <= set(words.LIMITS):
            return f"limited_ns of {sender['name']}"
        told = sender["tcp_info"]
        if told is not None and len(told["states"]) != STATES:
            return f"tcp_info of {sender['name']}"
    return None
