"""Lists differences without a known cause, with what was tried, the result, and the conclusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailback.metrics.statistics import median
from tailback.report import Table, Value
from tailback.report.tables import words
from tailback_studies.experiments.sce_2019.errors import COLUMNS, arrow
from tailback_studies.experiments.sce_2019.points import SceEntry
from tailback_studies.reproduction.readings import BASELINE

LEAD = """
A verdict is *mechanism found*, *excluded*, or *open* with the experiment that did not decide the
question. If errors fall when a part of the set-up is changed, this speaks against the part (the
rule of the table above). But the part stays if a source states that the test bed had it, because
the set-up follows the sources and not the errors.
"""

_OFFLOADS = (
    "on Linux 7.3, 106.1 ms with a receive buffer of fixed size, 121.3 ms with a tuned buffer "
    "(`tcp_rmem` of 4096 131072 6291456); offloads change each value by less than 0.1 ms. The "
    "source has 138.8 ms"
)
_STATED = "kept: stated by the publication"
_CODE = "kept: the kernels of the publication have it"
_RULE: tuple[tuple[str, str, str, str], ...] = (
    (
        "`initial_ssthresh = 10`",
        "no-memory",
        "nothing remembered",
        _CODE + "; its value is not known",
    ),
    ("Cake in both directions", "one-way", "no Cake in the reverse direction", _STATED),
    ("ESCE to every sender", "sce-only", "ESCE to SCE senders only", _CODE),
    ("a fresh queue", "fresh", "a fresh queue waits an interval", _CODE),
)


def table(by_reading: Mapping[str, Sequence[SceEntry]]) -> Table:
    """Show every question."""
    rows: list[list[Value]] = [
        [
            "Why does DCTCP cut deeper than in Linux?",
            'a cut by alpha/2 at each update of alpha, with or without marks (`cut = "round"`); '
            "errors without it:",
            _out(by_reading, "echo"),
            "mechanism found: adopted after the first comparison",
        ],
        [
            "",
            "this cut, which also lowers ssthresh",
            _out(by_reading, "round-ssthresh"),
            "excluded: cuts then add up",
        ],
        [
            "",
            "more ECN-Echo for each mark: the receiver echoes until CWR",
            _out(by_reading, "sticky"),
            "excluded",
        ],
        ["", "ECN-Echo packet by packet", _out(by_reading, "precise"), "excluded"],
        [
            "Reno's RTT at 0.5 Mbit/s and no delay",
            "two-segment TSO packets that outlast the delayed ACK: `path.offloads = true` on the "
            "kernel engine",
            _OFFLOADS,
            "offloads excluded; open: a tuned buffer explains a part",
        ],
        [
            "Shares in sce-single at 100 Mbit/s",
            "the slope of the ramp kept",
            _slope(by_reading),
            "open; the slope alone is excluded, because it lowers errors at this rate and raises "
            "them at lower rates",
        ],
    ]
    for what, reading, tried, verdict in _RULE:
        said = f"{_speaks(by_reading, reading)}; {verdict}"
        rows.append([what, tried, _out(by_reading, reading), said])
    rows.append(
        [
            "RTTs of 207 to 1036 ms in single entries",
            "every seed of these entries",
            "no seed has an RTT above the largest of the neighbouring entries in the publication",
            "open: not reproduced",
        ]
    )
    columns = words("question", "tried", "came out: median / 90th percentile, %", "verdict")
    return Table("questions", "Open questions", columns, rows)


def _speaks(found: Mapping[str, Sequence[SceEntry]], reading: str) -> str:
    """Return a text that says how many errors become larger with an alternative, and how many
    become smaller.
    """
    before, changed = _pair(found, reading)
    rise = fall = 0
    for _, kind, own in COLUMNS:
        text = arrow(before, changed, kind, own)
        if text is not None:
            then, now = (side.split(" / ") for side in text.split(" \u2192 "))
            rise += sum(float(b) > float(a) for a, b in zip(then, now, strict=True))
            fall += sum(float(b) < float(a) for a, b in zip(then, now, strict=True))
    return f"for the set-up: {rise} errors rise; against it: {fall} fall"


def _pair(
    found: Mapping[str, Sequence[SceEntry]], reading: str
) -> tuple[list[SceEntry], Sequence[SceEntry]]:
    changed = found[reading]
    ids = {entry.cell.id for entry in changed}
    return [entry for entry in found[BASELINE] if entry.cell.id in ids], changed


def _out(found: Mapping[str, Sequence[SceEntry]], reading: str) -> str:
    """Return for each group the errors with the set-up and with the alternative. Use only values
    that were measured both with the set-up and with the alternative."""
    before, changed = _pair(found, reading)
    groups = ((title, arrow(before, changed, kind, own)) for title, kind, own in COLUMNS)
    return "; ".join(f"{title}: {text}" for title, text in groups if text is not None)


def _slope(found: Mapping[str, Sequence[SceEntry]]) -> str:
    """For each rate, return the median error of flows without SCE that compete with SCE flows."""
    texts = []
    for rate in (10.0, 50.0, 100.0):
        before, after = (_yielded(found[name], rate) for name in (BASELINE, "slope"))
        if before is not None and after is not None:
            texts.append(f"{rate:g} Mbit/s: {before:+.1f} \u2192 {after:+.1f}")
    return "error of the flow without SCE, median, % of the rate: " + "; ".join(texts)


def _yielded(entries: Sequence[SceEntry], rate: float) -> float | None:
    errors = [
        error
        for e in entries
        if e.table.quantity == "throughput_mbit"
        and "sce-single" in e.table.setup.mode
        and (e.rate_mbit, e.cc in ("cubic", "reno"), e.peer.endswith("-sce")) == (rate, True, True)
        and (error := e.error("capacity")) is not None
    ]
    middle = median(errors)
    return None if middle is None else 100 * middle
