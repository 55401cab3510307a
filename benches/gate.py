"""Counts the verdicts of `tailback compare --fail-if` over many samples of real runs.

The runs of one scenario are used both as the baseline and as the variant. All values of the variant
are raised by a known share. The script repeats the count for several numbers of seeds and several
bounds, and prints the tables of docs/how-to/ci.md.

    python benches/gate.py [--pool 400] [--draws 2000]
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

import tailback
from tailback.comparison.gate import LEVEL, looks
from tailback.metrics import find
from tailback.metrics.margins import Samples

SCENARIO = """\
title    = "Two CUBIC flows and web traffic through PIE"
duration = "30s"
warmup   = "5s"

[bottleneck]
rate  = "20Mbit"
queue = "pie"

[path]
rtt = "40ms"

[[flows]]
cc    = "cubic"
count = 2

[[traffic]]
kind    = "web"
arrival = "100ms"
"""

METRICS = ("delay_mean_ms", "delay_p99_ms")
BOUND = 0.10
RISES = (0.0, 0.10, 0.20)
SEEDS = (3, 10, 20)
NAMES = {"exceeds": "exceeds", "holds": "does not", "unknown": "cannot tell"}

CASES = (
    ("PIE, target + 20 %", "pie", "slower:bottleneck.queue.target=18ms", "delay_mean_ms:+10%", 10),
    ("PIE, target + 20 %", "pie", "slower:bottleneck.queue.target=18ms", "delay_mean_ms:+10%", 3),
    (
        "CoDel, target + 20 %",
        "codel",
        "slower:bottleneck.queue.target=6ms",
        "delay_mean_ms:+5%",
        10,
    ),
    (
        "CoDel, target + 20 %",
        "codel",
        "slower:bottleneck.queue.target=6ms",
        "delay_mean_ms:+10%",
        3,
    ),
    ("PIE, other seeds", "pie", "other:seed=101", "delay_mean_ms:+10%", 10),
    ("PIE, other seeds", "pie", "other:seed=101", "delay_mean_ms:+5%", 3),
    ("PIE, the same runs", "pie", "same:title=same", "delay_mean_ms:+10%", 3),
)


def answer(samples: Samples, level: float) -> str:
    found = samples.against(BOUND, relative=True)
    if found.more() <= level:
        return "exceeds"
    return "holds" if found.less() <= level else "unknown"


def drawn(pool: list[float], n: int, rise: float, draw: random.Random) -> Samples:
    values = draw.sample(pool, 2 * n)
    return Samples(tuple(values[:n]), tuple(x * (1 + rise) for x in values[n:]), paired=False)


def auto(pool: list[float], rise: float, draw: random.Random) -> tuple[str, int]:
    """Return the verdict and the number of seeds of a comparison with `--seeds auto`, which adds
    seeds until the verdict is known."""
    planned = looks(80)
    every = drawn(pool, planned[-1], rise, draw)
    for n in planned:
        found = answer(Samples(every.base[:n], every.other[:n], paired=False), LEVEL / len(planned))
        if found != "unknown":
            break
    return found, n


def row(counts: Counter[str], draws: int) -> list[str]:
    return [f"{100 * counts[name] / draws:.1f}" for name in NAMES]


def cases(out: Path) -> None:
    print("| variant | bound | seeds | difference | between | answer | exit |")
    print("|---|---|--:|--:|--:|---|--:|")
    status = {"exceeds": 3, "holds": 0, "unknown": 4}
    for what, queue, variant, limit, seeds in CASES:
        name, _, rest = variant.partition(":")
        path, _, value = rest.partition("=")
        sets = {path: int(value) if value.isdigit() else value}
        scenario = SCENARIO.replace('"pie"', f'"{queue}"')
        quantity = limit.partition(":")[0]
        made = tailback.compare(
            scenario, {"base": {}, name: sets}, seeds=seeds, metrics=quantity, jobs=1, out=out
        )
        [verdict] = made.gate(limit).verdicts
        [cell] = made.cells
        relative = cell.differences[name].relative or 0.0
        ends = verdict.range_text()
        more = f"; about {verdict.seeds} seeds would be enough" if verdict.seeds else ""
        print(
            f"| {what} | `{limit}` | {seeds} | {100 * relative:+.1f} % | {ends} "
            f"| {NAMES[verdict.answer]}{more} | {status[verdict.answer]} |"
        )


def rates(pool_size: int, draws: int, out: Path) -> None:
    found = tailback.run(SCENARIO, seeds=pool_size, jobs=1, out=out)
    draw = random.Random(1)
    head = " | ".join(f"{name}, %" for name in NAMES.values())
    print(f"\n| quantity | true rise, % | seeds | {head} | seeds in the end, mean |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for name in METRICS:
        metric = find(name, "link")
        values = [metric.value(run.summary["queues"]["bottleneck"]) for run in found]
        pool = [value for value in values if value is not None]
        for rise in RISES:
            for n in SEEDS:
                counts = Counter(answer(drawn(pool, n, rise, draw), LEVEL) for _ in range(draws))
                shares = " | ".join(row(counts, draws))
                print(f"| {name} | {100 * rise:.0f} | {n} | {shares} | {n} |")
            ends = [auto(pool, rise, draw) for _ in range(draws)]
            shares = " | ".join(row(Counter(end for end, _ in ends), draws))
            mean = sum(n for _, n in ends) / draws
            print(f"| {name} | {100 * rise:.0f} | auto | {shares} | {mean:.0f} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pool", type=int, default=400)
    options.add_argument("--draws", type=int, default=2000)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases(Path(folder))
        rates(asked.pool, asked.draws, Path(folder))


if __name__ == "__main__":
    main()
