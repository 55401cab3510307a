"""Section: how long a new flow needs to reach its fair share."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tailback.figures import LinePanel, panel
from tailback.report import Block, Facts, ReportFigure, Table, Value
from tailback.report.tables import right
from tailback_studies.experiments.abe_2017 import enter, layout
from tailback_studies.experiments.abe_2017.sections.words import band, beta_text, betas_of
from tailback_studies.reproduction.shown import with_half


def blocks(points: Sequence[enter.EnterPoint], facts: Facts) -> list[Block]:
    """Show how long a new flow needs to reach its fair share."""
    out: list[Block] = []
    for cc, queue in dict.fromkeys((p.cc, p.queue) for p in points):
        subset = [p for p in points if (p.cc, p.queue) == (cc, queue)]
        frame = pl.DataFrame(
            [
                {"beta": p.beta, "rtt": f"{p.rtt_ms:g} ms", **band("seconds", p.seconds, 1)}
                for p in subset
            ],
            infer_schema_length=None,
        )
        chart = panel(
            frame,
            LinePanel.band("seconds", "time to 0.95, s"),
            x="beta",
            x_title="beta after a mark, of both flows",
            series="rtt",
            series_title="round-trip time",
            order=[f"{rtt:g} ms" for rtt in sorted({p.rtt_ms for p in subset})],
            x_ticks=sorted({p.beta for p in subset}),
        )
        title = f"Two {layout.NAMES[cc]} flows on {layout.QUEUES[queue].title}"
        caption = (
            "Time from the entry of the second flow until Jain's index of the bytes delivered "
            "since then is 0.95. A run that does not reach this counts with the 60 s until its "
            "end."
        )
        out.append(ReportFigure(f"enter-{cc}-{queue}", title, chart, caption, facts))
        columns = right("RTT, ms", *(beta_text(cc, b) for b in betas_of(subset)))
        known = {(p.rtt_ms, p.beta): p for p in subset}
        rows: list[list[Value]] = []
        for rtt in sorted({p.rtt_ms for p in subset}):
            cells = [known.get((rtt, b)) for b in betas_of(subset)]
            rows.append([f"{rtt:g}", *(None if p is None else _enter_text(p) for p in cells)])
        out.append(
            Table(
                f"enter-table-{cc}-{queue}",
                title,
                columns,
                rows,
                "Mean time over seeds in seconds, its interval, and, if not all runs reached this "
                "state, the share of runs that did.",
            )
        )
    return out


def _enter_text(p: enter.EnterPoint) -> str:
    share = "" if p.reached == 1 else f" ({100 * p.reached:.0f} %)"
    return with_half(p.seconds, 1) + share
