"""Writes docs/evidence/quinn-in-the-simulator.md, which compares quinn in the simulator with quinn
in the guest.

    python scripts/stacks.py
    python scripts/stacks.py --jobs 2 --out results/stacks

Runs the experiment `quic-and-tcp` in the simulator, with the stack of `stacks/quinn`. Stored runs
are reused. The numbers of the kernel engine are read from the pages docs/evidence/quic-and-tcp.md
and docs/evidence/quic-and-tcp-rtts.md. Two further scenarios run on both engines.

    python scripts/stacks.py --only-both

prints the section about these two scenarios, and does not write the page.

    python scripts/stacks.py --only-bbr

runs quinn's BBR on both engines, and prints the section about it."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tailback
from tailback.metrics.statistics import Estimate, t_quantile
from tailback.running.batch import Job, run_many
from tailback.store.results import Results
from tailback_studies.experiments.quic_and_tcp.layout import (
    CCS,
    LINKS,
    Fetch,
    Link,
    Pair,
    QuicPlace,
    Stack,
    places,
)
from tailback_studies.experiments.quic_and_tcp.points import (
    BYTES,
    Fetched,
    Met,
    fetch_job,
    fetched,
    job,
    met,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/evidence/quinn-in-the-simulator.md"
EVIDENCE = ROOT / "docs/evidence"
STACK = ROOT / "stacks/quinn"
QUINN = Stack("quinn", "CUBIC")

SEEDS = 5
CLOSE = 0.02
"""Largest relative difference of the times of a transfer that is considered agreement."""
TIMERS = ("exact", "tokio")
"""Kinds of timers of the stack. The page compares the default (the first) with the second."""


@dataclass(frozen=True)
class Meeting:
    """Results of a quinn flow that competes with a TCP flow: throughputs in Mbit/s, delay in ms."""

    queue: str
    rtt_ms: int
    cc: str
    guest: tuple[float, float, float]
    """Throughput of quinn, throughput of TCP, and mean queue delay, in the guest."""
    here: Mapping[str, tuple[float, float, float]]
    """Throughput of quinn, throughput of TCP, and mean queue delay in the simulator, by kind of
    timers."""
    half: Mapping[str, float]
    """Half of the 95 % interval of a throughput in the simulator, by kind of timers. This value is
    the larger of the half-widths for quinn's and for TCP's throughput."""

    def miss(self, timers: str) -> float:
        """Return by how much the engines differ in throughput, for the flow that differs more."""
        own = self.here[timers]
        return max(abs(own[i] - self.guest[i]) for i in (0, 1))


@dataclass(frozen=True)
class Transfer:
    """Durations of a transfer without a competitor, in s."""

    queue: str
    rtt_ms: int
    guest: float | None
    here: Mapping[str, float | None]

    def error(self, timers: str) -> float | None:
        """Return the relative difference between the simulator's duration and the guest's."""
        own = self.here[timers]
        return None if own is None or self.guest is None else own / self.guest - 1


@dataclass(frozen=True)
class Half:
    """The runs at one rate. In `meetings`, quinn competes with a TCP flow. In transfers, quinn has
    no competitor."""

    link: Link
    close_mbit: float
    """Largest difference of throughputs that counts as agreement of the engines, in Mbit/s."""
    guest: tuple[str, ...]
    """Names of the pages with the results of the kernel engine."""

    @property
    def pairs(self) -> list[Pair]:
        """Return every pair of a quinn flow and a TCP flow."""
        return [Pair(place, QUINN, cc) for place in places(self.link) for cc in CCS]

    @property
    def fetches(self) -> list[Fetch]:
        """Return every transfer of quinn."""
        return [Fetch(place, QUINN) for place in places(self.link)]


HALVES = (
    Half(LINKS[0], 0.5, ("quic-and-tcp",)),
    Half(LINKS[1], 1.0, ("quic-and-tcp", "quic-and-tcp-rtts")),
)


@dataclass(frozen=True)
class Ran:
    """The runs in the simulator with one kind of timers."""

    meetings: Sequence[Met]
    transfers: Sequence[Fetched]
    results: Sequence[Results]


def main() -> None:
    """Make the runs that are not stored, and write the page."""
    parser = argparse.ArgumentParser(description="quinn in the simulator against the guest")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path, default=Path("results/stacks"))
    parser.add_argument(
        "--keep-speed", action="store_true", help="keep the section on speed of the existing page"
    )
    parser.add_argument(
        "--only-both", action="store_true", help="print the section that runs on both engines"
    )
    parser.add_argument(
        "--only-bbr", action="store_true", help="print the section about quinn's BBR"
    )
    given = parser.parse_args()
    if given.only_both:
        print("\n".join(_both_engines(given.out)))
        return
    if given.only_bbr:
        print("\n".join(_bbr(given.out, given.jobs)))
        return
    found = [_compare(half, given.out, given.jobs) for half in HALVES]
    causes = list(_causes(found[1], given.out, given.jobs))
    halves = (line for one in found for line in _half(one))
    bbr = _bbr(given.out, given.jobs)
    speed = _kept_speed() if given.keep_speed else _speed()
    lines = [*_head(found), *_both_engines(given.out), *halves, *causes, *bbr, *speed]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(PAGE.relative_to(ROOT))


@dataclass(frozen=True)
class Compared:
    """All pairs and transfers at one rate, on both engines."""

    half: Half
    meetings: Sequence[Meeting]
    transfers: Sequence[Transfer]
    version: str
    """The version of the simulator."""
    cpu_s: float
    """CPU time of all runs of the simulator with the default timers."""
    simulated_s: float
    """Simulated time of all runs of the simulator with the default timers."""
    runs: int
    """Number of runs of the simulator with the default timers."""

    def close(self, timers: str) -> int:
        """Return the number of pairs for which the engines agree."""
        return sum(m.miss(timers) <= self.half.close_mbit for m in self.meetings)

    def errors(self, timers: str) -> list[float]:
        """Return the relative difference between the engines for the duration of each transfer."""
        return [e for one in self.transfers if (e := one.error(timers)) is not None]

    def near(self, timers: str) -> int:
        """Return the number of transfers for which the engines agree."""
        return sum(abs(error) <= CLOSE for error in self.errors(timers))


def _compare(half: Half, out: Path, jobs: int | None) -> Compared:
    """Compare both engines at one rate. Execute the runs that are not stored."""
    ran = {timers: _run(half, timers, out, jobs) for timers in TIMERS}
    guest_meetings, guest_transfers = _guest(half)
    meetings = [
        _meeting(pair, guest_meetings, {t: one.meetings[i] for t, one in ran.items()})
        for i, pair in enumerate(half.pairs)
    ]
    transfers = [
        Transfer(
            *(fetch.place.queue, fetch.place.rtt_ms),
            guest_transfers[fetch.place.queue, fetch.place.rtt_ms],
            {timers: one.transfers[i].completion_s.mean for timers, one in ran.items()},
        )
        for i, fetch in enumerate(half.fetches)
    ]
    runs = [run for results in ran[TIMERS[0]].results for run in results]
    return Compared(
        half,
        meetings,
        transfers,
        str(runs[0].manifest["engine_version"]),
        sum(run.timing["cpu_s"] for run in runs),
        sum(run.summary["duration_s"] for run in runs),
        len(runs),
    )


def _run(half: Half, timers: str, out: Path, jobs: int | None) -> Ran:
    every = [job(pair, seeds=SEEDS) for pair in half.pairs]
    every += [fetch_job(fetch, seeds=SEEDS) for fetch in half.fetches]
    here = [_in_simulator(one, timers) for one in every]
    results = run_many(here, out=out, jobs=jobs, plugins=[STACK])
    met_here = met(half.pairs, results[: len(half.pairs)])
    return Ran(met_here, fetched(half.fetches, results[len(half.pairs) :]), results)


def _meeting(
    pair: Pair,
    guest: Mapping[tuple[str, int, str], tuple[float, float, float]],
    here: Mapping[str, Met],
) -> Meeting:
    """Return quinn's results in the guest, and its results in the simulator with each of
    `TIMERS`."""
    queue, rtt_ms = pair.place.queue, pair.place.rtt_ms

    def means(one: Met) -> tuple[float, float, float]:
        return _mean(one.quic_mbit), _mean(one.tcp_mbit), _mean(one.delay_ms)

    def half(one: Met) -> float:
        return max(rate.half_width or 0.0 for rate in (one.quic_mbit, one.tcp_mbit))

    return Meeting(
        *(queue, rtt_ms, pair.cc),
        guest[queue, rtt_ms, pair.cc],
        {timers: means(one) for timers, one in here.items()},
        {timers: half(one) for timers, one in here.items()},
    )


def _in_simulator(one: Job, timers: str) -> Job:
    """Return the job for the simulator, without keys that apply only to programs in a guest."""
    assert isinstance(one.scenario, dict)
    entry = one.scenario["programs"][0]
    entry.pop("expect", None)
    entry["timers"] = timers
    return one


def _mean(value: Estimate) -> float:
    assert value.mean is not None
    return value.mean


def _guest(
    half: Half,
) -> tuple[
    dict[tuple[str, int, str], tuple[float, float, float]], dict[tuple[str, int], float | None]
]:
    """Return the numbers of the kernel engine, read from the published pages."""
    rate = f"{half.link.rate_mbit} Mbit/s"
    meetings: dict[tuple[str, int, str], tuple[float, float, float]] = {}
    transfers: dict[tuple[str, int], float | None] = {}
    for name in half.guest:
        file = EVIDENCE / f"{name}-all.results.json"
        for title, row in _rows(json.loads(file.read_text(encoding="utf-8"))):
            if title == (f"Beside a flow of Linux at {rate}", "Every pair of flows"):
                _, queue, rtt, *cells = row
                for i, cc in enumerate(CCS):
                    own, _, other = cells[i].partition(" / ")
                    delay = float(cells[len(CCS) + i])
                    meetings[queue, int(rtt), cc] = (float(own), float(other), delay)
            if title == ("Alone", f"A transfer alone at {rate}"):
                for i, rtt_ms in enumerate(half.link.rtts_ms):
                    text = row[2 + i].partition(" ")[0]
                    transfers[row[1], rtt_ms] = float(text) if text else None
    return meetings, transfers


def _rows(page: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str | None], list[str]]]:
    """Yield quinn's rows of the tables of a page, each with the titles of section and table."""
    for section in page["sections"]:
        for block in section["blocks"]:
            for row in block.get("rows", ()):
                if row[0] == QUINN.label:
                    yield (section["title"], block.get("title")), row


