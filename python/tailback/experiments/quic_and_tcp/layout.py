"""What is laid beside what: stacks, kernel flows, links and queues. Fixed before the first run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stack:
    """A QUIC stack as its authors ship it, with their default congestion control."""

    kind: str
    """The ready-made entry."""
    control: str
    """What its authors call that."""
    fastest_mbit: int
    """At higher rates it needs more of the guest's CPU time than a run is worth."""

    @property
    def label(self) -> str:
        """In tables."""
        return f"{self.kind} ({self.control})"


STACKS = (
    Stack("quic-go", "NewReno", 100),
    Stack("quinn", "CUBIC", 100),
    Stack("s2n-quic", "CUBIC", 100),
    Stack("aioquic", "Reno", 20),
)

CCS = ("cubic", "reno", "bbr")
"""Of the kernel's flow."""

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
    """A bottleneck and how long it is watched."""

    rate_mbit: int
    rtts_ms: tuple[int, ...]
    seconds: int
    warmup_s: int


LINKS = (Link(20, (10, 40, 160), 40, 10), Link(100, (10, 40, 160), 20, 5))
"""By rate. At 100 Mbit/s half as long: it has five times the packets."""

QUICK = Link(20, (40,), 15, 5)

SHARED = ("fifo 0.5 BDP", "fifo 1 BDP", "fifo 4 BDP", "dualpi2")
"""Queues in which flows meet: the others keep them apart."""


@dataclass(frozen=True)
class Place:
    """A bottleneck that two flows share."""

    link: Link
    rtt_ms: int
    queue: str

    @property
    def name(self) -> str:
        """In the ids of cells."""
        return f"{self.link.rate_mbit} Mbit/s/{self.rtt_ms} ms/{self.queue}"

    @property
    def fair_mbit(self) -> float:
        """Half of the rate."""
        return self.link.rate_mbit / 2


def places(link: Link) -> Iterator[Place]:
    """Every bottleneck of this rate."""
    for rtt in link.rtts_ms:
        for queue in QUEUES:
            yield Place(link, rtt, queue)


@dataclass(frozen=True)
class Pair:
    """Who meets at a place: a stack, or none for a second flow like the first, and a flow."""

    place: Place
    stack: Stack | None
    cc: str


def stacks(link: Link) -> tuple[Stack, ...]:
    """Those that are run at its rate."""
    return tuple(stack for stack in STACKS if link.rate_mbit <= stack.fastest_mbit)


def pairs(link: Link) -> list[Pair]:
    """Every meeting: first the kernel's flows among themselves, which harm is counted from."""
    whom = (None, *stacks(link))
    return [Pair(place, stack, cc) for stack in whom for place in places(link) for cc in CCS]


@dataclass(frozen=True)
class Fetch:
    """A transfer alone: by a stack, or by the kernel with a congestion control."""

    place: Place
    who: Stack | str

    @property
    def label(self) -> str:
        """Who fetches."""
        return self.who.label if isinstance(self.who, Stack) else f"Linux ({self.who})"


def fetches(links: tuple[Link, ...]) -> list[Fetch]:
    """Every transfer."""
    made = []
    for link in links:
        whom: list[Stack | str] = [*stacks(link), *CCS]
        made += [Fetch(place, who) for who in whom for place in places(link)]
    return made
