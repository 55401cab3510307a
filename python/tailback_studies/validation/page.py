"""Writes docs/evidence/validation.md with its figures, and a report with the same content."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

from tailback.figures import export
from tailback.report.model import Block, Facts, Report, Section, Text
from tailback.report.tables import present
from tailback.report.write import write
from tailback_studies.reproduction import judges, published
from tailback_studies.reproduction.page import Page
from tailback_studies.validation import Validation, figures, tables
from tailback_studies.validation.grid import QUEUES, QUICK_SEEDS, SEEDS

TITLE = "The simulator against Linux"

CELLS = "cells.csv"

MOST_SIDE_BY_SIDE = 20
"""Largest number of scenarios whose measurements the page shows in a table."""


def page(validation: Validation) -> Page:
    """Return the page.

    The page shows the goals first, then the numbers that decide whether they are met.
    """
    facts = _facts(validation)
    lead = (
        "This page compares the simulator with the Linux kernel. The kernel runs the same "
        "scenarios in virtual time."
    )
    if len(validation.cells) < validation.ran.cells:
        lead += (
            " Some scenarios of the grid are not measured yet. The table *What was run* counts the "
            "measured scenarios; all other tables and figures show only these."
        )
    sections = [
        Section("goals", "Goals", [tables.goals(validation.judges), Text(_GOALS)]),
        Section(
            "families",
            "By kind of queue",
            [tables.families(validation), tables.by_flow(validation)],
        ),
        *_side_by_side(validation),
        Section("beyond", "Beyond a limit", _beyond(validation)),
        Section("errors", "Errors of every scenario", list(figures.heats(validation))),
        Section(
            *("traces", "Traces of both engines"),
            [figures.of_traces(validation), *figures.traces(validation)],
        ),
        Section(
            *("run", "What was run"),
            [Text(_RUN), tables.cost(validation), tables.settings(facts)],
        ),
    ]
    families = dict.fromkeys(b.queue.family for b in validation.ran.batches)
    title = f"{TITLE}: {', '.join(families)}" if _queues(validation) else TITLE
    return Page(title, lead, sections, facts)


_GOALS = """
A scenario is a set of flows in a queue at a rate and a round-trip time. Numbers are means over
seeds. An error is the simulator's value relative to the kernel's. **Within** counts scenarios
within the limit, and decides whether a goal holds. **Within or noise** also counts scenarios that
exceed the limit by no more than noise. Noise is half the 95 % interval of the difference of both
means (Welch), from the spread over the seeds of both engines.

Throughput has three criteria over the same scenarios, so do not add their counts: the median, each
flow over its fair share, and each flow over the rate of the link. The fair share is the rate
divided by the number of flows that compete. The last criterion loosens as the number of flows
grows. In each scenario the flow with the largest error counts.

Identical flows are flows that nothing in the scenario distinguishes. On either engine the seed may
decide which of them is slow. They are therefore compared in two ways: one by one, and in order of
throughput. In order, the mean of the slowest quarter in the simulator is compared with that of the
slowest quarter on the kernel, and so on.

*Kernel against itself* compares the kernel's first seeds with its last seeds, scaled to the number
of seeds.
"""

_BEYOND = """
The table has every scenario and quantity beyond its limit, the worst first. For flows, the table
shows the flow with the largest error, and the number of flows beyond the limit. Measurements
determine the cause, and the table names the first cause that applies. Identical flows may agree in
order of throughput but not one by one. The noise of the seeds may be as large as the error. Both
engines may agree over the neighbourhood of the scenario, or with more seeds. A miss that none of
these checks explains has no known cause.

