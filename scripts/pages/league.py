"""Writes docs/evidence/league.md (the matrix of all algorithms and sections), the page of each
algorithm and QUIC stack, and docs/evidence/programs.md (the summary of the stacks). The data are in
docs/evidence/league.json, which `scripts/league.py` writes.

The pages are short. The site adds tables of every section, made from the same data by
`pages.verdicts`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pages import ROOT, causes
from pages.measured import in_full
from tailback.base.numbers import short
from tailback.evaluate import text
from tailback.evaluate.model import BAD, SectionResult
from tailback.evaluate.program import PREFIX

DATA = "league.json"
"""The name of the file with the data, in docs/evidence."""

FOLDER = "league"
"""The folder of the pages of algorithms, in docs/evidence."""

ECT1 = ("prague",)
"""The congestion controls that send ECT(1) without an option. RFC 9331 has requirements only for
these congestion controls."""

TITLES = {
    "cubic:slow_start=hystart++": "CUBIC with HyStart++",
    "cubic:slow_start=search": "CUBIC with SEARCH",
    "bbr3:draft=06": "bbr3 of draft 06",
    "program=scripts/programs/quinn-newreno.toml": "quinn with NewReno",
}
"""Titles of the pages of algorithms with options. The other titles are the names of algorithms and
stacks."""

MOST, FEW = 3, 2
"""The largest numbers of sections that the page of an algorithm lists as bad and as better."""

NOT_RUN = "not run"
"""The verdict of a section that could be run, but was not."""

MARKS = {"pass": "✓", "no worse": "✓", "undecided": "?", "not observable": "–", NOT_RUN: "·"}
"""Signs in the matrix for verdicts that are not bad."""

ENGINES = {"sim": "in the simulator", "kernel": "on Linux in the kernel engine"}
"""A phrase for a sentence that says where an engine runs scenarios, by engine."""

KINDS = {
    "cc": ("congestion-controls", "congestion control"),
    "queue": ("queues", "queue discipline"),
}
"""The folder of the reference pages of each suite, and what an algorithm of the suite is called."""

REFERENCES = {"cc": "CUBIC", "queue": "a FIFO"}
"""The reference with which each suite compares algorithms."""

REFERENCES_OF_ALL = ("cubic", "fifo")
"""The algorithms that are themselves the reference."""

STANDARDS = {"cc": "RFC 9743 and other sources", "queue": "RFC 7928 and other sources"}
"""The standards with the sections of each suite."""


@dataclass(frozen=True)
class Row:
    """The result of one section for one algorithm."""

    data: Mapping[str, Any]
    is_asked: bool
    """Whether the source of the section has requirements for the algorithm."""

    @property
    def id(self) -> str:
        """The section, such as 5.2.1 or L4S-rtt."""
        return str(self.data["id"])

    @property
    def verdict(self) -> str:
        """The verdict, as `tailback evaluate` prints it."""
        return str(self.data["verdict"])

    @property
    def is_bad(self) -> bool:
        """Whether the algorithm fails, or is worse than the reference, in a section that applies to
        it."""
        return self.is_asked and self.verdict in BAD

    @property
    def is_text_only(self) -> bool:
        """Whether the section requires a text from the algorithm's author, because no run can
        decide it."""
        return not self.data["scenario"] and str(self.data["note"]).startswith("Write ")

    @cached_property
    def section(self) -> SectionResult:
        """The section as an object of `tailback evaluate`. That command has no verdict *not
        run*."""
        verdict = "not observable" if self.verdict == NOT_RUN else self.verdict
        return SectionResult.from_dict({**self.data, "verdict": verdict})

    @property
    def number(self) -> str:
        """The measured value with its confidence interval, as text."""
        return text.number(self.section)

    @property
    def limit(self) -> str:
        """The bound as text, such as "< 0.05". Empty without a bound."""
        return self.section.limit

    @property
    def ratio(self) -> float | None:
        """The measured value divided by its bound, or its inverse for a lower bound. A result above
        1 means that the value is beyond the bound.
        """
        value, bound = self.data["value"], self.data["bound"]
        if value is None or not bound:
            return None
        if self.data["at_least"]:
            return float(bound / value) if value else 1e9
        return float(value / bound)

    @property
    def is_better(self) -> bool:
        """Whether the algorithm is better than the reference at every point, by more than the
        margin."""
        if self.verdict != "no worse" or self.data["value"] is None or not self.is_asked:
            return False
        high = self.data["value"] if self.data["ci95"] is None else self.data["ci95"][1]
        return bool(high < -self.data["bound"])


def label_of(name: str) -> str:
    """Return the name of an algorithm with its options, or the name of the file of a stack."""
    file = name.removeprefix(PREFIX)
    return name if file == name else Path(file).stem


@dataclass(frozen=True)
class Subject:
    """The evaluation of one algorithm or stack."""

    suite: str
    name: str
    """The algorithm with its options, or the stack, in the syntax of `tailback evaluate`."""
    rows: Sequence[Row]
    engine: str
    version: str
    date: str

    @property
    def is_stack(self) -> bool:
        """Whether this is a QUIC stack instead of an algorithm."""
        return self.name.startswith(PREFIX)

    @property
    def label(self) -> str:
        """The algorithm with its options, or the name of the stack's file."""
        return label_of(self.name)

    @property
    def entry(self) -> str:
        """The algorithm without options, or the stack's kind of program."""
        if not self.is_stack:
            return self.name.partition(":")[0]
        [program] = tomllib.loads((ROOT / self.name.removeprefix(PREFIX)).read_text())["programs"]
        return str(program["kind"])

    @property
    def slug(self) -> str:
        """The name of the algorithm's page."""
        if self.is_stack:
            return self.label
        values = re.sub(r"\w+=", " ", self.name.partition(":")[2])
        words = re.findall(r"[\w-]+", f"{self.entry} {values}")
        return "-".join(word.strip("-") for word in words if word.strip("-"))

    @property
    def short(self) -> str:
        """The heading of the algorithm's column: the name, with the values of its options."""
        if self.is_stack:
            return self.label
        return " ".join([self.entry, *re.findall(r"=([^,]+)", self.name)])

    @property
    def title(self) -> str:
        """The title of the algorithm's page."""
        return TITLES.get(self.name, self.label)

    @property
    def reference(self) -> str:
        """The algorithm with which the tested algorithm is compared."""
        return "Linux's CUBIC" if self.engine == "kernel" else REFERENCES[self.suite]

    @property
    def command(self) -> str:
        """The command that evaluates the tested algorithm alone, without `--quick`."""
        words = [f"tailback evaluate {self.suite} {self.name}"]
        if self.engine != "sim":
            words.append(f"--engine {self.engine} --seeds {self.seeds[0]}")
        elif self.is_stack:
            words.append(f"--with stacks/{self.entry}")
        return " ".join(words)

    @cached_property
    def seeds(self) -> list[int]:
        """The different numbers of seeds of the sections."""
        return sorted({row.data["seeds"] for row in self.rows if row.data["seeds"]})

    @cached_property
    def counts(self) -> Counter[str]:
        """Number of sections with each verdict, counting only sections that apply to the
        algorithm."""
        return Counter(row.verdict for row in self.rows if row.is_asked)

    @cached_property
    def bad(self) -> list[Row]:
        """The sections that the algorithm fails or in which it is worse. The sections farthest
        beyond their bound come first."""
        return sorted((r for r in self.rows if r.is_bad), key=lambda r: -(r.ratio or 0.0))

    @cached_property
    def better(self) -> list[Row]:
        """The sections in which the algorithm is better than the reference. The largest advantage
        comes first."""
        return sorted((r for r in self.rows if r.is_better), key=lambda r: r.ratio or 0.0)

    @cached_property
    def others(self) -> dict[tuple[str, str], list[str]]:
        """The sections that were measured with another version or on another day than most
        sections, by version and date."""
        found: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            if "version" in row.data:
                found.setdefault((row.data["version"], row.data["date"]), []).append(row.id)
        return found


