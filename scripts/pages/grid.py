"""Makes docs/evidence/validation-grid.md: every scenario that `tailback validate` runs."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pages import EVIDENCE, ROOT
from tailback.base import toml
from tailback_studies.validation import grid

FILE = EVIDENCE / "validation-grid.md"

_HEAD = """# Scenarios of the validation

[The validation](validation.md) runs the scenarios of this page with the simulator and with Linux.
This page shows which link rates, round-trip times, flows and queues these scenarios cover. If your
own scenario is outside these ranges, run it on both engines: `tailback run FILE --engine kernel`
uses Linux.

- Each row describes a set of scenarios: one for each combination of a rate, a round-trip time and a
  set of flows. Semicolons separate the sets of flows.
- The column *with ECN* names the congestion controls whose flows negotiate ECN. The tables under
  *Odd scenarios* and *Impairments* do not have this column; the scenario files state whether flows
  negotiate ECN.
- The flows under *Web* compete with short connections. "none" means that only short connections
  run.
- If a row does not show an option of a queue, the option has its default value.

`python scripts/generate.py --quick` writes this page from the scenario files, and its option
`--check` keeps it current."""


def text() -> str:
    """Return the page."""
    return "\n\n".join([_HEAD, *(_section(family) for family in grid.FAMILIES)]) + "\n"


def _section(family: str) -> str:
    """Return the part of the page with the queues of one family."""
    queues = [queue for queue in grid.QUEUES if queue.family == family]
    fixed = queues[0].fixed
    heads = ["file", "about" if fixed else "queue", "rate", "round-trip time", "flows"]
    heads += ["queue"] if fixed else ["with ECN", "scenarios"]
    lines = [f"## {family[0].upper()}{family[1:]}", "", heads, ["---"] * len(heads)]
    lines += [list(_row(queue)) for queue in queues]
    return "\n".join(line if isinstance(line, str) else f"| {' | '.join(line)} |" for line in lines)


def _row(queue: grid.GridQueue) -> Iterator[str]:
    """Yield the cells of a queue's row."""
    scenario = tomllib.loads(queue.file.read_text(encoding="utf-8"))
    bottleneck = scenario["bottleneck"]
    changed: dict[str, Any] = dict(queue.sets)
    settings = _settings(changed.pop("bottleneck.queue", bottleneck["queue"]))
    settings += [f"`{key} = {toml.value(value)}`" for key, value in changed.items()]
    rates = _swept(scenario, "bottleneck.rate", bottleneck["rate"])
    times = _swept(scenario, "path.rtt", scenario["path"]["rtt"])
    yield f"[{queue.name}](../../{queue.file.relative_to(ROOT)})"
    yield scenario["title"] if queue.fixed else ", ".join(settings)
    yield _listed(rates)
    yield _listed(times)
    yield "; ".join(_flows(queue, mix) for mix in queue.mixes)
    if queue.fixed:
        yield ", ".join(settings)
    else:
        yield queue.ecn if isinstance(queue.ecn, str) else "all" if queue.ecn else "none"
        yield str(len(queue.mixes) * len(rates) * len(times))


def _listed(values: Sequence[str]) -> str:
    """Return a list of quantities, with a common unit only once."""
    units = {value.partition(" ")[2] for value in values}
    if len(units) > 1:
        return ", ".join(values)
    return f"{', '.join(value.partition(' ')[0] for value in values)} {units.pop()}"


def _settings(queue: Mapping[str, Any] | str) -> list[str]:
    """Return the queue's algorithm and options as in a scenario file."""
    if isinstance(queue, str):
        return [f"`aqm = {toml.value(queue)}`"]
    return [f"`{name} = {toml.value(value)}`" for name, value in queue.items()]


def _swept(scenario: Mapping[str, Any], key: str, alone: object) -> list[str]:
    """Return the swept values of a key, or `alone` if the key is not swept."""
    sweep = scenario.get("sweep", {})
    tables = [sweep, *sweep.get("zip", [])]
    values = next((table[key] for table in tables if key in table), [alone])
    return [_quantity(value) for value in values]


def _quantity(value: object) -> str:
    """Return a rate or a time with a space before its unit. For a rate with steps, return each step
    with its time."""
    if isinstance(value, Mapping):
        steps = [f"{_quantity(rate)} from {_quantity(start)}" for start, rate in value["steps"]]
        return ", then ".join(steps)
    text = str(value)
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzM")
    unit = text[len(digits) :]
    return f"{digits} {unit.replace('bit', 'bit/s')}"


def _flows(queue: grid.GridQueue, mix: Sequence[str]) -> str:
    """Return the flows that compete in a scenario, such as "cubic + 5 dctcp"."""
    counts = Counter(mix)
    if not counts:
        return "none"
    flows = " + ".join(f"{count} {cc}" if count > 1 else cc for cc, count in counts.items())
    if queue.hosts:
        flows += f" on {len(queue.hosts)} pairs of hosts ({' and '.join(map(str, queue.hosts))})"
    return flows
