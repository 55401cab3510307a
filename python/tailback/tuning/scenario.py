"""Writes a point of a front as a scenario: the tuned file with the point's values. The values are
added as a sweep of one point.

The rest of the file, with its comments, is unchanged. Running the scenario repeats exactly the runs
of this point in the search.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

from tailback.base import toml
from tailback.tuning.plan import SearchPlan, Values, outer_first

_TABLE = re.compile(r"^\s*\[")
_SWEEP = re.compile(r"""^\s*\[\[?\s*["']?sweep["']?\s*[.\]]""")


def text(plan: SearchPlan, values: Values, what: str) -> str:
    """Return the text of the file with these values set."""
    body = _without_sweep(plan.defaults.text)
    sets = {path: _literal(word) for path, word in plan.sets}
    lines = [f"# {line}" for line in what.splitlines()]
    lines += [body.rstrip("\n"), "", "[sweep]"]
    # Outer keys come first, because setting a table afterwards would replace the values inside it.
    chosen = {**sets, **{path: values[path] for path in outer_first(values)}}
    lines += [f"{toml.key(path)} = {toml.value([word])}" for path, word in chosen.items()]
    for path, words in plan.sweep.items():
        if path != "zip":
            lines.append(f"{toml.key(path)} = {toml.value(words)}")
    lines.append(f"seeds = {plan.seeds}")
    for zipped in plan.sweep.get("zip", ()):
        lines += ["", "[[sweep.zip]]"]
        lines += [f"{toml.key(path)} = {toml.value(words)}" for path, words in zipped.items()]
    return "\n".join(lines) + "\n"


def _literal(word: str) -> object:
    try:
        return tomllib.loads(f"it = {word}")["it"]
    except ValueError:
        return word


def _without_sweep(source: str) -> str:
    """Return a scenario without its sweep.

    If the sweep is not a section `[sweep]` that can be cut out, format the parsed scenario as TOML
    again, without comments.
    """
    kept, inside = [], False
    for line in source.splitlines():
        if _TABLE.match(line):
            inside = _SWEEP.match(line) is not None
        if not inside:
            kept.append(line)
    made = "\n".join(kept) + "\n"
    wanted = {key: value for key, value in tomllib.loads(source).items() if key != "sweep"}
    if _parsed(made) == wanted:
        return made
    return toml.dumps(wanted)


def _parsed(source: str) -> Mapping[str, object] | None:
    try:
        return tomllib.loads(source)
    except ValueError:
        return None
