"""Variants of a scenario, run in one pool with the same seeds and compared."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tailback import _native
from tailback.base import arguments, toml
from tailback.comparison import baseline as kept_baseline
from tailback.comparison.judging import judge
from tailback.comparison.model import Comparison, VariantResults
from tailback.comparison.points import refuse_mixed_axes, refuse_other_points, seeds_by_point
from tailback.comparison.quantities import select
from tailback.comparison.variants import Variant, toml_text, values_of, variant_of
from tailback.errors import InputError, RunsFailed, ScenarioError
from tailback.running import engines, execution, scenarios
from tailback.store.results import Results

SEEDS = 10
"""Seeds of every point where neither the file nor the caller says how many."""


def compare(
    scenario: scenarios.Source,
    variants: Mapping[str, Mapping[str, object]],
    *,
    seeds: int | None = None,
    metrics: Sequence[str] = (),
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    engine: str = "sim",
    crates: Sequence[Path | str] = (),
    baseline: Path | str | None = None,
) -> Comparison:
    """Runs a scenario and its sweep in several variants and compares them.

    `variants` has for each name the values to replace, by path, `{}` for the scenario as it is; the
    first is the baseline. The keys `engine` and `kernel` choose what runs a variant. `metrics`
    names what is compared (`tailback list metrics`). Unless the scenario or `seeds` says how many,
    each point has 10 seeds. `baseline` is a file that `tailback baseline` has written: every
    variant is compared with that, with its seeds.
    """
    base = kept_baseline.read(Path(baseline)) if baseline is not None else None
    named = arguments.table("variants", variants, "of names and what each replaces")
    of = "of paths and values, {} for the scenario as it is"
    tables = {name: arguments.table(f"variant {name}", sets, of) for name, sets in named.items()}
    asked = [
        variant_of(name, {path: toml_text(path, value) for path, value in sets.items()}, engine)
        for name, sets in tables.items()
    ]
    return run_variants(
        scenario,
        asked,
        seeds=seeds,
        chosen=arguments.names("metrics", metrics),
        jobs=jobs,
        out=out,
        progress=progress,
        crates=crates,
        base=base,
    )


def run_variants(
    scenario: scenarios.Source,
    variants: Sequence[Variant],
    *,
    seeds: int | None = None,
    chosen: Sequence[str] = (),
    jobs: int | None = None,
    out: Path | str | None = None,
    progress: bool | None = None,
    read_only: bool = False,
    crates: Sequence[Path | str] = (),
    base: VariantResults | None = None,
) -> Comparison:
    """As `compare`, for variants with values as text; `read_only` as of `running.run_loaded`.

    With `base`, what a file has kept, all variants are compared with that, by default with its
    seeds.
    """
    if base is not None:
        if any(variant.name == base.name for variant in variants):
            raise InputError(f'variant "{base.name}": the file is called so; expected another name')
        chosen = chosen or kept_baseline.quantities(base)
        seeds = kept_baseline.most_seeds(base) if seeds is None else seeds
    elif len(variants) < 2:
        raise InputError(
            f"{len(variants)} variant{'s' if len(variants) != 1 else ''}: at least two are "
            "compared; a name alone is the file as it is (--variant base)"
        )
    wanted = select(chosen)
    for variant in variants:
        engines.get(variant.engine)
    loaded = _load(scenario, variants, seeds, crates)
    refuse_mixed_axes(variants, loaded)
    _refuse_gain_over_nothing(variants, loaded, chosen)
    planned = [seeds_by_point(case.points) for case in loaded]
    before = [] if base is None else [(base.name, base.seeds)]
    points = [*before, *((v.name, p) for v, p in zip(variants, planned, strict=True))]
    refuse_other_points([name for name, _ in points], [has for _, has in points])

    results, failures = _run(
        variants, loaded, jobs=jobs, out=out, progress=progress, read_only=read_only
    )
    columns = [
        VariantResults(v.name, r.engine, r.version, values_of(v.sets), r, p, v.kernel)
        for v, r, p in zip(variants, results, planned, strict=True)
    ]
    if base is not None:
        there = replace(base.results, root=results[0].root)
        columns.insert(0, replace(kept_baseline.cut(base, planned[0]), results=there))
    return judge(columns, wanted, failures)


def _load(
    scenario: scenarios.Source,
    variants: Sequence[Variant],
    seeds: int | None,
    crates: Sequence[Path | str],
) -> list[_native.Scenario]:
    loaded = [load_one(scenario, variant, seeds, crates) for variant in variants]
    if seeds is None and not any(
        _says_seeds(scenario, variant.sets, case)
        for variant, case in zip(variants, loaded, strict=True)
    ):
        loaded = [load_one(scenario, variant, SEEDS, crates) for variant in variants]
    return loaded


def load_one(
    scenario: scenarios.Source,
    variant: Variant,
    seeds: int | None,
    crates: Sequence[Path | str] = (),
) -> _native.Scenario:
    """The one place where a variant is read: what an engine wants to know of it goes in here."""
    try:
        values = list(variant.sets.items())
        if variant.kernel is not None:
            # Over what the file says: a key of the scenario like the others.
            values.append(("kernel", toml.value(variant.kernel)))
        runner = engines.get(variant.engine)
        return scenarios.load(scenario, values, seeds, runner, crates=crates)
    except ScenarioError as error:
        place = f"--variant {variant.name}:"
        raise ScenarioError(
            [re.sub(r"^--set ", lambda _: place, text) for text in error.diagnostics]
        ) from None


def load_with_seeds(
    scenario: scenarios.Source,
    values: Sequence[tuple[str, str]],
    seeds: int | None,
    runner: engines.Engine,
) -> _native.Scenario:
    """As `running.load`, with as many seeds as a comparison has where nobody says how many."""
    loaded = scenarios.load(scenario, values, seeds, runner)
    if seeds is None and not _says_seeds(scenario, [path for path, _ in values], loaded):
        loaded = scenarios.load(scenario, values, SEEDS, runner)
    return loaded


def _says_seeds(scenario: scenarios.Source, paths: Iterable[str], loaded: _native.Scenario) -> bool:
    """Whether the file or a value that is set says how many seeds there are, be it one."""
    if any(len(seeds) > 1 for seeds in seeds_by_point(loaded.points).values()):
        return True
    if any(path == "sweep.seeds" for path in paths):
        return True
    sweep = tomllib.loads(scenarios.text_of(scenario)).get("sweep", {})
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
    runners = [engines.get(variant.engine) for variant in variants]
    try:
        found = execution.run_loaded(
            loaded, runners, jobs=jobs, out=out, progress=progress, read_only=read_only
        )
        return found, []
    except RunsFailed as failed:
        return failed.results, failed.failures


def _refuse_gain_over_nothing(
    variants: Sequence[Variant], loaded: Sequence[_native.Scenario], chosen: Sequence[str]
) -> None:
    if not any(metric.path == "throughput_gain" for metric in select(chosen)):
        return
    for variant, case in zip(variants, loaded, strict=True):
        if any(point.baseline is None for point in case.points):
            raise InputError(
                f"--metric throughput_gain: variant {variant.name} has no baseline; expected a "
                "sweep over beta_ecn with a value equal to beta, the standard backoff"
            )
