""" "Alternative Backoff: Achieving Low Latency and High Throughput with ECN and AQM" (2017)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.experiments import ReproduceResult, known_parts
from tailback.experiments.abe_2017.layout import KERNEL_PARTS, PARTS, kernel_only

if TYPE_CHECKING:
    from tailback.results import Results
    from tailback.running import Job


class Abe2017:
    """The experiment."""

    name = "abe-2017"
    title = (
        "Alternative Backoff: Achieving Low Latency and High Throughput with ECN and AQM: "
        "Khademi, Armitage, Welzl, Zander, Fairhurst, Ros, 2017"
    )
    doc = "What a sender gains by a gentler backoff on marks than on losses, and what it costs."
    parts: Sequence[str] = tuple(PARTS)

    def run(
        self,
        parts: Sequence[str] | None,
        *,
        quick: bool,
        seeds: int | None,
        jobs: int | None,
        out: Path,
        progress: bool | None,
        engine: str = "sim",
    ) -> ReproduceResult:
        """Runs the parts, writes the report, compares with theory and the published numbers."""
        chosen = known_parts(parts, self.parts)
        if engine != "sim":
            chosen = kernel_only(chosen, bool(parts), self.name)
        from tailback import run_many
        from tailback.experiments.abe_2017 import (
            enter,
            equal,
            figures,
            groups,
            page,
            short,
            single,
            tradeoff,
            truth,
        )
        from tailback.experiments.abe_2017.cells import Measured, cells
        from tailback.report import summarise, write

        plans: dict[str, list[tuple[Any, Job]]] = {
            "single": list(single.plan(chosen, quick=quick, seeds=seeds, engine=engine))
        }
        if "equal-probability" in chosen:
            plans["equal"] = list(equal.plan(quick=quick))
        if "experiment-5" in chosen:
            plans["enter"] = list(enter.plan(quick=quick, seeds=seeds))
        if "experiment-6" in chosen:
            plans["groups"] = list(groups.plan(quick=quick, seeds=seeds))
        if "experiment-7" in chosen:
            plans["short"] = list(short.plan(quick=quick, seeds=seeds))
        if "trade-off" in chosen:
            plans["tradeoff"] = list(tradeoff.plan(quick=quick, seeds=seeds))
        work = [job for plan in plans.values() for _, job in plan]
        results = run_many(work, jobs=jobs, out=out, progress=progress, engine=engine)
        by_plan: dict[str, list[Results]] = {}
        at = 0
        for name, plan in plans.items():
            by_plan[name] = results[at : at + len(plan)]
            at += len(plan)

        def of(name: str, module: Any) -> Any:
            return module.measured(plans[name], by_plan[name]) if name in plans else ()

        sizes, steps = of("short", short) or ((), ())
        found = Measured(
            single=of("single", single),
            equal=of("equal", equal),
            groups=of("groups", groups),
            sizes=sizes,
            steps=steps,
            enter=of("enter", enter),
            tradeoff=of("tradeoff", tradeoff),
        )
        made = figures.ran(by_plan, quick=quick)
        numbers = cells(found)
        verdicts = truth.verdicts(found)
        name = self.name if chosen == self.parts else "-".join((self.name, *chosen))
        if engine != "sim" and chosen == KERNEL_PARTS:
            name = f"{self.name}-{engine}"
        report = figures.report(found, verdicts, numbers, made, name)
        files = {"abe-2017.md": page.page(report, verdicts)}
        report = figures.with_files(report, files)
        index = write(report, out / "reports" / name)
        summary: list[dict[str, Any]] = list(summarise([cell for cell, _ in numbers]))
        summary += [verdict.json() for verdict in verdicts]
        return ReproduceResult(
            experiment=self.name,
            engine=engine,
            report_dir=index.parent,
            cells=[{**cell.json(), "predicted": predicted} for cell, predicted in numbers],
            summary=summary,
        )


EXPERIMENT = Abe2017()
