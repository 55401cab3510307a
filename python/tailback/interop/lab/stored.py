"""Writes the scenario of a stored run as TOML.

A run does not store its scenario file. A run stores the parsed and normalised values, which are
called the canonical scenario. This module writes TOML from these values, and parses the TOML again.
If the parsed values differ from the stored values, this module rejects the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import toml
from tailback.errors import InputError, ScenarioError
from tailback.metrics.groups import group_of
from tailback.store.run_folder import StoredRun

Table = dict[str, Any]

UNITS = {
    "time": (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)),
    "rate": (("Gbit", 10**9), ("Mbit", 10**6), ("kbit", 10**3), ("bit", 1)),
    "size": (("b", 1),),
}
"""Units of each kind of value with their sizes, largest unit first."""


def text(run: Path) -> str:
    """Return a scenario as TOML that repeats this run.

    Raises `InputError` if no scenario file gives the same values, for example if the run used a
    trace.
    """
    manifest = StoredRun(run).manifest
    written = scenario(manifest["canonical"], manifest["seed"])
    if written is None:
        raise InputError(
            f"{run}: its scenario cannot be written from what is stored; "
            "open the scenario file instead"
        )
    return f"# Run {run.name}, from what is stored of it.\n{written}"


def scenario(point: Table, seed: int) -> str | None:
    """Return the TOML of a scenario that the parser converts to this canonical scenario. Leave out
    keys that have their default value.

    Return None if no such scenario exists."""
    try:
        table = _table(point, seed)
    except (KeyError, TypeError, IndexError):
        return None
    if _canonical(_tidy(table)) != point:
        return None
    for place, key in list(_places(table)):
        before = dict(place)
        del place[key]
        # A canonical scenario does not contain the seed, so always write the seed.
        if (place is table and key == "seed") or _canonical(_tidy(table)) != point:
            # Keep the order of the keys, because the order of links is part of a scenario.
            place.clear()
            place.update(before)
    written = _laid_out(_tidy(table))
    return written if _point(written) == point else None


def _canonical(table: Table) -> object:
    """Return the canonical scenario that the parser makes from a scenario table, or None if the
    table is not valid."""
    return _point(toml.dumps(table))


def _point(written: str) -> object:
    """Return the canonical scenario that the parser makes from TOML, or None if it is not valid."""
    try:
        points = _native.load(written.encode(), "stored").points
    except ScenarioError:
        return None
    return json.loads(points[0].canonical)


def _table(point: Table, seed: int) -> Table:
    """Return a scenario table for a canonical scenario, with all keys."""
    kinds = _Kinds()
    names = [link["name"] for link in point["links"]]

    # The key `both_directions` adds a second link, "NAME.back". This second link is not
    # written to the scenario file.
    twins = {name.removesuffix(".back") for name in names if name.endswith(".back")}

    def routed(one: Table, path: str) -> Table:
        made: Table = kinds.written(one, path)
        # In a scenario file, the key `back` sets the route of answers. A file cannot set
        # `ecn = false` for connections, so leave it out.
        made.pop("answers", None)
        if one.get("connections") and made.get("ecn") is False:
            del made["ecn"]
        for way, numbers in (("route", one.get("route")), ("back", one.get("answers"))):
            if numbers := numbers or one.get(way):
                made[way] = [names[number] for number in numbers]
        if twins:
            made["reverse"] = any(name.endswith(".back") for name in made.pop("route", []))
            made.pop("back", None)
        return made

    top = {key: value for key, value in point.items() if not isinstance(value, (dict, list))}
    table: Table = kinds.written({k: v for k, v in top.items() if k != "version"}, "")
    table["seed"] = seed
    table["record"] = kinds.written(point["record"], "record")
    table["path"] = {"offloads": table.pop("offloads", False)}
    links = {
        link["name"]: kinds.written({k: v for k, v in link.items() if k != "name"}, "bottleneck")
        for link in point["links"]
        if not link["name"].endswith(".back")
    }
    for name in twins:
        links[name]["both_directions"] = True
    table.update(
        {"bottleneck": links["bottleneck"]} if [*links] == ["bottleneck"] else {"links": links}
    )
    for kind in ("flows", "traffic"):
        if point[kind]:
            table[kind] = [routed(one, f"{kind}.NAME") for one in point[kind]]
    if point.get("events"):
        table["events"] = list(_events(point, kinds))
    table["path"]["rtt"] = (table.get("flows", []) + table.get("traffic", []))[0]["rtt"]
    return table


def _events(point: Table, kinds: _Kinds) -> Iterator[Table]:
    """Yield a table of `[[events]]` for each event. An event of the canonical scenario lists all
    options of a queue or impairment, so only the options that differ are written."""
    links = point["links"]
    members = [list(_members(group)) for kind in ("flows", "traffic") for group in point[kind]]
    owners = [name for group in members for name in group]
    options: dict[str, Table] = {}
    for event in point["events"]:
        made: Table = {"at": _unit(event["at"], "time")}
        values: Table = {}
        turns: dict[str, list[str]] = {"start": [], "stop": []}
        for change in event["changes"]:
            for turn in turns.keys() & change.keys():
                turns[turn].append(owners[change[turn]])
            # The second link of `both_directions` changes together with the first link.
            if "link" not in change or links[change["link"]]["name"].endswith(".back"):
                continue
            link = links[change["link"]]
            path = link["name"] if link["name"] == "bottleneck" else f"links.{link['name']}"
            for key in {"rate", "delay", "loss"} & change.keys():
                values[f"{path}.{key}"] = kinds.written(change[key], f"bottleneck.{key}")
            if "queue" in change:
                where, algorithm, new = "queue", link["queue"], change["queue"]
            elif "impairment" in change:
                number = change["impairment"]
                where, algorithm = f"impairments[{number}]", link["impairments"][number]
                new = change["options"]
            else:
                continue
            old = options.get(f"{path}.{where}", algorithm["options"])
            name = algorithm.get("name", algorithm.get("kind"))
            kind = f"bottleneck.{where.partition('[')[0]}" + ("[0]" if "[" in where else "")
            for key, value in _differing(new, old):
                values[f"{path}.{where}.{key}"] = kinds.written(value, f"{kind}.{key}", name)
            options[f"{path}.{where}"] = new
        if values:
            made["set"] = values
        yield made | {turn: _grouped(names, members) for turn, names in turns.items() if names}


def _members(group: Table) -> Iterator[str]:
    count = group.get("count", 1)
    for number in range(1, count + 1):
        yield f"{group['name']}/{number}" if count > 1 else group["name"]


def _grouped(names: list[str], members: list[list[str]]) -> list[str]:
    """Replace the names of all flows of a group by the name of the group."""
    found = []
    for group in members:
        own = [name for name in group if name in names]
        found += [group_of(own[0])] if own == group else own
    return found


def _differing(new: Table, old: Table, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each option that an event changes."""
    for key, value in new.items():
        before = old.get(key)
        if before == value:
            continue
        if isinstance(before, dict) and isinstance(value, int):
            # An event stores the new number without its unit, because an event cannot change the
            # unit.
            yield f"{above}{key}", dict.fromkeys(before, value)
        elif isinstance(before, dict) and isinstance(value, dict) and before.keys() == value.keys():
            inner = list(_differing(value, before, f"{above}{key}."))
            is_size = before.keys() <= {"packets", "bytes", "ns"}
            yield from ([(f"{above}{key}", value)] if is_size else inner)
        else:
            yield f"{above}{key}", value


