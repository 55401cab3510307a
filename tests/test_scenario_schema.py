"""Checks that the published schema is equivalent to the engine's schema, and that it repeats no
part."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pages import EXAMPLES, schema
from tailback._native import json_schema

WHOLE = json.loads(json_schema())
HOISTED = schema.hoist(WHOLE)
SCENARIOS = {file.stem: file for file in sorted(EXAMPLES.glob("*.toml"))}
WRONG: dict[str, dict[str, Any]] = {
    "an unknown key": {"bottleneck": {"rat": "1Mbit"}},
    "an option of another queue": {"bottleneck": {"queue": {"aqm": "codel", "coupling_factor": 2}}},
    "a number for a rate's table": {"bottleneck": {"rate": {"steps": 3}}},
    "an unknown congestion control": {"flows": [{"cc": "cubik"}]},
    "a negative size": {"tcp": {"mss": -1}},
    "an empty list of flows": {"flows": []},
}


def errors(of: dict[str, Any], scenario: object) -> int:
    return len(list(jsonschema.Draft202012Validator(of).iter_errors(scenario)))


def test_inlined_it_is_the_engines() -> None:
    assert schema.inline(HOISTED) == WHOLE
    assert HOISTED != WHOLE


def test_it_is_a_schema_a_third_as_long() -> None:
    jsonschema.Draft202012Validator.check_schema(HOISTED)
    assert 3 * len(json.dumps(HOISTED)) < len(json.dumps(WHOLE))


def test_every_definition_is_used_more_than_once() -> None:
    text = json.dumps(HOISTED)
    for name, part in HOISTED["$defs"].items():
        assert text.count(f'"#/$defs/{name}"') > 1, name
        assert text.count(json.dumps(part)) == 1, name


@pytest.mark.parametrize("name", SCENARIOS)
def test_examples_are_valid_in_both(name: str) -> None:
    scenario = tomllib.loads(Path(SCENARIOS[name]).read_text(encoding="utf-8"))
    assert errors(HOISTED, scenario) == errors(WHOLE, scenario) == 0


@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_rejected_by_both(wrong: str) -> None:
    scenario: dict[str, Any] = {
        "duration": "1s",
        "bottleneck": {"rate": "10Mbit"},
        "flows": [{"cc": "reno"}],
    }
    assert errors(HOISTED, scenario) == 0
    broken = copy.deepcopy(scenario)
    for key, value in WRONG[wrong].items():
        broken[key] = broken.get(key, {}) | value if isinstance(value, dict) else value
    assert errors(HOISTED, broken) > 0
    assert errors(WHOLE, broken) > 0
