"""Prints how published experiments come out on the simulator and on Linux, a row for each part.

    python scripts/kernel_works.py dualpi2-2022 dualpi2-2019-wrr --quick --out results

Runs what is not stored. Errors are of published numbers; where nothing is published, the difference
of the engines remains. Both engines run the same scenarios, with the congestion controls of Linux.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tailback.base import toml
from tailback.comparison.variants import Variant
from tailback.metrics.statistics import median, nearest_rank
from tailback.running.options import RunOptions
from tailback_studies import batteries, experiments
from tailback_studies.batteries.side_by_side import run_battery
from tailback_studies.experiments.versions import Versions
from tailback_studies.reproduction.experiment import ALL_CELLS

ENGINES = ("sim", "kernel")
HEAD = (
    "| experiment | part | cells | error, simulator | error, Linux | difference of the engines |\n"
    "|---|---|---|---|---|---|"
)

COST = "| engine | runs in the folder | processor time |\n|---|---|---|"


@dataclass(frozen=True)
class WorkCell:
    """A cell that both engines have measured."""

    part: str
    published: float | None
    sim: float
    kernel: float


def main() -> None:
    """Print the table of the experiments named, and what their runs cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=experiments.NAMES)
    parser.add_argument("--quick", action="store_true", help="shorter runs and fewer points")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--seeds", type=int)
    asked = parser.parse_args()
    print(HEAD)
    for name in asked.names:
        options = RunOptions(out=asked.out, seeds=asked.seeds, progress=False)
        experiment = experiments.get(name)
        if isinstance(experiment, Versions):
            cells = list(of_versions(experiment, options, quick=asked.quick))
        else:
            cells = list(of_reports(name, options, quick=asked.quick))
        for part in dict.fromkeys(cell.part for cell in cells):
            print(row(name, part, [cell for cell in cells if cell.part == part]))
    print(f"\n{COST}")
    for engine in ENGINES:
        seconds = list(costs(asked.out, engine))
        print(f"| {engine} | {len(seconds)} | {math.fsum(seconds):.0f} s |")


def of_versions(study: Versions, options: RunOptions, *, quick: bool) -> Iterator[WorkCell]:
    """Run every version on both engines, in one battery."""
    variants = [
        Variant(f"{name} {engine}", {p: toml.value(v) for p, v in sets.items()}, engine)
        for name, sets in study.versions.items()
        for engine in ENGINES
    ]
    made = run_battery(
        batteries.get(study.battery),
        variants,
        replace(options, seeds=options.seeds or 1),
        presets=study.presets,
        base=study.base_on("kernel"),
        quick=quick,
    )
    for cell in made.cells:
        for name in study.versions:
            sim, kernel = (cell.values[f"{name} {engine}"].mean for engine in ENGINES)
            if sim is not None and kernel is not None:
                yield WorkCell(f"{cell.params['part']}, {cell.quantity}", None, sim, kernel)


def of_reports(name: str, options: RunOptions, *, quick: bool) -> Iterator[WorkCell]:
    """Reproduce the experiment on both engines; its cells by the first word of their ids."""
    found = []
    for engine in ENGINES:
        done = experiments.get(name).run(None, replace(options, engine=engine), quick=quick)
        text = (done.report_dir / ALL_CELLS).read_text(encoding="utf-8")
        found.append({tuple(line[:3]): line for line in by_cell(text)})
    sim, kernel = found
    for place, line in sim.items():
        if place in kernel and line[-1] and kernel[place][-1]:
            published = float(line[3]) if line[3] else None
            yield WorkCell(place[0], published, float(line[-1]), float(kernel[place][-1]))


def costs(out: Path, engine: str) -> Iterator[float]:
    """Yield the processor time of every run of an engine in a folder of results, s."""
    for file in sorted((out / "runs").glob("*/timing.json")):
        manifest = json.loads(file.with_name("manifest.json").read_text(encoding="utf-8"))
        if manifest["engine"] == engine:
            yield json.loads(file.read_text(encoding="utf-8"))["cpu_s"]


def by_cell(text: str) -> Iterator[list[str]]:
    """Yield part, the rest of the id, quantity, published and measured of each cell of a CSV."""
    for line in csv.DictReader(text.splitlines()):
        place = line.get("id") or "/".join(line[key] for key in ("archive", "case", "column"))
        part, _, rest = place.partition("/")
        yield [part, rest, line.get("quantity", ""), line["published"], line["measured"]]


def row(name: str, part: str, cells: list[WorkCell]) -> str:
    """A row of the table: medians and 90th percentiles of sizes, in percent."""
    held = [cell for cell in cells if cell.published]
    errors = [
        shown(abs(value / cell.published - 1) for value, cell in values if cell.published)
        for values in ([(c.sim, c) for c in held], [(c.kernel, c) for c in held])
    ]
    apart = shown(abs(cell.kernel / cell.sim - 1) for cell in cells if cell.sim)
    return f"| {name} | {part} | {len(cells)} | {errors[0]} | {errors[1]} | {apart} |"


def shown(sizes: Iterable[float]) -> str:
    """Median and 90th percentile of some sizes; nothing if there are none."""
    known = [100 * size for size in sizes if math.isfinite(size)]
    if not known:
        return ""
    return f"{median(known):.1f} % / {nearest_rank(known, 0.9):.1f} %"


if __name__ == "__main__":
    main()
