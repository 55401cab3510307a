"""A baseline in a file: what a scenario gave once, small enough to be checked in.

It has every value of every run of the quantities that are compared, by seed, so that a later run
with the same seeds is compared seed by seed. It has no series, no histograms and no scenario.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailback import foreign, shape, store
from tailback.comparison.model import VariantResults
from tailback.comparison.points import Params, key_of
from tailback.comparison.sides import KINDS, LIKE_FLOWS, Kept, Kind, Ran, Values
from tailback.errors import InputError
from tailback.metrics import Metric, estimate
from tailback.results import Results

SUFFIX = ".tailback.json"
FORMAT = 1
NAME = "baseline"
"""Of the variant that it is in a comparison."""

LIMIT = 32 << 20
"""Bytes; what is checked in has some thousands."""

DIGITS = 10
"""Of a value: fewer than a difference that is rounding is told from."""

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
                }
            ],
        }
    ],
}


def is_named_so(path: Path) -> bool:
    """Whether this is the name of such a file."""
    return path.name.endswith(SUFFIX)


def write(results: Results, wanted: Sequence[Metric], target: Path) -> int:
    """Writes what a sweep gave; returns the number of cells."""
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
    with store.replacing(target) as place, store.naming(target):
        place.write_text(text, encoding="utf-8")
    return sum(len(point["cells"]) for point in points)


def _point(side: Ran, seeds: Sequence[int], wanted: Sequence[Metric]) -> dict[str, Any]:
    cells = []
    for kind in KINDS:
        on = "flow" if kind in LIKE_FLOWS else kind
        for at, name in enumerate(side.names(kind)):
            for metric in wanted:
                values = side.values(kind, at, metric) if metric.on == on else {}
                found = estimate(values.values())
                if found.n:
                    cells.append(
                        {
                            "kind": kind,
                            "name": name,
                            "quantity": metric.path,
                            "unit": metric.unit,
                            "mean": _rounded(found.mean),
                            "ci95": _rounded(found.half_width),
                            "values": [_rounded(values[seed]) for seed in seeds],
                        }
                    )
    return {"params": side.params, "labels": side.labels, "seeds": list(seeds), "cells": cells}


def _rounded(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else float(f"{value:.{DIGITS}g}")


def _text(point: Mapping[str, Any]) -> str:
    """A line for each cell: a change of the file is read in a diff."""
    head = ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in point.items() if k != "cells")
    cells = ",\n".join(f"   {json.dumps(cell)}" for cell in point["cells"])
    return f'  {{{head}, "cells": [\n{cells}\n  ]}}'


def read(path: Path) -> VariantResults:
    """The baseline of a file, as a variant that has values and no runs."""
    data = foreign.read(path, limit=LIMIT)
    found = foreign.parse_json(data, path)
    if not isinstance(found, dict) or found.get("tailback") != "baseline":
        raise InputError(f"{foreign.line(path)}: not a baseline; `tailback baseline` writes one")
    if found.get("format") != FORMAT:
        raise InputError(
            f"{foreign.line(path)}: written by another version of tailback; write it again with "
            "`tailback baseline`"
        )
    fault = shape.fault(found, _SHAPE)
    if fault is None:
        fault = next(_short(found["points"]), None)
    if fault is not None:
        raise InputError(f"{foreign.line(path)}: {fault} is not what a baseline has there")
    kept = {key_of(point["params"]): _kept(point) for point in found["points"]}
    seeds = {key_of(point["params"]): list(point["seeds"]) for point in found["points"]}
    version, engine = found["engine_version"], found["engine"]
    name = f"{path.name.removesuffix(SUFFIX)}-{hashlib.sha256(data).hexdigest()[:8]}"
    results = Results(name, found["title"], engine, version, [], [], store.DEFAULT)
    return VariantResults(NAME, engine, version, {}, results, seeds, kept=kept)


def _short(points: Sequence[Mapping[str, Any]]) -> Any:
    for i, point in enumerate(points):
        for j, cell in enumerate(point["cells"]):
            if len(cell["values"]) != len(point["seeds"]):
                yield f"points[{i}].cells[{j}].values"


def _kept(point: Mapping[str, Any]) -> Kept:
    cells: dict[Kind, dict[str, dict[str, Values]]] = {}
    for cell in point["cells"]:
        names = cells.setdefault(cell["kind"], {})
        values: Values = dict(zip(point["seeds"], cell["values"], strict=True))
        names.setdefault(cell["name"], {})[cell["quantity"]] = values
    return Kept(point["params"], point["labels"], cells)


def cut(base: VariantResults, planned: Mapping[Params, Sequence[int]]) -> VariantResults:
    """The baseline with the seeds that a run has too, so that both are compared seed by seed."""
    assert base.kept is not None
    seeds, kept = {}, {}
    for params, point in base.kept.items():
        both = [seed for seed in base.seeds[params] if seed in set(planned.get(params, ()))]
        if not both:
            # Other seeds altogether: two samples.
            return base
        seeds[params] = both
        cells: dict[Kind, dict[str, dict[str, Values]]] = {
            kind: {
                name: {path: {seed: values[seed] for seed in both} for path, values in of.items()}
                for name, of in names.items()
            }
            for kind, names in point.cells.items()
        }
        kept[params] = Kept(point.params, point.labels, cells)
    return replace(base, seeds=seeds, kept=kept)


def most_seeds(base: VariantResults) -> int:
    """The largest number of seeds of a point."""
    return max(map(len, base.seeds.values()), default=0)


def quantities(base: VariantResults) -> list[str]:
    """What it has, `link.drops` of links only."""
    found: dict[str, None] = {}
    for point in (base.kept or {}).values():
        for kind, names in point.cells.items():
            on = "flow" if kind in LIKE_FLOWS else kind
            for of in names.values():
                found.update(dict.fromkeys(f"{on}.{path}" for path in of))
    return list(found)
