"""Measures the cost of a packet and of a flow as a scenario grows, and makes the tables and figures
of the docs.

Each point of a figure is the fastest of three `tailback run` commands, or of a single command with
--quick. The time is the CPU time of the simulation alone, divided by the data packets of its TCP
senders. Memory is the peak of the whole process, including Python and writing the results. The
column "all" shows the CPU time of the whole process. The column "set up" shows the CPU time of a
run that ends after a microsecond of simulated time.

    python benches/growth.py [PART ...] [--quick] [--write]
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from os import cpu_count
from pathlib import Path
from typing import Any

from bench import Measured, measure, processor

from tailback.base import toml

DOCS = Path(__file__).resolve().parent.parent / "docs" / "evidence"
PAGE = DOCS / "growth.md"
FIGURES = "growth"
FRAME_BITS = 1514 * 8
REPEATS = 3

Table = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """A scenario to measure, with its x value and the name of its curve."""

    x: float
    curve: str
    scenario: Table
    files: Mapping[str, str]
    set_up: bool = False


@dataclass(frozen=True)
class Part:
    """A series of scenarios in which one property grows, such as the number of flows."""

    title: str
    axis: str
    about: str
    points: Callable[[bool], Iterator[Point]]
    hops: bool = False
    """Whether to divide the time by x. The result is the cost of a packet at each of x hops."""

    def ns(self, row: Row) -> float:
        """Return the CPU time of a data packet, or of a packet at one hop, in ns."""
        return row.ns / (row.x if self.hops else 1)


@dataclass(frozen=True)
class Row:
    """The measurements of one scenario."""

    x: float
    curve: str
    measured: Measured
    set_up_s: float | None

    @property
    def ns(self) -> float:
        return 1e9 * self.measured.cpu_s / max(self.measured.packets, 1)


def scenario(flows: Sequence[Table], **keys: object) -> Table:
    """Return a scenario with the keys that all scenarios share. Times are in seconds."""
    base: Table = {"title": "growth", "path": {"rtt": "20ms"}, "record": {"series": "off"}}
    return {**base, **keys, **({"flows": flows} if flows else {})}


def lasting(bits: float, packets: float, least: float) -> str:
    """Return the time in s that a link needs to send `packets` packets, but at least `least`."""
    seconds = max(least, packets * FRAME_BITS / bits)
    return f"{round(1e3 * seconds)}ms"


def steps(most: float, quick: bool, each: int = 1) -> list[int]:
    """Return the powers of ten up to `most`, without the largest if `quick`."""
    found = [10**k for k in range(0, 12, each) if 10**k <= most]
    return found[:-1] if quick else found


QUEUES: dict[str, Table] = {
    "fifo": {},
    "fq_codel": {"aqm": "fq_codel", "flows": 65536, "limit": "1000000p"},
    "cake": {"aqm": "cake"},
}


def flows(quick: bool) -> Iterator[Point]:
    for queue, options in QUEUES.items():
        for n in steps(100_000, quick):
            yield Point(
                n,
                queue,
                scenario(
                    [{"cc": "cubic", "count": n}],
                    duration=lasting(n * 1e6, 1e5 if quick else 1e6, 0.5 if quick else 1),
                    bottleneck={
                        "rate": f"{n}Mbit",
                        # The limit of the queue is one packet for each flow.
                        "queue": options
                        if queue != "fifo"
                        else {"aqm": queue, "limit": f"{max(n, 20)}p"},
                    },
                ),
                {},
                set_up=queue == "fifo",
            )


def links(quick: bool) -> Iterator[Point]:
    for n in (1, 10, 30) if quick else (1, 2, 5, 10, 20, 50, 100):
        names = [f"l{i}" for i in range(n)]
        link = {"rate": "1Gbit", "queue": {"aqm": "fifo", "limit": "1bdp"}, "delay": "10us"}
        yield Point(
            n,
            "10 flows through all",
            scenario(
                [{"cc": "cubic", "count": 10, "route": names}],
                duration=lasting(1e9, 5e4 if quick else 3e5, 0.2),
                links=dict.fromkeys(names, link),
            ),
            {},
        )


def lots(quick: bool) -> Iterator[Point]:
    for n in (1, 10) if quick else (1, 10, 100):
        names = [f"l{i}" for i in range(n)]
        link = {"rate": f"{10_000 // n}Mbit", "queue": {"aqm": "fifo", "limit": "0.5bdp"}}
        yield Point(
            n,
            "10,000 flows, each through one",
            scenario(
                [{"cc": "cubic", "count": 10_000 // n, "route": [name]} for name in names],
                duration="500ms" if quick else "2s",
                links=dict.fromkeys(names, link),
            ),
            {},
            set_up=True,
        )


def rtts(quick: bool) -> Iterator[Point]:
    for n in steps(1000, quick):
        yield Point(
            n,
            "1000 flows",
            scenario(
                [
                    {"cc": "cubic", "count": 1000 // n, "rtt": f"{20_000 + 10 * i}us"}
                    for i in range(n)
                ],
                duration="500ms" if quick else "5s",
                bottleneck={"rate": "1Gbit", "queue": {"aqm": "fifo", "limit": "1bdp"}},
            ),
            {},
        )


def web(quick: bool) -> Iterator[Point]:
    # The time between requests is 1.5 times the time that a request of mean size needs, so requests
    # use two thirds of the rate.
    for n in (10, 100, 1000, 10_000) if quick else (10, 100, 1000, 10_000, 100_000):
        sources = max(1, n // 10_000)
        source = {
            "kind": "web",
            "count": sources,
            "arrival": f"{round(1e9 * sources / n)}ns",
            "limit": 10_000,
        }
        yield Point(
            n,
            "web",
            scenario(
                [],
                duration=f"{max(0.2, (2e4 if quick else 2e5) / 13 / n):.3f}s",
                bottleneck={"rate": f"{0.2 * n}Mbit", "queue": "fifo"},
                traffic=[source],
            ),
            {},
        )


def rates(quick: bool) -> Iterator[Point]:
    for mbit in (10, 100, 1e3, 1e4, 1e5, 4e5):
        yield Point(
            mbit,
            "100 flows, 1 ms",
            scenario(
                [{"cc": "cubic", "count": 100}],
                duration=lasting(mbit * 1e6, 1e5 if quick else 2e6, 0.02),
                path={"rtt": "1ms"},
                # The limit is a bandwidth-delay product, but at least ten packets.
                bottleneck={
                    "rate": f"{mbit:g}Mbit",
                    "queue": {"aqm": "fifo", "limit": "1bdp" if mbit > 100 else "10p"},
                },
            ),
            {},
        )


def entries(quick: bool) -> Iterator[Point]:
    draw = random.Random(1)
    seconds = 10 if quick else 60
    # A scenario file can hold about ten thousand rate steps. A trace can have more rate steps,
    # because a trace is a separate file.
    for n in (1, 100, 10_000) if quick else (1, 10, 100, 1000, 10_000, 30_000):
        each = [f"{draw.uniform(80, 120):.1f}Mbit" for _ in range(n)]
        told = [[f"{round(1e6 * seconds * i / n)}us", rate] for i, rate in enumerate(each)]
        rate = {"steps": told}
        yield Point(n, "steps of the rate", _one(seconds, {"rate": rate, "queue": "fifo"}), {})
    for n in (100, 10_000) if quick else (100, 1000, 10_000, 100_000, 1_000_000):
        # At 8 delivery opportunities per millisecond, the link sends 96 Mbit/s.
        lines = sorted(1 + draw.randrange(max(1, n // 8)) for _ in range(n))
        text = "".join(f"{line}\n" for line in lines)
        link = {"rate": {"trace": "trace.txt"}, "queue": "fifo"}
        yield Point(n, "opportunities of a trace", _one(seconds, link), {"trace.txt": text})


def _one(seconds: float, link: Table) -> Table:
    return scenario([{"cc": "cubic"}], duration=f"{seconds}s", bottleneck=link)


RECORDS: dict[str, Table] = {
    "nothing": {"series": "off"},
    "series, 100 ms": {},
    "series, 1 ms": {"interval": "1ms"},
    "changes": {"series": "changes"},
    "acks": {"series": "acks"},
    "events": {"series": "off", "events": True},
    "statistics, 1 ms": {"series": "off", "statistics": "1ms"},
    "packets": {"series": "off", "packets": True},
}


def recorded(quick: bool) -> Iterator[Point]:
    for place, (what, record) in enumerate(RECORDS.items()):
        for name, count, rate in (("1 flow", 1, 100), ("100 flows", 100, 1000)):
            yield Point(
                place,
                f"{what}, {name}",
                scenario(
                    [{"cc": "cubic", "count": count, "class": "all"}],
                    duration=lasting(rate * 1e6, 3e4 if quick else 3e5, 0.1),
                    record=record,
                    bottleneck={"rate": f"{rate}Mbit", "queue": "codel"},
                ),
                {},
            )


PARTS = {
    "flows": Part(
        "Flows",
        "flows of 1 Mbit/s",
        "CUBIC flows with an RTT of `20 ms` share a bottleneck, whose rate is `1 Mbit/s` times "
        "the number of flows. Each run simulates at least `1 s`.",
        flows,
    ),
    "links": Part(
        "Links in a row",
        "links",
        "Ten CUBIC flows cross all links, which are in series. Each link has a rate of `1 Gbit/s`. "
        "The table shows the CPU time per data packet and link.",
        links,
        hops=True,
    ),
    "lots": Part(
        "Links side by side",
        "links",
        "Ten thousand flows of `1 Mbit/s` are distributed over the links.",
        lots,
    ),
    "rtts": Part(
        "Round-trip times", "distinct RTTs", "A thousand CUBIC flows share `1 Gbit/s`.", rtts
    ),
    "web": Part(
        "Requests",
        "requests a second",
        "Web traffic, with a new connection for each request, uses two thirds of the link's rate.",
        web,
    ),
    "rates": Part(
        "Rates",
        "rate, Mbit/s",
        "A hundred CUBIC flows with an RTT of `1 ms` share the link.",
        rates,
    ),
    "recorded": Part("What is recorded", "", "CUBIC flows share a link that uses CoDel.", recorded),
    "entries": Part(
        "Rates that change",
        "entries",
        "One CUBIC flow crosses a link. The rate of the link varies around `100 Mbit/s`. "
        "A list contains the times and the values of all rate changes.",
        entries,
    ),
}


def least(file: Path, times: int, *extra: str) -> Measured:
    return min((measure(file, "--quiet", *extra) for _ in range(times)), key=lambda run: run.cpu_s)


def run(point: Point, times: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "growth.toml"
        file.write_text(toml.dumps(point.scenario), encoding="utf-8")
        for name, text in point.files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        begun = "duration=1us"
        set_up = least(file, times, "--set", begun).cpu_s if point.set_up else None
        return Row(point.x, point.curve, least(file, times), set_up)


def table(part: Part, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rows of a part in Markdown."""
    with_set_up = any(row.set_up_s is not None for row in rows)
    each = "ns a packet and link" if part.hops else "ns a data packet"
    head = [part.axis or "recorded", *([""] if part.axis else []), each, "packets", "peak, MB"]
    head += ["all, s", *(["set up, s"] if with_set_up else [])]
    yield f"| {' | '.join(head)} |"
    yield f"|{'--:|' if part.axis else '---|'}{'---|' if part.axis else ''}" + "--:|" * (
        4 + with_set_up
    )
    for row in rows:
        start = [f"{row.x:,g}" if row.x < 1e6 else f"{row.x:,.0f}"] if part.axis else []
        done = row.measured
        cells = [
            *start,
            row.curve,
            f"{part.ns(row):.0f}",
            f"{done.packets:,}",
            f"{done.peak_mb:.0f}",
        ]
        cells.append(f"{done.process_s:.2f}")
        if with_set_up:
            cells.append("" if row.set_up_s is None else f"{row.set_up_s:.2f}")
        yield f"| {' | '.join(cells)} |"


