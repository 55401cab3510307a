"""Variants of a scenario, or stored sweeps, side by side: what differs, and by more than noise.

Points are matched by their parameters. The first variant is the baseline; each other one has a
difference to it in every quantity of every flow, source of traffic, link and class of flows, with
an interval, and false discoveries are controlled over all of them together.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback import _native, engines, metrics, names, running, store, stored, toml
from tailback.errors import InputError, RunsFailed, ScenarioError
from tailback.metrics import Estimate, Metric, estimate
from tailback.metrics.differences import (
    FALSE_DISCOVERY,
    Difference,
    false_discovery,
    paired,
    unpaired,
)
from tailback.metrics.statistics import median, nearest_rank
from tailback.numbers import short
from tailback.results import Results, Run

if TYPE_CHECKING:
    import polars as pl

SEEDS = 10
"""Seeds of every point where neither the file nor the caller says how many."""

METRICS = (
    "flow.throughput_mbit",
    "flow.rtt_ms.mean",
    "flow.srtt_ms_mean",
    "flow.completion_s",
    "flow.retransmits",
    "flow.drops",
    "flow.marks",
    "link.delay_ms.mean",
    "link.delay_ms.p99",
    "link.utilisation",
    "link.occupancy_bytes_mean",
    "link.drops",
    "link.marks",
    "class.delay_ms.mean",
    "class.delay_ms.p99",
    "class.rate_mbit.mean",
    "class.window_bytes.mean",
    "class.utilisation.mean",
    "class.mark_share.mean",
    "class.drop_share.mean",
    "run.jain",
    "run.throughput_ratio",
    "run.class_rate_ratio",
    "run.class_window_ratio",
)
"""What is compared unless something else is asked for."""

TEST_BED = (
    "flow.throughput_mbit",
    "flow.srtt_ms_mean",
    "run.throughput_total_mbit",
    "run.jain",
    "run.throughput_ratio",
)
"""The same where data files of Flent are among what is compared: what those have too."""

FLENT = "flent"
"""The engine of a column of data files of Flent."""

Kind = Literal["flow", "traffic", "link", "class", "run"]

Params = tuple[tuple[str, float | str], ...]
"""A point: its parameters, ordered by path."""


@dataclass(frozen=True)
class Variant:
    """What is asked for: the scenario with values replaced, on an engine."""

    name: str
    sets: dict[str, str] = field(default_factory=dict)
    """Paths of the scenario and their values as TOML text, in the order given."""
    engine: str = "sim"
    kernel: str | None = None
    """Name of a kernel kit, for engine kernel."""


@dataclass(frozen=True)
class Column:
    """A variant and what it gave."""

    name: str
    engine: str
    engine_version: str
    sets: dict[str, object]
    results: Results
    seeds: dict[Params, list[int]]
    """Every point and its seeds, those whose run failed included."""
    kernel: str | None = None

    def paired_with(self, other: Column) -> bool:
        """Whether the runs of both belong together seed by seed.

        The same seed draws the same random streams in the same engine only.
        """
        return self.engine == other.engine != FLENT and self.seeds == other.seeds

    def to_dict(self) -> dict[str, Any]:
        """The variant in `--json`."""
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
    """A difference in its place among all of a comparison."""

    q: float | None = None
    """The false discovery rate at which it would just be flagged; `None` where there is no p."""

    @property
    def flagged(self) -> bool:
        """Whether it is more than noise."""
        return self.q is not None and self.q < FALSE_DISCOVERY


@dataclass(frozen=True)
class Cell:
    """One quantity of one flow, source of traffic, link, class or run at one point."""

    params: dict[str, float | str]
    labels: dict[str, str]
    """The parameters as the scenario file has them."""
    kind: Kind
    name: str
    """Of the flow, link or class, as the baseline calls it; empty for a run."""
    metric: Metric
    values: dict[str, Estimate]
    """By variant, over seeds."""
    differences: dict[str, Judged]
    """By variant, but for the baseline; without those that cannot be told."""

    @property
    def quantity(self) -> str:
        """Name of the metric."""
        return self.metric.name

    @property
    def nothing(self) -> bool:
        """Whether it is 0 in every run: drops where none happen."""
        return all(found.mean in (None, 0) for found in self.values.values())

    def where(self) -> str:
        """Point and flow or link, in words."""
        at = ", ".join(f"{path} = {label}" for path, label in self.labels.items())
        return " ".join(filter(None, [self.kind, self.name, f"({at})" if at else ""]))

    def to_dict(self) -> dict[str, Any]:
        """The cell in `--json`."""
        return {
            "params": self.params,
            "kind": self.kind,
            "name": self.name,
            "quantity": self.quantity,
            "unit": self.metric.unit,
            "values": {
                variant: {"mean": found.mean, "n": found.n, "ci95": found.half_width}
                for variant, found in self.values.items()
            },
            "differences": {
                variant: {
                    "absolute": d.absolute,
                    "relative": d.relative,
                    "ci95": d.ci95,
                    "relative_ci95": d.relative_ci95,
                    "effect_size": d.effect_size,
                    "n": d.n,
                    "paired": d.paired,
                    "p": d.p,
                    "q": d.q,
                    "flagged": d.flagged,
                }
                for variant, d in self.differences.items()
            },
        }


@dataclass(frozen=True)
class Comparison:
    """Variants side by side; the first is the baseline."""

    title: str
    variants: list[Column]
    cells: list[Cell]
    root: Path
    """Folder of results."""
    failures: list[str] = field(default_factory=list)
    """Runs that failed; the others are compared."""

    def failed_assertions(self) -> list[str]:
        """What the `[[assert]]` tables found wanting, by variant; empty when all hold."""
        return [
            f"{variant.name}: {message}"
            for variant in self.variants
            for message in variant.results.failed_assertions()
        ]

    @property
    def baseline(self) -> Column:
        """What the others are compared with."""
        return self.variants[0]

    @property
    def others(self) -> list[Column]:
        """The variants but the baseline."""
        return self.variants[1:]

    @cached_property
    def id(self) -> str:
        """Names what was compared: variants, points, seeds, engines, quantities."""
        identity = [
            [[v.name, v.engine, v.engine_version, v.kernel, v.results.id] for v in self.variants],
            sorted({f"{cell.metric.on}.{cell.quantity}" for cell in self.cells}),
        ]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:20]

    @property
    def folder(self) -> Path:
        """Where its report is written."""
        return self.root / "comparisons" / self.id

    def points(self) -> list[tuple[Params, list[list[Run]]]]:
        """Every point, and its runs by variant."""
        runs = [_by_point(column.results) for column in self.variants]
        return [(params, [found.get(params, []) for found in runs]) for params in self._order]

    @property
    def _order(self) -> list[Params]:
        return list(self.baseline.seeds)

    @property
    def most_runs(self) -> int:
        """The largest number of runs behind a difference."""
        return max((d.n for cell in self.cells for d in cell.differences.values()), default=0)

    def flagged(self) -> list[tuple[Cell, str, Judged]]:
        """The differences that are more than noise, with their cell and variant."""
        return [
            (cell, variant, difference)
            for cell in self.cells
            for variant, difference in cell.differences.items()
            if difference.flagged
        ]

    def summary(self) -> list[dict[str, Any]]:
        """By quantity and variant: cells, how many are flagged, how large the differences are.

        `median_rel_difference` has a sign, `p90_rel_difference` is of magnitudes, by nearest rank.
        """
        found: dict[tuple[str, str], list[Judged]] = {}
        for cell in self.cells:
            for variant, difference in cell.differences.items():
                found.setdefault((_qualified(cell), variant), []).append(difference)
        rows = []
        for (quantity, variant), differences in found.items():
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
        """What has to be known to read the numbers."""
        notes = []
        for column in self.others:
            if column.paired_with(self.baseline):
                continue
            if FLENT in (column.engine, self.baseline.engine):
                reason = "measured data has no seed"
            elif column.engine != self.baseline.engine:
                reason = "a seed means the same start offsets there, not the same random numbers"
            else:
                reason = "they have other seeds"
            pair = f"{column.name} and {self.baseline.name}"
            notes.append(f"{pair}: compared unpaired (Welch), since {reason}")
        warmups = {run.summary["warmup_s"] for column in self.variants for run in column.results}
        if any(column.engine == FLENT for column in self.variants) and any(warmups):
            first = ", ".join(f"{warmup:g} s" for warmup in sorted(warmups) if warmup)
            notes.append(f"the first {first} are left out, of Flent's data too")
        if self.most_runs < 2:
            notes.append("one run of each point says nothing about noise: nothing can be flagged")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "variants": [variant.to_dict() for variant in self.variants],
            "cells": [cell.to_dict() for cell in self.cells],
            "summary": self.summary(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """One flat row for each cell and variant."""
        rows = []
        for cell in self.cells:
            for variant, found in cell.values.items():
                d = cell.differences.get(variant)
                rows.append(
                    {
                        **cell.params,
                        "kind": cell.kind,
                        "name": cell.name,
                        "quantity": cell.quantity,
                        "unit": cell.metric.unit,
                        "variant": variant,
                        "mean": found.mean,
                        "n": found.n,
                        "ci95": found.half_width,
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
        """The same rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self.rows(), strict=False, infer_schema_length=None)

    def report(self, folder: Path | str | None = None) -> Path:
        """Writes the report (HTML, Markdown, CSV, figures); returns the path of its page."""
        from tailback.report.comparison import of
        from tailback.report.write import write

        return write(of(self), Path(folder) if folder is not None else self.folder)

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        against = " against ".join(variant.name for variant in self.variants)
        return f"<Comparison {against}: {len(self.cells)} cells, {len(self.flagged())} flagged>"

    def _repr_html_(self) -> str:
        """For notebooks: a row for each cell, cut after 100; flagged differences in bold."""
        shown = [cell for cell in self.cells if not cell.nothing]
        paths = list(dict.fromkeys(path for cell in self.cells for path in cell.params))
        heads = [*paths, "", "quantity", *(v.name for v in self.variants)]
        heads += [f"{v.name} − {self.baseline.name}" for v in self.others]
        rows = []
        for cell in shown[:100]:
            texts = [cell.labels.get(path, "") for path in paths]
            texts += [cell.name or cell.kind, f"{cell.quantity} {cell.metric.unit}".strip()]
            texts += [with_spread_of(cell.values.get(variant.name)) for variant in self.variants]
            cells = [html.escape(text) for text in texts]
            for variant in self.others:
                difference = cell.differences.get(variant.name)
                text = html.escape(difference_text(difference))
                cells.append(f"<b>{text}</b>" if difference and difference.flagged else text)
            rows.append("<tr>" + "".join(f"<td>{text}</td>" for text in cells) + "</tr>")
        head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
        more = f"<p>… and {len(shown) - 100} more rows</p>" if len(shown) > 100 else ""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}{notes}"
        )