@dataclass(frozen=True)
class League:
    """The data of all pages."""

    facts: Mapping[str, Any]
    subjects: Sequence[Subject]

    @classmethod
    def read(cls, evidence: Path) -> League:
        """Read league.json from docs/evidence."""
        data = json.loads((evidence / DATA).read_text(encoding="utf-8"))
        subjects = [
            Subject(
                one["suite"],
                one["subject"],
                [Row(row, _is_asked(one["subject"], row)) for row in one["sections"]],
                one["engine"],
                one["version"],
                one["date"],
            )
            for one in data["evaluations"]
        ]
        return cls({k: v for k, v in data.items() if k != "evaluations"}, subjects)

    def of(self, suite: str) -> list[Subject]:
        """Return the algorithms and stacks of a suite."""
        return [one for one in self.subjects if one.suite == suite]

    @property
    def dates(self) -> str:
        """The days on which the evaluations were made, in words."""
        found = {one.date for one in self.subjects}
        found |= {date for one in self.subjects for _, date in one.others}
        return " and ".join(sorted(found, key=lambda day: datetime.strptime(day, "%d %B %Y")))

    @property
    def stacks(self) -> list[Subject]:
        """The QUIC stacks."""
        return [one for one in self.subjects if one.is_stack]

    def named(self, entry: str, suite: str) -> list[Subject]:
        """Return the evaluations of an algorithm or kind of stack, with and without options."""
        return [one for one in self.of(suite) if one.entry == entry]


