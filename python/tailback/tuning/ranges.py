"""Parses ranges such as `bottleneck.queue.target=1ms..30ms`, and chooses values from them.

Only the scenario parser knows which paths exist and which values they accept. The ends of each
range are therefore parsed as a sweep of two points, and the parser's errors are reported.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from tailback.errors import InputError, ScenarioError

if TYPE_CHECKING:
    from optuna import Trial

DIGITS = 4
"""Significant digits of a chosen value. More digits would have no practical use."""

DECADE = 10.0
"""If the ends of a range differ by more than this factor, the search uses a logarithmic scale."""

_END = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[A-Za-z%\u00b5]*)", re.ASCII)
_EXPECTED = "expected LO..HI such as 1ms..30ms, log:LO..HI, lin:LO..HI, or choices A,B,C"

Word = str | int | float | bool
"""A value as written in a scenario."""

Bases = Callable[[str, Sequence[Word]], list[float | str]]
"""A function that converts values of a path to base units with the scenario parser."""


def literal(text: str) -> Word:
    """Parse a value as `--set` does. The value is TOML, or a word without quotes."""
    try:
        found = tomllib.loads(f"it = {text}")["it"]
    except ValueError:
        return text.strip()
    return found if isinstance(found, str | int | float | bool) else text.strip()


@dataclass(frozen=True)
class Choices:
    """A set of values to choose from, without an order."""

    path: str
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return ",".join(map(str, self.words))

    def ends(self) -> list[Word]:
        """Return the values with which the search checks that the scenario accepts all choices."""
        return list(self.words)

    def settle(self, bases: Bases) -> Choices:  # noqa: ARG002 (`Range` uses this argument)
        return self

    def suggest(self, trial: Trial) -> Word:
        """Let Optuna suggest a value for a trial."""
        names = [str(word) for word in self.words]
        return self.words[names.index(trial.suggest_categorical(self.path, names))]


@dataclass(frozen=True)
class Range:
    """An interval of numbers with a unit."""

    path: str
    text: str
    low: float
    high: float
    unit: str
    log: bool
    whole: bool = False
    """Whether only whole numbers are allowed. `settle` sets this."""
    scale: str = "auto"
    units: tuple[str, str] = ("", "")
    """The units of both ends, if they differ."""

    def ends(self) -> list[Word]:
        """Return the values with which the search checks that the scenario accepts the range."""
        if self.units[0] == self.units[1]:
            return [self.word(self.low), self.word(self.high)]
        return [f"{_plain(self.low)}{self.units[0]}", f"{_plain(self.high)}{self.units[1]}"]

    def settle(self, bases: Bases) -> Range:
        """Return the range with both ends in the same unit."""
        low, high, unit = self.low, self.high, self.unit
        if self.units[0] != self.units[1]:
            first, last = bases(self.path, self.ends())
            if isinstance(first, str) or isinstance(last, str) or not first:
                raise InputError(f"--vary {self.path}={self.text}: expected one unit at both ends")
            high = last / (first / low)
            unit = self.units[0]
        said = f"--vary {self.path}={self.text}"
        if low >= high:
            raise InputError(f"{said}: {self.text} is empty; {_EXPECTED}")
        if self.scale == "log" and low <= 0:
            raise InputError(f"{said}: a logarithmic scale has no 0; expected lin: or more than 0")
        whole = _is_whole(self.path, low, high, unit, bases)
        log = self.scale == "log" or (self.scale == "auto" and low > 0 and high / low > DECADE)
        return Range(self.path, self.text, low, high, unit, log, whole)

    def suggest(self, trial: Trial) -> Word:
        """Let Optuna suggest a value for a trial."""
        if self.whole:
            found: float = trial.suggest_int(self.path, int(self.low), int(self.high), log=self.log)
        else:
            found = trial.suggest_float(self.path, self.low, self.high, log=self.log)
        return self.word(found)

    def word(self, number: float) -> Word:
        """Format a number as a value of the scenario, with `DIGITS` digits."""
        if self.whole:
            return f"{int(number)}{self.unit}" if self.unit else int(number)
        if number.is_integer() and not self.unit and abs(number) < 2**53:
            # A path that accepts fractions also accepts whole numbers, but not the other way round.
            return int(number)
        kept = min(max(float(f"{number:.{DIGITS}g}"), self.low), self.high)
        return f"{_plain(kept)}{self.unit}" if self.unit else kept


def _is_whole(path: str, low: float, high: float, unit: str, bases: Bases) -> bool:
    """Return whether a path accepts only whole numbers, such as a number of packets. The ends of a
    range, such as `0..1`, do not show whether fractions are allowed, so try a fraction.
    """
    if not low.is_integer() or not high.is_integer():
        return False
    half = low + 0.5
    try:
        bases(path, [f"{_plain(half)}{unit}" if unit else half])
    except ScenarioError:
        return True
    return False


Vary = Range | Choices


def _plain(number: float) -> str:
    return f"{Decimal(repr(number)).normalize():f}"


def parse(path: str, asked: object) -> Vary:
    """Parse the values to try for one path.

    The values are text as on the command line, or a list of choices.
    """
    option = f"--vary {path}={asked}"
    if not isinstance(asked, str):
        if isinstance(asked, Sequence) and len(asked) > 1:
            return Choices(path, tuple(asked))
        raise InputError(f"{option}: {_EXPECTED}")
    scale, colon, rest = asked.partition(":")
    text = rest if colon and scale in ("log", "lin") else asked
    scale = scale if text is rest else "auto"
    low_text, dots, high_text = text.partition("..")
    if not dots:
        words = [literal(word) for word in text.split(",")]
        if len(words) < 2 or scale != "auto" or "" in words or len(set(words)) < len(words):
            raise InputError(f"{option}: {_EXPECTED}")
        return Choices(path, tuple(words))
    ends = [_END.fullmatch(end.strip()) for end in (low_text, high_text)]
    if ends[0] is None or ends[1] is None:
        raise InputError(f"{option}: {_EXPECTED}")
    low, high = ends[0]["number"], ends[1]["number"]
    units = (ends[0]["unit"], ends[1]["unit"])
    if bool(units[0]) != bool(units[1]):
        lacking = low_text if not units[0] else high_text
        raise InputError(f"{option}: {lacking.strip()} has no unit; {_EXPECTED}")
    return Range(
        path,
        text,
        float(low),
        float(high),
        units[0],
        log=False,
        scale=scale,
        units=units,
    )


def over(asked: Mapping[str, object]) -> dict[str, list[Word]]:
    """Parse the sweep points at which each candidate runs: `path.rtt=10ms,40ms`."""
    axes: dict[str, list[Word]] = {}
    for path, values in asked.items():
        if isinstance(values, str):
            axes[path] = [literal(word) for word in values.split(",")]
        elif isinstance(values, Sequence) and values:
            axes[path] = list(values)
        else:
            raise InputError(f"--over {path}={values}: expected values, A,B,C")
    return axes
