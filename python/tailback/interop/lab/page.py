"""Finds the page of the laboratory, and embeds a scenario in it."""

from __future__ import annotations

import json
from pathlib import Path

from tailback import _native
from tailback.base import foreign
from tailback.errors import InputError

NAME = "single.html"

SHIPPED = Path(__file__).resolve().parent / NAME
"""The path of the page in an installed package."""

BUILT = Path(__file__).resolve().parents[4] / "web" / "dist" / NAME
"""The path of the page in a checkout, after `make lab`."""

EMPTY = '<script type="application/json" id="opened">null</script>'
"""The element of the page that `with_scenario` replaces with an element that contains a
scenario."""


def find() -> Path:
    """Return the path of the page. Raise `InputError` if `make lab` has not built the page."""
    for path in (BUILT, SHIPPED):
        if path.is_file():
            return path
    raise InputError("the page of the laboratory is not built; run: make lab")


def scenario(text: str, files: dict[str, str]) -> dict[str, object]:
    """Return the JSON object that the page reads: a scenario and the trace files that it names."""
    return {"v": 1, "engine": _native.engine_version(), "text": text, "files": files}


def with_scenario(page: str, opened: dict[str, object] | None) -> str:
    """Insert a scenario into the page as a JSON element.

    No text of the scenario can end the HTML element, because `<` is written as a JSON escape.
    """
    if page.count(EMPTY) != 1:
        raise InputError("the page of the laboratory is of another version; run: make lab")
    data = json.dumps(opened).replace("<", "\\u003c")
    return page.replace(EMPTY, EMPTY.replace("null", data))


def load(path: Path) -> dict[str, object]:
    """Read a scenario with its traces. Do not reject an invalid scenario, because the page shows
    errors at their lines."""
    text = foreign.read(path).decode("utf-8", errors="replace")
    return scenario(text, _traces(text, path))


def _traces(text: str, path: Path) -> dict[str, str]:
    """Return the content of each trace file that a scenario names, by name."""
    from tailback.errors import ScenarioError

    try:
        loaded = _native.load(text.encode(), path.name, folder=path.parent)
    except ScenarioError:
        return {}
    return {name: foreign.read(path.parent / name).decode() for name in loaded.files}
