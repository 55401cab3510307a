"""`[[assert]]`: what must hold in every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tailback import metrics
from tailback.base.numbers import short
from tailback.metrics import Metric, On, parts, pooling, results
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
    class_name: str | None = None

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
                text = "not available" if value is None else f"{value:g}"
                if reading.at_least is not None:
                    text = f"not finished after {reading.at_least:g} s"
                params = [f"{k} = {short(v)}" for k, v in summary["params"].items()]
                at = ", ".join([*params, f"seed {summary['seed']}"])
                yield f"{self.metric}{subject} is {text}, expected {bounds} ({at})"

    def _readings(self, summary: Mapping[str, Any]) -> Iterator[tuple[str, Reading]]:
        metric = metrics.find(self.metric, self._on())
        refuse_of_two(metric, "[[assert]]")
        match metric.on:
            case "flow":
                for what, flow in self._flows(metric, summary):
                    yield f" of {what} {flow['name']}", pooling.read(metric, flow)
            case "link":
                name = self.link if self.link is not None else next(iter(summary["queues"]), "")
                yield f" of link {name}", pooling.read(metric, summary["queues"].get(name))
            case "class":
                for part in parts.of(summary, "class"):
                    if self.class_name in (None, part["name"]):
                        yield f" of class {part['name']}", pooling.read(metric, part)
            case _:
                yield "", pooling.read(metric, summary)

    def _flows(
        self, metric: Metric, summary: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """The objects with the metric: all of this name, or without a name all flows. In a run
        without flows, or for a metric that no flow has, the programs, then the sources of traffic.
        """
        kinds = [kind for kind in parts.LIKE_FLOWS if kind in metric.parts]
        if self.flow is not None:
            named = ((kind, part) for kind in kinds for part in parts.of(summary, kind))
            return [(k, part) for k, part in named if metrics.is_of(part["name"], self.flow)]
        if results.metric(self.metric):
            own = metric.path.partition(".")[2]
            programs = parts.of(summary, "program")
            return [("program", part) for part in programs if own in part["results"]]
        # A program that only probes does not count as a flow.
        for kind in kinds:
            if every := parts.of(summary, kind):
                return [(kind, part) for part in every]
        return []

    def _on(self) -> On | None:
        """The object of this name, if one is given; a name that several have is the link's."""
        subjects: tuple[tuple[On, str | None], ...] = (
            ("flow", self.flow),
            ("link", self.link),
            ("class", self.class_name),
        )
        return next((on for on, name in subjects if name is not None), None)