def _is_asked(subject: str, row: Mapping[str, Any]) -> bool:
    of_l4s = row["source"].startswith("RFC 9331")
    return not of_l4s or subject.partition(":")[0] in ECT1


def pages(evidence: Path) -> dict[Path, str]:
    """Return the text of each page by its path."""
    league = League.read(evidence)
    made = {evidence / "league.md": "\n".join(_league(league)) + "\n"}
    if league.stacks:
        made[evidence / STACKS_PAGE] = "\n".join(_stacks(league)) + "\n"
    for subject in league.subjects:
        made[evidence / FOLDER / f"{subject.slug}.md"] = "\n".join(_subject(league, subject)) + "\n"
    return made


def _league(league: League) -> Iterator[str]:
    facts = league.facts
    yield "# Evaluation of every algorithm\n"
    yield HEAD.format(quick=_quick(facts), data=DATA, command=facts["command"], dates=league.dates)
    for suite, (title, lead) in TABLES.items():
        subjects = league.of(suite)
        yield f"## {title}\n\n{lead}\n"
        yield from _table([one for one in subjects if not one.is_stack])
        stacks = [one for one in subjects if one.is_stack]
        if stacks:
            yield f"\n{STACKS_LEAD}"
            yield from _table(stacks)
        yield f"\n```{{verdicts}} {suite}\n```\n"
    yield "```{toctree}\n:hidden:\n"
    yield from (f"{one.title} <{FOLDER}/{one.slug}>" for one in league.subjects)
    yield "```"


