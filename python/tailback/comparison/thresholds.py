"""Parses the limits of `compare --fail-if`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailback.comparison.quantities import select
from tailback.errors import InputError

_THRESHOLD = re.compile(r"(?P<sign>[+-]?)(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<percent>%?)")


@dataclass(frozen=True)
class Threshold:
    """A limit for a difference, such as `--fail-if throughput_mbit:-5%`."""

    text: str
    quantity: str
    name: str
    """Name of the flow, link or class. If empty, the limit applies to every object that has the
    quantity."""
    sign: str
    """`+` limits a rise, `-` limits a fall, and an empty text limits both."""
    limit: float
    relative: bool

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Parse `QUANTITY[@NAME]:[+|-]NUMBER[%]`."""
        of, _, rest = text.rpartition(":")
        quantity, _, name = (part.strip() for part in of.partition("@"))
        match = _THRESHOLD.fullmatch(rest.strip())
        if not quantity or match is None:
            raise InputError(
                f"--fail-if {text}: expected QUANTITY:+10%, QUANTITY:-0.5 or QUANTITY:2% "
                "(either way), or QUANTITY@NAME:+10% of one flow or link"
            )
        select([quantity])
        return cls(
            text, quantity, name, match["sign"], float(match["number"]), bool(match["percent"])
        )

    @property
    def sides(self) -> tuple[str, ...]:
        """The directions of change that the limit restricts: `+` for a rise, `-` for a fall."""
        return (self.sign,) if self.sign else ("+", "-")

    @property
    def margin(self) -> float:
        """The limit as a share of the baseline or in the quantity's unit."""
        return self.limit / 100 if self.relative else self.limit

    def words(self, unit: str) -> str:
        """Return the limit as text, such as "a rise beyond 10 %"."""
        what = {"+": "a rise", "-": "a fall", "": "a change"}[self.sign]
        unit = "%" if self.relative else unit
        return f"{what} beyond {self.limit:g}{f' {unit}' if unit else ''}"