def with_spread_of(found: Estimate | None) -> str:
    """Mean and half its interval; a dash for what is missing."""
    from tailback.numbers import with_spread

    return with_spread(found) if found else "–"


def difference_text(difference: Difference | None) -> str:
    """A difference as people read it: in percent where the baseline is not 0."""
    if difference is None:
        return "–"
    relative = difference.relative is not None
    value = 100 * difference.relative if difference.relative is not None else difference.absolute
    half = difference.relative_ci95 if relative else difference.ci95
    if value == 0 and half is None:
        return "0"
    if half is not None and relative:
        half *= 100
    decimals = _decimals(half or abs(value))
    text = f"{value:+.{decimals}f}"
    if float(text) == 0:
        text = text.replace("+", "").replace("-", "")
    # What is gone altogether is gone for sure.
    spread = f" ±{half:.{decimals}f}" if half else ""
    return f"{text}{spread}{' %' if relative else ''}"


def percent(share: float | None) -> str:
    """A relative difference in percent, with its sign; a dash for what is missing."""
    if not share:
        return "–" if share is None else "0"
    return f"{100 * share:+.{_decimals(100 * abs(share))}f} %"


def _decimals(size: float) -> int:
    """As many as a number of this size has digits that say something."""
    return 0 if size >= 10 else 1 if size >= 1 else 2 if size >= 0.1 else 3


