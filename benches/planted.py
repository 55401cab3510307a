"""Shows what `tailback evaluate` finds in copies of CUBIC and CoDel with one bug each.

    python benches/planted.py

The crate `planted` in this folder contains copies of the algorithms, with and without bugs. cargo
compiles it at the first run. The table lists every section of the evaluation in which the copy with
the bug gets another verdict than the copy without the bug.
"""

from __future__ import annotations

from pathlib import Path

from tailback.base.numbers import short
from tailback.evaluate import suites
from tailback.evaluate.model import Evaluation, Request
from tailback.running.options import RunOptions

CRATE = Path(__file__).parent / "planted"

BUGS = {
    "cc": {
        "cubic-timeout": "a timeout reduces nothing",
        "cubic-validation": "the window grows although the application limits the rate",
        "cubic-growth": "growth is tripled",
        "cubic-marks": "CE is ignored",
        "cubic-floor": "ssthresh is never below 100 segments",
    },
    "queue": {
        "codel-law": "the interval does not shrink with the number of drops",
        "codel-ecn": "ECN-capable packets are dropped",
        "codel-hasty": "the first packet above the target is dropped",
    },
}
CLEAN = {"cc": ("cubic-clean", "cubic"), "queue": ("codel-clean", "codel-clean")}
"""The clean copy of each suite, and the algorithm with which copies are compared."""


def main() -> None:
    print("| bug | section | clean copy | copy with the bug | value | bound |")
    print("|---|---|---|---|--:|--:|")
    for suite, bugs in BUGS.items():
        clean, against = CLEAN[suite]
        before = {one.id: one for one in _evaluated(suite, clean, against).sections}
        bad = [one.id for one in before.values() if one.verdict in ("fail", "worse")]
        print(f"| none ({clean}) | {', '.join(bad) or 'nothing is found'} | | | | |")
        for name, bug in bugs.items():
            changed = [
                one
                for one in _evaluated(suite, name, against).sections
                if one.verdict != before[one.id].verdict
            ]
            for one in changed:
                print(
                    f"| {bug} | {one.id} {one.title} | {before[one.id].verdict} | {one.verdict} "
                    f"| {short(one.value, 3)} | {short(one.bound, 3)} |"
                )
            if not changed:
                print(f"| {bug} | nothing is found | | | | |")


def _evaluated(suite: str, name: str, against: str) -> Evaluation:
    options = RunOptions.of(plugins=[CRATE])
    reference = None if suite == "cc" else against
    return suites.evaluate(suite, Request(name, options, quick=True, against=reference))


if __name__ == "__main__":
    main()
