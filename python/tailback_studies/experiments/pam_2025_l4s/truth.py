"""Defines the goals, and computes the spread of the publication's trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tailback.metrics.statistics import median, nearest_rank
from tailback_studies.experiments.pam_2025_l4s import claims
from tailback_studies.experiments.pam_2025_l4s.layout import (
    RATE_MBIT,
    RATES,
    SRTTS,
    PamRow,
    published,
)
from tailback_studies.experiments.pam_2025_l4s.points import PamEntry
from tailback_studies.reproduction import goals
from tailback_studies.reproduction.goals import ErrorsBelow, ErrorsVerdict
from tailback_studies.reproduction.judges import Judge, Noise, judge

# Limits for the errors of rates divided by the link's rate: median and 90th percentile. For
# comparison, median and 90th percentile of the publication's standard deviations over trials are
# 0.56 and 2.7 % of the link's rate. The standard error of a mean of ten trials is a third of the
# standard deviation over the trials.
RATE_MEDIAN, RATE_P90 = 0.015, 0.06
# Limits for the relative errors of smoothed round-trip times. For comparison, median and 90th
# percentile of the publication's standard deviations over trials are 1.9 and 5.3 %. In addition,
# the base RTT of the publication's test bed is 0.1 to 0.5 ms above netem's delay. This difference
# is 1 to 5 % of 10 ms.
SRTT_MEDIAN, SRTT_P90 = 0.04, 0.15
# Published rates of two sides count as equal if they differ by fewer than this number of standard
# deviations.
DISTINCT = 2.0

GOALS: tuple[ErrorsBelow[PamEntry], ...] = (
    ErrorsBelow(
        "rate_mbit",
        "rates of both sides",
        "capacity",
        lambda e: e.is_rate,
        RATE_MEDIAN,
        RATE_P90,
    ),
    ErrorsBelow(
        "srtt_ms",
        "smoothed round-trip times",
        "relative",
        lambda e: not e.is_rate,
        SRTT_MEDIAN,
        SRTT_P90,
    ),
)


def verdicts(entries: Sequence[PamEntry]) -> list[ErrorsVerdict]:
    """Return for each goal whether it is met. Skip goals without any measured value."""
    return list(goals.errors_verdicts(GOALS, entries))


def judges(entries: Sequence[PamEntry]) -> list[Judge]:
    """Return a row of goals.csv for each goal. Claims come first."""
    out = []
    found = claims.verdicts(entries)
    if found:
        held = {verdict.claim.title: verdict.holds for verdict in found}
        limit = "a claim must hold in every row"
        out.append(_counted("claims of the publication", limit, held))
    for verdict in verdicts(entries):
        columns = RATES if verdict.goal is GOALS[0] else SRTTS
        out.append(judge(verdict, entries, noise(columns)))
    sides = winners(entries)
    if sides:
        held = {row.name: same for row, same in sides.items()}
        limit = "the same side as in the publication"
        out.append(_counted("side with the larger rate", limit, held))
    return out


def _counted(title: str, limit: str, held: Mapping[str, bool]) -> Judge:
    return Judge(
        judge=title,
        error="absolute",
        limit=limit,
        cells=len(held),
        median=None,
        p90=None,
        within=sum(held.values()),
        holds=all(held.values()),
        sizes={name: float(not holds) for name, holds in held.items()},
    )


def summary(entries: Sequence[PamEntry]) -> list[dict[str, Any]]:
    """Return the list `summary` of `reproduce --json`. The list contains the errors of each
    quantity, then the result of each goal."""
    counted = [
        goals.counted_row("claims", [verdict.holds for verdict in claims.verdicts(entries)]),
        goals.counted_row("larger_rate", list(winners(entries).values())),
    ]
    rows = goals.summary(entries, verdicts(entries))
    return rows + [row for row in counted if row["cells"]]


def winners(entries: Iterable[PamEntry]) -> dict[PamRow, bool]:
    """For each published row in which one side is clearly faster, return whether the same side is
    faster in the measurement.
    """
    measured: dict[PamRow, list[float]] = {}
    for entry in entries:
        if entry.is_rate and entry.cell.published is not None and entry.cell.measured is not None:
            measured.setdefault(entry.row, []).append(entry.cell.measured)
    known = published()
    out = {}
    for row, rates in measured.items():
        one, two = (known[row, column] for column in RATES)
        gap = one.mean - two.mean
        if len(rates) == len(RATES) and abs(gap) > DISTINCT * max(one.sd, two.sd):
            out[row] = (rates[0] - rates[1]) * gap > 0
    return out


def missed(entries: Iterable[PamEntry]) -> list[PamEntry]:
    """Return the values whose errors exceed the limit for the 90th percentile, largest first."""
    limits = {goal.kind: goal.p90 for goal in GOALS}

    def over(entry: PamEntry) -> float:
        kind = "capacity" if entry.is_rate else "relative"
        return (entry.size(kind) or 0.0) / limits[kind]

    return sorted((e for e in entries if over(e) > 1), key=lambda e: -over(e))


def noise(columns: Sequence[str], rows: Iterable[PamRow] | None = None) -> Noise | None:
    """Return the median and the 90th percentile of the published standard deviations over trials.

    Rates are relative to the link's rate, and round-trip times are relative to their mean.
    """
    wanted = None if rows is None else set(rows)
    sds = [
        cell.sd / (RATE_MBIT if column in RATES else cell.mean)
        for (row, column), cell in published().items()
        if column in columns and (wanted is None or row in wanted)
    ]
    middle, high = median(sds), nearest_rank(sds, 0.9)
    return None if middle is None or high is None else Noise(len(sds), middle, high)
