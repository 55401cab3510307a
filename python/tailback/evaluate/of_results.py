"""Evaluates an algorithm that was used in stored results, with the same options as in these
results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tailback.base import names, toml
from tailback.errors import InputError
from tailback.evaluate import suites
from tailback.evaluate.model import Evaluation, Request
from tailback.interop.lab import stored
from tailback.metrics import group_of


def suite_and_subject(
    manifest: Mapping[str, Any], flow: str | None, link: str | None
) -> tuple[str, str]:
    """Return the suite and the subject for a flow's congestion control or a link's queue.

    Raises `InputError` if the flow or link does not exist, or if its options cannot be written as
    a subject.
    """
    if flow is not None and link is not None:
        raise InputError("flow, link: only one of them can be evaluated; leave out the other")
    canonical = manifest["canonical"]
    if link is not None:
        number = _number("link", [one["name"] for one in canonical.get("links", ())], link)
        name = canonical["links"][number]["queue"]["name"]
        suite, word, kind = "queue", "aqm", "link"
    else:
        flows = [group_of(one["name"]) for one in canonical.get("flows", ())]
        number = _number("flow", flows, flow)
        name = canonical["flows"][number]["cc"]["name"]
        suite, word, kind = "cc", "name", "flow"
    # Leave out events, because they are not options of an algorithm.
    still = {key: value for key, value in canonical.items() if key != "events"}
    written = stored.scenario(still, manifest["seed"])
    if written is None:
        raise InputError(
            f"the options of {name} cannot be read from the stored run; run: tailback evaluate "
            f"{suite} {name}"
        )
    table = tomllib.loads(written)
    if kind == "flow":
        value = table["flows"][number].get("cc", name)
    else:
        # The second link of `both_directions` has the same queue as the first link.
        first = canonical["links"][number]["name"].removesuffix(".back")
        place = table["bottleneck"] if "bottleneck" in table else table["links"][first]
        value = place.get("queue", name)
    options = {} if isinstance(value, str) else {**value}
    options.pop(word, None)
    # Leave out the size of the buffer, because every section sets its own.
    options.pop("limit", None)
    return suite, _subject(name, options)


def _subject(name: str, options: Mapping[str, object]) -> str:
    """Return an algorithm and its options as an argument of `tailback evaluate`."""
    for key, value in options.items():
        if isinstance(value, (dict, list)) or "," in str(value):
            raise InputError(
                f"option {key} of {name} has several values, which an evaluation cannot set"
            )
    words = [f"{key}={toml.value(value)}" for key, value in options.items()]
    return f"{name}:{','.join(words)}" if words else name


def _number(kind: str, known: list[str], wanted: str | None) -> int:
    """Return the position of a flow or link. Without a name, return the position of the only flow
    or link."""
    several = list(dict.fromkeys(known))
    if wanted is None:
        if len(several) != 1:
            listed = ", ".join(several) or "none"
            raise InputError(f"{kind}: name one of {listed}")
        return 0
    if wanted not in known:
        raise InputError(names.unknown(kind, wanted, several))
    return known.index(wanted)


def evaluate(
    manifest: Mapping[str, Any], request: Request, *, flow: str | None, link: str | None
) -> Evaluation:
    """Evaluate the algorithm of a flow or link. This algorithm replaces the subject in
    `request`."""
    suite, name = suite_and_subject(manifest, flow, link)
    return suites.evaluate(suite, replace(request, name=name))
