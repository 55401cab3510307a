"""Makes the page of the experiment. The page shows goals, misses, corrections, open questions, and
runs with alternative settings."""

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
    "tailback repeats the experiments of \u201cDual Queue Coupled AQM\u201d (2022), with every "
    "case in the eight published archives. For half of the cases, this repository does "
    "not contain the published values. The authors ran each case once."
)

MEANT = (
    "A reading is an assumption about the publication's set-up, and each table changes one "
    "reading. It shows the number of values within their goal, and the median and 90th percentile "
    "of their errors: in the set-up above \u2192 with the change. Errors that rise with the change "
    "speak for the set-up, errors that fall speak against it. Criteria whose errors do not change "
    "are left out."
)
CHANGED = (
    "The set-up was corrected before these runs, from the files in each archive and from the "
    "authors' scripts; it was not changed afterwards. The first table undoes all corrections, "
    "and each other table undoes one. The corrected set-up is on the left, the set-up without "
    "the correction on the right."
)


def sections(
    entries: Sequence[DualPi2Entry],
    by_reading: questions.Found,
    laws: Sequence[law.Law],
    runs: Sequence[Run],
    results: Sequence[Iterable[DualPi2Stored]],
    facts: Facts,
) -> list[Section]:
    """Return the sections of the page."""
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
            Section("misses", "Errors beyond their limit", rows.misses(entries, facts)),
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


# Open questions: differences without a known cause. Each row contains the question, what was
# tried, the result, and the conclusion.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "C's queue beside a Prague flow with a short round-trip time: if CUBIC has a long one, "
        "the mean delay of C's queue is longer than in the publication.",
        "The shaper's burst, fq's pacing, a longer path, HyStart off, CUBIC without its "
        "Reno-friendly region (its swing), ACKs of every segment, jitter of hosts, packets four "
        "at a time (what TSO makes), the timer wheel, half the gains, and the windows of three "
        "commits of Prague 0.6.",
        "Tables *C's queue with each reading* and *The swing of C's queue*: the shaper, the hosts' "
        "pacing, HyStart and timers have a small effect, or an effect in the wrong direction. Only "
        "the rules of Prague's window move the mean towards the publication, most if the window "
        "changes by whole segments. Then the utilisation is also closer, but Prague takes more of "
        "the link from C than in the publication.",
        "Open. The cause is in how Prague's window moves when C's queue runs empty; the "
        "publication does not state which commit of Prague it ran. Excluded: burst, pacing, "
        "HyStart, clocks, packets joined by offloads (the link is full in frames on every queue).",
    ),
    (
        "Rates of L in overload: Prague gets less than in the publication once UDP fills the link.",
        "The windows of three commits of Prague 0.6.",
        "Table *Rates in overload with three versions of Prague*: with a window of whole segments, "
        "which is never below two, L has rates like the publication's. With a fractional window, "
        "the window stays at one segment after a timeout, because it does not grow while every "
        "packet is marked.",
        "Mechanism found, and it speaks against the set-up: in overload the publication's Prague "
        "uses whole segments. The set-up was frozen with the fractional window before these runs "
        "and keeps it, because with whole segments the rates of mixed round-trip times are further "
        "off (see the reading).",
    ),
    (
        "In overload, delays of the queue that is not at the target.",
        "The publication's recorder, which rounds each delay down to a unit and to a short float "
        "before the mean.",
        "Table *Overload through the recorder*; these values are also in *What was corrected*.",
        "Mechanism found: the recorder's arithmetic is part of the set-up.",
    ),
    (
        "FQ-CoDel's queue: if the hosts pace every single segment, its delays are shorter than in "
        "the publication.",
        "Hosts that pace groups of segments that TCP joins for fq, as Linux does by default; "
        "hosts that pace single segments; hosts without pacing.",
        "The readings of paced segments and of unpaced hosts under *What was corrected*. The "
        "kernel engine shows the same difference with `path.offloads`, and one of Linux's "
        "packetdrill scripts expects it.",
        "Mechanism found, and set up after the first comparison: fq paces groups of two or more "
        "segments of GSO.",
    ),
    (
        "Reno with ECN beside Reno on PIE and FQ-CoDel (archives `er`): with a round-trip time of "
        "100 ms, the flow with ECN gets less than in the publication.",
        "Reno, as the archive's name says, and CUBIC for the flow with ECN; the flow alone, in "
        "`er` and in `ec`; Reno on the kernel engine. 20 rows, five seeds.",
        "Alone at 100 ms on FQ-CoDel, the flow has the same published rate in `er` as in `ec`, "
        "35.90 Mbit/s in frames. Reno cannot reach this rate: it halves its window, which empties "
        "the queue. In the simulator, Reno has 30.1 Mbit/s of payload and CUBIC 34.7. With CUBIC, "
        "the largest error of the rate ratio falls from 24 % to 5 % on FQ-CoDel, and from 41 % to "
        "10 % on PIE. With Reno, both engines have the same ratio on FQ-CoDel (0.657 in the "
        "simulator and 0.655 on Linux, with 100 and 5 ms).",
        "Cause found: the flow with ECN was CUBIC. On these two queues, the set-up now runs CUBIC "
        "with ECN beside Reno. This was changed after a look at the published rows.",
    ),
    (
        "PIE's update: `tupdate 16ms` is stated, the frequency of the kernel's clock is not.",
        "This value on a kernel with a clock of 1000 Hz (the set-up) and of 250 Hz.",
        "Table PIE's update.",
        "Open: with 250 Hz, mean delays are closer in nearly every value, but rates of the two "
        "flows in fewer than half. The set-up keeps the stated value, with a clock of 1000 Hz.",
    ),
    (
        "Number of active flows in L beside UDP of `140 Mbit/s` in L.",
        "Three flows, as the publication's window statistics show; four, as in the other rows; all "
        "five.",
        "Table *Flows of L that have packets*.",
        "Set to three; the publication does not say what stopped the other flows.",
    ),
    (
        "A storm of retransmissions of Prague in overload.",
        "All rows of both archives of overload, with each Prague and with all flows active: "
        "packets, retransmissions and timeouts of every flow.",
        "Table *Sent again*: there are about as many retransmissions as drops, and timeouts back "
        "off.",
        "Not found: no run of these set-ups has such a storm.",
    ),
)
