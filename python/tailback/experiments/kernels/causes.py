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

_PRR_510 = (
    "likely, not tested: below ssthresh a recovery of 5.10 sends no more than was acknowledged, "
    "today's one segment more while `snd_una` advances and nothing is newly lost "
    "(`tcp_cwnd_reduction`); the module's arithmetic is the same but for HyStart's conditions"
)
_BBR_510 = (
    "not known: `tcp_bbr.c` differs in the source of its random phase and in the largest GSO "
    "packet, which one-segment packets do not reach"
)
_DCTCP_510 = "not known: `tcp_dctcp.c` has the same arithmetic"

CAUSES: Mapping[tuple[str, str, str], str] = {
    (cc, queue, kernel): why
    for queue in ("fq_codel", "pie", "cake")
    for cc, kernel, why in (
        ("cubic", "6.12", _CUBIC_612),
        ("reno", "6.12", _RENO_612),
        ("dctcp", "6.12", _DCTCP_612),
        ("cubic", "5.10", _PRR_510),
        ("reno", "5.10", _PRR_510),
        ("dctcp", "5.10", _DCTCP_510),
        ("bbr", "5.10", _BBR_510),
    )
}
"""By congestion control, queue and kernel; what is not here is not known."""
