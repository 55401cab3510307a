"""Parses the name of the BBR algorithm to evaluate: `bbr3`, or with options
`bbr3:draft=06,down_gain=0.8`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailback import registry
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.evaluate import naming


@dataclass(frozen=True)
class BbrSubject:
    name: str
    options: dict[str, Any]

    @property
    def cc(self) -> dict[str, Any]:
        return {"name": self.name, **self.options}


def parse(text: str, *, traced: bool) -> BbrSubject:
    """Parse the name and options of a subject.

    If `traced` is true and the algorithm has the option `trace`, enable this option. It
    records the algorithm's whole state.

    Raises `InputError` if the algorithm is not a BBR, or if an option has no value.
    """
    name, options = naming.split(text, "evaluate bbr")
    known = [entry["name"] for entry in registry.entries("cc") if "bbr" in entry["name"]]
    if "bbr" not in name.lower():
        raise InputError(
            f"evaluate bbr {name}: no BBR, and the cases are about BBR's states; "
            f"{unknown('BBR', name, known)}"
        )
    has_trace = any(
        option["name"] == "trace" for option in registry.entry("cc", name).get("options", ())
    )
    if traced and has_trace:
        options["trace"] = True
    return BbrSubject(name, options)
