"""Lists the evidence pages that test an entry of the reference."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pages import EVIDENCE, ROOT, league, results
from tailback_studies import experiments
from tailback_studies.reproduction.published import RESULTS
from tailback_studies.validation import grid

STUDIES = ROOT / "python" / "tailback_studies" / "experiments"

FAMILIES = "Scenarios within each limit, by kind of queue"
"""The heading of a table in the validation's results. The pages quote this table."""

HEADINGS = {
    "throughput of identical flows, sorted": "throughputs of identical flows, in sorted order",
    "throughput of each flow, of a fair share": "throughput of each flow / fair share",
    "throughput of each flow, of the rate": "throughput of each flow / link rate",
}
"""The headings of columns that the pages reword."""

SINGULAR = {
    "aqm": "queue discipline",
    "cc": "congestion control",
    "impairments": "impairment of a link",
    "traffic": "source of traffic",
}
"""What an entry of each registry is called in a sentence."""
SUITES = {"cc": "cc", "aqm": "queue"}
"""The suite of `tailback evaluate` for each registry that has a suite."""

TESTED = (
    "Every {singular} in tailback passes the same conformance tests "
    "([what is tested](../../evidence/testing.md))."
)
PROGRAMS = (
    "tailback runs the unmodified program, so there is no model to validate. "
    "tailback computes its own measurements from the program's packets "
    "([what is measured](../measurements.md#programs))."
)


def of(kind: str, name: str) -> Iterator[str]:
    if kind == "programs":
        yield PROGRAMS + "\n"
        yield from _by_the_standards("cc", name)
    else:
        yield TESTED.format(singular=SINGULAR[kind]) + "\n"
        yield from _against_linux(kind, name)
        if kind == "cc":
            yield from _signals(name)
        if kind in SUITES:
            yield from _by_the_standards(SUITES[kind], name)
    yield from _published(kind, name)


def _against_linux(kind: str, name: str) -> Iterator[str]:
    wanted = [f for f in grid.FAMILIES if (kind, name) in _entries_of(f)]
    nowhere = True
    for page in _pages():
        columns, rows = _table(page, FAMILIES)
        # A page does not list a group of scenarios that was added after the page was written.
        families = [f for f in wanted if f in rows]
        wanted = [f for f in wanted if f not in rows]
        if not families:
            continue
        nowhere = False
        yield (
            f"For the page [{_title(page)}](../../evidence/{page}.md), tailback runs the same "
            f"scenarios on both engines and compares the results. Each row of the table is a group "
            f"of scenarios. Each group contains scenarios with `{name}`. The numbers count all "
            f"scenarios of the group, with or without `{name}`. The column *scenarios* "
            "shows how many scenarios a group contains. Each further column is for one quantity. "
            "The column counts the scenarios in which the values of this quantity on the two "
            "engines differ by at most a limit.\n"
        )
        used = [i for i, _ in enumerate(columns) if any(rows[f][i] != "\u2014" for f in families)]
        yield "| " + " | ".join(HEADINGS.get(columns[i], columns[i]) for i in used) + " |"
        yield "|---" * len(used) + "|"
        for family in families:
            yield "| " + " | ".join(rows[family][i] for i in used) + " |"
        yield ""
    if nowhere:
        yield (
            "[The simulator against Linux](../../evidence/validation.md) compares the two engines. "
            f"This comparison does not include `{name}`.\n"
        )


def _pages() -> list[str]:
    """Return the pages of the validation: first the page about all queues, then the pages about
    single groups of queues."""
    some = sorted(file.name for file in EVIDENCE.glob(f"validation-*{RESULTS}"))
    return ["validation", *(name.removesuffix(RESULTS) for name in some)]


