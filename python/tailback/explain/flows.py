"""Explains how a flow spent its time, and what it waited for."""

from __future__ import annotations

from typing import Any

from tailback.explain import reductions, slow_start, words

SEEN = 0.005
"""The smallest share of time that the sentences mention. The JSON also contains smaller shares."""


def of(recorded: dict[str, Any], summary: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the facts that explain a flow, or all connections of a source together."""
    told = recorded["tcp_info"]
    seconds = _seconds(recorded["limited_ns"]) if told is None else _told(told)
    whole = sum(seconds.values())
    shares = {name: value / whole for name, value in seconds.items()} if whole else {}
    rounds = reductions.of(recorded["reductions"])
    packets = summary.get("packets", summary.get("sent_packets")) or 0
    marks, drops = summary["marks"], summary["drops"]
    return {
        "name": summary["name"],
        "kind": kind,
        "cc": summary.get("cc"),
        "throughput_mbit": summary["throughput_mbit"],
        "limit": max(shares, key=lambda name: shares[name]) if shares else None,
        "time_s": whole,
        "seconds": seconds,
        "shares": shares,
        "before_warmup_s": _seconds(recorded["before_ns"]),
        "packets": packets,
        "mark_share": marks / packets if packets and marks is not None else None,
        "drop_share": drops / packets if packets and drops is not None else None,
        "rtt_ms": summary.get("rtt_ms", {}).get("mean"),
        **(
            {"slow_start": slow_start.of(recorded)}
            if "slow_start" in recorded and told is None
            else {}
        ),
        "reductions": rounds,
        "told_by_kernel": told is not None,
        "seen_every_s": None if told is None else told["interval_ns"] / 1e9,
    }


def _seconds(times: dict[str, int]) -> dict[str, float]:
    return {name: ns / 1e9 for name, ns in sorted(times.items(), key=lambda item: -item[1])}


def _told(told: dict[str, Any]) -> dict[str, float]:
    """Divide the time into the states of Linux's `tcp_chrono`, which are receive window, send
    buffer, busy and idle.

    The remaining busy time is divided among the congestion states, in proportion to the number of
    samples in each state.
    """
    rwnd, sndbuf = told["rwnd_limited_ns"], told["sndbuf_limited_ns"]
    elapsed = max(told["elapsed_ns"], 1)
    busy = min(told["busy_ns"], elapsed)
    rest = max(busy - rwnd - sndbuf, 0)
    samples = max(sum(told["states"]), 1)
    recovery, loss = (rest * told["states"][i] // samples for i in (3, 4))
    times = {
        "cwnd_or_pacing": rest - recovery - loss,
        "rwnd": rwnd,
        "sndbuf": sndbuf,
        "application": elapsed - busy,
        "recovery": recovery,
        "timeout": loss,
    }
    return _seconds({name: ns for name, ns in times.items() if ns > 0})


def modelled(flow: dict[str, Any]) -> list[str]:
    """Some congestion controls set the window from a model. For such a control, say how often the
    window recovered after a loss.
    """
    restored, followed = reductions.restored(flow["reductions"]["groups"], words.LOSSES)
    if not followed:
        return []
    back = (
        f"to {100 * reductions.WHOLE:.0f} % or more of its earlier size in {restored} of "
        f"{followed} cases, before the next reduction"
    )
    if flow["cc"] in words.HEEDLESS and restored * 2 > followed:
        return [
            "It does not yield to losses: a model of the path sets its window, and the window is "
            f"restored after recovery ({back})."
        ]
    return [
        "A model of the path sets its window, so a loss does not reduce the window by a fixed "
        f"factor. After losses, the window returned {back}."
    ]


def sentences(flow: dict[str, Any], warmup_s: float) -> list[str]:
    out = []
    connections = flow["kind"] == "source"
    if not flow["shares"]:
        out.append("It sent nothing in the measured time.")
    else:
        parts = [
            f"{words.LIMITS[name]} ({words.percent(share)})"
            for name, share in flow["shares"].items()
            if share >= SEEN
        ]
        its = "Its connections were" if connections else "It was"
        time = f"{flow['time_s']:.4g} s"
        of = f"{time} of connections, taken together" if connections else f"{time}"
        out.append(f"{its} held back by {words.listed(parts)} of {of}.")
    out += slow_start.sentences(flow)
    if not connections or flow["reductions"]["count"]:
        out += reductions.sentences(flow["reductions"], flow["told_by_kernel"])
    if flow["cc"] in words.MODELLED:
        out += modelled(flow)
    fates = []
    if flow["mark_share"]:
        fates.append(f"{words.percent(flow['mark_share'])} CE-marked")
    if flow["drop_share"]:
        fates.append(f"{words.percent(flow['drop_share'])} dropped")
    if fates and flow["packets"]:
        packets = words.count(flow["packets"], "packet")
        after = " after the warm-up" if warmup_s else ""
        out.append(f"Of its {packets}{after}: {words.listed(fates)}.")
    return out
