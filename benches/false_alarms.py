"""Counts the differences that `tailback compare` flags in A/A tests. An A/A test compares a
scenario with the same scenario, run with other seeds. Every flagged difference is therefore false.

    python benches/false_alarms.py                     200 pairs of a sweep of six points
    python benches/false_alarms.py --battery N         a quick `l4s-battery`, of N seeds

Runs are stored in `results` and reused. Each pair compares five (or ten) seeds with five (or ten)
other seeds. The sweep has enough seeds for 200 pairs of five, so that no seed is in two pairs.
`l4s-battery` has fewer seeds, which are shuffled again when all of them have been used. The table
compares two methods: the method of Benjamini and Hochberg over all differences, and the method of
`tailback.comparison.families`. For each method, the table shows in how many pairs at least one
difference is flagged, and the largest number of flags in one pair. To measure power, the script
makes the variant's values 10 % larger at one sweep point. The script then counts the pairs in which
this change is flagged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import tailback
from tailback.comparison.families import false_discovery
from tailback.comparison.judging import judge
from tailback.comparison.model import VariantResults
from tailback.comparison.points import seeds_by_point
from tailback.comparison.quantities import select
from tailback.comparison.variants import parse
from tailback.metrics import Metric
from tailback.metrics.differences import FALSE_DISCOVERY, Difference, paired, unpaired
from tailback.running.options import RunOptions
from tailback.store.points import point_key
from tailback.store.results import Results
from tailback_studies.batteries.l4s_battery import BATTERY
from tailback_studies.batteries.side_by_side import run_battery

SWEEP = """
title = "A against A"
duration = "8s"
warmup = "2s"
start_jitter = "100ms"

[bottleneck]
rate = "10Mbit"
queue = {{ aqm = "codel", ecn = true }}

[path]
rtt = "20ms"

[[flows]]
cc = "cubic"

[[flows]]
cc = "dctcp"

[record]
series = "off"

[sweep]
"bottleneck.rate" = ["5Mbit", "10Mbit", "20Mbit"]
"flows.cubic.cc" = ["cubic", "reno"]
seeds = {seeds}
"""

PAIRS = 200
OUT = Path("results")
Test = Callable[[Sequence[float], Sequence[float]], Difference | None]
Values = tuple[list[tuple[str, ...]], np.ndarray]
"""The sweep point and quantity of each difference, and an array of values with a row for each
seed."""


def values_of(column: VariantResults, wanted: Sequence[Metric]) -> Values:
    """Read the value of every quantity for every seed, as `tailback compare` does."""
    seeds = sorted({run.seed for run in column.results})
    one = [
        replace(
            column,
            results=Results(
                column.results.id, "", column.engine, column.engine_version, [],
                [run for run in column.results if run.seed == seed], column.results.root,
            ),
        )
        for seed in seeds
    ]  # fmt: skip
    cells: list[dict[tuple[str, ...], float]] = []
    for variant in one:
        made = judge([variant], wanted)
        cells.append(
            {
                (json.dumps(point_key(c)), c.kind, c.name, c.metric.on, c.quantity): mean
                for c in made.cells
                if (mean := c.values[variant.name].mean) is not None
            }
        )
    keys = [key for key in cells[0] if all(key in each for each in cells)]
    return keys, np.array([[each[key] for key in keys] for each in cells])


def pairs(seeds: int, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the seeds of the baseline and of the variant for each of `PAIRS` pairs."""
    draw = np.random.default_rng(1)
    deck = draw.permutation(seeds)
    for _ in range(PAIRS):
        if len(deck) < 2 * n:
            deck = draw.permutation(seeds)
        yield deck[:n], deck[n : 2 * n]
        deck = deck[2 * n :]


def count(found: Values, n: int, in_pairs: bool) -> list[str]:
    keys, values = found
    families = [key[0] for key in keys]
    alarms: dict[str, list[int]] = {"plain": [], "families": []}
    told: dict[str, list[bool]] = {"plain": [], "families": []}
    changed = np.array([family == families[0] for family in families])
    test: Test = paired if in_pairs else unpaired
    for a, b in pairs(len(values), n):
        ps = [_p(test, values[a, i], values[b, i]) for i in range(len(keys))]
        larger = [
            _p(test, values[a, i], 1.1 * values[b, i]) if changed[i] else p
            for i, p in enumerate(ps)
        ]
        # For "plain", give each difference a family of its own. The two-stage method then equals
        # the method of Benjamini and Hochberg.
        for name, groups in (("plain", [str(i) for i in range(len(ps))]), ("families", families)):
            alarms[name].append(sum(_flagged(ps, groups)))
            told[name].append(any(np.array(_flagged(larger, groups)) & changed))
    row = [str(n), "paired" if in_pairs else "Welch", str(len(keys)), str(len(set(families)))]
    for name in ("plain", "families"):
        share = 100 * np.mean([n > 0 for n in alarms[name]])
        row += [f"{share:.1f}", str(max(alarms[name])), f"{100 * np.mean(told[name]):.1f}"]
    return row


def _p(test: Test, base: np.ndarray, other: np.ndarray) -> float | None:
    found = test(base.tolist(), other.tolist())
    return None if found is None else found.p


def _flagged(ps: Sequence[float | None], families: Sequence[str]) -> list[bool]:
    return [q is not None and q < FALSE_DISCOVERY for q in false_discovery(ps, families)]


def of_sweep(per_side: int) -> Values:
    """Run the sweep, and return the values of its runs."""
    ran = tailback.run(SWEEP.format(seeds=PAIRS * 2 * per_side), out=OUT)
    column = VariantResults("a", ran.engine, ran.version, {}, ran, seeds_by_point(list(ran)))
    return values_of(column, select([]))


def of_battery(seeds: int) -> Values:
    """Run parts of l4s-battery with shorter runs than with `--quick`, and return the values."""
    made = run_battery(
        BATTERY,
        parse(["a", "b:seed=10001"]),
        RunOptions(seeds=seeds // 2, out=OUT),
        parts=["1-1", "flows", "mixed-rtt"],
        quick=True,
        base={"duration": "12s", "warmup": "4s"},
    )
    both = [values_of(column, select(BATTERY.metrics)) for column in made.variants]
    keys = [key for key in both[0][0] if key in both[1][0]]
    kept = [values[:, [own.index(key) for key in keys]] for own, values in both]
    return keys, np.concatenate(kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--battery", type=int, metavar="N", help="seeds of a quick l4s-battery")
    chosen = parser.parse_args()
    found = of_battery(chosen.battery) if chosen.battery else of_sweep(5)
    print(
        "| seeds | test | values | points | BH: pairs, % | most values | +10 % found, % "
        "| families: pairs, % | most values | +10 % found, % |"
    )
    print("|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for n in (5, 10):
        for in_pairs in (False, True):
            print(f"| {' | '.join(count(found, n, in_pairs))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
