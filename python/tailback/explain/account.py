"""What a run recorded of how its results came about: `account.json`, read and checked."""

from __future__ import annotations

from typing import Any

from tailback import foreign, shape
from tailback.errors import DamagedResults
from tailback.stored import ACCOUNT, StoredRun

FORMAT = 1

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
    "minima": dict.fromkeys(("window_ns", "windows", "empty", "sum_ns"), shape.whole),
    "events": {
        "width_ns": shape.whole,
        "causes": shape.each(lambda value: shape.fault(value, [shape.whole]) is None),
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
    """The account of a run; None if it has none: it is older than accounts."""
    if not run.has(ACCOUNT):
        return None
    file = run.path / ACCOUNT
    found: dict[str, Any] = foreign.parse_json(run.read(ACCOUNT), file)
    where = shape.fault(found, SHAPE)
    if where is None and found["format"] != FORMAT:
        where = "format"
    columns = ("time_ns", "reason", "from", "to")
    for sender in () if where else (*found["flows"], *found["traffic"]):
        if len({len(sender["reductions"][column]) for column in columns}) > 1:
            where = f"reductions of {sender['name']}"
    if where is not None:
        raise DamagedResults(f"{file}: {where} is not what such a file of a run has there")
    return found
