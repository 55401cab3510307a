"""Tables about differences from the publication that have no known cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tailback.report import Block, Facts, Table, Value
from tailback.report.tables import left, present, right, words
from tailback_studies.experiments.dualpi2_2022 import readings
from tailback_studies.experiments.dualpi2_2022.layout import OVERLOAD, Run
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry, DualPi2Stored
from tailback_studies.experiments.dualpi2_2022.rows import number
from tailback_studies.reproduction.readings import BASELINE

# The values by alternative, from `readings.measured`.
Found = Mapping[str, Sequence[DualPi2Entry]]

_AS_SET_UP = "as set up"
_PRAGUES = (BASELINE, "paced", "carry")
_PRAGUES_SHOWN = (_AS_SET_UP, "paced by the fraction", "by whole segments")


def _cells(entries: Iterable[DualPi2Entry], archive: str) -> dict[tuple[Run, str], DualPi2Entry]:
    return {
        (e.run, e.column): e
        for e in entries
        if e.run.archive.name == archive and e.case.whose != "udp"
    }


def _shown(entry: DualPi2Entry | None, *, published: bool = False) -> str | None:
    if entry is None:
        return None
    return number(entry.cell.published if published else entry.cell.measured)


# --- C's queue beside a Prague flow with a short RTT -----------------------------------------

_PC = "pcdualpi2_res_mr"


def c_queue(by_reading: Found, facts: Facts) -> Table | None:
    """Show the mean delay of C's queue in each run, with the set-up and with each alternative."""
    baseline = _cells(by_reading[BASELINE], _PC)
    runs = sorted(
        {run for run, _ in baseline if run.rtt_nonecn}, key=lambda r: (r.rtt_ecn, r.rtt_nonecn)
    )
    if not runs:
        return None
    column = "qs_nonecn_mean"
    rows: list[list[Value]] = [
        ["published", *(_shown(baseline.get((r, column)), published=True) for r in runs)],
        [_AS_SET_UP, *(_shown(baseline.get((r, column))) for r in runs)],
    ]
    for one in readings.EVERY:
        cells = _cells(by_reading.get(one.id, ()), _PC)
        shown = [_shown(cells.get((r, column))) for r in runs]
        if any(shown):
            rows.append([one.title, *shown])
    columns = [*words("Prague and CUBIC, ms"), *right(*(run.title for run in runs))]
    caption = "Mean delay of C's packets, ms, by the round-trip times in L and C."
    return Table("c-queue", "C's queue with each reading", columns, rows, caption, facts)


_SWING: tuple[tuple[str, str], ...] = (
    *((f"qs_nonecn_{s}", f"C's delay, ms: {s}") for s in ("mean", "p1", "p25", "p75", "p99")),
    ("rate_ratio", "rate ratio"),
    ("drops_nonecn_mean", "drops in C, %"),
    ("marks_ecn_mean", "marks in L, %"),
    ("qs_ecn_mean", "L's delay, ms: mean"),
    ("qs_ecn_p99", "L's delay, ms: p99"),
    ("util_mean", "link in use, %: mean"),
    ("util_p25", "link in use, %: p25"),
)


def swing(by_reading: Found, facts: Facts) -> Table | None:
    """Show the statistics of C's queue in the runs with the largest errors, for three versions of
    Prague."""
    baseline = _cells(by_reading[BASELINE], _PC)
    runs = [run for run, column in baseline if column == "rate_ratio" and run.rtt_ecn == 5]
    runs = [run for run in runs if run.rtt_nonecn >= 50]
    if not runs:
        return None
    cells = [_cells(by_reading.get(name, ()), _PC) for name in _PRAGUES]
    rows: list[list[Value]] = []
    for column, title in _SWING:
        row: list[Value] = [title]
        for run in runs:
            row.append(_shown(baseline.get((run, column)), published=True))
            row += [_shown(one.get((run, column))) for one in cells]
        rows.append(row)
    heads = [f"{run.title}: {name}" for run in runs for name in ("published", *_PRAGUES_SHOWN)]
    caption = (
        "The cases in which C's queue differs most from the publication, with three versions "
        "of Prague."
    )
    columns = [*left(""), *right(*heads)]
    return Table("swing", "The swing of C's queue", columns, rows, caption, facts)