def _head(found: Sequence[Compared]) -> Iterator[str]:
    first = TIMERS[0]
    yield "# quinn in the simulator and in the guest\n"
    yield (
        "A quinn flow competes with a TCP flow, or transfers data alone. Both engines run the "
        "scenarios of [quic-and-tcp](quic-and-tcp.md). The table counts the scenarios in which the "
        "simulator's result is close to the result on Linux. On this page quinn's timers are "
        "exact, as they are by default in `stacks/quinn`.\n"
    )
    yield "| bottleneck | competing flows: throughput | transfers alone: time within 2% |"
    yield "|---|--:|--:|"
    for one in found:
        errors = one.errors(first)
        yield (
            f"| `{one.half.link.rate_mbit} Mbit/s` | {one.close(first)} of {len(one.meetings)} "
            f"within `{one.half.close_mbit:g} Mbit/s` | {one.near(first)} of {len(errors)} |"
        )
    yield (
        "\n`python scripts/stacks.py` writes this page. We did not tune the simulator to match "
        "these numbers.\n"
    )
    yield f"- **date**: {datetime.now(UTC).date():%-d %B %Y}"
    yield f"- **simulator**: {found[0].version}, {SEEDS} seeds per scenario"
    yield (
        "- **guest**: Linux, 5 seeds per scenario, rounded values from "
        "[quic-and-tcp](quic-and-tcp.md) and "
        "[quic-and-tcp-rtts](quic-and-tcp-rtts.md)"
    )
    yield "- **stack**: `stacks/quinn` with its defaults unless a column says otherwise\n"


