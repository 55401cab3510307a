"""Makes synthetic runs of a set of scenarios, for tests of its report and its statistics."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from synthetic import expand
from tailback.comparison.judging import judge
from tailback.comparison.model import VariantResults
from tailback.comparison.quantities import select
from tailback.store.points import Key
from tailback.store.results import Results, Run
from tailback_studies import batteries
from tailback_studies.batteries.l4s_battery.cases import Spot, spot
from tailback_studies.batteries.side_by_side import BatteryComparison, BatteryPlace

UNITS = {"kbit": 1e3, "Mbit": 1e6, "us": 1e3, "ms": 1e6, "s": 1e9}
BINS = (1000, 3000, 9000, 27000, 81000, 243000, 729000, 1000000)

Effect = Callable[[str, Spot], float]
"""Returns a factor for the queue delay of class C, for a variant and a sweep point."""


class FakeRun(Run):
    """A run with its files in memory."""

    def histogram(
        self,
        quantity: str = "delay_ns",
        *,
        flow: str | None = None,  # noqa: ARG002 (as in its base class)
        link: str | None = None,  # noqa: ARG002
    ) -> pl.DataFrame:
        """Return exponentially distributed delays with the mean of the class."""
        name = quantity.rpartition(".")[2]
        found = next((c for c in self.summary["classes"] if c["name"] == name), None)
        if found is None:
            return pl.DataFrame(schema=dict.fromkeys(("lower", "width", "count"), pl.Int64))
        step = int(found["delay_ms"]["mean"] * 1e6 / 4)
        return pl.DataFrame(
            {
                "lower": [i * step for i in range(40)],
                "width": [step] * 40,
                "count": [int(1e6 * 0.78**i) for i in range(40)],
            }
        )


def base_units(value: Any) -> Any:
    """Convert a value of a scenario file to its form in a run's parameters."""
    match = re.fullmatch(r"([\d.]+)(\w+)", value) if isinstance(value, str) else None
    if match:
        return float(match[1]) * UNITS[match[2]]
    return float(value) if isinstance(value, int) else value


def stat(mean: float, spread: float = 0.5) -> dict[str, float]:
    """Return plausible percentiles around a mean."""
    return {
        "n": 100,
        "mean": mean,
        "stddev": mean * spread / 2,
        "p1": mean * (1 - spread),
        "p25": mean * (1 - spread / 3),
        "p50": mean,
        "p75": mean * (1 + spread / 3),
        "p99": mean * (1 + 2 * spread),
        "max": mean * (1 + 3 * spread),
    }


def summary(at: Spot, file: str, noise: random.Random, factor: float) -> dict[str, Any]:
    """Return a plausible summary: equal rates, 0.5 ms of delay in L and 15 ms in C."""
    flows = {"L": at.l_flows, "C": at.c_flows}
    total = sum(flows.values())
    classes = []
    for name, n in flows.items():
        if not n:
            continue
        q = (0.5 if name == "L" else 15.0 * factor) * (1 + noise.gauss(0, 0.02))
        rtt = (at.l_rtt if name == "L" else at.c_rtt) or 10.0
        rate = at.link / total * (1 + noise.gauss(0, 0.02))
        classes.append(_class(name, n, rate, q, rtt, n / total, name == "L"))
    if at.udp_in:
        delay = 0.5 if at.udp_in == "L" else 15.0
        classes.append(_class(f"{at.udp_in}-udp", 0, None, delay, 10, 0.5, at.udp_in == "L"))
    means = {c["name"]: c["samples"] for c in classes if c["samples"]["rate_mbit"]}
    both = len(means) == 2
    web = "1h" in file or "1l" in file
    return {
        "duration_s": 250.0,
        "warmup_s": 4.4,
        "flows": [],
        "queue": {},
        "queues": {
            "bottleneck": {
                "name": "bottleneck",
                "utilisation": 0.99 + noise.gauss(0, 0.001),
                "samples": {"utilisation": stat(0.99, 0.004)},
            }
        },
        "traffic": [
            {
                "name": f"{name}-web",
                "completions": {
                    "bins": [
                        {"upto_bytes": b, "n": 10, "normalised": stat(0.9 - 0.1 * i, 0.05)}
                        for i, b in enumerate(BINS)
                    ]
                },
            }
            for name in flows
            if web
        ],
        "classes": classes,
        "jain": None,
        "rates": [means[name]["rate_mbit"]["mean"] for name in means] if both else None,
    }


