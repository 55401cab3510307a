"""What the source leaves open: each reading tried by itself, and what that does to the errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tailback.experiments.dualpi2_2022 import points, truth
from tailback.experiments.dualpi2_2022.layout import OVERLOAD, RUNS, Run, published_runs
from tailback.experiments.dualpi2_2022.points import Entry, Variant
from tailback.report import Block, Facts, Section, Table, Text, Value
from tailback.report.tables import right, words
from tailback.reproduction.experiment import Found
from tailback.reproduction.readings import BASELINE, Reading, before_and_after
from tailback.reproduction.shown import goals_table, size
from tailback.running import Job


def _on(aqm: str, kind: str = "") -> Callable[[Run], bool]:
    return lambda run: run.archive.aqm == aqm and (not kind or run.archive.kind == kind)


TRIED: tuple[Reading[Variant, Run], ...] = (
    Reading(
        "wire",
        'a packet\'s delay ends at the end of its slot of the one before (`link = "wire"`)',
        Variant(set={"bottleneck.link": "wire"}),
    ),
    Reading(
        "udp-frames",
        "iperf's rate counts frames",
        Variant(udp_overhead=1.0),
        lambda run: run.archive.kind == OVERLOAD,
    ),
    Reading(
        "all-active",
        "all five flows of each class are active",
        Variant(all_active=True),
        lambda run: run.archive.kind == OVERLOAD,
    ),
    Reading(
        "longer", "the test bed itself adds 0.6 ms to every round-trip time", Variant(longer=0.6)
    ),
    Reading("no-lead", "flows start when the source begins to count its time", Variant(before=0.0)),
    Reading(
        "later",
        "the classic flows start 1 s later",
        Variant(later=1.0),
        lambda run: run.rtt_nonecn > 0,
    ),
    Reading(
        "no-hystart",
        "CUBIC leaves slow start at losses and marks only (`hystart = false`)",
        Variant(ccs={"cubic": {"hystart": False}}),
        lambda run: run.rtt_nonecn > 0 or run.archive.ccs[0] == "cubic",
    ),
    Reading(
        "fq",
        'the hosts\' queue is fq, which paces (`pacing = "fq"`)',
        Variant(set={"tcp.pacing": "fq"}),
    ),
    Reading(
        "no-delack",
        "every segment is acknowledged (`delack = false`)",
        Variant(set={"tcp.delack": False}),
    ),
    Reading(
        "jitter",
        "hosts delay packets by up to 0.1 ms, in order (`host_jitter`)",
        Variant(set={"host_jitter": "100us"}),
    ),
    Reading(
        "carry",
        'Prague\'s window changes by whole segments, as in its first commits (`window = "carry"`)',
        Variant(ccs={"prague": {"window": "carry"}}),
        _on("dualpi2"),
    ),
    Reading(
        "hz-1000",
        "PIE's update every 16 ms, as a kernel of 1000 Hz has it (`tupdate` 15 ms)",
        Variant(queue={"pie": {"tupdate": "15ms"}}),
        _on("pie"),
    ),
    Reading(
        "dq-rate",
        "PIE estimates the delay from the departure rate (`dq_rate_estimator`)",
        Variant(queue={"pie": {"dq_rate_estimator": True}}),
        _on("pie"),
    ),
    Reading(
        "fq-codel-20ms",
        "FQ-CoDel's target is the 20 ms in the name of the runs",
        Variant(queue={"fq_codel": {"target": "20ms"}}),
        _on("fq_codel"),
    ),
    Reading(
        "refactored",
        'DualPI2 as refactored in 2019 (`version = "dualpi2-2019-refactored"`)',
        Variant(queue={"dualpi2": {"version": "dualpi2-2019-refactored"}}),
        _on("dualpi2"),
    ),
    Reading(
        "printed-gains",
        "DualPI2's gains are those that tc prints (40/256 and 818/256)",
        Variant(queue={"dualpi2": {"alpha": 0.15625, "beta": 3.1953125}}),
        _on("dualpi2"),
    ),
    Reading(
        "step-always",
        "the step is for every packet of L, as in Linux 6.17 (`min_qlen_step = 0`)",
        Variant(queue={"dualpi2": {"min_qlen_step": 0}}),
        _on("dualpi2"),
    ),
    Reading(
        "half-gains",
        'the gains of the arithmetic that divides by 127 (`arithmetic = "div127"`)',
        Variant(queue={"dualpi2": {"arithmetic": "div127"}}),
        _on("dualpi2"),
    ),
)


def plan(*, quick: bool) -> dict[str, list[Run]]:
    """The runs that each reading concerns, all published ones for the baseline."""
    known = [run for run in RUNS if run in published_runs()]
    if quick:
        known = known[::3]
    concerned = {one.id: [run for run in known if one.concerns(run)] for one in TRIED}
    return {BASELINE: known, **concerned}


def jobs(planned: Mapping[str, Sequence[Run]], *, quick: bool, seeds: int) -> dict[str, list[Job]]:
    """What to run for them."""
    seconds = points.QUICK_SECONDS if quick else points.SECONDS
    variants = {BASELINE: points.AS_PUBLISHED, **{one.id: one.variant for one in TRIED}}
    return {
        name: [points.job(r, seeds=seeds, seconds=seconds, variant=variants[name]) for r in runs]
        for name, runs in planned.items()
    }


def measured(planned: Mapping[str, Sequence[Run]], results: Found) -> dict[str, list[Entry]]:
    """The cells of each reading."""
    return {
        name: truth.judged(points.entries(runs, results[name])) for name, runs in planned.items()
    }


def sections(found: Mapping[str, Sequence[Entry]], facts: Facts) -> list[Section]:
    """The set-up as it is, then each reading, as sections of a report."""
    blocks: list[Block] = [Text(READ)]
    blocks += [_table(one, found) for one in TRIED if one.id in found]
    goals = goals_table(truth.judged_goals(found[BASELINE]), facts)
    return [
        Section("baseline", "The set-up of the reproduction", [goals]),
        Section("readings", "Readings", blocks),
        Section("findings", "What decides what", [Text(FINDINGS)]),
    ]


READ = (
    "What the source does not say has been settled by mechanism, once for all rows. Each table has "
    "one reading changed: cells within their goal, the median and the largest error, in the set-up "
    "of the reproduction \u2192 with the change, of the same published cells. Errors that rise "
    "speak for the set-up; goals whose errors do not change are left out."
)

FINDINGS = (
    "**PIE's clock.** PIE counts its update in jiffies and the timer wheel adds one. On a kernel "
    "of 250 Hz its 15 ms are 20 ms, and mean delays are nearer to the source in every row than "
    "with 16 ms, what a kernel of 1000 Hz makes of it.\n\n**Idle flows.** Of the source's five "
    "flows in each class not all have packets: its rates per flow are 0 in more than 1 % of all "
    "samples (one of five idle) or more than 25 % (two). With as many active flows as they show, "
    "marks in L, drops in C and rates agree; with five and five L is marked 40 % more often than "
    "in the source. What W sqrt(p) of the classic flows is low in the source's means is that: of "
    "the active ones it is that of Linux.\n\n**A head start.** A queue with a step of 1 ms marks "
    "the first window of a flow, and TCP Prague goes on with one segment in each round-trip time: "
    "at 100 ms it needs 33 s to fill 40 Mbit/s. In the source it fills them in each sample, so its "
    "flows were not new.\n\n**DualPI2's module.** The one for 5.10 has the gains of Linux 6.17, "
    "which tc prints cut, and the step only for packets that find two more in L.\n\n**The "
    "coupling.** With two flows p_C is 1.2 to 3 times (p_L/2)\u00b2, in the source as here: p "
    "varies, and C meets the mean of its square.\n\n**Prague's window.** Version 0.6 is a year of "
    "commits. Where its window is a fraction that is rounded up, it yields sooner than where a "
    "segment is taken once a whole one has come together, and rates and marks are nearer to the "
    "source wherever CUBIC's round-trip time is the longer one.\n\n**What stays open.** Where "
    "CUBIC has 50 or 100 ms beside Prague's 5 ms, C's queue is longer in the mean than in the "
    "source. Beyond what UDP leaves of the link, the mean of the queue that is not at the target "
    "is larger by a fifth to two fifths; it is below 1.3 ms."
)


TITLE = "DualPI2 in 2022: what the source leaves open"
LEAD = (
    "How the numbers published with \u201cDual Queue Coupled AQM\u201d (2022) are measured again, "
    "and what becomes of the errors if what the source leaves open is read otherwise. "
    "`tailback reproduce dualpi2-2022 --part readings` writes this page beside its report."
)


def _table(reading: Reading[Variant, Run], found: Mapping[str, Sequence[Entry]]) -> Table:
    own, changed = before_and_after(found, reading)
    before = {v.goal.id: v for v in truth.verdicts(own)}
    after = {v.goal.id: v for v in truth.verdicts(changed)}
    rows: list[list[Value]] = []
    for goal in truth.GOALS:
        old, new = before.get(goal.id), after.get(goal.id)
        if old is None or new is None or (old.median, old.worst) == (new.median, new.worst):
            continue
        rows.append(
            [
                goal.title,
                new.cells,
                f"{old.within} \u2192 {new.within}",
                f"{size(old.median, goal.kind)} \u2192 {size(new.median, goal.kind)}",
                f"{size(old.worst, goal.kind)} \u2192 {size(new.worst, goal.kind)}",
            ]
        )
    columns = [*words(""), *right("cells", "within", "median error", "largest")]
    title = reading.title[:1].upper() + reading.title[1:]
    return Table(f"reading-{reading.id}", title, columns, rows, "")
