"""Finds which findings of `explain` differ between variants of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.explain import Explanation, words

SHARE = 0.05
"""Two shares count as equal if they differ by less than this value."""
TIMES = 1.25
"""Two rates or two times count as different if their ratio is at least this value."""
RATE = 0.1
"""The smallest rate of window reductions that is compared, in reductions per second."""
DELAY_MS = 0.5
"""The smallest delay that is compared, in ms."""

Key = tuple[str, int, str, str]
"""Kind of object (flow, source or link), its index, its name, and the quantity."""


@dataclass(frozen=True)
class Reason:
    """A quantity in the explanations of runs that differs between the baseline and some variant.

    A quantity differs if the ranges of its values over seeds do not overlap, and if its means
    differ by more than a minimum.
    """

    kind: str
    name: str
    quantity: str
    #: The quantity's mean over seeds, for each variant. The baseline comes first.
    values: dict[str, float]
    #: The variants whose mean differs from the baseline's mean.
    differ: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "quantity": self.quantity,
            "values": self.values,
            "differ": self.differ,
        }

    def text(self) -> str:
        what, show = described(self.quantity)
        base, *_ = self.values
        found = ", ".join(f"{show(self.values[name])} in {name}" for name in self.differ)
        return f"{self.name}: {what} {show(self.values[base])} in {base}, {found}"


def described(quantity: str) -> tuple[str, Any]:
    """Return a quantity's name in sentences, and a function that formats its value."""
    head, _, tail = quantity.partition(".")
    if head == "limited":
        return f"held back by {words.SHORT_LIMITS[tail]}", words.percent
    if head == "reductions_per_s":
        return f"reductions by {words.REASONS[tail]}, a second:", lambda value: f"{value:.3g}"
    if head == "step":
        return f"step of reductions by {words.REASONS[tail]}:", lambda value: f"× {value:.2f}"
    if head == "held":
        return f"bytes in the queue that are {tail}'s:", words.percent
    if head == "events":
        return f"packets {words.CAUSES.get(tail, tail)}:", words.percent
    if head == "standing_share":
        return "least delay in 100 ms, of the mean:", words.percent
    return "least delay in 100 ms:", lambda value: words.seconds(value / 1e3)


def facts(found: Explanation, *, coarse: bool = False) -> dict[Key, float]:
    """Return the numbers in a run's explanation that are compared between variants. Set `coarse` if
    a variant ran on the kernel engine: the function then returns only the numbers that Linux also
    reports."""
    return dict(_facts(found, coarse))


def _facts(explanation: Explanation, coarse: bool) -> Iterator[tuple[Key, float]]:
    for place, flow in enumerate(explanation.flows):
        at = flow["kind"], place, flow["name"]
        shares = dict(flow["shares"])
        if coarse:
            both = [shares.pop(name, 0.0) for name in ("cwnd", "pacing", "cwnd_or_pacing")]
            shares["cwnd_or_pacing"] = sum(both)
        for limit in words.LIMITS:
            yield (*at, f"limited.{limit}"), shares.get(limit, 0.0)
        for group in () if coarse else flow["reductions"]["groups"]:
            after = group["count"] - group["before_warmup"]
            if flow["time_s"]:
                yield (*at, f"reductions_per_s.{group['reason']}"), after / flow["time_s"]
            # Skip congestion controls that set the window from a model, because their reductions
            # have no fixed size.
            if flow["cc"] in words.MODELLED or group["reason"] in words.UNDONE:
                continue
            if group["mean_step"] is not None:
                yield (*at, f"step.{group['reason']}"), group["mean_step"]
    for place, link in enumerate(explanation.links):
        at = "link", place, link["name"]
        for name in ("standing_ms", "standing_share"):
            if link[name] is not None:
                yield (*at, name), link[name]
        for name, share in link["shares"].items():
            yield (*at, f"held.{name}"), share
        for event in link["events"]:
            if event["share"] is not None:
                yield (*at, f"events.{event['cause']}"), event["share"]


def differing(runs: Mapping[str, Sequence[Mapping[Key, float]]]) -> list[Reason]:
    """Return the quantities in which some variant differs from the first variant. `runs` maps each
    variant to the output of `facts` for each seed.
    """
    base, *others = runs
    keys = dict.fromkeys(key for seeds in runs.values() for run in seeds for key in run)
    out = []
    for key in keys:
        quantity = key[-1]
        nothing = None if quantity.startswith(("step", "standing")) else 0.0
        values = {
            name: [v for run in seeds if (v := run.get(key, nothing)) is not None]
            for name, seeds in runs.items()
        }
        if not all(values.values()):
            continue
        differ = [name for name in others if _apart(values[base], values[name], quantity)]
        if differ:
            means = {name: sum(all_) / len(all_) for name, all_ in values.items()}
            out.append(Reason(key[0], key[2], quantity, means, differ))
    return sorted(out, key=lambda reason: -_size(reason))


def _apart(one: Sequence[float], other: Sequence[float], quantity: str) -> bool:
    """Return whether the ranges over seeds do not overlap and the means differ by more than a
    minimum."""
    if not (max(one) < min(other) or max(other) < min(one)):
        return False
    low, high = sorted((sum(one) / len(one), sum(other) / len(other)))
    if quantity.startswith("reductions"):
        return high - low >= RATE and high >= TIMES * low
    if quantity == "standing_ms":
        return high - low >= DELAY_MS and high >= TIMES * low
    if quantity.startswith("events"):
        return high - low >= SHARE / 10 and high >= TIMES * low
    return high - low >= SHARE


def _size(reason: Reason) -> float:
    """Return a sort key, which is larger for quantities that are listed earlier. First come the
    shares of time for which a cause limited a flow. Among these shares, the largest difference
    comes first.
    """
    values = list(reason.values.values())
    gap = max(values) - min(values)
    top = max(map(abs, values)) or 1.0
    limited = reason.quantity.startswith("limited")
    return gap + 1.0 if limited else gap / top / 2
