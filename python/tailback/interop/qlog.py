"""Exports a run as qlog (draft-ietf-quic-qlog-main-schema-13, -quic-events-13), one file for each
flow. The qlog files that QUIC programs wrote are copied unchanged.

qlog is the log format of QUIC stacks. For a TCP flow the file has only qlog's recovery events,
because TCP has no packet numbers and no QUIC frames. Windows are in bytes of payload, times in ms
since the start of the run. Quantities that the run did not record are absent.

There are two formats. `qlog` is a JSON text sequence (RFC 7464) of the current schema. `qlog-0.3`
is the JSON of qlog 0.3, with older names, and qvis can read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tailback
from tailback.errors import InputError
from tailback.explain import account, words
from tailback.interop.plans import flow_plan
from tailback.interop.qlog_file import is_named_so
from tailback.interop.qlog_states import State, states
from tailback.metrics import parts
from tailback.programs import kept, logs
from tailback.store import layout
from tailback.store.run_folder import StoredRun

SCHEMAS = (
    "urn:ietf:params:qlog:events:quic-13",
    "urn:ietf:params:qlog:events:simulation",
)

MS = 1e6
"""Nanoseconds in a millisecond."""

Event = tuple[int, str, dict[str, Any]]
"""An event: its time in ns, its name without the namespace, and its data."""


@dataclass(frozen=True)
class Dialect:
    """The names that a version of the qlog schema uses."""

    metrics: str
    congestion_state: str
    contained: bool
    """Whether a file is one JSON object instead of a sequence of records."""


CURRENT = Dialect("quic:recovery_metrics_updated", "quic:congestion_state_updated", False)
OLD = Dialect("recovery:metrics_updated", "recovery:congestion_state_updated", True)


@dataclass(frozen=True)
class Qlog:
    """Exports the metrics and congestion states of each sender over time, in the formats `qlog` and
    `qlog-0.3`."""

    dialect: Dialect
    suffix: str

    def export(self, run: Path, out: Path, interfaces: Sequence[str]) -> list[Path]:
        """Write a file for each flow. The file is `out`, or NAME.FLOW plus the ending if there are
        several flows.

        Also copy the qlog files of QUIC programs, to NAME.PROGRAM.FILE.
        """
        if interfaces:
            raise InputError("--interface: only for --format pcapng; remove it")
        flows = _Flows(run)
        targets = [_target(out, name, len(flows.names)) for name in flows.names]
        for name, target in zip(flows.names, targets, strict=True):
            with layout.replacing(target) as part, part.open("wb") as file:
                for text in self._texts(flows, name):
                    file.write(text)
        copies = []
        for program, log in flows.logs:
            short = log.name.removeprefix(f"{kept.OUT}/")
            copy = out.with_name(f"{out.stem}.{program}.{short}".replace("/", "-"))
            with layout.replacing(copy) as part:
                part.write_bytes(flows.stored.read(log.path))
            copies.append(copy)
        return [*targets, *copies]

    def _texts(self, flows: _Flows, name: str) -> Iterator[bytes]:
        events = (_event(self.dialect, event) for event in flows.events(name))
        if self.dialect.contained:
            whole = _old_head(flows, name) | {
                "traces": [_old_trace(flows, name) | {"events": list(events)}]
            }
            yield json.dumps(whole, allow_nan=False).encode() + b"\n"
            return
        for record in (_head(flows, name), *events):
            yield b"\x1e" + json.dumps(record, allow_nan=False).encode() + b"\n"


FORMAT = Qlog(CURRENT, ".sqlog")


def _target(out: Path, flow: str, count: int) -> Path:
    if count == 1:
        return out
    return out.with_name(f"{out.stem}.{flow.replace('/', '-')}{out.suffix}")


def _event(dialect: Dialect, event: Event) -> dict[str, Any]:
    at, name, data = event
    names = {"metrics": dialect.metrics, "congestion_state": dialect.congestion_state}
    return {"time": at / MS, "name": names.get(name, name), "data": data}


def _head(flows: _Flows, flow: str) -> dict[str, Any]:
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": flows.title(flow),
        "description": flows.description,
        "trace": {
            "title": flow,
            "vantage_point": flows.vantage_point(flow),
            "common_fields": {
                "group_id": flow,
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
            },
            "event_schemas": list(SCHEMAS),
        },
    }


def _old_head(flows: _Flows, flow: str) -> dict[str, Any]:
    return {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": flows.title(flow),
        "description": flows.description,
    }


def _old_trace(flows: _Flows, flow: str) -> dict[str, Any]:
    return {
        "title": flow,
        "vantage_point": flows.vantage_point(flow),
        "common_fields": {
            "group_id": flow,
            "protocol_type": ["TCP"],
            "time_format": "relative",
            "reference_time": 0,
        },
    }


def _logs(run: StoredRun) -> Iterator[tuple[str, kept.KeptFile]]:
    for program in parts.programs(run.summary):
        for file in logs.files(run, program["name"]):
            # Programs may also write result files in JSON, which are not qlog.
            if is_named_so(Path(file.name)):
                yield program["name"], file


class _Flows:
    """Converts the flows of a run to qlog events."""

    def __init__(self, run: Path) -> None:
        self.stored = StoredRun(run)
        self.manifest: dict[str, Any] = self.stored.manifest
        self.point: dict[str, Any] = self.manifest["canonical"]
        self.names = [flow["name"] for flow in self.stored.summary["flows"]]
        self.logs = list(_logs(self.stored))
        """The qlog files that programs wrote, with the programs' names."""
        if not (self.names or self.logs):
            raise InputError(
                f"{run}: no TCP flow and no qlog of a program, and qlog is the log of a sender; "
                "choose a run with a TCP flow, or use --format csv"
            )

    @property
    def description(self) -> str:
        """Return a sentence about the run, the version of tailback, the engine and the seed."""
        return (
            f"Run {self.manifest['run_id']} of tailback {tailback.__version__}, engine "
            f"{self.manifest['engine']}, seed {self.manifest['seed']}: a TCP flow, windows in "
            "bytes of payload."
        )

    def title(self, flow: str) -> str:
        """Return the name of the flow and its congestion control."""
        return f"{flow}: {self._plan(flow)['cc']['name']}"

    def vantage_point(self, flow: str) -> dict[str, str]:
        """Describe the vantage point of the log. The vantage point is the sender, which opens the
        connection."""
        return {"name": flow, "type": "client"}

    def _plan(self, flow: str) -> dict[str, Any]:
        return flow_plan(self.point, flow, self.stored.path)

    @cached_property
    def _rows(self) -> dict[str, list[tuple[int, str | None, str, float]]]:
        """The rows of the recorded series, by flow. Each row has a time in ns, a link, a quantity
        and a value.
        """
        found: dict[str, list[tuple[int, str | None, str, float]]] = {}
        for at, flow, link, quantity, value in self.stored.series().iter_rows():
            if flow is not None:
                found.setdefault(flow, []).append((at, link, quantity, value))
        # The file lists all rows of one quantity before the rows of the next quantity.
        # Sorting by time is stable, so at equal times the window remains before the
        # state.
        for rows in found.values():
            rows.sort(key=lambda row: row[0])
        return found

    @cached_property
    def _accounts(self) -> dict[str, dict[str, Any]]:
        read = account.read(self.stored)
        return {} if read is None else {flow["name"]: flow for flow in read["flows"]}

    def events(self, flow: str) -> list[Event]:
        """Return the events of a flow in order of time."""
        mss = self._plan(flow)["tcp"]["mss"]
        rows = self._rows.get(flow, [])
        accounted = self._accounts.get(flow, {})
        events = [
            *_metrics(rows, mss),
            *(_state(state) for state in states(rows, accounted)),
            *_markers(rows, accounted, self.manifest["engine"] == "kernel"),
        ]
        events.sort(key=lambda event: event[0])
        return events


