"""Records how senders respond to marks and losses, ACK by ACK, on both engines.

The scenarios in `response/` have a schedule of marks and losses by packet number.
`response/golden/` has a table of Linux's response to each scenario. These commands write the tables
and the page:

    python tests/responses.py [NAME...]  the tables, from the kernel engine
    python tests/responses.py --page     docs/evidence/response.md and its figure, from
                                         the tables and the simulator

Known deviation: Linux acknowledges every segment while its receive window grows. In the simulator,
the application reads data immediately. On the kernel engine, the application leaves up to 256 KiB
unread, and the receive window grows again after each read. Therefore the first delayed ACK comes
near segment 3050 on the kernel engine, but at segment 3096 in the simulator. After this ACK, the
receivers acknowledge different pairs of segments, so the congestion windows at a given time differ
by the effect of one ACK.
"""

from __future__ import annotations

import sys
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
import polars as pl

import laws
import tailback
from tailback.figures import export
from tailback.kernel import kit

HERE = Path(__file__).resolve().parent / "response"
GOLDEN = HERE / "golden"
PAGE = HERE.parent.parent / "docs" / "evidence" / "response.md"
FIGURE = PAGE.with_suffix(".svg")

MSS = 1448
CCS = ("reno", "cubic", "dctcp")
#: Number of acknowledged segments up to which traces with delayed ACKs agree (see the module's
#: docstring).
DELAYED = {"delayed": 3000}
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")


@dataclass(frozen=True)
class Row:
    """The sender's state after an ACK or a timer."""

    time_us: int
    #: Number of acknowledged segments.
    acked: int
    #: Windows in segments. ssthresh is None while it is infinite.
    cwnd: int
    ssthresh: int | None
    in_flight: int
    state: str
    #: DCTCP's alpha, in 1/1024.
    alpha: int | None

    @property
    def response(self) -> tuple[int | str | None, ...]:
        """Return the sender's state without its time."""
        return (self.acked, self.cwnd, self.ssthresh, self.in_flight, self.state, self.alpha)


Trace = list[Row]
Case = tuple[str, str]
"""The name of a scenario and a congestion control."""


@dataclass(frozen=True)
class Observed:
    """The results of a run."""

    trace: Trace
    #: Number of drops and marks, by cause.
    causes: dict[str, int]