def _signals(name: str) -> Iterator[str]:
    page = (EVIDENCE / "response.md").read_text(encoding="utf-8")
    if re.search(rf"^\|[^|]*\| {re.escape(name)} \|", page, flags=re.M):
        yield (
            "[Response to the same signals](../../evidence/response.md) compares the congestion "
            f"window of `{name}` in the simulator with the window in Linux, ACK by ACK.\n"
        )


def _by_the_standards(suite: str, name: str) -> Iterator[str]:
    """Yield the links to the verdicts of the entry, with and without options."""
    subjects = league.League.read(EVIDENCE).named(name, suite)
    links = [f"[{one.title}](../../evidence/{league.FOLDER}/{one.slug}.md)" for one in subjects]
    standards = "RFC 9743" if suite == "cc" else "RFC 7928"
    if len(links) == 1:
        yield (
            f"The page {links[0]} shows the verdict of `tailback evaluate` for each section of "
            f"{standards}.\n"
        )
    elif links:
        yield (
            f"The following pages show the verdicts of `tailback evaluate` for each section of "
            f"{standards}: {', '.join(links)}.\n"
        )


def _published(kind: str, name: str) -> Iterator[str]:
    """Yield the experiments whose scenarios use the entry."""
    pages = [
        f"[{_title(study)}](../../evidence/{study}.md)"
        for study in experiments.NAMES
        if (kind, name) in _entries_in(STUDIES / study.replace("-", "_"))
        and (EVIDENCE / f"{study}.md").exists()
    ]
    if pages:
        yield (
            f"The following reproductions of published experiments use `{name}`. Each page "
            "compares tailback's results with the published results:\n"
        )
        yield from (f"- {page}" for page in pages)
        yield ""
    elif kind != "programs":
        yield f"tailback does not reproduce any published experiment with `{name}`.\n"


def _title(study: str) -> str:
    """Return the heading of an experiment's page."""
    page = (EVIDENCE / f"{study}.md").read_text(encoding="utf-8")
    return page.partition("\n")[0].removeprefix("# ")


@cache
def _table(page: str, title: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the columns and rows of a table on a page of the validation. The key of a row is its
    first entry."""
    table = next(results.tables(EVIDENCE, page, title))
    return table["columns"], {row[0]: row for row in table["rows"]}


@cache
def _entries_of(family: str) -> frozenset[tuple[str, str]]:
    """Return the algorithms in the scenarios of one group of queues of the validation."""
    entries: set[tuple[str, str]] = set()
    for queue in grid.QUEUES:
        if queue.family == family:
            scenario = tomllib.loads(queue.file.read_text(encoding="utf-8"))
            entries |= set(_named(scenario)) | set(_named(dict(queue.sets)))
            entries |= {("cc", name) for mix in queue.mixes for name in mix}
    return frozenset(entries)


@cache
def _entries_in(folder: Path) -> frozenset[tuple[str, str]]:
    """Return the algorithms that an experiment uses, in its scenarios or in Python code."""
    entries: set[tuple[str, str]] = set()
    for file in folder.rglob("*.toml"):
        entries |= set(_named(tomllib.loads(file.read_text(encoding="utf-8"))))
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for kind in ("aqm", "cc"):
            names = re.findall(rf'"{kind}": "([\w-]+)"|\b{kind}\s*=\s*"([\w-]+)"', text)
            entries |= {(kind, first or second) for first, second in names}
    return frozenset(entries)


def _named(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the algorithms that a scenario names."""
    if isinstance(node, list):
        for item in node:
            yield from _named(item, key)
    elif isinstance(node, dict):
        for inner, value in node.items():
            if inner == "kind" and isinstance(value, str):
                yield (key if key in ("traffic", "impairments") else "programs"), value
            yield from _named(value, key if inner in ("name", "aqm") else inner)
            if inner == "aqm" and isinstance(value, str):
                yield "aqm", value
    elif isinstance(node, str):
        last = key.rpartition(".")[2]
        if last in ("cc", "queue"):
            yield ("cc" if last == "cc" else "aqm"), node
