"""Counts how often `tailback evaluate` gives the verdict `worse` to an algorithm that is compared
with itself.

    python benches/false_verdicts.py                 200 redraws by RFC 9743, CUBIC against CUBIC
    python benches/false_verdicts.py --suite queue   the same by RFC 7928, CoDel against CoDel
    python benches/false_verdicts.py --parts         the parts of other sources: nsperf, L4S
    python benches/false_verdicts.py --part 5.2.1    only these sections

Runs are stored in `results` and reused. In a redraw, the script draws different seeds for the
tested algorithm and for the reference. The algorithm and the reference each get as many seeds as
the section has with `--quick`. The tested algorithm and the reference thus differ only by chance.
The seeds are drawn from a stock of runs with four times as many seeds. The table counts the
verdicts of each section that compares the tested algorithm with a reference.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tailback.evaluate import cc, queue, subject, suites
from tailback.evaluate.criteria import Against, HarmTo
from tailback.evaluate.model import Request
from tailback.running import scenarios
from tailback.running.batch import run_jobs
from tailback.running.options import RunOptions
from tailback.store.results import Results, Run

POOL = 4
"""Number of seeds to run, as a multiple of the number of seeds that the tested algorithm gets in
one redraw."""

SUITES = {"cc": (cc, "cc", "cubic"), "queue": (queue, "aqm", "codel")}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--suite", choices=SUITES, default="cc")
    arguments.add_argument("--redraws", type=int, default=200)
    arguments.add_argument("--part", action="append", default=[], help="only these sections")
    arguments.add_argument("--parts", action="store_true", help="parts of other sources instead")
    given = arguments.parse_args()
    package, kind, name = SUITES[given.suite]
    options = RunOptions.of()
    request = Request(name, options, quick=True, against=name if kind == "aqm" else None)
    chosen = subject.resolve("cc" if kind == "cc" else "aqm", request)
    sections = package.ASKED if given.parts else package.CRITERIA
    known = [one.id for one in sections if isinstance(one, Against | HarmTo)]
    asked = suites.selected(known, given.part or known)
    criteria = [
        _alike(one) for one in sections if isinstance(one, Against | HarmTo) and one.id in asked
    ]
    jobs = {
        (one.id, which): replace(job, seeds=POOL * one.count(request))
        for one in criteria
        for which, job in one.jobs(package.SCENARIOS, chosen, request).items()
    }
    with scenarios.quiet():
        results = dict(zip(jobs, run_jobs(list(jobs.values()), options), strict=True))
    print("| section | worse, % | no worse, % | undecided, % |\n|---|--:|--:|--:|")
    every: Counter[str] = Counter()
    said: dict[int, set[str]] = {}
    for one in criteria:
        own = {which: found for (section, which), found in results.items() if section == one.id}
        verdicts: Counter[str] = Counter()
        drawn, seeds = random.Random(1), one.count(request)
        for i in range(given.redraws):
            draw = drawn.sample(range(POOL * seeds), 2 * seeds)
            made = _redrawn(own, draw[:seeds], draw[seeds:])
            verdict = one.outcome(chosen, request, made).verdict
            verdicts[verdict] += 1
            said.setdefault(i, set()).add(verdict)
        every += verdicts
        shares = (
            100 * verdicts[word] / given.redraws for word in ("worse", "no worse", "undecided")
        )
        print(f"| {one.id} | " + " | ".join(f"{share:.1f}" for share in shares) + " |")
    total = every.total()
    shares = (100 * every[word] / total for word in ("worse", "no worse", "undecided"))
    print("| all | " + " | ".join(f"{share:.1f}" for share in shares) + " |")
    bad = sum("worse" in words for words in said.values())
    print(f"\nEvaluations with a false verdict: {bad} of {given.redraws}")


def _alike(criterion: Against | HarmTo) -> Against | HarmTo:
    """Return the section with CUBIC as the only incumbent, so that CUBIC is compared only with
    itself."""
    if isinstance(criterion, HarmTo):
        return replace(criterion, incumbents=("cubic",), quick_incumbents=None)
    return criterion


def _redrawn(
    own: Mapping[str, Results], first: Sequence[int], second: Sequence[int]
) -> dict[str, Results]:
    """Return the tested algorithm's runs with the seeds in `first`, and all other runs with the
    seeds in `second`. Entry i of both lists becomes seed i, so that the runs are paired."""
    return {
        which: _picked(found, first if which.endswith("subject") else second)
        for which, found in own.items()
    }


def _picked(results: Results, numbers: Sequence[int]) -> Results:
    points = []
    for group in results.groups():
        for seed, number in enumerate(numbers):
            run = group[number]
            points.append(_as_seed(run, seed))
    return replace(results, points=points)


def _as_seed(run: Run, seed: int) -> Run:
    other = replace(run, seed=seed)
    # Copy the summary now, because a run with a changed seed cannot find it in the store.
    vars(other)["summary"] = run.summary
    return other


if __name__ == "__main__":
    main()
