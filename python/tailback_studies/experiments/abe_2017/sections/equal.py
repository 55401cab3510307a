"""Section: comparison of rates at equal mark probability with the ABE paper's table."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.report import Block, Facts, Mark, Table, Value
from tailback.report.tables import left, right
from tailback_studies.experiments.abe_2017 import equal, layout, truth
from tailback_studies.experiments.abe_2017.sections.words import beta_text
from tailback_studies.reproduction.shown import with_half


def blocks(points: Sequence[equal.EqualPoint], facts: Facts) -> list[Block]:
    """Compare the measured ratios with the table of the ABE paper."""
    columns = [
        *left("", "marks"),
        *right("beta", "Mbit/s", "ratio", "by the table", "error", "by the law of random marks"),
    ]
    rows: list[list[Value]] = []
    for p in points:
        if p.error is None or p.ratio.mean is None or p.throughput.mean is None:
            continue
        standard = p.beta == layout.STANDARD[p.cc]
        good = abs(p.error) <= truth.RATIO
        rows.append(
            [
                layout.NAMES[p.cc],
                p.marks,
                beta_text(p.cc, p.beta),
                f"{p.throughput.mean:.3f}",
                with_half(p.ratio, 3),
                f"{p.table:.3f}",
                None if standard else Mark(f"{100 * p.error:+.1f} %", "pass" if good else "miss"),
                None if p.random is None else f"{p.random:.3f}",
            ]
        )
    caption = (
        "One flow on a link without a queue. A schedule marks every 1000th segment (CUBIC: "
        "10,000th), or each segment with probability 1/1000 (1/10,000). The law in the table "
        "assumes periodic marks. With random marks the mean rate with the standard backoff, whose "
        "window varies more, is a little higher, so the ratio is smaller (Dumas, Guillemin, Robert "
        "2002)."
    )
    return [
        Table("equal-probability", "Rate over that of the standard", columns, rows, caption, facts)
    ]
