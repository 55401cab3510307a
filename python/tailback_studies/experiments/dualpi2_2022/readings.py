"""Runs the experiment again with alternative set-ups ("readings").

Each alternative changes one parameter of the set-up. For each alternative, a table shows how the
errors change.

`CHANGES` undoes corrections of the set-up one at a time, and also all of them at once. We made
these corrections because the publication's files showed that our first set-up differed from the
publication. `TRIED` varies details that the publication does not state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tailback.report import Block, Table, Text, Value
from tailback.report.tables import right, words
from tailback.running.batch import Job
from tailback_studies.experiments.dualpi2_2022 import points, truth
from tailback_studies.experiments.dualpi2_2022.layout import (
    MIXED,
    OVERLOAD,
    RTTS_ECN,
    RUNS,
    Run,
    published_runs,
)
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry, DualPi2Variant
from tailback_studies.reproduction.experiment import Found
from tailback_studies.reproduction.readings import BASELINE, Reading, before_and_after
from tailback_studies.reproduction.shown import size

Read = Reading[DualPi2Variant, Run]


def _on(aqm: str, *kinds: str) -> Callable[[Run], bool]:
    return lambda run: run.archive.aqm == aqm and (not kinds or run.archive.kind in kinds)


def _kind(kind: str) -> Callable[[Run], bool]:
    return lambda run: run.archive.kind == kind


_COUPLED = _on("dualpi2", MIXED)


def _short(run: Run) -> bool:
    """Return whether a Prague flow with the shortest RTT competes with a flow in C. The delay of
    C's queue in such runs is unexplained.
    """
    return _COUPLED(run) and run.rtt_ecn == min(RTTS_ECN) and run.rtt_nonecn > 0


_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "dualpi2": {"limit": "10000p"},
    "pie": {"limit": "1000p", "tupdate": "19ms"},
    "fq_codel": {"limit": "10240p"},
}

CHANGES: tuple[Read, ...] = (
    Reading(
        "former",
        "everything as it was before the publication's files were read",
        DualPi2Variant(
            set={"tcp.pacing": "auto", "bottleneck.burst": "0b"},
            queue=_DEFAULTS,
            any_ect=False,
            recorder=False,
            active="general",
        ),
    ),
    Reading(
        "delays",
        "delays unchanged, not as the publication's recorder computes them",
        DualPi2Variant(recorder=False),
    ),
    Reading(
        "unpaced",
        'the hosts\' queue paces no CUBIC (`pacing = "auto"`)',
        DualPi2Variant(set={"tcp.pacing": "auto"}),
        _kind(MIXED),
    ),
    Reading(
        "segments",
        'the hosts\' queue paces every segment by itself (`pacing = "fq"`)',
        DualPi2Variant(set={"tcp.pacing": "fq"}),
        _kind(MIXED),
    ),
    Reading(
        "no-burst",
        'the shaper has no burst (`burst = "0b"`)',
        DualPi2Variant(set={"bottleneck.burst": "0b"}),
        _COUPLED,
    ),
    Reading(
        "hz-250",
        "PIE's `tupdate 16ms` in jiffies of 4 ms; the timer wheel adds one",
        DualPi2Variant(queue={"pie": {"tupdate": "19ms"}}),
        _on("pie"),
    ),
    Reading(
        "general",
        "with UDP of `140` Mbit/s in L, as many flows have packets as in the other rows",
        DualPi2Variant(active="general"),
        lambda run: run.active != run.active_by_class,
    ),
)
"""Alternative set-ups that undo corrections. The first alternative undoes all corrections, and each
further alternative undoes one correction."""

TRIED: tuple[Read, ...] = (
    Reading(
        "paced",
        "Prague paces by its window with the fraction, as commits of its version do "
        '(`pace = "fraction"`)',
        DualPi2Variant(ccs={"prague": {"pace": "fraction"}}),
        _on("dualpi2"),
    ),
    Reading(
        "carry",
        "Prague's window changes by whole segments, as in the first commits of its version "
        '(`window = "carry"`)',
        DualPi2Variant(ccs={"prague": {"window": "carry"}}),
        _on("dualpi2"),
    ),
    Reading(
        "all-active",
        "all flows of each class have packets",
        DualPi2Variant(active="all"),
        _kind(OVERLOAD),
    ),
    Reading(
        "longer",
        "the test bed itself adds `0.6ms` to every round-trip time",
        DualPi2Variant(longer=0.6),
        _short,
    ),
    Reading(
        "no-lead",
        "flows start when the publication begins to count its time",
        DualPi2Variant(before=0.0),
        lambda run: _COUPLED(run) and run.rtt_ecn == max(RTTS_ECN),
    ),
    Reading(
        "no-hystart",
        "CUBIC leaves slow start at losses and marks only (`hystart = false`)",
        DualPi2Variant(ccs={"cubic": {"hystart": False}}),
        _short,
    ),
    Reading(
        "cubic-only",
        "CUBIC without its Reno-friendly region (`tcp_friendliness = false`)",
        DualPi2Variant(ccs={"cubic": {"tcp_friendliness": False}}),
        _short,
    ),
    Reading(
        "no-delack",
        "every segment is acknowledged (`delack = false`)",
        DualPi2Variant(set={"tcp.delack": False}),
        _short,
    ),
    Reading(
        "jitter",
        "hosts delay packets by up to `100us`, in order (`host_jitter`)",
        DualPi2Variant(set={"host_jitter": "100us"}),
        _short,
    ),
    Reading(
        "bursts",
        "Prague's packets leave four at a time (`min_burst = 4`)",
        DualPi2Variant(ccs={"prague": {"min_burst": 4}}),
        _short,
    ),
    Reading(
        "wheel",
        'DualPI2\'s update comes with the timer wheel of a kernel of 250 Hz (`tupdate = "20ms"`)',
        DualPi2Variant(queue={"dualpi2": {"tupdate": "20ms"}}),
        _short,
    ),
    Reading(
        "refactored",
        'DualPI2 of 2019, with half the gains (`version = "dualpi2-2019-refactored"`)',
        DualPi2Variant(queue={"dualpi2": {"version": "dualpi2-2019-refactored"}}),
        _short,
    ),
)
"""Alternative set-ups for details that the publication does not state."""

EVERY: tuple[Read, ...] = (*CHANGES[1:], *TRIED, CHANGES[0])
"""All alternative set-ups in the order in which they run. The alternative with the most runs comes
last."""


def plan(*, quick: bool) -> dict[str, list[Run]]:
    """Return the runs to repeat with each alternative. The baseline repeats all published runs."""
    known = [run for run in RUNS if run in published_runs()]
    if quick:
        known = known[::3]
    concerned = {one.id: [run for run in known if one.concerns(run)] for one in EVERY}
    return {BASELINE: known, **concerned}


def _same_runs(variant: DualPi2Variant) -> bool:
    """Return whether the variant changes only the evaluation, so that the baseline's runs can be
    reused."""
    return variant == DualPi2Variant(recorder=False)


def jobs(planned: Mapping[str, Sequence[Run]], *, quick: bool, seeds: int) -> dict[str, list[Job]]:
    """Return the jobs of each alternative."""
    seconds = points.QUICK_SECONDS if quick else points.SECONDS
    variants = {BASELINE: points.AS_PUBLISHED, **{one.id: one.variant for one in EVERY}}
    return {
        name: [points.job(r, seeds=seeds, seconds=seconds, variant=variants[name]) for r in runs]
        for name, runs in planned.items()
        if not _same_runs(variants[name])
    }


def measured(planned: Mapping[str, Sequence[Run]], results: Found) -> dict[str, list[DualPi2Entry]]:
    """Return the values measured with each alternative."""
    variants = {BASELINE: points.AS_PUBLISHED, **{one.id: one.variant for one in EVERY}}
    return {
        name: truth.judged(
            points.entries(runs, results.get(name, results[BASELINE]), variants[name])
        )
        for name, runs in planned.items()
    }


def tables(found: Mapping[str, Sequence[DualPi2Entry]], wanted: Iterable[Read]) -> list[Block]:
    """Return a table for each alternative, which shows how the errors of each goal change."""
    return [_table(one, found) for one in wanted if found.get(one.id)]


def _table(reading: Read, found: Mapping[str, Sequence[DualPi2Entry]]) -> Block:
    own, changed = before_and_after(found, reading)
    before = {judge.judge: judge for judge in truth.judged_goals(own)}
    after = {judge.judge: judge for judge in truth.judged_goals(changed)}
    rows: list[list[Value]] = []
    for goal in truth.GOALS:
        old, new = before.get(goal.title), after.get(goal.title)
        if old is None or new is None or (old.median, old.p90) == (new.median, new.p90):
            continue
        rows.append(
            [
                goal.title,
                new.cells,
                f"{old.within} \u2192 {new.within}",
                f"{size(old.median, goal.kind)} \u2192 {size(new.median, goal.kind)}",
                f"{size(old.p90, goal.kind)} \u2192 {size(new.p90, goal.kind)}",
            ]
        )
    title = reading.title[:1].upper() + reading.title[1:]
    if not rows:
        return Text(f"**{title}**: no value with a goal changes.")
    # Remove backticks, because a table title cannot contain code.
    title = title.replace("`", "")
    columns = [*words(""), *right("values", "within", "median error", "90th percentile")]
    return Table(f"reading-{reading.id}", title, columns, rows, "")
