"""Lists the settings that the paper leaves open, with the values used here and alternatives."""

from __future__ import annotations

from typing import Any, Literal

from tailback_studies.experiments.dctcp_internet_2014.points import CLASSIC, ECN, Option

_SLOPE = ("slope-0.5",)
_QUEUE = "bottleneck.queue"

_LINUX_RED = {f"{CLASSIC}.uniformise": "linux", f"{ECN}.uniformise": "linux"}
_WAIT = {f"{CLASSIC}.uniformise": "wait", f"{ECN}.uniformise": "wait"}
_AVPKT = {f"{_QUEUE}.avpkt": "1000b"}
_ECN_ARRIVING = {f"{ECN}.include_arriving": True}
_ARRIVING = {**_ECN_ARRIVING, f"{CLASSIC}.include_arriving": True}
_IN_SERVICE = {"bottleneck.count_in_service": True}
_NO_DELACK = {"tcp.delack": False}
_SEGMENTS = {"tcp.growth": "segments"}
_PER_CLASS = {f"{_QUEUE}.average": "class"}


def _dctcp(**options: Any) -> dict[str, Any]:
    """Return settings for DCTCP with the paper's modifications and with these options."""
    return {"flows.dctcp.cc": {"name": "dctcp", "version": "paper-2014", **options}}


def _patch(**options: Any) -> dict[str, Any]:
    """Return settings for DCTCP as first published, with these options."""
    return {"flows.dctcp.cc": {"name": "dctcp", "version": "patch-2012", **options}}


Basis = Literal["stated", "kernel", "default", "inferred"]
# The text that explains each basis of a value.
BASES: dict[Basis, str] = {
    "stated": "stated in the paper",
    "kernel": "Linux 3.2, which the paper ran",
    "default": "tailback's default",
    "inferred": "inferred from the paper's numbers",
}

# Each item has a setting, its value, the basis of the value, and a remark.
DECLARED: tuple[tuple[str, str, Basis, str], ...] = (
    (
        "RED: gaps between drops or marks",
        "not uniformised",
        "inferred",
        "with the window growth of Linux 3.2, the paper's formula (3) holds only if the gaps are "
        "not uniformised",
    ),
    (
        "RED: idle time",
        "RED multiplies the average by (1 \u2212 w) for every 40 B that the idle link could send",
        "inferred",
        "RED's authors count idle time in \u201csmall packets\u201d, and Linux counts it in "
        "average packets (1000 B); with small thresholds, this choice determines the queue length",
    ),
    (
        "RED: packets that update the average",
        "every arriving packet of both classes",
        "default",
        "both RED instances average the length of the same queue",
    ),
    (
        "RED: whether the sampled queue includes the arriving packet",
        "not included",
        "default",
        "as in Linux and ns-2",
    ),
    ("thresholds", "in bytes", "stated", ""),
    (
        "physical buffer",
        "1000 frames, never full",
        "default",
        "the paper mentions no drops except those by the AQM",
    ),
    (
        "duration and warm-up",
        "210 s (110 s for Figures 7 to 9 and for other options); the first 10 s do not count",
        "default",
        "RED's average covers about 1/w = 500 arrivals, or 0.6 s",
    ),
    ("delayed ACKs", "on", "kernel", ""),
    ("growth", "one step per ACK, so half a packet per RTT with delayed ACKs", "kernel", ""),
    ("initial window", "10", "kernel", ""),
    (
        "frames",
        "1500 B: 1448 B of payload, and 52 B of headers (IP, and TCP with timestamps)",
        "stated",
        "follows from the paper's BDP of 20.83 packets",
    ),
    (
        "link",
        "a packet leaves the queue at the start of its transmission slot",
        "default",
        "the base RTT is therefore 25 ms, and the path holds the paper's BDP",
    ),
    ("mean queue", "average over time, without the packet that is being sent", "default", ""),
    (
        "DCTCP",
        "with all of the paper's modifications; alpha starts at 0, and g = 2^-8 per ACK",
        "stated",
        "used from Figure 2 on",
    ),
    ("fraction F of one ACK", "0 or 1", "default", "the paper updates alpha on every ACK"),
)

