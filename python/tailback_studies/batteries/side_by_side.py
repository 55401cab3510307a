"""Runs a set of scenarios on several versions of an algorithm, and compares the versions. The false
discovery rate is controlled over all differences together. The number of seeds is fixed, or follows
a rule (`SeedRule`). With a rule, every sweep point first runs with a few seeds. Then the thresholds
of the set of scenarios are tested, as `compare --fail-if` tests them. A sweep point gets no more
seeds as soon as all of its differences are decided. The rule adds seeds to all other sweep points.
The rule depends only on results, so the number of jobs does not affect which runs are made.
"""

from __future__ import annotations

import hashlib
import itertools
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import toml
from tailback.base.names import unknown
from tailback.comparison import gate
from tailback.comparison.judging import judge
from tailback.comparison.model import Comparison, VariantResults
from tailback.comparison.quantities import select
from tailback.comparison.run import SEEDS, load_one
from tailback.comparison.thresholds import Threshold
from tailback.comparison.variants import Variant, values_of
from tailback.errors import InputError, RunsFailed, ScenarioError
from tailback.running import engines, execution
from tailback.running.options import RunOptions
from tailback.running.spread import shard
from tailback.store.points import Key, Swept, key_of
from tailback.store.results import Results, Run
from tailback_studies.batteries import Battery, Part, Preset, Row, choose, get


@dataclass(frozen=True)
class BatteryPlace:
    """The part, file and swept values of a sweep point."""

    part: str
    file: str
    """The stem of the part's scenario file."""
    params: Row
    """The swept values of the sweep point, in base units."""


@dataclass(frozen=True)
class SeedRule:
    """A rule for the number of seeds of a sweep point."""

    looks: Sequence[int] = (5, 10, 20)
    """The number of seeds at each test. A sweep point gets no more seeds after a test that decides
    all of its differences, or after the last test."""

    @property
    def level(self) -> float:
        """The significance level of each test. This level is the level of `compare --fail-if`,
        divided by the number of tests."""
        return gate.LEVEL / len(self.looks)


