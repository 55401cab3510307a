"""Writes and reads baseline files, which contain the results of a scenario and are small enough for
version control.

For each compared quantity, the file contains the value of every run, keyed by seed. A later run
with the same seeds can then be compared seed by seed. The file contains no series, histograms or
scenario.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailback.base import foreign
from tailback.comparison.model import VariantResults
from tailback.comparison.sides import KeptRun, Ran
from tailback.errors import InputError
from tailback.metrics import METRICS, Metric, parts, pooling
from tailback.metrics.base import refuse_of_two
from tailback.metrics.parts import KINDS, Kind
from tailback.metrics.pooling import NOTHING, Reading
from tailback.store import layout, shape
from tailback.store.points import Key, key_of
from tailback.store.results import Results

SUFFIX = ".tailback.json"
FORMAT = 1
NAME = "baseline"
"""The name of the variant with results from a baseline file."""

LIMIT = 32 << 20
"""The size limit of a baseline file in bytes. Typical files have a few thousand bytes."""

DIGITS = 10
"""Significant digits of a stored value. Rounding to 10 digits changes no verdict."""

_SHAPE: dict[str, Any] = {
    "format": shape.whole,
    "title": shape.text,
    "engine": shape.text,
    "engine_version": shape.text,
    "points": [
        {
            "params": shape.each(shape.either(shape.number, shape.text)),
            "labels": shape.each(shape.text),
            "seeds": [shape.whole],
            "cells": [
                {
                    "kind": lambda value: value in KINDS,
                    "name": shape.text,
                    "quantity": shape.text,
                    "values": [shape.maybe(shape.number)],
                    "at_least": shape.Absent([shape.maybe(shape.number)]),
                }
            ],
        }
    ],
}


def is_named_so(path: Path) -> bool:
    return path.name.endswith(SUFFIX)


def write(results: Results, wanted: Sequence[Metric], target: Path) -> int:
    """Write the results of a sweep to a baseline file. Return the number of lines with values."""
    for metric in wanted:
        refuse_of_two(metric, "baseline")
    points = [_point(Ran(runs), [r.seed for r in runs], wanted) for runs in results.groups()]
    head = {
        "tailback": "baseline",
        "format": FORMAT,
        "title": results.title,
        "engine": results.engine,
        "engine_version": results.version,
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    text = "\n".join(["{", *lines, ' "points": [', ",\n".join(map(_text, points)), " ]\n}\n"])
    with layout.replacing(target) as place, layout.naming(target):
        place.write_text(text, encoding="utf-8")
    return sum(len(point["cells"]) for point in points)


def _point(side: Ran, seeds: Sequence[int], wanted: Sequence[Metric]) -> dict[str, Any]:
    cells = []
    for kind in KINDS:
        on = parts.on(kind)
        for at, name in enumerate(side.names(kind)):
            for metric in wanted:
                if metric.on != on:
                    continue
                readings = side.readings(kind, at, metric)
                estimate = pooling.over_runs(metric, readings.values())
                if not estimate.n and estimate.at_least is None:
                    continue
                by_seed = [readings.get(seed, NOTHING) for seed in seeds]
                bounds = [_rounded(reading.at_least) for reading in by_seed]
                cells.append(
                    {
                        "kind": kind,
                        "name": name,
                        "quantity": metric.path,
                        "unit": metric.unit,
                        "mean": _rounded(estimate.mean),
                        "ci95": _rounded(estimate.half_width),
                        "values": [_rounded(reading.value) for reading in by_seed],
                        # For an unfinished flow, store the time for which it has run, as a lower
                        # bound of its completion time.
                        **({"at_least": bounds} if any(b is not None for b in bounds) else {}),
                    }
                )
    return {"params": side.params, "labels": side.labels, "seeds": list(seeds), "cells": cells}


def _rounded(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else float(f"{value:.{DIGITS}g}")


def _text(point: Mapping[str, Any]) -> str:
    """Return a sweep point as JSON with a line for each quantity of each object, so that a diff
    shows the changed quantities."""
    head = ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in point.items() if k != "cells")
    cells = ",\n".join(f"   {json.dumps(cell)}" for cell in point["cells"])
    return f'  {{{head}, "cells": [\n{cells}\n  ]}}'


def read(path: Path) -> VariantResults:
    """Read a baseline file. The returned variant has the stored values instead of runs."""
    data = foreign.read(path, limit=LIMIT)
    document = foreign.parse_json(data, path)
    if not isinstance(document, dict) or document.get("tailback") != "baseline":
        raise InputError(
            f"{foreign.line(path)}: not a baseline; write one with `tailback baseline`"
        )
    if document.get("format") != FORMAT:
        raise InputError(
            f"{foreign.line(path)}: written by another version of tailback; write it again with "
            "`tailback baseline`"
        )
    fault = shape.fault(document, _SHAPE)
    if fault is None:
        fault = next(_short(document["points"]), None)
    if fault is not None:
        raise InputError(
            f"{foreign.line(path)}: {fault} is not valid in a baseline; write the file again with "
            "`tailback baseline`"
        )
    _refuse_values_of_one(document["points"], path)
    for twice in _twice(document["points"]):
        raise InputError(
            f"{foreign.line(path)}: {foreign.line(twice)}; remove one of them, or write the file "
            "again with `tailback baseline --force`"
        )
    kept = {key_of(point["params"], point["labels"]): _kept(point) for point in document["points"]}
    seeds = {
        key_of(point["params"], point["labels"]): list(point["seeds"])
        for point in document["points"]
    }
    version, engine = document["engine_version"], document["engine"]
    name = f"{path.name.removesuffix(SUFFIX)}-{hashlib.sha256(data).hexdigest()[:8]}"
    results = Results(name, document["title"], engine, version, [], [], layout.DEFAULT)
    return VariantResults(NAME, engine, version, {}, results, seeds, kept=kept)


def _refuse_values_of_one(points: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Reject a baseline file that contains values of a metric that compares two results, such as
    harm. Only earlier versions of tailback wrote such values.
    """
    of_two = {metric.path for metric in METRICS if metric.of_two is not None}
    for point in points:
        for cell in point["cells"]:
            if cell["quantity"] in of_two:
                raise InputError(
                    f"{foreign.line(path)}: {cell['quantity']} needs two results, but a "
                    "baseline has one; "
                    f"write the file again with `tailback baseline --force`"
                )