SET_UP: Mapping[str, Any] = {
    "bottleneck": {"rate": "20Mbit", "queue": {"aqm": "fq_codel", "ecn": True}},
    "path": {"rtt": "20ms"},
}
ALONE: Mapping[str, Any] = {
    "duration": "22s",
    **SET_UP,
    "programs": [{"kind": "quinn", "bytes": "20000000b"}],
}
BESIDE_CUBIC: Mapping[str, Any] = {
    "duration": "30s",
    "warmup": "5s",
    **SET_UP,
    "flows": [{"cc": "cubic", "ecn": True}],
    "programs": [{"kind": "quinn"}],
}


def _both_engines(out: Path) -> Iterator[str]:
    """Run two scenarios on both engines, and yield the section about them."""
    runs = {
        (name, engine): tailback.run(
            dict(scenario),
            engine=engine,
            out=out,
            plugins=[STACK] if engine == "sim" else [],
            progress=False,
        )[0]
        for name, scenario in (("alone", ALONE), ("beside", BESIDE_CUBIC))
        for engine in ("sim", "kernel")
    }

    def row(title: str, name: str, cell: Callable[[tailback.Run], str]) -> str:
        return f"| {title} | {' | '.join(cell(runs[name, e]) for e in ('sim', 'kernel'))} |"

    def both(run: tailback.Run, key: str, form: str) -> str:
        [quinn], [cubic] = run.summary["programs"], run.summary["flows"]
        return f"{quinn[key]:{form}}, {cubic[key]:{form}}"

    def delay(run: tailback.Run) -> str:
        found = run.summary["queues"]["bottleneck"]["delay_ms"]
        return f"{found['mean']:.2f}, {found['p99']:.2f}"

    def cpu(run: tailback.Run) -> str:
        return f"{run.timing['cpu_s']:.2f}"

    yield "## Two scenarios on both engines\n"
    yield (
        "The bottleneck sends at `20 Mbit/s` and uses fq_codel with ECN, and the RTT is `20 ms`. "
        "Both engines use seed 1. `python scripts/stacks.py --only-both` prints this table.\n"
    )
    yield "| | simulator | kernel engine |"
    yield "|---|--:|--:|"
    yield row(
        "download of 20 MB without other flows: duration, s",
        "alone",
        lambda run: f"{run.summary['programs'][0]['completion_s']:.3f}",
    )
    yield row("number of marks", "alone", lambda run: str(run.summary["programs"][0]["marks"]))
    yield row("queue delay, mean and 99th percentile, ms", "alone", delay)
    yield row("CPU time, s", "alone", cpu)
    yield row(
        "beside CUBIC: throughput of quinn and CUBIC, Mbit/s",
        "beside",
        lambda run: both(run, "throughput_mbit", ".3f"),
    )
    yield row("marks of quinn and CUBIC", "beside", lambda run: both(run, "marks", "d"))
    yield row("queue delay, mean and 99th percentile, ms", "beside", delay)
    yield row("CPU time, s", "beside", cpu)
    yield (
        "\nThe CPU time of the kernel engine includes the boot of the guest, and depends on the "
        "load of the machine.\n"
    )
    yield (
        "If the download runs alone, the 99th percentiles of the queue delay differ between the "
        "engines. The difference is not a measurement error: on each engine, packet captures show "
        "the delays that the table reports. The queue is longest at the end of slow start. At that "
        "time, the simulator's queue is longer than the guest's. One cause of this difference is "
        "the handshake. In the guest, quinn's asynchronous layer sends the request in a separate "
        "datagram after the handshake, and the server reads several datagrams at once. In the "
        "simulator, the last datagram of the handshake also contains the request. Therefore the "
        "first windows contain different packets on the two engines, and the receivers delay the "
        "ACKs of different packets. We made a copy of `stacks/quinn` that sends the guest's "
        "sequence of packets in the first round trip. This copy removes half of the difference. We "
        "do not know the cause of the other half of the difference. Other seeds, `gso = false` and "
        '`timers = "tokio"` hardly change the difference.\n'
    )


