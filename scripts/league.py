"""Evaluates every congestion control and queue of the simulator. It writes the results
(docs/evidence/league.json), the page that compares all algorithms (docs/evidence/league.md), and a
page for each algorithm.

    python scripts/league.py --quick
    python scripts/league.py --quick --jobs 2 --out results/league

The script first makes the runs that are not stored. All runs are in one folder.
`scripts/generate.py --quick` writes the pages again from the data, without runs.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pages import EVIDENCE, league
from tailback import registry
from tailback.base import folders
from tailback.evaluate import suites
from tailback.evaluate.model import Evaluation, Request, SectionResult
from tailback.running.options import RunOptions

VARIANTS = {
    "cubic": ("cubic:slow_start=hystart++", "cubic:slow_start=search"),
    "bbr3": ("bbr3:draft=06",),
}
"""Algorithms with options. Each of them has its own column and its own page."""

FIRST = ("reno", "cubic", "dctcp", "prague", "fifo", "codel", "fq_codel", "pie", "fq_pie", "cake")
"""The algorithms of the first columns. The other algorithms follow in the order of the registry."""

REGISTRIES = {"cc": "cc", "queue": "aqm"}
"""The registry of the algorithms of each suite."""


def main() -> None:
    """Evaluate all algorithms and write data and pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten seeds and shorter runs")
    parser.add_argument("--jobs", type=int, help="runs at the same time")
    parser.add_argument("--out", type=Path, default=Path("results/league"))
    asked = parser.parse_args()
    run = RunOptions.of(out=asked.out, jobs=asked.jobs, progress=False)
    found = []
    for suite, kind in REGISTRIES.items():
        every = tuple(section for section, _ in suites.get(suite).sections())
        for name in subjects(kind):
            request = Request(name, run, quick=asked.quick, parts=every)
            found.append(suites.evaluate(suite, request))
    text = as_json(found, quick=asked.quick, date=datetime.now(UTC))
    (EVIDENCE / league.DATA).write_text(text, encoding="utf-8")
    folders.remove(EVIDENCE / league.FOLDER, inside=EVIDENCE)
    for path, page in league.pages(EVIDENCE).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(page, encoding="utf-8")


def subjects(kind: str) -> Iterator[str]:
    """Yield every algorithm of a registry, each followed by its variants."""
    names = [entry["name"] for entry in registry.entries(kind)]
    for name in sorted(names, key=lambda one: FIRST.index(one) if one in FIRST else len(FIRST)):
        yield name
        yield from VARIANTS.get(name, ())


def as_json(found: Sequence[Evaluation], *, quick: bool, date: datetime) -> str:
    """Return the data of the league as JSON, with a line for each section."""
    facts = {
        "command": "python scripts/league.py" + (" --quick" if quick else ""),
        "date": f"{date:%-d %B %Y}",
        "version": found[0].version,
        "quick": quick,
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in facts.items()]
    evaluations = []
    for one in found:
        rows = ",\n".join(json.dumps(row(section), ensure_ascii=False) for section in one.sections)
        head = json.dumps({"suite": one.suite, "subject": one.subject}).removesuffix("}")
        evaluations.append(f'{head}, "sections": [\n{rows}\n]}}')
    lines.append('"evaluations": [\n' + ",\n".join(evaluations) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def row(section: SectionResult) -> dict[str, Any]:
    """Return a section in the form of the data. It is the object that `evaluate --json` prints,
    with the number of seeds and the command."""
    words = shlex.split(section.command)
    seeds = int(words[words.index("--seeds") + 1]) if "--seeds" in words else None
    return {**section.to_dict(), "seeds": seeds, "command": section.command}


if __name__ == "__main__":
    main()
