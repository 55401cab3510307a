"""Finds out why the results of both engines for a scenario differ by more than a limit. Five checks
look for the cause, one after the other. First: the engines differ if identical flows are compared
one by one, but agree (or differ by no more than noise) if the flows are sorted by throughput. In
this case, chance decides which flow is slow. Second: runs of one engine with different seeds differ
as much as the two engines. In this case, the difference is noise. Third: the engines agree on
average over neighbours, which are scenarios with RTTs 1 or 2 % longer or shorter. In this case, one
engine has a phase effect in this scenario. Fourth: with more seeds, the difference is within the
limit. In this case, the scenario has too few seeds to include rare events. For example, flows of
fq_codel share a queue in some seeds only. Fifth: with more seeds, the values of both engines form
the same few groups, with gaps wider than the limit. In this case, the seed decides to which group a
run belongs. For example, DCTCP's window stays at a value that depends on the seed if alpha is too
small to reduce the window by a segment. If no check finds a cause, the cause is unknown.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tailback.errors import RunsFailed
from tailback.running import engines, execution, scenarios
from tailback.running.options import RunOptions
from tailback.store.results import Results
from tailback_studies.validation import grid
from tailback_studies.validation.cells import Cell, Measure, cell
from tailback_studies.validation.verdicts import ORDER, THROUGHPUT, Miss

RTTS = (0.98, 0.99, 1.01, 1.02)
"""Round-trip times of neighbouring scenarios, divided by the round-trip time of the scenario."""

MORE_SEEDS = 25
"""Number of seeds of a scenario whose runs may settle in several states."""

MOST_STATES = 4

NOISE = "noise: results with different seeds differ as much as the engines do"
DRAWN = (
    "the seed decides which of several identical flows is slow; the engines agree if the flows "
    "are sorted by throughput"
)
PHASES = "phase effect: the engines agree on average over RTTs that are up to 2 % longer or shorter"
FEW = f"few seeds: with {MORE_SEEDS} seeds, the engines agree"
SETTLED = (
    "each run settles in one of a few states; with more seeds, both engines reach all of these "
    "states"
)
UNKNOWN = "not known"
NOT_RUN = "not known; the neighbours of the scenario have not been run"


@dataclass(frozen=True)
class Cause:
    """The cause of a difference that exceeds a limit."""

    text: str
    error: float | None = None
    """The error of the means over the scenario and its neighbours. `None` if the third check was
    not needed."""
    sim: tuple[float, float] | None = None
    """The smallest and the largest mean over seeds among the scenario and its neighbours, in the
    measure's unit."""
    kernel: tuple[float, float] | None = None


def explain(
    misses: Sequence[Miss],
    ran: grid.GridRuns,
    options: RunOptions,
    *,
    stored: bool = False,
) -> list[Cause]:
    """Return the cause of each difference that exceeds a limit.

    Run neighbours of the scenarios, and store these runs with the runs of the
    scenarios.
    """
    causes = [_alone(miss) for miss in misses]
    left = {m.cell.id: m.cell for m, c in zip(misses, causes, strict=True) if c is None}
    near = neighbours(list(left.values()), ran, options, stored=stored)
    judgements = [
        cause if cause is not None else judged(miss, near[miss.cell.id])
        for miss, cause in zip(misses, causes, strict=True)
    ]
    left = {m.cell.id: m.cell for m, c in zip(misses, judgements, strict=True) if c.text == UNKNOWN}
    again = neighbours(
        *(list(left.values()), ran, options), rtts=(1,), seeds=MORE_SEEDS, stored=stored
    )
    return [
        replace(cause, text=with_more_seeds(miss, again.get(miss.cell.id, ())) or cause.text)
        for miss, cause in zip(misses, judgements, strict=True)
    ]


def _alone(miss: Miss) -> Cause | None:
    """Apply the first two checks, which need no runs of other scenarios."""
    if miss.limit is THROUGHPUT and miss.cell.of(ORDER.quantity) and not ORDER.missed(miss.cell):
        return Cause(DRAWN)
    return Cause(NOISE) if miss.inside_noise else None


def judged(miss: Miss, near: Sequence[Cell]) -> Cause:
    """Apply the third check, which needs runs of the neighbours (scenarios with slightly different
    RTTs)."""
    wanted = miss.measure
    measures = [
        measure
        for one in (miss.cell, *near)
        for measure in one.of(wanted.quantity)
        if measure.flow == wanted.flow
    ]
    if not near or len(measures) <= len(near):
        return Cause(NOT_RUN)
    sim, kernel = ([_mean(values) for values in side] for side in _sides(measures))
    over = Measure(
        *(wanted.quantity, wanted.unit, tuple(sim), tuple(kernel)),
        scale=wanted.scale,
        flow=wanted.flow,
        shares=wanted.shares,
    )
    cause = PHASES if miss.limit.within(over) else UNKNOWN
    shown = math.exp if wanted.logarithmic else float
    ends = [(shown(min(side)), shown(max(side))) for side in (sim, kernel)]
    return Cause(cause, miss.limit.error(over), *ends)