BBR = Stack("quinn", "BBR", word="bbr")
BBR_QUEUES = ("fifo 1 BDP", "fifo 4 BDP", "fq_codel", "dualpi2")
BBR_CCS = ("cubic", "bbr")
BBR_SEEDS = 3
BBR_RTT_MS = 40


def _bbr(out: Path, jobs: int | None) -> Iterator[str]:
    """Run quinn's BBR beside TCP flows on both engines, and yield the section about it."""
    close, link = HALVES[0].close_mbit, LINKS[0]
    pairs = [
        Pair(QuicPlace(link, BBR_RTT_MS, queue), BBR, cc) for queue in BBR_QUEUES for cc in BBR_CCS
    ]
    every = [job(pair, seeds=BBR_SEEDS) for pair in pairs]
    guest = run_many(every, engine="kernel", out=out, jobs=jobs)
    every = [_in_simulator(job(pair, seeds=BBR_SEEDS), TIMERS[0]) for pair in pairs]
    here = run_many(every, out=out, jobs=jobs, plugins=[STACK])
    rows = list(zip(met(pairs, guest), met(pairs, here), strict=True))

    def miss(there: Met, one: Met) -> float:
        rates = [(there.quic_mbit, one.quic_mbit), (there.tcp_mbit, one.tcp_mbit)]
        return max(abs(_mean(a) - _mean(b)) for a, b in rates)

    def half(*found: Met) -> float:
        rates = [rate for one in found for rate in (one.quic_mbit, one.tcp_mbit)]
        return max(rate.half_width or 0.0 for rate in rates)

    near = sum(miss(*row) <= close for row in rows)
    beyond = [row for row in rows if miss(*row) > max(close, half(*row))]
    yield "## BBR on both engines\n"
    yield (
        f'With `control = "bbr"`, the throughputs of the simulator and the guest differ by at '
        f"most `{close:g} Mbit/s` in {near} of {len(rows)} scenarios. Each scenario has "
        f"{BBR_SEEDS} seeds on both engines. In {len(beyond)} of {len(rows)} scenarios, the "
        f"difference exceeds both `{close:g} Mbit/s` and the value in the column ±. "
        "`python scripts/stacks.py --only-bbr` prints this section.\n"
    )
    yield (
        "The column ± shows half the width of the widest of four 95 % intervals over the seeds: "
        f"one for each flow on each engine. The link rate is `{link.rate_mbit} Mbit/s`, and the "
        f"RTT is `{BBR_RTT_MS} ms`. The phase in which BBR begins to probe for bandwidth depends "
        "on the seed in the simulator, and on the kernel's random numbers in the guest.\n"
    )
    yield (
        "| queue | beside | guest: quinn / TCP, Mbit/s | simulator | ± | difference | "
        "queue, ms: guest | simulator |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for there, one in rows:
        yield (
            f"| {one.pair.place.queue} | {one.pair.cc} | {_mean(there.quic_mbit):.1f} / "
            f"{_mean(there.tcp_mbit):.1f} | {_mean(one.quic_mbit):.1f} / {_mean(one.tcp_mbit):.1f} "
            f"| {half(there, one):.1f} | {miss(there, one):.1f} | {_mean(there.delay_ms):.1f} "
            f"| {_mean(one.delay_ms):.1f} |"
        )
    yield ""


def _half(found: Compared) -> Iterator[str]:
    first, half, meetings = TIMERS[0], found.half, found.meetings
    at = f"at {half.link.rate_mbit} Mbit/s"
    errors = {t: found.errors(t) for t in TIMERS}
    delays = [abs(m.here[first][2] / m.guest[2] - 1) for m in meetings]
    worst = max(meetings, key=lambda m: m.miss(first))
    beyond = {t: sum(m.miss(t) > max(half.close_mbit, m.half[t]) for m in meetings) for t in TIMERS}
    close_by = (
        f"scenarios (of {len(meetings)}) whose throughput differs by at most "
        f"{half.close_mbit:g} Mbit/s"
    )
    rows = {
        f"competing flows: {close_by}": [str(found.close(t)) for t in TIMERS],
        "scenarios whose difference is larger than this limit and than the value in the column ± "
        "below": [str(beyond[t]) for t in TIMERS],
        "largest difference of the throughput, Mbit/s": [
            f"{max(m.miss(t) for m in meetings):.1f}" for t in TIMERS
        ],
        f"transfers alone: scenarios (of {len(errors[first])}) whose time differs by at most "
        f"{CLOSE:.0%}": [str(found.near(t)) for t in TIMERS],
        "largest error of a time": [f"{max(errors[t], key=abs):+.1%}" for t in TIMERS],
    }
    yield f"## Results {at}\n"
    yield "| | exact timers, the default | timers as with tokio |"
    yield "|---|--:|--:|"
    yield from (f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())
    yield (
        f"\nThe median difference of the queue delay is {statistics.median(delays):.1%}. The "
        f"throughputs on the two engines differ most beside a {worst.cc} flow, through "
        f"{worst.queue}, at an RTT of `{worst.rtt_ms} ms`.\n"
    )
    yield (
        f"The `{found.runs}` runs with exact timers simulate `{found.simulated_s:,.0f} s`, and "
        f"took `{found.cpu_s:.0f} s` of CPU time.\n"
    )
    yield f"### Misses {at}\n"
    missed = [m for m in meetings if m.miss(first) > half.close_mbit]
    yield (
        "The column ± shows half the width of the 95 % interval of the simulator's mean over the "
        "seeds. This interval does not include the variation between runs in the guest.\n"
    )
    if missed:
        yield from _table(sorted(missed, key=lambda m: -m.miss(first)))
    else:
        yield "No throughput differs by more.\n"
    yield f"### All competing flows {at}\n"
    yield from _table(meetings)
    yield f"### Transfers alone {at}\n"
    yield (
        f"The table shows the time in s until `{BYTES[half.link.rate_mbit] // 10**6} MB` have "
        "arrived.\n"
    )
    yield "| queue | RTT, ms | guest | simulator | error | timers as with tokio |"
    yield "|---|--:|--:|--:|--:|--:|"
    for one in found.transfers:
        error = one.error(first)
        texts = ["" if v is None else f"{v:.2f}" for v in (one.guest, *one.here.values())]
        yield (
            f"| {one.queue} | {one.rtt_ms} | {texts[0]} | {texts[1]} | "
            f"{'' if error is None else f'{error:+.1%}'} | {texts[2]} |"
        )
    yield ""


MORE_SEEDS = 2 * SEEDS
"""Number of seeds of the simulator that are compared with each other."""
CHANGES: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "as above": {},
    "timers as with tokio": {"entry": {"timers": "tokio"}},
    "without GSO": {"entry": {"gso": False}},
    '`host_jitter = "100us"`': {"top": {"host_jitter": "100us"}},
}
"""Changes of the simulated set-up, by title."""


