"""The files of an experiment: scenarios, and the numbers that were published."""

from __future__ import annotations

import copy
import csv
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def scenario(package: str, name: str) -> dict[str, Any]:
    """A scenario file of the package's folder `scenarios`, to be changed at will."""
    return copy.deepcopy(_scenario(package, name))


@cache
def _scenario(package: str, name: str) -> dict[str, Any]:
    return tomllib.loads(_text(package, f"scenarios/{name}.toml"))


def set_value(scenario: dict[str, Any], path: str, value: Any) -> None:
    """Sets a value by its path; tables on the way are made."""
    *parents, last = path.split(".")
    for key in parents:
        scenario = scenario.setdefault(key, {})
    scenario[last] = value


def published_rows(package: str, name: str) -> list[dict[str, str]]:
    """The rows of a CSV file of the package: what the source has."""
    return list(csv.DictReader(_text(package, name).splitlines()))


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
