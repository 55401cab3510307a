"""Exports a run as a data file of the network tester Flent, which can open and plot it.

The file has format version 4, like a file that Flent 2 writes after a similar test. Flent's test is
`tcp_1up` for one upload, `tcp_2up` for two, and `tcp_nup` for more. For downloads, Flent's test is
`tcp_2down` or `tcp_ndown`, and for both directions `tcp_bidirectional` or `rrul_be_nflows`.
Simulated time has no date, so the run starts at the start of 1970 in the file. With this fixed
date, equal runs give identical files.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import tailback
from tailback import registry
from tailback.errors import DamagedResults, InputError
from tailback.interop.flent_file import SUFFIX, VERSION
from tailback.interop.plans import flow_plan
from tailback.metrics.jain import jain
from tailback.store import layout
from tailback.store.run_folder import StoredRun

EPOCH = "1970-01-01T00:00:00.000000Z"

SINGLE, BIDIRECTIONAL, BOTH_WAYS = "tcp_1up", "tcp_bidirectional", "rrul_be_nflows"
"""Flent's tests whose series have special names. Other tests are, for example, `tcp_2up` and
`tcp_ndown`."""

PING = "Ping (ms) ICMP"

NS = 10**9

#: For each recorded quantity: its name in Flent's socket statistics, the factor to Flent's unit,
#: and that unit.
_STATISTICS = (
    ("srtt_ns", "tcp_rtt", 1e-6, "ms"),
    ("cwnd", "tcp_cwnd", 1.0, "packets"),
    ("ssthresh", "tcp_ssthresh", 1.0, "packets"),
)

Raw = dict[str, float]
Rows = list[tuple[int, float]]


@dataclass(frozen=True)
class Flent:
    """The format `flent`, with the throughput, RTT and window of each flow, and the delay of a
    ping."""

    suffix: str = SUFFIX

    def export(self, run: Path, out: Path, interfaces: Sequence[str]) -> list[Path]:
        if interfaces:
            raise InputError("--interface: only for --format pcapng; remove it")
        if not out.name.endswith(SUFFIX):
            raise InputError(
                f"--out {out}: expected a name that ends in {SUFFIX}, by which Flent knows the "
                f"format"
            )
        try:
            text = json.dumps(_Export(run, out.name).data(), sort_keys=True, allow_nan=False)
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The hashes of the files are correct, so the files were not changed after the run. A
            # program other than tailback must have written the files.
            raise DamagedResults(f"{run}: not a run that tailback wrote ({error!r})") from error
        with (
            layout.replacing(out) as part,
            part.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        ):
            packed.write(text.encode())
        return [out]


FORMAT = Flent()


@dataclass(frozen=True)
class _Stream:
    """A flow of the run as a stream of a Flent test."""

    series: str
    flow: str
    cc: str
    mean: float | None
    """Throughput over the flow's measured time, in Mbit/s. None if nothing was measured."""
    raw: list[Raw]
    """Samples in order of time, with the keys `t`, `val`, `dur` and perhaps socket statistics."""
    columns: dict[str, list[float | None]]
    """For each key of `raw`, its value at each point of the time axis."""


