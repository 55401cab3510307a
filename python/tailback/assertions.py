"""`[[assert]]`: what must hold in every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tailback import metrics


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
            text
            for text, bound in (
                (f"at least {self.min:g}", self.min) if self.min is not None else ("", None),
                (f"at most {self.max:g}", self.max) if self.max is not None else ("", None),
            )
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
                where = ", ".join(f"{k} = {_plain(v)}" for k, v in summary["params"].items())
                at = (
                    f" at {where}, seed {summary['seed']}"
                    if where
                    else f" (seed {summary['seed']})"
                )
                yield f"{self.metric}{subject} is {found}, expected {bounds}{at}"

    def _values(self, summary: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
        found = metrics.find(self.metric, on="flow" if self.flow is not None else None)
        match "link" if self.link is not None else found.on:
            case "flow":
                for flow in summary["flows"]:
                    name = flow["name"]
                    if self.flow is None or metrics.is_of(name, self.flow):
                        yield f" of flow {name}", found.value(flow)
            case "link":
                found = metrics.find(self.metric, on="link")
                name = self.link if self.link is not None else next(iter(summary["queues"]), "")
                yield f" of link {name}", found.value(summary["queues"].get(name, {}))
            case _:
                yield "", found.value(summary)


def _plain(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