def compare(
    scenario: running.Source,
    variants: Mapping[str, Mapping[str, object]],
    *,
    seeds: int | None = None,
    metrics: Sequence[str] = (),
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    engine: str = "sim",
) -> Comparison:
    """Runs a scenario and its sweep in several variants and compares them.

    `variants` has for each name the values to replace, by path, `{}` for the scenario as it is; the
    first is the baseline. The keys `engine` and `kernel` choose what runs a variant. `metrics`
    names what is compared (`tailback list metrics`). Unless the scenario or `seeds` says how many,
    each point has 10 seeds.
    """
    asked = [
        _variant(name, {path: _text(path, value) for path, value in sets.items()}, engine)
        for name, sets in variants.items()
    ]
    return run_variants(
        scenario, asked, seeds=seeds, chosen=metrics, jobs=jobs, out=out, progress=progress
    )


def parse(texts: Sequence[str], engine: str = "sim") -> list[Variant]:
    """The variants of a command line: `NAME` or `NAME:KEY=VALUE`, names in order of appearance."""
    sets: dict[str, dict[str, str]] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        name = name.strip()
        if not name or "=" in name:
            raise InputError(f"--variant {text}: expected NAME or NAME:KEY=VALUE")
        if not colon:
            if name in sets:
                raise InputError(f"--variant {text}: there is a variant of this name already")
            sets[name] = {}
            continue
        path, equals, value = rest.partition("=")
        path = path.strip()
        if not equals or not path:
            raise InputError(f"--variant {text}: expected NAME:KEY=VALUE")
        keys = sets.setdefault(name, {})
        if path in keys:
            raise InputError(f'--variant {text}: variant "{name}" has {path} already')
        keys[path] = value
    return [_variant(name, keys, engine) for name, keys in sets.items()]