def _state(state: State) -> Event:
    data = {} if state.old is None else {"old": state.old}
    data["new"] = state.new
    if state.trigger is not None:
        data["trigger"] = state.trigger
    return state.at_ns, "congestion_state", data


def _bytes(mss: int) -> dict[str, tuple[str, float]]:
    """Map a recorded quantity to its name in qlog and the factor to qlog's unit."""
    return {
        "cwnd": ("congestion_window", mss),
        "ssthresh": ("ssthresh", mss),
        "in_flight": ("bytes_in_flight", mss),
        "srtt_ns": ("smoothed_rtt", 1 / MS),
        "min_rtt_ms": ("min_rtt", 1.0),
        "pacing_mbit": ("pacing_rate", 1e6),
    }


_WHOLE = ("congestion_window", "ssthresh", "bytes_in_flight", "pacing_rate")


def _metrics(rows: Sequence[tuple[int, str | None, str, float]], mss: int) -> Iterator[Event]:
    """Yield an event for each time at which a metric changes, with the changed metrics."""
    wanted = _bytes(mss)
    at_once: dict[int, dict[str, Any]] = {}
    last: dict[str, float] = {}
    for at, _, quantity, value in rows:
        # A minimum RTT of 0 means that no RTT has been measured yet.
        if quantity not in wanted or (quantity == "min_rtt_ms" and value == 0):
            continue
        name, factor = wanted[quantity]
        scaled = round(value * factor) if name in _WHOLE else value * factor
        if last.get(name) == scaled:
            continue
        last[name] = scaled
        data = at_once.setdefault(at, {})
        data[name] = scaled
        if quantity == "in_flight":
            data["packets_in_flight"] = round(value)
    for at in sorted(at_once):
        yield at, "metrics", at_once[at]


def _markers(
    rows: Sequence[tuple[int, str | None, str, float]],
    accounted: Mapping[str, Any],
    kernel: bool,
) -> Iterator[Event]:
    """Yield events that qlog's schema does not define.

    These events are the end of slow start, each reduction of the window, and each
    recorded drop and mark.
    """

    def marker(at: int, kind: str, message: str, **more: object) -> Event:
        return at, "simulation:marker", {"type": kind, "message": message, **more}

    end = accounted.get("slow_start")
    if end is not None:
        yield marker(
            end["at_ns"],
            "slow_start_exit",
            f"slow start ended at {end['cwnd']} segments: {end['why']}",
            trigger=end["why"],
        )
    reasons = words.KERNEL_REASONS if kernel else words.REASONS
    listed = accounted.get("reductions", {})
    columns = [listed.get(name, ()) for name in ("time_ns", "reason", "from", "to")]
    for at, reason, before, after in zip(*columns, strict=True):
        kind = "reduction_undone" if reason in words.UNDONE else "reduction"
        text = f"window from {before} to {after} segments: {reasons.get(reason, reason)}"
        yield marker(at, kind, text, trigger=reason)
    for at, link, quantity, _ in rows:
        kind, dot, cause = quantity.partition(".")
        if link is not None and dot:
            text = f"packet at {link}: {words.CAUSES.get(cause, cause)}"
            yield marker(
                at,
                "packet_dropped" if kind == "drop" else "packet_marked",
                text,
                trigger=cause,
                link=link,
            )