def names() -> list[str]:
    """Names of the scenarios."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def title(name: str) -> str:
    """Return the title of a scenario."""
    text = (HERE / f"{name}.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["title"])


def run(which: Sequence[str], engine: str, out: Path) -> dict[Case, Observed]:
    """Run scenarios on an engine."""
    jobs = [tailback.Job(HERE / f"{name}.toml") for name in which]
    found = {}
    batches = tailback.run_many(jobs, out=out, engine=engine, progress=False)
    for name, results in zip(which, batches, strict=True):
        for one in results:
            flow = one.summary["flows"][0]
            series = one.series().filter(pl.col("flow") == flow["name"])
            found[name, str(flow["cc"])] = Observed(trace(series), flow["causes"])
    return found


def trace(series: pl.DataFrame) -> Trace:
    """Return the rows of a run's series from the first ACK of data, at most one per microsecond.

    Keep the last row of each microsecond, and leave out rows that equal the previous row."""
    quantities = ["acked_bytes", "cwnd", "ssthresh", "in_flight", "ca_state", "alpha"]
    wide = (
        series.filter(pl.col("quantity").is_in(quantities))
        .with_columns(pl.col("time_ns") // 1000)
        .pivot("quantity", index="time_ns", values="value", aggregate_function="last")
        .sort("time_ns")
    )
    missing = [q for q in quantities if q not in wide.columns]
    wide = wide.with_columns(pl.lit(None, pl.Float64).alias(q) for q in missing)
    rows: Trace = []
    for row in wide.iter_rows(named=True):
        made = Row(
            time_us=row["time_ns"],
            acked=-(-int(row["acked_bytes"]) // MSS),
            cwnd=int(row["cwnd"]),
            ssthresh=None if row["ssthresh"] is None else int(row["ssthresh"]),
            in_flight=int(row["in_flight"]),
            state=STATES[int(row["ca_state"])],
            alpha=None if row["alpha"] is None else round(row["alpha"] * 1024),
        )
        if made.acked > 0 and (not rows or made.response != rows[-1].response):
            rows.append(made)
    return rows


def changes(rows: Trace) -> Trace:
    """Return the rows in which window, threshold, state or alpha differ from the previous row."""

    def shown(row: Row) -> tuple[int | str | None, ...]:
        return replace(row, acked=0, in_flight=0).response

    return [row for i, row in enumerate(rows) if i == 0 or shown(rows[i - 1]) != shown(row)]


@dataclass(frozen=True)
class Difference:
    """The differences between two traces of the same scenario."""

    #: The first two rows that differ in more than their time, or None.
    first: tuple[Row, Row] | None
    #: Largest difference between the windows at the same number of acknowledged segments.
    cwnd: int
    #: Largest difference, in us, between the times of corresponding rows before the first rows that
    #: differ.
    time_us: int


def compare(a: Trace, b: Trace) -> Difference:
    """Compare two traces row by row."""
    same = 0
    for x, y in zip(a, b, strict=False):
        if x.response != y.response:
            break
        same += 1
    off = [abs(x.time_us - y.time_us) for x, y in zip(a[:same], b[:same], strict=True)]
    if same == len(a) == len(b):
        return Difference(None, 0, max(off, default=0))
    last = min(same, len(a) - 1), min(same, len(b) - 1)
    acked = [row.acked for row in b]
    apart = (abs(x.cwnd - b[max(0, bisect_right(acked, x.acked) - 1)].cwnd) for x in a[same:])
    return Difference((a[last[0]], b[last[1]]), max(apart, default=0), max(off, default=0))


# --- tables -------------------------------------------------------------------

COLUMNS = ("time", "acked", "cwnd", "ssthresh", "in_flight", "state", "alpha")


def kernel_version() -> str:
    """Return the Linux release of the guest kernel."""
    return kit.current().version


def table(name: str, observed: dict[str, Observed], kernel: str) -> str:
    """Return the table of a scenario as text."""
    lines = [
        f"# {title(name)} (../{name}.toml)",
        f"# Linux {kernel}. A row for each ACK or timer that changed window, threshold, state",
        "# or alpha; time in us, windows in segments, alpha in 1/1024.",
    ]
    for cc in CCS:
        rows = observed[cc].trace
        lines += ["", f"[{cc}] {len(rows)} rows with those that changed none of them"]
        lines.append(_line(COLUMNS[: 6 + (cc == "dctcp")]))
        for row in changes(rows):
            ssthresh = "-" if row.ssthresh is None else row.ssthresh
            values = (row.time_us, row.acked, row.cwnd, ssthresh, row.in_flight, row.state)
            lines.append(_line(values if row.alpha is None else (*values, row.alpha)))
    return "\n".join(lines) + "\n"


def _line(values: Iterable[object]) -> str:
    widths = (8, 7, 6, 9, 10, 9, 6)
    cells = zip(values, widths, strict=False)
    return "".join(f"{value!s:>{width}}" for value, width in cells)


@dataclass(frozen=True)
class Table:
    """A table of `response/golden/`."""

    kernel: str
    #: Rows in which the state changes, by congestion control.
    rows: dict[str, Trace]
    #: Number of all rows, by congestion control.
    count: dict[str, int]


def golden(name: str) -> Table:
    """Read the table of a scenario."""
    rows: dict[str, Trace] = {}
    count: dict[str, int] = {}
    kernel = ""
    for line in (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if line.startswith("# Linux"):
            kernel = words[2].rstrip(".")
        elif line.startswith("["):
            cc = words[0].strip("[]")
            rows[cc], count[cc] = [], int(words[1])
        elif words and words[0].isdigit():
            time, acked, cwnd = map(int, words[:3])
            ssthresh = None if words[3] == "-" else int(words[3])
            alpha = int(words[6]) if len(words) > 6 else None
            rows[cc].append(Row(time, acked, cwnd, ssthresh, int(words[4]), words[5], alpha))
    return Table(kernel, rows, count)


def write_tables(which: Sequence[str], out: Path) -> None:
    """Run scenarios on the kernel and write their tables."""
    found = run(which, "kernel", out)
    GOLDEN.mkdir(exist_ok=True)
    for name in which:
        text = table(name, {cc: found[name, cc] for cc in CCS}, kernel_version())
        (GOLDEN / f"{name}.txt").write_text(text, encoding="utf-8")


# --- page -----------------------------------------------------------------

#: Scenarios of the figure, with the end of the drawn time, in ms.
SHOWN = {
    "marks-avoidance": 2400,
    "marks-one-round": 600,
    "marks-every-8": 800,
    "mark-then-loss": 600,
    "losses-10": 600,
    "window-loss-twice": 1500,
}

PAGE_HEAD = """\
# Response to the same signals

