"""Reads the file of a program that is evaluated: one `[[programs]]` table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.base import toml
from tailback.base.located import Located
from tailback.errors import InputError, InputErrors, ScenarioError
from tailback.evaluate.model import Request
from tailback.running import engines
from tailback.running.scenarios import load, quiet

if TYPE_CHECKING:
    from tailback._native import Diagnostic

PREFIX = "program="
"""The beginning of a subject that is a program, as in `program=FILE.toml`."""

OF_THE_SECTION = (
    "start",
    "stop",
    "count",
    "rtt",
    "route",
    "back",
    "reverse",
    "bytes",
    "seconds",
)
"""Keys of `[[programs]]` that the scenario of each section sets."""

NOT_OF_A_PROGRAM = "is not part of a program"
"""The end of the message about a key that a program's file must not contain."""

_AROUND = (("duration", '"10s"'), ("bottleneck.rate", '"10Mbit"'), ("path.rtt", '"20ms"'))
"""Keys that complete a file with only `[[programs]]`, so that it can be validated as a scenario."""


@dataclass(frozen=True)
class ProgramSubject:
    file: str
    """The path of the file as the user typed it."""
    entry: Mapping[str, Any]
    """The entry of `[[programs]]`, with absolute paths of files."""

    @property
    def name(self) -> str:
        """The program's name in reports: its key `name`, otherwise its kind and, if the file sets
        one, its congestion control.
        """
        if "name" in self.entry or "kind" not in self.entry:
            return str(self.entry.get("name") or Path(self.file).stem)
        control = self.entry.get("control", self.entry.get("cc"))
        # `cc` may also be a table with options.
        return f"{self.entry['kind']}-{control}" if isinstance(control, str) else self.entry["kind"]

    @property
    def lines(self) -> list[str]:
        """The entry as lines of a scenario, without its name."""
        return [
            f"{toml.key(key)} = {toml.value(value)}"
            for key, value in self.entry.items()
            if key != "name"
        ]


def read(file: str, request: Request) -> ProgramSubject:
    """Return the program of a file.

    Raises `InputError` with every error of the file and its place. A file must not contain values
    that the scenario validator rejects, tables other than `[[programs]]`, or keys that tailback
    itself sets in each section.
    """
    path = Path(file)
    if not file:
        raise InputError(f"{PREFIX}: no file; write {PREFIX}FILE.toml")
    wrong: list[Diagnostic | Located | str] = []
    try:
        with quiet():
            load(path, _AROUND, 1, engines.get(request.run.engine), plugins=request.run.plugins)
    except ScenarioError as error:
        wrong += error.diagnostics
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise InputErrors(*wrong) from None
    others = [key for key in table if key != "programs"]
    if "bottleneck" in others or "path" in others:
        # The file is a whole scenario, so report only this error, and not the errors of single
        # values.
        raise InputErrors(_whole_scenario(file, text, others))
    own = _own_errors(file, text, table)
    # For the validation, tailback adds a duration and a path to the file. Errors about keys that
    # the user has to remove may therefore be false.
    removed = {error.line for error in own if error.message.endswith(NOT_OF_A_PROGRAM)}
    wrong = [one for one in wrong if isinstance(one, str) or one.line not in removed] + [*own]
    if wrong:
        raise InputErrors(*sorted(wrong, key=_line))
    [entry] = table["programs"]
    return ProgramSubject(file, _absolute(entry, path.parent))


def _line(problem: Diagnostic | Located | str) -> tuple[int, int]:
    return (0, 0) if isinstance(problem, str) else (problem.line, problem.column)


def _whole_scenario(file: str, text: str, others: Sequence[str]) -> Located:
    """Return the error about a file that is a scenario and not only a program."""
    message = "this is a scenario; expected a file with only one table [[programs]]"
    help_ = f"copy the table [[programs]] to a file of its own, without {', '.join(others)}"
    return _at(file, text, others[0], message, help_)


def _own_errors(file: str, text: str, table: Mapping[str, Any]) -> list[Located]:
    """Return errors about content that is allowed in a scenario but not in a program's file."""
    found = [
        _at(file, text, key, f"`{key}` {NOT_OF_A_PROGRAM}", f"remove `{key}`")
        for key in table
        if key != "programs"
    ]
    entries = table.get("programs")
    if not isinstance(entries, list) or len(entries) != 1:
        many = len(entries) if isinstance(entries, list) else 0
        message = f"{many} tables [[programs]]; expected one"
        help_ = "keep one" if many else "write [[programs]], and below it: kind = NAME"
        return [*found, _at(file, text, "programs", message, help_)]
    [entry] = entries
    for key in OF_THE_SECTION:
        if isinstance(entry, dict) and key in entry:
            message = f"`{key}` is decided by the scenario of each section"
            found.append(_at(file, text, key, message, f"remove `{key}`"))
    return found


def _at(file: str, text: str, key: str, message: str, help_: str) -> Located:
    """Return an error at the position where the text first sets a key."""
    pattern = rf"""(?m)(?:^|[\[{{,])[ \t]*["']?({re.escape(key)})["']?[ \t]*(?:[=.\]])"""
    match = re.search(pattern, text)
    start = match.start(1) if match else 0
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    source = (text.splitlines() or [""])[line - 1]
    return Located(file, line, column, message, help_, source, len(key) if match else 1)


def _absolute(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the entry with absolute paths of files and root folders.

    Relative paths would be wrong in the scenarios of sections, which are in another
    folder.
    """
    whole = dict(entry)
    if "files" in whole:
        whole["files"] = [str((folder / name).absolute()) for name in whole["files"]]
    for side in ("sender", "receiver"):
        if "root" in whole.get(side, {}):
            root = str((folder / whole[side]["root"]).absolute())
            whole[side] = {**whole[side], "root": root}
    return whole
