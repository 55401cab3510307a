"""Defines the parts of a comparison, such as variants with their results, compared quantities, and
differences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import metrics
from tailback.base import arguments
from tailback.comparison import reasons as why
from tailback.comparison.points import runs_by_point
from tailback.comparison.sides import KeptRun
from tailback.metrics import Estimate, Metric
from tailback.metrics.differences import FALSE_DISCOVERY, Difference
from tailback.metrics.estimates import has_spread
from tailback.metrics.naming import identifier
from tailback.metrics.parts import Kind
from tailback.metrics.statistics import median, nearest_rank
from tailback.store.points import Key
from tailback.store.results import Results, Run

if TYPE_CHECKING:
    import polars as pl

    from tailback.comparison.gate import Gate


MEASURED = ("flent", "qlog")
"""Engine names of measured data: Flent data files and qlog files. They have no seed."""
SAME_TIME = 0.02
"""Measured durations that differ by less than this share count as equal."""


@dataclass(frozen=True)
class VariantResults:
    name: str
    engine: str
    engine_version: str
    sets: dict[str, object]
    results: Results
    seeds: dict[Key, list[int]]
    """The seeds of every sweep point, including seeds with a failed run."""
    kernel: str | None = None
    kept: dict[Key, KeptRun] | None = None
    """Values of a baseline file at every sweep point, if the results come from such a file instead
    of runs."""

    def paired_with(self, other: VariantResults) -> bool:
        """Return whether the runs of this and the other variant can be compared seed by seed.

        The same seed gives the same random numbers only in the same engine.
        """
        return (
            self.engine == other.engine
            and self.engine not in MEASURED
            and self.seeds == other.seeds
        )

    def to_dict(self) -> dict[str, Any]:
        kernel = {"kernel": self.kernel} if self.kernel is not None else {}
        return {
            "name": self.name,
            "engine": self.engine,
            **kernel,
            "engine_version": self.engine_version,
            "sets": self.sets,
        }


@dataclass(frozen=True)
class Judged(Difference):
    """A difference with its q value, for the false discovery rate over all differences of the
    comparison."""

    runs: int | None = None
    """Number of seeds that either variant has. This number is larger than `n` if some seeds do not
    have a value."""
    q: float | None = None
    """The smallest false discovery rate at which the difference is flagged. `None` if the
    difference has no p value."""

    @property
    def complete(self) -> bool:
        """Whether every seed contributes to the difference."""
        return self.runs is None or self.n >= self.runs

    @property
    def flagged(self) -> bool:
        """Whether the difference is flagged as more than noise."""
        return self.q is not None and self.q < FALSE_DISCOVERY


@dataclass(frozen=True)
class Cell:
    """One quantity of one flow, source of traffic, link, class or run, at one sweep point."""

    params: dict[str, float | str]
    labels: dict[str, str]
    """The swept values at the compared quantity's sweep point, as written in the scenario file."""
    kind: Kind
    name: str
    """Name of the flow, link or class in the baseline. Empty for a quantity of the run."""
    metric: Metric
    values: dict[str, Estimate]
    """Means over seeds, by variant."""
    differences: dict[str, Judged]
    """Differences by variant. The baseline and variants without a computed difference have no
    entry."""
    samples: dict[str, dict[int, float]] = field(default_factory=dict)
    """The value of each run, by variant and then by seed. `values` is computed from these
    numbers."""
    other_names: dict[str, str] = field(default_factory=dict)
    """Names of the flow, link or class in the variants where it has another name and is matched by
    order."""

    @property
    def quantity(self) -> str:
        """The key of the metric in JSON. Tables show `metric.name` instead."""
        return self.metric.path

    @property
    def nothing(self) -> bool:
        """Whether the quantity is 0 in every run."""
        return all(
            found.mean in (None, 0) and found.at_least is None for found in self.values.values()
        )

    def where(self) -> str:
        at = ", ".join(f"{path} = {label}" for path, label in self.labels.items())
        return " ".join(filter(None, [self.kind, self.name, f"({at})" if at else ""]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "params": self.params,
            "kind": self.kind,
            "name": self.name,
            "quantity": self.quantity,
            "unit": self.metric.unit,
            "values": {
                variant: {
                    "mean": estimate.mean,
                    "n": estimate.n,
                    "runs": estimate.of,
                    "ci95": estimate.half_width,
                    "at_least": estimate.at_least,
                }
                for variant, estimate in self.values.items()
            },
            "matched_by_order": self.other_names,
            "differences": {
                variant: {
                    "absolute": d.absolute,
                    "relative": d.relative,
                    "ci95": d.ci95,
                    "relative_ci95": d.relative_ci95,
                    "effect_size": d.effect_size,
                    "n": d.n,
                    "runs": d.runs,
                    "paired": d.paired,
                    "p": d.p,
                    "q": d.q,
                    "flagged": d.flagged,
                }
                for variant, d in self.differences.items()
            },
        }


def _measured_s(results: Results) -> float | None:
    """Return the mean time between the end of the warm-up and the end of a run, in seconds.

    Return None if there is no run.
    """
    times = [run.summary["duration_s"] - run.summary["warmup_s"] for run in results]
    return sum(times) / len(times) if times else None


@dataclass(frozen=True)
class Comparison:
    """The results of several variants. The first variant is the baseline."""

    title: str
    variants: list[VariantResults]
    cells: list[Cell]
    root: Path
    """Folder of results."""
    failures: list[str] = field(default_factory=list)
    """A message for each run that failed. All other runs are compared."""

    def failed_assertions(self) -> list[str]:
        """Return a message for each value, in any variant, that violates an `[[assert]]` table."""
        return [
            f"{variant.name}: {message}"
            for variant in self.variants
            for message in variant.results.failed_assertions()
        ]

    @property
    def baseline(self) -> VariantResults:
        """The first variant, with which all other variants are compared."""
        return self.variants[0]

    @property
    def others(self) -> list[VariantResults]:
        """All variants except the baseline."""
        return self.variants[1:]

    @cached_property
    def id(self) -> str:
        """A hash of the variants, sweep points, seeds, engines and quantities."""
        identity = [
            [[v.name, v.engine, v.engine_version, v.kernel, v.results.id] for v in self.variants],
            sorted({f"{cell.metric.on}.{cell.quantity}" for cell in self.cells}),
        ]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:20]

    @property
    def folder(self) -> Path:
        """The folder to which the report is written by default."""
        return self.root / "comparisons" / self.id

    def points(self) -> list[tuple[Key, list[list[Run]]]]:
        """Return every sweep point with a list of runs for each variant."""
        runs = [runs_by_point(column.results) for column in self.variants]
        return [(params, [found.get(params, []) for found in runs]) for params in self._order]

    @property
    def _order(self) -> list[Key]:
        return list(self.baseline.seeds)

    @cached_property
    def reasons(self) -> list[why.At]:
        """The reasons for differences between variants, by sweep point.

        The reasons say what limited flows and what filled queues.
        """
        return why.of(self)

    @property
    def most_runs(self) -> int:
        """The largest number of runs from which a difference is computed."""
        return max((d.n for cell in self.cells for d in cell.differences.values()), default=0)

    @property
    def seeds_text(self) -> str:
        """Return the number of seeds as text, separately for each variant if the numbers differ."""
        most: dict[str, int] = {}
        for cell in self.cells:
            for name, value in cell.values.items():
                most[name] = max(most.get(name, 0), value.of)
        if len(set(most.values())) < 2:
            return f"{max(most.values(), default=0)} seeds"
        return " and ".join(f"{count} seeds of {name}" for name, count in most.items())

    def flagged(self) -> list[tuple[Cell, str, Judged]]:
        """Return the differences that are more than noise, each with its compared quantity and
        variant."""
        return [
            (cell, variant, difference)
            for cell in self.cells
            for variant, difference in cell.differences.items()
            if difference.flagged
        ]

    def summary(self) -> list[dict[str, Any]]:
        """Return a row for each quantity and variant.

        Each row has the number of comparisons, the number of flagged comparisons, and the size of
        the differences.

        `median_rel_difference` is signed. `p90_rel_difference` is the 90th percentile of the
        magnitudes, by nearest rank.
        """
        groups: dict[tuple[str, str], list[Judged]] = {}
        for cell in self.cells:
            for variant, difference in cell.differences.items():
                groups.setdefault((qualified(cell), variant), []).append(difference)
        rows = []
        for (quantity, variant), differences in groups.items():
            relative = [d.relative for d in differences if d.relative is not None]
            rows.append(
                {
                    "quantity": quantity,
                    "variant": variant,
                    "cells": len(differences),
                    "median_rel_difference": median(relative),
                    "p90_rel_difference": nearest_rank([abs(r) for r in relative], 0.9),
                    "flagged": sum(d.flagged for d in differences),
                }
            )
        return rows

    def notes(self) -> list[str]:
        """Return notes on how the numbers were compared, for example that seeds could not be
        paired."""
        notes = []
        for column in self.others:
            if column.paired_with(self.baseline):
                continue
            if column.engine in MEASURED or self.baseline.engine in MEASURED:
                reason = "measured data has no seed"
            elif column.engine != self.baseline.engine:
                reason = (
                    "on both engines a seed means the same start offsets, but not the same random "
                    "numbers"
                )
            else:
                reason = "their seeds differ"
            pair = f"{column.name} and {self.baseline.name}"
            notes.append(f"{pair}: compared unpaired (Welch), since {reason}")
        for column in self.others:
            base = self.baseline
            if (column.engine, column.kernel) == (base.engine, base.kernel):
                versions = (column.engine_version, base.engine_version)
                if len(set(versions)) > 1 and column.engine not in MEASURED:
                    notes.append(
                        f"{column.name} ran on {column.engine} {versions[0]}, {base.name} on "
                        f"{versions[1]}"
                    )
        warmups = {run.summary["warmup_s"] for column in self.variants for run in column.results}
        if any(column.engine in MEASURED for column in self.variants) and any(warmups):
            first = ", ".join(f"{warmup:g} s" for warmup in sorted(warmups) if warmup)
            notes.append(f"the first {first} do not count; this also applies to measured data")
        notes += self._unequal_times()
        for column in self.variants:
            found = [cell.values[column.name] for cell in self.cells if column.name in cell.values]
            several = [one for one in found if one.n > 1 and one.mean is not None]
            if several and not any(has_spread(one) for one in several):
                notes.append(
                    f"{column.name}: every seed gave the same numbers, so several runs show no "
                    "more than one run"
                )
        notes += self._matched_by_order()
        if any(not d.complete for cell in self.cells for d in cell.differences.values()):
            notes.append(
                "(n of N): only n of the N seeds have the value; a difference uses the seeds for "
                "which both variants have the value; > is a lower bound of the mean over all seeds"
            )
        if self.most_runs < 2:
            notes.append(
                "each point has one run, which shows nothing about noise: no difference "
                "can be flagged"
            )
        return notes

    def _unequal_times(self) -> Iterator[str]:
        """Yield the notes about measured data that covers more or less time than the baseline."""
        base = _measured_s(self.baseline.results)
        for column in self.others:
            own = _measured_s(column.results)
            if column.engine in MEASURED and base and own and abs(own / base - 1) > SAME_TIME:
                yield (
                    f"{column.name} covers {own:.4g} s and {self.baseline.name} {base:.4g} s: do "
                    "not compare counts, such as drops"
                )

    def _matched_by_order(self) -> list[str]:
        """Return a note about objects whose names differ between variants, so that they were
        matched by their order."""
        matches: dict[tuple[str, str], dict[str, None]] = {}
        for cell in self.cells:
            for variant, name in cell.other_names.items():
                pair = f'"{name}" with "{cell.name}"'
                matches.setdefault((variant, cell.kind), {})[pair] = None
        return [
            f"{variant}: {kind} {', '.join(pairs)} of {self.baseline.name}: compared by their "
            "order in the file, since each name is in one variant only"
            for (variant, kind), pairs in matches.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "variants": [variant.to_dict() for variant in self.variants],
            "cells": [cell.to_dict() for cell in self.cells],
            "summary": self.summary(),
            "reasons": [at.to_dict() for at in self.reasons],
        }

    def gate(self, limits: Sequence[str] | str) -> Gate:
        """Test the comparison against thresholds as `--fail-if` does.

        `limits` are texts such as `["delay_p99_ms:+10%", "jain:2%"]`.
        """
        from tailback.comparison.gate import hold
        from tailback.comparison.thresholds import Threshold

        texts = arguments.names("limits", limits)
        return hold(self, [Threshold.parse(text) for text in texts])

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict without nested values for each compared quantity and variant."""
        rows = []
        for cell in self.cells:
            for variant, estimate in cell.values.items():
                d = cell.differences.get(variant)
                rows.append(
                    {
                        **cell.params,
                        "kind": cell.kind,
                        "name": cell.name,
                        "quantity": cell.quantity,
                        "unit": cell.metric.unit,
                        "variant": variant,
                        "mean": estimate.mean,
                        "n": estimate.n,
                        "runs": estimate.of,
                        "ci95": estimate.half_width,
                        "at_least": estimate.at_least,
                        "pairs": d.n if d and d.paired else None,
                        "difference": d.absolute if d else None,
                        "difference_ci95": d.ci95 if d else None,
                        "relative": d.relative if d else None,
                        "relative_ci95": d.relative_ci95 if d else None,
                        "effect_size": d.effect_size if d else None,
                        "paired": d.paired if d else None,
                        "p": d.p if d else None,
                        "q": d.q if d else None,
                        "flagged": d.flagged if d else None,
                    }
                )
        return rows

    def frame(self) -> pl.DataFrame:
        """Return `rows()` as a Polars frame. Columns have the names of `tailback list metrics`."""
        import polars as pl

        rows = [{**row, "quantity": identifier(row["quantity"])} for row in self.rows()]
        return pl.DataFrame(rows, strict=False, infer_schema_length=None)

    def report(self, folder: Path | str | None = None) -> Path:
        """Write the report (HTML, Markdown, CSV, figures), and return the path of its page."""
        from tailback.report.comparison import of
        from tailback.report.write import write

        return write(of(self), Path(folder) if folder is not None else self.folder)

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        against = " against ".join(variant.name for variant in self.variants)
        return f"<Comparison {against}: {len(self.cells)} values, {len(self.flagged())} flagged>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks. The table has a row for each of the first 100 compared
        quantities, and shows flagged differences in bold.
        """
        from tailback.comparison.notebook import table

        return table(self)


def qualified(cell: Cell) -> str:
    """Return a quantity's name, such as `drops`. If flows and links both have this quantity, return
    it with the kind of object: `flow.drops`."""
    on = cell.metric.on
    # Ignore flow metrics that only programs or sources of traffic have.
    alike = (m for m in metrics.METRICS if m.path == cell.quantity)
    kinds = {m.on for m in alike if m.on != "flow" or on == "flow" or "flow" in m.parts}
    # A quantity of flows or links needs no prefix merely because classes have the same quantity.
    several = len(kinds) > 1 if cell.metric.on == "class" else len(kinds - {"class"}) > 1
    return f"{cell.metric.on}.{cell.quantity}" if several else cell.quantity
