"""Writes docs/evidence/mechanisms.md (what each mechanism changes in each experiment) and
docs/evidence/mechanisms-criteria.md (the same for every criterion) from the results of
scripts/mechanisms.py."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.report import Report, Section, Table, Text, Value, to_markdown
from tailback.report.tables import left, right, words
from tailback_studies.reproduction.shown import size

DATA = "mechanisms.json"
"""The results of the runs, in docs/evidence."""

CORRECTIONS = "corrections.json"
"""The effects of corrections that have no key in a scenario, in docs/evidence."""

PAGE, CRITERIA = "mechanisms.md", "mechanisms-criteria.md"

COMMAND = "python scripts/mechanisms.py --out results/mechanisms"


@dataclass(frozen=True)
class Named:
    """A mechanism in words."""

    title: str
    cannot: str
    """Why a mechanism cannot change the results of an experiment."""


MECHANISMS: Mapping[str, Named] = {
    "remembered": Named(
        "hosts remember the RTT and ssthresh of a destination (`metrics_save`, "
        "`ssthresh_metrics_save`)",
        "no connection begins after another connection has ended",
    ),
    "connections": Named("web requests share connections (`reuse`)", "there are no web requests"),
    "prague-0.7": Named(
        "version 0.7 of Prague instead of version 0.6 (`version`, `alpha_bits`)",
        "no flow uses Prague",
    ),
    "bbr-bursts": Named(
        'BBR sends the segments of 1 ms together (`pacing = "gso"`)',
        "no flow uses BBR, or `path.offloads` already joins BBR's segments",
    ),
    "accecn-receiver": Named(
        "receivers acknowledge ECN-capable segments as in the L4S team's Linux 5.15 "
        "(`accecn_receiver`)",
        "no flow uses Accurate ECN",
    ),
    "host-jitter": Named(
        "hosts delay each packet at random (`host_jitter`)", "tailback rejects the key there"
    ),
    "vm": Named(
        'hosts hold packets as virtual machines do (`hosts = "vm"`)',
        "tailback rejects the key there",
    ),
    "offloads": Named(
        "packets of several segments (`path.offloads`)", "tailback rejects the key there"
    ),
    "shaper-burst": Named(
        'the shaper has the burst that tc computes (`burst = "tc"`)',
        "Cake shapes by itself",
    ),
    "fq-pacing": Named(
        'the queue fq of the hosts paces all flows (`pacing = "fq-gso"`)',
        "tailback rejects the key there",
    ),
}

CORRECTED: Mapping[str, str] = {
    "codel": "first dropping phase of CoDel",
    "delayed-ack": "first delayed ACK of a receiver",
    "iperf": "goodput as iperf 3.1.3 counts it",
    "bbr2": "BBRv2 from its own source code, instead of BBRv3 with constants of BBRv2",
}
"""The corrections that have no key, in words."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """The effects of a mechanism in an experiment."""

    mechanism: str
    experiment: str
    used: bool
    """Whether the published set-up uses the mechanism."""
    changed: int
    scenarios: int
    rejected: int
    rows: Sequence[Row]
    """A row for each criterion."""

    def total(self, key: str) -> int:
        """Return the sum of a count over all criteria."""
        return sum(row[key] for row in self.rows)

    def met(self, side: str) -> int:
        """Return the number of criteria that are met with or without the mechanism."""
        return sum(row[side]["holds"] for row in self.rows)

    @property
    def moves(self) -> bool:
        """Whether the mechanism changes more values than other seeds do."""
        return self.total("better") + self.total("worse") > self.total("chance")

    @property
    def verdict(self) -> str:
        """What the mechanism does to the errors, in one word."""
        gain = self.total("better") - self.total("worse")
        if not self.moves or not gain:
            return "neutral"
        return "better" if gain > 0 else "worse"


def cases(evidence: Path) -> list[Case]:
    """Return the cases in which a mechanism can change results, in the order of the table."""
    data = _read(evidence, DATA)
    return [
        Case(
            mechanism,
            experiment,
            *(found[key] for key in ("used", "changed", "scenarios", "rejected", "rows")),
        )
        for mechanism in MECHANISMS
        for experiment, entry in data.items()
        if "rows" in (found := entry["mechanisms"][mechanism])
    ]


def _read(evidence: Path, name: str) -> Any:
    return json.loads((evidence / name).read_text(encoding="utf-8"))


def pages(evidence: Path) -> dict[Path, str]:
    """Return both pages by their paths."""
    data, corrections = _read(evidence, DATA), _read(evidence, CORRECTIONS)
    every = cases(evidence)
    return {
        evidence / PAGE: _page(data, every, corrections),
        evidence / CRITERIA: _criteria_page(data, every, corrections),
    }


# --- summary -------------------------------------------------------------------------------------


def _page(data: Mapping[str, Any], every: Sequence[Case], corrections: Sequence[Row]) -> str:
    sections = [
        Section("summary", "Mechanism by mechanism", [Text(_COLUMNS), _summary(every)]),
        Section("method", "How it was measured", [Text(_method(data))]),
        Section("cannot", "Where a mechanism cannot act", [Text(_cannot(data))]),
        Section("corrections", "Corrections without a key", [Text(_FIXED), _fixed(corrections)]),
    ]
    report = Report("", "What each mechanism changes", _lead(every), _facts(data), sections)
    return to_markdown(report)


def _facts(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines below the title. Experiments may be measured at different revisions."""
    dates, revisions = (
        ", ".join(dict.fromkeys(entry[key] for entry in data.values()))
        for key in ("date", "revision")
    )
    return [
        ("command", COMMAND),
        ("revision", revisions),
        ("date", dates),
        ("engine", f"sim {', '.join(dict.fromkeys(e['engine'] for e in data.values()))}"),
    ]


