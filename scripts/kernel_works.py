"""Prints docs/evidence/kernel-works.md: the results of published experiments on both engines.

    python scripts/kernel_works.py > docs/evidence/kernel-works.md
    python scripts/kernel_works.py dualpi2-2022 dualpi2-2019-wrr --out results/kernel-works

The script first executes the runs that are not stored yet. Each experiment has its own folder in
`--out`. Errors are relative to published numbers. Without published numbers, the table shows the
difference between the engines. Both engines run the same scenarios.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tailback.base import toml
from tailback.comparison.variants import Variant
from tailback.metrics.statistics import median, nearest_rank
from tailback.running.options import RunOptions
from tailback_studies import batteries, experiments
from tailback_studies.batteries.side_by_side import run_battery
from tailback_studies.experiments.dctcp_internet_2014.parts import BEYOND, PARTS
from tailback_studies.experiments.versions import Versions
from tailback_studies.reproduction.judges import COLUMNS
from tailback_studies.reproduction.judges import FILE as GOALS

ENGINES = ("sim", "kernel")
FULL_PARTS = {"dctcp-internet-2014": ("table1",)}
"""Parts that are also run with all seeds and the full duration, by experiment."""

QUICK_PARTS = {"dctcp-internet-2014": tuple(part for part in PARTS if part not in BEYOND)}
"""Parts of a quick run, for experiments that also have parts that the publication does not have."""

CELLS = "cells.csv"
"""The file of a report that contains every value. This file has the same columns in all
experiments."""

BY_QUANTITY = {"sce-2019"}
"""Experiments for which the page has a row for each quantity, because one row for each table would
be too many."""

SHOWN = ("utilisation", "delay_ms.mean", "rate_mbit.mean", "class_rate_ratio")
"""Quantities that the page shows for the DualPI2 versions of 2019."""

BESIDE = "**Linux and simulator in the figures**"
"""The title of a table in the reports of the kernel engine. The page quotes this table."""

INTRODUCTION = """\
# Published experiments on Linux

tailback repeats published experiments both in the simulator and on Linux, in virtual time.
`python scripts/kernel_works.py` prints this page. Most rows show results of
`reproduce NAME --quick`. Quick runs are shorter, and use fewer seeds and settings than the page of
the experiment. Rows with "every seed" show results of the full experiment, without `--quick`.
"""

ERRORS = """\
## Errors and differences

On this page, a value is a number in a publication, such as an entry of a table. Each cell shows the
median and the 90th percentile of the errors over all values of one part of an experiment. Errors
are relative to the published values. If a publication has only figures, the table shows only the
difference between Linux and the simulator.
"""

HEAD = """\
| experiment | part | runs | values | error, simulator | error, Linux | Linux against simulator |
|---|---|---|--:|--:|--:|--:|"""

VERSIONS = """\
In the two experiments on DualPI2 versions from 2019, each part has four rows, one for each
quantity. Each row covers all versions of DualPI2. Each version ran with only one seed, so the
differences include noise.
"""

CRITERIA = """\
## Values within the limits of the criteria

The page of each experiment explains the criteria for this experiment.
"""

CRITERIA_HEAD = """\
| experiment | runs | criterion | limit | values | within, simulator | within, Linux |
|---|---|---|---|--:|--:|--:|"""

FIGURES = """\
## {name}: difference between Linux and simulator in the figures

For each figure, the table compares the values on Linux with the values in the simulator, with the
same frame sizes and seeds.
"""

COSTS = """\
## Time

The table shows the total processor time of all runs of an experiment. On two idle cores, the runs
take half of this time.
"""

COSTS_HEAD = """\
| experiment | runs | engine | number | processor time |
|---|---|---|--:|--:|"""

CRITERION = COLUMNS[0]
"""The heading of the column with a criterion's name."""

NOTES = {
    "dctcp-internet-2014": """\
On Linux, `dctcp-internet-2014` uses the modules `sch_wred`, `tcp_dctcp_2014` and `tcp_reno_acks`.
The frame size on Linux includes the Ethernet header, so a frame contains a little less payload than
in the paper.
""",
    "dualpi2-2022": """\
For `dualpi2-2022`, the values come from every column of the published files. Some columns contain
1st percentiles or standard deviations of samples. Each sample of tailback covers one second, but
some published samples cover a shorter time. The errors in the columns with 1st percentiles and
standard deviations are large, and increase the 90th percentiles of the errors. The simulator paces
groups of segments, as the hosts of the publication did with GSO. The kernel engine paces single
segments. The table has no results with Prague, because Linux does not include Prague. The report
of `reproduce dualpi2-2022 --engine kernel` lists each missing row with the reason.
""",
    "dualpi2-2019-wrr": """\
On Linux, the module `sch_dualpi2_2019` implements the DualPI2 versions from 2019, and
`tcp_dctcp_2014` implements DCTCP as in Linux 3.19. On both engines, TCP detects losses as in
today's Linux, and not as in the Linux of 2019.
""",
}
"""Notes about the rows of an experiment."""


