"""Reads the files of an experiment, which are scenarios and published numbers."""

from __future__ import annotations

import copy
import csv
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def scenario(package: str, name: str) -> dict[str, Any]:
    """Read a scenario file from the package's folder `scenarios`, as a new dictionary."""
    return copy.deepcopy(_scenario(package, name))


@cache
def _scenario(package: str, name: str) -> dict[str, Any]:
    return tomllib.loads(_text(package, f"scenarios/{name}.toml"))


def set_value(scenario: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a dotted path. Create missing tables."""
    *parents, last = path.split(".")
    for key in parents:
        scenario = scenario.setdefault(key, {})
    scenario[last] = value


def published_rows(package: str, name: str) -> list[dict[str, str]]:
    """Read the rows of a CSV file of published numbers."""
    return list(csv.DictReader(_text(package, name).splitlines()))


def lines(package: str, name: str) -> list[str]:
    """Read the lines of a list file that a scenario names. Skip empty lines and comments."""
    text = (line.split("#")[0].strip() for line in _text(package, name).splitlines())
    return [line for line in text if line]


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
