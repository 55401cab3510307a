"""Makes synthetic results of dctcp-internet-2014 for tests."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from tailback_studies.experiments.dctcp_internet_2014 import points as pts


@dataclass(frozen=True)
class FakeRun:
    """The part of `tailback.Run` that the experiment uses."""

    params: dict[str, Any]
    seed: int
    summary: dict[str, Any]


def expand(scenario: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all combinations of the axes of a scenario's sweep. The values of zipped axes vary
    fastest."""
    sweep = scenario.get("sweep", {})
    axes: list[list[dict[str, Any]]] = []
    for key, values in sweep.items():
        if key not in ("zip", "seeds"):
            axes.append([{key: v} for v in values])
    for zipped in sweep.get("zip", []):
        axes.append(
            [dict(zip(zipped, row, strict=True)) for row in zip(*zipped.values(), strict=True)]
        )
    for chosen in product(*axes):
        yield {k: v for part in chosen for k, v in part.items()}


def run(
    params: dict[str, Any],
    seed: int,
    *,
    ratio: float,
    utilisation: float,
    queue_bdp: float,
    dctcp: int = 1,
) -> FakeRun:
    """Return a run of one Reno flow (two if `dctcp` is 0) and `dctcp` DCTCP flows."""
    total = 9.65 * utilisation
    each = total / (ratio + max(dctcp, 1))
    flows = [{"name": "reno", "cc": "reno", "throughput_mbit": ratio * each}]
    flows += [{"name": f"dctcp/{i}", "cc": "dctcp", "throughput_mbit": each} for i in range(dctcp)]
    if not dctcp:
        flows.append({"name": "reno/2", "cc": "reno", "throughput_mbit": each})
    rates = [float(f["throughput_mbit"]) for f in flows]  # type: ignore[arg-type]
    summary = {
        "flows": flows,
        "jain": sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates)),
        "queue": {
            "utilisation": utilisation,
            "occupancy_bytes_mean": queue_bdp * pts.BDP,
            "drops": 100,
            "marks": 900,
        },
    }
    return FakeRun(params, seed, summary)


def respond(name: str, params: dict[str, Any], seed: int) -> FakeRun:
    """Return a plausible run of a sweep point. Flows that share equally in the paper also share
    equally in this run, with some noise."""
    noise = random.Random(f"{name}{params}{seed}").gauss(0, 0.03)
    if "ecn.min" in str(params) and ("step" in name or name == "fig6"):
        k = pts.bdp_size(params[f"{pts.ECN}.min"])
        tag = name.removeprefix("step-").rpartition("step-")[2]
        m = dict(pts.ROWS).get(tag, 0.125)
        equal = {0.125: 2.3, 0.25: 1.73, 0.5: 1.34, 0.70711: 1.26, 1.0: 1.16}[m]
        count = int(params.get("flows.dctcp.count", 1))
        ratio = math.exp(-1.4 * (k / m - equal) + noise)
        return run(
            params,
            seed,
            ratio=ratio,
            utilisation=min(1.0, 0.95 + 0.03 * k / m),
            queue_bdp=0.8 * k,
            dctcp=count,
        )
    if f"{pts.ECN}.probability" in params and name != "bdp":
        low = pts.bdp_size(params.get(f"{pts.ECN}.min", "0.5bdp"))
        prob = float(params[f"{pts.ECN}.probability"])
        ideal = pts.formula3(min(low, 0.97))
        return run(
            params,
            seed,
            ratio=math.exp(1.1 * math.log(prob / ideal) + noise),
            utilisation=0.999,
            queue_bdp=1.2 + 0.1 * low,
        )
    if name == "two-reno":
        m = pts.bdp_size(params[f"{pts.CLASSIC}.min"])
        return run(
            params,
            seed,
            ratio=1 + noise,
            utilisation=0.94 + 0.055 * m,
            queue_bdp=0.1 + 0.8 * m,
            dctcp=0,
        )
    return run(params, seed, ratio=math.exp(noise), utilisation=0.99 + noise / 100, queue_bdp=0.5)


def sawtooth(flows: dict[str, tuple[float, float, float]], events: bool) -> pl.DataFrame:
    """Return a series of windows for 60 s, a sawtooth for each flow: `(low, high, period)`."""
    rows: list[dict[str, Any]] = []
    for flow, (low, high, period) in flows.items():
        t = 0.0
        while t < 60:
            phase = t % period / period
            rows.append(
                {
                    "time_s": t,
                    "flow": flow,
                    "quantity": "cwnd",
                    "value": float(round(low + (high - low) * phase)),
                }
            )
            t += 0.05
            if events and phase < 0.05 / period:
                kind = "drop.aqm" if flow == "reno" else "mark.mark"
                rows.append({"time_s": t, "flow": flow, "quantity": kind, "value": 30_000.0})
    return pl.DataFrame(rows)


def measured(parts: tuple[str, ...], *, quick: bool = False, seeds: int = 3) -> Any:
    """Return plausible measurements for these parts of the experiment."""
    from tailback_studies.experiments.dctcp_internet_2014.builder import DctcpMeasures
    from tailback_studies.experiments.dctcp_internet_2014.options import OPTIONS, READINGS

    readings = [(name, changes) for name, _, changes, _ in READINGS]
    batches = pts.plan(parts, OPTIONS, readings, quick=quick)
    frames = {
        name: pts.table(
            respond(name, params, seed)
            for params in expand(b.scenario)
            for seed in range(1, seeds + 1)
        )
        for name, b in batches.items()
    }
    series = {
        "fig1": [
            sawtooth({"flow": t}, False) for t in ((18, 30, 0.5), (24, 30, 0.4), (16, 36, 2.0))
        ],
        "fig2": [sawtooth({"reno": (16, 36, 2.1), "dctcp": (22, 30, 0.4)}, True)],
    }
    return DctcpMeasures(
        frames=frames,
        series={k: v for k, v in series.items() if k in parts},
        version="0.0.0+synthetic",
        quick=quick,
        lengths={name: pts.lengths(b) for name, b in batches.items()},
    )