def with_more_seeds(miss: Miss, again: Sequence[Cell]) -> str | None:
    """Apply the fourth and the fifth check to a scenario that was run with more seeds. Return the
    cause if one of these checks finds a cause."""
    wanted = miss.measure
    measures = [m for one in again for m in one.of(wanted.quantity) if m.flow == wanted.flow]
    if measures and all(miss.limit.within(measure) for measure in measures):
        return FEW
    return SETTLED if settles(miss, measures) else None


def settles(miss: Miss, measures: Sequence[Measure]) -> bool:
    """Apply the fifth check to the measures of a scenario that was run with more seeds."""
    for measure in measures:
        by_engine = (("sim", measure.sim), ("kernel", measure.kernel))
        runs = sorted((value, engine) for engine, side in by_engine for value in side)
        groups: list[set[str]] = []
        last = 0.0
        for value, engine in runs:
            known = value - last if measure.logarithmic else value / last - 1 if last > 0 else 1.0
            if not groups or known > miss.limit.relative:
                groups.append(set())
            groups[-1].add(engine)
            last = value
        return 2 <= len(groups) <= MOST_STATES and all(len(group) == 2 for group in groups)
    return False


def _sides(found: Sequence[Measure]) -> list[list[tuple[float, ...]]]:
    return [[measure.sim for measure in found], [measure.kernel for measure in found]]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def neighbours(
    cells: Sequence[Cell],
    ran: grid.GridRuns,
    options: RunOptions,
    *,
    rtts: Sequence[float] = RTTS,
    seeds: int | None = None,
    stored: bool = False,
) -> dict[str, list[Cell]]:
    """Measure the neighbours of some scenarios: the same scenarios with slightly different RTTs.
    `rtts` contains the neighbours' round-trip times, divided by the scenario's round-trip time. The
    neighbours have as many seeds as the scenarios unless `seeds` is given. If `stored` is true, use
    only stored runs."""
    if not cells:
        return {}
    runners = [engines.get(name) for name in grid.ENGINES]
    queues = {queue.name: queue for queue in grid.QUEUES}
    loaded = [
        scenarios.load(
            queues[centre.queue].file,
            scenarios.texts(around(queues[centre.queue], centre, rtts)),
            seeds or seeds_of(centre),
            runner,
        )
        for centre in cells
        for runner in runners
    ]
    if stored:
        results = execution.stored(loaded, ran.root)
    else:
        try:
            here = replace(options, out=ran.root)
            results = execution.run_loaded(loaded, runners * len(cells), here)
        except RunsFailed as failed:
            results = failed.results
    return {
        centre.id: _paired(
            queues[centre.queue],
            centre,
            results[2 * i],
            results[2 * i + 1],
            seeds=seeds or seeds_of(centre),
            cells=len(rtts),
        )
        for i, centre in enumerate(cells)
    }


def seeds_of(centre: Cell) -> int:
    """Return the number of seeds that a scenario has on each engine."""
    return max(len(ids) for ids in centre.runs.values())


def around(
    queue: grid.GridQueue, centre: Cell, factors: Sequence[float] = RTTS
) -> dict[str, object]:
    """Return the changes that turn a queue's scenario file into the neighbours of a scenario. These
    changes set the scenario's rate, values that depend on this rate, and other round-trip times.
    """
    rtts = [f"{factor * centre.rtt_s * 1e9:.0f}ns" for factor in factors]
    if queue.fixed:
        return {"sweep": {"path.rtt": rtts}}
    with queue.file.open("rb") as file:
        (zipped,) = tomllib.load(file)["sweep"]["zip"]
    rates = [float(rate.removesuffix("Mbit")) * 1e6 for rate in zipped["bottleneck.rate"]]
    at = rates.index(centre.rate_bit)
    own = {path: [values[at]] for path, values in zipped.items()}
    return {**grid.sets(queue, centre.mix), "sweep": {"path.rtt": rtts, "zip": [own]}}


def _paired(
    queue: grid.GridQueue, centre: Cell, sim: Results, kernel: Results, *, seeds: int, cells: int
) -> list[Cell]:
    """Return the neighbours whose runs are complete on both engines."""
    batch = grid.GridBatch(
        *(queue, centre.mix, {"sim": sim, "kernel": kernel}),
        seeds=seeds,
        cells=cells,
    )
    return [
        cell(
            *(centre.queue, centre.mix, centre.rate_bit, float(here[0].params["path.rtt"]) / 1e9),
            sim=[run.summary for run in here],
            kernel=[run.summary for run in there],
            kinds=grid.kinds(queue, centre.mix),
        )
        for here, there in batch.pairs()
    ]
