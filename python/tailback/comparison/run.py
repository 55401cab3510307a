"""Runs variants of a scenario in one pool with the same seeds, and compares them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

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
from tailback.running.options import RunKeywords, RunOptions
from tailback.store.results import Results

SEEDS = 10
"""Seeds of every sweep point if neither the file nor the caller sets a number."""


def compare(
    scenario: scenarios.Source,
    variants: Mapping[str, Mapping[str, object]],
    *,
    metrics: Sequence[str] = (),
    baseline: Path | str | None = None,
    **options: Unpack[RunKeywords],
) -> Comparison:
    """Run a scenario and its sweep in several variants and compare them.

    `variants` maps the name of each variant to a dict, which maps the paths of keys to their new
    values. `{}` is the unchanged scenario. The first variant is the baseline. The keys `engine` and
    `kernel` choose the engine and kernel of a variant. `metrics` names the metrics to compare (see
    `tailback list metrics`). Each sweep point has 10 seeds unless the scenario or `seeds` sets a
    number. `baseline` is a file that `tailback baseline` has written. With a baseline file, every
    variant is compared with the file, and runs with the file's seeds. All other keywords are the
    same as in `tailback.run`.
    """
    chosen = RunOptions.of(**options)
    base = kept_baseline.read(Path(baseline)) if baseline is not None else None
    named = arguments.table("variants", variants, "of names and what each replaces")
    of = "of paths and values, {} for the unchanged scenario"
    tables = {name: arguments.table(f"variant {name}", sets, of) for name, sets in named.items()}
    asked = [
        variant_of(
            name, {path: toml_text(path, value) for path, value in sets.items()}, chosen.engine
        )
        for name, sets in tables.items()
    ]
    return run_variants(
        scenario,
        asked,
        chosen,
        metrics=arguments.names("metrics", metrics),
        base=base,
    )


def run_variants(
    scenario: scenarios.Source,
    variants: Sequence[Variant],
    options: RunOptions,
    *,
    metrics: Sequence[str] = (),
    base: VariantResults | None = None,
) -> Comparison:
    """Compare variants like `compare`, but take their values as TOML text. Each variant may have
    its own engine.

    `base` is the content of a baseline file, or None. With `base`, all variants are compared with
    the baseline file. The variants then run by default with the seeds of that file.
    """
    if base is not None:
        if any(variant.name == base.name for variant in variants):
            raise InputError(f'variant "{base.name}": the file has this name; choose another name')
        metrics = metrics or kept_baseline.quantities(base)
        if options.seeds is None:
            options = replace(options, seeds=kept_baseline.most_seeds(base))
    elif len(variants) < 2:
        raise InputError(
            f"{len(variants)} variant{'s' if len(variants) != 1 else ''}: a comparison needs at "
            "least two; add another, such as --variant base for the unchanged file"
        )
    wanted = select(metrics)
    for variant in variants:
        engines.get(variant.engine)
    loaded = _load(scenario, variants, options)
    refuse_mixed_axes(variants, loaded)
    _refuse_gain_over_nothing(variants, loaded, metrics)
    planned = [seeds_by_point(case.points) for case in loaded]
    before = [] if base is None else [(base.name, base.seeds)]
    points = [*before, *((v.name, p) for v, p in zip(variants, planned, strict=True))]
    refuse_other_points([name for name, _ in points], [has for _, has in points])

    results, failures = _run(variants, loaded, options)
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
    options: RunOptions,
) -> list[_native.Scenario]:
    plugins = options.plugins
    loaded = [load_one(scenario, variant, options.seeds, plugins) for variant in variants]
    if options.seeds is None and not any(map(_says_seeds, loaded)):
        loaded = [load_one(scenario, variant, SEEDS, plugins) for variant in variants]
    return loaded


def load_one(
    scenario: scenarios.Source,
    variant: Variant,
    seeds: int | None,
    plugins: Sequence[Path | str] = (),
) -> _native.Scenario:
    """Load the scenario with the values that the variant sets, including `kernel`."""
    try:
        values = list(variant.sets.items())
        if variant.kernel is not None:
            # The variant's key `kernel` overrides the key `kernel` of the file.
            values.append(("kernel", toml.value(variant.kernel)))
        runner = engines.get(variant.engine)
        with scenarios.quiet(variant.quiet):
            return scenarios.load(scenario, values, seeds, runner, plugins=plugins)
    except ScenarioError as error:
        raise ScenarioError([_of_variant(one, variant) for one in error.diagnostics]) from None


def _of_variant(one: _native.Diagnostic, variant: Variant) -> _native.Diagnostic:
    """If an error names the option `--set`, replace the name by `--variant`, because the user typed
    `--variant`.
    """
    if one.option is None:
        return one
    return one.at(f"--variant {variant.name}:{one.place.removeprefix('--set ')}")


def load_with_seeds(
    scenario: scenarios.Source,
    values: Sequence[tuple[str, str]],
    seeds: int | None,
    runner: engines.Engine,
) -> _native.Scenario:
    """Load a scenario like `running.load`, but with 10 seeds unless the scenario sets the number of
    seeds."""
    loaded = scenarios.load(scenario, values, seeds, runner)
    if seeds is None and not _says_seeds(loaded):
        loaded = scenarios.load(scenario, values, SEEDS, runner)
    return loaded


def _says_seeds(loaded: _native.Scenario) -> bool:
    """Return whether the file or a `--set` value sets the number of seeds, even if the number is
    1."""
    return "seeds" in json.loads(loaded.sweep)


def _run(
    variants: Sequence[Variant], loaded: Sequence[_native.Scenario], options: RunOptions
) -> tuple[list[Results], list[str]]:
    """Run the variants in one pool. Return the variants' results, and a message for each failed
    run."""
    runners = [engines.get(variant.engine) for variant in variants]
    try:
        return execution.run_loaded(loaded, runners, options), []
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
