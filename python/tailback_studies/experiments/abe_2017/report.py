"""Makes the report. The report shows the expectations first, then a section for each experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.report import Block, Facts, Report, Section
from tailback_studies.experiments.abe_2017 import layout
from tailback_studies.experiments.abe_2017.cells import Predicted, predicted
from tailback_studies.experiments.abe_2017.measured import AbeMeasures
from tailback_studies.experiments.abe_2017.sections import (
    enter,
    equal,
    expectations,
    formula,
    groups,
    short,
    single,
    tradeoff,
)
from tailback_studies.experiments.abe_2017.truth import AbeVerdict
from tailback_studies.reproduction.experiment import Found
from tailback_studies.reproduction.shown import NO_OFFLOADS, facts, span

TITLE = "ABE: a gentler backoff, run again"
SOURCE = (
    "N. Khademi, G. Armitage, M. Welzl, S. Zander, G. Fairhurst, D. Ros, \u201cAlternative "
    "Backoff: Achieving Low Latency and High Throughput with ECN and AQM\u201d, IFIP Networking "
    "2017 (only its poster is public); RFC 8511"
)
LEAD = (
    "With short queues a sender that halves its window on a mark leaves the link idle. ABE backs "
    "off less on marks than on losses. The report shows how much a flow gains from "
    "this, and how much other flows lose."
)
QUICK = " A quick run: fewer places, factors and seeds."


def ran(results: Found) -> dict[str, Facts]:
    """Return facts about the runs of each plan, such as the number of runs, seeds and duration."""
    out = {}
    for name, sweeps in results.items():
        warmups = [run.summary["warmup_s"] for result in sweeps for run in result]
        if not warmups:
            continue
        today = ["PIE is today's Linux version"] if sweeps[0].engine != "sim" else []
        out[name] = facts(
            sweeps,
            warmup=span(warmups, "s") if any(warmups) else "",
            unit="s",
            options=("start offsets drawn from 0 to the RTT",),
            deviations=[NO_OFFLOADS, *today],
        )
    return out


def report(
    measurements: AbeMeasures,
    verdicts: Sequence[AbeVerdict],
    numbers: Sequence[Predicted],
    plan_facts: Mapping[str, Facts],
    *,
    quick: bool,
) -> Report:
    """Return the report of a run."""

    def of(plan: str) -> Facts:
        return plan_facts.get(plan, Facts())

    parts: dict[str, list[Block]] = {
        part: single.blocks([p for p in measurements.single if p.setup.part == part], of("single"))
        for part in layout.KERNEL_PARTS
    }
    later: dict[str, list[Block]] = {
        "equal-probability": equal.blocks(measurements.equal, of("equal"))
        if measurements.equal
        else [],
        "experiment-5": enter.blocks(measurements.enter, of("enter")),
        "experiment-6": groups.blocks(measurements.groups, of("groups"))
        if measurements.groups
        else [],
        "experiment-7": short.blocks(measurements, of("short")) if measurements.sizes else [],
        "trade-off": tradeoff.blocks(measurements.tradeoff, of("tradeoff"))
        if measurements.tradeoff
        else [],
    }
    sections = [
        expectations.section(verdicts, measurements.single),
        *(Section(part, section_title(part), blocks) for part, blocks in parts.items()),
        *([formula.section(measurements.single, of("single"))] if measurements.single else ()),
        *(Section(part, section_title(part), blocks) for part, blocks in later.items()),
    ]
    engine = next((facts.engine for facts in plan_facts.values()), "")
    runs = sum(facts.runs for facts in plan_facts.values())
    return Report(
        name="",
        title=TITLE,
        lead=LEAD + (QUICK if quick else ""),
        meta=[("source", SOURCE), ("engine", engine), ("runs", str(runs))],
        sections=[section for section in sections if section.blocks],
        cells=[cell for cell, _ in numbers],
        files={"predicted.csv": predicted(numbers)},
    )


def section_title(part: str) -> str:
    """Return a section's title with the number of the experiment."""
    title = layout.PARTS[part]
    number = part.removeprefix("experiment-")
    return f"Experiment {number}: {title[0].lower()}{title[1:]}" if number.isdigit() else title
