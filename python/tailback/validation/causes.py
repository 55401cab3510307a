"""Why a cell is beyond its limit, as far as it can be measured.

Three things are looked at, and nothing is written by hand: whether the seeds of both engines differ
as much (noise), whether flows that nothing tells apart agree in order of throughput though not one
by one (chance decides which of them is slow), and what the simulator gives in the neighbourhood of
the cell. A neighbour has a round-trip time that is 1 or 2 % off, or hosts that delay each packet by
some microseconds: an experimenter would call it the same cell. Where neighbours reach from the
simulator's value to the kernel's, the cell is one of many patterns of phases and not a place at
which the engines' rules differ. What none of these explains is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailback import engines, running
from tailback.results import Results
from tailback.validation import grid
from tailback.validation.cells import Cell, Summary, cell
from tailback.validation.verdicts import ORDER, THROUGHPUT, Miss

RTTS = (0.98, 0.99, 1.01, 1.02)
"""Round-trip times of neighbours, of the cell's."""

JITTERS = ("10us", "50us", "100us", "200us")
"""Delays of hosts in neighbours: below a packet time at every rate of the grid."""

NOISE = "noise of the seeds is as large"
DRAWN = "which of the flows alike is slow is drawn anew by every seed; in order they agree"
PHASES = "phases: neighbours in the simulator reach the kernel's value"
UNKNOWN = "not known"


@dataclass(frozen=True)
class Cause:
    """What was found of a miss."""

    text: str
    neighbours: tuple[float, float] | None = None
    """Least and largest mean that the simulator gives in the neighbourhood, in the measure's
    unit; `None` where nobody had to look."""


def explain(
    misses: Sequence[Miss], ran: grid.Ran, *, jobs: int | None = None, progress: bool | None = None
) -> list[Cause]:
    """The cause of each miss. Neighbours are run, and stored with everything else."""
    found = [_without_runs(miss) for miss in misses]
    open_ = [miss for miss, cause in zip(misses, found, strict=True) if cause is None]
    near = _neighbours([miss.cell for miss in open_], ran, jobs=jobs, progress=progress)
    return [
        cause if cause is not None else judged(miss, near[miss.cell.id])
        for miss, cause in zip(misses, found, strict=True)
    ]


def _without_runs(miss: Miss) -> Cause | None:
    """What the cell itself says."""
    if miss.inside_noise:
        return Cause(NOISE)
    order = miss.cell.of(ORDER.quantity)
    if miss.limit is THROUGHPUT and order and not ORDER.missed(miss.cell):
        return Cause(DRAWN)
    return None


def judged(miss: Miss, near: Sequence[Cell]) -> Cause:
    """What the neighbours say."""
    wanted = miss.measure
    values = [
        mean
        for other in near
        for measure in other.of(wanted.quantity)
        if measure.flow == wanted.flow and (mean := measure.shown("sim").mean) is not None
    ]
    kernel = wanted.shown("kernel").mean
    if not values or kernel is None:
        return Cause(UNKNOWN)
    ends = (min(values), max(values))
    return Cause(PHASES if ends[0] <= kernel <= ends[1] else UNKNOWN, ends)


def _neighbours(
    cells: Sequence[Cell], ran: grid.Ran, *, jobs: int | None, progress: bool | None
) -> dict[str, list[Cell]]:
    """The cells around some cells, and themselves, as the simulator has them."""
    queues = {queue.name: queue for queue in grid.QUEUES}
    unique = {one.id: one for one in cells}
    found = {name: [one] for name, one in unique.items()}
    variants = [
        (one, sets) for one in unique.values() for sets in _variants(queues[one.queue], one)
    ]
    sim = engines.get("sim")
    loaded = [
        running.load(queues[one.queue].file, running.texts(sets), _seeds(one), sim)
        for one, sets in variants
    ]
    if not loaded:
        return found
    results = running.run_loaded(
        loaded, [sim] * len(loaded), jobs=jobs, out=ran.root, progress=progress
    )
    for (one, _), result in zip(variants, results, strict=True):
        summaries = _at(result, one.rate_bit)
        found[one.id].append(
            cell(
                *(one.queue, one.mix, one.rate_bit, one.rtt_s, summaries, summaries),
                kinds=grid.kinds(queues[one.queue], one.mix),
            )
        )
    return found


def _variants(queue: grid.Queue, one: Cell) -> list[Mapping[str, object]]:
    """What is replaced in the scenario of a cell's queue to get its neighbours."""
    base = grid.sets(queue, one.mix)
    same = [f"{one.rtt_s * 1e9:.0f}ns"]
    changed = [[f"{factor * one.rtt_s * 1e9:.0f}ns"] for factor in RTTS]
    return [
        *({**base, 'sweep."path.rtt"': rtts} for rtts in changed),
        *({**base, 'sweep."path.rtt"': same, "host_jitter": jitter} for jitter in JITTERS),
    ]


def _at(result: Results, rate_bit: float) -> list[Summary]:
    """The runs at a rate: a scenario has all rates of its queue."""
    return [run.summary for run in result if float(run.params["bottleneck.rate"]) == rate_bit]


def _seeds(one: Cell) -> int:
    return max(1, *(len(ids) for ids in one.runs.values()))
