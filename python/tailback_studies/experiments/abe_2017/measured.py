"""Plans the runs, and computes measured points from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.running.batch import Job
from tailback_studies.experiments.abe_2017 import enter, equal, groups, short, single, tradeoff
from tailback_studies.reproduction.experiment import Found, Request

Plans = Mapping[str, Sequence[tuple[Any, Job]]]
"""The jobs of each plan. Each job is paired with its point."""


@dataclass(frozen=True)
class AbeMeasures:
    """The measurements of each part of the experiment. If a part did not run, its measurements are
    empty."""

    single: Sequence[single.SinglePoint] = ()
    equal: Sequence[equal.EqualPoint] = ()
    enter: Sequence[enter.EnterPoint] = ()
    groups: Sequence[groups.GroupPoint] = ()
    sizes: Sequence[short.ShortPoint] = ()
    steps: Sequence[short.Steps] = ()
    tradeoff: Sequence[tradeoff.TradeoffPoint] = ()


def plan(request: Request) -> Plans:
    """Return the jobs of the requested parts of the experiment, by the name of their plan."""
    parts, quick, seeds = request.parts, request.quick, request.seeds
    plans: dict[str, Sequence[tuple[Any, Job]]] = {
        "single": single.plan(parts, quick=quick, seeds=seeds, engine=request.engine)
    }
    if "equal-probability" in parts:
        plans["equal"] = equal.plan(quick=quick)
    if "experiment-5" in parts:
        plans["enter"] = enter.plan(quick=quick, seeds=seeds)
    if "experiment-6" in parts:
        plans["groups"] = groups.plan(quick=quick, seeds=seeds)
    if "experiment-7" in parts:
        plans["short"] = short.plan(quick=quick, seeds=seeds)
    if "trade-off" in parts:
        plans["tradeoff"] = tradeoff.plan(quick=quick, seeds=seeds)
    return plans


def measured(plans: Plans, results: Found) -> AbeMeasures:
    """Return the measured points of all plans."""

    def of(name: str, module: Any) -> Any:
        return module.measured(plans[name], results[name]) if name in plans else ()

    sizes, steps = of("short", short) or ((), ())
    return AbeMeasures(
        single=of("single", single),
        equal=of("equal", equal),
        enter=of("enter", enter),
        groups=of("groups", groups),
        sizes=sizes,
        steps=steps,
        tradeoff=of("tradeoff", tradeoff),
    )
