"""Expresses the publication's conclusions as conditions on its rows, and checks published and
measured rows against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tailback_studies.experiments.pam_2025_l4s.layout import COLUMNS, RATE_MBIT, PamRow
from tailback_studies.experiments.pam_2025_l4s.points import PamEntry

# Values of a published row, by column.
Cells = Mapping[str, float]


@dataclass(frozen=True)
class Claim:
    """A conclusion of the publication, as a condition on some rows."""

    title: str
    condition: str
    """The condition that every row of the claim must fulfil, in words."""
    concerns: Callable[[PamRow], bool]
    holds: Callable[[PamRow, Cells], bool]


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, with the published and measured values of the rows for which both exist."""

    claim: Claim
    published: Sequence[Cells]
    measured: Sequence[Cells]
    fulfilled: int
    """Number of measured rows that fulfil the condition."""

    @property
    def holds(self) -> bool:
        """Whether every measured row fulfils the condition."""
        return self.fulfilled == len(self.measured)


def _one_each(row: PamRow) -> bool:
    return not row.many


def _least(cells: Cells) -> float:
    return min(cells["prague_mbit"], cells["classic_mbit"])


# The largest rate at which a side (Prague or its competitor) starves, the fair share, and the
# largest queue delay that counts as low.
STARVED_MBIT, FAIR_MBIT, NEAR_MS = 0.1 * RATE_MBIT, 0.5 * RATE_MBIT, 1.0
# Largest difference of a side's rate from the fair share under fair queueing.
APART_MBIT = 0.05 * RATE_MBIT

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "One queue with a step threshold: one side starves",
        "from 1 BDP on, beside CUBIC, BBR and BBRv3 at 10 ms, one side gets less than 10 Mbit/s",
        lambda row: (
            _one_each(row)
            and row.aqm == "single_queue_FQ"
            and row.rtt_ms == 10
            and row.buffer_bdp >= 1
        ),
        lambda _, cells: _least(cells) < STARVED_MBIT,
    ),
    Claim(
        "DualPI2: Prague has a low delay but less than half of a fair share",
        "beside BBR and BBRv3 with ECN, Prague's srtt is within 1 ms of the path's RTT and its "
        "rate below half of a fair share",
        lambda row: (
            _one_each(row) and row.aqm == "DualPI2" and row.classic != "cubic" and not _plain(row)
        ),
        lambda row, cells: (
            cells["prague_srtt_ms"] < row.rtt_ms + NEAR_MS and cells["prague_mbit"] < FAIR_MBIT / 2
        ),
    ),
    Claim(
        "Fair queueing isolates the flows",
        "FQ-CoDel from 1 BDP on, one flow a side: each gets half of the rate, within 5 Mbit/s",
        lambda row: (
            _one_each(row) and row.aqm in ("FQ_Codel", "FQ_Codel_L4S") and row.buffer_bdp >= 1
        ),
        lambda _, cells: abs(_least(cells) - FAIR_MBIT) < APART_MBIT,
    ),
    Claim(
        "FIFO, 10 flows on each side: Prague gets more than CUBIC",
        "Prague's flows get more than CUBIC's",
        lambda row: row.aqm == "FIFO" and (row.n_prague, row.n_classic) == (10, 10),
        lambda _, cells: cells["prague_mbit"] > cells["classic_mbit"],
    ),
    Claim(
        "DualPI2 beside BBRv3 without ECN: BBRv3 gets more than Prague",
        "at 10 ms BBRv3 gets more than Prague, which keeps more than a third of the rate",
        lambda row: row.aqm == "DualPI2" and row.rtt_ms == 10 and _plain(row),
        lambda _, cells: RATE_MBIT / 3 < cells["prague_mbit"] < cells["classic_mbit"],
    ),
    Claim(
        "CoDel with ECN, 2 ms, 8 BDP: Prague gets more than BBRv3",
        "Prague gets more than BBRv3",
        lambda row: row.aqm == "Codel" and row.rtt_ms == 2 and row.buffer_bdp == 8,
        lambda _, cells: cells["prague_mbit"] > cells["classic_mbit"],
    ),
)


def _plain(row: PamRow) -> bool:
    """Return whether the competitor is BBRv3 without ECN."""
    return row.classic == "bbr3" and row.ecn == "noecn"


def verdicts(entries: Sequence[PamEntry]) -> list[ClaimVerdict]:
    """Return every claim for which at least one row has both published and measured values."""
    by_row: dict[PamRow, list[PamEntry]] = {}
    for entry in entries:
        if entry.cell.published is not None and entry.cell.measured is not None:
            by_row.setdefault(entry.row, []).append(entry)
    whole = {row: cells for row, cells in by_row.items() if len(cells) == len(COLUMNS)}
    out = []
    for claim in CLAIMS:
        rows = [row for row in whole if claim.concerns(row)]
        if not rows:
            continue
        published = [{e.column: e.cell.published or 0.0 for e in whole[row]} for row in rows]
        measured = [{e.column: e.cell.measured or 0.0 for e in whole[row]} for row in rows]
        held = sum(claim.holds(row, cells) for row, cells in zip(rows, measured, strict=True))
        out.append(ClaimVerdict(claim, published, measured, held))
    return out
