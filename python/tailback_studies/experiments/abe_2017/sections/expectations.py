"""Section: expectations of the ABE paper and the poster, measurements, and reasons why some
expectations do not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.report import Block, Section, Table, Text, Value
from tailback.report.tables import left, mark, right
from tailback_studies.experiments.abe_2017 import single
from tailback_studies.experiments.abe_2017.truth import AbeVerdict, p99_changes


def table(verdicts: Sequence[AbeVerdict]) -> Table:
    """Show every expectation and its result."""
    columns = [*left("", "expected", "measured"), *right("values", "of these hold"), *left("")]
    rows: list[list[Value]] = [
        [v.title, v.expected, v.measured, v.cells, v.held, mark(v.holds, no="does not")]
        for v in verdicts
    ]
    return Table("expectations", "Expectations", columns, rows)


# Why expectations do not hold. Each key is a prefix of the ids of the expectations that the text
# explains.
WHY = {
    "utilisation.cubic": (
        "**CUBIC's formula** follows the curve to its top. But windows are whole segments, and the "
        "last segment below the top takes `cbrt(1/C)` seconds. The mark comes before this time is "
        "over. With small factors the curves are short on the paths of these experiments, and the "
        "error exceeds the limit."
    ),
    "utilisation": (
        "**All values count.** The table “Where its assumptions hold” shows which values fulfil "
        "the assumptions of the formula. The limits of that table were set after the measurements "
        "were known. They explain errors beyond the limit, but such errors still count."
    ),
    "poster": (
        "**Ten against ten.** The poster has CUBIC flows with ABE against standard TCP and gives "
        "a range for the average ratio. Standard TCP may mean CUBIC or NewReno; neither gives "
        "this range (tables of experiment 6). On the shortest path ssthresh is at its floor of "
        "two segments, and no factor makes a difference. The longer the path, the closer the "
        "ratios are to those at equal mark probability, which for CUBIC are below the range at "
        "every factor except the gentlest. NewReno flows with ABE would give the range, but the "
        "poster does not mention them."
    ),
    "cubic-gains-less": (
        "**CUBIC on the longest path** mostly reduces its window twice, a round-trip time apart. A "
        "full queue marks packets until the response to its first mark arrives, and the later "
        "marks cause a second reduction. After two reductions the gentler factor leaves more of "
        "the window, and the gain is relative to two standard reductions."
    ),
    "queue-delay": (
        "**Queue delay.** With the standard backoff one flow leaves the queue empty for a part of "
        "each cycle, and that part decides the median. A gentler factor leaves the queue empty "
        "for less time. The median then moves towards the target. It moves by more than the limit "
        "if the target is long, or if CoDel holds four packets of a slow link. The 99th "
        "percentiles move as well, mostly upwards (table below)."
    ),
}


def p99(changes: Mapping[single.AbeSetup, Mapping[float, tuple[float, float]]]) -> Table:
    """Show how ABE changes the 99th percentile of the queue delay."""
    rtts = sorted({rtt for by_rtt in changes.values() for rtt in by_rtt})
    rows: list[list[Value]] = []
    cells = moved = 0
    for setup, by_rtt in changes.items():
        far = sum(abs(b / a - 1) > FAR for a, b in by_rtt.values())
        texts = [
            f"{by_rtt[rtt][0]:.1f} \u2192 {by_rtt[rtt][1]:.1f}" if rtt in by_rtt else None
            for rtt in rtts
        ]
        rows.append([f"{setup.title}, {setup.rate_mbit:g} Mbit/s", *texts, len(by_rtt), far])
        cells, moved = cells + len(by_rtt), moved + far
    rows.append(["all", *(None for _ in rtts), cells, moved])
    columns = [
        *left(""),
        *right(*(f"{rtt:g} ms" for rtt in rtts), "values", f"more than {100 * FAR:g} % off"),
    ]
    caption = (
        "99th percentile of the queue delay, ms, with the standard backoff and with the factor "
        "that RFC 8511 recommends, by round-trip time. The last column counts the round-trip times "
        "at which the percentile changes by more than the percentage in its heading."
    )
    return Table("p99", "99th percentile of the queue delay", columns, rows, caption)


# If the 99th percentile changes by less than this number of ms, it counts as unchanged.
FAR = 0.1


def section(verdicts: Sequence[AbeVerdict], points: Sequence[single.SinglePoint]) -> Section:
    """Show the expectations, and why some do not hold."""
    off = [verdict.id for verdict in verdicts if not verdict.holds]
    why: list[Block] = [
        Text(text) for start, text in WHY.items() if any(name.startswith(start) for name in off)
    ]
    blocks = [table(verdicts), *why] if verdicts else []
    changes = p99_changes(points)
    if changes:
        blocks.append(p99(changes))
    return Section("result", "What was expected", blocks)
