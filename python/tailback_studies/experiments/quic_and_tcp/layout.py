"""Defines the stacks, kernel flows, links and queues of the study. These choices were frozen before
the first run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stack:
    """A QUIC stack, with its default congestion control or with another congestion control."""

    kind: str
    """The `kind` of the stack's ready-made program in a scenario."""
    control: str
    """The name of the congestion control that the authors of the stack use."""
    word: str | None = None
    """The congestion control's name in a scenario. None for the default."""
    fastest_mbit: int = 100
    """The highest rate at which the stack runs, in Mbit/s. At higher rates, a run needs too much
    CPU time of the guest."""
    only_rtt_ms: int | None = None
    """The only RTT at which the stack runs, if its runs need much CPU time. None if the stack runs
    at all RTTs."""

    def is_at(self, link: Link, rtt_ms: int) -> bool:
        """Return whether the stack runs at this rate and RTT."""
        return link.rate_mbit <= self.fastest_mbit and self.only_rtt_ms in (None, rtt_ms)

    @property
    def label(self) -> str:
        return f"{self.kind} ({self.control})"


STACKS = (
    Stack("quic-go", "NewReno"),
    Stack("quinn", "CUBIC"),
    Stack("s2n-quic", "CUBIC"),
    Stack("aioquic", "Reno", fastest_mbit=20, only_rtt_ms=40),
)

LATER = (Stack("quiche", "CUBIC"), Stack("quiche", "BBRv2", word="bbr2"))
"""A stack that was added after the first runs, with its default congestion control and with the
only BBRv2 of the study. With CUBIC, this stack sends small datagrams at every rate (programs.md),
so its runs need much CPU time.
"""

CCS = ("cubic", "reno", "bbr")
"""Congestion controls of the kernel's flow."""

QUEUES: Mapping[str, Mapping[str, Any]] = {
    "fifo 0.5 BDP": {"aqm": "fifo", "limit": "0.5bdp"},
    "fifo 1 BDP": {"aqm": "fifo", "limit": "1bdp"},
    "fifo 4 BDP": {"aqm": "fifo", "limit": "4bdp"},
    "fq_codel": {"aqm": "fq_codel", "ecn": True},
    "cake": {"aqm": "cake"},
    "dualpi2": {"aqm": "dualpi2"},
}


@dataclass(frozen=True)
class Link:
    """A bottleneck and the duration of its runs."""

    rate_mbit: int
    rtts_ms: tuple[int, ...]
    seconds: int
    warmup_s: int


LINKS = (Link(20, (10, 40, 160), 40, 10), Link(100, (10, 40, 160), 20, 5))
"""Links with RTTs and durations. Runs at 100 Mbit/s are half as long, because they have five times
as many packets per second."""

MET_AT_100 = Link(100, (40,), 20, 5)
FURTHER_AT_100 = Link(100, (10, 160), 20, 5)
"""The link for pairs of flows at these two RTTs and 100 Mbit/s. The runs on this link are a
separate part, because they need two processors for an hour.
"""


@dataclass(frozen=True)
class Meeting:
    """A link, and the QUIC stacks that share it with a TCP flow."""

    link: Link
    stacks: tuple[Stack, ...] = STACKS
    asked: bool = False
    """Whether these runs are executed only if the user names their part."""


MEETINGS: Mapping[str, Meeting] = {
    "beside-20": Meeting(LINKS[0]),
    "beside-100": Meeting(MET_AT_100),
    "beside-100-rtts": Meeting(FURTHER_AT_100, asked=True),
    "beside-20-quiche": Meeting(Link(20, (40,), 40, 10), LATER, asked=True),
}
"""For each part of the study, its link and QUIC stacks."""

QUICK = Link(20, (40,), 15, 5)

SHARED = ("fifo 0.5 BDP", "fifo 1 BDP", "fifo 4 BDP", "dualpi2")
"""Queues in which flows compete. The study's other queues give each flow a queue of its own."""


@dataclass(frozen=True)
class QuicPlace:
    """A bottleneck: link, RTT and queue."""

    link: Link
    rtt_ms: int
    queue: str

    @property
    def name(self) -> str:
        """The bottleneck's name in ids of values."""
        return f"{self.link.rate_mbit} Mbit/s/{self.rtt_ms} ms/{self.queue}"


def places(link: Link) -> Iterator[QuicPlace]:
    """Yield a bottleneck for each RTT of the link and each queue."""
    for rtt in link.rtts_ms:
        for queue in QUEUES:
            yield QuicPlace(link, rtt, queue)


@dataclass(frozen=True)
class Pair:
    """A TCP flow of the kernel, and its competitor. The competitor is a QUIC stack, or another TCP
    flow of the kernel if `stack` is None.
    """

    place: QuicPlace
    stack: Stack | None
    cc: str


def pairs(meeting: Meeting) -> list[Pair]:
    """Return the pairs of flows on a link. Pairs of two TCP flows come first, because the harm of
    the other pairs is relative to them."""
    return [
        Pair(place, stack, cc)
        for stack in (None, *meeting.stacks)
        for place in places(meeting.link)
        if stack is None or stack.is_at(meeting.link, place.rtt_ms)
        for cc in CCS
    ]


@dataclass(frozen=True)
class Fetch:
    """A transfer without a competitor, by a QUIC stack or by the kernel's TCP."""

    place: QuicPlace
    who: Stack | str

    @property
    def label(self) -> str:
        """The stack's name in tables."""
        return self.who.label if isinstance(self.who, Stack) else f"Linux ({self.who})"


def fetches(links: tuple[Link, ...]) -> list[Fetch]:
    """Return every transfer."""
    whom: tuple[Stack | str, ...] = (*STACKS, *CCS)
    return [
        Fetch(place, who)
        for link in links
        for who in whom
        for place in places(link)
        if isinstance(who, str) or who.is_at(link, place.rtt_ms)
    ]
