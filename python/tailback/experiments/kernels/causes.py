"""Why a kernel gives another result than the newest, as far as the sources of both show it."""

from __future__ import annotations

from collections.abc import Mapping

_SAME = (
    "not known: the arithmetic of `{file}` is the same in both (other hooks, and annotations of "
    "races), so that the cause is in the stack below it"
)
_CUBIC_612 = _SAME.format(file="tcp_cubic.c")
_RENO_612 = _SAME.format(file="tcp_cong.c")
_DCTCP_612 = _SAME.format(file="tcp_dctcp.c")

CAUSES: Mapping[tuple[str, str, str], str] = {
    **{("cubic", queue, "6.12"): _CUBIC_612 for queue in ("fq_codel", "pie", "cake")},
    **{("reno", queue, "6.12"): _RENO_612 for queue in ("fq_codel", "pie", "cake")},
    **{("dctcp", queue, "6.12"): _DCTCP_612 for queue in ("fq_codel", "pie", "cake")},
}
"""By congestion control, queue and kernel."""
