"""Reads qlog, the log format of QUIC implementations (draft-ietf-quic-qlog-main-schema,
-quic-events). Only the congestion window and the sender's RTTs are read.

The files are JSON (`.qlog`, `.json`) or JSON text sequences (`.sqlog`, or one record on each line),
with the names of qlog 0.3 (`recovery:metrics_updated`, `time_format`) and of 0.4 (`quic:
recovery_metrics_updated`, `relative_to_epoch`). Records that do not follow the schema are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tailback.base import foreign
from tailback.errors import InputError
from tailback.store import shape

ENDINGS = (".qlog", ".sqlog", ".json")

MAX_BYTES = 48 << 20
"""The largest size of a file, in bytes."""

MAX_RECORDS = 2_000_000
"""The largest number of records to read from a sequence."""

MAX_RECORD = 1 << 20
"""The largest size of a record of a sequence, in bytes."""

UPDATES = (
    "recovery:metrics_updated",
    "quic:recovery_metrics_updated",
    "recovery_metrics_updated",
    "metrics_updated",
)

STATES = tuple(f"{prefix}congestion_state_updated" for prefix in ("recovery:", "quic:", ""))
"""Names of the event with a new state of the congestion control."""

WORDS = (b"metrics_updated", b"congestion_state_updated")
"""Only records that contain one of these words are read."""

Samples = list[tuple[float, float]]
"""Samples: pairs of time in ms and value."""

Event = tuple[float, str, Mapping[str, Any]]
"""An event: time in ms, name, data."""


@dataclass(frozen=True)
class Trace:
    """The qlog of one connection."""

    vantage: str
    """The side that wrote the log: client, server, or empty if unknown."""
    epoch_ms: float | None
    """Origin of the times, in ms since 1970. None if the origin is unknown."""
    cwnd: Samples = field(default_factory=list)
    """Congestion window, in bytes."""
    smoothed_rtt: Samples = field(default_factory=list)
    """Smoothed RTT, in ms."""
    latest_rtt: Samples = field(default_factory=list)
    """RTT of the last acknowledged packet, in ms."""
    states: list[tuple[float, str]] = field(default_factory=list)
    """Time in ms and name of each state that the congestion control enters."""

    @property
    def is_empty(self) -> bool:
        """Whether the log has no samples."""
        return not (self.cwnd or self.smoothed_rtt or self.latest_rtt)


def rtt_unit_ms(trace: Trace, base_ms: float) -> float:
    """Return the unit of the RTTs in a log, as a number of ms.

    The unit is 1 as in the schema, or 1000 if the RTTs are in seconds, as quinn logs them.

    `base_ms` is the path's RTT without queues. Measured RTTs cannot be shorter than `base_ms`, so
    values far below it are in seconds.
    """
    rtts = [value for samples in (trace.smoothed_rtt, trace.latest_rtt) for _, value in samples]
    most = max(rtts, default=0.0)
    return 1000.0 if 0 < most < base_ms / 2 <= 1000 * most else 1.0


def parse(data: bytes, path: Path) -> list[Trace]:
    """Return the connections of a file that have samples. If the file is not qlog, the list is
    empty.

    Raises `InputError` if the file claims to be qlog but cannot be read. Messages name the file as
    `path`.
    """
    head = data[:4096]
    named = path.suffix in (".qlog", ".sqlog")
    # A JSON file may have a format other than qlog. Every qlog file contains one of these words.
    if not named and not any(word in head for word in (b'"qlog_', b"qlog:file", b"qlog+json")):
        return []
    traces = [_trace(*log) for log in logs(data, path, WORDS)]
    return [trace for trace in traces if not trace.is_empty]


Log = tuple[Mapping[str, Any], Iterable[Any]]
"""The header of a trace, and its events."""


def logs(data: bytes, path: Path, words: Sequence[bytes]) -> list[Log]:
    """Return the connections of a file. If the file is a text sequence, skip records that contain
    none of `words`.

    Raises `InputError` if the file is not qlog. Messages name the file as `path`.
    """
    return _sequence(data, path, words) if _is_sequence(data) else _whole(data, path)


def timed(trace: Mapping[str, Any], events: Iterable[Any]) -> Iterator[Event]:
    """Yield time in ms, name and data of each complete event."""
    delta = _is_delta(trace)
    now = 0.0
    for event in events:
        if not isinstance(event, Mapping) or not shape.number(event.get("time")):
            continue
        now = float(event["time"]) + (now if delta else 0.0)
        data, name = event.get("data"), event.get("name")
        if isinstance(data, Mapping) and isinstance(name, str):
            yield now, name, data


def _is_sequence(data: bytes) -> bool:
    """Return whether the file is a sequence of JSON texts. In a sequence each record begins with
    the character RS, or is one line."""
    if data.startswith(b"\x1e"):
        return True
    first, newline, rest = data.partition(b"\n")
    return bool(newline) and first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")


def _whole(data: bytes, path: Path) -> list[Log]:
    log = foreign.parse_json(data, path)
    traces = log.get("traces") if isinstance(log, Mapping) else None
    if not isinstance(traces, list):
        raise InputError(
            f"{foreign.line(path.name)}: not a qlog file, because it has no traces; name the log "
            f"of a sender"
        )
    return [(one, _events(one)) for one in traces if isinstance(one, Mapping)]


def _events(trace: Mapping[str, Any]) -> Sequence[Any]:
    events = trace.get("events")
    return events if isinstance(events, list) else ()


def _sequence(data: bytes, path: Path, words: Sequence[bytes]) -> list[Log]:
    separator = b"\x1e" if data.startswith(b"\x1e") else b"\n"
    records = (one.group() for one in re.finditer(b"[^" + separator + b"]+", data))
    header = next((one for one in records if one.strip()), b"")
    log = foreign.parse_json(header, path)
    trace = log.get("trace") if isinstance(log, Mapping) else None
    if not isinstance(trace, Mapping):
        raise InputError(
            f"{foreign.line(path.name)}: not a qlog file, because its first record has no trace; "
            f"name the log of a sender"
        )
    return [(trace, _records(records, () if _is_delta(trace) else words, path))]


def _records(records: Iterable[bytes], words: Sequence[bytes], path: Path) -> Iterator[Any]:
    """Yield records that contain one of `words`, or every record if `words` is empty."""
    for number, record in enumerate(records):
        if number == MAX_RECORDS:
            return
        if len(record) > MAX_RECORD or (words and not any(word in record for word in words)):
            continue
        try:
            yield foreign.parse_json(record, path)
        except InputError:
            # The last record may be incomplete if the program was killed.
            continue


def _common(trace: Mapping[str, Any]) -> Mapping[str, Any]:
    common = trace.get("common_fields")
    return common if isinstance(common, Mapping) else {}


def _is_delta(trace: Mapping[str, Any]) -> bool:
    return _common(trace).get("time_format") in ("delta", "relative_to_previous_event")


def _trace(trace: Mapping[str, Any], events: Iterable[Any]) -> Trace:
    vantage = trace.get("vantage_point")
    kind = vantage.get("type") if isinstance(vantage, Mapping) else None
    common = _common(trace)
    absolute = common.get("time_format") == "absolute"
    record = Trace(
        kind if kind in ("client", "server") else "", 0.0 if absolute else _epoch(common)
    )
    for now, event, data in timed(trace, events):
        if event in UPDATES:
            for name, samples in (
                ("congestion_window", record.cwnd),
                ("smoothed_rtt", record.smoothed_rtt),
                ("latest_rtt", record.latest_rtt),
            ):
                value: Any = data.get(name)
                if shape.number(value) and value >= 0:
                    samples.append((now, float(value)))
        elif event in STATES and isinstance(data.get("new"), str):
            record.states.append((now, data["new"]))
    return record


def _epoch(common: Mapping[str, Any]) -> float | None:
    """Return the time from which the log counts, in ms since 1970. In qlog 0.3 this time is a
    number, in qlog 0.4 a date."""
    reference = common.get("reference_time")
    if isinstance(reference, Mapping):
        texts = [reference.get("epoch"), reference.get("wall_clock_time")]
        parsed = (_parsed(text) for text in texts if isinstance(text, str))
        return next((ms for ms in parsed if ms is not None), None)
    # Some logs write 0 if the origin is unknown.
    return float(reference) if shape.number(reference) and reference else None


def _parsed(text: str) -> float | None:
    cut = re.sub(r"(\.\d{6})\d+", r"\1", text)
    try:
        when = datetime.fromisoformat(cut)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return when.timestamp() * 1e3


def over_run(
    trace: Trace, samples: Samples, *, date_s: float, start_s: float, end_s: float
) -> Samples:
    """Convert the times of samples to seconds since the start of the run.

    `date_s` is the date at time 0 of the run, on the clock that the program reads. If the log has
    an absolute origin, subtract `date_s` from its times. If the log has no absolute origin, assume
    that the log begins when the program starts.
    """
    if not samples:
        return []
    offset = None if trace.epoch_ms is None else trace.epoch_ms / 1e3 - date_s
    if offset is None or not -1.0 <= samples[0][0] / 1e3 + offset <= end_s + 1.0:
        offset = start_s - samples[0][0] / 1e3
    moved = ((ms / 1e3 + offset, value) for ms, value in samples)
    return [(at, value) for at, value in moved if 0 <= at <= end_s]
