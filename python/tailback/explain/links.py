"""Explains what filled a queue, and what its AQM did."""

from __future__ import annotations

from typing import Any

from tailback.base.numbers import grouped
from tailback.explain import words

STANDING = 0.5
"""A queue is standing if its smallest delay is at least this share of its mean delay."""
PACKET = 1514
"""Size of a packet in bytes. A mean backlog below one packet does not count as a queue."""
SHOWN = 4
"""The largest number of quantities of an AQM's state that the sentences mention. The JSON contains
all quantities."""
SEEN = 0.01
"""The smallest share of a queue that the sentences mention. The JSON also contains smaller
shares."""

SEVERAL = (
    *("cake", "dualpi2", "fq", "fq_codel", "fq_pie"),
    *("drr", "hhf", "pfifo_fast", "prio", "sfq"),
)
"""Queue disciplines that consist of several queues. The disciplines in the second line exist only
in Linux. If one queue of such a discipline is a standing queue, the other queues may be empty most
of the time. The smallest delay over all packets therefore does not show the standing queue.
"""

DROPS = (
    "overflow",
    "aqm",
    "blue",
    "overload",
    "loss",
    "scheduled",
    "ack_filter",
    "policed",
    "middlebox",
)


def target_ms(options: Any) -> float | None:
    """Return the target delay of a queue discipline in ms, or None if it has no target. `options`
    are the discipline's options in the manifest of the run."""
    target = options.get("target") if isinstance(options, dict) else None
    return target / 1e6 if isinstance(target, int | float) and target > 0 else None


def of(
    recorded: dict[str, Any],
    summary: dict[str, Any],
    duration_s: float,
    target: float | None = None,
) -> dict[str, Any]:
    """Return the facts of a link. `target` is the target delay of the link's AQM in ms."""
    minima = recorded["minima"]
    mean = summary["delay_ms"]["mean"]
    windows = minima["windows"]
    # `minima` has the smallest delay in each time window. Weight each window by its packets,
    # because the mean delay is also an average over packets. Earlier versions recorded only an
    # average over time.
    over_time = minima["sum_ns"] / windows if windows else None
    least = minima.get("of_a_packet_ns", over_time)
    # The mean delay may be lower than the mean of the minima, because only the mean delay includes
    # packets after the last complete window.
    standing = min(least / 1e6, mean) if least is not None and mean is not None else None
    held = recorded["held_byte_s"]
    whole = sum(held.values())
    shares = {name: value / whole for name, value in held.items()} if whole else {}
    backlog = summary["occupancy_bytes_mean"]
    events = _events(recorded["events"], summary, duration_s)
    return {
        "name": summary["name"],
        "aqm": summary["aqm"],
        "packets": summary["packets"],
        "utilisation": summary["utilisation"],
        "delay_mean_ms": mean,
        "delay_p99_ms": summary["delay_ms"]["p99"],
        "standing_ms": standing,
        "standing_share": standing / mean if standing is not None and mean else None,
        "window_s": minima["window_ns"] / 1e9,
        "windows": windows,
        "backlog_mean_bytes": backlog,
        "target_ms": target,
        "queue": _kind(summary["aqm"], backlog, standing, mean, target),
        "shares": dict(sorted(shares.items(), key=lambda item: -item[1])),
        "events": events,
        "state": [],
    }


def _kind(
    aqm: str,
    backlog: float | None,
    standing: float | None,
    mean: float | None,
    target: float | None,
) -> str | None:
    if backlog is None or standing is None or mean is None:
        return None
    if backlog < PACKET:
        return "none"
    if standing < STANDING * mean:
        return "several" if aqm in SEVERAL else "bursts"
    # A standing queue up to the AQM's target is intended, because it keeps the link busy.
    return "held" if target is not None and standing <= target else "standing"


