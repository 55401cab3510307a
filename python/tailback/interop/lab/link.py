"""Makes links that open the scenario of a stored run in the laboratory, tailback's page in the
browser.

A link contains the whole scenario after the `#` of the address. The scenario is JSON, which is
deflated and then encoded in base64url. `web/src/share.ts` reads the link in the page.
"""

from __future__ import annotations

import base64
import json
import tomllib
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from tailback import _native
from tailback.base import toml
from tailback.errors import ScenarioError
from tailback.interop.lab import stored
from tailback.store.results import Run

Table = dict[str, Any]

MAX_POINTS = 60
"""The largest number of runs in one link. A link to a larger sweep opens the first run of the
sweep."""

MAX_PARTS = 40
"""The largest number of flows, sources and links of a scenario in a link. Writing larger scenarios
takes too long."""


def fragment(text: str, engine_version: str) -> str:
    """Return the part of the address from `#` on, which contains the scenario."""
    shared = {"v": 1, "engine": engine_version, "text": text}
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(json.dumps(shared).encode()) + packer.flush()
    return f"#s={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def of_runs(runs: Sequence[Run]) -> str | None:
    """Return the fragment of an address that opens these runs of one sweep in the page. Return None
    if the first run cannot be written as a scenario.

    The scenario has a sweep that gives all these runs. If no such sweep can be written, the
    scenario gives only the first run.
    """
    first = runs[0]
    canonical = first.manifest["canonical"]
    if sum(len(canonical.get(kind, ())) for kind in ("links", "flows", "traffic")) > MAX_PARTS:
        return None
    text = stored.scenario(canonical, first.seed)
    if text is None:
        return None
    many = 1 < len(runs) <= MAX_POINTS
    swept = (_swept(text, runs, _labels) or _swept(text, runs, _tables)) if many else None
    return fragment(swept or text, first.manifest["engine_version"])


def _swept(text: str, runs: Sequence[Run], read: Callable[[Run], Table]) -> str | None:
    """Return the first run's scenario with a sweep that gives all runs. `read` returns a run's
    swept values. Return None if this sweep would also give runs that are not in `runs`.
    """
    points = list({tuple(run.labels.items()): run for run in reversed(runs)}.values())[::-1]
    seeds = {run.seed for run in runs}
    values = [read(run) for run in points]
    sweep: list[str] = []
    if len(seeds) > 1:
        sweep += ["", "[sweep]", f"seeds = {len(seeds)}"]
    if values[0]:
        sweep += ["", "[[sweep.zip]]"]
        for key in values[0]:
            sweep.append(f"{toml.key(key)} = {toml.value([one[key] for one in values])}")
    written = "\n".join([text.rstrip("\n"), *sweep, ""])
    try:
        made = _native.load(written.encode(), "stored").points
    except ScenarioError:
        return None
    found = [(point.seed, json.loads(point.canonical)) for point in made]
    wanted = [(run.seed, run.manifest["canonical"]) for run in runs]
    return written if found == wanted else None


def _labels(run: Run) -> Table:
    """Return the swept values of a run, by key. A swept table, such as a queue with options, is
    given by its name alone."""
    return {key: _value(label) for key, label in run.labels.items()}


def _tables(run: Run) -> Table:
    """Return the swept values of a run, with the options of the queue and of the congestion
    control."""
    values = _labels(run)
    written = stored.scenario(run.manifest["canonical"], run.seed) or ""
    table = tomllib.loads(written)
    for path in values:
        section, _, key = path.rpartition(".")
        if key in ("queue", "cc"):
            values[path] = _found(table, section).get(key, values[path])
    return values


def _found(table: Table, path: str) -> Table:
    """Return the section of a scenario at a path such as `bottleneck` or `flows.cubic`."""
    kind, _, name = path.partition(".")
    section = table.get(kind.partition("[")[0], {})
    if isinstance(section, list):
        number = kind.partition("[")[2].rstrip("]")
        names = [one.get("name") for one in section]
        at = int(number) if number.isdigit() else names.index(name) if name in names else 0
        return dict(section[at]) if at < len(section) else {}
    return dict(section.get(name, {}) if name else section)


def _value(label: str) -> Any:
    """Parse a swept value from a sweep point's label, which is TOML or a word without quotes."""
    try:
        return tomllib.loads(f"value = {label}")["value"]
    except tomllib.TOMLDecodeError:
        return label
