"""What difference is too much: `compare --fail-if`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailback.comparison.model import Comparison
from tailback.comparison.quantities import select
from tailback.comparison.text import difference_text
from tailback.errors import InputError
from tailback.metrics.differences import Difference

_THRESHOLD = re.compile(r"(?P<sign>[+-]?)(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<percent>%?)")


@dataclass(frozen=True)
class Threshold:
    """What difference is too much: `--fail-if throughput_mbit:-5%`."""

    text: str
    quantity: str
    sign: str
    """`+` for a rise, `-` for a fall, empty for both."""
    limit: float
    relative: bool

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Reads `QUANTITY:[+|-]NUMBER[%]`."""
        quantity, _, rest = text.rpartition(":")
        match = _THRESHOLD.fullmatch(rest.strip())
        if not quantity or match is None:
            raise InputError(
                f"--fail-if {text}: expected QUANTITY:+10%, QUANTITY:-0.5 or QUANTITY:2% "
                "(either way)"
            )
        select([quantity])
        return cls(
            text, quantity.strip(), match["sign"], float(match["number"]), bool(match["percent"])
        )

    def passed(self, comparison: Comparison) -> list[str]:
        """A message for each flagged difference that is beyond it.

        Raises `InputError` if there is nothing that it could be held against.
        """
        wanted = {(m.on, m.path) for m in select([self.quantity])}
        cells = [c for c in comparison.cells if (c.metric.on, c.quantity) in wanted]
        judged = [(c, v, d) for c in cells for v, d in c.differences.items() if d.n > 1]
        if not judged:
            raise InputError(
                f"--fail-if {self.text}: no variant has {self.quantity} in more than one run"
            )
        return [
            f"{cell.metric.name} of {cell.where()}: {variant} differs by {difference_text(d)} from "
            f"{comparison.baseline.name}, beyond {self.text}"
            for cell, variant, d in judged
            if d.flagged and self._beyond(d)
        ]

    def _beyond(self, difference: Difference) -> bool:
        value = difference.absolute
        if self.relative:
            # Of nothing, anything is more than any percentage.
            grown = float("inf") if value > 0 else float("-inf")
            value = 100 * difference.relative if difference.relative is not None else grown
        rise = self.sign != "-" and value > self.limit
        return rise or (self.sign != "+" and value < -self.limit)
