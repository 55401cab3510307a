"""Checks `[[assert]]` tables: bounds that must hold in every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailback import metrics
from tailback.base.numbers import short
from tailback.metrics import Metric, On, harm, parts, pooling, results
from tailback.metrics.base import refuse_of_two
from tailback.metrics.pooling import Reading

Side = Literal["min", "max"]


@dataclass(frozen=True)
class BoundVerdict:
    """Whether a metric meets one bound in one run, or in the mean over the seeds of a sweep
    point."""

    metric: str
    on: On
    name: str | None
    """The flow, link or class. None for the whole run."""
    params: Mapping[str, Any]
    seed: int | None
    """The seed of the run. None for the mean over seeds."""
    value: float | None
    """The value. None if the value is missing in the run, or in any of the runs that the mean
    covers."""
    side: Side
    bound: float
    n: int
    """Number of runs with a value."""
    ci95: tuple[float, float] | None = None
    """The 95 % interval of a mean over several seeds."""
    without: str | None = None
    """For a metric of harm, the name of the competitor."""

    @property
    def held(self) -> bool:
        """Whether the value is within the bound. False if the value is missing."""
        if self.value is None:
            return False
        return self.value >= self.bound if self.side == "min" else self.value <= self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "metric": self.metric,
            **({self.on: self.name} if self.name is not None else {}),
            **({"without": self.without} if self.without is not None else {}),
            "params": dict(self.params),
            "seed": self.seed,
            "value": self.value,
            "side": self.side,
            "bound": self.bound,
            "held": self.held,
            "n": self.n,
            "ci95": None if self.ci95 is None else list(self.ci95),
        }


@dataclass(frozen=True)
class Assertion:
    """One `[[assert]]` table of a scenario."""

    metric: str
    flow: str | None = None
    link: str | None = None
    min: float | None = None
    max: float | None = None
    class_name: str | None = None
    without: str | None = None
    """For a metric of harm, the name of the competitor. The summaries contain the harm that this
    competitor does."""

    def failures(self, summary: Mapping[str, Any]) -> Iterator[str]:
        """Return a message for each value that is missing or out of bounds."""
        bounds = " and ".join(
            f"at {word} {bound:g}"
            for word, bound in (("least", self.min), ("most", self.max))
            if bound is not None
        )
        for _, on, name, reading in self._readings(summary):
            subject = f" of {on} {name}" if on else ""
            subject += f" by {self.without}" if self.without is not None else ""
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

    def verdicts(self, summaries: Sequence[Mapping[str, Any]]) -> Iterator[BoundVerdict]:
        """For each bound, yield the verdict on each run of a sweep point, then the verdict on the
        mean of these runs.
        """
        sides: list[tuple[Side, float]] = []
        if self.min is not None:
            sides.append(("min", self.min))
        if self.max is not None:
            sides.append(("max", self.max))
        params = summaries[0]["params"] if summaries else {}
        by_part: dict[tuple[On, str | None], dict[int, Reading]] = {}
        metric = self._metric()
        for number, summary in enumerate(summaries):
            for on, _, name, reading in self._readings(summary):
                by_part.setdefault((on, name), {})[number] = reading
        for (on, name), readings in by_part.items():
            every = [readings.get(number, pooling.NOTHING) for number in range(len(summaries))]
            pooled = pooling.over_runs(metric, every)
            for side, bound in sides:
                for summary, reading in zip(summaries, every, strict=True):
                    value, seed = reading.value, summary["seed"]
                    n = int(value is not None)
                    yield BoundVerdict(
                        *(self.metric, on, name, params, seed, value, side, bound, n),
                        without=self.without,
                    )
                # Use the mean only if every run has the value.
                mean = pooled.mean if pooled.whole else None
                ci95 = pooled.ci95 if pooled.whole else None
                yield BoundVerdict(
                    *(self.metric, on, name, params, None, mean, side, bound, pooled.n, ci95),
                    self.without,
                )

    def _readings(
        self, summary: Mapping[str, Any]
    ) -> Iterator[tuple[On, str, str | None, Reading]]:
        """Yield each flow, link or class to check, with its kind (for JSON and as text), its name
        and its value."""
        metric = self._metric()
        match metric.on:
            case "flow":
                for what, flow in self._flows(metric, summary):
                    yield "flow", what, flow["name"], pooling.read(metric, flow)
            case "link":
                name = self.link if self.link is not None else next(iter(summary["queues"]), "")
                yield "link", "link", name, pooling.read(metric, summary["queues"].get(name))
            case "class":
                for part in parts.of(summary, "class"):
                    if self.class_name in (None, part["name"]):
                        yield "class", "class", part["name"], pooling.read(metric, part)
            case _:
                yield "run", "", None, pooling.read(metric, summary)

    def _flows(
        self, metric: Metric, summary: Mapping[str, Any]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the flows, programs or sources to which the assertion applies, each with its kind.

        If the assertion has a name, return all parts with this name. Otherwise return all flows, or
        the programs if no flow has the metric, or else the sources of traffic.
        """
        kinds = [kind for kind in parts.LIKE_FLOWS if kind in metric.parts]
        if self.flow is not None:
            named = ((kind, part) for kind in kinds for part in parts.of(summary, kind))
            return [(k, part) for k, part in named if metrics.is_of(part["name"], self.flow)]
        if results.metric(self.metric):
            own = metric.path.partition(".")[2]
            programs = parts.of(summary, "program")
            return [("program", part) for part in programs if own in part["results"]]
        # The kinds are in the order flows, programs, sources of traffic.
        for kind in kinds:
            every = parts.of(summary, kind)
            if self.without is not None:
                every = [p for p in every if not metrics.is_of(p["name"], self.without)]
            if every:
                return [(kind, part) for part in every]
        return []

    def _metric(self) -> Metric:
        metric = metrics.find(self.metric, self._on())
        if self.without is not None:
            return harm.by(metric, self.without)
        refuse_of_two(metric, "[[assert]]")
        return metric

    def _on(self) -> On | None:
        """Return which kind of object the table names: "flow", "link" or "class". Return None if
        the table names no object.
        """
        subjects: tuple[tuple[On, str | None], ...] = (
            ("flow", self.flow),
            ("link", self.link),
            ("class", self.class_name),
        )
        return next((on for on, name in subjects if name is not None), None)
