"""Defines the dimensions of a figure's data: swept keys, seed, flow, link and class. A dimension
distinguishes runs of a sweep, or flows, links and classes within a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailback.metrics import On, group_of
from tailback.metrics.parts import kind, programs
from tailback.plot import words

if TYPE_CHECKING:
    from tailback.store.results import Run

PARTS: Mapping[On, tuple[str, ...]] = {
    "flow": ("flow", "cc"),
    "link": ("link", "aqm"),
    "class": ("class",),
    "run": (),
}
"""For each scope of a quantity, the dimensions of its parts. The first dimension is the part's
name."""

SEED = "seed"


@dataclass(frozen=True)
class Dimension:
    """A swept key, or several keys that advance together, with the values in the order of the
    sweep."""

    name: str
    title: str
    texts: Sequence[str]
    """Values in the form that the scenario uses."""
    unit: str = ""
    numbers: Sequence[float] | None = None
    """The values as numbers of one unit. None if the values are names."""
    keys: tuple[str, ...] = ()
    raw: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Maps each text to the spellings of its value in the scenario and in the results."""

    @property
    def label(self) -> str:
        """The title with its unit, for an axis."""
        return words.with_unit(self.title, self.unit)

    def number(self, text: str) -> float:
        """Return the number that one of the dimension's texts stands for."""
        assert self.numbers is not None
        return self.numbers[list(self.texts).index(text)]

    def short(self, text: str) -> str:
        """Return a value without unit, because the title names the unit."""
        return text if self.numbers is None else f"{self.number(text):.12g}"

    def text_of(self, word: str) -> str | None:
        """Return the text of the value that the user spelled as `word`, or None if no value
        matches."""
        return next((t for t in self.texts if word == t or word in self.raw.get(t, ())), None)


def swept(runs: Sequence[Run]) -> dict[str, Dimension]:
    """Return a dimension for each swept key, and one for the seed."""
    dimensions: dict[str, Dimension] = {}
    for path in dict.fromkeys(path for run in runs for path in run.params):
        raw = {run.labels[path]: str(run.params[path]) for run in runs if path in run.params}
        labels = list(raw)
        measures = words.numbers(labels)
        texts = [words.value(label) for label in labels]
        spellings: dict[str, set[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            # One value may have two spellings (0.02s, 20ms).
            spellings.setdefault(text, set()).update((label, raw[label]))
        numbers = None
        unit = ""
        if measures is not None:
            by_text = dict(zip(texts, measures[0], strict=True))
            numbers, unit = [by_text[text] for text in spellings], measures[1]
        dimensions[path] = Dimension(
            path,
            words.key(path),
            list(spellings),
            unit,
            numbers,
            (path,),
            {text: frozenset(words_) for text, words_ in spellings.items()},
        )
    seeds = sorted({run.seed for run in runs})
    dimensions[SEED] = Dimension(SEED, SEED, [str(s) for s in seeds], "", [float(s) for s in seeds])
    return dimensions


def joined(parts: Sequence[Dimension], runs: Sequence[Mapping[str, str]]) -> Dimension:
    """Join keys that advance together into one dimension. `runs` maps keys to texts, for each
    run."""
    if len(parts) == 1:
        return parts[0]
    texts = dict.fromkeys(_joined(parts, run) for run in runs)
    title = ", ".join(part.title for part in parts)
    keys = tuple(key for part in parts for key in part.keys)
    return Dimension("+".join(keys), title, list(texts), keys=keys)


def _joined(parts: Sequence[Dimension], run: Mapping[str, str]) -> str:
    return ", ".join(run[part.name] for part in parts)


def text_at(dimension: Dimension, run: Mapping[str, str]) -> str:
    """Return the value that a run has in a dimension, as text. `run` maps keys to texts."""
    if dimension.name in run:
        return run[dimension.name]
    return ", ".join(run[key] for key in dimension.keys)


def texts(run: Run, dimensions: Mapping[str, Dimension]) -> dict[str, str]:
    """Return the text of each swept value of a run, and of its seed."""
    made = {path: words.value(label) for path, label in run.labels.items() if path in dimensions}
    return {**made, SEED: str(run.seed)}


def parts(summary: Mapping[str, Any], on: On) -> Iterator[tuple[dict[str, str], Mapping[str, Any]]]:
    """Yield the flows, links or classes that have a quantity of this scope, with their names by
    dimension.

    Flows from one table (`count`) share a name: `cubic` for cubic/1 and cubic/2. Flows come first,
    then sources of traffic, then programs.
    """
    if on == "run":
        yield {}, summary
    elif on == "flow":
        for flow in summary["flows"]:
            yield {"flow": group_of(flow["name"]), "cc": flow["cc"]}, flow
        for source in summary["traffic"]:
            yield {"flow": group_of(source["name"]), "cc": source["kind"]}, source
        for program in programs(summary):
            yield {"flow": group_of(program["name"]), "cc": kind(program)}, program
    elif on == "link":
        for link in summary["queues"].values():
            yield {"link": link["name"], "aqm": link["aqm"]}, link
    else:
        for one in summary.get("classes", ()):
            yield {"class": one["name"]}, one


def of_parts(names: Sequence[str], found: Sequence[Mapping[str, str]]) -> dict[str, Dimension]:
    """Build a dimension for each of these names, with all values that occur."""
    return {
        name: Dimension(name, words.key(name), list(dict.fromkeys(one[name] for one in found)))
        for name in names
    }