@dataclass(frozen=True)
class WorkCell:
    """A published number, and its error on each engine."""

    part: str
    published: float | None
    sim: float
    kernel: float


@dataclass
class Work:
    """The results of an experiment on both engines."""

    name: str
    runs: str
    """Whether the runs are quick or have every seed, as text."""
    folder: Path
    """The folder of the results."""
    cells: list[WorkCell] = field(default_factory=list)
    goals: list[tuple[str, str, str, list[str]]] = field(default_factory=list)
    """For each criterion: name, limit, number of values, and number of values within the limit on
    each engine."""
    figures: list[str] = field(default_factory=list)
    """The lines of the table with the differences in the figures."""


def main() -> None:
    """Run the experiments and print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments [default: all]")
    parser.add_argument("--out", type=Path, default=Path("results/kernel-works"))
    parser.add_argument("--quick", action="store_true", help="no part with every seed")
    asked = parser.parse_args()
    known = [name for name in experiments.NAMES if has_both_engines(name)]
    if wrong := [name for name in asked.names if name not in known]:
        parser.error(f"{', '.join(wrong)}: use one of {', '.join(known)}")
    works = []
    for name in asked.names or known:
        works += list(worked(name, asked.out, full=not asked.quick))
    print("\n".join(page(works)))


def has_both_engines(name: str) -> bool:
    """Return whether a published experiment runs on both engines."""
    return name in NOTES or name in OTHERS or isinstance(experiments.get(name), Versions)


OTHERS = ("abe-2017", "l4s-tests-2020", "ccafct-2020", "sce-2019")
"""Experiments that run on both engines and have no note on the page."""


def worked(name: str, out: Path, *, full: bool) -> Iterator[Work]:
    """Run a quick version of an experiment on both engines. With `full`, also run some parts of
    the experiments with all seeds."""
    experiment = experiments.get(name)
    work = Work(name, "quick", out / name)
    options = RunOptions(out=work.folder, progress=False)
    if isinstance(experiment, Versions):
        work.cells = list(of_versions(experiment, options))
    else:
        read_reports(work, options, QUICK_PARTS.get(name), quick=True)
    yield work
    if full and (parts := FULL_PARTS.get(name)):
        whole = Work(name, "every seed", out / f"{name}-full")
        read_reports(whole, replace(options, out=whole.folder), parts, quick=False)
        yield whole


def of_versions(study: Versions, options: RunOptions) -> Iterator[WorkCell]:
    """Run `l4s-battery` with every version of a queue on both engines."""
    variants = [
        Variant(f"{name} {engine}", {p: toml.value(v) for p, v in sets.items()}, engine)
        for name, sets in study.versions.items()
        for engine in ENGINES
    ]
    ran = run_battery(
        batteries.get(study.battery),
        variants,
        replace(options, seeds=1),
        presets=study.presets,
        base=study.base,
        quick=True,
    )
    for cell in ran.cells:
        for name in study.versions:
            sim, kernel = (cell.values[f"{name} {engine}"].mean for engine in ENGINES)
            if cell.quantity in SHOWN and sim is not None and kernel is not None:
                yield WorkCell(f"{cell.params['part']}, {cell.quantity}", None, sim, kernel)


def read_reports(
    work: Work, options: RunOptions, parts: tuple[str, ...] | None, *, quick: bool
) -> None:
    """Reproduce the experiment on both engines, and group its values by the first word of their
    ids."""
    cells, goals = [], []
    for engine in ENGINES:
        experiment = experiments.get(work.name)
        done = experiment.run(parts, replace(options, engine=engine), quick=quick)
        text = (done.report_dir / CELLS).read_text(encoding="utf-8")
        cells.append({tuple(line[:3]): line for line in by_cell(text, work.name)})
        criteria = done.report_dir / GOALS
        goals.append(list(csv.DictReader(criteria.open())) if criteria.exists() else [])
        work.figures = list(table_of(done.report_dir / "report.md"))
    sim, kernel = cells
    for place, line in sim.items():
        if place in kernel and line[-1] and kernel[place][-1]:
            published = float(line[3]) if line[3] else None
            work.cells.append(
                WorkCell(place[0], published, float(line[-1]), float(kernel[place][-1]))
            )
    by_name = {goal[CRITERION]: goal for goal in goals[1]}
    for goal in goals[0]:
        other = by_name.get(goal[CRITERION])
        if other and goal["within"] and other["within"] and goal["cells"] == other["cells"]:
            within = [goal["within"], other["within"]]
            work.goals.append((goal[CRITERION], goal["limit"], goal["cells"], within))


def table_of(report: Path) -> Iterator[str]:
    """Yield the lines of a report's table of differences between the engines. Yield nothing if the
    report does not have this table."""
    lines = iter(report.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line == BESIDE:
            next(lines)
            for row in lines:
                if not row.startswith("|"):
                    return
                yield row


def by_cell(text: str, name: str) -> Iterator[list[str]]:
    """Yield for each value in a CSV: part, rest of the id, quantity, published and measured
    value."""
    for line in csv.DictReader(text.splitlines()):
        part, _, rest = line["id"].partition("/")
        if name in BY_QUANTITY:
            part, rest = line["quantity"], line["id"]
        yield [part, rest, line["quantity"], line["published"], line["measured"]]


def page(works: list[Work]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield INTRODUCTION
    yield measured(work.folder for work in works)
    yield ERRORS
    yield HEAD
    for work in works:
        for part in dict.fromkeys(cell.part for cell in work.cells):
            yield row(work, part, [cell for cell in work.cells if cell.part == part])
    yield ""
    names = dict.fromkeys(work.name for work in works)
    yield "\n".join(NOTES[name] for name in names if name in NOTES)
    if any(isinstance(experiments.get(name), Versions) for name in names):
        yield VERSIONS
    if any(work.goals for work in works):
        yield CRITERIA
        yield sums(goal for work in works for goal in work.goals)
        yield CRITERIA_HEAD
        for work in works:
            for criterion, limit, cells, within in work.goals:
                yield f"| {work.name} | {work.runs} | {criterion} | {limit} | {cells} | " + (
                    " | ".join(within) + " |"
                )
        yield ""
    for work in works:
        if work.figures and work.runs == "quick":
            yield FIGURES.format(name=work.name)
            yield "\n".join(work.figures)
            yield ""
    yield COSTS
    yield COSTS_HEAD
    for work in works:
        for engine in ENGINES:
            seconds = list(costs(work.folder, engine))
            yield f"| {work.name} | {work.runs} | {engine} | {len(seconds)} | " + (
                f"{math.fsum(seconds):.0f} s |"
            )


def sums(goals: Iterable[tuple[str, str, str, list[str]]]) -> str:
    """Return how many values are within their limits on each engine, over all goals."""
    cells, sim, kernel = 0, 0, 0
    for _, _, count, within in goals:
        cells += int(count)
        sim += int(within[0])
        kernel += int(within[1])
    return (
        f"In total, {sim} of {cells} values are within their limits in the simulator, and {kernel} "
        f"on "
        "Linux.\n"
    )


def measured(folders: Iterable[Path]) -> str:
    """Return the date of the page, and the versions of the engines that made its runs."""
    versions: dict[str, set[str]] = {}
    for folder in folders:
        for file in (folder / "runs").glob("*/manifest.json"):
            manifest = json.loads(file.read_text(encoding="utf-8"))
            release, _, build = manifest["engine_version"].partition("+")
            # Remove the version's suffix after a dot, which depends on the modules that a run
            # loads.
            whole = f"{release}+{build.partition('.')[0]}"
            versions.setdefault(manifest["engine"], set()).add(whole)
    sim, kernel = (", ".join(sorted(versions.get(engine, ()))) for engine in ENGINES)
    today = datetime.now(UTC).date()
    return (
        f"The page was printed on {today:%-d %B %Y}, with the simulator `{sim}` and Linux "
        f"`{kernel}`.\n"
    )


def costs(out: Path, engine: str) -> Iterator[float]:
    """Yield the processor time of every run of an engine in a results folder, in s."""
    for file in sorted((out / "runs").glob("*/timing.json")):
        manifest = json.loads(file.with_name("manifest.json").read_text(encoding="utf-8"))
        if manifest["engine"] == engine:
            yield json.loads(file.read_text(encoding="utf-8"))["cpu_s"]


def row(work: Work, part: str, cells: list[WorkCell]) -> str:
    """Return a row of the table, with medians and 90th percentiles of absolute errors in
    percent."""
    held = [cell for cell in cells if cell.published]
    errors = [
        shown(abs(value / cell.published - 1) for value, cell in values if cell.published)
        for values in ([(c.sim, c) for c in held], [(c.kernel, c) for c in held])
    ]
    apart = shown(abs(cell.kernel / cell.sim - 1) for cell in cells if cell.sim)
    words = [work.name, part, work.runs, str(len(cells)), *errors, apart]
    return "| " + " | ".join(words) + " |"


def shown(sizes: Iterable[float]) -> str:
    """Return median and 90th percentile of absolute errors as text. Empty without errors."""
    known = [100 * size for size in sizes if math.isfinite(size)]
    if not known:
        return ""
    return f"{median(known):.1f} % / {nearest_rank(known, 0.9):.1f} %"


if __name__ == "__main__":
    main()
