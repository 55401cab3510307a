"""Explains the results of a run with numbers, and with sentences that contain these numbers.

| module | what it explains |
|---|---|
| `account` | the data in `account.json`, which a run records for its explanation |
| `flows`, `reductions` | how a flow spent its time; every reduction of its window |
| `slow_start` | how the slow start of a flow ended |
| `links` | what filled a queue, and what its AQM did |
| `latency` | the delay of echoes and of media frames |
| `programs` | the run's programs, and why `explain` cannot explain them |
| `between` | why two flows at one queue have different throughputs |
| `series` | findings that need the recorded series |
| `variants` | which findings differ between variants of a scenario |
"""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.errors import InputErrors
from tailback.explain import (
    account,
    between,
    flows,
    latency,
    links,
    programs,
    slow_start,
    words,
)
from tailback.explain import series as over_time
from tailback.store import changes, layout
from tailback.store.run_folder import StoredRun

OLD = (
    "a version of tailback that did not record what flows wait for wrote this run; run the "
    "scenario again"
)
PAIRS = 6
"""The largest number of pairs of flows to compare."""


@dataclass(frozen=True)
class Part:
    """A heading of an explanation, with the sentences below it."""

    title: str
    sentences: list[str]


@dataclass(frozen=True)
class Explanation:
    run_id: str
    engine: str
    #: Sources whose datagrams are echoed or carry media frames.
    latency: list[dict[str, Any]]
    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    #: Programs, of which tailback records only the packets in the network.
    programs: list[dict[str, Any]]
    #: The changes that `[[events]]` made during the run.
    changes: list[dict[str, Any]]
    #: Notes that say which data is missing or coarse, and how to record better data.
    notes: list[str]

    def parts(self) -> list[Part]:
        """The explanation as sentences, with a part for each flow, link, source and pair of
        flows."""
        named = [
            *((latency.title(source), source) for source in self.latency),
            *((_title(flow), flow) for flow in self.flows),
            *((_link(link), link) for link in self.links),
            *((" against ".join(pair["flows"]), pair) for pair in self.pairs),
        ]
        parts = [Part(title, found["sentences"]) for title, found in named]
        if self.changes:
            parts.insert(0, Part("changes during the run", changes.sentences(self.changes)))
        if self.programs:
            parts.append(Part("programs", [programs.sentence(self.programs)]))
        return parts

    def __str__(self) -> str:
        return "\n".join(
            line
            for part in self.parts()
            for line in (part.title, *(f"  {s}" for s in part.sentences))
        )

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: a heading and a list of sentences for each part."""
        return "".join(
            f"<p><b>{html.escape(part.title)}</b></p>"
            f"<ul>{''.join(f'<li>{html.escape(text)}</li>' for text in part.sentences)}</ul>"
            for part in self.parts()
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "engine": self.engine,
            "latency": self.latency,
            "flows": self.flows,
            "links": self.links,
            "pairs": self.pairs,
            "programs": self.programs,
            "changes": self.changes,
            "notes": self.notes,
        }


def _title(flow: dict[str, Any]) -> str:
    what = "flow" if flow["kind"] == "flow" else "source"
    cc = f" ({flow['cc']})" if flow["cc"] and flow["cc"] != flow["name"] else ""
    rate = flow["throughput_mbit"]
    return f"{what} {flow['name']}{cc}" + (f": {rate:.4g} Mbit/s" if rate is not None else "")


def _link(link: dict[str, Any]) -> str:
    used = link["utilisation"]
    how_full = f": {words.percent(used)} used" if used is not None else ""
    return f"link {link['name']} ({link['aqm']}){how_full}"


def explain(run: StoredRun, only: Sequence[str] = (), *, series: bool = True) -> Explanation:
    """Explain a stored run. `only` names the flows and sources to explain (default: all). Without
    `series`, leave out the findings that need the recorded series.

    Raises `InputError` if the run does not have the flow or source that `only` names.
    """
    summary = run.summary
    recorded = account.read(run)
    of_sources = {s["name"]: s for s in summary["traffic"]}
    wrong = [text for name in dict.fromkeys(only) if (text := programs.refusal(name, summary))]
    if wrong:
        raise InputErrors(*wrong)
    notes: list[str] = []
    if recorded is None:
        return Explanation(
            run_id=run.manifest["run_id"],
            engine=run.manifest["engine"],
            latency=latency.of(summary, only),
            flows=[],
            links=[],
            pairs=[],
            programs=[],
            changes=changes.of(run.manifest["canonical"]),
            notes=[OLD],
        )
    senders = [
        *(flows.of(f, s, "flow") for f, s in zip(recorded["flows"], summary["flows"], strict=True)),
        *(flows.of(s, of_sources[s["name"]], "source") for s in recorded["traffic"]),
    ]
    if run.manifest["canonical"].get("offloads"):
        for sender in senders:
            sender.update(mark_share=None, drop_share=None)
        notes.append(
            "offloads are on: TCP counts segments, but the queue counts packets, which can hold "
            "several segments. So the shares of dropped and marked packets of a flow are not known"
        )
    frame = over_time.of(run) if series else None
    if series and frame is None:
        notes.append(
            "no time series were recorded, so the state of the AQM over time, and the times at "
            "which each flow was faster, are not known; "
            'run the scenario with record.series = "interval"'
        )
    length = summary["duration_s"]
    known = summary["queues"].values()
    targets = _targets(run)
    queues = [
        links.of(q, s, length, targets.get(s["name"]))
        for q, s in zip(recorded["links"], known, strict=True)
    ]
    for queue in queues:
        if frame is not None:
            queue["state"] = over_time.states(frame, queue["name"], summary["warmup_s"])
        queue["sentences"] = links.sentences(queue, summary["warmup_s"])
    for sender in senders:
        if sender["told_by_kernel"] and sender["kind"] == "flow" and frame is not None:
            sender["slow_start"] = slow_start.of_series(frame, sender)
        sender["sentences"] = flows.sentences(sender, summary["warmup_s"])
    if not recorded["watched"]:
        notes.append(
            "packets were not captured, so the flows that filled the queue and the causes of drops "
            "and marks are not known; run the scenario with record.captures = true"
        )
    notes += _coarse(senders)
    if series:
        notes += _warned(run)
    wanted = [sender for sender in senders if not only or sender["name"] in only]
    pairs = _pairs(wanted, frame, summary["warmup_s"])
    return Explanation(
        run_id=run.manifest["run_id"],
        engine=run.manifest["engine"],
        latency=latency.of(summary, only),
        flows=wanted,
        links=[q for q in queues if not only or not q["shares"].keys().isdisjoint(only)],
        pairs=pairs,
        programs=[] if only else programs.of(summary, queues),
        changes=changes.of(run.manifest["canonical"]),
        notes=notes,
    )


def _targets(run: StoredRun) -> dict[str, float]:
    targets = {}
    for link in run.manifest["canonical"].get("links", ()):
        target = links.target_ms(link.get("queue", {}).get("options"))
        if target is not None:
            targets[link["name"]] = target
    return targets


def _coarse(senders: list[dict[str, Any]]) -> list[str]:
    every = {s["seen_every_s"] for s in senders if s["told_by_kernel"]}
    if not every:
        return []
    how = (
        "between samples, so several changes between two samples count as one, and reductions by "
        "the congestion control itself look the same; "
        'record.series = "acks" takes a sample after every ACK'
        if max(every) > 0
        else "between samples, which tailback takes after every ACK"
    )
    return [
        "these numbers come from Linux's tcp_info: Linux itself measures the times of the receive "
        "window, the send buffer and no data (chrono); the time of recovery is the share of "
        "samples in that state; window and pacing are not distinguished; reductions are "
        f"differences {how}"
    ]


def _warned(run: StoredRun) -> list[str]:
    """Return the warnings about the scenario that tailback printed when the sweep was run."""
    place = Path(os.path.abspath(run.path))
    found = layout.sweep_of(place.parent.parent, run.manifest["run_id"])
    if not found:
        return []
    index = found[0]
    # The sweep's index does not say which sweep point a warning is about. If there are several
    # sweep points, the sentence says only "a point of this sweep".
    one = len({tuple(point.labels.items()) for point in index.points}) == 1
    where = "the scenario" if one else "a point of this sweep"
    return [f"{where} is unusual: {text.partition('; expected ')[0]}" for text in index.warnings]


def _pairs(senders: list[dict[str, Any]], frame: Any, warmup_s: float) -> list[dict[str, Any]]:
    """Compare the flow with the highest throughput with each other flow."""
    rivals = [s for s in senders if s["kind"] == "flow" and s["throughput_mbit"] is not None]
    rivals.sort(key=lambda s: -s["throughput_mbit"])
    if not 2 <= len(rivals) <= PAIRS:
        return []
    out = []
    first = rivals[0]
    for other in rivals[1:]:
        names = first["name"], other["name"]
        lead = None if frame is None else over_time.lead(frame, *names, warmup_s)
        pair = between.of(first, other, lead)
        pair["sentences"] = between.sentences(pair)
        out.append(pair)
    return out
