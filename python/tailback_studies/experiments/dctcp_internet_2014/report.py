"""Makes the report. The report shows the result, a section for each part, the paper's claims and
the set-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tailback.report import Report, Section, Table, Text, Value
from tailback.report.tables import left, words
from tailback_studies.experiments.dctcp_internet_2014 import beside
from tailback_studies.experiments.dctcp_internet_2014.builder import Builder
from tailback_studies.experiments.dctcp_internet_2014.options import BASES, DECLARED
from tailback_studies.experiments.dctcp_internet_2014.parts import PARTS
from tailback_studies.experiments.dctcp_internet_2014.sections import (
    ablation,
    bdp,
    parameters,
    readings,
    scaled,
    slopes,
    step,
    table1,
    windows,
)
from tailback_studies.experiments.dctcp_internet_2014.words import miss_text

TITLE = "Using DCTCP in the Internet (2014), run again"
SOURCE = (
    "M. Kühlewind, D. Wagner, J. M. Reyes Espinosa, B. Briscoe, "
    "\u201cUsing Data Center TCP (DCTCP) in the Internet\u201d, IEEE GLOBECOM Workshops 2014"
)
LEAD = (
    "Reno and DCTCP through one queue that marks DCTCP's packets and drops Reno's: the published "
    "figures and Table I, measured again, with the published numbers beside them."
)
MAKERS: Mapping[str, Callable[[Builder], Section | None]] = {
    "fig1": windows.fig1,
    "fig2": windows.fig2,
    "fig3": parameters.fig3,
    "fig5": step.fig5,
    "table1": table1.side_by_side,
    "fig6": step.fig6,
    "fig7": slopes.fig7,
    "fig8": slopes.fig8,
    "fig9": slopes.fig9,
    "fig10": scaled.fig10,
    "readings": readings.readings,
    "bdp": bdp.bdp,
    "ablation": ablation.ablation,
}


def report(builder: Builder, parts: Sequence[str]) -> Report:
    """Return the report of these parts of the experiment."""
    # Table I comes first, because it decides the result of the experiment.
    first = ("table1", "readings")
    order = sorted((p for p in PARTS if p in parts), key=lambda p: p not in first)
    sections = [s for s in (MAKERS[part](builder) for part in order) if s is not None]
    measured = builder.measured
    seeds = max(
        (f["seed"].n_unique() for f in measured.frames.values() if "seed" in f.columns), default=0
    )
    runs = sum(f.height for f in measured.frames.values())
    meta = [
        ("source", SOURCE),
        ("engine", f"{measured.engine}, version {measured.version}"),
        ("runs", f"{runs}, up to {seeds} seed{'s' if seeds != 1 else ''} per scenario"),
        (
            "bottleneck",
            "10 Mbit/s, base RTT 25 ms, BDP 31,250 B = 20.83 frames of 1500 B, one queue",
        ),
    ]
    if measured.quick:
        quick = (
            "fewer points, seeds and seconds than the full experiment: intervals are wide or "
            "missing"
        )
        meta.append(("quick", quick))
    if measured.simulated:
        sections = [*beside.sections(builder), *sections]
    if measured.refused:
        sections.append(beside.not_run(measured.refused))
    every = [*_result(builder), *sections, *_claims(builder), _declared()]
    return Report("", TITLE, LEAD, meta, every, builder.cells, first="fig5")


def _result(builder: Builder) -> list[Section]:
    """Return a section that shows how many numbers meet the criteria."""
    judged = [c for c in builder.cells if c.tolerance is not None]
    if not judged:
        return []
    good = sum(c.status == "pass" for c in judged)
    lines = [
        f"**{good} of {len(judged)}** numbers of Table I with a criterion agree with the paper "
        "within the tolerances stated below."
    ]
    missed = [c for c in judged if c.status == "miss"]
    if missed:
        lines.append("Not in agreement: " + "; ".join(miss_text(c) for c in missed) + ".")
    along = [c for c in builder.cells if c.quantity == "jain_formula_3"]
    held = [c for c in along if c.measured is not None and c.measured >= 0.99]
    if along:
        lines.append(
            f"**Formula (3)**: Jain's index is at least 0.99 at {len(held)} of {len(along)} points "
            "on it (Figure 9)."
        )
    lines.append(
        "Two options that the paper does not state were set so that its numbers come out (marked "
        "\u201cinferred\u201d in the set-up). The section on readings shows the results of every "
        "other choice."
    )
    return [Section("result", "Result", [Text("\n\n".join(lines))])]


def _claims(builder: Builder) -> list[Section]:
    if not builder.claims:
        return []
    columns = [*words("claim", "found", "holds if"), *left("verdict")]
    rows: list[list[Value]] = [list(claim) for claim in builder.claims]
    table = Table("claims-table", "Claims in the paper's text", columns, rows)
    return [Section("claims", "Claims in the text", [table])]


def _declared() -> Section:
    """Show all settings, including the settings that the paper leaves open."""
    table = Table(
        "declared",
        "The set-up, and the source of each part",
        words("option", "here", "from", "remark"),
        [[option, value, BASES[basis], remark] for option, value, basis, remark in DECLARED],
        "Two of these options are inferred from the paper's numbers. We tried several "
        "combinations of options. Only the combination in this table agrees with all of Table I "
        "and with formula (3).",
    )
    return Section("open-options", "Set-up and open options", [table])
