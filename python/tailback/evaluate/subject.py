"""Defines the tested algorithm of an evaluation, with its options, and how a scenario names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tailback import registry
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.evaluate import naming
from tailback.evaluate.model import Request
from tailback.evaluate.program import PREFIX, ProgramSubject, read

KINDS = {"cc": "congestion control", "aqm": "queue discipline"}
COMMANDS = {"cc": "cc", "aqm": "queue"}


@dataclass(frozen=True)
class Subject:
    """The algorithm that is evaluated, or the reference."""

    name: str
    """The tested algorithm as the user wrote it, with options."""
    value: str | Mapping[str, object]
    """The name and options of the algorithm in the form that a scenario needs."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The algorithm's options by name, from the registry. Empty for an unknown algorithm."""
    dual: bool = False
    """Whether the algorithm is a dual queue, according to the registry. False for an unknown
    algorithm."""

    program: ProgramSubject | None = None
    """The program, if a program is tested instead of an algorithm."""
    against: Subject | None = None
    """The reference to compare with. None means the reference of the suite."""

    def with_options(self, key: str, **options: object) -> Mapping[str, object] | str:
        """Return the algorithm with additional options, as a value for a scenario.

        `key` is the scenario's key for the algorithm's name.

        If the user set an option, the option keeps the user's value.
        """
        if not options:
            return self.value
        table = {key: self.value} if isinstance(self.value, str) else dict(self.value)
        return {**table, **{name: table.get(name, value) for name, value in options.items()}}


def resolve(kind: Literal["cc", "aqm"], request: Request) -> Subject:
    """Return the tested algorithm of a request, with its reference.

    Raises `InputError` for a name that neither the registry nor a plugin has. Also raises
    `InputError` for an option that the algorithm does not have. With the kernel engine, an unknown
    name is assumed to be an algorithm that only the kernel has.
    """
    texts = [request.name, *([] if request.against is None else [request.against])]
    are_programs = [text.startswith(PREFIX) for text in texts]
    if any(are_programs) and kind == "aqm":
        raise InputError("a program is no queue discipline; run: tailback evaluate cc program=FILE")
    if are_programs[0]:
        return _program(request, *texts[1:])
    if any(are_programs):
        raise InputError(
            f"--against {request.against}: only a program can be compared with a program; name a "
            "congestion control"
        )
    known = {entry["name"]: entry for entry in (*registry.entries(kind), *added(kind, request))}
    against = None if request.against is None else _named(request.against, kind, request, known)
    return replace(_named(request.name, kind, request, known), against=against)


def _program(request: Request, against: str | None = None) -> Subject:
    """Return a program as the tested algorithm. `against` names the reference, which is another
    program or a congestion control."""
    program = read(request.name.removeprefix(PREFIX), request)
    if against is None:
        reference = None
    elif against.startswith(PREFIX):
        other = read(against.removeprefix(PREFIX), request)
        reference = Subject(other.name, other.name, program=other)
    else:
        reference = resolve("cc", replace(request, name=against, against=None))
    return Subject(program.name, program.name, program=program, against=reference)


def _named(
    text: str, kind: str, request: Request, known: Mapping[str, Mapping[str, Any]]
) -> Subject:
    name, options = naming.split(text, f"evaluate {COMMANDS[kind]}")
    word = "name" if kind == "cc" else "aqm"
    if name in known:
        own = {one["name"]: one for one in known[name]["options"]}
        for option in options:
            if option not in own:
                problem = unknown(f"option of {name}", option, list(own))
                raise InputError(f"{text}: {problem}")
        value = {word: name, **options} if options else name
        return Subject(text, value, own, dual=registry.is_dual(known[name]))
    if kind == "cc" and name in _programs(request):
        raise InputError(
            f"{name}: this is a program and no congestion control; write [[programs]] and "
            f'kind = "{name}" to a file, and run: tailback evaluate cc program=FILE'
        )
    if kind == "cc" and name.endswith(".toml"):
        raise InputError(f"{name}: a file needs a prefix; write program={name}")
    if request.run.engine != "sim" and _may_be_a_kernels(name):
        return Subject(text, {word: name, "kernel": True, **options})
    raise InputError(unknown(KINDS[kind], name, list(known)))


def _programs(request: Request) -> set[str]:
    """Return the kinds of programs, including the stacks of plugins."""
    return {one["name"] for one in (*registry.entries("programs"), *added("stacks", request))}


def _may_be_a_kernels(name: str) -> bool:
    """Return whether the kernel could have an algorithm of this name.

    The kernel's names of algorithms contain only letters, digits and underscores.
    """
    return name.isascii() and name.replace("_", "").isalnum()


def added(kind: str, request: Request) -> list[dict[str, Any]]:
    """Return the entries that the request's plugins add to a registry."""
    from tailback.plugins import asked, copies

    folders = [*map(Path, request.run.plugins), *asked.by_environment()]
    return copies.entries(copies.native(folders))[kind] if folders else []
