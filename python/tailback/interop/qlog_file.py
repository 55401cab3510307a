"""Reads the throughput, RTT, window, losses and marks from the qlog file of a sender."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback.base import foreign
from tailback.errors import InputError
from tailback.programs import qlog
from tailback.programs.qlog import Samples, Trace
from tailback.store import shape

SUFFIXES = (".qlog", ".sqlog")

_WORDS = (b"metrics_updated", b"packet_sent", b"packet_received", b"packets_acked", b"packet_lost")

MAX_RANGE = 1_000_000
"""The largest number of packet numbers in one range of an ACK."""


@dataclass(frozen=True)
class Sender:
    """The qlog of one connection. If the log has no events of a kind, the list for this kind is
    None.
    """

    path: Path
    sha256: str
    title: str
    trace: Trace
    """The congestion window and RTTs over time."""
    first_ms: float
    last_ms: float
    """Time of the last event. `first_ms` is the time of the first event."""
    acked: Samples | None
    """Times of acknowledgement, and acknowledged bytes. Each packet counts once."""
    lost: list[float] | None
    """Times at which packets were declared lost."""
    marked: Samples | None
    """The receiver's count of CE marks."""


@dataclass
class _Packets:
    """Collects sizes, acknowledgements and losses of packets from the events of a log."""

    sizes: dict[int, float] = field(default_factory=dict)
    acked: Samples = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    marked: Samples = field(default_factory=list)
    first_ms: float = 0.0
    last_ms: float = 0.0
    seen: set[str] = field(default_factory=set)
    """Names of the events that the log contains."""
    has_acks: bool = False
    """Whether the log records which packets were acknowledged. Some logs leave out the frames with
    this information."""

    def add(self, now: float, name: str, data: Mapping[str, Any]) -> None:
        kind = name.rpartition(":")[2]
        if not self.seen:
            self.first_ms = now
        self.last_ms = max(self.last_ms, now)
        self.seen.add(kind)
        if kind == "packet_sent":
            self._sent(data)
        elif kind == "packet_received":
            for frame in _tables(data.get("frames")):
                if frame.get("frame_type") == "ack":
                    self.has_acks = True
                    self._ack(now, _ranged(frame.get("acked_ranges")))
                    if shape.number(frame.get("ce")):
                        self.marked.append((now, float(frame["ce"])))
        elif kind == "packets_acked":
            self.has_acks = True
            numbers = data.get("packet_numbers")
            self._ack(now, numbers if isinstance(numbers, list) else ())
        elif kind == "packet_lost":
            self.lost.append(now)

    def _sent(self, data: Mapping[str, Any]) -> None:
        header, raw = data.get("header"), data.get("raw")
        number = header.get("packet_number") if isinstance(header, Mapping) else None
        length = raw.get("length") if isinstance(raw, Mapping) else None
        streams = [
            frame["length"]
            for frame in _tables(data.get("frames"))
            if frame.get("frame_type") == "stream" and shape.number(frame.get("length"))
        ]
        size = sum(streams) if streams else length
        kind = header.get("packet_type") if isinstance(header, Mapping) else None
        if kind == "1RTT" and isinstance(number, int) and isinstance(size, int | float):
            self.sizes[number] = float(size)

    def _ack(self, now: float, numbers: Iterable[Any]) -> None:
        size = sum(self.sizes.pop(number, 0.0) for number in numbers if shape.whole(number))
        if size:
            self.acked.append((now, size))


def _tables(frames: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(frames, list):
        yield from (frame for frame in frames if isinstance(frame, Mapping))


def _ranged(ranges: object) -> Iterator[int]:
    """Yield the packet numbers of acknowledged ranges, each written as `[first, last]` or
    `[only]`."""
    for one in ranges if isinstance(ranges, list) else ():
        if isinstance(one, list) and one and all(map(shape.whole, one)):
            yield from range(one[0], min(one[-1], one[0] + MAX_RANGE) + 1)


def is_named_so(path: Path) -> bool:
    """Return whether a path has the ending of a qlog file."""
    return path.suffix in SUFFIXES and not path.is_dir()


def read(path: Path) -> Sender:
    """Read a file with the log of one sender.

    Raises `InputError` if the file has no sender, or several.
    """
    data = foreign.read(path, limit=qlog.MAX_BYTES)
    logs = qlog.logs(data, path, _WORDS)
    if len(logs) != 1:
        raise InputError(
            f"{foreign.line(path.name)}: {len(logs)} traces; expected a file with one trace"
        )
    head, events = logs[0]
    packets = _Packets()
    for now, name, content in qlog.timed(head, events):
        packets.add(now, name, content)
    traces = qlog.parse(data, path)
    if not traces:
        raise InputError(
            f"{foreign.line(path.name)}: no metrics_updated event; expected the log of a sender"
        )
    title = head.get("title")
    return Sender(
        path,
        hashlib.sha256(data).hexdigest(),
        title if isinstance(title, str) else "",
        traces[0],
        packets.first_ms,
        packets.last_ms,
        packets.acked if packets.has_acks and "packet_sent" in packets.seen else None,
        packets.lost if "packet_lost" in packets.seen or "packet_sent" in packets.seen else None,
        packets.marked or None,
    )
