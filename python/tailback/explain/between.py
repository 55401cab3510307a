"""Explains why two flows get different throughputs, from their responses to drops and marks."""

from __future__ import annotations

from typing import Any

from tailback.explain import reductions, words

UNLIKE = 1.25
"""Two rates count as equal if their ratio is below this value."""
DECISIVE = 0.2
"""Two window reductions count as equal if their steps differ by less than this share."""
STATES = 0.2
"""Two flows take turns if each of them leads for at least this share of the time.

A flow leads while its throughput is clearly higher. The pair of flows counts as having two states
if each flow also leads for longer than the throughputs are similar.
"""
FLOOR = 2
"""The smallest value, in segments, to which a congestion control reduces its window."""


def of(first: dict[str, Any], other: dict[str, Any], lead: dict[str, Any] | None) -> dict[str, Any]:
    """Return facts that compare two flows. The flow `first` has the higher throughput."""
    answers = [_answer(flow) for flow in (first, other)]
    high, low = first["throughput_mbit"], other["throughput_mbit"]
    turns = bool(lead and lead["changes"] >= 3 and min(lead["shares"].values()) >= STATES)
    return {
        "flows": [first["name"], other["name"]],
        "throughput_ratio": high / low if high and low else None,
        "rtt_ratio": first["rtt_ms"] / other["rtt_ms"]
        if first["rtt_ms"] and other["rtt_ms"]
        else None,
        "answers": answers,
        "timer_shares": [flow["shares"].get("timeout", 0.0) for flow in (first, other)],
        "lead": lead,
        "turns": turns,
        "states": bool(lead and turns and lead["neither"] < min(lead["shares"].values())),
    }


def _answer(flow: dict[str, Any]) -> dict[str, Any]:
    """Return how much, and how often, a flow reduces its window after the queue's signals."""
    signals = (*words.MARKS, *words.LOSSES)
    groups = [g for g in flow["reductions"]["groups"] if g["reason"] in signals]
    main = groups[0] if groups else None
    after = main["count"] - main["before_warmup"] if main else 0
    back, known = reductions.restored(flow["reductions"]["groups"], words.LOSSES)
    return {
        "name": flow["name"],
        "cc": flow["cc"],
        "modelled": flow["cc"] in words.MODELLED,
        "restored": bool(main and main["reason"] in words.LOSSES and flow["cc"] in words.HEEDLESS)
        and 2 * back > known,
        "reason": main["reason"] if main else None,
        "step": main["mean_step"] if main else None,
        "to": main["to"] if main else None,
        "per_s": after / flow["time_s"] if flow["time_s"] else None,
        "mark_share": flow["mark_share"],
        "drop_share": flow["drop_share"],
    }


def sentences(pair: dict[str, Any]) -> list[str]:
    first, other = pair["flows"]
    out = []
    ratio = pair["throughput_ratio"]
    if ratio is None or ratio < UNLIKE:
        out.append(f"{first} and {other} had about the same throughput.")
    else:
        out.append(f"{first} had {ratio:.3g} times the throughput of {other}.")
    heard_of = [a for a in pair["answers"] if a["step"] is not None]
    told = [a for a in heard_of if not a["modelled"]]
    for answer in heard_of:
        often = f", {answer['per_s']:.3g} times a second" if answer["per_s"] else ""
        signal = "marks" if answer["reason"] in words.MARKS else "losses"
        share = answer["mark_share"] if signal == "marks" else answer["drop_share"]
        heard = f" ({words.percent(share)} of its packets)" if share else ""
        if answer["modelled"]:
            model = "a model of the path sets its window"
            out.append(
                f"{answer['name']} does not yield to {signal}{heard}: {model}, and the window is "
                "restored after recovery."
                if answer["restored"]
                else f"{answer['name']} sees {signal}{heard}: {model}, and there is no fixed step."
            )
            continue
        floor = ", the smallest window" if answer["to"] <= FLOOR else ""
        out.append(
            f"{answer['name']} multiplies its window by {answer['step']:.2f} on {signal}{heard}"
            f"{often}, to {answer['to']:.0f} segments{floor}."
        )
    if len(told) == 2:
        a, b = told
        shares = [x["mark_share"] or 0.0 for x in told]
        if ratio and ratio >= UNLIKE and a["step"] - b["step"] > DECISIVE:
            out.append(
                f"Both get the same signals. {b['name']} gives up {words.percent(1 - b['step'])} "
                f"of its window each time, and {a['name']} gives up "
                f"{words.percent(1 - a['step'])}: {a['name']} takes the capacity that {b['name']} "
                "gives up."
                if shares[1] * 4 > shares[0]
                else f"{b['name']} gives up {words.percent(1 - b['step'])} of its window each "
                f"time, and {a['name']} gives up {words.percent(1 - a['step'])}."
            )
    if pair["turns"]:
        lead = pair["lead"]
        kind = "There are two states" if pair["states"] else "They take turns"
        parts = [f"{name} for {words.percent(share)}" for name, share in lead["shares"].items()]
        out.append(
            f"{kind}. A flow leads while its rate is at least twice the other's. Of "
            f"{lead['seconds']} seconds, the leader was {words.listed(parts)}, and no flow led for "
            f"{words.percent(lead['neither'])}. The lead changed {lead['changes']} times, and half "
            f"of the leads lasted {lead['median_spell_s']:.0f} s or less."
        )
        waits = pair["timer_shares"]
        if min(waits) >= STATES:
            out.append(
                f"While one flow waits for a timer, the other flow uses the link: {first} waited "
                f"{words.percent(waits[0])} of its time, {other} {words.percent(waits[1])}."
            )
    return out
