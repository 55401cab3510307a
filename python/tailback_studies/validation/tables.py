"""Makes the tables of the page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from tailback.metrics.statistics import estimate
from tailback.report.model import Facts, Mark, Table, Value
from tailback.report.tables import left, right, words
from tailback.store.results import Run
from tailback_studies.reproduction.entries import KINDS
from tailback_studies.reproduction.judges import Judge
from tailback_studies.reproduction.shown import size, with_half
from tailback_studies.validation import Validation
from tailback_studies.validation.causes import RTTS
from tailback_studies.validation.cells import Cell, Measure
from tailback_studies.validation.grid import ENGINES, FAMILIES, QUEUES
from tailback_studies.validation.verdicts import LIMITS, OF_RATE, ORDER, THROUGHPUT, Limit, Miss

FAMILY = {queue.name: queue.family for queue in QUEUES}

BUCKETS = 1024
"""Default number of queues into which fq_codel and fq_pie hash flows."""

SLOW = 0.75
"""A flow is slow if its throughput is less than this share of the median throughput in the run."""


def goals(judges: Sequence[Judge]) -> Table:
    """Show the goals, and the measured agreement of the engines."""
    columns = [
        *left("what", "asked for"),
        *right("scenarios", "within", "share", "within or noise", "share"),
        *right("median error", "90th percentile"),
        *left("errors are"),
        *right("kernel against itself, median", "90th percentile"),
        *left("holds"),
    ]
    rows: list[list[Value]] = [
        [
            judge.judge,
            judge.limit,
            judge.cells,
            judge.within,
            _share(judge.within, judge.cells),
            judge.within_or_chance,
            _share(judge.within_or_chance, judge.cells),
            *(size(value, judge.error, ".3g") for value in (judge.median, judge.p90)),
            KINDS[judge.error],
            *(size(value, judge.error, ".3g") for value in (judge.noise_median, judge.noise_p90)),
            Mark("yes", "pass") if judge.holds else Mark("no", "miss"),
        ]
        for judge in judges
    ]
    return Table("goals-table", "Agreement that is asked for", columns, rows)


def _share(part: int | None, whole: int) -> str | None:
    return None if part is None else f"{100 * part / whole:.1f} %"


def families(validation: Validation) -> Table:
    """Show for each group of queues how many scenarios are within each limit, without an allowance
    for noise."""
    columns = [
        *left("group"),
        *right("scenarios", *(_head(limit) for limit in (*LIMITS, OF_RATE))),
    ]
    rows: list[list[Value]] = []
    for family in FAMILIES:
        own = [cell for cell in validation.cells if FAMILY[cell.queue] == family]
        if own:
            counts = [_within(limit, own) for limit in (*LIMITS, OF_RATE)]
            rows.append([family, len(own), *counts])
    rows.append(
        [
            "all",
            len(validation.cells),
            *(_within(limit, validation.cells) for limit in (*LIMITS, OF_RATE)),
        ]
    )
    return Table("families", "Scenarios within each limit, by kind of queue", columns, rows)


def _head(limit: Limit) -> str:
    return f"{limit.name}, {KINDS[limit.of]}" if limit.quantity == "throughput" else limit.name


def _within(limit: Limit, cells: Sequence[Cell]) -> str | None:
    chosen = [cell for cell in cells if cell.of(limit.quantity)]
    if not chosen:
        return None
    return f"{sum(not limit.misses(cell) for cell in chosen)} of {len(chosen)}"


def by_flow(validation: Validation) -> Table:
    """Show how many competing flows are within the limits, one by one and sorted by throughput."""
    columns = [
        *left("group"),
        *right("scenarios", "flows", "within, of the rate", "within, of a fair share", "share"),
        *right("parts in order", "within, of a fair share", "share"),
    ]
    rows: list[list[Value]] = []
    for family in (*FAMILIES, "all"):
        cells = [
            c for c in validation.cells if len(c.mix) > 1 and family in ("all", FAMILY[c.queue])
        ]
        flows = [m for cell in cells for m in cell.of(THROUGHPUT.quantity)]
        # A scenario without identical flows has nothing to sort, so count each flow by itself.
        parts = [m for c in cells for m in c.of(ORDER.quantity) or c.of(THROUGHPUT.quantity)]
        if flows:
            rate = sum(map(OF_RATE.within, flows))
            fair, ordered = (sum(map(THROUGHPUT.within, them)) for them in (flows, parts))
            rows.append(
                [
                    *(family, len(cells), len(flows), rate, fair, _share(fair, len(flows))),
                    *(len(parts), ordered, _share(ordered, len(parts))),
                ]
            )
    return Table("flows", "Flows that compete, within the limit of throughput", columns, rows)


def beyond(validation: Validation) -> Table:
    """List all differences that exceed a limit, even if they are within noise."""
    columns = [
        *left("scenario", "what", "flow"),
        *right("flows", "simulator", "kernel", "error", "limit", "noise"),
        *right("neighbours, simulator", "neighbours, kernel", "error over them"),
        *words("cause"),
    ]
    rows: list[list[Value]] = []
    for miss, cause in zip(validation.misses, validation.causes, strict=True):
        rows.append(
            [
                miss.cell.id,
                miss.limit.name,
                miss.measure.flow or None,
                _beyond(miss),
                *(number(miss.measure, engine) for engine in ENGINES),
                signed(miss.limit.error(miss.measure)),
                f"{100 * miss.limit.relative:g} %",
                _noise(miss.measure),
                *(_ends(side) for side in (cause.sim, cause.kernel)),
                None if cause.error is None else signed(cause.error),
                cause.text,
            ]
        )
    return Table("beyond", "Beyond a limit", columns, rows)


def side_by_side(validation: Validation) -> Table:
    """Show the measurements of both engines in each scenario, for the flow with the largest
    error."""
    asked = [limit for limit in LIMITS if any(c.of(limit.quantity) for c in validation.cells)]
    units = {m.quantity: m.unit for c in validation.cells for m in c.measures}
    columns = left("scenario", *(_column(limit.name, units.get(limit.quantity)) for limit in asked))
    rows: list[list[Value]] = []
    distinct = len({cell.queue for cell in validation.cells}) == len(validation.cells)
    for cell in validation.cells:
        found = (cell.worst(limit.quantity) for limit in asked)
        both = ([m.shown(engine).mean for engine in ENGINES] if m else None for m in found)
        entries = ("; ".join(_value(mean) for mean in means) if means else None for means in both)
        rows.append([cell.queue if distinct else cell.id, *entries])
    return Table("side-by-side", "Simulator; Linux", columns, rows)


def _column(name: str, unit: str | None) -> str:
    return f"{name}, {unit}" if unit else name


def _value(mean: float | None) -> str:
    return "\u2013" if mean is None else f"{mean:.4g}"


def _ends(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else f"{ends[0]:.4g} to {ends[1]:.4g}"


def _beyond(miss: Miss) -> str | None:
    of = len(miss.cell.of(miss.limit.quantity))
    return f"{miss.count} of {of}" if of > 1 else None


def _noise(measure: Measure) -> str | None:
    if measure.noise is None:
        return None
    return f"{100 * measure.noise:.{1 if measure.noise < 0.1 else 0}f} %"


def signed(error: float) -> str:
    """Return an error in percent."""
    return f"{100 * error:+.1f} %" if math.isfinite(error) else "\u221e"


def number(measure: Measure, engine: str) -> str:
    """Return the mean of an engine as text."""
    value = measure.shown(engine).mean
    unit = f" {measure.unit}" if measure.unit else ""
    return "\u2013" if value is None else f"{value:.4g}{unit}"


def shared(validation: Validation) -> Table | None:
    """If a hash assigns flows to queues, some flows share a queue and are slow. Show how many flows
    are slow in each such scenario.
    """
    columns = [
        *left("scenario"),
        *right("flows", "slow in the simulator", "in the kernel", "expected"),
    ]
    rows: list[list[Value]] = []
    for batch in validation.ran.batches:
        n = len(batch.mix)
        if not batch.queue.name.startswith("fq_") or n < 16:
            continue
        expected = n * (1 - (1 - 1 / BUCKETS) ** (n - 1))
        found = {cell.id: cell for cell in validation.cells if cell.queue == batch.queue.name}
        for cell in (c for c in found.values() if c.mix == batch.mix):
            counts = [
                estimate([_slow(run) for run in batch.results[engine] if run.run_id in ids])
                for engine, ids in cell.runs.items()
            ]
            both = [with_half(count, 1) for count in counts]
            rows.append([cell.id, n, *both, f"{expected:.1f}"])
    if not rows:
        return None
    caption = (
        f"Number of flows of a run that get less than {SLOW:g} of the throughput of the run's "
        "median flow: mean over seeds and half of its interval. *Expected* is the mean number of "
        f"flows that share a queue if each flow gets one of {BUCKETS} queues at random."
    )
    return Table("shared", "Flows that share a queue", columns, rows, caption)


def _slow(run: Run) -> float:
    got = sorted(flow["throughput_mbit"] for flow in run.summary["flows"])
    return float(sum(value < SLOW * got[len(got) // 2] for value in got))


def cost(validation: Validation) -> Table:
    """Show the number of runs and their cost."""
    columns = [
        *left("group"),
        *right("scenarios", "measured", "runs", "simulator: CPU", "kernel: CPU", "both: CPU"),
    ]
    rows: list[list[Value]] = []
    for family in (*FAMILIES, None):
        batches = [b for b in validation.ran.batches if family in (None, b.queue.family)]
        if batches:
            cells = [c for c in validation.cells if family in (None, FAMILY[c.queue])]
            runs = sum(len(results) for b in batches for results in b.results.values())
            each = [validation.cpu_s(engine, family) for engine in ENGINES]
            took = [f"{seconds:.0f} s" for seconds in (*each, sum(each))]
            of = sum(batch.cells for batch in batches)
            rows.append([family or "all", of, len(cells), runs, *took])
    caption = "Processor time includes runs that were stored before."
    return Table("cost", "What was run", columns, rows, caption)


def settings(facts: Facts) -> Table:
    """List the parameters of the comparison, such as limits and seeds."""
    rows: list[list[Value]] = [
        ["seeds of a scenario, on each engine", str(facts.seeds)],
        ["duration of a run", facts.duration],
        ["warm-up, which does not count", facts.warmup],
        ["level of the interval whose half is called noise", "95 %"],
        ["a flow is slow below this share of the run's median flow", f"{SLOW:g}"],
        ["number of queues into which flows are hashed", str(BUCKETS)],
        ["difference of the round-trip times of neighbours", _percents(RTTS)],
    ]
    return Table("method", "Numbers of the method", left("what", "value"), rows)


def _percents(factors: Sequence[float]) -> str:
    return ", ".join(f"{100 * (factor - 1):+.0f} %" for factor in factors)


CSV_COLUMNS = (
    *("family", "queue", "flows", "rate_bit", "rtt_s", "quantity", "flow", "unit"),
    *("sim", "sim_ci95", "kernel", "kernel_ci95", "n"),
    *("error", "error_of_rate", "noise", "own_noise", "verdict"),
)


def all_cells(cells: Sequence[Cell]) -> str:
    """Return cells.csv. The file has a row for each measure of each scenario."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    limits = {limit.quantity: limit for limit in LIMITS}
    for cell in cells:
        for m in cell.measures:
            limit = limits.get(m.quantity)
            verdict = ""
            if limit is not None:
                within = limit.within(m)
                verdict = "within" if within else "noise" if m.inside_noise else "beyond"
            sim, kernel = m.shown("sim"), m.shown("kernel")
            numbers = [sim.mean, sim.half_width, kernel.mean, kernel.half_width]
            errors = [m.error, m.error_of_rate, m.noise, m.own_noise]
            place = [FAMILY.get(cell.queue, ""), cell.queue, cell.flows]
            place += [f"{cell.rate_bit:g}", f"{cell.rtt_s:g}", m.quantity, m.flow, m.unit]
            found = [*map(_text, numbers), min(sim.n, kernel.n), *map(_text, errors)]
            writer.writerow([*place, *found, verdict])
    return out.getvalue()


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
