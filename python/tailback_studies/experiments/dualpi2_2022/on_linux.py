"""Decides which runs Linux can execute, with which kernel module, and why it cannot execute the
other runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailback.kernel import kit as kits
from tailback.report import Facts, Table, Value
from tailback.report.tables import left, right
from tailback_studies.experiments.dualpi2_2022.layout import Run
from tailback_studies.experiments.dualpi2_2022.points import (
    AS_PUBLISHED,
    DualPi2Entry,
    DualPi2Variant,
    stock,
)

PRAGUE = "prague"
REASON = (
    "Linux has no Prague, and DCTCP in its place is not the same; a guest kernel with a module of "
    "Prague runs it: tailback kernel build --module prague=DIR"
)


PACED = replace(AS_PUBLISHED, set={"tcp.pacing": "fq"})
"""If fq paces the packets, TCP in the guest does not join segments, so single segments arrive at
the bottleneck's queue."""

DEVIATION = "fq paces segment by segment: TCP joins none"


@dataclass(frozen=True)
class OnLinux:
    """The runs that Linux can execute, and the runs that Linux cannot execute."""

    runs: Sequence[Run]
    refused: Sequence[Run]
    """The runs that Linux cannot execute, because of `REASON`."""
    variant: DualPi2Variant = PACED


def prague_module() -> str | None:
    """Return the current kernel's module that provides Prague, or None without such a module."""
    named = (extra for extra in kits.current().extras() if extra["current"])
    return next((str(extra["name"]) for extra in named if PRAGUE in extra["cc"]), None)


def divide(runs: Sequence[Run]) -> OnLinux:
    """Separate the runs that Linux can execute from the other runs."""
    module = prague_module()
    if module is not None:
        control = {"kernel": True, "module": module}
        # Prague needs Accurate ECN. A congestion control module cannot negotiate Accurate ECN.
        flow = {"tcp": {"ecn_feedback": "accecn"}}
        variant = replace(PACED, ccs={PRAGUE: control}, flows={PRAGUE: flow})
        return OnLinux(runs, (), variant)
    return OnLinux([run for run in runs if stock(run)], [r for r in runs if not stock(r)])


def json(entry: DualPi2Entry) -> dict[str, Any]:
    """Return the JSON object of `reproduce --json` for a value whose run Linux could not
    execute."""
    return {**entry.json(), "refused": REASON}


def table(refused: Sequence[DualPi2Entry], facts: Facts) -> Table:
    """For each published row, show how many values could not be measured on Linux, and why."""
    by_case: dict[tuple[str, str], list[DualPi2Entry]] = {}
    for entry in refused:
        key = entry.run.archive.title, f"{entry.run.words} {entry.case.whose}".strip()
        by_case.setdefault(key, []).append(entry)
    rows: list[list[Value]] = [[*case, len(cells), REASON] for case, cells in by_case.items()]
    columns = [*left("archive", "row"), *right("values"), *left("why")]
    return Table("refused", "Not run on Linux", columns, rows, "", facts)
