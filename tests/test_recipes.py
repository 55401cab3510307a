"""Checks that the recipes in packaging have the project's version and dependencies."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
    "version"
]
RECIPE = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
CONDA_NAMES = {"typst": "typst-py"}
"""Packages whose name in conda-forge differs from their name in Python's index."""


def requirement(text: str) -> tuple[str, str]:
    """Split a requirement into its name and its limits, without spaces."""
    name, limits = re.fullmatch(r"([\w.-]+?)\s*([<>=].*)?", text).groups(default="")  # type: ignore[union-attr]
    return name, limits.replace(" ", "")


def test_the_recipe_for_conda_has_the_dependencies_of_the_project() -> None:
    wanted = dict(map(requirement, PROJECT["project"]["dependencies"]))
    wanted = {CONDA_NAMES.get(name, name): limits for name, limits in wanted.items()}
    wanted["python"] = PROJECT["project"]["requires-python"]
    assert dict(map(requirement, RECIPE["requirements"]["run"])) == wanted
    host = dict(map(requirement, RECIPE["requirements"]["host"]))
    (backend,) = PROJECT["build-system"]["requires"]
    assert requirement(backend) == ("maturin", host["maturin"])


def test_the_recipe_for_conda_has_the_version_and_command_of_the_project() -> None:
    assert RECIPE["context"]["version"] == VERSION
    ((command, function),) = PROJECT["project"]["scripts"].items()
    assert RECIPE["build"]["python"]["entry_points"] == [f"{command} = {function}"]


def test_recipes_name_files_that_exist() -> None:
    assert (ROOT / "packaging/conda" / RECIPE["source"]["path"]).resolve() == ROOT
    for name in RECIPE["about"]["license_file"]:
        assert (ROOT / name).is_file()
    for path in ("packaging/container/Containerfile", "packaging/homebrew/tailback.rb"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert path in text, f"{path} does not say how to use it"
        (constraint,) = re.findall(r'--constraint(?: |", ")([\w.]+)', text)
        assert (ROOT / constraint).is_file()
