"""Makes the scenario of each published experiment, and computes the published quantities from its
runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tailback.metrics.statistics import estimate
from tailback.report import TableCell
from tailback.running.batch import Job
from tailback_studies.experiments.imc_bbr_2023.counting import Counted, goodput_mbit, prepare
from tailback_studies.experiments.imc_bbr_2023.layout import (
    BUFFERS,
    KERNELS,
    ImcRow,
    Place,
    gain,
    published,
    sign,
)
from tailback_studies.reproduction.entries import Entry as BaseEntry
from tailback_studies.reproduction.sources import scenario

# Options of congestion controls, by kernel. Other congestion controls use their defaults.
CCS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("4.15", "cubic"): {"name": "cubic", "hystart_ack_delay": False},
    ("4.15", "bbr"): {"name": "bbr", "ack_aggregation": False, "pacing_margin": 0},
}

# Quantities of values.
GOODPUT, GAIN, SIGN = "goodput_mbit", "gain", "gain_sign"


class ImcStored(Counted, Protocol):
    """The parts of a stored run that this experiment reads."""

    @property
    def seed(self) -> int:
        """The seed of the run."""


@dataclass(frozen=True)
class ImcEntry(BaseEntry):
    """A goodput of a transfer, or BBR's gain over CUBIC on a kernel, published and measured."""

    row: ImcRow
    """The row of the value. For a gain, this is the row of BBR."""

    @property
    def quantity(self) -> str:
        return self.cell.quantity

    def error(self, kind: str) -> float | None:
        """Return the error of the measured value. If `kind` is "capacity", the error of a goodput
        is divided by the link's rate."""
        error = super().error(kind)
        if kind == "capacity":
            return None if error is None else error / self.row.place.rate_mbit
        return error

    @property
    def coordinates(self) -> dict[str, Any]:
        """The kernel, congestion control and bottleneck of the value."""
        place = self.row.place
        return {
            "kernel": self.row.kernel,
            "cc": self.row.cc,
            "buffer_kb": place.buffer_kb,
            "rate_mbit": place.rate_mbit,
            "rtt_ms": place.rtt_ms,
        }


def job(row: ImcRow, *, seeds: int) -> Job:
    """Return the job that runs the transfer of a published row."""
    return Job(made(row), {}, seeds)


def made(row: ImcRow) -> dict[str, Any]:
    """Return the scenario that reproduces a row of the publication."""
    out = scenario(__package__, "one-flow")
    place, links = row.place, out["links"]
    links["tbf"]["rate"] = f"{place.rate_mbit}Mbit"
    links["tbf"]["queue"]["limit"] = f"{BUFFERS[place.buffer_kb]}b"
    links["netem"]["delay"] = f"{place.rtt_ms}ms"
    options = CCS.get((row.kernel, row.cc))
    out["flows"][0]["cc"] = dict(options) if options else row.cc
    prepare(row, out)
    return out


# --- values --------------------------------------------------------------------------------------

BySeed = Mapping[int, float | None]


def entries(rows: Sequence[ImcRow], results: Sequence[Iterable[ImcStored]]) -> list[ImcEntry]:
    """Return goodputs in the order of the publication. Append BBR's gains and the signs of the
    gains. Gains are computed seed by seed.
    """
    measured: dict[ImcRow, BySeed] = {}
    for row, stored in zip(rows, results, strict=True):
        measured[row] = {run.seed: goodput_mbit(row, run) for run in stored}
    known = published()
    goodputs = [
        _entry(row, GOODPUT, "Mbit/s", known.get(row), list(by_seed.values()))
        for row, by_seed in measured.items()
    ]
    return [*goodputs, *_gains(measured)]


def _gains(measured: Mapping[ImcRow, BySeed]) -> Iterator[ImcEntry]:
    known = published()
    for row, by_seed in measured.items():
        cubic, bbr = KERNELS[row.kernel]
        other = ImcRow(row.kernel, cubic, row.place)
        if row.cc != bbr or other not in measured:
            continue
        values = [
            gain(one, two) if one is not None and two else None
            for seed, one in by_seed.items()
            for two in (measured[other].get(seed),)
        ]
        theirs = gain(known[row], known[other]) if row in known and other in known else None
        yield _entry(row, GAIN, "", theirs, values)
        signs = [None if value is None else float(sign(value)) for value in values]
        their_sign = None if theirs is None else float(sign(theirs))
        yield _entry(row, SIGN, "", their_sign, signs)


def _entry(
    row: ImcRow, quantity: str, unit: str, known: float | None, values: Sequence[float | None]
) -> ImcEntry:
    name = row.name if quantity == GOODPUT else f"{row.kernel}/{quantity}/{row.place.name}"
    cell = TableCell.of(name, quantity, unit, known, estimate(values))
    return ImcEntry(row, cell=cell, values=tuple(v for v in values if v is not None))


def by_place(entries: Iterable[ImcEntry], kernel: str, quantity: str) -> dict[Place, ImcEntry]:
    """Return a kernel's gains, or the signs of the gains, by bottleneck."""
    return {e.row.place: e for e in entries if e.row.kernel == kernel and e.quantity == quantity}
