"""Tells the user that tailback cannot explain programs, because it records nothing inside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailback.base.foreign import line
from tailback.base.names import unknown
from tailback.explain import words

WHY = "tailback records nothing inside them"


def of(summary: dict[str, Any], links: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the programs of a run. For each program and link, also return the program's share of
    the bytes that waited at this link.
    """
    return [
        {
            "name": program["name"],
            "kind": program["kind"],
            "throughput_mbit": program["throughput_mbit"],
            "explained": False,
            "held": {
                link["name"]: link["shares"][program["name"]]
                for link in links
                if program["name"] in link["shares"]
            },
        }
        for program in summary.get("programs", ())
    ]


def sentence(found: Sequence[dict[str, Any]]) -> str:
    parts = []
    for program in found:
        held = [
            f"{words.percent(share)} of the bytes that waited in {link}"
            for link, share in program["held"].items()
        ]
        parts.append(f"{program['name']} ({words.listed(held)})" if held else program["name"])
    return f"Programs are not explained, since {WHY}: {', '.join(parts)}."


def refusal(name: str, summary: dict[str, Any]) -> str | None:
    """Return why `explain` has no data about this name, or None if a flow or source has this
    name."""
    known = [part["name"] for kind in ("flows", "traffic") for part in summary[kind]]
    if name in known:
        return None
    if name in [program["name"] for program in summary.get("programs", ())]:
        return f'--flow: "{line(name)}" is a program, and programs are not explained: {WHY}'
    if not known:
        return f'--flow: flow "{line(name)}" does not exist: this run has no flow and no source'
    return f"--flow: {unknown('flow', name, known)}"
