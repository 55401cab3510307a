"""What a number is called: a path in the JSON, an identifier with its unit everywhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_UNITS = "ms|mbit|bytes|s"
_STATISTICS = r"mean|p\d+|max|stddev"
_WITH_UNIT = re.compile(rf"(?P<stem>\w+)_(?P<unit>{_UNITS})")
_FLAT = re.compile(rf"(?P<stem>\w+)_(?P<unit>{_UNITS})_(?P<rest>{_STATISTICS})")


def identifier(path: str) -> str:
    """`rtt_p99_ms` for the JSON's `rtt_ms.p99`: the unit stands last. A count has none."""
    head, *rest = path.split(".")
    if not rest and (flat := _FLAT.fullmatch(head)):
        return f"{flat['stem']}_{flat['rest']}_{flat['unit']}"
    parts = _WITH_UNIT.fullmatch(head)
    if not rest or parts is None:
        return "_".join([head, *rest])
    unit = [] if rest == ["n"] else [parts["unit"]]
    return "_".join([parts["stem"], *rest, *unit])


def has_unit(name: str) -> bool:
    """Whether an identifier ends in its unit."""
    return _WITH_UNIT.fullmatch(name) is not None


def flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a summary as columns: `{"rtt_ms": {"mean": 1}}` as `{"rtt_mean_ms": 1}`.

    Statistics of samples over time have the same words; where a statistic of packets has them
    already, they begin with `sampled`.
    """
    out = {identifier(path): value for path, value in _paths(part)}
    for path, value in _paths(part.get("samples") or {}):
        name = identifier(path)
        out[f"sampled_{name}" if name in out else name] = value
    return out


def _paths(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        if isinstance(value, Mapping):
            if key != "samples":
                yield from _paths(value, f"{prefix}{key}.")
        elif key != "samples":
            yield f"{prefix}{key}", value
