"""Evaluates every congestion control and queue of the simulator, and QUIC stacks. The script writes
the results (docs/evidence/league.json), the page that compares all algorithms
(docs/evidence/league.md), and a page for each algorithm and stack.

    python scripts/league.py --quick
    python scripts/league.py --quick --jobs 2 --out results/league
    python scripts/league.py --quick --only quic-go --only cubic --part 5.2.1

The script first executes the runs that are not stored yet. All runs are in one folder. Results are
written after each algorithm, so that the same command resumes after an interruption. With `--only`
and `--part`, all other results stay as they are.

The files of the stacks are in scripts/programs. The kernel engine needs `tailback kernel build`,
and `tailback kernel build --program NAME` for each stack. Without these programs, the stacks keep
their earlier results. `scripts/generate.py --quick` writes the pages again from the data, without
runs.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pages import EVIDENCE, league
from tailback import registry
from tailback.base import folders
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.evaluate import cc, suites
from tailback.evaluate.model import Evaluation, Request, SectionResult
from tailback.kernel import kit
from tailback.kernel.programs import built
from tailback.running.options import RunOptions

VARIANTS = {
    "cubic": ("cubic:slow_start=hystart++", "cubic:slow_start=search"),
    "bbr3": ("bbr3:draft=06",),
}
"""Algorithms with options. Each algorithm with options has its own column and its own page."""

FIRST = ("reno", "cubic", "dctcp", "prague", "fifo", "codel", "fq_codel", "pie", "fq_pie", "cake")
"""The algorithms of the first columns. The other algorithms follow in the order of the registry."""

REGISTRIES = {"cc": "cc", "queue": "aqm"}
"""The registry of the algorithms of each suite."""


@dataclass(frozen=True)
class Entrant:
    """An algorithm or a stack, and how the league evaluates it."""

    suite: str
    name: str
    """The name in the syntax of `tailback evaluate`."""
    engine: str = "sim"
    seeds: int | None = None
    """Number of seeds. None means the number that each section defines."""
    plugins: tuple[str, ...] = ()
    not_run: Mapping[str, str] = field(default_factory=dict)
    """Why sections are not run, by section."""

    @property
    def key(self) -> tuple[str, str]:
        """The suite and the name, which identify the algorithm in the data."""
        return self.suite, self.name

    @property
    def label(self) -> str:
        """The name that `--only` accepts. For a stack, this name is the name of the stack's
        file."""
        return league.label_of(self.name)

    def sections(self) -> list[str]:
        """Return the sections that are run."""
        known = (section for section, _ in suites.get(self.suite).sections())
        return [section for section in known if section not in self.not_run]


_L4S = {
    one.id: "the stack sends no ECT(1), so RFC 9331 has no requirements for it"
    for one in cc.ASKED
    if one.id.startswith("L4S")
}

_NSPERF = {
    one.id: "nsperf's experiments are not part of RFC 9743, and most of them send 1 Gbit/s"
    for one in cc.ASKED
    if one.id not in _L4S
}

STACKS = (
    *(
        Entrant(
            "cc",
            f"program=scripts/programs/{name}.toml",
            plugins=("stacks/quinn",),
            not_run=_L4S,
        )
        for name in ("quinn", "quinn-newreno")
    ),
    *(
        Entrant(
            "cc",
            f"program=scripts/programs/{name}.toml",
            engine="kernel",
            seeds=3,
            not_run={**_L4S, **_NSPERF},
        )
        for name in ("quic-go", "s2n-quic", "quiche")
    ),
)
"""The QUIC stacks. Stacks on the kernel engine run with three seeds, because the kernel engine
takes far more CPU time."""


def main() -> None:
    """Evaluate the requested algorithms, and write data and pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten seeds and shorter runs")
    parser.add_argument("--only", action="append", metavar="NAME", help="an algorithm or a stack")
    parser.add_argument("--part", action="append", metavar="SECTION", help="only this section")
    parser.add_argument("--jobs", type=int, help="runs at the same time")
    parser.add_argument("--out", type=Path, default=Path("results/league"))
    asked = parser.parse_args()
    every = list(entrants())
    labels = [one.label for one in every]
    for name in asked.only or ():
        if name not in labels:
            parser.error(unknown("algorithm or stack", name, labels))
    every_section = {
        section: None for suite in REGISTRIES for section, _ in suites.get(suite).sections()
    }
    try:
        parts_asked = suites.selected(list(every_section), asked.part or list(every_section))
    except InputError as error:
        parser.error(str(error))
    facts = read()
    stored = {(one["suite"], one["subject"]): one for one in facts.get("evaluations", [])}
    if stored and (asked.only or asked.part) and facts["quick"] != asked.quick:
        which = "with" if facts["quick"] else "without"
        parser.error(f"the other results were measured {which} --quick; run {which} it too")
    for one in every:
        if asked.only and one.label not in asked.only:
            continue
        parts = [section for section in one.sections() if section in parts_asked]
        if not parts:
            continue
        if one.engine == "kernel" and one.key in stored and (missing := unavailable(one)):
            print(f"{one.label} keeps its results: {missing}", file=sys.stderr)
            continue
        options = RunOptions.of(
            seeds=one.seeds,
            engine=one.engine,
            plugins=one.plugins,
            out=asked.out,
            jobs=asked.jobs,
            progress=False,
        )
        request = Request(one.name, options, quick=asked.quick, parts=tuple(parts))
        found = suites.evaluate(one.suite, request)
        stored[one.key] = merged(stored.get(one.key), found, one, datetime.now(UTC))
        kept = [stored[entrant.key] for entrant in every if entrant.key in stored]
        text = as_json(kept, quick=asked.quick)
        (EVIDENCE / league.DATA).write_text(text, encoding="utf-8")
    folders.remove(EVIDENCE / league.FOLDER, inside=EVIDENCE)
    for path, page in league.pages(EVIDENCE).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(page, encoding="utf-8")


