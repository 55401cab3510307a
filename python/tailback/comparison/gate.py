"""Implements `compare --fail-if`, which tests whether each difference exceeds its threshold.

A compared quantity is one metric of one object (a flow, link, class or run) at one sweep point. A
quantity gets the verdict "holds" if a one-sided test at the level `LEVEL` shows that the difference
is not beyond the threshold. The claim that all quantities are within their thresholds needs no
correction for the number of tests, because each quantity must pass its own test (Berger 1982). A
quantity gets "exceeds" if the opposite test shows that the difference is beyond the threshold.
Holm's method (1979) corrects this second test over all quantities, so that no quantity exceeds its
threshold merely because many quantities are tested. If neither test is significant, the quantity is
undecided ("unknown"). A quantity is also undecided if the baseline has a value and the variant does
not.

`until_told` adds seeds and repeats the tests. A test that is repeated often enough becomes
significant by chance. The number of tests is therefore fixed beforehand. Each test has twice the
seeds of the previous test, and the significance level is divided among the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailback.base.names import unknown
from tailback.comparison.model import Cell, Comparison
from tailback.comparison.quantities import select
from tailback.comparison.text import difference_text
from tailback.comparison.thresholds import Threshold
from tailback.errors import InputError
from tailback.metrics import is_of
from tailback.metrics.margins import Contrast, Samples
from tailback.store.points import point_key

LEVEL = 0.05
"""The significance level of the one-sided tests."""

FIRST_LOOK = 10
"""Number of seeds in the first test of `until_told`."""

LAST_LOOK = 80
"""Number of seeds in the last test of `until_told`, unless the caller sets another number."""

MAX_PROMISED = 10_000
"""The largest number of seeds that a message recommends."""

Answer = Literal["exceeds", "holds", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one compared quantity of one variant: whether its difference is within a
    threshold.

    A compared quantity is a metric of a flow, link, class or run at one sweep point.
    """

    threshold: Threshold
    cell: Cell
    variant: str
    baseline: str
    answer: Answer
    bounds: tuple[float | None, float | None] = (None, None)
    """Lower and upper confidence bound of the difference. Both bounds are shares of the baseline if
    the threshold is in percent.
    """
    seeds: int | None = None
    """Estimated number of seeds that could decide the compared quantity. None if the compared
    quantity is decided, or if no number of seeds would decide it.
    """
    reason: str = ""
    """Why the quantity cannot be tested. Empty if the quantity can be tested."""

    def where(self) -> str:
        return f"{self.cell.metric.name} of {self.cell.where()}"

    def range_text(self) -> str:
        if None in self.bounds:
            return ""
        scale, unit = (100, "%") if self.threshold.relative else (1, self.cell.metric.unit)
        low, high = (f"{scale * (bound or 0):+.3g}" for bound in self.bounds)
        return f"{low} to {high} {unit}".rstrip()

    def text(self) -> str:
        too_much = self.threshold.words(self.cell.metric.unit)
        if self.reason:
            return f"{self.where()}: cannot exclude {too_much}: {self.reason}"
        found = difference_text(self.cell.differences.get(self.variant))
        differs = f"{self.where()}: {self.variant} differs by {found} from {self.baseline}"
        within = f" ({self.range_text()})" if self.range_text() else ""
        if self.answer == "exceeds":
            return f"{differs}{within}, beyond {self.threshold.text}"
        if self.answer == "holds":
            return f"{differs}{within}, within {self.threshold.text}"
        if self.seeds is None:
            more = f"no number of seeds below {MAX_PROMISED} would"
        else:
            more = f"about {self.seeds} seeds would"
        return f"{differs}{within}: cannot exclude {too_much}; {more}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "threshold": self.threshold.text,
            "params": self.cell.params,
            "kind": self.cell.kind,
            "name": self.cell.name,
            "quantity": self.cell.quantity,
            "variant": self.variant,
            "answer": self.answer,
            "low": self.bounds[0],
            "high": self.bounds[1],
            "seeds_needed": self.seeds,
            "text": self.text(),
        }