def _causes(found: Compared, out: Path, jobs: int | None) -> Iterator[str]:
    """Yield the section about the differences at the higher rate. For comparison, the section shows
    how much the simulator's results differ between seeds.
    """
    half = found.half
    own = [_rates(pair, {}, out, jobs) for pair in half.pairs]
    guests = [meeting.guest for meeting in found.meetings]

    def far(a: Sequence[Rates], b: Sequence[float]) -> float:
        return max(abs(statistics.fmean(run[i] for run in a) - b[i]) for i in (0, 1))

    halves = [(runs[:SEEDS], runs[SEEDS:]) for runs in own]
    itself = [
        far(first, [statistics.fmean(run[i] for run in second) for i in (0, 1)])
        for first, second in halves
    ]
    to_guest = [
        [far(part, guest) for part, guest in zip(parts, guests, strict=True)]
        for parts in zip(*halves, strict=True)
    ]
    outside = [
        i
        for i, (runs, guest) in enumerate(zip(own, guests, strict=True))
        if any(not _predicts([run[j] for run in runs], guest[j]) for j in (0, 1))
    ]
    yield f"## Why results at {half.link.rate_mbit} Mbit/s differ\n"
    yield (
        "Most differences are due to chance. The measured part of a run takes "
        f"`{half.link.seconds - half.link.warmup_s} s`. In this time, a flow goes through only a "
        f"few cycles from one loss to the next. Therefore the result of a run depends on the "
        f"start times of the flows, which the seed varies. The table compares {SEEDS} seeds of "
        f"the simulator "
        f"with the guest and with {SEEDS} other seeds of the simulator.\n"
    )
    close_by = f"scenarios within {half.close_mbit:g} Mbit/s, of {len(own)}"
    yield f"| compared | {close_by} | largest difference, Mbit/s |"
    yield "|---|--:|--:|"
    for name, values in (
        (f"seeds 1 to {SEEDS} with the guest", to_guest[0]),
        (f"seeds {SEEDS + 1} to {MORE_SEEDS} with the guest", to_guest[1]),
        (f"seeds 1 to {SEEDS} with seeds {SEEDS + 1} to {MORE_SEEDS}", itself),
    ):
        close = sum(value <= half.close_mbit for value in values)
        yield f"| {name} | {close} | {max(values):.1f} |"
    yield (
        f"\nFrom {MORE_SEEDS} seeds of the simulator, we compute a prediction interval for the "
        "guest's mean. If the results of both engines have the same distribution, this interval "
        f"contains the mean of {SEEDS} seeds in the guest with a probability of `95 %`. The "
        f"guest's mean is outside this interval in {len(outside)} of {len(own)} scenarios; by "
        f"chance alone, it would be outside in about {len(own) / 20:.0f}. The next table shows the "
        "scenarios in which the guest's mean is outside this interval. The last four columns show "
        f"the simulator's means over {MORE_SEEDS} seeds: *as above* without a change, and each "
        "other column with one change of the set-up.\n"
    )
    yield "| queue | RTT, ms | beside | guest: quinn / TCP, Mbit/s | " + " | ".join(CHANGES) + " |"
    yield "|---|--:|---|--:|" + "--:|" * len(CHANGES)
    for i in outside:
        pair, guest = half.pairs[i], guests[i]
        cells = []
        for change in CHANGES.values():
            runs = _rates(pair, change, out, jobs) if change else own[i]
            cells.append(" / ".join(f"{statistics.fmean(r[j] for r in runs):.1f}" for j in (0, 1)))
        yield (
            f"| {pair.place.queue} | {pair.place.rtt_ms} | {pair.cc} | {guest[0]:.1f} / "
            f"{guest[1]:.1f} | {' | '.join(cells)} |"
        )
    yield (
        "\nNone of these changes explains the differences in all scenarios. We do not know the "
        "cause of the remaining differences. While a drop-tail queue is full, the order in which "
        "the packets of two flows arrive decides which packets it drops ([phase "
        "effects](../reference/measurements.md#phase-effects-at-a-fifo)). On the kernel engine, "
        "virtual time advances each time a program reads the clock. This advance may change the "
        "order of packets. tailback warns about programs that read the clock often.\n"
    )