def _events(
    recorded: dict[str, Any], summary: dict[str, Any], duration_s: float
) -> list[dict[str, Any]]:
    width = recorded["width_ns"] / 1e9
    measured, packets = summary["causes"], summary["packets"]
    out = []
    for cause, bins in recorded["causes"].items():
        whole = sum(bins)
        happened = [i for i, n in enumerate(bins) if n]
        busiest = max(happened, key=lambda i: bins[i])
        after = None if measured is None else measured.get(cause, 0)
        out.append(
            {
                "cause": cause,
                "effect": "drop" if cause in DROPS else "mark",
                "count": whole,
                "measured": after,
                "share": after / packets if packets and after is not None else None,
                "first_s": happened[0] * width,
                "last_s": min((happened[-1] + 1) * width, duration_s),
                "busiest_s": busiest * width,
                "busiest_count": bins[busiest],
                "bin_s": width,
                "bins": bins,
            }
        )
    return sorted(out, key=lambda event: -event["count"])


def sentences(link: dict[str, Any], warmup_s: float) -> list[str]:
    out = []
    mean, standing = link["delay_mean_ms"], link["standing_ms"]
    if link["queue"] == "none":
        out.append(
            f"Less than a packet waited on average: {link['backlog_mean_bytes']:.0f} bytes, "
            f"{words.seconds(mean / 1e3)} of delay."
        )
    elif link["queue"] == "several":
        out.append(
            f"The delay was {words.seconds(mean / 1e3)} on average over the packets of all its "
            "queues. Their standing queues are not known."
        )
    elif link["queue"] is not None:
        always = (
            f"the smallest delay in each {words.seconds(link['window_s'])} was "
            f"{words.seconds(standing / 1e3)} on average ({words.percent(link['standing_share'])} "
            "of the mean delay)"
        )
        verdict = {
            "standing": "a standing queue",
            "bursts": "bursts, which drained",
            "held": "the AQM holds it below its target",
        }[link["queue"]]
        if link["queue"] == "held":
            verdict += f" of {words.seconds(link['target_ms'] / 1e3)}"
        out.append(f"The delay was {words.seconds(mean / 1e3)} on average; {always}: {verdict}.")
    shown = [(name, share) for name, share in link["shares"].items() if share >= SEEN][:5]
    if shown and link["queue"] not in (None, "none"):
        parts = [f"{name} {words.percent(share)}" for name, share in shown]
        out.append(f"Bytes that waited in it, by flow: {words.listed(parts)}.")
    if not link["events"] and link["packets"]:
        out.append("It neither dropped nor marked a packet.")
    for event in link["events"]:
        out.append(_event(event, warmup_s))
    out += [_state(state) for state in link["state"] if not state["grows"]][:SHOWN]
    return out


def _state(state: dict[str, Any]) -> str:
    name = state["quantity"]

    def show(value: float) -> str:
        return words.seconds(value / 1e9) if name.endswith("_ns") else f"{value:.3g}"

    quarters = ", ".join(map(show, state["quarters"]))
    return (
        f"State {name.removesuffix('_ns')}: {show(state['mean'])} on average, from "
        f"{show(state['min'])} to {show(state['max'])}; in the four quarters of the time: "
        f"{quarters}."
    )


def _event(event: dict[str, Any], warmup_s: float) -> str:
    cause = event["cause"]
    text = f"{words.count(event['count'], 'packet')} {words.CAUSES.get(cause, cause)}"
    if event["last_s"] - event["first_s"] <= event["bin_s"] * 1.5:
        text += f", all between {event['first_s']:.4g} and {event['last_s']:.4g} s"
    else:
        text += f", between {event['first_s']:.4g} and {event['last_s']:.4g} s"
        if event["busiest_count"] * 4 > event["count"]:
            text += (
                f", {event['busiest_count']} of them between {event['busiest_s']:.4g} and "
                f"{event['busiest_s'] + event['bin_s']:.4g} s"
            )
    share = f"{words.percent(event['share'])} of the packets" if event["share"] else ""
    if not warmup_s:
        text += f"; {share}" if share else ""
    elif share:
        text += f"; {grouped(event['measured'])} after the warm-up, {share} of that time"
    elif event["measured"] == 0:
        text += "; none after the warm-up"
    return text + "."