def _table(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield a table with a row for each algorithm, or for each stack with its engine."""
    stacks = any(one.is_stack for one in subjects)
    first = "| stack | engine |" if stacks else "| algorithm |"
    yield f"{first} fail | worse | undecided | section farthest beyond its bound |"
    yield ("|---|---|" if stacks else "|---|") + "--:|--:|--:|---|"
    for one in subjects:
        counts = (str(one.counts[verdict]) for verdict in ("fail", "worse", "undecided"))
        engine = ["Linux" if one.engine == "kernel" else "simulator"] * stacks
        cells = [f"[{one.title}]({FOLDER}/{one.slug}.md)", *engine]
        yield f"| {' | '.join([*cells, *counts, _farthest(one)])} |"


def _stacks(league: League) -> Iterator[str]:
    yield "# QUIC stacks by RFC 9743\n"
    yield STACKS_HEAD.format(command=league.facts["command"], dates=league.dates)
    yield from _table(league.stacks)
    yield "\n## Causes\n"
    for one in league.stacks:
        known = causes.CAUSES.get(one.name, {})
        yield from (f"- **{one.title}, {section}**: {text}" for section, text in known.items())
    yield f"\n{PROBES}"
    yield "| stack | value [95 %] | at most 1 | at most 2 |\n|---|--:|---|---|"
    for one in league.stacks:
        for row in (row for row in one.rows if row.id == "5.1.1-loss"):
            yield f"| {one.title} | {row.number} | {row.verdict} | {_within(row, 2.0)} |"


def _within(row: Row, bound: float) -> str:
    """Return the verdict that a section would get if it had this upper bound."""
    if row.data["value"] is None:
        return row.verdict
    low, high = row.data["ci95"] or [row.data["value"]] * 2
    return "fail" if low > bound else "pass" if high <= bound else "undecided"


def _quick(facts: Mapping[str, Any]) -> str:
    return " with shorter runs (`--quick`)" if facts["quick"] else ""


def _farthest(subject: Subject) -> str:
    if not subject.bad:
        return "all values are within their bounds"
    row = subject.bad[0]
    title, value = row.data["title"], short(row.data["value"], 3)
    times = f", {short(row.ratio, 2)} times the bound" if row.ratio else ""
    return f"{row.id} {title} ({row.verdict}; the value is {value}{times})"


STACKS_PAGE = "programs.md"
"""The page that summarises the QUIC stacks."""

HEAD = """\
Which requirements of the standards does an algorithm meet? This page shows the verdicts of
[`tailback evaluate`](../how-to/evaluate.md) for every congestion control and queue discipline of
the simulator, and for [QUIC stacks](programs.md). `{command}` made the measurements{quick} on
{dates}. Each algorithm and each stack also has its own page, which begins with the results farthest
beyond their bounds. The page of an algorithm lists the value, scenario and seeds for each section
of the standard, and the version of the engine. The file [league.json]({data}) contains all values.

A verdict holds for one scenario and one margin. The margin is the largest allowed difference
between a value and its reference. If the RFC does not state a margin, tailback sets one. The
verdicts are not a ranking.

In the large tables, ✓ means *pass* or *no worse*, ? means *undecided*, – means *not observable*,
and · means *not run*. Each cell shows the measured value of a section, and links to the section's
row on the algorithm's page. The bound of a section is the limit for its value. If you click a
heading, the table is sorted by the measured value divided by its bound.
"""

STACKS_LEAD = """\
The next table shows [QUIC stacks](programs.md). quinn runs in the simulator. The other stacks run
on Linux in the kernel engine, where tailback compares them with Linux's CUBIC.
"""

STACKS_HEAD = """\
Which requirements of RFC 9743 do QUIC stacks meet with their own congestion controls? By default,
quic-go uses NewReno, and the other stacks use CUBIC. `{command}` measured the stacks on {dates}
with `tailback evaluate cc program=FILE`. [The evaluation of every algorithm](league.md) shows the
results of these stacks for every section. tailback runs each stack as [a
program](../how-to/evaluate.md#a-program), and compares it with CUBIC over TCP on the same engine.
The kernel engine runs only three seeds, so more sections are undecided than in the simulator.
"""

PROBES = """\
## Two bounds on the rate under rising loss

According to RFC 9743 section 5.1.1, a congestion control should reduce its rate to one packet per
round trip, and then send at longer and longer intervals. The section applies to every transport
protocol, so tailback also applies it to QUIC. But RFC 9002 section 6.2.4 lets a QUIC sender send
two datagrams at each probe timeout. The table shows the verdicts for a bound of one packet and for
a bound of two packets.
"""

TABLES = {
    "cc": (
        "Congestion controls",
        """\
*Worse* and *no worse* compare an algorithm with CUBIC in the same scenario. Only the sections whose
names begin with nsperf-ecn compare the algorithm with DCTCP. Sections about the effects on other
traffic measure harm. The value of such a section is the harm that the tested algorithm does to a
CUBIC or Reno flow, minus the harm that a second CUBIC or Reno flow does. The section numbers refer
to RFC 9743. Sections whose names begin with nsperf or L4S come [from other
sources](../how-to/evaluate.md#parts-from-other-sources). The L4S sections follow RFC 9331, whose
requirements apply only to congestion controls that send ECT(1), such as Prague. For other
congestion controls, the table shows the L4S sections but does not count them.""",
    ),
    "queue": (
        "Queue disciplines",
        """\
*Worse* and *no worse* compare a queue with a FIFO of one bandwidth-delay product. The section
numbers refer to RFC 7928. Sections whose names begin with L4S apply to dual queues.""",
    ),
}


def _subject(league: League, subject: Subject) -> Iterator[str]:
    counts = subject.counts
    decided = sum(counts[verdict] for verdict in ("fail", "worse", "pass", "no worse"))
    name = subject.title if subject.is_stack else subject.name
    left = counts[NOT_RUN]
    open_ = counts["undecided"]
    missing = f" {left} section{'s were' if left > 1 else ' was'} not run." if left else ""
    yield f"# {subject.title}: sections of the standards\n"
    yield (
        f"`tailback evaluate` tests {_what(subject)} against "
        f"{decided + counts['undecided']} sections of {STANDARDS[subject.suite]}. Of "
        f"these sections, {name} fails {counts['fail']}{_worse(subject)}. {open_} section"
        f"{' is' if open_ == 1 else 's are'} undecided."
        f"{missing} See [all algorithms](../league.md), and [what the verdicts and harm "
        "mean](../../how-to/evaluate.md).\n"
    )
    yield "## What stands out\n"
    yield from _standing_out(subject)
    yield "## Every section\n"
    yield f"```{{verdicts}} {subject.name}\n```\n"
    yield "## How it was measured\n"
    yield from _facts(league, subject)


def _what(subject: Subject) -> str:
    if subject.is_stack:
        link = f"../../reference/programs/{subject.entry}.md"
        return f"the QUIC stack [{subject.title}]({link}) {ENGINES[subject.engine]}"
    folder, kind = KINDS[subject.suite]
    return f"the {kind} [{subject.name}](../../reference/{folder}/{subject.entry}.md)"


def _worse(subject: Subject) -> str:
    if subject.name in REFERENCES_OF_ALL:
        return ", and is itself the reference for the other algorithms"
    return f", and is worse than {subject.reference} in {subject.counts['worse'] or 'none'}"


def _standing_out(subject: Subject) -> Iterator[str]:
    if subject.bad:
        for row in subject.bad[:MOST]:
            yield f"- {_sentence(row)}"
        left = len(subject.bad) - MOST
        more = f"{left} more section{'s' * (left != 1)} with the verdict fail or worse"
        yield "" if left <= 0 else f"- The table below shows {more}.\n"
    else:
        yield f"No section that applies to {subject.label} has the verdict *fail* or *worse*.\n"
    if subject.better:
        count = len(subject.better)
        yield (
            f"In {count} section{'s' * (count != 1)} {subject.label} is better than "
            f"{subject.reference} in every scenario, by more than the margin:\n"
        )
        yield from (f"- {_sentence(row)}" for row in subject.better[:FEW])
        yield ""
    known = causes.CAUSES.get(subject.name, {})
    if known:
        yield "Known causes:\n"
        yield from (f"- **{section}**: {text}" for section, text in known.items())
        yield ""


def _sentence(row: Row) -> str:
    data = row.data
    verdict, limit = (f" ({row.verdict})", f", must be {row.limit}") if row.is_bad else ("", "")
    note = f" {_worst(data['note'])}" if data["note"] else ""
    title = f"**{row.id} {data['title']}**{verdict}"
    measured = f"measured {row.number}{limit}"
    return f"{title}: {measured}. Measure: {in_full(data['measure'])}.{note}"


def _worst(note: str) -> str:
    """Return a sentence with the worst result of a section, and the settings that gave it."""
    settings, colon, values = note.removesuffix(".").partition(": ")
    if not colon:
        settings, values = "", settings
    values = re.sub(r", by (\S+)", r", harm by \1", values)
    if not settings:
        return f"The result is {values}."
    settings = re.sub(r"^to (\S+?)(?=,|$)", r"\1 as the incumbent", settings)
    settings = settings.replace("subject flow", "tested flow")
    settings = settings.replace("subject ", "tested algorithm's ")
    return f"The worst result, with {settings}, is {values}."


def _either(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} or {last}" if first else last


def _facts(league: League, subject: Subject) -> Iterator[str]:
    facts = league.facts
    command = subject.command
    quick = " --quick" if facts["quick"] else ""
    example = next(row.id for row in subject.rows if row.data["scenario"])
    what = "stack" if subject.is_stack else "algorithm"
    yield f"- **command**: `{facts['command']}`; this {what} alone: `{command}{quick}`"
    yield f"- **one section**: `{command}{quick} --part {example}`"
    yield f"- **date**: {subject.date}"
    engine = "simulator" if subject.engine == "sim" else "kernel engine"
    yield f"- **engine**: {engine}, version `{subject.version}`"
    for (version, date), sections in subject.others.items():
        yield f"- **other versions**: {', '.join(sections)} with `{version}` on {date}"
    yield (
        f"- **seeds**: {_either(subject.seeds)} for each scenario, beginning with seed 1; the "
        "table shows the number for each section"
    )
    conditions = (
        "shorter runs and fewer scenarios than without `--quick`; " if facts["quick"] else ""
    )
    yield (
        f"- **conditions**: {conditions}95 % intervals (Student's t over seeds) that hold for all "
        "scenarios of a section together"
    )
