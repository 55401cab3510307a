"""Writes a page for each congestion control, queue, kind of traffic, impairment and program."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import REFERENCE, ROOT
from tailback import _native
from tailback._native import registry_json
from tailback.cli.tables.listing import connection_keys, type_of

from . import adapters, examples, trials
from .heads import head

Entry = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A registry, and the folder of its pages."""

    registry: str
    folder: str
    title: str
    singular: str
    usage: str


KINDS = (
    Kind(
        *("cc", "congestion-controls", "Congestion controls", "congestion control"),
        'To use a congestion control in a scenario, write `cc = "NAME"` or '
        '`cc = { name = "NAME", ... }` in a flow.',
    ),
    Kind(
        *("aqm", "queues", "Queues", "queue discipline"),
        'To use a queue discipline in a scenario, write `queue = "NAME"` or '
        '`queue = { aqm = "NAME", ... }` in a link.',
    ),
    Kind(
        *("traffic", "traffic", "Traffic", "source of traffic"),
        'To use a source of traffic in a scenario, add a table `[[traffic]]` with `kind = "NAME"`.',
    ),
    Kind(
        *("impairments", "impairments", "Impairments", "impairment of a link"),
        "To use an impairment in a scenario, add a table `[[bottleneck.impairments]]` or "
        '`[[links.NAME.impairments]]` with `kind = "NAME"`. Every impairment also has the keys '
        "`only` (which packets it affects) and `during` (when it acts).",
    ),
    Kind(
        *("programs", "programs", "Programs", "ready-made program"),
        "To use a ready-made program in a scenario, add a table `[[programs]]` with "
        '`kind = "NAME"`. Programs run on the kernel engine. The simulator cannot run programs, '
        "but it can run a transport stack that you compile into it: [test a transport "
        "stack](../../how-to/test-your-stack.md).",
    ),
)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every page with its path. The index of a registry precedes its pages."""
    registry = json.loads(registry_json())
    for kind in KINDS:
        folder = REFERENCE / kind.folder
        entries = registry[kind.registry]
        stacks = only_stacks(registry) if kind.registry == "programs" else []
        yield folder / "index.md", "\n".join(_index(kind, entries, stacks))
        for entry in entries:
            yield folder / f"{entry['name']}.md", "\n".join(_entry(kind, entry))
        for stack in stacks:
            yield folder / f"{stack.name}.md", "\n".join(_stack(kind, stack))


def only_stacks(registry: dict[str, list[Entry]]) -> list[adapters.Adapter]:
    """Return the transport stacks in the repository for which the kernel engine has no program."""
    known = {entry["name"] for entry in registry["programs"]}
    return [adapters.read(one) for one in registry["adapters"] if one["name"] not in known]


def _index(kind: Kind, entries: list[Entry], stacks: list[adapters.Adapter]) -> Iterator[str]:
    yield f"# {kind.title}\n\n{kind.usage}\n"
    yield (
        f"`tailback list {kind.registry}` prints this list. `tailback list {kind.registry} "
        "--options` prints this list with all options.\n"
    )
    yield "| name | what it is | follows | on Linux |"
    yield "|---|---|---|---|"
    for entry in entries:
        link = f"[{entry['name']}]({entry['name']}.md)"
        yield _row(link, entry["doc"], entry["follows"], _linux(entry))
    for stack in stacks:
        yield _row(f"[{stack.name}]({stack.name}.md)", stack.doc, stack.follows, "no")
    yield "\n```{toctree}\n:hidden:\n"
    yield from (entry["name"] for entry in entries)
    yield from (stack.name for stack in stacks)
    yield "```\n"


def _entry(kind: Kind, entry: Entry) -> Iterator[str]:
    name = entry["name"]
    file = head(kind.registry, name)
    source = os.path.relpath(ROOT / file.file, REFERENCE / kind.folder)
    yield f"# {name}\n\n{entry['doc']}\n"
    yield "| | |\n|---|---|"
    yield _row("kind", kind.singular)
    yield _row("follows", entry["follows"])
    yield _row("simulator", _simulator(kind, name))
    yield _row("kernel engine", _linux(entry))
    yield _row("source file", f"[{file.file}]({source})")
    yield f"\n## What it is\n\n{file.about}\n"
    if file.deviations and kind.registry != "programs":
        yield f"## Deviations\n\n{file.deviations}\n"
    more = connection_keys(kind.registry, entry, _native)
    yield from _options_of({**entry, "options": [*entry["options"], *more]})
    if kind.registry == "programs":
        yield from _options_in_simulator(name)
    yield from _example(kind, entry)
    yield "## How well it is validated\n"
    yield from trials.of(kind.registry, name)


def _stack(kind: Kind, stack: adapters.Adapter) -> Iterator[str]:
    """Yield the page of a stack that runs in the simulator only."""
    source = os.path.relpath(ROOT / stack.folder, REFERENCE / kind.folder)
    yield f"# {stack.name}\n\n{stack.doc}\n"
    yield "| | |\n|---|---|"
    yield _row("kind", "transport stack of the simulator")
    yield _row("follows", stack.follows)
    yield _row("simulator", f"yes, with `--with {stack.folder}`")
    yield _row("kernel engine", "no")
    yield _row("sources", f"[{stack.folder}]({source})")
    yield f"\n## What it is\n\n{stack.about}\n"
    yield "## Options\n"
    yield from _options_of_stack(stack)
    yield f"## Example\n\nSave this scenario as `{stack.name}.toml`:\n"
    yield f"```toml\n{examples.scenario(kind.registry, stack.name)}```\n"
    yield f"```sh\ntailback run {stack.name}.toml --with {stack.folder}\n```\n"
    yield (
        "The source code of the stack is in tailback's repository. [Test a transport "
        "stack](../../how-to/test-your-stack.md) describes the stack and links to the results "
        "of runs with it.\n"
    )


def _simulator(kind: Kind, name: str) -> str:
    """Return a text about whether the simulator supports an entry."""
    if kind.registry != "programs":
        return "yes"
    adapters = json.loads(registry_json())["adapters"]
    folders = [one["folder"] for one in adapters if one["name"] == name]
    if not folders:
        return "no"
    return (
        f"yes, with `--with {folders[0]}`. The simulator has [other "
        "options](#options-in-the-simulator)"
    )


def _linux(entry: Entry) -> str:
    """Return a text about whether the kernel engine supports an entry."""
    match entry["kernel_kind"]:
        case "agent":
            return "yes"
        case "none":
            return "no"
        case _ if entry.get("stand_ins") and not entry["since"]:
            modules = " or ".join(f"`{own['module']}`" for own in entry["stand_ins"])
            return f"`{entry['kernel']}`, a module of tailback ({modules})"
        case "module":
            says = f"`{entry['kernel']}`"
        case _:
            says = f"`tc ... {entry['kernel']}`"
    if _is_in_linux(entry):
        since = (
            f", since Linux {entry['since']}"
            if entry.get("since")
            else ", a module of the guest kernel"
        )
    else:
        since = (
            ". Linux does not have this congestion control, so you must build a module that "
            "registers this name"
        )
    own = [
        f"; if `{module['option']}` is set, tailback uses its own module `{module['name']}`"
        if "option" in module
        else "; for options that Linux does not have, tailback uses its own module "
        f"`{module['module']}`"
        for module in entry.get("stand_ins", [])
    ]
    return f"{says}{since}{''.join(own)}"


def _options_in_simulator(name: str) -> Iterator[str]:
    """Yield the options of the transport stack that takes a program's place in the simulator."""
    for one in json.loads(registry_json())["adapters"]:
        if one["name"] == name:
            stack = adapters.read(one)
            yield f"## Options in the simulator\n\nThe stack is {stack.follows}.\n"
            yield from _options_of_stack(stack)