Neighbours of a scenario have a round-trip time that differs by 1 % or 2 %, on both engines. An
experimenter would regard them as the same scenario. The columns have the least and the largest mean
over seeds of an engine in the scenario and its neighbours, and the error of the means over all of
them. If that error is within the limit, one engine falls into a pattern of phases in this scenario
and the other does not. The algorithms of the engines may still be the same.
"""

_SHARED = """
fq_codel and fq_pie hash flows into queues. Linux hashes the socket, the simulator the flow's
number, each with a key from the seed. Flows share a queue with the same probability on either
engine, but not the same flows do. Flows that share a queue are slow.
"""

_RUN = """
The page `docs/evidence/validation-grid.md` lists the scenario files. Each scenario sets
`timer_phase = "0s"`, because all hosts of a guest share one kernel and therefore have the same
timer ticks.
"""


def _side_by_side(validation: Validation) -> list[Section]:
    """Show the measurements of both engines if there are few scenarios."""
    if len(validation.cells) > MOST_SIDE_BY_SIDE:
        return []
    return [Section("side-by-side", published.SIDE_BY_SIDE, [tables.side_by_side(validation)])]


def _beyond(validation: Validation) -> list[Block]:
    found = tables.shared(validation)
    if not validation.misses:
        return [Text("No scenario is beyond a limit.")]
    return present(
        Text(_BEYOND),
        tables.beyond(validation),
        Text(_SHARED) if found is not None else None,
        found,
    )


def report(validation: Validation) -> Report:
    """Return the page as a report."""
    built = page(validation)
    return Report(
        name="validation",
        title=built.title,
        lead=built.lead,
        meta=[("command", command(validation)), *built.facts.lines()],
        sections=built.sections,
        files=files(validation),
    )


def files(made: Validation) -> dict[str, str]:
    """Return the files that are written beside the page, by name."""
    return {CELLS: tables.all_cells(made.cells), judges.FILE: judges.to_csv(made.judges)}


def save(made: Validation) -> Path:
    """Write the report into the folder of results, and return the path of its page."""
    identity = json.dumps([made.ran.versions, [cell.runs for cell in made.cells]], sort_keys=True)
    name = hashlib.sha256(identity.encode()).hexdigest()[:20]
    return write(report(made), made.ran.root / "validations" / name)


def save_page(validation: Validation, docs: Path) -> Path:
    """Write validation.md and the folder of its figures. If only some queues were run, the page is
    validation-NAME.md, where NAME is the group of these queues or the first queue."""
    cpu_s = sum(validation.cpu_s(engine) for engine in validation.ran.versions)
    # Read the revision before any file is written. A written file would make git report that the
    # revision has changed files.
    text = page(validation).text(command(validation), cpu_s)
    built = report(validation)
    name = "-".join(["validation", *named(_queues(validation))[:1]])
    name = name.lower().replace(" ", "-")
    folder = docs / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for figure in built.figures():
        svg = export.svg(export.spec(figure.chart))
        (folder / f"{figure.id}.svg").write_text(svg, encoding="utf-8")
    (folder / judges.FILE).write_text(built.files[judges.FILE], encoding="utf-8")
    return published.write(text.replace("](figures/", f"]({name}/"), name, validation.judges, docs)


def _queues(made: Validation) -> list[str]:
    """Return the names of the requested queues, or an empty list if all queues were requested."""
    found = list(dict.fromkeys(batch.queue.name for batch in made.ran.batches))
    return found if len(found) < len(QUEUES) else []


def named(queues: list[str]) -> list[str]:
    """Return the names of the queues for the command line: the name of a group of queues, or the
    name of each queue.
    """
    families = {queue.family for queue in QUEUES if queue.name in queues}
    of_families = {queue.name for queue in QUEUES if queue.family in families}
    return list(families) if len(families) == 1 and of_families == set(queues) else queues


def command(validation: Validation) -> str:
    """Return the command that writes the page."""
    words = ["tailback validate", *(["--quick"] if validation.quick else [])]
    seeds = _seeds(validation)
    if seeds != (QUICK_SEEDS if validation.quick else SEEDS):
        words.append(f"--seeds {seeds}")
    chosen = (f"--queue {shlex.quote(name)}" for name in named(_queues(validation)))
    return " ".join([*words, *chosen, "--write"])


def _seeds(made: Validation) -> int:
    return max((batch.seeds for batch in made.ran.batches), default=0)


def _facts(validation: Validation) -> Facts:
    runs = [run for batch in validation.ran.batches for r in batch.results.values() for run in r]
    durations = sorted({run.summary["duration_s"] for run in runs})
    warmups = sorted({run.summary["warmup_s"] for run in runs})
    engines = [f"{name} {version}" for name, version in validation.ran.versions.items()]
    return Facts(
        runs=len(runs),
        seeds=_seeds(validation),
        duration=", ".join(f"{d:g} s simulated" for d in durations),
        warmup=" to ".join(f"{w:g} s" for w in dict.fromkeys((warmups[0], warmups[-1])))
        + (", depending on the scenario" if len(warmups) > 1 else ""),
        engine=", ".join([*engines, *_kernel(validation)]),
    )


def _kernel(made: Validation) -> list[str]:
    """Return the kernel, its hash and the tools of the guests, from the manifest of a run."""
    for batch in made.ran.batches:
        for run in batch.results["kernel"]:
            environment = run.manifest.get("environment", {})
            kit = environment.get("kit", {})
            parts = [f"Linux {kit['kernel']}"] if "kernel" in kit else []
            parts += [f"guest kernel {kit['hash'][:16]}"] if "hash" in kit else []
            parts += [f"iproute2 {kit['iproute2']}"] if "iproute2" in kit else []
            return parts
    return []