@dataclass(frozen=True)
class Gate:
    """The verdicts on all compared quantities that a threshold applies to."""

    verdicts: list[Verdict]
    level: float

    @property
    def answer(self) -> Answer:
        """Return "exceeds" if any quantity exceeds, "holds" if all quantities hold, otherwise
        "unknown"."""
        answers = {verdict.answer for verdict in self.verdicts}
        return "exceeds" if "exceeds" in answers else "unknown" if "unknown" in answers else "holds"

    def of(self, answer: Answer) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.answer == answer]

    def text(self) -> str:
        words = {"exceeds": "exceeded", "holds": "holds", "unknown": "cannot tell"}
        counts = {
            "beyond": len(self.of("exceeds")),
            "within": len(self.of("holds")),
            "open": len(self.of("unknown")),
        }
        parts = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        cells = f"{len(self.verdicts)} {'quantity' if len(self.verdicts) == 1 else 'quantities'}"
        level = f"one-sided tests at {100 * self.level:.3g} %"
        return f"gate: {words[self.answer]}; of {cells} {parts} ({level})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "level": self.level,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }


@dataclass(frozen=True)
class _Case:
    """A compared quantity of one variant, and the threshold to test it against. `samples` is None
    if there are too few values for a test."""

    threshold: Threshold
    cell: Cell
    variant: str
    samples: Samples | None
    reason: str = ""
    same: bool = False
    """Whether the baseline and the variant are identical runs."""

    def contrasts(self) -> list[Contrast]:
        """Return the amount by which the difference exceeds the threshold.

        If the threshold limits both an increase and a decrease, return a value for each
        direction.
        """
        assert self.samples is not None
        relative, margin = self.threshold.relative, self.threshold.margin
        return [
            self.samples.against(
                margin if side == "+" else -margin, relative=relative, falls=side == "-"
            )
            for side in self.threshold.sides
        ]


def hold(comparison: Comparison, thresholds: Sequence[Threshold], level: float = LEVEL) -> Gate:
    """Test every compared quantity of a comparison against the thresholds.

    Raises `InputError` if a threshold matches no compared quantity.
    """
    if not thresholds:
        raise InputError("no thresholds; expected some such as delay_p99_ms:+10%")
    cases = [case for threshold in thresholds for case in _cases(comparison, threshold)]
    contrasts = [case.contrasts() if case.samples else [] for case in cases]
    # A difference cannot exceed both the upper and the lower limit, so take the smaller of the two
    # p values.
    beyond = [min((contrast.more() for contrast in sides), default=1.0) for sides in contrasts]
    exceeding = _holm(beyond, level)
    verdicts = []
    for at, (case, sides) in enumerate(zip(cases, contrasts, strict=True)):
        answer: Answer = "unknown"
        seeds = None
        bounds: tuple[float | None, float | None] = (None, None)
        if case.same:
            answer, bounds = "holds", (0.0, 0.0)
        elif case.samples is not None:
            bounds = case.samples.bounds(level, relative=case.threshold.relative)
            if exceeding[at]:
                answer = "exceeds"
            elif max(contrast.less() for contrast in sides) <= level:
                answer = "holds"
            else:
                seeds = _needed(sides, level, level / len(cases))
        verdicts.append(
            Verdict(
                case.threshold,
                case.cell,
                case.variant,
                comparison.baseline.name,
                answer,
                bounds,
                seeds,
                case.reason,
            )
        )
    return Gate(verdicts, level)


