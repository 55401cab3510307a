"""Defines the expectations from the ABE paper and the poster, and decides whether measurements meet
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailback.metrics.statistics import median, nearest_rank
from tailback.report.model import errors
from tailback_studies.experiments.abe_2017 import equal, groups, layout, short, single
from tailback_studies.experiments.abe_2017.measured import AbeMeasures
from tailback_studies.reproduction.judges import Judge

# Tolerances for utilisation (a share), for ratios (a relative error), and for delays (in ms).
UTILISATION = 0.02
RATIO = 0.08
DELAY_MS = 2.0


@dataclass(frozen=True)
class AbeVerdict:
    """An expectation of the paper or the poster, and whether the measurements meet this
    expectation."""

    id: str
    title: str
    expected: str
    # What was measured, as text.
    measured: str
    cells: int
    # Number of values that meet the expectation.
    held: int
    # Whether all values meet the expectation.
    holds: bool
    # The values that do not meet the expectation, as text.
    misses: Sequence[str] = field(default_factory=tuple)
    # The error of each value by the value's name. `error` is the kind of these errors, one of
    # `entries.KINDS`.
    sizes: Mapping[str, float] = field(default_factory=dict)
    error: str = "absolute"

    def json(self) -> dict[str, Any]:
        """Return the expectation as a row of the summary."""
        return {
            **errors(f"expected.{self.id}", []),
            "cells": self.cells,
            "title": self.title,
            "expected": self.expected,
            "measured": self.measured,
            "held": self.held,
            "holds": self.holds,
        }

    def judge(self) -> Judge:
        """Return the expectation as a row of goals.csv."""
        return Judge(
            judge=self.title,
            error=self.error,
            limit=self.expected,
            cells=self.cells,
            median=median(list(self.sizes.values())),
            p90=nearest_rank(list(self.sizes.values()), 0.9),
            within=self.held,
            holds=self.holds,
            sizes=self.sizes,
        )


def verdicts(measurements: AbeMeasures) -> list[AbeVerdict]:
    """Return the expectations that can be checked with the existing runs."""
    every = (
        *_utilisation(measurements.single),
        _equal(measurements.equal),
        *_poster(measurements.groups),
        _cubic_gains_less(measurements.single),
        *_delays(measurements.single),
        _steps(measurements.steps),
    )
    return [verdict for verdict in every if verdict is not None]


def predicted(points: Sequence[single.SinglePoint]) -> list[single.SinglePoint]:
    """Return the points for which the formula gives a prediction.

    If the window is never reduced, the formula gives no prediction.
    """
    return [p for p in points if p.predicted is not None and p.utilisation.mean is not None]


def gap(point: single.SinglePoint) -> float:
    """Return the measured utilisation minus the predicted utilisation."""
    assert point.utilisation.mean is not None
    assert point.predicted is not None
    # A shaper may send one packet more than its rate allows, which gives a utilisation above 1.
    return min(1.0, point.utilisation.mean) - point.predicted


def where(point: single.SinglePoint) -> str:
    """Return a text that identifies a point."""
    setup = point.setup
    return f"{setup.title}, {setup.rate_mbit:g} Mbit/s, {point.rtt_ms:g} ms, beta {point.beta:g}"


def name_of(point: single.SinglePoint) -> str:
    """Return a name that no other point has."""
    return f"{point.setup.id}/{point.rtt_ms:g}/{point.beta:g}"


def cycle_gap(point: single.SinglePoint) -> float:
    """Return the measured utilisation minus the prediction of the formula applied to each cycle."""
    assert point.utilisation.mean is not None
    assert point.by_cycles is not None
    return min(1.0, point.utilisation.mean) - point.by_cycles


def _utilisation(points: Sequence[single.SinglePoint]) -> list[AbeVerdict]:
    every = predicted(points)
    known = [p for p in points if p.by_cycles is not None and p.utilisation.mean is not None]
    return [
        *_gaps(
            "utilisation",
            "Utilisation of one NewReno flow, compared with the AIMD formula",
            [(p, gap(p)) for p in every if p.setup.cc == "reno"],
        ),
        *_gaps(
            "utilisation.cubic",
            "Utilisation of one CUBIC flow, compared with the mean of CUBIC's window curve",
            [(p, gap(p)) for p in every if p.setup.cc == "cubic"],
        ),
        *_gaps(
            "utilisation.cycles",
            "Utilisation of one flow, compared with the formula applied to each sawtooth cycle "
            "(criterion added later)",
            [(p, cycle_gap(p)) for p in known],
        ),
    ]


def _gaps(
    name: str, title: str, cells: Sequence[tuple[single.SinglePoint, float]]
) -> Iterator[AbeVerdict]:
    if not cells:
        return
    sizes = [abs(g) for _, g in cells]
    off = [(p, g) for p, g in cells if abs(g) > UTILISATION]
    yield AbeVerdict(
        name,
        title,
        f"within {100 * UTILISATION:g} percentage points",
        f"median {100 * (median(sizes) or 0):.2f}, at most {100 * max(sizes):.2f} points",
        len(cells),
        len(cells) - len(off),
        not off,
        [f"{where(p)}: {100 * g:+.1f} points" for p, g in off],
        {name_of(p): abs(g) for p, g in cells},
    )


def _equal(points: Sequence[equal.EqualPoint]) -> AbeVerdict | None:
    abe = [
        p
        for p in points
        if p.error is not None and p.beta != layout.STANDARD[p.cc] and p.marks == "periodic"
    ]
    if not abe:
        return None
    errors = [abs(p.error or 0.0) for p in abe]
    off = [p for p in abe if abs(p.error or 0.0) > RATIO]
    return AbeVerdict(
        "equal-probability",
        "Ratio of rates at equal mark probability, compared with the ABE paper's table",
        f"within {100 * RATIO:g} %",
        f"median {100 * (median(errors) or 0):.1f} %, at most {100 * max(errors):.1f} %",
        len(abe),
        len(abe) - len(off),
        not off,
        [f"{layout.NAMES[p.cc]}, beta {p.beta:g}: {100 * (p.error or 0):+.1f} %" for p in off],
        {f"{p.cc}/{p.beta:g}": abs(p.error or 0.0) for p in abe},
        "relative",
    )


def over_rtts(
    points: Sequence[groups.GroupPoint],
) -> dict[tuple[str, str], dict[float, groups.GroupPoint]]:
    """Return the points averaged over round-trip times, by pair of competitors and by factor."""
    out: dict[tuple[str, str], dict[float, groups.GroupPoint]] = {}
    for p in points:
        if p.rtt_ms is None:
            out.setdefault((p.abe, p.standard), {})[p.beta] = p
    return out


def in_poster_range(
    by_beta: dict[float, groups.GroupPoint],
) -> list[tuple[groups.GroupPoint, float]]:
    """Return the points whose backoff factor is in the poster's range. For each point, also return
    the distance between its throughput ratio and the poster's range of ratios.
    """
    low, high = groups.POSTER_RATIO
    out = []
    for beta, p in sorted(by_beta.items()):
        if groups.POSTER_BETAS[0] <= beta <= groups.POSTER_BETAS[1] and p.ratio.mean is not None:
            out.append((p, max(0.0, low - p.ratio.mean, p.ratio.mean - high)))
    return out


def _poster(points: Sequence[groups.GroupPoint]) -> list[AbeVerdict]:
    """Check the ratios against the poster.

    The poster's group with ABE uses CUBIC. The poster does not say which congestion control it
    means by "standard TCP".
    """
    out = []
    for (abe, standard), by_beta in over_rtts(points).items():
        cells = in_poster_range(by_beta)
        if abe != groups.POSTER_ABE or not cells:
            continue
        held = sum(not outside for _, outside in cells)
        means = ", ".join(f"{p.ratio.mean:.2f} ({p.beta:g})" for p, _ in cells)
        out.append(
            AbeVerdict(
                f"poster.{abe}-against-{standard}",
                f"Throughput of ten {layout.NAMES[abe]} flows with ABE divided by the throughput "
                f"of ten {layout.NAMES[standard]} flows, averaged over round-trip times",
                "a ratio of 1.25 to 2 for each beta from 0.7 to 0.85",
                means,
                len(cells),
                held,
                held == len(cells),
                [
                    f"beta {p.beta:g}: {p.ratio.mean:.2f}, {outside:.2f} outside"
                    for p, outside in cells
                    if outside
                ],
                {f"{p.beta:g}": outside for p, outside in cells},
            )
        )
    return out


def gains(
    points: Sequence[single.SinglePoint],
) -> list[tuple[float, str, single.SinglePoint, single.SinglePoint]]:
    """Return pairs of CUBIC and NewReno with the recommended factors, at the same round-trip time
    and queue."""
    known = {
        (p.setup.cc, p.setup.queue, p.rtt_ms): p
        for p in points
        if p.setup.rate_mbit == 10
        and p.setup.fast_convergence
        and p.beta == layout.RECOMMENDED[p.setup.cc]
    }
    return [
        (rtt, queue, p, known["reno", queue, rtt])
        for (cc, queue, rtt), p in known.items()
        if cc == "cubic" and ("reno", queue, rtt) in known
    ]


def _cubic_gains_less(points: Sequence[single.SinglePoint]) -> AbeVerdict | None:
    pairs = [
        (rtt, queue, cubic.gain.mean, reno.gain.mean)
        for rtt, queue, cubic, reno in gains(points)
        if cubic.gain.mean is not None and reno.gain.mean is not None
    ]
    if not pairs:
        return None
    off = [pair for pair in pairs if pair[2] >= pair[3]]
    cubic = median([pair[2] for pair in pairs]) or 0
    reno = median([pair[3] for pair in pairs]) or 0
    return AbeVerdict(
        "cubic-gains-less",
        "ABE gains less throughput with CUBIC (beta 0.85) than with NewReno (beta 0.8)",
        "must hold at every round-trip time and in every queue",
        f"medians {100 * (cubic - 1):+.1f} % and {100 * (reno - 1):+.1f} %",
        len(pairs),
        len(pairs) - len(off),
        not off,
        [
            f"{layout.QUEUES[queue].title}, {rtt:g} ms: {100 * (c - 1):+.1f} % and "
            f"{100 * (r - 1):+.1f} %"
            for rtt, queue, c, r in off
        ],
        {f"{queue}/{rtt:g}": max(0.0, c - r) for rtt, queue, c, r in pairs},
    )


def delay_gaps(points: Sequence[single.SinglePoint]) -> list[tuple[single.SinglePoint, float]]:
    """Return the points with ABE, and by how much their median queue delay in ms exceeds the median
    delay without ABE."""
    standard = {(p.setup, p.rtt_ms): p.delay["p50"] for p in points if p.standard}
    out = []
    for p in points:
        base, own = standard.get((p.setup, p.rtt_ms)), p.delay["p50"]
        if not p.standard and base is not None and own is not None:
            out.append((p, own - base))
    return out


def _delays(points: Sequence[single.SinglePoint]) -> Iterator[AbeVerdict]:
    # Skip factors that are larger than the recommended factor. Only the tables show these factors.
    known = [(p, d) for p, d in delay_gaps(points) if p.beta <= layout.RECOMMENDED[p.setup.cc]]
    for queue in dict.fromkeys(p.setup.queue for p, _ in known):
        cells = [(p, d) for p, d in known if p.setup.queue == queue]
        off = [(p, d) for p, d in cells if abs(d) > DELAY_MS]
        sizes = [abs(d) for _, d in cells]
        yield AbeVerdict(
            f"queue-delay.{queue}",
            f"Median queue delay in {layout.QUEUES[queue].title}: difference between flows with "
            f"ABE (beta at most the recommended value) and flows without ABE",
            f"within {DELAY_MS:g} ms",
            f"median {median(sizes) or 0:.2f}, at most {max(sizes):.2f} ms",
            len(cells),
            len(cells) - len(off),
            not off,
            [f"{where(p)}: {d:+.1f} ms" for p, d in off],
            {name_of(p): abs(d) for p, d in cells},
        )


def p99_changes(
    points: Sequence[single.SinglePoint],
) -> dict[single.AbeSetup, dict[float, tuple[float, float]]]:
    """Return the 99th percentile of the queue delay in ms without ABE and with the recommended
    factor, by set-up and round-trip time."""
    standard = {(p.setup, p.rtt_ms): p.delay["p99"] for p in points if p.standard}
    out: dict[single.AbeSetup, dict[float, tuple[float, float]]] = {}
    for p in points:
        base, own = standard.get((p.setup, p.rtt_ms)), p.delay["p99"]
        if p.beta == layout.RECOMMENDED[p.setup.cc] and base and own is not None:
            out.setdefault(p.setup, {})[p.rtt_ms] = (base, own)
    return out


def _steps(steps: Sequence[short.Steps]) -> AbeVerdict | None:
    cells = [s for s in steps if s.bounded]
    if not cells:
        return None
    runs, within = sum(s.bounded for s in cells), sum(s.within for s in cells)
    return AbeVerdict(
        "reduction-steps",
        "Number of window reductions after slow start, if the window is at most twice the path's "
        "capacity",
        "at most log_beta(0.5), rounded up",
        f"{within} of {runs} runs",
        runs,
        within,
        within == runs,
        [
            f"{layout.NAMES[s.cc]} on {layout.QUEUES[s.queue].title}, {s.rtt_ms:g} ms, beta "
            f"{s.beta:g}: {s.bounded - s.within} of {s.bounded} runs"
            for s in cells
            if s.within < s.bounded
        ],
        {
            f"{s.cc}/{s.queue}/{s.rtt_ms:g}/{s.beta:g}": (s.bounded - s.within) / s.bounded
            for s in cells
        },
    )