def _text(path: str, value: object) -> str:
    """A value of Python's as TOML; the words for engine and kernel stand as they are."""
    return str(value) if path in ("engine", "kernel") else toml.value(value)


def values_of(sets: Mapping[str, str]) -> dict[str, object]:
    """What the texts mean: TOML, bare words being strings."""
    found: dict[str, object] = {}
    for path, text in sets.items():
        try:
            found[path] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[path] = text
    return found


def _variant(name: str, sets: Mapping[str, str], engine: str) -> Variant:
    rest = {path: value for path, value in sets.items() if path not in ("engine", "kernel")}
    chosen = sets.get("engine", engine).strip().strip('"')
    kernel = sets.get("kernel")
    kernel = kernel.strip().strip('"') if kernel is not None else None
    if kernel is not None and chosen not in engines.KERNELS:
        raise InputError(
            f'variant "{name}": kernel = {kernel} is for engine kernel, and this one runs on '
            f"{chosen}; add --variant {name}:engine=kernel"
        )
    return Variant(name, rest, chosen, kernel)


def run_variants(
    scenario: running.Source,
    variants: Sequence[Variant],
    *,
    seeds: int | None = None,
    chosen: Sequence[str] = (),
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    read_only: bool = False,
) -> Comparison:
    """As `compare`, for variants with values as text; `read_only` as of `running.run_loaded`."""
    if len(variants) < 2:
        raise InputError(
            f"{len(variants)} variant{'s' if len(variants) != 1 else ''}: at least two are "
            "compared; a name alone is the file as it is (--variant base)"
        )
    wanted = select(chosen)
    for variant in variants:
        engines.get(variant.engine)
    loaded = _load(scenario, variants, seeds)
    _refuse_mixed_axes(variants, loaded)
    _refuse_gain_over_nothing(variants, loaded, chosen)
    planned = [_planned(case.points) for case in loaded]
    _refuse_other_points([variant.name for variant in variants], planned)

    results, failures = _run(
        variants, loaded, jobs=jobs, out=out, progress=progress, read_only=read_only
    )
    columns = [
        Column(v.name, r.engine, r.version, values_of(v.sets), r, p, v.kernel)
        for v, r, p in zip(variants, results, planned, strict=True)
    ]
    return of(columns, wanted, failures)