def _cases(comparison: Comparison, threshold: Threshold) -> list[_Case]:
    wanted = {(m.on, m.path) for m in select([threshold.quantity])}
    of_two = any(metric.of_two is not None for metric in select([threshold.quantity]))
    if of_two and threshold.relative:
        raise InputError(
            f"--fail-if {threshold.text}: {threshold.quantity} is 0 in the baseline, so a bound "
            f"in percent has no meaning; write {threshold.quantity}:+{threshold.margin:g}"
        )
    cases: list[_Case] = []
    same = _same_runs(comparison)
    name = threshold.name
    if name:
        valid = [
            cell.name for cell in comparison.cells if (cell.metric.on, cell.quantity) in wanted
        ]
        if not any(is_of(candidate, name) for candidate in valid):
            message = unknown("flow or link", name, list(dict.fromkeys(valid)))
            raise InputError(f"--fail-if {threshold.text}: {message}")
    base = comparison.baseline
    for cell in comparison.cells:
        if (cell.metric.on, cell.quantity) not in wanted or (name and not is_of(cell.name, name)):
            continue
        a = cell.samples.get(base.name, {})
        for variant in comparison.others:
            b = cell.samples.get(variant.name, {})
            case = (threshold, cell, variant.name)
            if not a:
                # Without a value in the baseline, there is no difference to test.
                continue
            if of_two and not variant.paired_with(base):
                cases.append(
                    _Case(
                        *case, None, "harm can be tested only with the same seeds in all variants"
                    )
                )
                continue
            runs = len(variant.seeds.get(point_key(cell), ()))
            had = len(base.seeds.get(point_key(cell), ()))
            if len(b) * had < len(a) * runs or not b:
                lacks = f"{variant.name} has it in {len(b)} of {runs} runs, {base.name} in {len(a)}"
                cases.append(_Case(*case, None, f"{lacks} of {had}"))
                continue
            if variant.paired_with(base):
                seeds = [seed for seed in a if seed in b]
                samples = Samples(
                    tuple(a[seed] for seed in seeds), tuple(b[seed] for seed in seeds), paired=True
                )
            else:
                samples = Samples(tuple(a.values()), tuple(b.values()), paired=False)
            if (point_key(cell), variant.name) in same:
                cases.append(_Case(*case, None, same=True))
            elif min(len(samples.base), len(samples.other)) < 2:
                cases.append(
                    _Case(*case, None, "one run shows nothing about noise; start with 5 seeds")
                )
            else:
                cases.append(_Case(*case, samples))
    if not cases:
        raise InputError(
            f"--fail-if {threshold.text}: {base.name} has no {threshold.quantity} to compare a "
            "variant with; choose a quantity that both have"
        )
    return cases


def _same_runs(comparison: Comparison) -> set[tuple[Any, str]]:
    """List each sweep point and variant where the variant has the same runs as the baseline."""
    pairs = set()
    for params, (first, *others) in comparison.points():
        ids = [run.run_id for run in first]
        for variant, runs in zip(comparison.others, others, strict=True):
            if ids and ids == [run.run_id for run in runs]:
                pairs.add((params, variant.name))
    return pairs


def _holm(ps: Sequence[float], level: float) -> list[bool]:
    """Return which hypotheses Holm's method rejects. The probability of even one false rejection is
    below `level`."""
    rejected = [False] * len(ps)
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        if ps[at] > level / (len(ps) - rank):
            break
        rejected[at] = True
    return rejected


def _needed(sides: Sequence[Contrast], level: float, strict: float) -> int | None:
    """Return the estimated number of seeds that could decide a compared quantity, if the true
    difference equals the measured difference."""
    above = [contrast for contrast in sides if contrast.mean > 0]
    # The verdict "exceeds" needs a difference beyond one limit. The verdict "holds" needs a
    # difference within all limits.
    counts = [contrast.runs(strict) for contrast in above] or [
        contrast.runs(level) for contrast in sides
    ]
    known = [count for count in counts if count is not None]
    most = max(known) if len(known) == len(counts) else None
    if most is None or most > MAX_PROMISED:
        return None
    # Recommend at least one seed more than this comparison has.
    return max(most, min(contrast.n for contrast in sides) + 1)


def looks(most: int) -> list[int]:
    """Return the number of seeds in each successive test of `until_told`."""
    found = [min(FIRST_LOOK, most)]
    while found[-1] < most:
        found.append(min(2 * found[-1], most))
    return found


def until_told(
    run: Callable[[int], Comparison],
    thresholds: Sequence[Threshold],
    most: int = LAST_LOOK,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Comparison, Gate]:
    """Repeat the comparison with twice as many seeds, until each threshold has a verdict or `most`
    seeds were used."""
    planned = looks(most)
    for seeds in planned:
        comparison = run(seeds)
        gate = hold(comparison, thresholds, LEVEL / len(planned))
        if gate.answer != "unknown" or comparison.failures or seeds == planned[-1]:
            break
        open_ = len(gate.of("unknown"))
        say(f"{seeds} seeds: {open_} of {len(gate.verdicts)} quantities are undecided")
    return comparison, gate
