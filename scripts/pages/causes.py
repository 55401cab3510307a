"""Known reasons why algorithms fail sections of an evaluation, or do worse than the reference.

These reasons were found by evaluations with other options, or follow from the algorithm's
definition."""

from __future__ import annotations

from collections.abc import Mapping

_NO_RESPONSE_TO_CE = (
    "by default this version of BBR does not respond to CE, and its packets are not ECN-capable. "
    "The scenarios of these three sections switch ECN on."
)
_REORDERING = (
    "QUIC declares a packet lost when an ACK arrives for a packet that was sent three packets "
    "later (RFC 9002 section 6.1.1). RACK, which the CUBIC flow uses, adapts to reordering."
)
_STARTS_LATE = "Of all rules for slow start, HyStart (`cubic`'s default) loses the fewest packets"

CAUSES: Mapping[str, Mapping[str, str]] = {
    "cubic:slow_start=hystart++": {
        "5.2.1, nsperf-coexist": (
            f"HyStart++ ends slow start later than HyStart. {_STARTS_LATE}: [slow "
            "starts](../start-up.md)."
        ),
    },
    "cubic:slow_start=search": {
        "5.2.1, nsperf-coexist": (
            "in the runs that decide these sections, SEARCH never ends slow start before a loss. "
            f"Therefore `slow_start=none` gives the same numbers. {_STARTS_LATE}: [slow "
            "starts](../start-up.md)."
        ),
    },
    "bbr": {"6.2, 7.1-ce, nsperf-ecn": _NO_RESPONSE_TO_CE},
    "bbr2": {
        "6.2, 7.1-ce, nsperf-ecn": (
            f"{_NO_RESPONSE_TO_CE} With `ecn_response=true,ecn_max_rtt=0ms`, bbr2 passes 6.2 and "
            "7.1-ce, and is no worse than DCTCP in nsperf-ecn."
        ),
    },
    "bbr3": {
        "6.2, 7.1-ce, nsperf-ecn": (
            f"{_NO_RESPONSE_TO_CE} With `ecn_response=true,ecn_max_rtt=0ms`, bbr3 passes 6.2 and "
            "7.1-ce, and is no worse than DCTCP in nsperf-ecn."
        ),
    },
    "bbr3:draft=06": {
        "6.2, 7.1-ce, nsperf-ecn": (
            f"{_NO_RESPONSE_TO_CE} The draft does not define a response to CE. With the response "
            "of Google's branch (`draft=06,ecn_response=true,ecn_max_rtt=0ms`), bbr3 still fails "
            "6.2 and 7.1-ce, and is worse than DCTCP in nsperf-ecn."
        ),
    },
    "program=scripts/programs/quinn.toml": {
        "7.4": (
            "quinn-proto 0.11.19 follows RFC 8312. RFC 9438 section 4.2 limits CUBIC's target to "
            "1.5 times the current window, and quinn-proto has no such limit. In this scenario, "
            "the queue is so long that a round trip takes seconds. Therefore CUBIC's target is far "
            "above the window, and the window grows by one datagram with each ACK. A copy of "
            "quinn-proto with the limit of RFC 9438 loses fewer packets. With NewReno, quinn is no "
            "worse than CUBIC in this section."
        ),
        "7.7": _REORDERING,
    },
    "program=scripts/programs/quinn-newreno.toml": {
        "7.7": _REORDERING,
        "nsperf-coexist-rate": (
            "NewReno grows more slowly than CUBIC on this path. The simulator's `reno` gets a "
            "similar value: the confidence intervals of `reno` and quinn overlap."
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
            "s2n-quic 1.91.0 skips a packet number at each probe timeout. The stack's test for "
            "persistent congestion (RFC 9002 section 7.6) treats lost packets as one period of "
            "congestion only if their numbers are consecutive. Therefore each probe begins a new "
            "period, no period is long enough, and s2n-quic never resets the window. A copy of "
            "s2n-quic-core that allows one skipped number within a period passes this section."
        ),
        "7.1-delay": (
            "s2n-quic sends ten packets at once (`MAX_BURST_PACKETS`), which RFC 9002 section 7.7 "
            "allows. In a packet capture of a run, most packets arrive at the queue in groups of "
            "ten."
        ),
    },
    "program=scripts/programs/quiche.toml": {
        "5.1.1-loss": (
            "the window is at its minimum of two datagrams (RFC 9002 section 7.2), and quiche "
            "fills this window with short packets that repeat lost data. The qlog of a run shows "
            "many short packets and many probes."
        ),
        "5.1.1-timeout": (
            "the CUBIC of quiche 0.30.0 does not implement persistent congestion (RFC 9002 section "
            "7.6), so no timeout resets its window."
        ),
        "5.2.2": (
            "the CUBIC of quiche 0.30.0 treats a loss as spurious if fewer than a fifth of the "
            "window's packets are lost, and then restores the window. A full FIFO and CoDel drop "
            "less than a fifth of a window's packets. Therefore quiche restores nearly every "
            'window, as a qlog shows, and queues stay full. With `control = "reno"`, which never '
            "restores the window, the frames of real-time traffic arrive in time. quiche is then "
            "no worse than CUBIC in 5.1.4 and 5.2.3, and its queue in `fq_codel` stays short."
        ),
        "7.1-ce": "quiche does not support ECN.",
    },
    "fq_pie": {
        "4.5": (
            "if the drop probability exceeds `ecn_prob`, PIE drops ECN-capable packets instead of "
            "marking them. With `ecn_prob=100`, FQ-PIE passes this section."
        ),
    },
    "cake": {
        "9.1-pages": (
            "Cake first divides the link between hosts (`triple-isolate`), so all connections of a "
            "browser share the capacity of one host. With `flow=flows`, Cake is no worse than a "
            "FIFO."
        ),
        "5.1.2": (
            "Cake's AQM (Cobalt) drops packets while the short flow is in slow start. With "
            "`rtt=1s`, Cake is no worse than a FIFO."
        ),
        "7.2-pages": (
            "Cake is worse than a FIFO for the same two reasons as in 9.1-pages and 5.1.2. With "
            "`flow=flows,rtt=1s`, Cake is no worse than a FIFO."
        ),
    },
    "red": {
        "5.1.1-goodput, 4.5": (
            "while the average queue is above `max`, RED drops every packet, including ECN-capable "
            "packets. With `gentle=true`, an option that Linux's RED does not have, RED is no "
            "worse than a FIFO in 5.1.1-goodput and passes 4.5."
        ),
    },
    "dualpi2": {
        "L4S-battery-share": (
            "at `12 Mbit/s`, the transmission of two packets takes longer than the step threshold "
            "of 1 ms. If two packets arrive together, DualPI2 therefore marks the second one. With "
            "`min_qlen_step=2`, DualPI2 passes this section."
        ),
    },
    "pi2": {
        "L4S-delay, L4S-battery-delay": (
            "PI2 is a single queue, in which L4S packets wait behind classic packets. These two "
            "requirements apply to dual queues."
        ),
    },
}
"""Causes by algorithm and sections, without measured numbers."""
