"""Checks that the index of a sweep agrees with the manifests of its runs.

An index contains a hash of itself, but someone who edits the index can recompute the hash. This
check therefore compares the sweep's id with a hash of the run ids. This check also compares the
swept values in the index with the swept values in the manifests, to detect swapped runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.errors import DamagedResults
from tailback.store.run_folder import StoredRun

if TYPE_CHECKING:
    from tailback.store.layout import Index, PointRef

LOOKED_AT = 64
"""How many sweep points to compare when results are opened. `verify` compares all sweep points."""

NAMES = ("aqm", "cc", "kind", "name")
"""Keys of a scenario's tables that name an algorithm."""

Leaf = tuple[str | int, ...]
"""The path to a value in a manifest: keys and indices."""


def sweep_id(run_ids: Iterable[str]) -> str:
    """Compute the id of a sweep from its run ids, like `hash::sweep_id` in crates/scenario."""
    # Import `hashlib` only here, because the import is slow and `tailback run` does not need it.
    import hashlib

    total = hashlib.sha256()
    for run_id in run_ids:
        total.update(run_id.encode() + b"\0")
    return total.hexdigest()[:20]


def fault(index: Index) -> str | None:
    """Return a contradiction within an index, without reading runs."""
    if sweep_id(point.run_id for point in index.points) != index.id:
        return "its points name other runs than the sweep had"
    seeds = {point.run_id: point.seed for point in index.points}
    for point in index.points:
        if point.baseline is not None and seeds.get(point.baseline) != point.seed:
            return f"the baseline of run {point.run_id} is not a run of its seed in this sweep"
    return None


def faults(index: Index, runs: Path, most: int | None = None) -> list[str]:
    """Return the disagreements between an index and the manifests of its stored runs.

    At most `most` sweep points are compared.
    """
    versions = index.engine_version.split(", ")
    problems = []
    known: list[tuple[PointRef, Any]] = []
    for point in _some(index.points, most):
        try:
            manifest = StoredRun(runs / point.run_id).manifest
        except DamagedResults:
            # Skip the run. A later step that reads the run reports that the run is missing or
            # damaged.
            continue
        of_sweep = manifest["engine"] == index.engine and manifest["engine_version"] in versions
        if not of_sweep or manifest["seed"] != point.seed:
            problems.append(f"run {point.run_id} is of another engine or seed than the sweep says")
        known.append((point, manifest["canonical"]))
    params = dict.fromkeys(key for point, _ in known for key in point.params)
    leaves = [dict(_leaves(canonical)) for _, canonical in known]
    for key in params:
        values = [_named(point.params.get(key)) for point, _ in known]
        for place in _disagreeing(key, values, leaves):
            point = known[place][0]
            label = point.labels.get(key, point.params[key])
            problems.append(f"{key} = {label} is not what run {point.run_id} was run with")
    return problems


def _named(value: object) -> object:
    """Return the algorithm that a table names, such as "codel" for `{ aqm = "codel", limit =
    "100p" }`.

    An index contains a table as TOML. A manifest contains the options of a table one by one, and
    with their defaults, so only the name can be compared. Without a name, the function returns
    `None`. Values other than tables are returned unchanged.
    """
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    # Importing `tomllib` is slow, and most sweeps do not need it.
    import tomllib

    try:
        table = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return None
    found = [table[name] for name in NAMES if isinstance(table, dict) and name in table]
    return next((name for name in found if isinstance(name, str)), None)


def _some(points: Sequence[PointRef], most: int | None) -> Sequence[PointRef]:
    if most is None or len(points) <= most:
        return points
    return [points[i * len(points) // most] for i in range(most)]


def _disagreeing(
    key: str, values: Sequence[object], leaves: Sequence[Mapping[Leaf, Any]]
) -> list[int]:
    """Return the indices of the sweep points at which the index and the manifest have different
    values for a key.

    A manifest may name a setting differently than a scenario does. The function therefore compares
    all manifest entries that the key may set. If the values of one such entry agree with the index
    at all sweep points, the result is empty. If an entry agrees at too few sweep points, the
    function assumes that it is another setting.
    """
    alike = _numbers(values) or all(isinstance(value, str) for value in values)
    if not alike or len(set(map(str, values))) < 2:
        return []
    suspects: list[int] = []
    for leaf in leaves[0]:
        if not _is_named(leaf, key) or not all(leaf in other for other in leaves):
            continue
        there = [other[leaf] for other in leaves]
        if _numbers(there) != _numbers(values):
            continue
        same = [_same(a, b) for a, b in zip(values, there, strict=True)]
        if all(same):
            return []
        matched = {str(value) for value, one in zip(values, same, strict=True) if one}
        permuted = _distinct(values) == _distinct(there)
        if len(matched) > 1 or permuted:
            suspects = [place for place, one in enumerate(same) if not one]
    return suspects


def _distinct(values: Sequence[Any]) -> set[Any]:
    return set(map(float, values)) if _numbers(values) else set(values)


def _numbers(values: Sequence[object]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, str) or isinstance(other, str):
        return bool(value == other)
    # Manifests have whole nanoseconds and bytes, so a value may be rounded.
    cut = abs(value) > 100 and abs(value - other) <= 1
    return cut or math.isclose(value, other, rel_tol=1e-6)


def _is_named(leaf: Leaf, key: str) -> bool:
    """Return whether a key of a scenario may set this entry of a manifest. For example,
    `flows[0].cc` sets `flows.0.cc.name`."""
    last = key.rpartition(".")[2].partition("[")[0]
    names = [part for part in leaf if isinstance(part, str)][-2:]
    return last in names or (last in ("aqm", "kind") and names[-1] in ("name", "kind"))


def _leaves(value: Any, at: Leaf = ()) -> Iterator[tuple[Leaf, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*at, place))
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield at, value