def compare_stored(sources: Sequence[Path], chosen: Sequence[str] = ()) -> Comparison:
    """Compares what is stored, the first being the baseline.

    A source is a sweep (`results/sweeps/ID`), a run (`results/runs/ID`), a data file of Flent
    (`.flent.gz`), or a folder of those: replicates of one set-up. A data file has no parameters: it
    stands beside a single point, and leaves out as much at its start as that has for warm-up.
    """
    from tailback.interop import flent_results

    beds = [at for at, source in enumerate(sources) if flent_results.is_source(source)]
    wanted = select(chosen or (TEST_BED if beds else METRICS))
    read = flent_results.read_sources([sources[at] for at in beds])
    runs = {at: _open_stored(s) for at, s in enumerate(sources) if at not in beds}
    if beds:
        for at, (results, planned) in runs.items():
            _refuse_many_points(sources[at], results, planned)
    first = next((results for results, _ in runs.values() if results.points), None)
    warmup = max((r.summary["warmup_s"] for found, _ in runs.values() for r in found), default=0.0)
    columns_of = dict(runs)
    for at, source in zip(beds, read, strict=True):
        results = source.results(
            first.root if first else store.DEFAULT,
            first.points[0].params if first else {},
            first.points[0].labels if first else {},
            warmup,
        )
        columns_of[at] = (results, _planned(results.points))
    opened, points = zip(*(columns_of[at] for at in range(len(sources))), strict=True)
    labels = _names(opened)
    _refuse_other_points(labels, points)
    columns = [
        Column(name, results.engine, results.version, {}, results, seeds)
        for name, results, seeds in zip(labels, opened, points, strict=True)
    ]
    return of(columns, wanted)


def _open_stored(source: Path) -> tuple[Results, dict[Params, list[int]]]:
    """A stored sweep or run, and the points that it has or had to have."""
    from tailback.results import open_results, open_run

    if not source.is_dir():
        what = "folder" if not source.exists() else "folder, and no data file of Flent (.flent.gz)"
        raise InputError(f"{source}: no such {what}; expected the folder of a sweep or run")
    if os.path.lexists(source / stored.MANIFEST):
        results = open_run(source)
        results.require_whole()
        return results, _planned(results.points)
    results = open_results(source)
    results.require_whole()
    index = store.read_index(store.index_path(results.root, results.id))
    return results, _planned(index.points)


def _refuse_gain_over_nothing(
    variants: Sequence[Variant], loaded: Sequence[_native.Scenario], chosen: Sequence[str]
) -> None:
    if not any(metric.name == "throughput_gain" for metric in select(chosen)):
        return
    for variant, case in zip(variants, loaded, strict=True):
        if any(point.baseline is None for point in case.points):
            raise InputError(
                f"--metric throughput_gain: variant {variant.name} has no baseline; expected a "
                "sweep over beta_ecn with a value equal to beta, the standard backoff"
            )


def _refuse_many_points(
    source: Path, results: Results, planned: Mapping[Params, Sequence[int]]
) -> None:
    """Measured data stands beside one point."""
    if len(planned) > 1:
        hint = f", e.g. {results.points[0].path}" if results.points else ""
        raise InputError(
            f"{source}: {len(planned)} points, and a data file of Flent stands beside one; "
            f"expected the folder of a run{hint} or of a sweep of one point"
        )
    if not results.points:
        raise InputError(f"{source}: no run of this sweep is stored")


