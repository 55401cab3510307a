"""Known reasons why algorithms fail sections of an evaluation, or do worse than the reference.

They were found by evaluations with other options, or follow from the algorithm's definition."""

from __future__ import annotations

from collections.abc import Mapping

_NO_RESPONSE_TO_CE = (
    "by default this BBR does not respond to CE, and its packets are not ECN-capable. These "
    "sections switch ECN on."
)
_REORDERING = (
    "QUIC declares a packet lost when an ACK arrives for the third packet after it (RFC 9002 "
    "section 6.1.1). RACK, which the CUBIC flow uses, adapts to reordering."
)
_STARTS_LATE = "Of the slow starts, HyStart, which `cubic` has by default, loses least"

CAUSES: Mapping[str, Mapping[str, str]] = {
    "cubic:slow_start=hystart++": {
        "5.2.1, nsperf-coexist": (
            f"HyStart++ ends slow start later than HyStart. {_STARTS_LATE}: [slow "
            "starts](../start-up.md)."
        ),
    },
    "cubic:slow_start=search": {
        "5.2.1, nsperf-coexist": (
            "SEARCH ends no slow start before a loss in the deciding runs: `slow_start=none` gives "
            f"the same numbers. {_STARTS_LATE}: [slow starts](../start-up.md)."
        ),
    },
    "bbr": {"6.2, 7.1-ce, nsperf-ecn": _NO_RESPONSE_TO_CE},
    "bbr2": {
        "6.2, 7.1-ce, nsperf-ecn": (
            f"{_NO_RESPONSE_TO_CE} With `ecn_response=true,ecn_max_rtt=0ms` it passes the first "
            "two and is no worse in the third."
        ),
    },
    "bbr3": {
        "6.2, 7.1-ce, nsperf-ecn": (
            f"{_NO_RESPONSE_TO_CE} With `ecn_response=true,ecn_max_rtt=0ms` it passes the first "
            "two and is no worse in the third."
        ),
    },
    "bbr3:draft=06": {
        "6.2, 7.1-ce, nsperf-ecn": (
            f"{_NO_RESPONSE_TO_CE} The draft defines no response. The response of Google's branch "
            "(`draft=06,ecn_response=true,ecn_max_rtt=0ms`) does not suffice here: these three "
            "sections still fail or are worse."
        ),
    },
    "program=scripts/programs/quinn.toml": {
        "7.4": (
            "quinn-proto 0.11.19 follows RFC 8312. RFC 9438 section 4.2 limits the target of "
            "CUBIC to one and a half windows, and quinn-proto has no such limit. In this "
            "scenario, the queue is so long that a round trip takes seconds. Therefore the target "
            "is far above the window, and the window grows by one datagram with each ACK. A copy "
            "of quinn-proto with the limit loses fewer packets, and quinn with NewReno is no "
            "worse than CUBIC."
        ),
        "7.7": _REORDERING,
    },
    "program=scripts/programs/quinn-newreno.toml": {
        "7.7": _REORDERING,
        "nsperf-coexist-rate": (
            "NewReno grows more slowly than CUBIC on this path. The confidence intervals of "
            "quinn and of the simulator's `reno` overlap."
        ),
    },
    "program=scripts/programs/quic-go.toml": {
        "5.1.1-timeout": (
            "quic-go 0.65.0 has a function that resets the window after a timeout "
            "(`OnRetransmissionTimeout`), but no code calls this function."
        ),
        "7.1-ce": (
            "the scenario marks every packet. quic-go then concludes that the path corrupts the "
            "ECN field, and stops sending ECT."
        ),
    },
    "program=scripts/programs/s2n-quic.toml": {
        "5.1.1-timeout": (
            "s2n-quic 1.91.0 skips a packet number at each probe timeout. Its test for persistent "
            "congestion (RFC 9002 section 7.6) counts lost packets as one period only if their "
            "numbers are consecutive. Therefore each probe begins a new period, no period is long "
            "enough, and the window is never reset. A copy of s2n-quic-core that allows one "
            "skipped "
            "number within a period passes this section."
        ),
        "7.1-delay": (
            "s2n-quic sends ten packets at once (`MAX_BURST_PACKETS`), which RFC 9002 section 7.7 "
            "allows. In a capture of a run, most packets arrive at the queue in such groups."
        ),
    },
    "program=scripts/programs/quiche.toml": {
        "5.1.1-loss": (
            "the window is at its minimum of two datagrams (RFC 9002 section 7.2), and quiche "
            "fills this window with pieces of lost data. In a qlog, many packets are much shorter "
            "than a full datagram, and many are probes."
        ),
        "5.1.1-timeout": (
            "the CUBIC of quiche 0.30.0 does not implement persistent congestion (RFC 9002 section "
            "7.6), so no timeout resets its window."
        ),
        "5.2.2": (
            "the CUBIC of quiche 0.30.0 treats a loss as spurious if fewer than a fifth of the "
            "window's packets are lost, and then restores the window. A full FIFO and CoDel drop "
            "a smaller share of packets. A qlog shows that quiche therefore restores nearly every "
            'window, so queues stay full. With `control = "reno"`, which never restores the '
            "window, frames arrive in time. Then 5.1.4 and 5.2.3 are no worse, and the queue of "
            "`fq_codel` stays short."
        ),
        "7.1-ce": "quiche does not support ECN.",
    },
    "fq_pie": {
        "4.5": (
            "above a probability of `ecn_prob`, PIE drops ECN-capable packets instead of marking "
            "them. With `ecn_prob=100` it passes."
        ),
    },
    "cake": {
        "9.1-pages": (
            "Cake shares the link between hosts first (`triple-isolate`), so that the connections "
            "of a browser share one part. With `flow=flows` it is no worse."
        ),
        "5.1.2": "Cobalt drops in the slow start of the short flow. With `rtt=1s` it is no worse.",
        "7.2-pages": "both causes together: with `flow=flows,rtt=1s` it is no worse.",
    },
    "red": {
        "5.1.1-goodput, 4.5": (
            "RED drops every packet while the average is above `max`, also ECN-capable ones. With "
            "`gentle=true`, which Linux does not have, it is no worse and passes."
        ),
    },
    "dualpi2": {
        "L4S-battery-share": (
            "at this rate the step threshold of 1 ms is below two packet times, so the second of "
            "two packets that come together is marked for the first. With `min_qlen_step=2` it "
            "passes."
        ),
    },
    "pi2": {
        "L4S-delay, L4S-battery-delay": (
            "PI2 is a single queue, in which L4S packets wait behind classic packets. The "
            "requirement is for dual queues."
        ),
    },
}
"""Causes by algorithm and sections, without numbers of a measurement."""
