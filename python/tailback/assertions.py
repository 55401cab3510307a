"""`[[assert]]`: what must hold in every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tailback import metrics
from tailback.metrics import On
from tailback.numbers import short


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
        for subject, value in self._values(summary):
            holds = (
                value is not None
                and (self.min is None or value >= self.min)
                and (self.max is None or value <= self.max)
            )
            if not holds:
                found = "not available" if value is None else f"{value:g}"
                params = [f"{k} = {short(v)}" for k, v in summary["params"].items()]
                at = ", ".join([*params, f"seed {summary['seed']}"])
                yield f"{self.metric}{subject} is {found}, expected {bounds} ({at})"

    def _values(self, summary: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
        on = self._on()
        found = metrics.find(self.metric, on)
        match on:
            case "flow":
                for flow in summary["flows"]:
                    name = flow["name"]
                    if self.flow is None or metrics.is_of(name, self.flow):
                        yield f" of flow {name}", found.value(flow)
            case "link":
                name = self.link if self.link is not None else next(iter(summary["queues"]), "")
                yield f" of link {name}", found.value(summary["queues"].get(name, {}))
            case _:
                yield "", found.value(summary)

    def _on(self) -> On:
        """A metric of both is the link's, unless a flow is named."""
        if self.flow is not None:
            return "flow"
        offered = {metric.on for metric in metrics.METRICS if metric.is_called(self.metric)}
        return (
            "link" if "link" in offered or self.link is not None else metrics.find(self.metric).on
        )
