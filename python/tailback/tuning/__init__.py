"""`tailback.tune`: values of a scenario that make some metrics small and others large.

Optuna searches; it is an extra, and loaded with the first search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailback.base import arguments, folders
from tailback.base import progress as bars
from tailback.errors import InputError
from tailback.running import scenarios
from tailback.store import layout

if TYPE_CHECKING:
    from tailback.tuning.plan import Plan, Values
    from tailback.tuning.result import Tuned


def tune(
    scenario: scenarios.Source,
    vary: Mapping[str, object],
    *,
    minimise: Sequence[str] = (),
    maximise: Sequence[str] = (),
    subject_to: Sequence[str] = (),
    over: Mapping[str, object] | None = None,
    runs: int = 300,
    seeds: int | None = None,
    unseen: int | None = None,
    across: str = "mean",
    sampler: str = "tpe",
    seed: int = 0,
    batch: int | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the word of the command line)
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    engine: str = "sim",
    crates: Sequence[Path | str] = (),
) -> Tuned:
    """Searches for the values of a scenario that are best.

    `vary` has for each path a range, `"1ms..30ms"`, or choices. `minimise` and `maximise` name
    metrics (`METRIC` or `METRIC@NAME` of a flow, link or class); of several goals the result is a
    Pareto front. `subject_to` has bounds, `"jain>=0.9"`. Every candidate is tried at the points of
    `over` (default: the file's own sweep) with so many `seeds`; a number is the mean over seeds and
    points, or that of the worst point (`across="worst"`). `runs` is how many the search takes in
    all. At the end the front and the scenario as it is are run on `unseen` seeds that the search
    did not see.

    The same `seed` gives the same result, whatever `jobs` is; what was killed goes on where it was.
    Needs `tailback[tune]`.
    """
    found = scenarios.texts(arguments.table("set", set or {}, "of paths and values"))
    return tune_asked(
        scenario,
        vary=arguments.table("vary", vary, "of paths and ranges"),
        minimise=arguments.names("minimise", minimise),
        maximise=arguments.names("maximise", maximise),
        subject_to=arguments.names("subject_to", subject_to),
        over=arguments.table("over", over or {}, "of paths and values"),
        runs=arguments.count("runs", runs),
        seeds=None if seeds is None else arguments.count("seeds", seeds),
        unseen=None if unseen is None else arguments.count("unseen", unseen),
        across=across,
        sampler=sampler,
        seed=arguments.count("seed", seed, least=0),
        batch=None if batch is None else arguments.count("batch", batch),
        sets=found,
        jobs=jobs,
        out=out,
        progress=progress,
        engine=engine,
        crates=crates,
    )


def tune_asked(
    scenario: scenarios.Source,
    *,
    vary: Mapping[str, object],
    minimise: Sequence[str],
    maximise: Sequence[str],
    subject_to: Sequence[str],
    over: Mapping[str, object],
    runs: int,
    seeds: int | None,
    unseen: int | None,
    across: str,
    sampler: str,
    seed: int,
    batch: int | None,
    sets: Sequence[tuple[str, str]],
    jobs: int | None,
    out: Path | str | None,
    progress: bool | None,
    engine: str,
    crates: Sequence[Path | str] = (),
) -> Tuned:
    """As `tune`, with values to set as text."""
    from tailback.tuning import plan as plans
    from tailback.tuning import search

    search.require()
    if seed >= 2**32:
        raise InputError(f"--seed {seed}: expected a number below {2**32}")
    plan = plans.make(
        scenario,
        vary=vary,
        minimise=minimise,
        maximise=maximise,
        subject_to=subject_to,
        over=over,
        runs=runs,
        seeds=seeds,
        unseen=plans.UNSEEN if unseen is None else unseen,
        across=across,
        sampler=sampler,
        seed=seed,
        batch=plans.BATCH if batch is None else batch,
        sets=sets,
        engine=engine,
        crates=crates,
    )
    root = Path(arguments.path("out", out)) if out is not None else layout.DEFAULT
    return _tuned(plan, root, jobs, progress)


def _tuned(plan: Plan, root: Path, jobs: int | None, progress: bool | None) -> Tuned:
    from dataclasses import replace

    from tailback.tuning import page, scenario, search
    from tailback.tuning.measure import Measured, measure
    from tailback.tuning.result import Point, Tuned, chosen

    folder = root / "tunings" / plan.id
    base: list[Measured] = []

    def measured(candidates: Sequence[Values], start: int, total: int) -> list[Measured]:
        # The defaults with the first batch: they are a part of the picture.
        batches = [candidates] if base else [candidates, []]
        last = min(start + len(candidates), total)
        with bars.within(f"candidates {start + 1} to {last} of {total}"):
            done = measure(plan, batches, jobs=jobs, out=root, progress=progress)
        if not base:
            base.extend(done[1])
        return done[0]

    folder.parent.mkdir(parents=True, exist_ok=True)
    with folders.scratch(folder.parent) as scratch:
        journal = scratch / search.JOURNAL
        tried = search.search(plan, measured, journal)
        text = journal.read_text(encoding="utf-8")
    first = plan.goals[0]
    front = sorted(
        (one for one in tried if one.front),
        key=lambda one: (one.measured.value(first.text), one.number),
    )
    if base[0].fault:
        raise InputError(f"the scenario as it is: {base[0].fault}")
    picked = chosen(front)
    batches: list[list[Values]] = [[], [front[i].values for i in picked]]
    with bars.within(f"{len(picked)} points on {plan.unseen} unseen seeds"):
        done = measure(
            plan,
            batches if picked else batches[:1],
            jobs=jobs,
            out=root,
            progress=progress,
            seed=plan.seed + plan.seeds,
            seeds=plan.unseen,
        )
    if done[0][0].fault:
        raise InputError(f"the scenario as it is, on unseen seeds: {done[0][0].fault}")
    again = dict(zip(picked, done[1] if picked else [], strict=True))
    points = [
        Point(
            i + 1,
            one,
            again[i] if i in again and not again[i].fault else None,
            done[0][0],
        )
        for i, one in enumerate(front)
    ]
    made = Tuned(plan, tried, base[0], done[0][0], points, folder)
    files = {
        search.JOURNAL: text,
        "tuning.json": json.dumps(made.to_dict(), indent=1) + "\n",
        **{
            point.file: scenario.text(plan, point.values, page.heading(made, point))
            for point in points
        },
    }
    made = replace(made, files=files)
    page.write(made)
    return made
