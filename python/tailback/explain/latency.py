"""Explains the end-to-end delays that sources recorded for echoes and for frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailback.explain import words


def of(summary: dict[str, Any], only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the facts of each source with datagrams that are echoed or that carry frames."""
    found = []
    for source in summary["traffic"]:
        echoes, frames = source.get("echoes"), source.get("frames")
        rpm, pages = source.get("responsiveness"), source.get("page_load_ms")
        pages = pages if pages and pages["n"] else None
        if (echoes or frames or rpm or pages) and (not only or source["name"] in only):
            fact = {
                "name": source["name"],
                "kind": source["kind"],
                "one_way_delay_ms": source["one_way_delay_ms"],
                "rtt_ms": source["rtt_ms"] if echoes else None,
                "echoes": echoes,
                "frames": frames,
                "responsiveness": rpm,
                "page_load_ms": pages,
            }
            found.append({**fact, "sentences": _sentences(fact)})
    return found


def title(source: dict[str, Any]) -> str:
    kind = f" ({source['kind']})" if source["kind"] != source["name"] else ""
    return f"latency of {source['name']}{kind}"


def _sentences(source: dict[str, Any]) -> list[str]:
    out = []
    echoes, frames = source["echoes"], source["frames"]
    if echoes:
        rtt = source["rtt_ms"]
        requests = words.count(echoes["sent"], "request")
        if rtt["p50"] is not None:
            out.append(f"The RTT was {_spread(rtt)}.")
        lost = f"{echoes['lost']} lost" if echoes["lost"] else "none lost"
        out.append(f"Of {requests}, {echoes['answered']} answered, {lost}.")
    if frames:
        delay = frames["delay_ms"]
        if delay["p50"] is not None:
            out.append(f"From capture to the last datagram, a frame took {_spread(delay)}.")
        share = frames["late_share"]
        if share is not None:
            judged = words.count(frames["judged"], "frame")
            late = words.percent(share) if share else "none"
            out.append(f"Of {judged}, {late} came after the deadline or not at all.")
        if frames["stalls"]:
            stalls = words.count(frames["stalls"], "stall")
            longest = words.seconds(frames["longest_stall_s"])
            out.append(
                f"It had {stalls} of {words.seconds(frames['stall_s'])} in all, the longest of "
                f"{longest}."
            )
        else:
            out.append("It never stalled.")
    if pages := source["page_load_ms"]:
        out.append(f"{words.count(pages['n'], 'page')} loaded, each in {_spread(pages)}.")
    if rpm := source["responsiveness"]:
        out += _responsiveness(rpm)
    one_way = source["one_way_delay_ms"]
    if one_way["p50"] is not None:
        out.append(f"From the sender to the receiver, datagrams took {_spread(one_way)}.")
    return out


def _responsiveness(rpm: dict[str, Any]) -> list[str]:
    if rpm["rpm"] is None:
        return ["It has no RPM: no interval with probes of both kinds is complete."]
    return [
        f"Responsiveness: {rpm['rpm']:.0f} RPM ({rpm['confidence']} confidence, "
        f"{words.count(rpm['intervals'], 'interval')}), {rpm['foreign_rpm']:.0f} of foreign probes "
        f"and {rpm['loaded_rpm']:.0f} on bulk connections.",
        f"A foreign probe, a handshake and a fetch, took {_spread(rpm['foreign_ms'])}.",
        f"A probe on a bulk connection took {_spread(rpm['loaded_ms'])}.",
        f"{words.count(rpm['connections'], 'bulk connection')} carried "
        f"{rpm['goodput_mbit']:.4g} Mbit/s.",
    ]


def _spread(stat: dict[str, Any]) -> str:
    return (
        f"{stat['p50']:.4g} ms (median), {stat['p95']:.4g} ms (95th percentile), "
        f"{stat['p99']:.4g} ms (99th), at most {stat['max']:.4g} ms"
    )
