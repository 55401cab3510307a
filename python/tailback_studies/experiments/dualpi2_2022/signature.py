"""Determines in which class (L or C) the queue delay is at DualPI2's target during overload. By
design, the delay of L is at the target if UDP overloads L, and otherwise the delay of C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tailback.report import Facts, Table, Value
from tailback.report.tables import left, mark
from tailback_studies.experiments.dualpi2_2022.layout import OVERLOAD, Run
from tailback_studies.experiments.dualpi2_2022.points import UDP_FRAME, UDP_PAYLOAD, DualPi2Entry

# Rate (in Mbit/s) of the link in runs with UDP.
_LINK_MBIT = 100.0


def udp_share(payload_mbit: float) -> float:
    """Return the percentage of UDP packets that must be dropped if UDP gets the whole link.

    This percentage is (input - capacity)/input.
    """
    sent = payload_mbit * UDP_FRAME / UDP_PAYLOAD
    return max(0.0, 100 * (sent - _LINK_MBIT) / sent)


QS = ("qs_ecn_mean", "qs_nonecn_mean")


@dataclass(frozen=True)
class Signature:
    """Which queue (L or C) is at the target in an overload run, in the publication and in the
    measurement."""

    run: Run
    published: str | None
    measured: str

    @property
    def agrees(self) -> bool | None:
        """Whether the same queue is at the target in the publication and in the measurement. None
        without published delays."""
        return None if self.published is None else self.published == self.measured


def signatures(entries: Iterable[DualPi2Entry]) -> list[Signature]:
    """Return for each overload run which queue is at the target."""
    by_run: dict[Run, dict[str, DualPi2Entry]] = {}
    for e in entries:
        if e.run.archive.kind == OVERLOAD and e.case.whose == "tcp" and e.column in QS:
            by_run.setdefault(e.run, {})[e.column] = e
    out = []
    for run, cells in by_run.items():
        pairs = [(cells[c].cell.published, cells[c].cell.measured) for c in QS if c in cells]
        if len(pairs) != 2:
            continue
        (known_l, got_l), (known_c, got_c) = pairs
        if got_l is None or got_c is None:
            continue
        known = None if known_l is None or known_c is None else at_target(known_l, known_c)
        out.append(Signature(run, known, at_target(got_l, got_c)))
    return out


def at_target(q_l: float, q_c: float) -> str:
    """Return which queue ("L", "C" or "neither") is at the target of 15 ms. A queue is at the
    target if its mean delay is within 20 % of the target, and the other queue's mean delay is below
    2.5 ms.
    """
    for name, held, other in (("L", q_l, q_c), ("C", q_c, q_l)):
        if 12 <= held <= 18 and other < 2.5:
            return name
    return "neither"


def table(signs: Sequence[Signature], facts: Facts) -> Table:
    columns = [
        *left("run"),
        *left("published", "measured", ""),
    ]
    rows: list[list[Value]] = []
    for sign in signs:
        rows.append(
            [
                f"{sign.run.archive.title}, {sign.run.words}",
                sign.published,
                sign.measured,
                None if sign.agrees is None else mark(sign.agrees),
            ]
        )
    caption = (
        "The queue whose mean delay is within 20 % of the target while the mean delay of the other "
        "queue is below `2.5 ms`. It should be L if UDP overloads L, and otherwise C."
    )
    return Table("signature", "Which queue is at the target", columns, rows, caption, facts)