def figure(part: Part, rows: Sequence[Row]) -> Any:
    import altair as alt

    from tailback.figures import theme

    values = [
        {
            "x": row.x,
            "curve": row.curve,
            "ns": part.ns(row),
            "MB": row.measured.peak_mb,
        }
        for row in rows
    ]
    names = list(dict.fromkeys(row.curve for row in rows))
    colour = alt.Color("curve:N", title=None, scale=theme.colour_scale(names), sort=names)
    shape = alt.Shape("curve:N", title=None, scale=theme.shape_scale(names), sort=names)
    if len(names) == 1:
        colour, shape = colour.legend(None), shape.legend(None)

    least, most = min(row.x for row in rows), max(row.x for row in rows)
    ticks = [10**k for k in range(7) if least <= 10**k <= most]
    axis = alt.Axis(format="~s", values=ticks)

    def panel(field: str, title: str) -> Any:
        base = alt.Chart(alt.InlineData(values=values)).encode(
            x=alt.X("x:Q", title=part.axis, scale=alt.Scale(type="log"), axis=axis),
            y=alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=True)),
            color=colour,
        )
        both = base.mark_line() + base.mark_point(filled=True).encode(shape=shape)
        return both.properties(width=theme.WIDTH // 2 - 40, height=theme.HEIGHT)

    each = "ns a packet and link" if part.hops else "ns a data packet"
    return alt.hconcat(panel("ns", each), panel("MB", "peak memory, MB"))


def main() -> None:
    """Print a table for each part. With --write, also write the tables to the docs page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="small and short, under two minutes")
    parser.add_argument("--write", action="store_true", help="write the page's part and figures")
    parser.add_argument(
        "--keep",
        type=Path,
        help="add what is measured to this file, and write what is in it (JSON)",
    )
    args = parser.parse_args()
    if unknown := [name for name in args.parts if name not in PARTS]:
        parser.error(f"no part {unknown[0]}; expected one of {', '.join(PARTS)}")
    kept: dict[str, list[Row]] = {}
    if args.keep and args.keep.exists():
        kept = {
            name: list(map(read, rows)) for name, rows in json.loads(args.keep.read_text()).items()
        }
    for name in args.parts or PARTS:
        part = PARTS[name]
        kept[name] = []
        print(f"{part.title}: {part.about}", flush=True)
        for point in part.points(args.quick):
            kept[name].append(run(point, 1 if args.quick else REPEATS))
            print(f"  {said(part, kept[name][-1])}", flush=True)
        if args.keep:
            args.keep.write_text(json.dumps(kept, default=vars) + "\n")
    if args.write:
        words = [*args.parts, *(["--quick"] if args.quick else []), "--write"]
        found = {PARTS[name]: kept[name] for name in PARTS if name in kept}
        write(found, f"python benches/growth.py {' '.join(words)}")


def read(row: Mapping[str, Any]) -> Row:
    return Row(row["x"], row["curve"], Measured(**row["measured"]), row["set_up_s"])


def said(part: Part, row: Row) -> str:
    done = row.measured
    text = f"{row.x:>9,g} {row.curve:<32} {part.ns(row):>8.0f} ns {done.peak_mb:>6.0f} MB"
    text += f" all {done.process_s:.2f} s"
    return text + (f" set up {row.set_up_s:.2f} s" if row.set_up_s is not None else "")


def write(found: Mapping[Part, Sequence[Row]], command: str) -> None:
    from tailback.figures import export

    page = ["# As a scenario grows", "", f"`{command}` writes this page.", ""]
    page += [
        f"The runs were made on {date.today():%d %B %Y} on a machine with {cpu_count()} cores"
        f" ({processor()}). Each row shows the fastest of three runs. The column *peak* shows the"
        " peak memory of the process. The column *all* shows the CPU time of the whole process. The"
        " column *set up* shows the CPU time of a run that simulates only a microsecond."
    ]
    page.append("")
    (DOCS / FIGURES).mkdir(exist_ok=True)
    for part, rows in found.items():
        page += [f"## {part.title}", "", part.about, ""]
        if part.axis:
            file = f"{FIGURES}/{part.points.__name__}.svg"
            made = export.svg(export.spec(figure(part, rows)))
            (DOCS / file).write_text(made, encoding="utf-8")
            page += [f"![{part.title}: time per packet and memory]({file})", ""]
        page += [*table(part, rows), ""]
    PAGE.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