# --- overload -------------------------------------------------------------------------------------


def recorder(found: Found, facts: Facts) -> Table | None:
    """Show mean queue delays in overload, both exact and rounded as by the publication's
    recorder."""
    archive = "pcdualpi2_res_overload"
    baseline, exact = _cells(found[BASELINE], archive), _cells(found.get("delays", ()), archive)
    runs = list(dict.fromkeys(run for run, _ in baseline))
    if not runs or not exact:
        return None
    rows: list[list[Value]] = []
    for run in runs:
        row: list[Value] = [run.words]
        for column in ("qs_ecn_mean", "qs_nonecn_mean"):
            key = (run, column)
            row += [
                _shown(baseline.get(key), published=True),
                _shown(exact.get(key)),
                _shown(baseline.get(key)),
            ]
        rows.append(row)
    heads = [f"{q}: {what}" for q in "LC" for what in ("published", "as it is", "recorded")]
    caption = "Mean delay of the packets of TCP, ms."
    columns = [*left("UDP"), *right(*heads)]
    return Table("recorder", "Overload through the recorder", columns, rows, caption, facts)


def overload_rates(found: Found, facts: Facts) -> Table | None:
    """For each variant of Prague, show the rates of the flows in L and in C during overload."""
    archive = "pcdualpi2_res_overload"
    cells = [_cells(found.get(name, ()), archive) for name in _PRAGUES]
    runs = list(dict.fromkeys(run for run, _ in cells[0]))
    if not runs:
        return None
    rows: list[list[Value]] = []
    for run in runs:
        row: list[Value] = [run.words]
        for column, factor in (("rpf_ecn_mean", 8e-6), ("rpf_nonecn_mean", 8e-6)):
            known = cells[0][run, column].cell.published
            numbers = [known, *(c[run, column].cell.measured for c in cells if (run, column) in c)]
            row += [None if n is None else number(n * factor) for n in numbers]
        rows.append(row)
    heads = [f"{q}: {what}" for q in "LC" for what in ("published", *_PRAGUES_SHOWN)]
    columns = [*left("UDP"), *right(*heads)]
    caption = "Mean rate of a flow of TCP, Mbit/s, of five in each class."
    return Table(
        "overload-rates",
        "Rates in overload with three versions of Prague",
        columns,
        rows,
        caption,
        facts,
    )


_FLOWS: tuple[tuple[str, str, float], ...] = (
    ("qs_ecn_mean", "L's delay, ms", 1.0),
    ("qs_nonecn_mean", "C's delay, ms", 1.0),
    ("rpf_ecn_mean", "rate of a flow of L, Mbit/s", 8e-6),
    ("rpf_ecn_p75", "the same: p75", 8e-6),
    ("rpf_ecn_p99", "the same: p99", 8e-6),
    ("rpf_nonecn_mean", "rate of a flow of C, Mbit/s", 8e-6),
    ("marks_ecn_mean", "marks in L, %", 1.0),
    ("drops_ecn_mean", "drops in L, %", 1.0),
    ("drops_nonecn_mean", "drops in C, %", 1.0),
)


def active(found: Found, facts: Facts) -> Table | None:
    """Show how the assumed number of active flows affects the results of the run in `ACTIVE_IN`."""
    archive = "pcdualpi2_res_overload"
    groups = [_cells(found.get(name, ()), archive) for name in (BASELINE, "general", "all-active")]
    runs = [run for run, column in groups[0] if column == "rate_ratio"]
    runs = [run for run in runs if run.active != run.active_by_class]
    if not runs:
        return None
    (run,) = runs
    rows: list[list[Value]] = []
    for column, title, factor in _FLOWS:
        cell = groups[0][run, column].cell
        numbers = [
            cell.published,
            *(g[run, column].cell.measured for g in groups if (run, column) in g),
        ]
        rows.append([title, *(None if n is None else number(n * factor) for n in numbers)])
    counts = (run.active[0], run.active_by_class[0], run.flows)
    columns = [*left(run.words), *right("published", *(f"{n} flows in L" for n in counts))]
    caption = "The rates are means of five flows in each class; flows without packets count as 0."
    return Table("active", "Flows of L that have packets", columns, rows, caption, facts)


