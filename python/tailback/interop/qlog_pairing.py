"""Finds the sender of a run to which a qlog file belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tailback.base import foreign
from tailback.errors import InputError
from tailback.interop.plans import sender_plan
from tailback.interop.qlog_file import Sender
from tailback.metrics import parts
from tailback.programs import kept
from tailback.store.results import Run


@dataclass(frozen=True)
class Partner:
    """The sender of a run to which a log belongs."""

    kind: Literal["flow", "program"]
    name: str
    base_ms: float
    """RTT of the sender's empty path, in ms."""


def partner(sender: Sender, run: Run) -> Partner:
    """Return the flow or program of a run to which a log belongs.

    The function tries, in this order, the folder of the program that wrote the file, the title of
    the log, and the name of the file. Then the function tries the run's only program, and the run's
    only flow.

    Raises `InputError` with the possible names if no sender is identified.
    """
    kinds: dict[str, Literal["flow", "program"]] = {
        **{part["name"]: "program" for part in parts.programs(run.summary)},
        **{part["name"]: "flow" for part in run.summary["flows"]},
    }
    programs = [name for name, kind in kinds.items() if kind == "program"]
    labels = (_writer(sender.path), sender.title, sender.path.stem)
    name = next((label for label in labels if label in kinds), None)
    if name is None and len(programs or kinds) == 1:
        [name] = programs or kinds
    if name is None:
        listed = ", ".join(sorted(kinds)) or "none"
        raise InputError(
            f"{foreign.line(sender.path.name)}: the run has several senders, and the log names "
            f"none of them: {listed}; rename the file to NAME{sender.path.suffix}, with one of "
            "these names"
        )
    return Partner(kinds[name], name, _base_ms(run.manifest["canonical"], name, run.path))


def _writer(path: Path) -> str:
    """Return the name of the program whose output folder contains the file, or an empty text."""
    folders = path.resolve().parts
    for at, folder in enumerate(folders[:-3]):
        if folder == kept.FOLDER and kept.OUT in folders[at + 1 :]:
            sides = [n for n, one in enumerate(folders) if n > at and one in kept.SIDES]
            return "/".join(folders[at + 1 : sides[0]]) if sides else ""
    return ""


def _base_ms(point: Mapping[str, Any], name: str, run: Path) -> float:
    return float(sender_plan(point, name, run).get("rtt", 0)) / 1e6
