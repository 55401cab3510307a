"""Section: comparison of Table I with the measured values, and check of the paper's claims about
Table I."""

from __future__ import annotations

from tailback.report import Column, Section, Table, Value
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014 import table1
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder
from tailback_studies.experiments.dctcp_internet_2014.words import m_name, verdict, with_ci


def side_by_side(builder: Builder) -> Section | None:
    two = builder.measured.frames.get("two-reno")
    if two is None:
        return None
    rows: list[list[Value]] = []
    reno_rows: list[list[Value]] = []
    for (tag, m), row in zip(pts.ROWS, builder.published, strict=True):
        share = builder.share(tag, m)
        k, u, q = table1.step_cells(row, share)
        between = None
        if share:
            low, _ = pts.staircase(share.between[0] * row.m * pts.BDP, row.m)
            _, high = pts.staircase(share.between[1] * row.m * pts.BDP, row.m)
            between = f"{low:.2f}\u2013{high:.2f}"
        name = m_name(row.m)
        rows.append(
            [
                name,
                *(k.published, with_ci(k, ".2f"), between, verdict(k, ".2f")),
                *(u.published, with_ci(u, ".3f"), verdict(u, ".3f")),
                *(q.published, with_ci(q, ".3f"), verdict(q, ".3f")),
            ]
        )
        v, w = table1.two_reno_cells(row, two)
        reno_rows.append(
            [
                name,
                *(v.published, with_ci(v, ".3f"), verdict(v, ".3f")),
                *(w.published, with_ci(w, ".3f"), verdict(w, ".3f")),
            ]
        )
        builder.cells += [k, u, q, v, w]
    columns = [
        Column("utilisation", ".3f", unit="published"),
        Column("utilisation", unit="measured"),
        Column("error"),
        Column("queue in BDP", ".3f", unit="published"),
        Column("queue in BDP", unit="measured"),
        Column("error"),
    ]
    first = Column("M", align="left")
    k_columns = [
        Column("K/M", ".2f", unit="published"),
        Column("K/M", unit="measured"),
        Column("steps", unit="K/M"),
        Column("error"),
    ]
    batches = [f"step-{tag}" for tag, _ in pts.ROWS]
    step = Table(
        "table1-step",
        "Reno and DCTCP at equal sharing",
        [first, *k_columns, *columns],
        rows,
        "M is Min_Thresh_Reno. K/M is where the geometric mean of the throughput ratio over seeds "
        "is 1. To find it, the ratio of each step is placed at the middle of the step, the ratios "
        "are made monotone, and lines join them. \u201cSteps\u201d are the two steps on either "
        "side of K/M: all frames have 1500 B, so every K within a step gives the same queue, and "
        "K/M is no more precise than a step. Utilisation and queue are interpolated at K/M. "
        "Agreement means: K/M within max(0.1, one frame), utilisation within 0.01, queue within "
        "max(0.02 BDP, 8 %).",
        builder.facts(*batches),
    )
    reno = Table(
        "table1-two-reno",
        "Two Reno flows",
        [first, *columns],
        reno_rows,
        "",
        builder.facts("two-reno"),
    )
    _claims(builder)
    return Section("table1", "Table I: equal sharing with a step threshold", [step, reno])


def _claims(builder: Builder) -> None:
    """Check what the paper's text states about Table I."""
    by_id = {c.id: c.measured for c in builder.cells}
    small = by_id.get("Table I/M=0.125/Reno and DCTCP/occupancy")
    large = by_id.get("Table I/M=1/Reno and DCTCP/occupancy")
    used = by_id.get("Table I/M=0.125/Reno and DCTCP/utilisation")
    alone = by_id.get("Table I/M=0.125/two Reno/utilisation")
    if small and large and used:
        builder.claim(
            "At equal share the queue can be cut by four (M = 1/8 against M = 1) with 98 % "
            "utilisation left.",
            f"cut by {large / small:.1f} with utilisation {used:.3f}",
            "at least 4 and 0.97",
            large / small >= 4 and used >= 0.97,
        )
    if used and alone:
        gain = 100 * (used / alone - 1)
        builder.claim(
            "DCTCP lifts the utilisation by up to 4 % over that of two Reno flows (M = 1/8).",
            f"by {gain:.1f} %",
            "2.5 to 4.5 %",
            2.5 <= gain <= 4.5,
        )