class _Kinds:
    """Converts values of a canonical scenario to values of a scenario file, each with the unit that
    its key requires.
    """

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str | None], str] = {
            (key["path"], key["entry"]): key["kind"] for key in json.loads(_native.keys_json())
        }

    def written(self, value: Any, path: str, entry: str | None = None) -> Any:
        """Return a value of the canonical scenario in the units and names of a scenario file."""
        if isinstance(value, dict):
            return self._of_table(value, path, entry)
        if path.endswith((".steps", ".during", ".pause")):
            kind = "rate" if path.endswith("rate.steps") else "time"
            # A number without a unit, such as a loss rate, is written as a number.
            return [
                [_unit(at, "time"), to if isinstance(to, float) else _unit(to, kind)]
                for at, to in value
            ]
        if isinstance(value, list):
            return [self.written(item, f"{path}[0]", entry) for item in value]
        known = self._kinds.get((path, entry)) or self._kinds.get((path, None))
        if known not in UNITS or isinstance(value, (bool, str)) or value is None:
            return value
        return _unit(value, known)

    def _of_table(self, value: Table, path: str, entry: str | None) -> Any:
        for unit, kind in (("packets", "count"), ("ns", "time"), ("bytes", "size")):
            if value.keys() == {unit} and isinstance(value[unit], int):
                return f"{value[unit]}p" if unit == "packets" else _unit(value[unit], kind)
        own = value.get("kind", entry)
        made: Table = {}
        for key, inner in value.items():
            if key == "options":
                # In the table of an algorithm, the scenario writes options next to `name`.
                name = value.get("name") if path.endswith((".queue", ".cc")) else own
                made |= {k: self.written(v, f"{path}.{k}", name) for k, v in inner.items()}
            elif key == "connections" and inner is not None:
                made |= self.written(inner, path, own)
            elif inner is not None and inner != []:
                made["aqm" if path.endswith(".queue") and key == "name" else key] = self.written(
                    inner, f"{path}.{key}" if path else key, own
                )
        return made


def _unit(value: int, kind: str) -> str:
    """Format a number in the largest unit that gives a whole number."""
    unit, size = next((unit, size) for unit, size in UNITS[kind] if value % size == 0)
    return f"{value // size}{unit}"


def _places(value: Any) -> Iterator[tuple[Table, str]]:
    """Yield pairs of a table and a key in it, for all tables and keys. Inner keys come before the
    key that contains them.
    """
    if isinstance(value, dict):
        for key in list(value):
            yield from _places(value[key])
            yield value, key
    elif isinstance(value, list):
        for item in value:
            yield from _places(item)


def _tidy(table: Table) -> Table:
    """Return the table with its top-level keys in the usual order."""
    order = ("duration", "warmup", "seed", "bottleneck", "links", "path", "record")
    first = {key: table[key] for key in order if key in table}
    return first | {key: value for key, value in table.items() if key not in first}


def _laid_out(table: Table) -> str:
    """Return TOML with a header such as `[bottleneck]` for each table, as in a file written by
    hand."""
    plain, sections = [], []
    for name, value in table.items():
        if name == "links":
            sections += [(f"[links.{toml.key(link)}]", inner) for link, inner in value.items()]
        elif isinstance(value, dict):
            sections.append((f"[{name}]", value))
        elif isinstance(value, list):
            sections += [(f"[[{name}]]", inner) for inner in value]
        else:
            plain.append(f"{name} = {toml.value(value)}")
    for head, inner in sections:
        plain += ["", head]
        plain += [f"{toml.key(key)} = {toml.value(_short(one))}" for key, one in inner.items()]
    return "\n".join([*plain, ""])


def _short(value: Any) -> Any:
    """Replace an algorithm's table by the algorithm's name if the table has no options."""
    if isinstance(value, dict) and len(value) == 1:
        return value.get("name", value.get("aqm", value))
    return value
