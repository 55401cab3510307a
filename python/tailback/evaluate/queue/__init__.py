"""Evaluates queue disciplines against RFC 7928 and, for dual queues, RFC 9332.

The reference is a FIFO that holds one bandwidth-delay product at the largest round-trip time. To
add a section, write a module with a criterion and a scenario in `scenarios`, then add a line to
`CRITERIA`.
"""

from __future__ import annotations

from pathlib import Path

from tailback.evaluate import execution
from tailback.evaluate.criteria import Criterion
from tailback.evaluate.queue import (
    applications,
    background,
    capacity,
    ecn,
    l4s,
    levels,
    round_trips,
    series,
    short,
    single,
    sizes,
    text,
    two_way,
    unresponsive,
)

SCENARIOS = Path(__file__).parent / "scenarios"

CRITERIA: tuple[Criterion, ...] = (
    *sizes.CRITERIA,
    ecn.CRITERION,
    *single.CRITERIA,
    short.CRITERION,
    *unresponsive.CRITERIA,
    *background.CRITERIA,
    round_trips.CRITERION,
    *applications.CRITERIA,
    *levels.CRITERIA,
    *capacity.CRITERIA,
    *two_way.CRITERIA,
    *series.CRITERIA,
    *l4s.CRITERIA,
    *text.CRITERIA,
)


ASKED: tuple[Criterion, ...] = l4s.BATTERY
"""Criteria that are evaluated only if `--part` names them."""

_standard = execution.Standard("queue", "aqm", CRITERIA, SCENARIOS, ASKED)
sections, evaluate = _standard.sections, _standard.evaluate
