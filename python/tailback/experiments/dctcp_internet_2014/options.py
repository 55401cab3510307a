"""What the paper leaves open, the default declared for it, and what is tried instead."""

from __future__ import annotations

from typing import Any

from tailback.experiments.dctcp_internet_2014.points import Option

_E = "bottleneck.queue.ecn"
_C = "bottleneck.queue.classic"
_SLOPE = ("slope-0.5",)


def _dctcp(**options: Any) -> dict[str, Any]:
    """DCTCP with all of the paper's modifications but for these options."""
    return {"flows.dctcp.cc": {"name": "dctcp", "version": "paper-2014", **options}}


def _patch(**options: Any) -> dict[str, Any]:
    """DCTCP as first published, with these options."""
    return {"flows.dctcp.cc": {"name": "dctcp", "version": "patch-2012", **options}}


#: Option, default, why. Declared before the results were compared.
DECLARED: tuple[tuple[str, str, str], ...] = (
    ("RED: gaps between drops or marks", "uniformised as in Linux", "formula (3) follows from uniformised RED and fails without"),
    ("RED: arriving packet in the sampled queue", "included", "the paper says that 7812 to 8203 B hold 5 packets: the sixth is marked"),
    ("RED: average updated by", "every arrival of either class", "both instances look at the one queue"),
    ("RED: idle time", "average decays", "as Floyd and Jacobson and Linux have it"),
    ("thresholds", "in bytes", "they are given in bytes"),
    ("physical buffer", "1000 frames, never full", "the paper reports only AQM drops"),
    ("duration, not counted", "210 s, the first 10 s (slopes: 110 s)", "1/w is 500 arrivals, 0.6 s"),
    ("delayed ACKs", "on, two segments, quick ACKs at the start", "Linux's default"),
    ("growth", "counts ACKs", "Linux 3.2 does"),
    ("frames", "1500 B: 1448 B payload, 52 B IP and TCP with timestamps", "the paper's BDP is 20.83 packets of 1500 B"),
    ("link", "a packet leaves at the start of its slot", "so that base RTT is 25 ms and the pipe holds the paper's BDP"),
    ("mean queue", "over time, without the packet in transmission", "tailback's definition; the paper gives none"),
    ("DCTCP", "all of the paper's modifications, alpha from 0, g = 2^-8 per ACK", "the paper uses the modified sender from Figure 2 on"),
    ("fraction F of one ACK", "0 or 1", "the paper updates alpha on every ACK"),
    ("initial window", "10", "Linux 3.2"),
)

#: Every entry is run against the declared defaults on rows of Table I and on formula (3).
OPTIONS: tuple[Option, ...] = (
    Option("uniformise-wait", "RED gaps as ns-2's wait", {f"{_C}.uniformise": "wait", f"{_E}.uniformise": "wait"}),
    Option("uniformise-none", "RED gaps not uniformised", {f"{_C}.uniformise": "none", f"{_E}.uniformise": "none"}),
    Option("arriving", "arriving packet not in the sampled queue", {"bottleneck.queue.include_arriving": False}),
    Option("average-class", "average updated by a class's own arrivals", {"bottleneck.queue.average": "class"}),
    Option("idle-hold", "average held over idle times", {"bottleneck.queue.idle": "hold"}),
    Option("buffer-100", "buffer of 100 frames", {"bottleneck.queue.limit": "100p"}),
    Option("buffer-2bdp", "buffer of 2 BDP", {"bottleneck.queue.limit": "62500b"}),
    Option("long", "four times as long", {"duration": "810s"}),
    Option("warmup", "the first 60 s not counted", {"duration": "260s", "warmup": "60s"}),
    Option("delack", "no delayed ACKs", {"tcp.delack": False}),
    Option("growth", "growth counts segments", {"tcp.growth": "segments"}),
    Option("header", "frames of 1514 B, Ethernet counted", {"tcp.header": 66}),
    Option("wire", "packet leaves at the end of its slot", {"bottleneck.link": "wire"}),
    Option("in-service", "packet in transmission counted in the mean queue", {"bottleneck.link": "wire", "bottleneck.count_in_service": True}),
    Option("initial-window", "initial window of 3", {"tcp.initial_cwnd": 3}),
    Option("w-fast", "w_DCTCP = 0.02", {f"{_E}.weight": 0.02}, _SLOPE),
    Option("w-instant", "w_DCTCP = 1: the queue itself", {f"{_E}.weight": 1}, _SLOPE),
    Option("w-slow", "w_DCTCP = 0.0005", {f"{_E}.weight": 0.0005}, _SLOPE),
    Option("dctcp-patch", "DCTCP as first published", _patch()),
    Option("dctcp-linux", "DCTCP of today's Linux", {"flows.dctcp.cc": {"name": "dctcp", "version": "linux-7.3"}}),
    Option("patch-a", "as first published, with (a): alpha of 20 bits", _patch(alpha_bits=20)),
    Option("patch-ssthresh", "as first published, with ssthresh = cwnd \u2212 1", _patch(ssthresh="cwnd-1")),
    Option("patch-b", "as first published, with (b): growth in CWR", _patch(grow_in_cwr=True)),
    Option("patch-c", "as first published, with (c): alpha on every ACK", _patch(update="ack")),
    Option("patch-d", "as first published, with (d): progressive reduction", _patch(reduction="progressive")),
    Option("without-a", "modified without (a): alpha of 10 bits", _dctcp(alpha_bits=10)),
    Option("without-ssthresh", "modified with ssthresh = cwnd", _dctcp(ssthresh="cwnd")),
    Option("without-b", "modified without (b): no growth in CWR", _dctcp(grow_in_cwr=False)),
    Option("without-c", "modified without (c): alpha once per window", _dctcp(update="window")),
    Option("without-d", "modified without (d): reduced at once", _dctcp(reduction="immediate")),
    Option("prr", "modified, reduced by PRR", _dctcp(reduction="prr", ssthresh="cwnd", grow_in_cwr=False)),
    Option("normalise", "F normalised by the packets in flight", _dctcp(normalise=True)),
    Option("g", "g = 2^-4 per ACK", _dctcp(g=0.0625)),
)
