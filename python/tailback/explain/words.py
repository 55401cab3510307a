"""Translates names in `account.json` into words, and formats numbers in sentences."""

from __future__ import annotations

from tailback.base.numbers import grouped

LIMITS = {
    "cwnd": "its congestion window",
    "rwnd": "the receive window",
    "pacing": "pacing",
    "cwnd_or_pacing": "its congestion window or pacing",
    "application": "its application, which had no data to send",
    "sndbuf": "its send buffer",
    "recovery": "loss recovery",
    "timeout": "waiting for a timer",
    "handshake": "the handshake",
}
"""What a sender can wait for, as text."""

SHORT_LIMITS = {
    "cwnd": "congestion window",
    "rwnd": "receive window",
    "pacing": "pacing",
    "cwnd_or_pacing": "window or pacing",
    "application": "no data",
    "sndbuf": "send buffer",
    "recovery": "recovery",
    "timeout": "timer",
    "handshake": "handshake",
}

REASONS = {
    "ece": "CE marks (ECE)",
    "sce": "SCE marks",
    "dupthresh": "a loss found by three SACKed segments",
    "rack": "a loss found by RACK's time",
    "rack_timer": "a loss found by RACK's timer",
    "probe": "a loss that a tail loss probe repaired",
    "timeout": "a retransmission timeout",
    "model": "the congestion control's own model of the path",
    "idle": "an idle time",
    "undo_dsack": "undone: the receiver had it already (D-SACK)",
    "undo_original": "undone: the original arrived (timestamp or F-RTO)",
    "unknown": "a cause that the samples do not show",
}
"""The reasons why a window was reduced or a reduction was undone, as text."""

KERNEL_REASONS = REASONS | {
    "rack": "a loss (fast recovery)",
    "ece": "CE marks (CWR)",
}
"""The reasons in runs of the kernel engine. On this engine, tcp_info shows only the congestion
state, not the exact reason."""

LOSSES = ("dupthresh", "rack", "rack_timer", "probe", "timeout")
UNDONE = ("undo_dsack", "undo_original")
MARKS = ("ece", "sce")

HEEDLESS = ("bbr",)
"""Congestion controls that ignore losses, because a model of the path sets the window. For these
congestion controls, a recovery reduces the window only temporarily."""
MODELLED = (*HEEDLESS, "bbr2", "bbr3")
"""Congestion controls with a model of the path. In some of these models, losses and marks limit the
window, but they do not reduce it by a fixed factor."""

CAUSES = {
    "overflow": "dropped because the queue was full",
    "aqm": "dropped by the AQM's decision",
    "blue": "dropped by BLUE",
    "overload": "dropped as overload",
    "loss": "lost behind the queue",
    "scheduled": "dropped by the schedule",
    "ack_filter": "dropped by the ACK filter",
    "mark": "CE-marked by the AQM's decision",
    "step_mark": "CE-marked above the step",
    "sce_mark": "SCE-marked",
    "scheduled_mark": "CE-marked by the schedule",
    "policed": "dropped by a policer",
    "middlebox": "dropped by a middlebox",
    "policed_mark": "CE-marked by a policer",
}


def percent(share: float) -> str:
    value = 100 * share
    if 0 < value < 0.1:
        return "under 0.1 %"
    return f"{value:.1f} %" if value < 99.95 else "100 %"


def seconds(value: float) -> str:
    """Format a time in s, ms or us."""
    if value == 0:
        return "0 s"
    if abs(value) < 1e-3:
        return f"{1e6 * value:.3g} us"
    if abs(value) < 1:
        return f"{1e3 * value:.3g} ms"
    return f"{value:.4g} s"


def moment(value: float) -> str:
    """Format a time since the start of the run."""
    return f"{value:.3f} s"


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{grouped(number)} {one if number == 1 else many or one + 's'}"


def listed(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1] if parts else ""]))
