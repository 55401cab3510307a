"""Checks that the measured drop and mark shares follow DualPI2's coupling law, p_C = (p_L / 2)²."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tailback.report import Facts, Table, Value
from tailback.report.tables import left, mark, right
from tailback_studies.experiments.dualpi2_2022.layout import OVERLOAD, Run, published
from tailback_studies.experiments.dualpi2_2022.points import BEFORE, DualPi2Stored, left_out


@dataclass(frozen=True)
class Law:
    """The shares of dropped and marked packets in a DualPI2 run in which L is not overloaded,
    compared with the coupling law.
    """

    run: Run
    # Share of the packets in L that the coupling marked (p_l), and share of the packets in C that
    # were dropped (p_c), over all seeds.
    p_l: float
    p_c: float
    # The mean of p squared, from samples every second. None without samples.
    square: float | None
    # Relative half-width of the ratio's 95 % confidence interval. The half-width is computed from
    # the counts of marks and drops. If the ratio uses samples of p, these samples also enter the
    # half-width.
    noise: float
    published: float | None

    @property
    def ratio(self) -> float:
        """The ratio of p_C to (p_L / 2)². The ratio is 1 if the law holds and the probability p
        does not vary."""
        return self.p_c / (self.p_l / 2) ** 2

    @property
    def judged(self) -> float:
        """The ratio of p_C to the mean of p squared. This ratio is 1 if the law holds, even if p
        varies. In overload, or if p was not sampled, `judged` equals `ratio`."""
        if self.run.archive.kind == OVERLOAD or not self.square:
            return self.ratio
        return self.p_c / self.square

    @property
    def limit(self) -> float:
        """The law holds if `judged` deviates from 1 by at most this limit: 6 %, or the noise if the
        noise is larger."""
        return max(0.06, self.noise)

    @property
    def holds(self) -> bool:
        """Whether the difference between `judged` and 1 is at most `limit`."""
        return abs(self.judged - 1) <= self.limit


def laws(runs: Sequence[Run], results: Sequence[Iterable[DualPi2Stored]]) -> list[Law]:
    """Evaluate the law in each DualPI2 run that has flows in both classes and does not overload
    L."""
    out = []
    for run, stored in zip(runs, results, strict=True):
        if run.archive.aqm != "dualpi2" or not run.rtt_nonecn:
            continue
        law = _law(run, list(stored))
        if law is not None:
            out.append(law)
    return out


def _law(run: Run, stored: Sequence[DualPi2Stored]) -> Law | None:
    counts = {"L": [0, 0, 0], "C": [0, 0, 0]}
    for result in stored:
        for entry in result.summary["classes"]:
            own = counts[entry["name"].partition("-")[0]]
            own[0] += entry["packets"]
            own[1] += entry["causes"].get("mark", 0)
            own[2] += entry["drops"]
    (packets_l, marks, drops_l), (packets_c, _, drops) = counts["L"], counts["C"]
    if drops_l or not marks or not drops or not packets_l:
        return None
    p_l, p_c = marks / packets_l, drops / (packets_c + drops)
    if run.archive.kind == OVERLOAD:
        noise = 1.96 * math.sqrt((1 - p_c) / drops + 4 * (1 - p_l) / marks)
        return Law(run, p_l, p_c, None, noise, published_law(run))
    squares = [p * p for result in stored for p in _probabilities(run, result)]
    square = math.fsum(squares) / len(squares)
    variance = math.fsum((x - square) ** 2 for x in squares) / max(len(squares) - 1, 1)
    sampled = variance / len(squares) / square**2 if square else 0.0
    noise = 1.96 * math.sqrt((1 - p_c) / drops + sampled)
    return Law(run, p_l, p_c, square, noise, published_law(run))


def _probabilities(run: Run, stored: DualPi2Stored) -> list[float]:
    """Return samples of DualPI2's base probability p, one for each second after the warm-up."""
    import polars as pl

    start = (BEFORE + left_out(run)) * 1e9
    probabilities: list[float] = (
        stored.series()
        .filter(pl.col("quantity") == "dualpi2_probability", pl.col("time_ns") >= start)["value"]
        .to_list()
    )
    return probabilities


def published_law(run: Run) -> float | None:
    known = published()
    case = run.cases[0]
    key = (run.archive.name, case.name)
    p_l, p_c = known.get((*key, "marks_ecn_mean")), known.get((*key, "drops_nonecn_mean"))
    if not p_l or p_c is None:
        return None
    return (p_c / 100) / (p_l / 200) ** 2


def table(laws: Sequence[Law], facts: Facts) -> Table:
    columns = [
        *left("run"),
        *right("coupled marks in L, %", "drops in C, %", "p_C / (p_L/2)\u00b2", "published"),
        *right("p_C / mean of p\u00b2", "noise"),
        *left(""),
    ]
    rows: list[list[Value]] = []
    for law in laws:
        rows.append(
            [
                f"{law.run.archive.title}, {law.run.words}",
                f"{100 * law.p_l:.3g}",
                f"{100 * law.p_c:.3g}",
                f"{law.ratio:.3f}",
                None if law.published is None else f"{law.published:.3f}",
                f"{law.p_c / law.square:.3f}" if law.square else None,
                f"\u00b1{100 * law.noise:.1f} %",
                mark(law.holds),
            ]
        )
    caption = (
        "Shares of packets over all seeds, for rows in which L is not overloaded. In rows with UDP "
        "the shares include the UDP packets of the class. The coupling holds for the "
        "probabilities at each moment. With UDP and several flows the probability is steady, and "
        "p_C is compared with (p_L/2)\u00b2. With two flows the probability varies, and the mean "
        "of its square exceeds the square of its mean. In these rows p_C is compared with the mean "
        "of p\u00b2, sampled every second. The limit is 6 % or the noise of the counts and "
        "samples. The published number is p_C / (p_L/2)\u00b2 with all marks."
    )
    return Table("law", "The coupling: p_C = (p_L/2)\u00b2", columns, rows, caption, facts)
