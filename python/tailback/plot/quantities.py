"""Finds a quantity to draw by name: a metric, a distribution or a recorded series."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from tailback import metrics
from tailback.base.foreign import line
from tailback.base.names import nearest
from tailback.errors import InputError
from tailback.metrics import Metric, On, harm
from tailback.metrics.base import refuse_of_two
from tailback.plot import words
from tailback.registry import entries

Source = Literal["metric", "histogram", "series", "rate", "drain"]
"""The source of a quantity's values.

`rate` is the growth of a series of bytes per interval. `drain` is the time that a link needs to
send the bytes of a series.
"""

Recorded = Mapping[str, tuple[On, frozenset[str]]]
"""The recorded series, by name: the scope of each series, and the names of the parts that have
it."""

NS_PER_MS = 1e6


@dataclass(frozen=True)
class PlotQuantity:
    """A metric, distribution or recorded series that can be drawn."""

    name: str
    """The quantity's name on the command line."""
    title: str
    unit: str
    on: On
    source: Source
    stored: str = ""
    """For a distribution or a series, its name in the files of a run."""
    scale: float = 1.0
    """The stored value divided by the shown value."""
    metric: Metric | None = None
    competitor: str = ""
    """For a quantity of harm, the name of the competitor."""

    @property
    def label(self) -> str:
        """The title with its unit, for an axis."""
        return words.with_unit(self.title, self.unit)

    @property
    def spread(self) -> bool:
        """Whether one run has many values of the quantity, as in a distribution."""
        return self.source != "metric"


DELAY = PlotQuantity("delay_ms", "queue delay", "ms", "link", "histogram", "delay_ns", NS_PER_MS)
RTT = PlotQuantity("rtt_ms", "RTT", "ms", "flow", "histogram", "rtt_ns", NS_PER_MS)
RATE = PlotQuantity(
    "throughput_mbit", "payload throughput", "Mbit/s", "flow", "rate", "delivered_bytes", 1e6 / 8
)
"""The throughput over time. For TCP, payload counts when it arrives in order. Therefore an interval
in which a loss is repaired may exceed the link's rate, and earlier intervals are too low. For a
program over UDP, payload counts when it arrives at the host.
"""

DRAIN = PlotQuantity(
    "delay_ms", "queue delay, backlog over rate", "ms", "link", "drain", "backlog_bytes"
)
"""The delay that a packet arriving now would have if the queue were a FIFO."""

STATES = {
    "mode": ("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"),
    "phase": ("UP", "DOWN", "CRUISE", "REFILL"),
    "ca_state": ("Open", "Disorder", "CWR", "Recovery", "Loss"),
    "codel_dropping": ("not dropping", "dropping"),
}
"""The names of the states, for series that record a state as a number."""


def find(
    name: str,
    recorded: Recorded,
    *,
    over_time: bool = False,
    classes: Collection[str] = (),
    competitor: str | None = None,
) -> PlotQuantity:
    """Return the quantity with this name. `recorded` has the scope (flow, link or class) of each
    recorded series, by name.

    The name is looked up first among metrics, then distributions, then series. With `over_time`,
    the name is looked up only among series. A metric of harm requires `competitor`, which is the
    flow or source that causes the harm.
    """
    series = _series(name, recorded)
    if over_time:
        if name in ("throughput", RATE.name) and RATE.stored in recorded:
            return RATE
        if name in ("delay", DRAIN.name) and DRAIN.stored in recorded and series is None:
            return DRAIN
        if series is not None:
            return series
        if _metric(name, competitor) or _distribution(name, classes):
            raise InputError(f'"{line(name)}" is not recorded over time; {_of(recorded)}')
        raise unknown(name, recorded)
    found = _metric(name, competitor) or _distribution(name, classes) or series
    if found is None:
        raise unknown(name, recorded)
    return found


SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "throughput_mbit": ("goodput", "bandwidth"),
    "completion_s": ("fct", "flow_completion_time"),
    "delay_ms": ("queue_delay", "queueing_delay", "qdelay", "sojourn", "sojourn_time"),
    "drops": ("loss", "loss_rate", "losses", "lost"),
    "jain": ("fairness", "fairness_index"),
    "backlog_packets": ("qlen", "queue_length", "queue_size"),
}
"""For each quantity, the other words that users write for it."""