def _names(opened: Sequence[Results]) -> list[str]:
    """What tells stored sweeps apart: their titles, else their engines, else their ids.

    Beside an engine, a data file of Flent has its own name.
    """
    for labels in (
        [r.title for r in opened],
        [r.engine for r in opened],
        [r.id.rpartition("-")[0] if r.engine == FLENT else r.engine for r in opened],
    ):
        if len(set(labels)) == len(labels) and all(labels):
            return labels
    labels = [r.id for r in opened]
    if len(set(labels)) < len(labels):
        raise InputError("the same sweep, run or file twice; expected different ones")
    return labels


def select(chosen: Sequence[str]) -> list[Metric]:
    """The metrics of these names; `link.drops` is that of links only."""
    found: dict[tuple[str, str], Metric] = {}
    for name in chosen or METRICS:
        kind, dot, rest = name.partition(".")
        matches = [
            metric
            for metric in metrics.METRICS
            if metric.name == name or (dot and (metric.on, metric.name) == (kind, rest))
        ]
        if not matches:
            raise InputError(names.unknown("metric", name, [m.name for m in metrics.METRICS]))
        found.update({(metric.on, metric.name): metric for metric in matches})
    return list(found.values())


def _load(
    scenario: running.Source, variants: Sequence[Variant], seeds: int | None
) -> list[_native.Scenario]:
    loaded = [load_one(scenario, variant, seeds) for variant in variants]
    if seeds is None and not any(
        _says_seeds(scenario, variant, case) for variant, case in zip(variants, loaded, strict=True)
    ):
        loaded = [load_one(scenario, variant, SEEDS) for variant in variants]
    return loaded


def load_one(scenario: running.Source, variant: Variant, seeds: int | None) -> _native.Scenario:
    """The one place where a variant is read: what an engine wants to know of it goes in here."""
    try:
        runner = engines.get(variant.engine, variant.kernel)
        return running.load(scenario, list(variant.sets.items()), seeds, runner)
    except ScenarioError as error:
        place = f"--variant {variant.name}:"
        raise ScenarioError(
            [re.sub(r"^--set ", lambda _: place, text) for text in error.diagnostics]
        ) from None


def _says_seeds(scenario: running.Source, variant: Variant, loaded: _native.Scenario) -> bool:
    """Whether the file or the variant says how many seeds there are, be it one."""
    if any(len(seeds) > 1 for seeds in _planned(loaded.points).values()):
        return True
    if any(path == "sweep.seeds" for path in variant.sets):
        return True
    sweep = tomllib.loads(running.text_of(scenario)).get("sweep", {})
    return isinstance(sweep, dict) and "seeds" in sweep


def _run(
    variants: Sequence[Variant],
    loaded: Sequence[_native.Scenario],
    *,
    jobs: int | None,
    out: Path | str | None,
    progress: bool | None,
    read_only: bool,
) -> tuple[list[Results], list[str]]:
    """Runs the variants in one pool; also says what failed."""
    runners = [engines.get(variant.engine, variant.kernel) for variant in variants]
    try:
        found = running.run_loaded(
            loaded, runners, jobs=jobs, out=out, progress=progress, read_only=read_only
        )
        return found, []
    except RunsFailed as failed:
        return failed.results, failed.failures


def _planned(
    points: Sequence[_native.Point] | Sequence[store.PointRef] | Sequence[Run],
) -> dict[Params, list[int]]:
    seeds: dict[Params, list[int]] = {}
    for point in points:
        seeds.setdefault(_key(point.params), []).append(point.seed)
    return seeds


def _key(params: Mapping[str, float | str]) -> Params:
    return tuple(sorted(params.items()))


def _by_point(results: Results) -> dict[Params, list[Run]]:
    return {_key(group[0].params): group for group in results.groups()}


