"""S2 and S3: one flow through a shaper whose rate changes. The publication shows the results only
as plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tailback.report import Block, Facts, ReportFigure, Table, Value
from tailback.report.tables import left, right
from tailback.running.batch import Job
from tailback.store.results import Results
from tailback_studies.experiments.l4s_tests_2020 import charts
from tailback_studies.experiments.l4s_tests_2020.layout import WORDS
from tailback_studies.experiments.l4s_tests_2020.points import CCS, QUEUES
from tailback_studies.reproduction.sources import scenario

# Rates (in Mbit/s) to which the link falls in S2, and base round-trip times (in ms).
S2_MBIT = (25, 10, 5, 1)
RTTS_MS = (20, 80)
# Packets in each slot of a bursty path.
SLOT_PACKETS = {"s2": 16, "s3": 32}
# The time (in seconds) at which the rate of S2 falls.
STEP_S = 30.0
# The length (in seconds) of each bin of a curve.
BIN_S = 0.25


@dataclass(frozen=True)
class StepCase:
    """One run of S2 or S3."""

    table: str
    cc: str
    queue: str
    rtt_ms: int
    bursty: bool
    # Rate (in Mbit/s) to which the link falls in S2. The value is 0 in runs of S3.
    to_mbit: int = 0

    @property
    def path(self) -> str:
        return "bursty" if self.bursty else "clean"

    @property
    def who(self) -> str:
        return f"{WORDS[self.cc]}, {self.queue}"


def cases(table: str) -> tuple[StepCase, ...]:
    """Return the runs of table S2 or S3 of the publication, in the order of the table."""
    return tuple(
        StepCase(table, cc, queue, rtt, bursty, to)
        for cc in ("prague", "cubic")
        for queue in ("fq_codel", "dualpi2")
        for bursty in (False, True)
        for rtt in RTTS_MS
        for to in (S2_MBIT if table == "s2" else (0,))
    )


def quick(table: str) -> tuple[StepCase, ...]:
    """Return the runs of `--quick`. The RTT of these runs is 20 ms. In S2, the rate falls to 10
    Mbit/s."""
    return tuple(c for c in cases(table) if c.rtt_ms == 20 and c.to_mbit in (0, 10))


def job(case: StepCase) -> Job:
    """Return a job with one seed, because the publication shows only one run."""
    return Job(made(case), {}, 1)


def made(case: StepCase) -> dict[str, Any]:
    """Return the scenario that reproduces a run of the publication."""
    out = scenario(__package__, case.table)
    bottleneck = out["bottleneck"]
    if case.to_mbit:
        bottleneck["rate"]["steps"][1][1] = f"{case.to_mbit}Mbit"
    bottleneck["queue"] = dict(QUEUES[case.queue])
    if case.table == "s3" and case.queue == "fq_codel" and case.cc == "cubic":
        # In S3, CUBIC runs without ECN over fq_codel. The publication states this only for S3.
        bottleneck["queue"]["ecn"] = False
    out["path"]["rtt"] = f"{case.rtt_ms}ms"
    options = CCS.get(case.cc)
    out["flows"][0]["cc"] = {"name": case.cc, **options} if options else case.cc
    if case.bursty:
        _slots(out, SLOT_PACKETS[case.table])
    return out


def _slots(out: dict[str, Any], packets: int) -> None:
    """Add the publication's second netem, `delay 200us slot 800us 5ms packets N limit 10000`. This
    netem qdisc releases packets in bursts before they reach the queue, in both directions."""
    slots = {"min": "800us", "max": "5ms", "packets": packets, "delay": "200us"}
    queue = {"aqm": "fifo", "limit": "10000p"}
    bursty = {"rate": "10Gbit", "queue": queue, "slots": slots, "both_directions": True}
    out["links"] = {"bursty": bursty, "bottleneck": out.pop("bottleneck")}
    out["flows"][0]["route"] = ["bursty", "bottleneck"]
    out["flows"][0]["back"] = ["bursty.back", "bottleneck.back"]


# --- results ----------------------------------------------------------------------------


def traces(results: Sequence[Results], quantity: str) -> pl.DataFrame:
    """Return a frame with the columns case (index of the run), time_s and value.

    Each value is the largest `srtt` (in ms) or the mean `rate` (in Mbit/s) in a bin."""
    frames = []
    for number, result in enumerate(results):
        (run,) = result
        frame = run.series().filter(pl.col("flow") == "flow")
        time = (pl.col("time_ns") / 1e9).alias("time_s")
        if quantity == "srtt":
            samples = frame.filter(pl.col("quantity") == "srtt_ns")
            samples = samples.select(time, (pl.col("value") / 1e6).alias("value"))
            into = pl.col("value").max()
        else:
            samples = frame.filter(pl.col("quantity") == "delivered_bytes").sort("time_ns")
            per_s = pl.col("value").diff() * 8e3 / pl.col("time_ns").diff()
            samples = samples.select(time, per_s.alias("value")).drop_nulls()
            into = pl.col("value").mean()
        binned = samples.group_by((pl.col("time_s") / BIN_S).floor() * BIN_S).agg(into)
        frames.append(binned.sort("time_s").select(pl.lit(number).alias("case"), "time_s", "value"))
    return pl.concat(frames)


def after_the_step(trace: pl.DataFrame, rtt_ms: int) -> tuple[float, float]:
    """Return the largest smoothed RTT (in ms) after the rate fell, and the time (in seconds) during
    which it exceeded twice the base RTT."""
    later = trace.filter(pl.col("time_s") >= STEP_S)
    over = later.filter(pl.col("value") > 2 * rtt_ms)
    return float(later["value"].max() or 0.0), over.height * BIN_S  # type: ignore[arg-type]


def blocks_s2(runs: Sequence[StepCase], results: Sequence[Results], facts: Facts) -> list[Block]:
    """Show the smoothed RTT around the time at which the rate falls, and how long this RTT stays
    high.
    """
    if not runs:
        return []
    srtt = traces(results, "srtt")
    blocks: list[Block] = []
    for path in ("clean", "bursty"):
        wanted = [(i, case) for i, case in enumerate(runs) if case.path == path]
        if not wanted:
            continue
        frame = _labelled(srtt, wanted, lambda case: f"to {case.to_mbit} Mbit/s")
        frame = frame.filter(pl.col("time_s").is_between(STEP_S - 2, STEP_S + 15))
        chart = charts.curves(
            frame,
            panels=_panels(case for _, case in wanted),
            order=[f"to {to} Mbit/s" for to in S2_MBIT if any(c.to_mbit == to for _, c in wanted)],
            y_title="smoothed RTT, ms",
        )
        caption = (
            f"Smoothed RTT around the step from `50Mbit`, {path} path; the largest sample of every "
            f"`{1e3 * BIN_S:g}ms`."
        )
        blocks.append(
            ReportFigure(f"s2-{path}", f"S2: the step, {path} path", chart, caption, facts)
        )
    rows: list[list[Value]] = []
    for i, case in enumerate(runs):
        peak, over = after_the_step(srtt.filter(pl.col("case") == i), case.rtt_ms)
        rows.append([case.who, case.path, case.rtt_ms, case.to_mbit, f"{peak:.0f}", f"{over:.2f}"])
    columns = [
        *left("", "path"),
        *right("RTT, ms", "to, Mbit/s", "largest smoothed RTT, ms", "s beyond twice the RTT"),
    ]
    caption = (
        "After the rate fell, until the end of the run half a minute later. The publication has "
        "plots of these runs and no numbers."
    )
    return [*blocks, Table("s2", "S2: after the step", columns, rows, caption, facts)]


def blocks_s3(runs: Sequence[StepCase], results: Sequence[Results], facts: Facts) -> list[Block]:
    """Plot the delivery rate and the smoothed RTT over time."""
    if not runs:
        return []
    blocks: list[Block] = []
    wanted = list(enumerate(runs))
    said = {
        "rate": ("delivery", "Mbit/s", "mean"),
        "srtt": ("smoothed RTT", "smoothed RTT, ms", "largest sample"),
    }
    for quantity, (word, y_title, what) in said.items():
        frame = _labelled(traces(results, quantity), wanted, lambda case: case.path)
        chart = charts.curves(
            frame.filter(pl.col("time_s") >= 20.0),
            panels=_panels(runs),
            order=["clean", "bursty"],
            y_title=y_title,
            log=quantity == "srtt",
        )
        caption = (
            "The rate is `100Mbit`, `50Mbit` from `25s`, `10Mbit` from `30s`, `90Mbit` from `35s` "
            f"and `5Mbit` from `50s` on; of every `{1e3 * BIN_S:g}ms` the {what}."
        )
        blocks.append(ReportFigure(f"s3-{quantity}", f"S3: {word}", chart, caption, facts))
    return blocks


def _labelled(frame: pl.DataFrame, wanted: Any, series: Any) -> pl.DataFrame:
    """Return the rows of the wanted runs, with the columns panel and series added."""
    rows = [{"case": i, "panel": _panel(case), "series": series(case)} for i, case in wanted]
    labels = pl.DataFrame(rows, schema={"case": pl.Int32, "panel": pl.String, "series": pl.String})
    return frame.join(labels, on="case", how="inner")


def _panel(case: StepCase) -> str:
    return f"{case.who}, {case.rtt_ms} ms"


def _panels(own: Any) -> list[str]:
    return list(dict.fromkeys(_panel(case) for case in own))