def unknown(name: str, recorded: Recorded) -> InputError:
    """Return the error for an unknown quantity, with the most similar name."""
    valid = [DELAY.name, RTT.name, *_names(recorded)]
    # The number of samples is never what the user meant.
    valid += [
        word
        for found in metrics.METRICS
        for word in (found.path, found.name)
        if not found.path.endswith(".n")
    ]
    meant = next((word for word, others in SYNONYMS.items() if name.lower() in others), None)
    near = meant if meant in valid else nearest(name, valid)
    hint = f'; did you mean "{near}"?' if near else "; run: tailback list metrics"
    return InputError(
        f'"{line(name)}" is not a metric, a distribution (delay_ms, rtt_ms) or a series '
        f"({', '.join(_names(recorded)) or 'the run has none'}){hint}"
    )


NOTHING = 'set record.series = "interval", because nothing is recorded here'


def _of(recorded: Recorded) -> str:
    return f"expected one of {', '.join(_names(recorded))}" if recorded else NOTHING


def _names(recorded: Recorded) -> list[str]:
    return list(dict.fromkeys(_shown(name)[0] for name in recorded))


def _metric(name: str, competitor: str | None) -> PlotQuantity | None:
    if not metrics.offered(name):
        return None
    found = metrics.find(name)
    if competitor is None:
        refuse_of_two(found, line(name))
    return of_metric(name, found, competitor)


def of_metric(name: str, metric: Metric, competitor: str | None = None) -> PlotQuantity:
    """Return a metric as a quantity with this name. For a metric of harm, `competitor` causes the
    harm."""
    title, unit = words.metric(metric)
    if metric.of_two is not None and competitor is not None:
        title = f"{title} by {line(competitor)}"
        own = harm.by(metric, competitor)
        return PlotQuantity(
            name, title, unit, metric.on, "metric", metric=own, competitor=competitor
        )
    return PlotQuantity(name, title, unit, metric.on, "metric", metric=metric)


def of_name(word: str) -> tuple[str, str, str]:
    """Split a word into a quantity and the name of the link, flow or class to which it belongs:
    `drops@first` gives `drops`, `@`, `first`."""
    stem, at, name = word.partition("@")
    return stem.strip(), at, name.strip()


def _distribution(name: str, classes: Collection[str]) -> PlotQuantity | None:
    for whole in (DELAY, RTT):
        stem = whole.name.removesuffix("_ms")
        if name in (stem, whole.name, whole.stored):
            return whole
    found = re.fullmatch(r"delay(?:_ms|_ns)?\.(.+)", name)
    if found and found[1] in classes:
        label = found[1]
        stored = f"{DELAY.stored}.{label}"
        title = f"{DELAY.title} of {label}"
        return PlotQuantity(name, title, DELAY.unit, "link", "histogram", stored, DELAY.scale)
    return None


def _shown(stored: str) -> tuple[str, str, float]:
    """Return the name and the unit under which a stored series is shown, and the factor that
    converts its values to this unit. Times are shown in ms.
    """
    if stored.endswith("_ns"):
        return f"{stored.removesuffix('_ns')}_ms", "ms", NS_PER_MS
    known = next((entry["unit"] for entry in entries("series") if entry["name"] == stored), "")
    for ending, unit in (("_bytes", "bytes"), ("_mbit", "Mbit/s"), ("_ms", "ms")):
        if stored.endswith(ending):
            known = known or unit
    return stored, known, 1.0


def _series(name: str, recorded: Recorded) -> PlotQuantity | None:
    for stored, (on, _) in recorded.items():
        shown, unit, scale = _shown(stored)
        stem = re.sub(r"_(?:ms|bytes|mbit)$", "", shown)
        if name in (stored, shown, stem):
            title = words.series(shown if unit == "packets" else stem)
            return PlotQuantity(shown, title, unit, on, "series", stored, scale)
    return None
