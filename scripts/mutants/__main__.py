"""Tests a random sample of mutants. A mutant that survives is a small change to the sources that no
test detects.

    PYTHONPATH=scripts python3 -m mutants [MODULE ...] [--seed N] [--sample N] [--again] [--table]

MODULE is tcp, cc, aqm or record (Rust, mutants of cargo-mutants), or metrics (Python, mutants of
cosmic-ray). Without MODULE, all modules are tested. `--seed` decides which mutants are in the
sample. Mutants are written into a copy of the sources in target/mutants. The tests run on each
mutant, one after the other, at low priority. `--again` tries only mutants that survived the last
call and that equivalent.toml does not explain. With `--again`, only unit tests run, because these
mutants survived all other tests. `--table` only prints stored results. The command prints a table,
then the survivors that equivalent.toml does not explain. The exit status is 1 if a survivor is not
explained.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter

from mutants import python, rust
from mutants.sample import CAUGHT, MISSED, TIMEOUT, UNVIABLE, Mutant, Sample, draw, equivalent, kept

MODULES = (*rust.MODULES, "metrics")
SIZES = {"metrics": 80}
SIZE = 60


def main() -> int:
    """Run the command and print its results."""
    parser = argparse.ArgumentParser(prog="mutants")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(MODULES))
    parser.add_argument("--seed", type=int, default=1, help="which sample to draw")
    parser.add_argument("--sample", type=int, help="how many mutants of each module to try")
    parser.add_argument("--again", action="store_true", help="try those that survived once more")
    parser.add_argument("--table", action="store_true", help="try nothing, print what is known")
    asked = parser.parse_args()
    modules = asked.modules or list(MODULES)
    if unknown := sorted(set(modules) - set(MODULES)):
        parser.error(f"module {unknown[0]} does not exist; choose from {', '.join(MODULES)}")
    if not asked.table:
        os.nice(10)
        try_modules(modules, asked)
    samples = [sample for module in modules if (sample := kept(module)) is not None]
    print_table(samples)
    return print_survivors(samples)


def try_modules(modules: list[str], asked: argparse.Namespace) -> None:
    """Draw the samples, and run the tests on their mutants or on the survivors of the last call."""
    samples, tried = {}, {}
    for module in modules:
        every, left_out = python.mutants() if module == "metrics" else rust.mutants(module)
        before = kept(module) if asked.again else None
        if before is not None:
            samples[module], tried[module] = before, missed_before(before, every)
        elif asked.again:
            sys.exit(f"mutants: no earlier sample of {module}; run without --again first")
        else:
            size = asked.sample or SIZES.get(module, SIZE)
            samples[module] = draw(module, asked.seed, size, every, left_out)
            carry_over(samples[module])
            tried[module] = samples[module].mutants
    compiled = {module: found for module, found in tried.items() if module != "metrics" and found}
    if compiled:
        rust.test(
            compiled,
            seed=asked.seed,
            done=lambda module: samples[module].save(),
            unit=asked.again,
        )
    if tried.get("metrics"):
        python.test(tried["metrics"])
    for sample in samples.values():
        sample.save()


def carry_over(sample: Sample) -> None:
    """Resume an interrupted call with the same seed."""
    before = kept(sample.module)
    if before is None or before.seed != sample.seed or before.whole:
        return
    known = {mutant.rank: mutant.outcome for mutant in before.mutants}
    for mutant in sample.mutants:
        mutant.outcome = known.get(mutant.rank)


def missed_before(sample: Sample, every: list[Mutant]) -> list[Mutant]:
    """Return the mutants of a sample that survived, at their current places in the sources."""
    now = {mutant.rank: mutant for mutant in every}
    same_as_before = equivalent(sample.mutants)
    found = []
    for mutant in sample.mutants:
        if mutant.key in same_as_before:
            continue
        if mutant.outcome == MISSED and (same := now.get(mutant.rank)) is not None:
            mutant.key, mutant.row, mutant.outcome = same.key, same.row, None
            found.append(mutant)
    return found


def print_table(samples: list[Sample]) -> None:
    """Print the number of mutants of each module that were tried, and their outcomes."""
    words = (
        "module",
        "all",
        "left out",
        "sampled",
        CAUGHT,
        TIMEOUT,
        UNVIABLE,
        "equivalent",
        MISSED,
        "share",
    )
    print("  ".join(f"{word:>10}" for word in words))
    for sample in samples:
        tried = [mutant for mutant in sample.mutants if mutant.outcome is not None]
        counts = Counter(mutant.outcome for mutant in tried)
        missed = [mutant for mutant in sample.mutants if mutant.outcome == MISSED]
        same = len(equivalent(missed))
        noticed = counts[CAUGHT] + counts[TIMEOUT]
        left = counts[MISSED] - same
        share = f"{100 * noticed / max(noticed + left, 1):.1f} %"
        cells = (
            *(sample.module, sample.all, sample.left_out, len(tried)),
            *(counts[CAUGHT], counts[TIMEOUT], counts[UNVIABLE], same, left, share),
        )
        print("  ".join(f"{cell:>10}" for cell in cells))


def print_survivors(samples: list[Sample]) -> int:
    """Print the survivors that are not known to be equivalent. Return the exit status."""
    status = 0
    for sample in samples:
        missed = [mutant for mutant in sample.mutants if mutant.outcome == MISSED]
        reasons = equivalent(missed)
        for mutant in missed:
            if mutant.key not in reasons:
                print(f"missed: {mutant}")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