def _short(points: Sequence[Mapping[str, Any]]) -> Any:
    for i, point in enumerate(points):
        for j, cell in enumerate(point["cells"]):
            for key in ("values", "at_least"):
                if key in cell and len(cell[key]) != len(point["seeds"]):
                    yield f"points[{i}].cells[{j}].{key}"


def _twice(points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Return an error message for each entry that occurs more than once. Without this check, a
    later entry would replace an earlier one.
    """
    at: dict[Key, int] = {}
    for i, point in enumerate(points):
        first = at.setdefault(key_of(point["params"], point["labels"]), i)
        if first != i:
            yield f"points[{i}] has the parameters of points[{first}]"
        seeds = point["seeds"]
        if len(set(seeds)) < len(seeds):
            yield f"points[{i}].seeds has a seed twice"
        cells: dict[tuple[str, str, str], int] = {}
        for j, cell in enumerate(point["cells"]):
            first = cells.setdefault((cell["kind"], cell["name"], cell["quantity"]), j)
            if first != j:
                what = f"{cell['quantity']} of {cell['kind']} {cell['name']}".rstrip()
                yield f"points[{i}].cells[{j}] is {what}, and so is cells[{first}]"


def _kept(point: Mapping[str, Any]) -> KeptRun:
    cells: dict[Kind, dict[str, dict[str, dict[int, Reading]]]] = {}
    for cell in point["cells"]:
        names = cells.setdefault(cell["kind"], {})
        bounds = cell.get("at_least") or [None] * len(cell["values"])
        readings = {
            seed: Reading(value, None if value is not None else bound)
            for seed, value, bound in zip(point["seeds"], cell["values"], bounds, strict=True)
        }
        names.setdefault(cell["name"], {})[cell["quantity"]] = readings
    return KeptRun(point["params"], point["labels"], cells)


def cut(base: VariantResults, planned: Mapping[Key, Sequence[int]]) -> VariantResults:
    """Restrict the baseline to the seeds of the new runs, so that baseline and runs can be compared
    seed by seed."""
    assert base.kept is not None
    seeds, kept = {}, {}
    for params, point in base.kept.items():
        both = [seed for seed in base.seeds[params] if seed in set(planned.get(params, ()))]
        if not both:
            # Without common seeds, the comparison treats both variants as independent samples.
            return base
        seeds[params] = both
        cells: dict[Kind, dict[str, dict[str, dict[int, Reading]]]] = {
            kind: {
                name: {path: {seed: found[seed] for seed in both} for path, found in of.items()}
                for name, of in names.items()
            }
            for kind, names in point.cells.items()
        }
        kept[params] = KeptRun(point.params, point.labels, cells)
    return replace(base, seeds=seeds, kept=kept)


def most_seeds(base: VariantResults) -> int:
    return max(map(len, base.seeds.values()), default=0)


def quantities(base: VariantResults) -> list[str]:
    paths: dict[str, None] = {}
    for point in (base.kept or {}).values():
        for kind, names in point.cells.items():
            on = parts.on(kind)
            for of in names.values():
                paths.update(dict.fromkeys(f"{on}.{path}" for path in of))
    return list(paths)
