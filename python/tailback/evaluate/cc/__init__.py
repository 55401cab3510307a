"""Evaluates congestion controls against RFC 9743. Each section has a module. `CRITERIA` lists the
sections in the order of the RFC.

To add a section, write a module with a `CRITERION` and a scenario in `scenarios`, then add a line
to `CRITERIA`.
"""

from __future__ import annotations

from pathlib import Path

from tailback.evaluate import execution
from tailback.evaluate.cc import (
    aqm,
    aqm_delay,
    background,
    bulk,
    bulk_delay,
    bulk_loss,
    ce,
    change,
    change_delay,
    collapse,
    constrained,
    delay_steps,
    fairness,
    l4s,
    long,
    loss,
    misbehaving,
    nsperf,
    queueing,
    range_of_paths,
    rate_limited,
    realtime,
    realtime_video,
    reordering,
    short,
    short_own,
    silence,
    starvation,
    text,
    timeout,
    transient,
    tunnel,
    wireless,
)
from tailback.evaluate.criteria import Criterion

SCENARIOS = Path(__file__).parent / "scenarios"

CRITERIA: tuple[Criterion, ...] = (
    collapse.CRITERION,
    timeout.CRITERION,
    queueing.CRITERION,
    loss.CRITERION,
    fairness.CRITERION,
    short_own.CRITERION,
    silence.CRITERION,
    starvation.CRITERION,
    bulk.CRITERION,
    bulk_delay.CRITERION,
    bulk_loss.CRITERION,
    *background.CRITERIA,
    realtime.CRITERION,
    *realtime_video.CRITERIA,
    short.CRITERION,
    range_of_paths.CRITERION,
    tunnel.CRITERION,
    wireless.CRITERION,
    aqm.CRITERION,
    aqm_delay.CRITERION,
    ce.CRITERION,
    delay_steps.CRITERION,
    constrained.CRITERION,
    long.CRITERION,
    misbehaving.CRITERION,
    reordering.CRITERION,
    transient.CRITERION,
    change.CRITERION,
    change_delay.CRITERION,
    rate_limited.CRITERION,
    *text.CRITERIA,
)


ASKED: tuple[Criterion, ...] = (*nsperf.CRITERIA, *l4s.CRITERIA)
"""Criteria from sources other than RFC 9743. These criteria are evaluated only if `--part` names
them."""

_standard = execution.Standard("cc", "cc", CRITERIA, SCENARIOS, ASKED)
sections, evaluate = _standard.sections, _standard.evaluate
