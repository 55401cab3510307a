"""`[[assert]]`: what must hold in every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tailback import metrics
from tailback.base.numbers import short
from tailback.metrics import On, parts, pooling, results
from tailback.metrics.base import refuse_of_two
from tailback.metrics.pooling import Reading


@dataclass(frozen=True)
class Assertion:
    """One table of a scenario."""

    metric: str
    flow: str | None = None
    link: str | None = None
    min: float | None = None
    max: float | None = None

    def failures(self, summary: Mapping[str, Any]) -> Iterator[str]:
        """A message for each value that is missing or out of bounds."""
        bounds = " and ".join(
            f"at {word} {bound:g}"
            for word, bound in (("least", self.min), ("most", self.max))
            if bound is not None
        )
        for subject, reading in self._readings(summary):
            value = reading.value
            holds = (
                value is not None
                and (self.min is None or value >= self.min)
                and (self.max is None or value <= self.max)
            )
            if not holds:
                found = "not available" if value is None else f"{value:g}"
                if reading.at_least is not None:
                    found = f"not finished after {reading.at_least:g} s"
                params = [f"{k} = {short(v)}" for k, v in summary["params"].items()]
                at = ", ".join([*params, f"seed {summary['seed']}"])
                yield f"{self.metric}{subject} is {found}, expected {bounds} ({at})"

    def _readings(self, summary: Mapping[str, Any]) -> Iterator[tuple[str, Reading]]:
        on = self._on()
        found = metrics.find(self.metric, on)
        refuse_of_two(found, "[[assert]]")
        match on:
            case "flow":
                for what, flow in self._flows(summary):
                    name = flow["name"]
                    if self.flow is None or metrics.is_of(name, self.flow):
                        yield f" of {what} {name}", pooling.read(found, flow)
            case "link":
                name = self.link if self.link is not None else next(iter(summary["queues"]), "")
                yield f" of link {name}", pooling.read(found, summary["queues"].get(name))
            case _:
                yield "", pooling.read(found, summary)

    def _flows(self, summary: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        """Flows and programs; without a name the flows, or of a run without any the programs: one
        that only probes is no flow."""
        flows = [("flow", one) for one in summary["flows"]]
        programs = [("program", one) for one in parts.programs(summary)]
        if results.metric(self.metric):
            own = self.metric.partition(".")[2]
            return [named for named in programs if own in named[1]["results"]]
        return flows or programs if self.flow is None else [*flows, *programs]

    def _on(self) -> On:
        """A metric of both is the link's, unless a flow is named."""
        if self.flow is not None:
            return "flow"
        offered = {metric.on for metric in metrics.METRICS if metric.is_called(self.metric)}
        return (
            "link" if "link" in offered or self.link is not None else metrics.find(self.metric).on
        )