def _lead(every: Sequence[Case]) -> str:
    own, other = ([case for case in every if case.used is used] for used in (True, False))
    return (
        "Some mechanisms were added to the simulator after results had been compared with "
        "publications. Do they make results better only where they were looked for? This page "
        "shows what each mechanism changes in all reproduced experiments. "
        f"{_sentence(own, 'The set-ups use a mechanism in')} "
        f"{_sentence(other, 'They do not use it in')} "
        "The set-ups follow the publications and were not changed because of these numbers. "
        f"[A separate page]({CRITERIA}) shows the errors for every criterion."
    )


def _sentence(group: Sequence[Case], begin: str) -> str:
    count = dict.fromkeys(("better", "worse", "neutral"), 0)
    for case in group:
        count[case.verdict] += 1
    return (
        f"{begin} {len(group)} of the cases below. There, the mechanism makes the errors "
        f"smaller in {count['better']} cases and larger in {count['worse']}; in "
        f"{count['neutral']} it changes no more values than other seeds do, or as many for the "
        "better as for the worse."
    )


_COLUMNS = """Each row compares an experiment with and without a mechanism. *Better* counts the
comparisons whose errors are smaller with the mechanism, and *worse* those whose errors are larger,
both by more than the noise. *By chance* counts the comparisons that other seeds alone change by
more than the noise. A comparison that belongs to several criteria counts once for each. The last
columns show how many criteria are met. Values with one seed differ slightly from the experiment's
page."""


def _summary(every: Sequence[Case]) -> Table:
    rows: list[list[Value]] = [
        [
            MECHANISMS[case.mechanism].title,
            f"[{case.experiment}]({case.experiment}.md)",
            "yes" if case.used else "no",
            case.total("cells"),
            case.total("better"),
            case.total("worse"),
            case.total("chance"),
            f"{case.met('without')} of {len(case.rows)}",
            f"{case.met('with')} of {len(case.rows)}",
        ]
        for case in every
    ]
    columns = [
        *words("mechanism", "experiment"),
        *left("in the set-up"),
        *right("comparisons", "better", "worse", "by chance", "met without", "met with"),
    ]
    return Table("summary", "With a mechanism and without it", columns, rows)


def _method(data: Mapping[str, Any]) -> str:
    seeds = {name: entry["seeds"] for name, entry in data.items()}
    usual = min(seeds.values())
    more = [f"{name} has {count} seeds" for name, count in seeds.items() if count != usual]
    return (
        "Every experiment runs as on its page, but only the scenarios that a criterion needs, "
        f"and with {usual} seed each ({', '.join(more)}). It then runs once for each "
        "mechanism, with the same seeds: without the mechanism if the set-up uses it, and with it "
        "otherwise. The command checks that the change reaches every run: the run's id, which "
        "depends on everything that can change results, must differ.\n\n"
        "The noise of a criterion comes from a second run of the published set-up with other "
        "seeds. It is the 95th percentile of the changes of the errors between both. A criterion "
        "that only counts values, such as claims that hold, has no noise: each change counts. "
        'If the set-up has no jitter, `host_jitter` is "100us". Turned off, `version` is "0.6" '
        "with `alpha_bits = 24`. All results are from the simulator."
    )