@dataclass(frozen=True, repr=False)
class BatteryComparison(Comparison):
    """A comparison of versions on a set of scenarios. The first two parameters of each sweep point
    name its part of the set and its scenario."""

    battery: Battery = field(kw_only=True)
    parts: Sequence[Part] = field(kw_only=True)
    presets: Sequence[Preset] = field(kw_only=True)
    quick: bool = field(kw_only=True)
    places: Mapping[tuple[str, str], BatteryPlace] = field(kw_only=True)
    """The part, file and swept values of each sweep point, by part and case."""
    rule: SeedRule | None = field(default=None, kw_only=True)
    """The rule for the number of seeds. None if every sweep point has the same number of seeds."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "battery": self.battery.name,
            "parts": [part.name for part in self.parts],
            "presets": [preset.name for preset in self.presets],
            "quick": self.quick,
            **super().to_dict(),
        }

    def place(self, params: Key) -> BatteryPlace:
        """Return the part, file and swept values of a sweep point."""
        named = dict(params)
        return self.places[str(named["part"]), str(named["case"])]

    def report(self, folder: Path | str | None = None) -> Path:
        """Write the report as an HTML page and as a PDF. Return the path of the page."""
        from tailback.report import write

        target = Path(folder) if folder is not None else self.folder
        return write(self.battery.report(self), target, pdf=True)


@dataclass(frozen=True)
class BatteryCase:
    """A scenario file, loaded for each variant."""

    part: Part
    path: Path
    loaded: Sequence[_native.Scenario]


def run_battery(
    battery: Battery,
    variants: Sequence[Variant],
    options: RunOptions,
    *,
    parts: Sequence[str] = (),
    presets: Sequence[str] = (),
    quick: bool = False,
    metrics: Sequence[str] = (),
    base: Mapping[str, object] | None = None,
    rule: SeedRule | None = None,
) -> BatteryComparison:
    """Run the named parts (default: all) on every variant. The first variant is the baseline.

    `presets` and `base` (values by path) apply to all variants. All scenario files are read before
    the first run, and their errors are reported together. With `rule`, `options.seeds` is ignored.
    """
    if len(variants) < 2:
        raise InputError(
            f"{len(variants)} variant{'s' if len(variants) != 1 else ''}: {battery.name} compares "
            "at least two, and the first is the baseline; add another, such as --variant base for "
            "the unchanged scenarios"
        )
    picked = choose(battery, parts)
    for variant in variants:
        engines.get(variant.engine)
    readings = _presets(battery, presets, variants)
    wanted = select([*battery.metrics, *metrics])
    if rule is not None and shard.chosen() is not None:
        raise InputError(
            "--shard: a process does not have the results of other processes, which decide the "
            "number of seeds; set the number with --seeds"
        )
    every = SEEDS if options.seeds is None else options.seeds
    looks = [every] if rule is None else list(rule.looks)
    ran = _Ran(battery, variants)
    steps: Steps | None = None
    # Later tests cannot make a decided sweep point undecided again.
    left: Collection[tuple[str, str]] | None = None
    for seeds in looks:
        ran.run(
            _read(battery, picked, variants, readings, base or {}, quick, seeds, steps), options
        )
        made = judge(ran.columns(), wanted, ran.failures, len(looks))
        if rule is None or ran.failures or seeds == looks[-1]:
            break
        found = _undecided(made, battery.thresholds, rule.level)
        left = found if left is None else found.intersection(left)
        steps = ran.steps(left)
        if not steps:
            break
    return BatteryComparison(
        **vars(made),
        battery=battery,
        parts=picked,
        presets=readings,
        quick=quick,
        places=ran.places,
        rule=rule,
    )


Steps = Mapping[tuple[str, str], Sequence[Mapping[str, str]]]
"""The swept values of some sweep points, by part and file."""


class _Ran:
    """The runs of a comparison so far, by variant and sweep point."""

    def __init__(self, battery: Battery, variants: Sequence[Variant]) -> None:
        self.battery = battery
        self.variants = variants
        self.failures: list[str] = []
        self.places: dict[tuple[str, str], BatteryPlace] = {}
        self._labels: dict[tuple[str, str], Mapping[str, str]] = {}
        self._sweeps: list[list[Results]] = [[] for _ in variants]
        self._runs: list[dict[Key, list[Run]]] = [{} for _ in variants]
        self._planned: list[dict[Key, list[int]]] = [{} for _ in variants]

    def run(self, cases: Sequence[BatteryCase], options: RunOptions) -> None:
        """Run the sweep points of these cases. The new runs replace earlier runs of the same
        points."""
        flat = [case.loaded[i] for case in cases for i in range(len(self.variants))]
        runners = [engines.get(v.engine) for _ in cases for v in self.variants]
        try:
            results = execution.run_loaded(flat, runners, options)
        except RunsFailed as failed:
            results = failed.results
            self.failures += failed.failures
        for i in range(len(self.variants)):
            planned: dict[Key, list[int]] = {}
            runs: dict[Key, list[Run]] = {}
            for case, sweep in zip(cases, results[i :: len(self.variants)], strict=True):
                self._sweeps[i].append(sweep)
                for point in case.loaded[i].points:
                    params, labels = _swept_at(self.battery, case, point)
                    self._labels[labels["part"], labels["case"]] = point.labels
                    key = key_of(params, labels)
                    planned.setdefault(key, []).append(point.seed)
                    runs.setdefault(key, [])
                for run in sweep:
                    named = _named(self.battery, case, run, self.places)
                    runs[key_of(named.params, named.labels)].append(named)
            self._planned[i].update(planned)
            self._runs[i].update(runs)

    def steps(self, points: Collection[tuple[str, str]]) -> Steps:
        """Return the swept values of these sweep points, as the scenario files write them."""
        found: dict[tuple[str, str], list[Mapping[str, str]]] = {}
        for point, labels in self._labels.items():
            if point in points:
                found.setdefault((point[0], self.places[point].file), []).append(labels)
        return found

    def columns(self) -> list[VariantResults]:
        """Return the results of each variant."""
        columns = []
        for variant, sweeps, runs, planned in zip(
            self.variants, self._sweeps, self._runs, self._planned, strict=True
        ):
            digest = hashlib.sha256(" ".join(sweep.id for sweep in sweeps).encode()).hexdigest()
            first = sweeps[0]
            merged = Results(
                digest[:20],
                self.battery.title,
                first.engine,
                first.version,
                [],
                [run for of_point in runs.values() for run in of_point],
                first.root,
            )
            sets = values_of(variant.sets)
            columns.append(
                VariantResults(
                    variant.name,
                    first.engine,
                    first.version,
                    sets,
                    merged,
                    dict(planned),
                    variant.kernel,
                )
            )
        return columns


def _undecided(
    made: Comparison, thresholds: Iterable[str], level: float
) -> frozenset[tuple[str, str]]:
    """Return the part and case of each sweep point with a difference that the thresholds leave
    undecided."""
    parsed = [Threshold.parse(text) for text in thresholds]
    return frozenset(
        (str(verdict.cell.params["part"]), str(verdict.cell.params["case"]))
        for verdict in gate.hold(made, parsed, level).of("unknown")
    )


def _presets(battery: Battery, names: Sequence[str], variants: Sequence[Variant]) -> list[Preset]:
    for name in names:
        if name not in battery.presets:
            raise InputError(unknown("preset", name, list(battery.presets)))
    asked = list(dict.fromkeys(names))
    # If any variant runs on Linux, apply the kernel preset to all variants. Variants with different
    # presets would not be comparable.
    if battery.kernel_preset not in asked and any(v.engine != "sim" for v in variants):
        asked.append(battery.kernel_preset)
    return [battery.presets[name] for name in asked]


def _read(
    battery: Battery,
    parts: Sequence[Part],
    variants: Sequence[Variant],
    presets: Sequence[Preset],
    base: Mapping[str, object],
    quick: bool,
    seeds: int,
    steps: Steps | None,
) -> list[BatteryCase]:
    """Load the scenario files of these parts for each variant. `steps` selects sweep points, and
    None selects all."""
    tables = {p: tomllib.loads(p.read_text("utf-8")) for part in battery.parts for p in part.files}
    everyone = {name for table in tables.values() for name in _names(table)}
    wrong: dict[str, _native.Diagnostic] = {}
    on_kernel = any(variant.engine != "sim" for variant in variants)
    cases: list[BatteryCase] = []
    used: dict[str, set[str]] = {variant.name: set() for variant in variants}
    for part in parts:
        for path in part.files:
            if steps is not None and (part.name, path.stem) not in steps:
                continue
            table = tables[path]
            absent = everyone - _names(table)
            common: dict[str, object] = {}
            for preset in presets:
                if not preset.only or part.name in preset.only or part.group in preset.only:
                    common.update(preset.sets)
            common.update(base)
            keeps = None
            if quick:
                keeps = partial(battery.keeps, path.stem, on_kernel=on_kernel)
            sweep = _sweep(table, presets, keeps)
            if steps is not None:
                whole = sweep or common.get("sweep") or table.get("sweep", {})
                sweep = _only(whole, steps[part.name, path.stem])
            if sweep is not None:
                common["sweep"] = sweep
            if quick:
                common.update(battery.quick_on_kernel if on_kernel else battery.quick)
            texts = {key: toml.value(value) for key, value in common.items()}
            loaded = []
            for variant in variants:
                overrides = {k: v for k, v in variant.sets.items() if not _is_of(k, absent)}
                used[variant.name] |= overrides.keys()
                for key in overrides:
                    if key in _swept(table, sweep):
                        raise InputError(
                            f'variant "{variant.name}" sets {key}, which {battery.name} sweeps in '
                            f"part {part.name}; expected something that it does not sweep"
                        )
                sets = {k: v for k, v in texts.items() if not _is_of(k, absent)}
                try:
                    merged = replace(variant, sets={**sets, **overrides})
                    loaded.append(load_one(path, merged, seeds))
                except ScenarioError as error:
                    # Several files may have the same error.
                    wrong.update((str(one), one) for one in error.diagnostics)
            cases.append(BatteryCase(part, path, loaded))
    if wrong:
        raise ScenarioError(list(wrong.values()))
    for variant in variants:
        for key in variant.sets:
            if key not in used[variant.name]:
                chosen = ", ".join(part.name for part in parts)
                raise InputError(
                    f'variant "{variant.name}" sets {key}, which part {chosen} does not have; '
                    "remove it, or add a part that has it"
                )
    return cases


def _names(table: Mapping[str, Any]) -> set[str]:
    """Return the paths of the flows and sources in a scenario file."""
    return {
        f"{kind}.{part['name']}" for kind in ("flows", "traffic") for part in table.get(kind, [])
    }


def _is_of(path: str, named: set[str]) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in named)


def _axes(sweep: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Return each axis of a sweep as a list of steps. List the axes with a single key before the
    zipped axes.
    """
    axes = [[{path: v} for v in vs] for path, vs in sweep.items() if path not in ("zip", "seeds")]
    for zipped in sweep.get("zip", []):
        axes.append(
            [dict(zip(zipped, row, strict=True)) for row in zip(*zipped.values(), strict=True)]
        )
    return axes