Rates = tuple[float, float]
"""Throughput of quinn and of TCP in a run, in Mbit/s."""


def _rates(
    pair: Pair,
    change: Mapping[str, Mapping[str, object]],
    out: Path,
    jobs: int | None,
) -> list[Rates]:
    """Return the throughputs of both flows in the simulator for each seed, with the scenario
    changed as `change` describes."""
    one = _in_simulator(job(pair, seeds=MORE_SEEDS), TIMERS[0])
    assert isinstance(one.scenario, dict)
    one.scenario["programs"][0].update(change.get("entry", {}))
    one.scenario.update(change.get("top", {}))
    [results] = run_many([one], out=out, jobs=jobs, plugins=[STACK], progress=False)
    runs = sorted(results, key=lambda run: run.seed)
    return [
        (
            run.summary["programs"][0]["throughput_mbit"],
            run.summary["flows"][0]["throughput_mbit"],
        )
        for run in runs
    ]


def _predicts(values: Sequence[float], mean: float) -> bool:
    """Return whether `mean`, which is rounded to a tenth, is in the 95 % prediction interval for
    the mean of `SEEDS` further values."""
    spread = statistics.stdev(values) * math.sqrt(1 / len(values) + 1 / SEEDS)
    width = t_quantile(len(values) - 1) * spread + 0.05
    return abs(statistics.fmean(values) - mean) <= width


