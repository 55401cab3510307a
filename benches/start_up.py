"""Measures how well slow start ends, at several rates, RTTs and buffer sizes. Writes
docs/evidence/start-up.md and its figure.

One CUBIC flow starts at an empty FIFO. Three numbers describe its first 25 round-trip times:

- overshoot: the largest amount in flight, divided by the sum of the bandwidth-delay product and the
  buffer; a value above 1 means that the path cannot hold the packets;
- loss: the share of the packets that the queue dropped;
- time: the number of round-trip times until the flow delivered 90 % of the rate during one
  round-trip time; missing if it never delivered 90 %.

    python benches/start_up.py [--quick] [--write]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tailback

DOCS = Path(__file__).resolve().parent.parent / "docs" / "evidence"
PAGE, FIGURES = DOCS / "start-up.md", "start-up"

STARTS = ("hystart", "hystart++", "search", "rapid-start", "none")
RATES, QUICK_RATES = (10, 100, 1000), (10, 100)
"""Rates of the link, in Mbit/s."""
RTTS = (10, 40, 100)
"""Round-trip times, in ms."""
BUFFERS = (0.25, 1, 4)
"""Sizes of the buffer in bandwidth-delay products."""
ROUNDS = 25
SEEDS = 3
SHARE = 0.9
MSS, FRAME = 1448, 1514

HEAD = """\
# Slow starts over rate, RTT and buffer

Of the compared algorithms that end slow start, HyStart loses the fewest packets. Rapid Start is the
fastest algorithm and loses the most packets. If no rule ends slow start early, up to twice as much
data is in flight as a path with a deep buffer can hold.

`python benches/start_up.py --write` runs one CUBIC flow alone through a FIFO, with each algorithm
that ends slow start. The command makes {runs} runs of the simulator, with {seeds} seeds for each
set-up. The numbers are from 2026-11-26.

| slow start | time, RTT | overshoot | loss, % | set-ups without loss |
|---|--:|--:|--:|--:|
{means}

![Time until 90 % of the rate, overshoot and loss with five algorithms](start-up/start-up.svg)

- *Overshoot* is the largest amount of data in flight, divided by the sum of the bandwidth-delay
  product and the buffer.
- *Loss* is the share of the flow's packets that the queue dropped.
- *Time* is the number of round-trip times until the flow's rate, averaged over one round-trip time,
  reaches 90 % of the link's rate. The cell is empty if the flow fails to reach this rate with at
  least one seed. The means in the first table exclude set-ups whose cell is empty.
- The names of the algorithms are values of `cubic`'s option `slow_start`
  ([reference](../reference/congestion-controls/cubic.md)). HyStart follows Linux.

## Every set-up

