"""Parses the name of the BBR algorithm to evaluate: `bbr3`, or with options
`bbr3:draft=06,down_gain=0.8`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback import registry
from tailback.errors import InputError
from tailback.evaluate import naming


@dataclass(frozen=True)
class BbrSubject:
    name: str
    options: dict[str, Any]

    @property
    def cc(self) -> dict[str, Any]:
        return {"name": self.name, **self.options}


def parse(text: str, *, traced: bool, added: Sequence[Mapping[str, Any]] = ()) -> BbrSubject:
    """Parse the name and options of a subject. `added` has the congestion controls of plugins.

    If `traced` is true and the algorithm has the option `trace`, enable this option. This option
    records the algorithm's whole state.

    Raises `InputError` if the name does not contain "bbr", or if an option has no value.
    """
    name, options = naming.split(text, "evaluate bbr")
    if "bbr" not in name.lower():
        every = [entry["name"] for entry in (*registry.entries("cc"), *added)]
        known = ", ".join(one for one in every if "bbr" in one.lower())
        raise InputError(
            f'evaluate bbr {name}: no BBR, because its name does not contain "bbr"; expected one '
            f"of {known}, a plugin whose name contains bbr (the cases test BBR's states), or "
            f"program=FILE. For any other congestion control, run: tailback evaluate cc {name}"
        )
    own = [entry for entry in added if entry["name"] == name]
    entry = own[0] if own else registry.entry("cc", name)
    if traced and any(option["name"] == "trace" for option in entry.get("options", ())):
        options["trace"] = True
    return BbrSubject(name, options)