This page compares how TCP senders on both engines respond to the same losses and marks.
`python tests/responses.py --page` writes this page. The simulator's results are those
of this version of tailback. The kernel engine's results are from tables in
[tests/response/golden](../../tests/response/golden) and [tests/laws](../../tests/laws).
`python tests/responses.py` and `python tests/laws.py` write these tables.

## ACK by ACK

Each scenario in [tests/response](../../tests/response) has one flow and a link so fast that no
queue builds up. Only in the scenario `spurious-timeout` does a queue build up: a burst of other
traffic delays the flow's packets until the retransmission timer fires. A schedule lists the data
packets, including retransmissions, that the link marks or loses. On the kernel engine, a special
queue discipline (`tbsched`) applies the schedule. Therefore both engines mark or lose the same
packets. Both engines record the sender's state after every ACK and every timer
(`record.series = "acks"`). The table compares the states row by row: segments acknowledged, window,
ssthresh, packets in flight, congestion state and, for DCTCP, alpha. ECN is on. The comparison uses
only rows in which the window, ssthresh, the congestion state or alpha changes.

In most scenarios the receiver acknowledges every segment (`tcp.delack = false`), so that the
comparison shows only the sender's response. In the scenarios with random losses and in "Delayed
ACKs", the receiver follows Linux's default: it delays ACKs once the receive window has stopped
growing. The scenarios with random losses are short, and end before the receive window stops
growing. On Linux, the time at which the window stops growing depends on how much data the receiving
application leaves in the buffer. The simulator does not model this amount of data. Therefore the
traces of "Delayed ACKs" differ after the window has stopped growing. This difference between the
engines is a known deviation. In the scenarios with random losses, the round-trip times are
multiples of the kernel's clock tick, so that an ACK arrives in the same jiffy on both engines.
"""

LAWS_HEAD = """
## Response functions

A response function gives the mean number of packets in flight for a given rate of losses or marks.
The table compares the number from the formula with the numbers measured in the simulator and on
Linux ([tests/laws.py](../../tests/laws.py)). Either every n-th packet is lost or marked, or each
packet is lost or marked with the same probability. Both engines lose or mark the same packets. The
column "±" shows half the width of the 95 % interval of Linux's mean. The interval covers
several random choices of the packets that are lost or marked. Linux differs from the formulas for
these reasons:

- Reno: ACKs are delayed. A reduction takes a round trip, in which the window does not grow.
- CUBIC: the curve is flat near the last maximum. Linux rounds the curve's target to whole segments.
  Therefore the window reaches the last maximum earlier than on the exact curve, and the next loss
  also comes earlier. Fast convergence applies even if the window at a loss is only one segment
  smaller than at the previous loss.