def _sweep(
    table: Mapping[str, Any], presets: Sequence[Preset], keeps: Callable[[Row], bool] | None
) -> dict[str, Any] | None:
    """Return a file's sweep, reduced to the steps that `keeps` accepts. Return `None` if the sweep
    does not change.
    """
    axes = _axes(table.get("sweep", {}))
    added = [preset.by_row for preset in presets if preset.by_row]
    if not axes or not (keeps or added):
        return None
    zips = []
    for axis in axes:
        rows = [row for row in axis if keeps is None or keeps(row)]
        for by_row in added:
            for path, more in by_row.items():
                if path in axis[0]:
                    rows = [{**row, **more[str(row[path])]} for row in rows]
        zips.append({path: [row[path] for row in rows] for path in rows[0]})
    return {"zip": zips}


def _only(sweep: Any, wanted: Sequence[Mapping[str, str]]) -> dict[str, Any] | None:
    """Return a sweep of the wanted sweep points only. Return `None` if nothing is swept."""
    axes = _axes(sweep)
    if not axes:
        return None
    rows = [
        {path: value for step in steps for path, value in step.items()}
        for steps in itertools.product(*axes)
    ]
    chosen = [
        row
        for row in rows
        if any(all(str(row[path]) == labels.get(path) for path in row) for labels in wanted)
    ]
    if len(chosen) != len(wanted):
        raise ValueError(f"{len(wanted)} sweep points are wanted, and {len(chosen)} are found")
    return {"zip": [{path: [row[path] for row in chosen] for path in chosen[0]}]}


def _swept(table: Mapping[str, Any], sweep: Mapping[str, Any] | None) -> set[str]:
    chosen = table.get("sweep", {}) if sweep is None else sweep
    return {path for axis in _axes(chosen) for path in axis[0]}


def _swept_at(
    battery: Battery, case: BatteryCase, point: Swept
) -> tuple[dict[str, float | str], dict[str, str]]:
    """Return a sweep point's parameters and labels, both with the names of its part and case
    added."""
    labels = {"part": case.part.name, "case": battery.case(case.path.stem, point.params)}
    return {**labels, **point.params}, labels


def _named(
    battery: Battery, case: BatteryCase, run: Run, places: dict[tuple[str, str], BatteryPlace]
) -> Run:
    params, labels = _swept_at(battery, case, run)
    part, text = labels["part"], labels["case"]
    places[part, text] = BatteryPlace(part, case.path.stem, run.params)
    return Run(params, labels, run.seed, run.run_id, run.path)


def run_named(
    name: str, variants: Sequence[Variant], options: RunOptions, **asked: Any
) -> BatteryComparison:
    """Run the set of scenarios with this name for `tailback compare`."""
    return run_battery(get(name), variants, options, **asked)