def read() -> dict[str, Any]:
    """Return the stored data, or an empty result if the league was never run."""
    file = EVIDENCE / league.DATA
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def unavailable(one: Entrant) -> str:
    """Return why a stack cannot run (the kernel or its program is not built), or an empty text if
    it can run."""
    try:
        kit.current()
        built.find(one.label)
    except InputError as error:
        return str(error)
    return ""


def entrants() -> Iterator[Entrant]:
    """Yield every algorithm and every stack, in the order of the columns."""
    for suite, kind in REGISTRIES.items():
        yield from (Entrant(suite, name) for name in subjects(kind))
        yield from (one for one in STACKS if one.suite == suite)


def subjects(kind: str) -> Iterator[str]:
    """Yield every algorithm of a registry, each followed by its variants."""
    names = [entry["name"] for entry in registry.entries(kind)]
    for name in sorted(names, key=lambda one: FIRST.index(one) if one in FIRST else len(FIRST)):
        yield name
        yield from VARIANTS.get(name, ())


def merged(
    before: Mapping[str, Any] | None, found: Evaluation, entrant: Entrant, date: datetime
) -> dict[str, Any]:
    """Return an evaluation as an entry of league.json. Sections that were not evaluated now keep
    their earlier results.

    An evaluation has a `version` and a `date`. A section that was measured with another version or
    on another day has its own version and date.
    """
    now = {"version": found.version, "date": f"{date:%-d %B %Y}"}
    new = {section.id: row(section) for section in found.sections}
    old = {one["id"]: one for one in before["sections"]} if before else {}
    order = [section for section, _ in suites.get(entrant.suite).sections()]
    facts = now
    if before is not None and not set(entrant.sections()) <= set(new):
        facts = {key: before[key] for key in now}
    rows = []
    for section in order:
        if section in new:
            own = {} if facts == now else now
            rows.append({**new[section], **own})
        elif section in entrant.not_run:
            rows.append(not_run(section, entrant.not_run[section]))
        elif section in old:
            rows.append(old[section])
    return {
        "suite": entrant.suite,
        "subject": entrant.name,
        "engine": entrant.engine,
        **facts,
        "sections": rows,
    }


def not_run(section: str, why: str) -> dict[str, Any]:
    """Return the row of a section that is not run."""
    [criterion] = [one for one in (*cc.CRITERIA, *cc.ASKED) if one.id == section]
    return {**row(criterion.unsupported(why)), "verdict": league.NOT_RUN}


def as_json(evaluations: Iterable[Mapping[str, Any]], *, quick: bool) -> str:
    """Return the data of the league as JSON, with a line for each section."""
    facts = {"command": "python scripts/league.py" + (" --quick" if quick else ""), "quick": quick}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in facts.items()]
    texts = []
    for one in evaluations:
        rows = ",\n".join(json.dumps(section, ensure_ascii=False) for section in one["sections"])
        head = {key: value for key, value in one.items() if key != "sections"}
        texts.append(f'{json.dumps(head).removesuffix("}")}, "sections": [\n{rows}\n]}}')
    lines.append('"evaluations": [\n' + ",\n".join(texts) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def row(section: SectionResult) -> dict[str, Any]:
    """Return the object of a section as in `evaluate --json`, with the number of seeds and the
    command added."""
    words = shlex.split(section.command)
    seeds = int(words[words.index("--seeds") + 1]) if "--seeds" in words else None
    return {**section.to_dict(), "seeds": seeds, "command": section.command}


if __name__ == "__main__":
    main()
