"""Checks that summaries, their schema, metrics, assertions and frames have exactly the declared
fields."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from stored_programs import program, stored
from tailback import _native, metrics
from tailback.metrics import fields
from tailback.metrics.assertions import Assertion
from tailback.metrics.fields import Field
from tailback.metrics.naming import flat
from tailback.store import shape
from test_metrics import SCENARIO

Json = Mapping[str, Any]

LEAVES = ("text", "identity", "count", "number", "causes", "numbers")
"""Kinds of fields that have no inner fields, except for statistics. Each kind may be `optional`."""


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run a scenario that gives every optional field of the summary. Return the summary."""
    results = tb.run(SCENARIO, out=tmp_path_factory.mktemp("out"), seeds=1, jobs=1)
    whole: dict[str, Any] = json.loads((results[0].path / "summary.json").read_text())
    whole["programs"] = [program("quic", 4.0)]
    return whole


def pairs(
    declared: Sequence[Field], part: Json, at: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Field, Any]]:
    """Yield every field with its path and value. Fail if a key is undeclared, or a required key is
    missing.
    """
    assert {*part} <= {field.name for field in declared}, at
    for field in declared:
        if field.name not in part:
            assert field.may_lack, (at, field.name)
            continue
        value, place = part[field.name], (*at, field.name)
        yield place, field, value
        inner: Any = {}
        if field.kind == "list":
            inner = dict(enumerate(value))
        elif field.kind == "by name":
            inner = value
        elif field.kind in ("table", "optional table") and value is not None:
            yield from pairs(field.fields, value, place)
        for key, one in inner.items():
            yield from pairs(field.fields, one, (*place, key))


def changed(summary: Json, place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a summary with a new value at a path. The value `...` removes the key."""
    other = copy.deepcopy(dict(summary))
    holder: Any = other
    for key in place[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return other


def test_the_summary_has_what_is_declared(summary: Json) -> None:
    assert summary["traffic"][0]["completions"]["bins"]
    # Each traffic source has only the fields of its kind. All sources together have all fields.
    known = {key for source in summary["traffic"] for key in source}
    assert known == {field.name for field in fields.inside("traffic")}
    assert all("chunks" in flow for flow in summary["flows"])
    places = [place for place, _, _ in pairs(fields.summary(), programless(summary))]
    assert len(places) > 200
    names = [field.name for field in fields.summary()]
    assert [key for key in summary if key != "programs"] == [n for n in names if n != "programs"]


def programless(summary: Json) -> Json:
    """Return the summary without programs, with its keys in the declared order."""
    return {field.name: summary[field.name] for field in fields.summary()}


def test_the_shape_asks_for_what_is_declared(summary: Json) -> None:
    assert shape.fault(summary, shape.SUMMARY) is None
    assert shape.native_summary().fits(json.dumps(summary).encode())
    for place, field, value in pairs(fields.summary(), summary):
        lacking = shape.fault(changed(summary, place, ...), shape.SUMMARY)
        assert (lacking is None) == field.may_lack, place
        wrong = changed(summary, place, True)
        assert shape.fault(wrong, shape.SUMMARY) is not None, place
        if field.kind.startswith("optional") or field.kind == "causes":
            assert shape.fault(changed(summary, place, None), shape.SUMMARY) is None, place
        elif value is not None:
            assert shape.fault(changed(summary, place, None), shape.SUMMARY) is not None, place


PARTS = {
    "flow": ("flows",),
    "program": ("programs",),
    "traffic": ("traffic",),
    "link": ("queues",),
    "class": ("classes",),
}


def measured(declared: Sequence[Field], prefix: str = "") -> Iterator[str]:
    """Yield the paths of the numbers measured for a flow, queue or program."""
    for field in declared:
        at = f"{prefix}{field.name}"
        if field.kind in ("table", "optional table"):
            yield from measured(field.fields, f"{at}.")
        elif field.measured:
            words = field.statistics if field.kind == "statistics" else ("",)
            yield from (f"{at}.{word}".rstrip(".") for word in words)


def test_every_measured_field_is_a_metric_and_every_other_metric_is_computed() -> None:
    declared = {
        (part, place) for part, path in PARTS.items() for place in measured(fields.inside(*path))
    }
    top = [one for one in fields.summary() if "table" not in one.kind]
    declared |= {("run", place) for place in measured(top)}
    assert len(declared) > 100
    known = {(part, one["field"]) for one in fields.metrics() for part in one["parts"]}
    assert known == declared
    recorded = {(one["on"], one["path"]) for one in fields.metrics()}
    assert recorded <= {(metric.on, metric.path) for metric in metrics.METRICS}
    for one in fields.metrics():
        assert one["weight"] in metrics.WEIGHTS
        assert metrics.find(one["name"], one["on"]).path == one["path"]


def test_assertions_may_name_every_metric() -> None:
    schema = json.loads(_native.json_schema())["properties"]["assert"]["items"]["properties"]
    (names,) = (one["enum"] for one in schema["metric"]["anyOf"] if "enum" in one)
    assert {*names} == {word for metric in metrics.METRICS for word in (metric.path, metric.name)}


@pytest.fixture(scope="module")
def with_programs(tmp_path_factory: pytest.TempPathFactory) -> tb.Results:
    """Return a stored run of a flow and a program."""
    return stored(tmp_path_factory.mktemp("programs"), program("quic", 4.0))


def test_programs_have_their_metrics_in_frames_assertions_and_plots(
    with_programs: tb.Results,
) -> None:
    run = with_programs[0]
    (part,) = run.summary["programs"]
    frame = with_programs.programs()
    seen = 0
    for metric in metrics.METRICS:
        if "program" not in metric.parts or (value := metric.value(part)) is None:
            continue
        seen += 1
        assert frame[metric.name][0] == flat(part)[metric.name] == value
        exact = Assertion(metric.path, flow="quic", min=value, max=value)
        assert not list(exact.failures(run.summary))
        other = Assertion(metric.path, flow="quic", min=value + 1)
        assert len(list(other.failures(run.summary))) == 1
    assert seen > 20


def test_frames_have_a_column_of_every_field(tmp_path: Path) -> None:
    results = tb.run(SCENARIO, out=tmp_path, seeds=1, jobs=1)
    tables = {
        "flow": results.frame(),
        "traffic": results.sources(),
        "link": results.queues(),
        "class": results.classes(),
        "program": results.programs(),
    }
    for one in fields.metrics():
        for part in one["parts"]:
            if part == "program" and one["name"] not in tables[part]:
                # A run without programs has no columns for programs' results.
                assert one["path"].startswith("results.")
            elif part != "run":
                assert one["name"] in tables[part].columns, one
