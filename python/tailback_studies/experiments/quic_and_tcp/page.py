"""Makes the study's page, with tables and figures of the shares of QUIC and TCP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from tailback.figures.theme import MUTED, SHAPES, Chart, colour_scale
from tailback.metrics.statistics import Estimate, median
from tailback.report import Block, Facts, Report, ReportFigure, Section, Table, Text, Value
from tailback.report.tables import left, right
from tailback_studies.experiments.quic_and_tcp import points
from tailback_studies.experiments.quic_and_tcp.layout import CCS, LATER, QUEUES, SHARED, STACKS
from tailback_studies.experiments.quic_and_tcp.points import Fetched, Met
from tailback_studies.reproduction import shown
from tailback_studies.reproduction.experiment import Findings, Found
from tailback_studies.reproduction.page import Page

TITLE = "QUIC stacks beside TCP"
LEAD = (
    "A flow of an unmodified QUIC stack shares a bottleneck with a TCP flow of Linux, in virtual "
    "time. A stack uses its default congestion control unless the table names another one. There "
    "are no published results to compare these numbers with."
)
HOW = (
    "`tailback kernel build --program quinn` builds the endpoints of quinn; the other names are "
    "`quic-go`, `s2n-quic`, `aioquic` and `quiche` ([programs.md](../how-to/programs.md)). We "
    "wrote down the set-up before the first run. aioquic is written in Python and therefore slow, "
    "so it runs only at `20 Mbit/s` and `40 ms`. In some runs quic-go closed the connection with "
    "the error `too many gaps in received data`. The results exclude these failed runs. We decided "
    "after the first runs to exclude failed runs. Runs at `100 Mbit/s` with RTTs of `10` and `160 "
    "ms` are on [a page of their own](quic-and-tcp-rtts.md). We added quiche later, on [its own "
    "page](quic-and-tcp-quiche.md). TCP flows negotiate ECN, and queues that support ECN mark "
    "packets."
)


def findings(
    results: Found, met: Mapping[str, Sequence[Met]], fetched: Sequence[Fetched]
) -> Findings:
    """Return the report, the page and the measured numbers.

    The report, the page and the numbers cover only the parts of the experiment that were run.
    """
    facts = shown.facts(
        [result for group in results.values() for result in group], deviations=(shown.NO_OFFLOADS,)
    )
    sections = [Section("how", "How to reproduce it", [Text(HOW)])]
    cells: list[dict[str, Any]] = []
    if fetched:
        sections.append(Section("alone", "Alone", _alone(fetched, facts)))
        cells += [cell for result in fetched for cell in _fetch_cells(result)]
    for name, own in met.items():
        sections.append(_beside(name, own, facts))
        cells += [cell for result in own for cell in _met_cells(result)]
    title = _title(met, alone=bool(fetched))
    report = Report(
        name="quic-and-tcp", title=title, lead=LEAD, meta=[*facts.lines()], sections=sections
    )
    return Findings(report, cells, [], (), Page(title, LEAD, sections, facts))


def _title(met: Mapping[str, Sequence[Met]], *, alone: bool) -> str:
    """Return the title. If only one rate was run, name it in the title."""
    if alone or len(met) != 1:
        return TITLE
    link = next(iter(met.values()))[0].pair.place.link
    rtts = " and ".join(str(rtt) for rtt in link.rtts_ms)
    return f"{TITLE} at {link.rate_mbit} Mbit/s and {rtts} ms"


# --- transfers without a competitor ---------------------------------------------------------------


def _alone(fetched: Sequence[Fetched], facts: Facts) -> list[Table]:
    tables = []
    links = dict.fromkeys(transfer.fetch.place.link for transfer in fetched)
    for link in links:
        own = [transfer for transfer in fetched if transfer.fetch.place.link == link]
        by_place = {(o.fetch.label, o.fetch.place.queue, o.fetch.place.rtt_ms): o for o in own}
        rows: list[list[Value]] = []
        for who in dict.fromkeys(transfer.fetch.label for transfer in own):
            for queue in QUEUES:
                line = [by_place.get((who, queue, rtt)) for rtt in link.rtts_ms]
                ect = [
                    transfer.ect.mean
                    for transfer in line
                    if transfer and transfer.ect.mean is not None
                ]
                rows.append(
                    [
                        who,
                        queue,
                        *(
                            shown.with_half(transfer.completion_s, 2) if transfer else None
                            for transfer in line
                        ),
                        *(_number(transfer.delay_ms, 1) if transfer else None for transfer in line),
                        f"{100 * min(ect):.0f} %" if ect else None,
                    ]
                )
        columns = [
            *left("who", "queue"),
            *right(
                *(f"{rtt} ms: time, s" for rtt in link.rtts_ms),
                *(f"{rtt} ms: queue, ms" for rtt in link.rtts_ms),
                "sent ECN-capable",
            ),
        ]
        tables.append(
            Table(
                f"alone-{link.rate_mbit}",
                f"A transfer alone at {link.rate_mbit} Mbit/s",
                columns,
                rows,
                "The *time* is measured from the first to the last payload byte (± half of the 95 "
                "% interval). *Queue* is the mean queue delay. *Sent ECN-capable* is the share of "
                "the sender's packets that are ECN-capable, at the RTT with the lowest share. A "
                f"cell is empty if no seed delivered every byte within `{points.FETCH_S} s`.",
                facts,
            )
        )
    return tables


# --- meetings -----------------------------------------------------------------------------------


def _beside(name: str, met: Sequence[Met], facts: Facts) -> Section:
    link = met[0].pair.place.link
    blocks: list[Block] = [
        _figure(name, met, facts),
        _harm(name, met, facts),
        _every(name, met, facts),
    ]
    if any(one.ended_s for one in met):
        blocks.append(_gave_up(name, met, facts))
    return Section(name, f"Beside a flow of Linux at {link.rate_mbit} Mbit/s", blocks)


def _figure(name: str, met: Sequence[Met], facts: Facts) -> ReportFigure:
    rows = []
    for meeting in met:
        if meeting.share.mean is None:
            continue
        low, high = meeting.share.ci95 or (meeting.share.mean, meeting.share.mean)
        rows.append(
            {
                "stack": _stack(meeting),
                "cc": f"beside {meeting.pair.cc}",
                "queue": meeting.pair.place.queue,
                "rtt": meeting.pair.place.rtt_ms,
                "share": meeting.share.mean,
                "low": max(low, 0.0),
                "high": min(high, 1.0),
            }
        )
    caption = (
        "The figure shows the stack's share of the total throughput of both flows, with a 95 % "
        "interval over the seeds. The dashed line is the fair share. The legend entry *its own "
        "kind* stands for two TCP flows of Linux with the same congestion control."
    )
    return ReportFigure(
        f"{name}-share", "Shares of the throughput", _panels(pl.DataFrame(rows)), caption, facts
    )


OWN = "its own kind"


def _stack(one: Met) -> str:
    return one.pair.stack.label if one.pair.stack is not None else OWN


def _panels(frame: pl.DataFrame) -> Chart:
    order = [stack.label for stack in (*STACKS, *LATER)] + [OWN]
    order = [name for name in order if name in frame["stack"].to_list()]
    rtts = sorted(frame["rtt"].unique().to_list())
    base = alt.Chart(frame)
    x = alt.X("rtt:O", title="base RTT in ms", sort=rtts, axis=alt.Axis(labelAngle=0))
    y = alt.Y(
        "share:Q", title="share", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(values=[0, 0.5, 1])
    )
    offset = alt.XOffset("stack:N", sort=order)
    colour = alt.Color(
        "stack:N",
        scale=colour_scale(order),
        sort=order,
        legend=alt.Legend(title=None, orient="top", columns=3),
    )
    shape = alt.Shape("stack:N", scale=alt.Scale(domain=order, range=SHAPES[: len(order)]))
    points = base.mark_point(filled=True, size=38).encode(
        x=x, y=y, xOffset=offset, color=colour, shape=shape
    )
    bars = base.mark_rule(strokeWidth=1.2).encode(
        x=x, xOffset=offset, y=alt.Y("low:Q"), y2="high:Q", color=colour
    )
    fair = base.mark_rule(color=MUTED, strokeDash=[3, 3]).encode(y=alt.datum(0.5))
    panels = alt.layer(fair, bars, points).properties(width=200, height=78)
    return panels.facet(
        row=alt.Row("queue:N", sort=list(QUEUES), title=None),
        column=alt.Column("cc:N", sort=[f"beside {cc}" for cc in CCS], title=None),
        spacing=10,
    )


def _harm(name: str, met: Sequence[Met], facts: Facts) -> Table:
    rows: list[list[Value]] = []
    others = [meeting for meeting in met if meeting.pair.stack is not None]
    for stack in dict.fromkeys(_stack(meeting) for meeting in others):
        for queue in QUEUES:
            meetings = [o for o in others if _stack(o) == stack and o.pair.place.queue == queue]
            values = {o: o.harm.mean for o in meetings if o.harm.mean is not None}
            if not values:
                continue
            worst = max(values, key=lambda meeting: values[meeting] or 0.0)
            rows.append(
                [
                    stack,
                    queue,
                    *(_middle(o.harm for o in meetings if o.pair.cc == cc) for cc in CCS),
                    f"{values[worst]:.2f}",
                    f"{worst.pair.cc}, {worst.pair.place.rtt_ms} ms",
                    _middle((o.marks for o in meetings), 1),
                    _middle((o.drops for o in meetings), 1),
                ]
            )
    columns = [
        *left("stack", "queue"),
        *right(*(f"to {cc}" for cc in CCS), "worst"),
        *left("where"),
        *right("marked, of 1000", "dropped, of 1000"),
    ]
    shared = ", ".join(SHARED)
    caption = (
        "The harm is the share of throughput that a Linux flow loses if it competes with the stack "
        "instead of a second Linux flow. The columns *to cubic*, *to reno* and *to bbr* show the "
        f"median harm over all RTTs. A negative harm is a gain. In {shared}, flows compete for the "
        "link; the other queues isolate flows. The last two columns show how many of 1000 packets "
        "of the stack were marked or dropped."
    )
    return Table(f"{name}-harm", "Harm", columns, rows, caption, facts)


def _every(name: str, met: Sequence[Met], facts: Facts) -> Table:
    by_place = {(_stack(meeting), meeting.pair.place, meeting.pair.cc): meeting for meeting in met}
    rows: list[list[Value]] = []
    for stack, place in dict.fromkeys((_stack(meeting), meeting.pair.place) for meeting in met):
        line = [by_place[stack, place, cc] for cc in CCS]
        rows.append(
            [
                stack,
                place.queue,
                place.rtt_ms,
                *(_both(o) for o in line),
                *(_number(meeting.delay_ms, 1) for meeting in line),
            ]
        )
    columns = [
        *left("stack", "queue"),
        *right("RTT, ms", *(f"{cc}: QUIC / TCP, Mbit/s" for cc in CCS)),
        *right(*(f"{cc}: queue, ms" for cc in CCS)),
    ]
    caption = (
        "Means over the seeds: throughput of the payload of both flows, and queueing delay "
        "of all packets."
    )
    return Table(f"{name}-every", "Every pair of flows", columns, rows, caption, facts)


def _both(one: Met) -> str | None:
    if one.quic_mbit.mean is None:
        return None
    return f"{_number(one.quic_mbit, 1)} / {_number(one.tcp_mbit, 1)}"


def _gave_up(name: str, met: Sequence[Met], facts: Facts) -> Table:
    rows: list[list[Value]] = [
        [
            _stack(meeting),
            meeting.pair.cc,
            meeting.pair.place.queue,
            meeting.pair.place.rtt_ms,
            f"{len(meeting.ended_s)} of {meeting.runs}",
            f"{min(meeting.ended_s):.1f}",
        ]
        for meeting in met
        if meeting.ended_s
    ]
    columns = [
        *left("stack", "beside", "queue"),
        *right("RTT, ms", "runs that it ended", "the first at, s"),
    ]
    caption = (
        "Runs in which the stack closed its connection with an error before the end of the run. "
        "The other tables and figures do not include these runs."
    )
    return Table(f"{name}-gave-up", "Runs that the stack ended", columns, rows, caption, facts)


def _number(value: Estimate, digits: int) -> str | None:
    return None if value.mean is None else f"{value.mean:.{digits}f}"


def _middle(values: Iterable[Estimate], digits: int = 2) -> str | None:
    found = median(value.mean for value in values if value.mean is not None)
    return None if found is None else f"{found:.{digits}f}"


# --- rows of all-cells.csv ------------------------------------------------------------------------


def _cell(name: str, quantity: str, unit: str, value: Estimate) -> dict[str, Any]:
    return {
        "id": name,
        "quantity": quantity,
        "unit": unit,
        "published": None,
        "measured": value.mean,
        "n": value.n,
        "ci95": value.half_width,
    }


def _met_cells(meeting: Met) -> list[dict[str, Any]]:
    name = f"{_stack(meeting)}/{meeting.pair.place.name}/beside {meeting.pair.cc}"
    return [
        _cell(name, "share", "", meeting.share),
        _cell(name, "quic_mbit", "Mbit/s", meeting.quic_mbit),
        _cell(name, "tcp_mbit", "Mbit/s", meeting.tcp_mbit),
        _cell(name, "harm", "", meeting.harm),
        _cell(name, "delay_ms_mean", "ms", meeting.delay_ms),
        _cell(name, "marks_per_mille", "", meeting.marks),
        _cell(name, "drops_per_mille", "", meeting.drops),
        _cell(
            name,
            "gave_up",
            "of runs",
            Estimate(meeting.runs, len(meeting.ended_s) / meeting.runs, None),
        ),
    ]


def _fetch_cells(transfer: Fetched) -> list[dict[str, Any]]:
    name = f"{transfer.fetch.label}/{transfer.fetch.place.name}/alone"
    return [
        _cell(name, "completion_s", "s", transfer.completion_s),
        _cell(name, "delay_ms_mean", "ms", transfer.delay_ms),
        _cell(name, "sent_ect", "", transfer.ect),
    ]
