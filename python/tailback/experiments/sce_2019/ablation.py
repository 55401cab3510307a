"""The mechanisms, switched off or changed one by one, and what that does to the errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.experiments.sce_2019 import points, truth
from tailback.experiments.sce_2019.layout import SETUPS, Setup
from tailback.experiments.sce_2019.points import Batch, Entry, Variant
from tailback.metrics.statistics import median, nearest_rank
from tailback.report import Column, Facts, Section, Table, Text, Value
from tailback.results import Results

#: The set-up of the reproduction.
BASELINE = "baseline"


def _any(_setup: Setup) -> bool:
    return True


def _with(*ccs: str) -> Callable[[Setup], bool]:
    """Set-ups with one of these congestion controls."""
    return lambda setup: bool(set(setup.ccs) & set(ccs))


def _single(setup: Setup) -> bool:
    return "sce-single" in setup.mode


_SCE = ("reno-sce", "dctcp-sce")


def _sce(**options: Any) -> Variant:
    """Both congestion controls of SCE with these options."""
    return Variant(ccs=dict.fromkeys(_SCE, options))


@dataclass(frozen=True)
class Tried:
    """A row of the table."""

    id: str
    #: What is different from the set-up of the reproduction.
    title: str
    variant: Variant
    #: Set-ups that it can make a difference to.
    concerns: Callable[[Setup], bool] = _any


TRIED: tuple[Tried, ...] = (
    Tried(
        "no-unit-quirk",
        "SCE senders count in one unit (`unit_quirk = 0`)",
        _sce(unit_quirk=0),
        _with(*_SCE),
    ),
    Tried(
        "fresh",
        'a fresh queue waits an interval (`fresh = "interval"`)',
        Variant(queue={"fresh": "interval"}),
    ),
    Tried(
        "precise",
        'DCTCP\'s receiver echoes precisely (`receiver = "precise"`)',
        Variant(ccs={"dctcp": {"receiver": "precise"}}),
        _with("dctcp"),
    ),
    Tried(
        "holds-ce",
        'DCTCP\'s receiver holds CE over SCE marks (`receiver = "sce_holds_ce"`)',
        Variant(ccs={"dctcp": {"receiver": "sce_holds_ce"}}),
        _with("dctcp"),
    ),
    Tried(
        "sticky",
        'DCTCP\'s receiver echoes until CWR (`receiver = "sticky"`)',
        Variant(ccs={"dctcp": {"receiver": "sticky"}}),
        _with("dctcp"),
    ),
    Tried(
        "slope",
        'sce-single keeps its slope (`sce_single_slope = "kept"`)',
        Variant(modes={"flowblind sce-single": {"sce_single_slope": "kept"}}),
        _single,
    ),
    Tried(
        "one-way",
        "no Cake on the way back (`both_directions = false`)",
        Variant(set={"bottleneck.both_directions": False}),
    ),
    Tried(
        "dither",
        'ACKs are not split (`sce_receiver = "dither"`)',
        Variant(set={"tcp.sce_receiver": "dither"}),
        _with(*_SCE),
    ),
    Tried("thirty", "every test lasts 30 s", Variant(seconds=30)),
    Tried("double", "tests are twice as long", Variant(stretch=2)),
    Tried("warm", "the first 5 s are not counted", Variant(set={"warmup": "5s"})),
    Tried("no-base", "no round trip of the test bed itself", Variant(base_ms=0.02)),
)

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
    (
        "TCP RTT below",
        "relative",
        lambda e: e.table.quantity == "tcp_rtt_ms" and e.rate_mbit < 5,
    ),
)


def plan(*, quick: bool, seeds: int) -> dict[str, list[Batch]]:
    """What to run, by row."""
    setups = SETUPS[:: 3 if quick else 1]
    out = {BASELINE: points.plan(points.sample(setups), seeds=seeds)}
    for tried in TRIED:
        own = [setup for setup in setups if tried.concerns(setup)]
        out[tried.id] = points.plan(points.sample(own), seeds=seeds, variant=tried.variant)
    return out


def measured(
    batches: Mapping[str, Sequence[Batch]], results: Sequence[Results]
) -> dict[str, list[Entry]]:
    """The cells of each row."""
    out = {}
    at = 0
    for name, own in batches.items():
        tables = points.tables_of(batch.setup for batch in own)
        out[name] = points.entries(tables, own, results[at : at + len(own)])
        at += len(own)
    return out


def sections(
    batches: Mapping[str, Sequence[Batch]], results: Sequence[Results], facts: Facts
) -> list[Section]:
    """The table, as a section of the report."""
    found = measured(batches, results)
    columns = [
        Column("changed", align="left"),
        Column("cells"),
        *(Column(f"{title}") for title, _, _ in COLUMNS),
    ]
    rows: list[list[Value]] = []
    for tried in TRIED:
        changed = found.get(tried.id, [])
        ids = {entry.cell.id for entry in changed}
        before = [entry for entry in found[BASELINE] if entry.cell.id in ids]
        row: list[Value] = [tried.title, sum(e.cell.error is not None for e in changed)]
        for _, kind, belongs in COLUMNS:
            pair = [
                _two(truth.sizes((e for e in cells if belongs(e)), kind))
                for cells in (before, changed)
            ]
            row.append(None if None in pair else " \u2192 ".join(str(text) for text in pair))
        rows.append(row)
    caption = (
        "Median and 90th percentile of the errors, in percent, in the set-up of the reproduction "
        "\u2192 with one thing changed, of the same cells: those of the sample that it can make a "
        "difference to. What raises the errors when it is taken away explains the published "
        "numbers."
    )
    table = Table("ablation", "One mechanism at a time", columns, rows, caption, facts)
    return [Section("ablation", "Mechanisms", [Text(INTRODUCTION), table])]


INTRODUCTION = """
Each row changes one thing of the set-up and runs a sample of the cells again: of every congestion
control alone each rate and each delay once, and one cell of each pair in each mode.
"""


def _two(errors: Sequence[float]) -> str | None:
    middle, high = median(errors), nearest_rank(errors, 0.9)
    if middle is None or high is None:
        return None
    return f"{100 * middle:.1f} / {100 * high:.1f}"