def retransmissions(
    runs: Sequence[Run], results: Sequence[Iterable[DualPi2Stored]], facts: Facts
) -> Table | None:
    """Show TCP's packets, retransmissions and timeouts in overload, by class. The values are means
    over seeds.
    """
    rows: list[list[Value]] = []
    for run, stored in zip(runs, results, strict=True):
        if run.archive.kind != OVERLOAD:
            continue
        each = [_sent(one) for one in stored]
        for name in ("L", "C"):
            mean = [sum(one[name][i] for one in each) / len(each) for i in range(4)]
            packets, again, timeouts, flows = mean
            if packets:
                rows.append(
                    [
                        f"{run.archive.title}, {run.words}",
                        name,
                        f"{flows:.0f}",
                        f"{packets / flows:.0f}",
                        f"{100 * again / packets:.1f}",
                        f"{timeouts / flows:.0f}",
                    ]
                )
    if not rows:
        return None
    columns = [
        *left("run", "class"),
        *right("flows", "packets of a flow", "sent again, %", "timeouts of a flow"),
    ]
    caption = "Only flows that sent packets, over the measured time."
    return Table("retransmissions", "Sent again", columns, rows, caption, facts)


def _sent(stored: DualPi2Stored) -> dict[str, list[float]]:
    out = {name: [0.0] * 4 for name in ("L", "C")}
    for flow in stored.summary["flows"]:
        own = out.get(flow["name"].partition("/")[0])
        if own is not None:
            for i, value in enumerate((flow["packets"], flow["retransmits"], flow["timeouts"], 1)):
                own[i] += value
    return out


# --- PIE ------------------------------------------------------------------------------------------


def pie(found: Found, facts: Facts) -> Table | None:
    """For each value, show which update interval of PIE gives a result nearer to the published
    value.
    """
    baseline = _cells(found[BASELINE], "ecpie_res_mr")
    other = _cells(found.get("hz-250", ()), "ecpie_res_mr")
    rows: list[list[Value]] = []
    for column, title in (
        ("rate_ratio", "rate ratio"),
        ("qs_ecn_mean", "mean delay with ECN"),
        ("qs_nonecn_mean", "mean delay without ECN"),
    ):
        pairs = [
            (abs(baseline[key].cell.relative or 0.0), abs(other[key].cell.relative or 0.0))
            for key in baseline
            if key[1] == column and key in other and baseline[key].cell.published is not None
        ]
        if not pairs:
            continue
        first, second = (sorted(one) for one in zip(*pairs, strict=True))
        middle = len(pairs) // 2
        rows.append(
            [
                title,
                len(pairs),
                sum(a < b for a, b in pairs),
                sum(b < a for a, b in pairs),
                *(f"{100 * v:.1f} %" for v in (first[middle], second[middle])),
                *(f"{100 * v:.1f} %" for v in (first[-1], second[-1])),
            ]
        )
    if not rows:
        return None
    heads = ("nearer at 17 ms", "nearer at 20 ms", "median error at 17 ms", "at 20 ms")
    columns = [*left("PIE"), *right("values", *heads, "largest error at 17 ms", "at 20 ms")]
    caption = (
        "An update every 17 ms is `tupdate 16ms` on a kernel of 1000 Hz, where the timer wheel "
        "adds a jiffy; an update every 20 ms is the same on one of 250 Hz."
    )
    return Table("pie-update", "PIE's update", columns, rows, caption, facts)


def tables(
    by_reading: Found, runs: Sequence[Run], results: Sequence[Iterable[DualPi2Stored]], facts: Facts
) -> list[Block]:
    """Return the tables of this module."""
    return present(
        c_queue(by_reading, facts),
        swing(by_reading, facts),
        overload_rates(by_reading, facts),
        recorder(by_reading, facts),
        active(by_reading, facts),
        pie(by_reading, facts),
        retransmissions(runs, results, facts),
    )
