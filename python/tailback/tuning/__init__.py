"""Searches for scenario values that minimise or maximise metrics (`tailback.tune`).

The search uses Optuna, an optional dependency.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from tailback.base import arguments, folders
from tailback.base import progress as bars
from tailback.errors import InputError
from tailback.running import scenarios
from tailback.running.options import RunKeywords, RunOptions
from tailback.tuning.asked import BATCH, UNSEEN, SearchRequest

if TYPE_CHECKING:
    from tailback.tuning.plan import SearchPlan, Values
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
    unseen: int | None = None,
    across: str = "mean",
    sampler: str = "tpe",
    seed: int = 0,
    batch: int | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the option has this name)
    **options: Unpack[RunKeywords],
) -> Tuned:
    """Search for the values of a scenario's keys that give the best results.

    `vary` maps paths of keys to ranges such as `"1ms..30ms"`, or to choices. `minimise` and
    `maximise` name metrics (`METRIC`, or `METRIC@NAME` for one flow, link or class). With several
    goals, the result is a Pareto front. `subject_to` has conditions such as `"jain>=0.9"`. Each
    candidate runs at all sweep points of `over` (default: the file's own sweep), with `seeds`
    seeds. The result of a candidate is the mean over seeds and sweep points. With `across="worst"`,
    the result is the mean over seeds at the worst sweep point. `runs` is the number of runs of the
    search. At the end, the candidates on the front and the unchanged scenario run with `unseen`
    seeds that the search did not use.

    The same `seed` gives the same result with any number of `jobs`. Repeating an interrupted search
    continues it. The other keywords are the same as in `tailback.run`. This function needs
    `tailback[tune]`.
    """
    return tune_asked(
        scenario,
        SearchRequest(
            vary=arguments.table("vary", vary, "of paths and ranges"),
            minimise=arguments.names("minimise", minimise),
            maximise=arguments.names("maximise", maximise),
            subject_to=arguments.names("subject_to", subject_to),
            over=arguments.table("over", over or {}, "of paths and values"),
            runs=arguments.count("runs", runs),
            unseen=UNSEEN if unseen is None else arguments.count("unseen", unseen),
            across=across,
            sampler=sampler,
            seed=arguments.count("seed", seed, least=0),
            batch=BATCH if batch is None else arguments.count("batch", batch),
        ),
        scenarios.texts(arguments.table("set", set or {}, "of paths and values")),
        RunOptions.of(**options),
    )


def tune_asked(
    scenario: scenarios.Source,
    asked: SearchRequest,
    sets: Sequence[tuple[str, str]],
    options: RunOptions,
) -> Tuned:
    """Search like `tune`, with the values of `--set` as TOML text."""
    from tailback.tuning import plan as plans
    from tailback.tuning import search

    search.require()
    if asked.seed >= 2**32:
        raise InputError(f"--seed {asked.seed}: expected a number below {2**32}")
    return _tuned(plans.make(scenario, asked, sets, options), options)


def _tuned(plan: SearchPlan, options: RunOptions) -> Tuned:
    from dataclasses import replace

    from tailback.tuning import page, scenario, search
    from tailback.tuning.measure import MeasuredCandidate, measure
    from tailback.tuning.result import Point, Tuned, chosen

    folder = options.out / "tunings" / plan.id
    base: list[MeasuredCandidate] = []

    def measured(candidates: Sequence[Values], start: int, total: int) -> list[MeasuredCandidate]:
        # Run the unchanged scenario together with the first batch, because the report compares the
        # front with the unchanged scenario.
        batches = [candidates] if base else [candidates, []]
        last = min(start + len(candidates), total)
        with bars.within(f"candidates {start + 1} to {last} of {total}"):
            done = measure(plan, batches, options)
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
        (candidate for candidate in tried if candidate.front),
        key=lambda candidate: (candidate.measured.value(first.text), candidate.number),
    )
    if base[0].fault:
        raise InputError(f"the unchanged scenario: {base[0].fault}")
    picked = chosen(front)
    batches: list[list[Values]] = [[], [front[i].values for i in picked]]
    with bars.within(f"{len(picked)} points on {plan.unseen} unseen seeds"):
        done = measure(
            plan,
            batches if picked else batches[:1],
            options,
            seed=plan.seed + plan.seeds,
            seeds=plan.unseen,
        )
    if done[0][0].fault:
        raise InputError(f"the unchanged scenario, on unseen seeds: {done[0][0].fault}")
    again = dict(zip(picked, done[1] if picked else [], strict=True))
    points = [
        Point(
            i + 1,
            candidate,
            again[i] if i in again and not again[i].fault else None,
            done[0][0],
        )
        for i, candidate in enumerate(front)
    ]
    tuning = Tuned(plan, tried, base[0], done[0][0], points, folder)
    files = {
        search.JOURNAL: text,
        "tuning.json": json.dumps(tuning.to_dict(), indent=1) + "\n",
        **{
            point.file: scenario.text(plan, point.values, page.heading(tuning, point))
            for point in points
        },
    }
    tuning = replace(tuning, files=files)
    page.write(tuning)
    return tuning
