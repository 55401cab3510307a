"""The mechanisms, switched off or changed one by one, and what that does to the errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.experiments.sce_2019 import points
from tailback.experiments.sce_2019.layout import (
    NAMES,
    SETUPS,
    TABLES,
    UNITS,
    WORDS,
    Setup,
    published,
)
from tailback.experiments.sce_2019.points import Batch, Entry, Place, Variant
from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Block, Facts, Section, Table, Text, Value
from tailback.report.tables import left, right, words
from tailback.reproduction.entries import sizes
from tailback.reproduction.experiment import Found
from tailback.reproduction.readings import BASELINE, Reading, before_and_after


def _with(*ccs: str) -> Callable[[Setup], bool]:
    """Set-ups with one of these congestion controls."""
    return lambda setup: bool(set(setup.ccs) & set(ccs))


def _single(setup: Setup) -> bool:
    return "sce-single" in setup.mode


_SCE = ("reno-sce", "dctcp-sce")


def _sce(**options: Any) -> Variant:
    """Both congestion controls of SCE with these options."""
    return Variant(ccs=dict.fromkeys(_SCE, options))


TRIED: tuple[Reading[Variant, Setup], ...] = (
    Reading(
        "no-unit-quirk",
        "SCE senders count in one unit (`unit_quirk = 0`)",
        _sce(unit_quirk=0),
        _with(*_SCE),
    ),
    Reading(
        "no-cwr-quirk",
        "SCE senders reduce once (`cwr_quirk = false`)",
        _sce(cwr_quirk=False),
        _with(*_SCE),
    ),
    Reading(
        "ssthresh-max",
        'ESCE never lowers ssthresh (`ssthresh = "max"`)',
        _sce(ssthresh="max"),
        _with(*_SCE),
    ),
    Reading(
        "fixed-buffer",
        'the receive buffer is large from the start (`rcvbuf = "fixed"`)',
        Variant(set={"tcp.rcvbuf": "fixed"}),
    ),
    Reading(
        "no-memory",
        "no ssthresh is remembered (`initial_ssthresh = 0`)",
        Variant(set={"tcp.initial_ssthresh": 0}),
    ),
    Reading(
        "fresh",
        'a fresh queue waits an interval (`fresh = "interval"`)',
        Variant(queue={"fresh": "interval"}),
    ),
    Reading(
        "precise",
        'DCTCP\'s receiver echoes precisely (`receiver = "precise"`)',
        Variant(ccs={"dctcp": {"receiver": "precise"}}),
        _with("dctcp"),
    ),
    Reading(
        "sticky",
        'DCTCP\'s receiver echoes until CWR (`receiver = "sticky"`)',
        Variant(ccs={"dctcp": {"receiver": "sticky"}}),
        _with("dctcp"),
    ),
    Reading(
        "slope",
        'sce-single keeps its slope (`sce_single_slope = "kept"`)',
        Variant(modes={"flowblind sce-single": {"sce_single_slope": "kept"}}),
        _single,
    ),
    Reading(
        "one-way",
        "no Cake on the way back (`both_directions = false`)",
        Variant(set={"bottleneck.both_directions": False}),
    ),
    Reading(
        "dither",
        'ACKs are not split (`sce_receiver = "dither"`)',
        Variant(set={"tcp.sce_receiver": "dither"}),
    ),
    Reading(
        "split-delayed",
        'what brings a change is delayed (`sce_receiver = "split-delayed"`)',
        Variant(set={"tcp.sce_receiver": "split-delayed"}),
    ),
    Reading(
        "sce-only",
        'marks are told to SCE senders only (`sce_receiver = "auto"`)',
        Variant(set={"tcp.sce_receiver": "auto"}),
        _with("cubic", "reno", "dctcp"),
    ),
    Reading("thirty", "every test lasts 30 s", Variant(seconds=30)),
    Reading("double", "tests are twice as long", Variant(stretch=2)),
    Reading("warm", "the first 5 s are not counted", Variant(set={"warmup": "5s"})),
    Reading("no-base", "no round trip of the test bed itself", Variant(base_ms=0.02)),
)


@dataclass(frozen=True)
class Remark:
    """What the source leaves "under investigation", with the cells that show it."""

    id: str
    title: str
    quantity: str
    setups: tuple[Setup, ...]
    places: tuple[Place, ...]
    #: Rows of `TRIED` to run these cells with.
    tried: tuple[str, ...]
    text: str


_BELOW: tuple[Place, ...] = ((0.5, 80.0), (1.0, 40.0), (1.0, 80.0), (5.0, 20.0), (5.0, 80.0))
_ALONE = tuple(Setup("", (cc,)) for cc in _SCE)

REMARKS: tuple[Remark, ...] = (
    Remark(
        "low-rates",
        "RTTs at low rates, and Reno's 138 ms at 0.5 Mbit/s",
        "tcp_rtt_ms",
        tuple(Setup("", (cc,)) for cc in ("cubic", "reno", "dctcp")),
        ((0.5, 0.0), (0.5, 80.0), (1.0, 0.0), (1.0, 80.0)),
        ("fixed-buffer",),
        "Not a remark of the source, but a riddle of its numbers: a Linux of today in virtual "
        "time (`--engine kernel`), whose receive buffers have a fixed size, has the RTTs that the "
        "simulator has with such a buffer. With one that is tuned ACKs are delayed, which "
        "accounts for the difference of CUBIC and DCTCP, and for a part of Reno's.",
    ),
    Remark(
        "long-delays",
        "Reno and DCTCP at long delays",
        "throughput_mbit",
        tuple(Setup("", (cc,)) for cc in ("reno", "dctcp")),
        ((50.0, 80.0), (50.0, 160.0), (100.0, 40.0), (100.0, 80.0), (100.0, 160.0)),
        ("no-memory",),
        "Not a remark of the source either: a Linux of today is faster in these cells. It does "
        "not remember an ssthresh, and its first slow start ends at the first mark. DCTCP stays "
        "a few percent above the source, unexplained.",
    ),
    Remark(
        "under-utilisation",
        "Under-utilisation at low bandwidths",
        "throughput_mbit",
        _ALONE,
        _BELOW,
        ("no-unit-quirk", "no-cwr-quirk", "dither"),
        "Counters that count acknowledged bytes of 1448 and windows of 536 make both growth and "
        "response 2.7 times what was meant. A few segments of window then swing between 2 and more "
        "than the path holds; with one unit most of the lost throughput is there.",
    ),
    Remark(
        "rtt-at-high-bdp",
        "RTT slightly up for SCE at high BDP",
        "tcp_rtt_ms",
        _ALONE,
        ((50.0, 80.0), (50.0, 160.0), (100.0, 80.0), (100.0, 160.0)),
        ("no-unit-quirk", "dither", "one-way"),
        "A flow with SCE keeps the queue between half of the target and the target, where Reno "
        "and DCTCP leave it empty for most of a cycle at such delays: 1 to 2 ms of 80 or 160. The "
        "source suspects the feedback; without split ACKs, or without the second Cake, the RTT "
        "is the same.",
    ),
    Remark(
        "fairness-dip",
        "The dip of fairness under fair queueing at 5 to 10 Mbit/s",
        "throughput_mbit",
        (Setup("triple-isolate", ("cubic", "dctcp-sce")),),
        ((5.0, 20.0), (5.0, 80.0), (10.0, 20.0), (10.0, 80.0)),
        ("no-unit-quirk", "no-cwr-quirk"),
        "It is the first remark again: in a queue of its own the flow with SCE does not use its "
        "half, as it would not alone, and the other takes what is left: with one unit the dip at "
        "10 Mbit/s is gone, that at 5 Mbit/s and 80 ms is not.",
    ),
    Remark(
        "sce-single",
        "sce-single cells that stay unfair",
        "throughput_mbit",
        (Setup("flowblind sce-single", ("reno", "reno-sce")),),
        ((5.0, 0.0), (5.0, 80.0), (10.0, 80.0), (50.0, 80.0), (100.0, 20.0)),
        ("slope", "no-unit-quirk", "no-cwr-quirk"),
        "With marks from the target on, where CE begins, the flow with SCE answers both and Reno "
        "one. At 5 Mbit/s neither the slope nor the units move the shares; from 50 Mbit/s up the "
        "slope and the two reductions do. The cell at 100 Mbit/s and 20 ms is not explained.",
    ),
    Remark(
        "extremes",
        "Single cells with an RTT of 207 to 1036 ms (Tables 90 and 95)",
        "tcp_rtt_ms",
        (
            Setup("flowblind sce-single", ("reno", "dctcp-sce")),
            Setup("flowblind sce-single", ("dctcp", "dctcp-sce")),
        ),
        ((1.0, 0.0), (1.0, 10.0), (1.0, 20.0), (1.0, 80.0)),
        ("no-unit-quirk",),
        "Not explained. These tables are kept out of the published data here; nothing like it "
        "comes up in the rows where RTTs are largest.",
    ),
)

#: What decides which receiver DCTCP had: every published cell with DCTCP.
RECEIVERS = {"sce_holds_ce": BASELINE, "precise": "precise", "sticky": "sticky"}


def _published_dctcp() -> list[Setup]:
    known = {number for number, *_ in published()}
    setups = (t.setup for t in TABLES.values() if t.number in known and "dctcp" in t.setup.ccs)
    return list(dict.fromkeys(setups))


#: Columns of the table: heading, kind of error, which cells.
COLUMNS: tuple[tuple[str, str, Callable[[Entry], bool]], ...] = (
    (
        "throughput, one flow or fair-queued",
        "relative",
        lambda e: e.table.quantity == "throughput_mbit" and not e.table.setup.shared,
    ),
    (
        "throughput, shared, of the rate",
        "capacity",
        lambda e: e.table.quantity == "throughput_mbit" and e.table.setup.shared,
    ),
    (
        "TCP RTT from 5 Mbit/s",
        "relative",
        lambda e: e.table.quantity == "tcp_rtt_ms" and e.rate_mbit >= 5,
    ),
    ("TCP RTT below", "relative", lambda e: e.table.quantity == "tcp_rtt_ms" and e.rate_mbit < 5),
)


def plan(*, quick: bool, seeds: int) -> dict[str, list[Batch]]:
    """What to run, by row of the table, and by remark and row."""
    setups = SETUPS[:: 3 if quick else 1]
    out = {BASELINE: points.plan(points.sample(setups), seeds=seeds)}
    for tried in TRIED:
        own = [setup for setup in setups if tried.concerns(setup)]
        out[tried.id] = points.plan(points.sample(own), seeds=seeds, variant=tried.variant)
    known = {tried.id: tried.variant for tried in TRIED}
    if not quick:
        every = points.every(_published_dctcp())
        for receiver, name in RECEIVERS.items():
            variant = known.get(name, points.AS_PUBLISHED)
            out[f"receiver/{receiver}"] = points.plan(every, seeds=seeds, variant=variant)
    for remark in REMARKS:
        wanted = dict.fromkeys(remark.setups, remark.places)
        for name in (BASELINE, *remark.tried):
            variant = known.get(name, points.AS_PUBLISHED)
            out[f"{remark.id}/{name}"] = points.plan(wanted, seeds=seeds, variant=variant)
    return out


def measured(batches: Mapping[str, Sequence[Batch]], results: Found) -> dict[str, list[Entry]]:
    """The cells of each row."""
    return {
        name: points.entries(points.tables_of(b.setup for b in own), own, results[name])
        for name, own in batches.items()
    }


def sections(found: Mapping[str, Sequence[Entry]], facts: Facts) -> list[Section]:
    """The table and the remarks, as sections of a report."""
    remarks: list[Block] = []
    for remark in REMARKS:
        remarks += [Text(f"**{remark.title}.** {remark.text}"), _remark(remark, found)]
    return [
        Section(
            "mechanisms",
            "Mechanisms",
            [Text(MECHANISMS), _ablation(found, facts), *_receivers(found)],
        ),
        Section("remarks", "What the source left under investigation", remarks),
    ]


TITLE = "SCE and Cake in 2019: mechanisms"
LEAD = (
    "What makes the numbers of \u201cSome Congestion Experienced One and Two-Flow Tests\u201d "
    "(2019) what they are: each mechanism, and what becomes of the errors of the reproduction "
    "without it. `tailback reproduce sce-2019 --part ablation` writes this page beside its report."
)


def _ablation(found: Mapping[str, Sequence[Entry]], facts: Facts) -> Table:
    columns = [*words("changed"), *right("cells", *(title for title, _, _ in COLUMNS))]
    rows: list[list[Value]] = []
    for tried in TRIED:
        before, changed = before_and_after(found, tried)
        row: list[Value] = [tried.title, sum(e.cell.error is not None for e in changed)]
        for _, kind, belongs in COLUMNS:
            pair = [
                _two(sizes((e for e in cells if belongs(e)), kind)) for cells in (before, changed)
            ]
            row.append(None if None in pair else " \u2192 ".join(str(text) for text in pair))
        rows.append(row)
    caption = (
        "Median and 90th percentile of the errors in percent, in the set-up of the reproduction "
        "\u2192 with one thing changed, of the same cells: of every congestion control alone each "
        "rate and each delay once, and one cell of each pair in each mode, as far as the change "
        "can make a difference to them. Errors that rise when something is changed speak for it."
    )
    return Table("ablation", "One mechanism at a time", columns, rows, caption, facts)


def _receivers(found: Mapping[str, Sequence[Entry]]) -> list[Table]:
    rows: list[list[Value]] = []
    for receiver in RECEIVERS:
        cells = found.get(f"receiver/{receiver}")
        if cells is None:
            return []
        own = [e for e in cells if e.cc == "dctcp" or e.peer == "dctcp"]
        errors = [_two(sizes((e for e in own if belongs(e)), kind)) for _, kind, belongs in COLUMNS]
        rows.append([f"`{receiver}`", sum(e.cell.error is not None for e in own), *errors])
    columns = [*words("receiver"), *right("cells", *(title for title, _, _ in COLUMNS))]
    caption = "Median and 90th percentile of the errors in percent, of every published cell."
    return [Table("receivers", "Which receiver DCTCP had", columns, rows, caption)]


def _remark(remark: Remark, found: Mapping[str, Sequence[Entry]]) -> Table:
    titles = {tried.id: tried.title for tried in TRIED}
    shown = {
        name: {e.cell.id: e for e in found[f"{remark.id}/{name}"]}
        for name in (BASELINE, *remark.tried)
    }
    columns = [
        *left("flow"),
        *right("Mbit/s", "delay, ms", "published", "measured"),
        *right(*(titles[name] for name in remark.tried)),
    ]
    rows: list[list[Value]] = []
    for entry in shown[BASELINE].values():
        if entry.table.quantity != remark.quantity:
            continue
        cells = [shown[name][entry.cell.id].cell for name in (BASELINE, *remark.tried)]
        numbers = [entry.cell.published, *(cell.measured for cell in cells)]
        who = NAMES[entry.cc] + (f" by {NAMES[entry.peer]}" if entry.peer else "")
        rows.append(
            [
                *(who, f"{entry.rate_mbit:g}", f"{entry.delay_ms:g}"),
                *(None if v is None else f"{v:.2f}" for v in numbers),
            ]
        )
    unit = UNITS[remark.quantity]
    title = f"{WORDS[remark.quantity]}, {unit}"
    return Table(f"remark-{remark.id}", title[0].upper() + title[1:], columns, rows)


def _two(errors: Sequence[float]) -> str | None:
    middle, high = median(errors), nearest_rank(errors, 0.9)
    if middle is None or high is None:
        return None
    return f"{100 * middle:.1f} / {100 * high:.1f}"


MECHANISMS = """
**Units.** Senders with SCE count acknowledged bytes, 1448 a segment, and take a segment of the
window for `rcv_mss`, which a host that only sends never measures: 536. Growth and response are 2.7
times what was meant (`unit_quirk`).