# Combinations of values for the settings that the paper leaves open ("readings" of the paper). Each
# combination is compared with all of Table I and with formula (3). Figures use the first
# combination. A quick run includes the combinations marked `True`.
READINGS: tuple[tuple[str, str, dict[str, Any], bool], ...] = (
    ("taken", "the reading of this report", {}, True),
    (
        "linux-red",
        "RED as in Linux: uniformised, idle time in packets of 1000 B",
        {**_LINUX_RED, **_AVPKT},
        True,
    ),
    ("avpkt", "idle time in packets of 1000 B", _AVPKT, True),
    ("uniformised", "uniformised as in Linux", _LINUX_RED, True),
    (
        "uniformised-no-delack",
        "uniformised as in Linux, no delayed ACKs",
        {**_LINUX_RED, **_NO_DELACK},
        True,
    ),
    (
        "uniformised-segments",
        "uniformised as in Linux, growth counts segments",
        {**_LINUX_RED, **_SEGMENTS},
        False,
    ),
    (
        "uniformised-class",
        "uniformised as in Linux, average by class",
        {**_LINUX_RED, **_PER_CLASS},
        False,
    ),
    (
        "uniformised-arriving",
        "uniformised as in Linux, arriving packet counts for the marks",
        {**_LINUX_RED, **_ECN_ARRIVING},
        False,
    ),
    (
        "linux-red-in-service",
        "RED as in Linux, arriving packet counts for the marks, packet in transmission in the "
        "queue",
        {**_LINUX_RED, **_AVPKT, **_ECN_ARRIVING, **_IN_SERVICE},
        False,
    ),
    ("wait", "gaps as ns-2's wait", _WAIT, False),
    ("no-delack", "no delayed ACKs", _NO_DELACK, False),
    ("segments", "growth counts segments", _SEGMENTS, False),
    ("class", "average by class", _PER_CLASS, False),
    ("ecn-arriving", "arriving packet counts for the marks", _ECN_ARRIVING, False),
    ("arriving", "arriving packet counts for marks and drops", _ARRIVING, False),
    ("in-service", "packet in transmission in the queue", _IN_SERVICE, False),
    ("idle-100", "idle time in packets of 100 B", {f"{_QUEUE}.avpkt": "100b"}, False),
    ("idle-500", "idle time in packets of 500 B", {f"{_QUEUE}.avpkt": "500b"}, False),
    ("idle-1500", "idle time in frames of 1500 B", {f"{_QUEUE}.avpkt": "1500b"}, False),
    ("idle-hold", "average held over idle times", {f"{_QUEUE}.idle": "hold"}, False),
)

# Combinations of settings that differ only in RED's idle clock. This clock determines how fast the
# average queue falls while the queue is empty. The fastest clock comes first. The values of Table I
# with two Reno flows decide which clock is used.
CLOCKS = ("taken", "idle-100", "idle-500", "avpkt", "idle-1500", "idle-hold")

# Alternative values of single settings in the chosen combination. Each alternative is tried with
# two rows of Table I and with one slope.
OPTIONS: tuple[Option, ...] = (
    Option("uniformised", "RED gaps uniformised as in Linux", _LINUX_RED),
    Option("wait", "RED gaps as ns-2's wait", _WAIT),
    Option("avpkt", "idle time in packets of 1000 B (Linux)", _AVPKT),
    Option("idle-hold", "average held over idle times", {f"{_QUEUE}.idle": "hold"}),
    Option("average-class", "average updated by a class's own arrivals", _PER_CLASS),
    Option("ecn-arriving", "arriving packet counts for the marks", _ECN_ARRIVING),
    Option("arriving", "arriving packet counts for marks and drops", _ARRIVING),
    Option("buffer-100", "buffer of 100 frames", {f"{_QUEUE}.limit": "100p"}),
    Option("buffer-2bdp", "buffer of 2 BDP", {f"{_QUEUE}.limit": "62500b"}),
    Option("long", "four times as long", {"duration": "410s"}),
    Option("warmup", "the first 60 s not counted", {"duration": "160s", "warmup": "60s"}),
    Option("delack", "no delayed ACKs", _NO_DELACK),
    Option("growth", "growth counts segments", _SEGMENTS),
    Option("initial-window", "initial window of 3", {"tcp.initial_cwnd": 3}),
    Option(
        "header",
        "frames of 1514 B, Ethernet counted",
        {"tcp.mss": 1448, "tcp.header": 66},
    ),
    Option("wire", "packet leaves at the end of its slot", {"bottleneck.link": "wire"}),
    Option("in-service", "packet in transmission counted in the queue", _IN_SERVICE),
    Option("w-slow", "w_DCTCP = 0.0005", {f"{ECN}.weight": 0.0005}, _SLOPE),
    Option("w-fast", "w_DCTCP = 0.02", {f"{ECN}.weight": 0.02}, _SLOPE),
    Option("w-instant", "w_DCTCP = 1: the queue itself", {f"{ECN}.weight": 1}, _SLOPE),
    Option("dctcp-patch", "DCTCP as first published", _patch()),
    Option("dctcp-linux", "DCTCP of today's Linux", {"flows.dctcp.cc": "dctcp"}),
    Option("patch-a", "as first published, with (a): alpha of 20 bits", _patch(alpha_bits=20)),
    Option(
        "patch-ssthresh",
        "as first published, with ssthresh = cwnd \u2212 1",
        _patch(ssthresh="cwnd-1"),
    ),
    Option("patch-b", "as first published, with (b): growth in CWR", _patch(grow_in_cwr=True)),
    Option("patch-c", "as first published, with (c): alpha on every ACK", _patch(update="ack")),
    Option(
        "patch-d",
        "as first published, with (d): progressive reduction",
        _patch(reduction="progressive"),
    ),
    Option("without-a", "modified without (a): alpha of 10 bits", _dctcp(alpha_bits=10)),
    Option("without-ssthresh", "modified with ssthresh = cwnd", _dctcp(ssthresh="cwnd")),
    Option("without-b", "modified without (b): no growth in CWR", _dctcp(grow_in_cwr=False)),
    Option("without-c", "modified without (c): alpha once per window", _dctcp(update="window")),
    Option("without-d", "modified without (d): reduced at once", _dctcp(reduction="immediate")),
    Option(
        "prr",
        "modified, reduced by PRR",
        _dctcp(reduction="prr", ssthresh="cwnd", grow_in_cwr=False),
    ),
    Option("normalise", "F normalised by the packets in flight", _dctcp(normalise=True)),
    Option("g", "g = 2^-4 per ACK", _dctcp(g=0.0625)),
)