def _kept_speed() -> Iterator[str]:
    """Yield the section on speed, copied from the existing page."""
    page = PAGE.read_text(encoding="utf-8")
    yield page[page.index("## Speed\n") :].rstrip()


def _speed() -> Iterator[str]:
    """Measure the speed of the stacks, and yield the section about it."""
    command = [sys.executable, str(ROOT / "benches/stacks.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    yield "## Speed\n"
    yield (
        "`python benches/stacks.py` measures data packets per CPU second of a run. Each stack "
        "transfers `200 MB` alone through fq_codel at `100 Mbit/s`, with an RTT of `20 ms`. quinn "
        "runs with encryption and ECN, and smoltcp runs without them. The table shows the fastest "
        "of three runs. valgrind counted the instructions over `20 MB`.\n"
    )
    yield "| stack | data packets per CPU second | goal | instructions per data packet |"
    yield "|---|--:|--:|--:|"
    for line in done.stdout.splitlines()[1:]:
        yield f"| {' | '.join(line.split())} |"


def _table(meetings: Sequence[Meeting]) -> Iterator[str]:
    first = TIMERS[0]
    yield (
        "| queue | RTT, ms | beside | guest: quinn / TCP, Mbit/s | simulator | ± | difference | "
        "queue, ms: guest | simulator |"
    )
    yield "|---|--:|---|--:|--:|--:|--:|--:|--:|"
    for m in meetings:
        own = m.here[first]
        yield (
            f"| {m.queue} | {m.rtt_ms} | {m.cc} | {m.guest[0]:.1f} / {m.guest[1]:.1f} | "
            f"{own[0]:.1f} / {own[1]:.1f} | {m.half[first]:.1f} | {m.miss(first):.1f} | "
            f"{m.guest[2]:.1f} | {own[2]:.1f} |"
        )
    yield ""


if __name__ == "__main__":
    main()