def _options_of_stack(stack: adapters.Adapter) -> Iterator[str]:
    yield _row("option", "type", "default", "meaning")
    yield "|---" * 4 + "|"
    yield from (_row(*row) for row in adapters.rows(stack))
    yield ""


def _options_of(entry: Entry) -> Iterator[str]:
    yield "## Options\n"
    rows = list(_options(entry["options"]))
    if not rows:
        yield f"`{entry['name']}` has no options.\n"
        return
    columns = ("option", "type", "default", "tc", "meaning")
    # Show the column of tc's option names only if it is not empty.
    kept = [i for i, name in enumerate(columns) if name != "tc" or any(row[i] for row in rows)]
    yield _row(*(columns[i] for i in kept))
    yield "|---" * len(kept) + "|"
    yield from (_row(*(row[i] for i in kept)) for row in rows)
    yield ""


def _options(options: list[Mapping[str, Any]], prefix: str = "") -> Iterator[tuple[str, ...]]:
    for option in options:
        name = f"{prefix}{option['name']}"
        default = f"`{option['default']}`" if option["default"] is not None else ""
        tc = f"`{option['tc']}`" if option["tc"] else ""
        yield (f"`{name}`", type_of(dict(option)), default, tc, option["doc"])
        yield from _options(option.get("options", []), f"{name}.")


def _example(kind: Kind, entry: Entry) -> Iterator[str]:
    name = entry["name"]
    engine = " --engine kernel" if kind.registry == "programs" else ""
    yield f"## Example\n\nSave this scenario as `{name}.toml`:\n"
    yield f"```toml\n{examples.scenario(kind.registry, name)}```\n"
    yield f"```sh\ntailback run {name}.toml{engine}\n```\n"
    if kind.registry != "programs" and entry["kernel_kind"] != "none":
        needs = "" if _is_in_linux(entry) else f", if you build a module for `{entry['kernel']}`"
        yield f"`tailback run {name}.toml --engine kernel` runs the example on Linux{needs}.\n"


def _is_in_linux(entry: Entry) -> bool:
    """Return whether Linux or a module of tailback implements an entry."""
    return bool(entry.get("since") or entry.get("stand_ins") or entry["kernel_kind"] == "agent")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
