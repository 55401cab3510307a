"""Writes docs/evidence/quinn-in-the-simulator.md, which compares quinn in the simulator with quinn
in the guest.

    python scripts/stacks.py
    python scripts/stacks.py --jobs 2 --out results/stacks

Runs the meetings and transfers of `quic-and-tcp` at 20 Mbit/s in the simulator, with the stack of
`stacks/quinn`, if these runs are not stored. The numbers of the kernel engine are read from the
page docs/evidence/quic-and-tcp.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tailback.metrics.statistics import Estimate
from tailback.running.batch import Job, run_many
from tailback_studies.experiments.quic_and_tcp.layout import (
    CCS,
    LINKS,
    Fetch,
    Pair,
    Stack,
    places,
)
from tailback_studies.experiments.quic_and_tcp.points import (
    Fetched,
    Met,
    fetch_job,
    fetched,
    job,
    met,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/evidence/quinn-in-the-simulator.md"
GUEST = ROOT / "docs/evidence/quic-and-tcp-all.results.json"
STACK = ROOT / "stacks/quinn"
QUINN = Stack("quinn", "CUBIC")
LINK = LINKS[0]

SEEDS = 5
CLOSE_MBIT = 0.5
"""Largest difference of throughputs in a meeting that is considered agreement, Mbit/s."""
CLOSE = 0.02
"""Largest relative difference of the times of a transfer that is considered agreement."""
TIMERS = ("exact", "tokio")
"""Kinds of timers of the stack. The first is its default, which the page compares with the
second."""


@dataclass(frozen=True)
class Meeting:
    """The results of a meeting in the guest and in the simulator: throughputs in Mbit/s, delay in
    ms."""

    queue: str
    rtt_ms: int
    cc: str
    guest: tuple[float, float, float]
    """Throughput of quinn, throughput of TCP, and mean queue delay, in the guest."""
    here: Mapping[str, tuple[float, float, float]]
    """The same three values in the simulator, by kind of timers."""
    half: Mapping[str, float]
    """Half of the 95 % interval of a throughput in the simulator, by kind of timers. It is the
    larger one of the two throughputs."""

    def miss(self, timers: str) -> float:
        """Return the larger difference of the two throughputs."""
        own = self.here[timers]
        return max(abs(own[i] - self.guest[i]) for i in (0, 1))


@dataclass(frozen=True)
class Transfer:
    """The times of a transfer alone, in s."""

    queue: str
    rtt_ms: int
    guest: float | None
    here: Mapping[str, float | None]

    def error(self, timers: str) -> float | None:
        """Return the relative difference of the times."""
        own = self.here[timers]
        return None if own is None or self.guest is None else own / self.guest - 1


PAIRS = [Pair(place, QUINN, cc) for place in places(LINK) for cc in CCS]
FETCHES = [Fetch(place, QUINN) for place in places(LINK)]


@dataclass(frozen=True)
class Ran:
    """The runs of all meetings and transfers with one kind of timers."""

    meetings: Sequence[Met]
    transfers: Sequence[Fetched]
    version: str


def main() -> None:
    """Run meetings and transfers that are not stored, and write the page."""
    parser = argparse.ArgumentParser(description="quinn in the simulator against the guest")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path, default=Path("results/stacks"))
    given = parser.parse_args()
    ran = {timers: _run(timers, given.out, given.jobs) for timers in TIMERS}
    guest_meetings, guest_transfers = _guest()
    meetings = [
        _meeting(pair, guest_meetings, {t: one.meetings[i] for t, one in ran.items()})
        for i, pair in enumerate(PAIRS)
    ]
    transfers = [
        Transfer(
            *(fetch.place.queue, fetch.place.rtt_ms),
            guest_transfers[fetch.place.queue, fetch.place.rtt_ms],
            {timers: one.transfers[i].completion_s.mean for timers, one in ran.items()},
        )
        for i, fetch in enumerate(FETCHES)
    ]
    lines = [*_page(meetings, transfers, ran[TIMERS[0]].version), *_speed()]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(PAGE.relative_to(ROOT))


def _run(timers: str, out: Path, jobs: int | None) -> Ran:
    every = [job(pair, seeds=SEEDS) for pair in PAIRS]
    every += [fetch_job(fetch, seeds=SEEDS) for fetch in FETCHES]
    here = [_in_simulator(one, timers) for one in every]
    results = run_many(here, out=out, jobs=jobs, plugins=[STACK])
    version = str(next(iter(results[0])).manifest["engine_version"])
    met_here = met(PAIRS, results[: len(PAIRS)])
    return Ran(met_here, fetched(FETCHES, results[len(PAIRS) :]), version)


def _meeting(
    pair: Pair,
    guest: Mapping[tuple[str, int, str], tuple[float, float, float]],
    here: Mapping[str, Met],
) -> Meeting:
    """Return the results of a meeting in the guest, and in the simulator by kind of timers."""
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
    """Return a job for the simulator, without keys that only programs in a guest have."""
    assert isinstance(one.scenario, dict)
    entry = one.scenario["programs"][0]
    entry.pop("expect", None)
    entry["timers"] = timers
    return one


def _mean(value: Estimate) -> float:
    assert value.mean is not None
    return value.mean


def _guest() -> tuple[
    dict[tuple[str, int, str], tuple[float, float, float]], dict[tuple[str, int], float | None]
]:
    """Return the numbers of the kernel engine, read from the published page."""
    page = json.loads(GUEST.read_text(encoding="utf-8"))
    blocks = {
        (section["title"], block.get("title")): block
        for section in page["sections"]
        for block in section["blocks"]
    }
    meetings = {}
    table = blocks[f"Beside a flow of Linux at {LINK.rate_mbit} Mbit/s", "Every pair of flows"]
    for row in table["rows"]:
        stack, queue, rtt, *cells = row
        if stack == QUINN.label:
            for i, cc in enumerate(CCS):
                own, _, other = cells[i].partition(" / ")
                delay = float(cells[len(CCS) + i])
                meetings[queue, int(rtt), cc] = (float(own), float(other), delay)
    transfers = {}
    table = blocks["Alone", f"A transfer alone at {LINK.rate_mbit} Mbit/s"]
    for row in table["rows"]:
        if row[0] == QUINN.label:
            for i, rtt in enumerate(LINK.rtts_ms):
                text = row[2 + i].partition(" ")[0]
                transfers[row[1], rtt] = float(text) if text else None
    return meetings, transfers


def _page(
    meetings: Sequence[Meeting], transfers: Sequence[Transfer], version: str
) -> Iterator[str]:
    first = TIMERS[0]
    close = {t: sum(m.miss(t) <= CLOSE_MBIT for m in meetings) for t in TIMERS}
    errors = {t: [e for one in transfers if (e := one.error(t)) is not None] for t in TIMERS}
    near = {t: sum(abs(e) <= CLOSE for e in errors[t]) for t in TIMERS}
    delays = [abs(m.here[first][2] / m.guest[2] - 1) for m in meetings]
    worst = max(meetings, key=lambda m: m.miss(first))
    yield "# quinn in the simulator and in the guest\n"
    yield (
        f"One quinn flow competes with one TCP flow in {len(meetings)} scenarios. In "
        f"{close[first]} of them, quinn's throughput in the simulator is within `{CLOSE_MBIT} "
        f"Mbit/s` of its throughput on Linux. Transfers of quinn alone take the same time within "
        f"{CLOSE:.0%} in {near[first]} of {len(errors[first])} cases. The bottleneck has "
        f"`{LINK.rate_mbit} Mbit/s`; the scenarios are those of [quic-and-tcp](quic-and-tcp.md).\n"
    )
    yield (
        "`python scripts/stacks.py` makes this page. The simulator was not fitted to these "
        "numbers.\n"
    )
    yield f"- **date**: {datetime.now(UTC).date():%-d %B %Y}"
    yield f"- **simulator**: {version}, {SEEDS} seeds per point"
    yield "- **guest**: Linux, 5 seeds, rounded values from [quic-and-tcp](quic-and-tcp.md)"
    yield "- **stack**: `stacks/quinn` with its defaults unless a column says otherwise\n"
    yield "| | exact timers, the default | timers as with tokio |"
    yield "|---|--:|--:|"
    yield (
        f"| competing flows: throughput within {CLOSE_MBIT} Mbit/s, of {len(meetings)} scenarios | "
        + " | ".join(str(close[t]) for t in TIMERS)
        + " |"
    )
    beyond = {t: sum(m.miss(t) > max(CLOSE_MBIT, m.half[t]) for m in meetings) for t in TIMERS}
    yield (
        "| difference larger than that and than the column ± below | "
        + " | ".join(str(beyond[t]) for t in TIMERS)
        + " |"
    )
    yield (
        "| largest difference of the throughput, Mbit/s | "
        + " | ".join(f"{max(m.miss(t) for m in meetings):.1f}" for t in TIMERS)
        + " |"
    )
    yield (
        f"| transfers alone: time within {CLOSE:.0%}, of {len(errors[first])} | "
        + " | ".join(str(near[t]) for t in TIMERS)
        + " |"
    )
    yield (
        "| largest error of a time | "
        + " | ".join(f"{max(errors[t], key=abs):+.1%}" for t in TIMERS)
        + " |"
    )
    yield (
        f"\nThe median difference of the queue delay is {statistics.median(delays):.1%}. The "
        f"throughput differs most beside {worst.cc} in {worst.queue} at `{worst.rtt_ms} ms`.\n"
    )
    yield "## Misses\n"
    missed = [m for m in meetings if m.miss(first) > CLOSE_MBIT]
    yield (
        "The column ± is half of the simulator's own 95 % interval over its seeds. It does not "
        "include the guest's interval.\n"
    )
    if missed:
        yield from _table(sorted(missed, key=lambda m: -m.miss(first)))
    else:
        yield "No throughput differs by more.\n"
    yield "## All competing flows\n"
    yield from _table(meetings)
    yield "## Transfers alone\n"
    yield "Time in s until `20 MB` have arrived.\n"
    yield "| queue | RTT, ms | guest | simulator | error | timers as with tokio |"
    yield "|---|--:|--:|--:|--:|--:|"
    for one in transfers:
        error = one.error(first)
        texts = ["" if v is None else f"{v:.2f}" for v in (one.guest, *one.here.values())]
        yield (
            f"| {one.queue} | {one.rtt_ms} | {texts[0]} | {texts[1]} | "
            f"{'' if error is None else f'{error:+.1%}'} | {texts[2]} |"
        )


def _speed() -> Iterator[str]:
    """Measure the speed of the stacks, and yield the section about it."""
    command = [sys.executable, str(ROOT / "benches/stacks.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    yield "\n## Speed\n"
    yield (
        "`python benches/stacks.py` measures data packets per CPU second of a run. Each stack "
        "transfers `200 MB` alone over `100 Mbit/s`, `20 ms` and fq_codel: quinn with encryption "
        "and ECN, smoltcp without. The table has the fastest of three runs. valgrind counted the "
        "instructions over `20 MB`.\n"
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