- DCTCP: windows consist of whole segments. A reduction by alpha W/2 is rounded down to whole
  segments. A reduction takes a round trip. The reduction also resets the count of acknowledged
  segments towards the next increase (`tcp_init_cwnd_reduction`). If every n-th packet is marked,
  the reduction rounds to zero, and the window settles at n/2. Then every second round trip contains
  a reduction, and in the other round trips the window grows by one segment.
"""


def write_page(out: Path) -> None:
    """Write the page and its figure."""
    found = run(names(), "sim", out)
    kernels = {golden(name).kernel for name in names()}
    total = sum(sum(golden(name).count.values()) for name in names())
    pairs = [(name, cc) for name in names() for cc in CCS]
    differences = {
        (name, cc): compare(golden(name).rows[cc], changes(found[name, cc].trace))
        for name, cc in pairs
    }
    equal = sum(1 for d in differences.values() if d.first is None)
    kept = sum(len(golden(n).rows[cc]) for n, cc in pairs)
    lines = [
        PAGE_HEAD,
        "| Linux version | traces | equal in every row | rows | rows kept in the tables |",
        "|---|--:|--:|--:|--:|",
        f"| {', '.join(sorted(kernels))} | {len(pairs)} | {equal} | {total} | {kept} |",
        "",
        "![Congestion windows of both engines, drawn over each other](response.svg)",
        "",
        "| scenario | | rows | first difference | largest: cwnd | time |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for (name, cc), d in differences.items():
        first = "none" if d.first is None else f"{d.first[0].time_us / 1000:.1f} ms"
        shown = f"[{name}](../../tests/response/{name}.toml): {title(name)}" if cc == CCS[0] else ""
        lines.append(
            f"| {shown} | {cc} | {len(golden(name).rows[cc])} | {first} | {d.cwnd} "
            f"| {d.time_us} us |"
        )
    lines += [LAWS_HEAD, *laws.rows(out)]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = export.spec(figure({name: (golden(name), found) for name in SHOWN}))
    FIGURE.write_text(export.svg(made), encoding="utf-8")


def figure(shown: dict[str, tuple[Table, dict[Case, Observed]]]) -> Any:
    """Draw the windows of both engines in a small chart for each case."""
    rows = []
    for name, (table_of, found) in shown.items():
        columns = []
        for cc in CCS:
            traces = {
                "Linux": table_of.rows[cc],
                "simulator": changes(found[name, cc].trace),
            }
            points = [
                {"time": row.time_us / 1e6, "cwnd": row.cwnd, "engine": engine}
                for engine, trace_of in traces.items()
                for i, row in enumerate(trace_of)
                if row.time_us <= SHOWN[name] * 1000
                and (i == 0 or row.cwnd != trace_of[i - 1].cwnd)
            ]
            base = alt.Chart(pl.DataFrame(points)).encode(
                x=alt.X("time:Q", title="time in s" if name == list(shown)[-1] else None),
                y=alt.Y("cwnd:Q", title="cwnd in segments" if cc == CCS[0] else None),
            )
            colour = alt.Color(
                "engine:N",
                scale=alt.Scale(domain=["Linux", "simulator"], range=["#E69F00", "#0072B2"]),
                legend=alt.Legend(title=None, orient="top", symbolType="stroke"),
            )
            layers = [
                base.mark_line(interpolate="step-after", strokeWidth=width)
                .encode(color=colour)
                .transform_filter(f"datum.engine == '{engine}'")
                for engine, width in (("Linux", 4), ("simulator", 1.2))
            ]
            heading = alt.TitleParams(cc, fontSize=12, fontWeight=500, offset=4)
            columns.append(alt.layer(*layers).properties(width=250, height=120, title=heading))
        rows.append(alt.hconcat(*columns, spacing=18, title=title(name)))
    return alt.vconcat(*rows, spacing=14)


def main(words: list[str]) -> int:
    with TemporaryDirectory() as folder:
        if words == ["--page"]:
            write_page(Path(folder))
        elif set(words) <= set(names()):
            write_tables(words or names(), Path(folder))
        else:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