class _Export:
    def __init__(self, run: Path, name: str) -> None:
        self.run = run
        self.name = name
        self.stored = StoredRun(run)
        self.summary: dict[str, Any] = self.stored.summary
        self.manifest: dict[str, Any] = self.stored.manifest
        self.point: dict[str, Any] = self.manifest["canonical"]
        self.interval: int = self.point["record"]["interval"]
        self.duration: int = self.point["duration"]
        # Count the last interval even if it is incomplete because the run ends.
        self.steps: int = -(-self.duration // self.interval)

    @cached_property
    def rows(self) -> dict[tuple[str | None, str | None, str], Rows]:
        """The recorded samples, by flow, link and quantity."""
        found: dict[tuple[str | None, str | None, str], Rows] = {}
        for row in self.stored.series().iter_rows(named=True):
            key = (row["flow"], row["link"], row["quantity"])
            found.setdefault(key, []).append((row["time_ns"], row["value"]))
        return found

    def data(self) -> dict[str, Any]:
        if self.point["record"]["series"] == "off":
            raise InputError(
                f"{self.run}: no series were recorded, and Flent plots series; run the scenario "
                'with record.series = "interval" (--set record.series=interval)'
            )
        if not self.summary["flows"]:
            raise InputError(
                f"{self.run}: no TCP flow, and Flent's TCP tests need one; "
                "choose a run with a TCP flow, or use --format csv"
            )
        test, names = self._test()
        streams = [
            self._stream(series, flow)
            for series, flow in zip(names, self.summary["flows"], strict=True)
        ]
        results: dict[str, list[float | None]] = {}
        for stream in streams:
            for key, column in stream.columns.items():
                results[stream.series if key == "val" else f"{stream.series}::{key}"] = column
        results.update(_computed(test, streams))
        raw: dict[str, list[Raw]] = {stream.series: stream.raw for stream in streams}
        ping = self._ping()
        if ping:
            raw[PING] = [{"t": at / NS, "val": value} for at, value in ping]
            results[PING] = self._column(ping)
        return {
            "version": VERSION,
            "metadata": self._metadata(test, streams, bool(ping)),
            "x_values": [step * self.interval / NS for step in range(self.steps + 1)],
            "results": results,
            "raw_values": raw,
        }

    def _test(self) -> tuple[str, list[str]]:
        """Return the Flent test that resembles the run, and the name of each flow's series in that
        test."""
        down = [self._is_download(flow["name"]) for flow in self.summary["flows"]]
        ups, downs = down.count(False), down.count(True)
        if not ups or not downs:
            way, word = ("up", "upload") if ups else ("down", "download")
            # Flent's tcp_1down has no plots of socket statistics, but tcp_ndown does.
            if len(down) == 1 and ups:
                return SINGLE, [f"TCP {word}"]
            test = f"tcp_2{way}" if len(down) == 2 else f"tcp_n{way}"
            return test, [f"TCP {word}::{i}" for i in range(1, len(down) + 1)]
        if (ups, downs) == (1, 1):
            return BIDIRECTIONAL, ["TCP download" if d else "TCP upload" for d in down]
        places = {False: 0, True: 0}
        names = []
        for d in down:
            places[d] += 1
            names.append(f"TCP {'download' if d else 'upload'} BE::{places[d]}")
        return BOTH_WAYS, names

    def _is_download(self, flow: str) -> bool:
        """Return whether a flow's data uses the links in the return direction."""
        plan = self._plan(flow)
        links = [self.point["links"][i]["name"] for i in plan["route"]]
        if links:
            return all(name.endswith(".back") for name in links)
        return bool(plan["back"])

    def _plan(self, flow: str) -> dict[str, Any]:
        return flow_plan(self.point, flow, self.run)

    def _stream(self, series: str, flow: Mapping[str, Any]) -> _Stream:
        name = flow["name"]
        by_time: dict[int, Raw] = {}
        columns: dict[str, list[float | None]] = {"val": [None] * (self.steps + 1)}
        for begin, end, rate in self._throughput(flow):
            by_time.setdefault(end, {}).update(val=rate, dur=(end - begin) / NS)
            columns["val"][self._step(end)] = rate
        for quantity, key, factor, _ in _STATISTICS:
            rows = [(at, v * factor) for at, v in self.rows.get((name, None, quantity), [])]
            for at, value in rows:
                by_time.setdefault(at, {})[key] = value
            columns[key] = self._column(rows)
        raw = [{"t": at / NS, **by_time[at]} for at in sorted(by_time)]
        return _Stream(series, name, flow["cc"], flow["throughput_mbit"], raw, columns)

    def _throughput(self, flow: Mapping[str, Any]) -> list[tuple[int, int, float]]:
        """For each interval in which the flow is active, return its start, its end and the payload
        rate in Mbit/s.

        The first interval begins when the flow starts, if that time is known. The last interval
        ends when the flow stopped or completed, or the run ended.
        """
        name = flow["name"]
        rows = self.rows.get((name, None, "delivered_bytes"))
        if rows is None:
            # With record.series = "acks", the series has no samples from the receiver.
            rows = self.rows.get((name, None, "acked_bytes"), [])
        total: dict[int, float] = {}
        for at, value in rows:
            # The last sample of an interval is used as the value at its end.
            total[-(-at // self.interval) * self.interval] = value
        if not total:
            return []
        warmup = self.point["warmup"]
        begin = (min(total) // self.interval - 1) * self.interval
        measured_from = round(flow["from_s"] * NS) if flow.get("from_s") is not None else None
        if measured_from is not None and (measured_from > warmup or warmup == 0):
            begin = max(begin, measured_from)
        end = round(flow["to_s"] * NS) if flow.get("to_s") is not None else self.duration
        # The flow may end between two samples. The run's summary has the exact time.
        before = 0.0 if measured_from != warmup or warmup == 0 else total.get(warmup)
        if before is not None and flow.get("delivered_bytes") is not None:
            total = {at: value for at, value in total.items() if at < end}
            total[end] = max([before + flow["delivered_bytes"], *total.values()])
        marks = [(begin, 0.0), *sorted(total.items())]
        return [
            (a, b, (after - earlier) * 8e3 / (b - a))
            for (a, earlier), (b, after) in pairwise(marks)
            if b > a
        ]

    def _ping(self) -> Rows:
        """Return the estimated round-trip time of a ping: the path's base round-trip time plus the
        delay of every queue.

        If a queue on the path isolates flows from each other, return no value. A ping would then be
        a separate flow, and would not wait for the whole queue.
        """
        plan = self._plan(self.summary["flows"][0]["name"])
        links = [self.point["links"][i] for i in (*plan["route"], *plan["back"])]
        if not all(registry.in_order(link["queue"]) and _has_rate(link["rate"]) for link in links):
            return []
        base = plan["rtt"] + sum(link["delay"] for link in links)
        backlogs = [
            dict(self.rows.get((None, link["name"], "backlog_bytes"), [])) for link in links
        ]
        if not all(backlogs):
            return []
        times = sorted(set(backlogs[0]).intersection(*backlogs[1:])) if backlogs else []
        waits = [
            sum(
                backlog[at] * 8e3 / _rate_at(link["rate"], at)
                for link, backlog in zip(links, backlogs, strict=True)
            )
            for at in times
        ]
        return [(at, base / 1e6 + wait) for at, wait in zip(times, waits, strict=True)]

    def _step(self, at: int) -> int:
        return min(-(-at // self.interval), self.steps)

    def _column(self, rows: Rows) -> list[float | None]:
        """Return a column of the data file. The column contains the last value in each interval, or
        None if the interval has no value.
        """
        column: list[float | None] = [None] * (self.steps + 1)
        for at, value in rows:
            column[self._step(at)] = value
        return column

    def _metadata(self, test: str, streams: Sequence[_Stream], ping: bool) -> dict[str, Any]:
        warmup, length = self.point["warmup"] / NS, self.duration / NS
        names = [stream.series for stream in streams]
        parameters = {"tcp_cong_control": ",".join(stream.cc for stream in streams)}
        for way in ("upload", "download"):
            count = sum(name.startswith(f"TCP {way}") for name in names)
            if test not in (SINGLE, BIDIRECTIONAL) and count:
                parameters[f"{way}_streams"] = str(count)
        engine = self.manifest["engine"]
        notes = [f"Run {self.manifest['run_id']} of tailback, engine {engine}."]
        if ping:
            notes.append(
                f"tailback computed {PING} and sent no pings: each value is the path's round-trip "
                "time plus, for each queue, the backlog divided by the rate."
            )
        else:
            notes.append(f"No {PING}: the time that a ping waits in these queues was not recorded.")
        return {
            "NAME": test,
            "TITLE": self._title(streams),
            "NOTE": " ".join(notes),
            "TIME": EPOCH,
            "T0": EPOCH,
            "HOST": "receiver",
            "HOSTS": ["receiver"],
            "LOCAL_HOST": f"tailback-{engine}",
            "DATA_FILENAME": self.name,
            # Flent's box and cumulative plots leave out the first and the last DELAY seconds of
            # TOTAL_LENGTH. With TOTAL_LENGTH increased by DELAY, these plots leave out the warm-up,
            # but nothing at the end.
            "DELAY": warmup,
            "LENGTH": length - warmup,
            "TOTAL_LENGTH": length + warmup,
            "STEP_SIZE": self.interval / NS,
            "IP_VERSION": 4,
            "TEST_PARAMETERS": parameters,
            "FLENT_VERSION": f"tailback {tailback.__version__}",
            "SERIES_META": {
                **{
                    stream.series: {
                        "UNITS": "Mbits/s",
                        # Flent's summary shows this value and not the mean of the samples. In
                        # Flent's own files, this value is netperf's result.
                        "MEAN_VALUE": stream.mean,
                        "FLOW": stream.flow,
                        "CONG_CONTROL": stream.cc,
                    }
                    for stream in streams
                },
                **{
                    f"{stream.series}::{key}": {"UNITS": unit}
                    for stream in streams
                    for _, key, _, unit in _STATISTICS
                },
                **({PING: {"UNITS": "ms"}} if ping else {}),
            },
            "TAILBACK": {
                "run_id": self.manifest["run_id"],
                "engine": engine,
                "engine_version": self.manifest["engine_version"],
                "seed": self.manifest["seed"],
                "canonical": self.point,
            },
        }

    def _title(self, streams: Sequence[_Stream]) -> str:
        seed = f"seed {self.manifest['seed']}"
        found = layout.sweep_of(self.run.resolve().parent.parent, self.manifest["run_id"])
        if found is None:
            return f"{self._parts(streams)}, {seed}"
        index, point = found
        labels = [f"{path} = {label}" for path, label in point.labels.items()]
        several = any(p.seed != point.seed for p in index.points)
        title = index.title or self._parts(streams)
        return ", ".join([title, *labels, *([seed] if several else [])])

    def _parts(self, streams: Sequence[_Stream]) -> str:
        queues = dict.fromkeys(queue["aqm"] for queue in self.summary["queues"].values())
        return f"{', '.join(stream.flow for stream in streams)} through {', '.join(queues)}"


def _has_rate(rate: object) -> bool:
    return isinstance(rate, int) or (isinstance(rate, Mapping) and "steps" in rate)


def _rate_at(rate: int | Mapping[str, Any], at: int) -> float:
    if isinstance(rate, int):
        return rate
    steps: list[tuple[int, int]] = rate["steps"]
    reached = [value for since, value in steps if since <= at]
    return reached[-1] if reached else steps[0][1]


def _computed(test: str, streams: Sequence[_Stream]) -> dict[str, list[float | None]]:
    """Compute the series that Flent derives from the series of the flows: sums and means."""
    if test in (SINGLE, BIDIRECTIONAL):
        return {}
    series: dict[str, list[float | None]] = {}
    for way in ("upload", "download"):
        columns = [s.columns["val"] for s in streams if s.series.startswith(f"TCP {way}")]
        if not columns:
            continue
        there = [[v for v in at if v is not None] for at in zip(*columns, strict=True)]
        series[f"TCP {way} avg"] = [sum(vs) / len(vs) if vs else None for vs in there]
        series[f"TCP {way} sum"] = [sum(vs) if vs else None for vs in there]
        if test != BOTH_WAYS:
            series[f"TCP {way} fairness"] = [jain(vs) for vs in there]
    if test == BOTH_WAYS:
        columns = [stream.columns["val"] for stream in streams]
        there = [[v for v in at if v is not None] for at in zip(*columns, strict=True)]
        series["TCP totals"] = [sum(vs) if vs else None for vs in there]
    return series
