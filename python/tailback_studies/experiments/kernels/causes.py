"""Lists causes of differences between kernels. The causes were found in the source code of the
kernels."""

from __future__ import annotations

from collections.abc import Mapping

_ACKS = (
    "delayed ACKs of the receiver: without delayed ACKs (the next section, through fq_codel) the "
    "difference disappears or is far smaller. Both kernels have the same arithmetic in congestion "
    "control and queue. Not tried: which change of the stack is the cause "
    "(`tcp_backlog_ack_defer` came with 6.7)"
)
_DCTCP_510 = (
    "delayed ACKs explain a part. The cause of the rest (the next section) is not known: "
    "`tcp_dctcp.c` has the same arithmetic in both kernels. The recovery of 5.10 "
    "(`tcp_cwnd_reduction`) differs, but was not tried"
)

CAUSES: Mapping[tuple[str, str, str], str] = {
    (cc, queue, kernel): _DCTCP_510 if (cc, kernel) == ("dctcp", "5.10") else _ACKS
    for queue in ("fq_codel", "pie", "cake")
    for cc in ("cubic", "reno", "dctcp", "bbr")
    for kernel in ("6.12", "6.1", "5.10")
}
"""Causes by congestion control, queue and kernel. If an entry is missing, the cause is unknown."""
