"""Additional section: which values of unstated options agree best with the paper's results."""

from __future__ import annotations

from tailback.report import Column, Mark, Section, Table, Text, Value
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014 import table1
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder
from tailback_studies.experiments.dctcp_internet_2014.options import READINGS
from tailback_studies.experiments.dctcp_internet_2014.sections import clock


def readings(builder: Builder) -> Section | None:
    """For the options that the paper does not state, show which combinations of values reproduce
    all published results."""
    rows: list[list[Value]] = []
    used: list[str] = []
    for name, title, _, _ in READINGS:
        prefix = f"readings/{name}/"
        along = builder.measured.frames.get(f"{prefix}formula3")
        if along is None:
            continue
        used += [b for b in builder.measured.frames if b.startswith(prefix)]
        cells = table1.cells(builder.measured.frames, prefix)
        k, u, q = (
            [c.status == "pass" for c in cells if c.quantity in kind]
            for kind in (
                ("k_over_m",),
                ("utilisation", "two_reno_utilisation"),
                ("occupancy_bdp", "two_reno_occupancy_bdp"),
            )
        )
        on_formula = pts.aggregate(along, [f"p:{pts.ECN}.min"])
        jains, ratio = on_formula["jain"].to_list(), on_formula["ratio"].to_list()
        worst = min(jains)
        good = sum(k) + sum(u) + sum(q)
        total = len(k) + len(u) + len(q)
        measured = [c.measured for c in cells if c.quantity == "k_over_m"]
        rows.append(
            [
                title,
                Mark(f"{good} of {total}", "pass" if good == total else "miss"),
                f"{sum(k)} of {len(k)}",
                ", ".join("\u2014" if v is None else f"{v:.2f}" for v in measured),
                f"{sum(u)} of {len(u)}",
                f"{sum(q)} of {len(q)}",
                Mark(f"{worst:.3f}", "pass" if worst >= 0.99 else "miss"),
                f"{min(ratio):.2f} to {max(ratio):.2f}",
            ]
        )
    if not rows:
        return None
    text = (
        "The paper's text does not say how its queue counts, but its numbers allow conclusions. "
        "Each row below is one combination of the open options, compared with all of Table I and "
        "with formula (3) at three thresholds. A row names its changed options; all other options "
        "are those of this report's figures.\n\nThere are two conclusions. First, utilisation and "
        "queue at small thresholds depend on how fast RED's average decays while the queue is "
        "empty. Linux's clock takes one step for each packet of `avpkt 1000` that could have been "
        "sent. With it the average stays high over the gaps, the queue drops Reno's packets too "
        "early, and the first rows of Table I cannot be reached. Second, formula (3) needs growth "
        "and marking that match. One such pair is half a packet per RTT (delayed ACKs, counted as "
        "in Linux 3.2) with marks at the slope's own probability. The other is a whole packet per "
        "RTT with uniformised RED, which marks twice as often. The second pair is not that of the "
        "kernel that the paper ran, and its queues are longer than those of Table I.\n\nThe first "
        "row was chosen **after** seeing these numbers. It is an inference about the paper's "
        "set-up, not a prediction."
    )
    table = Table(
        "readings-table",
        "Agreement of each reading with the published numbers",
        [
            Column("changed", align="left", words=True),
            Column("Table I", unit="in agreement"),
            Column("K/M"),
            Column("K/M", unit="M = 1/8, 1/4, 1/2, 1/\u221a2, 1"),
            Column("utilisation"),
            Column("queue"),
            Column("formula (3)", unit="smallest Jain's index"),
            Column("Reno/DCTCP", unit="on formula (3)"),
        ],
        rows,
        "Tolerances as in Table I above. Published K/M: "
        + ", ".join(f"{row.k_over_m:g}" for row in builder.published)
        + ". Runs are shorter and thresholds coarser than in the figures.",
        builder.facts(*used),
    )
    blocks = [Text(text), table, *clock.blocks(builder)]
    return Section("readings", "Which reading of the paper fits", blocks)