def _refuse_mixed_axes(variants: Sequence[Variant], loaded: Sequence[_native.Scenario]) -> None:
    """A value set for one variant is not swept in another."""
    axes = [{path for axis in case.axes for path in axis} for case in loaded]
    for variant in variants:
        for path in variant.sets:
            for other, swept in zip(variants, axes, strict=True):
                if path in swept:
                    raise InputError(
                        f'variant "{variant.name}" sets {path}, which is swept in "{other.name}": '
                        "take it out of [sweep], or set it in every variant"
                    )


def _refuse_other_points(labels: Sequence[str], planned: Sequence[dict[Params, list[int]]]) -> None:
    """Every variant has the points of the baseline and no others."""
    first = planned[0]
    for name, points in zip(labels[1:], planned[1:], strict=True):
        for has, lacks, missing in (
            (labels[0], name, [p for p in first if p not in points]),
            (name, labels[0], [p for p in points if p not in first]),
        ):
            if missing:
                at = ", ".join(f"{path} = {short(value)}" for path, value in missing[0])
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                raise InputError(
                    f'"{has}" has a point that "{lacks}" has not: {at or "no parameters"}{more}; '
                    "expected the same sweep in all"
                )


def of(
    columns: Sequence[Column], wanted: Sequence[Metric], failures: Sequence[str] = ()
) -> Comparison:
    """Compares what has been run."""
    runs = [_by_point(column.results) for column in columns]
    drafts: list[Cell] = []
    for params in columns[0].seeds:
        groups = [found.get(params, []) for found in runs]
        drafts += _cells_of_point(dict(params), columns, groups, wanted)
    places = [(i, variant) for i, cell in enumerate(drafts) for variant in cell.differences]
    qs = false_discovery([drafts[i].differences[variant].p for i, variant in places])
    judged: list[dict[str, Judged]] = [{} for _ in drafts]
    for (i, variant), q in zip(places, qs, strict=True):
        judged[i][variant] = Judged(**{**vars(drafts[i].differences[variant]), "q": q})
    cells = [
        Cell(c.params, c.labels, c.kind, c.name, c.metric, c.values, differences)
        for c, differences in zip(drafts, judged, strict=True)
    ]
    titles = list(dict.fromkeys(c.results.title for c in columns if c.results.title))
    title = " and ".join(titles) or " and ".join(c.name for c in columns)
    return Comparison(title, list(columns), cells, columns[0].results.root, list(failures))


def _cells_of_point(
    params: dict[str, float | str],
    columns: Sequence[Column],
    groups: Sequence[Sequence[Run]],
    wanted: Sequence[Metric],
) -> Iterator[Cell]:
    # In the order of the sweep, if there is a run that has it.
    params = next((group[0].params for group in groups if group), params)
    labels = next((group[0].labels for group in groups if group), {})
    kinds: tuple[Kind, ...] = ("flow", "traffic", "link", "class", "run")
    for kind in kinds:
        on = "flow" if kind == "traffic" else kind
        for name, parts in _matched(kind, groups):
            for metric in wanted:
                if metric.on != on:
                    continue
                # By variant, then by seed.
                found = [
                    {run.seed: metric.value(part(run.summary)) for run in group} if part else {}
                    for group, part in zip(groups, parts, strict=True)
                ]
                values = {
                    column.name: estimate(by_seed.values())
                    for column, by_seed in zip(columns, found, strict=True)
                }
                if all(value.n == 0 for value in values.values()):
                    continue
                differences: dict[str, Judged] = {}
                for column, by_seed in zip(columns[1:], found[1:], strict=True):
                    difference = _difference(columns[0], column, found[0], by_seed)
                    if difference is not None:
                        differences[column.name] = Judged(**vars(difference))
                yield Cell(params, labels, kind, name, metric, values, differences)


def _difference(
    base: Column,
    other: Column,
    a: Mapping[int, float | None],
    b: Mapping[int, float | None],
) -> Difference | None:
    if other.paired_with(base):
        pairs = [
            (x, y) for seed, x in a.items() if x is not None and (y := b.get(seed)) is not None
        ]
        return paired([x for x, _ in pairs], [y for _, y in pairs])
    return unpaired(
        [x for x in a.values() if x is not None], [y for y in b.values() if y is not None]
    )


