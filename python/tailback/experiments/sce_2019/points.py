"""What is run, what is published, and the cells of both."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from tailback.metrics.statistics import estimate
from tailback.report import Cell, summarise

#: Congestion controls, in the order of the source's tables.
CCS = ("cubic", "reno", "dctcp")
#: Rates of Cake, Mbit/s: the rows of the tables.
RATES = (0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0)
#: Delay of netem, both directions together, ms: the columns.
DELAYS = (0.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
#: What the test bed itself adds to the round trip, ms.
BASE_MS = 0.9
#: Table of the source by quantity and congestion control.
TABLES = {
    ("throughput_mbit", "cubic"): 12,
    ("throughput_mbit", "reno"): 13,
    ("throughput_mbit", "dctcp"): 15,
    ("tcp_rtt_ms", "cubic"): 17,
    ("tcp_rtt_ms", "reno"): 18,
    ("tcp_rtt_ms", "dctcp"): 20,
}
#: Unit and the field of a flow's summary by quantity.
QUANTITIES = {
    "throughput_mbit": ("Mbit/s", "throughput_mbit"),
    "tcp_rtt_ms": ("ms", "srtt_ms_mean"),
}


@dataclass(frozen=True)
class OneFlow:
    """A cell of one of the tables of single flows."""

    quantity: str
    cc: str
    rate_mbit: float
    delay_ms: float
    cell: Cell

    @property
    def relative(self) -> float | None:
        """Measured over published, less one."""
        error, published = self.cell.error, self.cell.published
        return None if error is None or not published else error / published


def published() -> dict[tuple[str, str, float, float], float]:
    """What the source has, by quantity, congestion control, rate and delay."""
    text = (files(__package__) / "one_flow.csv").read_text(encoding="utf-8")
    return {
        (row["quantity"], row["cc"], float(row["rate_mbit"]), float(row["delay_ms"])): float(
            row["value"]
        )
        for row in csv.DictReader(text.splitlines())
    }


def scenario(*, quick: bool) -> dict[str, Any]:
    """The scenario with its sweep; a quick one has an eighth of it: each rate and each delay once,
    in an order that has nothing to do with either."""
    text = (files(__package__) / "scenarios" / "one-flow.toml").read_text(encoding="utf-8")
    made = tomllib.loads(text)
    if quick:
        (rows,) = made["sweep"]["zip"]
        kept = [n for n in range(len(RATES) * len(DELAYS)) if _sampled(*divmod(n, len(DELAYS)))]
        for key, values in rows.items():
            rows[key] = [values[n] for n in kept]
    return made


def _sampled(row: int, column: int) -> bool:
    return (3 * row + 5) % len(DELAYS) == column


def cells(runs: Iterable[Any]) -> list[OneFlow]:
    """Every cell, published or not, in the order of the source's tables."""
    found: dict[tuple[str, float, float], list[dict[str, Any]]] = {}
    for run in runs:
        (flow,) = run.summary["flows"]
        found.setdefault((flow["cc"], *place(run)), []).append(flow)
    known = published()
    out = []
    for (quantity, cc), table in TABLES.items():
        unit, field = QUANTITIES[quantity]
        for rate in RATES:
            for delay in DELAYS:
                flows = found.get((cc, rate, delay))
                if flows is None:
                    continue
                value = estimate(flow[field] for flow in flows)
                cell = Cell(
                    f"Table {table}/{rate:g}Mbit/{delay:g}ms",
                    quantity,
                    unit,
                    known.get((quantity, cc, rate, delay)),
                    value.mean,
                    value.n,
                    value.half_width,
                )
                out.append(OneFlow(quantity, cc, rate, delay, cell))
    return out


def place(run: Any) -> tuple[float, float]:
    """Rate and delay of the row and column of a run."""
    rate = float(run.params["bottleneck.rate"]) / 1e6
    rtt_ms = float(run.params["path.rtt"]) / 1e6
    return min(RATES, key=lambda r: abs(math.log(r / rate))), min(
        DELAYS, key=lambda d: abs(d + BASE_MS - rtt_ms)
    )


def as_listed(found: Sequence[OneFlow]) -> list[Cell]:
    """Cells as `reproduce --json` lists them."""
    return [one.cell for one in found]


def summary_by_cc(found: Sequence[OneFlow]) -> list[dict[str, str | float | int | None]]:
    """The summary of each congestion control by itself, as quantity `NAME.CC`."""
    out = []
    for quantity, cc in TABLES:
        chosen = [o.cell for o in found if (o.quantity, o.cc) == (quantity, cc)]
        out += [{**row, "quantity": f"{quantity}.{cc}"} for row in summarise(chosen)]
    return out


def worst(found: Iterable[OneFlow], quantity: str, beyond: float) -> list[OneFlow]:
    """Cells whose relative error is larger, the largest first."""
    off = [o for o in found if o.quantity == quantity and abs(o.relative or 0.0) > beyond]
    return sorted(off, key=lambda o: -abs(o.relative or 0.0))
