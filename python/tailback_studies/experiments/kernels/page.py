"""Makes the page that compares kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailback.report import Report, Section, Text
from tailback.store.results import Results
from tailback_studies.experiments.kernels import alone, beds
from tailback_studies.experiments.kernels.releases import RELEASES
from tailback_studies.reproduction import shown
from tailback_studies.reproduction.experiment import Findings, Found
from tailback_studies.reproduction.page import Page

TITLE = "Kernels side by side"
LEAD = (
    "This page compares the newest Linux kernel with the kernels of Debian releases, in virtual "
    "time. All kernels run the same scenarios with the same tc, libraries and tailback programs, "
    "so only the kernel can cause a difference."
)
HOW = (
    '`tailback kernel build --release 6.1` builds Linux 6.1, and `kernel = "6.1"` in a scenario '
    "selects this kernel. [kernel.md](../concepts/kernel.md#kernels-side-by-side) describes how "
    "to build and select kernels."
)
SCE = (
    "Cells of the SCE draft with one unmodified flow of CUBIC, Reno or DCTCP through Cake. The "
    "draft's test bed ran Linux 5.1 with the patches of SCE. Of all such values, those whose names "
    "have the smallest hashes were chosen."
)
DUALPI2 = (
    "Half of the runs in each of the PIE and FQ-CoDel archives of the DualPI2 paper, chosen by "
    "hash. Their flows are unmodified. The paper's test bed ran Linux 5.10 with Prague's patches."
)


def findings(
    results: Found, kernels: Sequence[str], bed_kernels: Sequence[str], *, quick: bool
) -> Findings:
    """Return the report, the page and the compared numbers.

    The report, the page and the numbers cover only the parts of the experiment that were run.
    """
    absent = [f"Linux {release}" for release in RELEASES if release not in kernels]
    how = f"{HOW} Not built here: {', '.join(absent)}." if absent else HOW
    sections: list[Section] = [Section("how", "How to reproduce it", [Text(how)])]
    cells: list[dict[str, Any]] = []
    every: list[Results] = [one for group in results.values() for one in group]
    facts = shown.facts(every, deviations=(shown.NO_OFFLOADS,))
    if part_results := results.get("alone"):
        comparison = alone.compared(kernels, part_results)
        sections.append(alone.section(comparison, _facts(part_results)))
        cells += alone.cells(comparison, "alone")
    if part_results := results.get("acks"):
        comparison = alone.compared(kernels, part_results)
        sections.append(alone.acks(comparison, _facts(part_results)))
        cells += alone.cells(comparison, "acks")
    for name, lead, bed_of in (
        ("sce-2019", SCE, beds.sce_bed),
        ("dualpi2-2022", DUALPI2, beds.dualpi2_bed),
    ):
        if part_results := results.get(name):
            bed = bed_of(bed_kernels, part_results, quick=quick)
            sections.append(beds.section(bed, lead, _facts(part_results)))
            cells += [
                {**entry.cell.json(), "id": f"{entry.cell.id}/Linux {kernel}"}
                for kernel, entries in bed.entries.items()
                for entry in entries
            ]
    report = Report(
        name="kernels",
        title=TITLE,
        lead=LEAD,
        meta=[*facts.lines()],
        sections=sections,
    )
    return Findings(report, cells, [], (), Page(TITLE, LEAD, sections))


def _facts(results: Sequence[Results]) -> Any:
    versions = list(dict.fromkeys(found.version for found in results))
    facts = shown.facts(results)
    return type(facts)(
        runs=facts.runs,
        seeds=facts.seeds,
        duration=facts.duration,
        warmup=facts.warmup,
        engine="kernel " + ", ".join(versions),
    )