Part = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def _matched(
    kind: Kind, groups: Sequence[Sequence[Run]]
) -> Iterator[tuple[str, list[Part | None]]]:
    """The flows (traffic, links, classes) of a point: a name, and for each variant what reads it.

    They are matched by name. Where names differ (a default name is that of the congestion control)
    but not their number, they are matched in the order of the file; not so classes.
    """
    if kind == "run":
        yield "", [lambda summary: summary for _ in groups]
        return
    key = {"flow": "flows", "traffic": "traffic", "link": "queues", "class": "classes"}[kind]
    # Runs of before there were classes have none.
    found = [_part_names(group[0].summary.get(key, ())) if group else [] for group in groups]
    first = next((named for named in found if named), [])
    slots: dict[str, list[Part | None]] = {}
    for i, named in enumerate(found):
        in_order = kind != "class" and set(named) != set(first) and len(named) == len(first)
        for at, name in enumerate(named):
            slot = slots.setdefault(first[at] if in_order else name, [None] * len(groups))
            slot[i] = _reader(key, at, name)
    yield from slots.items()


def _part_names(parts: Any) -> list[str]:
    return list(parts) if isinstance(parts, Mapping) else [part["name"] for part in parts]


def _reader(key: str, at: int, name: str) -> Part:
    return lambda summary: summary[key][name if key == "queues" else at]


def _qualified(cell: Cell) -> str:
    """`flow.drops`: a quantity and what it is of, where there are several."""
    kinds = {m.on for m in metrics.METRICS if m.name == cell.quantity}
    # A link's delay has its plain name, with classes beside it or without.
    several = len(kinds) > 1 if cell.metric.on == "class" else len(kinds - {"class"}) > 1
    return f"{cell.metric.on}.{cell.quantity}" if several else cell.quantity


_THRESHOLD = re.compile(r"(?P<sign>[+-]?)(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<percent>%?)")


@dataclass(frozen=True)
class Threshold:
    """What difference is too much: `--fail-if throughput_mbit:-5%`."""

    text: str
    quantity: str
    sign: str
    """`+` for a rise, `-` for a fall, empty for both."""
    limit: float
    relative: bool

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Reads `QUANTITY:[+|-]NUMBER[%]`."""
        quantity, _, rest = text.rpartition(":")
        match = _THRESHOLD.fullmatch(rest.strip())
        if not quantity or match is None:
            raise InputError(
                f"--fail-if {text}: expected QUANTITY:+10%, QUANTITY:-0.5 or QUANTITY:2% "
                "(either way)"
            )
        select([quantity])
        return cls(
            text, quantity.strip(), match["sign"], float(match["number"]), bool(match["percent"])
        )

    def passed(self, comparison: Comparison) -> list[str]:
        """A message for each flagged difference that is beyond it.

        Raises `InputError` if there is nothing that it could be held against.
        """
        wanted = {(m.on, m.name) for m in select([self.quantity])}
        cells = [c for c in comparison.cells if (c.metric.on, c.quantity) in wanted]
        judged = [(c, v, d) for c in cells for v, d in c.differences.items() if d.n > 1]
        if not judged:
            raise InputError(
                f"--fail-if {self.text}: no variant has {self.quantity} in more than one run"
            )
        return [
            f"{cell.quantity} of {cell.where()}: {variant} differs by {difference_text(d)} from "
            f"{comparison.baseline.name}, beyond {self.text}"
            for cell, variant, d in judged
            if d.flagged and self._beyond(d)
        ]

    def _beyond(self, difference: Difference) -> bool:
        value = difference.absolute
        if self.relative:
            # Of nothing, anything is more than any percentage.
            grown = float("inf") if value > 0 else float("-inf")
            value = 100 * difference.relative if difference.relative is not None else grown
        rise = self.sign != "-" and value > self.limit
        return rise or (self.sign != "+" and value < -self.limit)
