"""The page of RFC 9743's sections: what decides each section, and how to run it."""

from __future__ import annotations

from collections.abc import Sequence

from pages import REFERENCE
from tailback.evaluate.cc import ASKED, CRITERIA, SCENARIOS
from tailback.evaluate.criteria import Against, Criterion, HarmTo, TextOnly, Within

PLACE = REFERENCE / "evaluation.md"
SOURCES = "../../python/tailback/evaluate/cc/scenarios"

HEAD = """\
# Sections of RFC 9743

[tailback evaluate](../how-to/evaluate.md) decides the sections of RFC 9743 that a run can decide.
`tailback evaluate cc NAME --part SECTION` runs one of them, and `tailback run FILE` its scenario
alone. The last table has what no run can tell, with scenarios that help to write about it.

| section | what it asks | what decides | scenario |
|---|---|---|---|
"""

PARTS = """
## Parts of other sources

`tailback evaluate cc NAME --part nsperf` runs the five experiments of nsperf, and `--part L4S` what
RFC 9331 asks of controls for L4S. Without these options they do not run.

| section | what it asks | what decides | scenario |
|---|---|---|---|
"""

WRITTEN = """
## Sections to write about

| section | what it asks | what to write | scenario that helps |
|---|---|---|---|
"""

HELP = {
    "7.2": "[a policer](../how-to/cookbook.md#32-put-a-policer-on-the-path)",
    "7.10": "[two paths](../how-to/cookbook.md#41-spread-packets-over-two-paths)",
    "7.11": '`path = { profile = "data-centre" }` of the [named paths](paths.md)',
    "8": "[receivers that cheat](../how-to/cookbook.md#43-let-a-receiver-cheat)",
}


def page() -> str:
    """Return the text of the page."""
    written = [
        f"| {one.id} | {one.title} | {one.write} | {HELP.get(one.id, '')} |"
        for one in CRITERIA
        if isinstance(one, TextOnly)
    ]
    tables = [HEAD, *_decided(CRITERIA), PARTS, *_decided(ASKED), WRITTEN, *written]
    return "\n".join(part.removesuffix("\n") for part in tables) + "\n"


def _decided(criteria: Sequence[Criterion]) -> list[str]:
    """Return the rows of the sections that runs decide."""
    decided = [one for one in criteria if isinstance(one, Within | Against | HarmTo)]
    missing = [one.scenario for one in decided if not (SCENARIOS / one.scenario).is_file()]
    assert not missing, missing
    return [
        f"| {one.id} | {one.title} | {one.measure} | [{one.scenario}]({SOURCES}/{one.scenario}) |"
        for one in decided
    ]
