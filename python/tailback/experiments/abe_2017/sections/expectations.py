"""What was expected, what came out, and why not."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.experiments.abe_2017.truth import Verdict
from tailback.report import Block, Section, Table, Text, Value
from tailback.report.tables import left, mark, right


def table(verdicts: Sequence[Verdict]) -> Table:
    """Every expectation and what came out."""
    columns = [*left("", "expected", "measured"), *right("cells", "of these hold"), *left("")]
    rows: list[list[Value]] = [
        [v.title, v.expected, v.measured, v.cells, v.held, mark(v.holds, no="does not")]
        for v in verdicts
    ]
    return Table("expectations", "Expectations", columns, rows)


#: Why an expectation does not hold, by the beginning of its id.
WHY = {
    "utilisation.cubic": (
        "**CUBIC's formula** takes the curve to its top. In whole segments the last one below it "
        "takes cbrt(1/C) = 1.4 s, and the mark comes before: with small factors, whose curves are "
        "short on the paths of these experiments, that is more than 2 points."
    ),
    "poster": (
        "**Ten against ten.** At 20 ms path and target hold 33 segments for twenty flows: ssthresh "
        "is at its floor of two segments, and no factor makes a difference. The longer the path, "
        "the closer are the ratios to those at equal mark probability; the average over all "
        "round-trip times hides both. With NewReno flows the poster's range comes out: against "
        "CUBIC on average, against NewReno at long round-trip times. Ten CUBIC flows with ABE have "
        "it against neither, but against NewReno where CUBIC is ahead anyway, at 320 ms."
    ),
    "cubic-gains-less": (
        "**CUBIC at 320 ms** is mostly cut twice, a round-trip time apart: a full queue is marked "
        "until the answer to its first mark has come back, and what is marked after that counts "
        "anew. Two cuts to 0.7 leave 0.49 of the window, two to 0.85 leave 0.72, and the gain is "
        "over the former."
    ),
    "queue-delay": (
        "**Queue delay.** With the standard backoff one flow leaves the queue empty for a part of "
        "each cycle, and that part decides the median. A gentler one leaves it less empty: the "
        "median moves towards the target, by more than 2 ms where the target is 20 ms, or where a "
        "packet takes 1.2 ms and CoDel holds four of them. The 99th percentiles hardly move."
    ),
}


def section(verdicts: Sequence[Verdict]) -> Section:
    """The expectations, and what is known of those that do not hold."""
    off = [verdict.id for verdict in verdicts if not verdict.holds]
    why: list[Block] = [
        Text(text) for start, text in WHY.items() if any(name.startswith(start) for name in off)
    ]
    blocks = [table(verdicts), *why] if verdicts else []
    return Section("result", "What was expected", blocks)
