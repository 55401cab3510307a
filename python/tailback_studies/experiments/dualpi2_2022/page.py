"""The page of the experiment: goals, misses, corrections, open questions, readings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailback.report import Block, Facts, Section, Table, Text, Value
from tailback.report.tables import present, setup, words
from tailback_studies.experiments.dualpi2_2022 import (
    law,
    questions,
    readings,
    rows,
    signature,
    truth,
)
from tailback_studies.experiments.dualpi2_2022.causes import DECLARED
from tailback_studies.experiments.dualpi2_2022.layout import Run
from tailback_studies.experiments.dualpi2_2022.points import DualPi2Entry, DualPi2Stored
from tailback_studies.reproduction.shown import goals_table

TITLE = "DualPI2 in 2022"
LEAD = (
    "The result files published with \u201cDual Queue Coupled AQM\u201d (2022), measured again: "
    "all rows of the eight archives, of which half are not among the data here. The source ran "
    "each case once."
)

MEANT = (
    "Each table changes one reading. It shows the published cells within their goal, the median "
    "of their errors and the 90th percentile, in the set-up above \u2192 with the change. Errors "
    "that rise speak for the set-up, errors that fall against it. Goals whose errors do not "
    "change are left out."
)
CHANGED = (
    "The set-up was corrected from the files in each archive and from the authors' "
    "scripts, before these runs; nothing was changed after them. The first table "
    "undoes all corrections, each of the others undoes one. The set-up is on the "
    "left, the uncorrected state on the right."
)


def sections(
    entries: Sequence[DualPi2Entry],
    by_reading: questions.Found,
    laws: Sequence[law.Law],
    runs: Sequence[Run],
    results: Sequence[Iterable[DualPi2Stored]],
    facts: Facts,
) -> list[Section]:
    """Return the whole page."""
    signs = signature.signatures(entries)
    result = present(
        goals_table(truth.judged_goals(entries), facts) if entries else None,
        signature.table(signs, facts) if signs else None,
        law.table(laws, facts) if laws else None,
    )
    return [
        section
        for section in (
            Section("result", "How far off", result),
            Section("misses", "Cells beyond their goal", rows.misses(entries, facts)),
            Section("set-up", "Set-up", [setup(DECLARED, facts)]),
            Section("changes", "What was corrected", _read(CHANGED, by_reading, readings.CHANGES)),
            Section(
                "questions",
                "Open questions",
                [_open(facts), *questions.tables(by_reading, runs, results, facts)],
            ),
            Section("readings", "Readings", _read(MEANT, by_reading, readings.TRIED)),
        )
        if section.blocks
    ]


def _read(lead: str, found: questions.Found, wanted: Sequence[readings.Read]) -> list[Block]:
    blocks = readings.tables(found, wanted)
    return [Text(lead), *blocks] if blocks else []


def _open(facts: Facts) -> Table:
    table: list[list[Value]] = [list(row) for row in QUESTIONS]
    columns = words("question", "tried", "came out", "verdict")
    return Table("open", "Open questions", columns, table, "", facts)


#: Question, what was tried, result, verdict.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "C's queue beside a Prague of a short round-trip time: its mean is longer than in the "
        "source where CUBIC has a long one.",
        "The shaper's burst, fq's pacing, a longer path, HyStart off, CUBIC without its "
        "Reno-friendly region (its swing), ACKs of every segment, jitter of hosts, packets four "
        "at a time (what TSO makes), the timer wheel, half the gains, and the windows of three "
        "commits of Prague 0.6.",
        "Tables C's queue with each reading and The swing of C's queue: the shaper, the hosts' "
        "pacing, HyStart and timers have a small effect, or the opposite one. Only Prague's "
        "window moves the mean towards the source, most where it changes by whole segments. That "
        "also brings the use of the link closer, but takes more of the link from C than in the "
        "source.",
        "Open. The cause is in how Prague's window moves when C's queue runs empty; the source "
        "does not state which commit of the version it ran. Excluded: burst, pacing, HyStart, "
        "clocks, packets joined by offloads (the link is full in frames on every queue).",
    ),
    (
        "Rates of L in overload: Prague gets less than in the source once UDP fills the link.",
        "The windows of three commits of Prague 0.6.",
        "Table Rates in overload with three Pragues: with whole segments, which never leave less "
        "than two, L has rates like the source's. With a fraction the window stays at one "
        "segment after a timeout, since it does not grow where every packet is marked.",
        "Mechanism found, and it speaks against the set-up: in overload the source's Prague uses "
        "whole segments. The set-up keeps the fraction, with which it was frozen before these "
        "runs, since with whole segments the rates of mixed round-trip times are further off "
        "(see the reading).",
    ),
    (
        "Delays in overload of the queue that is not at the target.",
        "The recorder of the source: delays cut to units and to a float before they are averaged.",
        "Table Overload through the recorder; the same cells in What was corrected.",
        "Mechanism found: the recorder's arithmetic is part of the set-up.",
    ),
    (
        "FQ-CoDel's queue: its delays are shorter than in the source where the hosts pace every "
        "segment by itself.",
        "Hosts that pace what TCP joins for fq, as Linux does by default; segments by themselves; "
        "no pacing.",
        "The readings of paced segments and of unpaced hosts under What was corrected. On the "
        "kernel engine the same difference is there with `path.offloads`, and one of the kernel's "
        "packetdrill scripts asks for it.",
        "Mechanism found, and set up after the first comparison: fq spaces what TCP joins, two "
        "segments or more.",
    ),
    (
        "PIE's update: `tupdate 16ms` is stated, the frequency of the kernel's clock is not.",
        "The same text on a kernel of 1000 Hz (the set-up) and of 250 Hz.",
        "Table PIE's update.",
        "Open: mean delays are closer on 250 Hz in nearly every cell, rates of the two flows in "
        "fewer than half. The set-up keeps the stated value, read on a clock of 1000 Hz.",
    ),
    (
        "Three flows of L under UDP of `140 Mbit/s` in L.",
        "Three flows as its window statistics show, four as in the other rows, all five.",
        "Table Flows of L that have packets.",
        "Set to three; the source does not say what stopped the other flows.",
    ),
    (
        "A storm of retransmissions of Prague in overload.",
        "All rows of both archives of overload, with each Prague and with all flows active: "
        "packets, retransmissions and timeouts of every flow.",
        "Table Sent again: retransmissions are of the order of the drops, and timeouts back off.",
        "Not found: no run of these set-ups has one.",
    ),
)