def _cannot(data: Mapping[str, Any]) -> str:
    """List the experiments in which a mechanism changes no scenario, or not all of them."""
    idle, partly = [], []
    for mechanism, named in MECHANISMS.items():
        found = {name: entry["mechanisms"][mechanism] for name, entry in data.items()}
        none = [name for name, one in found.items() if not one["changed"]]
        if none:
            idle.append(f"- {named.title}: {named.cannot} ({', '.join(none)}).")
        for name, one in found.items():
            kept, rejected = one["scenarios"] - one["changed"], one["rejected"]
            if kept and one["changed"]:
                why = f", because tailback rejects {rejected} of them" * bool(rejected)
                partly.append(
                    f"- {named.title}: {kept} of the {one['scenarios']} scenarios of {name}{why}."
                )
    parts = [
        "The command checks each scenario. A mechanism cannot act in these experiments:",
        "\n".join(idle),
    ]
    if partly:
        parts += ["Some scenarios of these experiments stay as published:", "\n".join(partly)]
    return "\n\n".join(parts)


_FIXED = """These corrections have no key that turns them off. The table compares the published
criteria before and after each correction, with the seeds of the pages.
`python scripts/mechanisms.py --corrections` reads them from the history of `goals.csv`. In
dualpi2-2022, another correction came with the first delayed ACK: the flow with ECN beside Reno is
CUBIC. A correction of the headers of joined packets concerns only the kernel engine. Two
corrections are older than the published criteria, and their effects are on the pages of
[imc-bbr-2023](imc-bbr-2023.md) (compressed ACKs) and [l4s-tests-2020](l4s-tests-2020.md) (the
option of Accurate ECN in data segments)."""


def _fixed(corrections: Iterable[Row]) -> Table:
    rows: list[list[Value]] = []
    for one in corrections:
        smaller, larger = _medians(one["rows"])
        met = [sum(row[side]["holds"] for row in one["rows"]) for side in ("without", "with")]
        rows.append(
            [
                CORRECTED[one["correction"]],
                one["experiment"],
                one["before"],
                one["after"],
                len(one["rows"]),
                smaller,
                larger,
                *met,
            ]
        )
    columns = [
        *left("correction", "experiment", "revision before", "revision after"),
        *right("criteria", "smaller median error", "larger", "met before", "met after"),
    ]
    return Table("corrections", "Before and after a correction", columns, rows)


def _medians(rows: Iterable[Row]) -> tuple[int, int]:
    """Count the criteria whose median error got smaller and larger."""
    pairs = [
        (row["without"]["median"], row["with"]["median"])
        for row in rows
        if row["without"]["median"] is not None
    ]
    return sum(b < a for a, b in pairs), sum(b > a for a, b in pairs)


# --- every criterion -----------------------------------------------------------------------------


def _criteria_page(
    data: Mapping[str, Any], every: Sequence[Case], corrections: Sequence[Row]
) -> str:
    lead = (
        f"This page shows the errors of every criterion with and without each mechanism. [Another "
        f"page]({PAGE}) summarises them, and explains how they were measured. A change is better "
        "or worse if it is larger than the noise. The column *by chance* counts the comparisons "
        "that other seeds alone change by more than the noise."
    )
    sections = [
        Section("criteria", "Mechanisms", [_criteria(every)]),
        Section("corrections", "Corrections without a key", [_fixed_criteria(corrections)]),
    ]
    title = "What each mechanism changes: every criterion"
    return to_markdown(Report("", title, lead, _facts(data), sections))


def _criteria(every: Sequence[Case]) -> Table:
    rows: list[list[Value]] = [
        [
            MECHANISMS[case.mechanism].title,
            case.experiment,
            "yes" if case.used else "no",
            row["criterion"],
            row["cells"],
            *_sides(row),
            row["better"],
            row["worse"],
            row["chance"],
            size(row["noise"], row["error"], ".3g"),
        ]
        for case in every
        for row in case.rows
    ]
    columns = [
        *words("mechanism"),
        *left("experiment", "in the set-up", "criterion"),
        *right("comparisons", *_SIDES, "better", "worse", "by chance", "noise"),
    ]
    return Table("criteria", "Errors without and with a mechanism", columns, rows)


_SIDES = (
    "median error without",
    "with",
    "90th percentile without",
    "with",
    "met without",
    "with",
)


def _sides(row: Row) -> Iterator[Value]:
    for key in ("median", "p90"):
        for side in ("without", "with"):
            yield size(row[side][key], row["error"], ".3g")
    for side in ("without", "with"):
        yield "yes" if row[side]["holds"] else "no"


def _fixed_criteria(corrections: Iterable[Row]) -> Table:
    rows: list[list[Value]] = [
        [
            CORRECTED[one["correction"]],
            one["experiment"],
            row["criterion"],
            row["cells"],
            *_sides(row),
        ]
        for one in corrections
        for row in one["rows"]
    ]
    columns = [
        *left("correction", "experiment", "criterion"),
        *right("comparisons", *_SIDES),
    ]
    return Table("corrections", "Errors without and with a correction", columns, rows)