**Two reductions.** The end of CWR takes the factor of CE off a window that the stack has halved
already (`cwr_quirk`).

**The receive buffer.** While its window grows a Linux receiver acknowledges every segment. A buffer
that is tuned, as that of the test bed, grows with what is read in a round-trip time: at low rates
not at all, and ACKs are delayed from the start. One that is large from the start lets the window
grow for thousands of segments, that is for the whole of a test of 30 s at 1 Mbit/s. Where each
segment is acknowledged by itself the window meets Cake's limit of four packet times one segment
earlier (`rcvbuf`; see RTTs at low rates below).

**A remembered ssthresh.** Linux before 5.6 began a connection with the ssthresh that the last one
to the same host had left. Slow start then ends at once, and where delays are long the window grows
for most of a test. What was remembered depends on the order of the tests, which is not known; 10
segments stand for it in every cell (`initial_ssthresh`).

**ACK splitting.** When SCE marks begin or end, the receiver acknowledges what came before by
itself, and at once what brought the change. With the latter delayed, windows of two segments wait
for the delayed-ACK timer, which the source does not show (`split-delayed`). ESCE goes to every
sender that has ECN, so that CUBIC, Reno and DCTCP get the split ACKs as well.

**A fresh queue.** Cobalt's table of 1/sqrt(count) is 0 at first, and a clock that is late is set to
now: the second packet over the target is marked instead of one an interval later.

**DCTCP's receiver under SCE.** Where SCE marks are looked at first, DCTCP hears neither of CE nor
of its absence from a packet that carries one: an echo lasts until an unmarked packet comes
(`sce_holds_ce`). The table of receivers has every published cell with DCTCP: the precise echo is
ruled out, by its share beside others and by half more RTT where delays are short; an echo until CWR
comes closer, and is further off in shared queues and at low rates.

**The slope of sce-single.** Its authors say that it keeps the slope of the ramp; their code halves
it. The cells do not decide: kept, it is closer in the median, further off at the 90th percentile.

**The second Cake, and the length of tests.** ACKs pass a Cake too. Tests last 30 to 300 s and
nothing is left out, so that the start counts.
"""