def _class(
    name: str,
    flows: int,
    rate: float | None,
    delay: float,
    rtt: float,
    share: float,
    scalable: bool,
) -> dict[str, Any]:
    window = stat(rate * 125 * (rtt + delay)) if rate else None
    return {
        "name": name,
        "link": "bottleneck",
        "flows": flows,
        "packets": 1000,
        "drops": 10,
        "marks": 10,
        "delay_ms": stat(delay, 0.9),
        "samples": {
            "rate_mbit": stat(rate) if rate else None,
            "window_bytes": window,
            "utilisation": stat(share, 0.2),
            "mark_share": stat(0.06 if scalable else 0.0),
            "drop_share": stat(0.0 if scalable else 0.0009),
            "delay_ms": stat(delay),
        },
    }


def canonical(at: Spot) -> dict[str, Any]:
    """Return the fields of a canonical scenario that the report reads."""
    queue = {
        "name": "dualpi2",
        "options": {
            "alpha": 0.16015625,
            "any_ect": False,
            "arithmetic": "div64",
            "beta": 3.19921875,
            "classic_protection": 10,
            "coupling_factor": 2,
            "drop": "dequeue",
            "limit": {"packets": 10000},
            "min_qlen_step": 0,
            "overload": "drop",
            "scheduler": "credit",
            "step_thresh": {"ns": 1000000},
            "target": 15000000,
            "tupdate": 16000000,
            "version": "linux-6.17",
        },
    }
    flows = [
        {
            "name": name,
            "class": name,
            "cc": {"name": cc, "options": {}},
            "ecn": name == "L",
            "count": n,
            "rtt": int((rtt or 10.0) * 1e6),
        }
        for name, cc, n, rtt in (
            ("L", "prague", at.l_flows, at.l_rtt),
            ("C", "cubic", at.c_flows, at.c_rtt),
        )
        if n
    ]
    link = {"name": "bottleneck", "rate": int(at.link * 1e6), "queue": queue}
    return {"links": [link], "flows": flows}


def made(
    variants: Sequence[str],
    *,
    parts: Sequence[str] = (),
    seeds: int = 3,
    effect: Effect = lambda _variant, _at: 1.0,
    root: Path = Path("results"),
) -> BatteryComparison:
    """Return a synthetic comparison of the type that `run_battery` returns."""
    battery = batteries.get("l4s-battery")
    chosen = batteries.choose(battery, parts)
    places: dict[tuple[str, str], BatteryPlace] = {}
    columns = []
    for variant in variants:
        runs: list[Run] = []
        planned: dict[Key, list[int]] = {}
        for part in chosen:
            for path in part.files:
                table = tomllib.loads(path.read_text(encoding="utf-8"))
                for row in expand(table):
                    swept = {key: base_units(value) for key, value in row.items()}
                    at = spot(path.stem, swept)
                    case = battery.case(path.stem, swept)
                    places[part.name, case] = BatteryPlace(part.name, path.stem, swept)
                    params = {"part": part.name, "case": case, **swept}
                    for seed in range(1, seeds + 1):
                        key = f"{variant}{part.name}{case}{seed}"
                        run = FakeRun(params, {"part": part.name, "case": case}, seed, key, root)
                        noise = random.Random(key)
                        factor = effect(variant, at)
                        run.__dict__["summary"] = summary(at, path.stem, noise, factor)
                        run.__dict__["manifest"] = {
                            "canonical": canonical(at),
                            "follows": {"aqm.dualpi2": "Linux 7.3 sch_dualpi2 (RFC 9332)"},
                        }
                        runs.append(run)
                        planned.setdefault(tuple(sorted(params.items())), []).append(seed)
        results = Results(variant, battery.title, "sim", "0+0", [], runs, root)
        columns.append(VariantResults(variant, "sim", "0+0", {}, results, planned))
    wanted = [m for name in battery.metrics for m in select([name])]
    found = judge(columns, wanted)
    return BatteryComparison(
        **vars(found), battery=battery, parts=chosen, presets=[], quick=False, places=places
    )