| slow start | rate, Mbit/s | RTT, ms | buffer, BDP | time, RTT | overshoot | loss, % |
|---|--:|--:|--:|--:|--:|--:|
"""


@dataclass(frozen=True)
class Cell:
    """The results of one set-up, which are means over seeds."""

    start: str
    rate: int
    rtt: int
    buffer: float
    time: float | None
    overshoot: float
    loss: float


def scenario(start: str, rate: int, rtt: int, buffer: float) -> dict[str, Any]:
    """Return a scenario of one flow over an empty queue."""
    return {
        "duration": f"{ROUNDS * rtt}ms",
        "bottleneck": {"rate": f"{rate}Mbit", "queue": {"aqm": "fifo", "limit": f"{buffer}bdp"}},
        "path": {"rtt": f"{rtt}ms"},
        "tcp": {"rwnd": "1gb"},
        "record": {"interval": f"{rtt / 4}ms"},
        "flows": [{"name": "flow", "cc": {"name": "cubic", "slow_start": start}}],
        "sweep": {"seeds": SEEDS},
    }


def measure(start: str, rate: int, rtt: int, buffer: float) -> Cell:
    """Run all seeds of one set-up, and return means over seeds."""
    with tempfile.TemporaryDirectory() as folder:
        results = tailback.run(scenario(start, rate, rtt, buffer), out=folder)
        series = results.series()
        points = results.to_dict()["points"]
    holds = (1 + buffer) * rate * 1e6 * rtt / 8e3 / FRAME
    times, overshoots = [], []
    for (_,), one in series.group_by(["seed"], maintain_order=True):
        rows: dict[str, list[tuple[int, float]]] = {}
        for at, quantity, value in one.select("time_ns", "quantity", "value").iter_rows():
            rows.setdefault(quantity, []).append((at, value))
        times.append(_reached(rows["delivered_bytes"], rate, rtt))
        overshoots.append(max(value for _, value in rows["in_flight"]) / holds)
    queues = [point["queue"] for point in points]
    losses = [queue["drops"] / (queue["packets"] + queue["drops"]) for queue in queues]
    known = [time for time in times if time is not None]
    return Cell(
        start,
        rate,
        rtt,
        buffer,
        sum(known) / len(known) if len(known) == len(times) else None,
        sum(overshoots) / len(overshoots),
        sum(losses) / len(losses),
    )


def _reached(delivered: Sequence[tuple[int, float]], rate: int, rtt: int) -> float | None:
    """Return the number of round-trip times until the flow delivers `SHARE` of the link rate during
    a round-trip time."""
    each = SHARE * rate * 1e6 * (rtt / 1e3) / 8 * MSS / FRAME
    for (_, before), (at, after) in zip(delivered, delivered[4:], strict=False):
        if after - before >= each:
            return at / 1e6 / rtt
    return None


def cells(quick: bool) -> Iterator[Cell]:
    for rate in QUICK_RATES if quick else RATES:
        for rtt in RTTS:
            for buffer in BUFFERS:
                for start in STARTS:
                    yield measure(start, rate, rtt, buffer)


def row(cell: Cell) -> str:
    time = "" if cell.time is None else f"{cell.time:.1f}"
    return (
        f"| {cell.start} | {cell.rate:,} | {cell.rtt} | {cell.buffer:g} | {time} |"
        f" {cell.overshoot:.2f} | {100 * cell.loss:.2f} |"
    )


def means(found: Sequence[Cell]) -> Iterator[str]:
    for start in STARTS:
        own = [cell for cell in found if cell.start == start]
        times = [cell.time for cell in own if cell.time is not None]
        overshoot = sum(cell.overshoot for cell in own) / len(own)
        loss = 100 * sum(cell.loss for cell in own) / len(own)
        lossless = sum(cell.loss == 0 for cell in own)
        yield (
            f"| {start} | {sum(times) / len(times):.1f} | {overshoot:.2f} | {loss:.1f} |"
            f" {lossless} of {len(own)} |"
        )


QUANTITIES: Mapping[str, tuple[str, str]] = {
    "time": ("time to 90 % of the rate, RTT", ".0f"),
    "overshoot": ("overshoot", ".2f"),
    "loss": ("loss, %", ".1f"),
}


def figure(found: Sequence[Cell]) -> Any:
    """Return heat maps of the three numbers, with a column for each slow-start algorithm."""
    import altair as alt

    from tailback.plot.kinds.heat import SHADES

    values: list[dict[str, Any]] = [
        {
            "start": cell.start,
            "path": f"{cell.rate:,} Mbit/s, {cell.rtt} ms",
            "buffer": f"{cell.buffer:g}",
            "time": cell.time,
            "overshoot": cell.overshoot,
            "loss": 100 * cell.loss,
        }
        for cell in found
    ]
    paths = list(dict.fromkeys(str(value["path"]) for value in values))

    def rows(quantity: str, last: bool) -> Any:
        title, form = QUANTITIES[quantity]
        numbers = [value[quantity] for value in values if value[quantity] is not None]
        least, most = min(numbers), max(numbers)

        def column(start: str, first: bool) -> Any:
            own = [value for value in values if value["start"] == start]
            axis = alt.Axis(ticks=False, domain=False, labels=first, title=None, labelLimit=200)
            across = "buffer, BDP" if last else None
            base = alt.Chart(alt.InlineData(values=own)).encode(
                x=alt.X("buffer:N", title=across, axis=alt.Axis(labelAngle=0)),
                y=alt.Y("path:N", sort=paths, axis=axis),
            )
            scale = alt.Scale(range=SHADES, domain=[least, most])
            fill = base.mark_rect(stroke="white").encode(
                color=alt.Color(f"{quantity}:Q", scale=scale, legend=None)
            )
            dark = f"datum.{quantity} > {(least + most) / 2}"
            ink = alt.condition(dark, alt.value("white"), alt.value("black"))
            known = base.transform_filter(f"isValid(datum.{quantity})")
            text = known.mark_text(fontSize=9).encode(
                text=alt.Text(f"{quantity}:Q", format=form), color=ink
            )
            return (fill + text).properties(width=96, height=150, title=start)

        columns = [column(start, start == STARTS[0]) for start in STARTS]
        head = alt.TitleParams(title, anchor="start", offset=8)
        return alt.hconcat(*columns, spacing=8).properties(title=head)

    names = list(QUANTITIES)
    parts = [rows(name, name == names[-1]) for name in names]
    return alt.vconcat(*parts).resolve_scale(color="independent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without 1 Gbit/s")
    parser.add_argument("--write", action="store_true", help="write the page and its figure")
    args = parser.parse_args()
    found = []
    for cell in cells(args.quick):
        found.append(cell)
        print(row(cell), flush=True)
    if args.write:
        from tailback.figures import export

        (DOCS / FIGURES).mkdir(exist_ok=True)
        picture = export.svg(export.spec(figure(found)))
        (DOCS / FIGURES / "start-up.svg").write_text(picture, encoding="utf-8")
        table = "\n".join(means(found))
        head = HEAD.format(runs=SEEDS * len(found), seeds=SEEDS, means=table)
        PAGE.write_text(head + "\n".join(map(row, found)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
