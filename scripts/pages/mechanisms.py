"""Writes docs/evidence/mechanisms.md (what each mechanism changes in each experiment) and
docs/evidence/mechanisms-criteria.md (what it changes for every criterion) from the results of
scripts/mechanisms.py."""

from __future__ import annotations

import json
import math
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

SIGNIFICANT = 0.05
"""Largest probability of chance for a significant effect."""

COMMAND = "python scripts/mechanisms.py --out results/mechanisms"


@dataclass(frozen=True)
class Named:
    """A mechanism in words."""

    title: str
    cannot: str
    """Why a mechanism cannot change the results of an experiment."""


REJECTED = "tailback rejects the key in all scenarios"

MECHANISMS: Mapping[str, Named] = {
    "remembered": Named(
        "path metrics that hosts store for each destination (`metrics_save`, "
        "`ssthresh_metrics_save`)",
        "no connection begins after another connection has ended",
    ),
    "connections": Named("several web requests per connection (`reuse`)", "no web requests"),
    "prague-0.7": Named("Prague 0.7 instead of 0.6 (`version`)", "no flow uses Prague"),
    "bbr-bursts": Named(
        'bursts of BBR (`pacing = "gso"`)',
        "no flow uses BBR, or `path.offloads` already joins BBR's segments",
    ),
    "accecn-receiver": Named(
        "receiver of the L4S team's Linux 5.15 (`accecn_receiver`)", "no flow uses Accurate ECN"
    ),
    "host-jitter": Named("random delays in hosts (`host_jitter`)", REJECTED),
    "vm": Named('hosts that delay packets like virtual machines (`hosts = "vm"`)', REJECTED),
    "pauses": Named(
        'pauses of virtual machines that share processors (`hosts = "vm-shared"`)', REJECTED
    ),
    "offloads": Named("packets of several segments (`path.offloads`)", REJECTED),
    "shaper-burst": Named(
        'burst of the shaper (`burst = "tc"`)',
        "Cake is its own shaper, and marks on a schedule need no queue",
    ),
    "fq-pacing": Named(
        'pacing by the qdisc fq on the hosts (`pacing = "fq-gso"`)',
        "not tried: the publication does not name this queue",
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
    def effect(self) -> str:
        """Return "better" if significantly more values get better than worse, and "worse" in the
        opposite case. Otherwise return an empty text."""
        better, worse = self.total("better"), self.total("worse")
        if sign_test(better, worse) >= SIGNIFICANT:
            return ""
        return "better" if better > worse else "worse"


def sign_test(one: int, other: int) -> float:
    """Return the p value of the sign test. The p value is the probability of a difference at least
    as large as here, if each value is equally likely to increase either count."""
    total, least = one + other, min(one, other)
    tail = sum(math.comb(total, k) for k in range(least + 1)) * 0.5**total
    return min(1.0, 2 * tail)


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
        if "rows" in (found := entry["mechanisms"].get(mechanism, {}))
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
        Section(
            "summary",
            "Mechanism by mechanism",
            [Text(_SET_UPS), Text(_COLUMNS), _summary(every)],
        ),
        Section("method", "How it was measured", [Text(_method(data)), Text(_TURNED)]),
        Section("idle", "Where a mechanism does not act", [_idle(data)]),
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
        "Some mechanisms of the simulator were added after its results had been compared with "
        "publications. Do they make results better only in the experiments for which they were "
        "added? This page shows what each mechanism changes in all reproduced experiments. A "
        "*case* is one mechanism in one experiment. **The published set-ups use the mechanism in "
        f"{_sentence(own)} The published set-ups do not use the mechanism in {_sentence(other)}** "
        "*Better* means that the mechanism reduces the errors of significantly more comparisons "
        "than it increases."
    )


def _sentence(group: Sequence[Case]) -> str:
    counted = {word: _having(group, word) for word in ("better", "worse")}
    neither = len(group) - sum(map(len, counted.values()))
    return (
        f"{len(group)} cases. With the mechanism, results are better in {len(counted['better'])} "
        f"of these cases, worse in {len(counted['worse'])}, and neither in {neither}."
    )


def _having(group: Iterable[Case], effect: str) -> list[Case]:
    return [case for case in group if case.effect == effect]


_SET_UPS = """The set-ups follow the publications. Therefore a set-up may use a mechanism that makes
results worse, or omit a mechanism that would make results better. We changed two set-ups after we
had seen such effects of mechanisms. The publication of imc-bbr-2023 used virtual machines, so the
hosts of this experiment are now `vm`. The hosts of pam-2025-l4s pause, because without pauses the
results differ in many ways from the results of the publication's virtual machines. We calibrated
the frequency of the pauses with published rates. Therefore the row about pauses in pam-2025-l4s is
not an independent test."""

_COLUMNS = """Each row compares an experiment with and without a mechanism. *Better* counts the
comparisons whose errors the mechanism reduces by more than the noise. *Worse* counts the
comparisons whose errors the mechanism increases by more than the noise. *By chance* counts the
comparisons whose errors change by more than the noise if only the seeds change. A comparison that
belongs to several criteria counts once for each criterion. The last two columns count the criteria
that are met without and with the mechanism. [A separate page](mechanisms-criteria.md) shows the
errors for every criterion."""


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
            case.effect,
            f"{case.met('without')} of {len(case.rows)}",
            f"{case.met('with')} of {len(case.rows)}",
        ]
        for case in every
    ]
    columns = [
        *words("mechanism", "experiment"),
        *left("in the set-up"),
        *right("comparisons", "better", "worse", "by chance"),
        *left("significant effect"),
        *right("met without", "met with"),
    ]
    return Table("summary", "With a mechanism and without it", columns, rows)


def _method(data: Mapping[str, Any]) -> str:
    more = [f"{e['seeds']} in {name}" for name, e in data.items() if e["seeds"] > 1]
    seeds = "one seed each" + "".join(f" ({one})" for one in more)
    return (
        "Each experiment runs with the set-up of its page, but only with the scenarios that its "
        f"criteria need, and with {seeds}. In pam-2025-l4s, only the scenarios with a buffer of 2 "
        "BDP run, as with `--quick`. Then the experiment runs once for each mechanism, with the "
        "same seeds. This run switches the mechanism off if the published set-up uses the "
        "mechanism, and on if the set-up does not use it. The command checks that the change "
        "reaches every run. Numbers from one seed differ from the numbers on the experiment's "
        "page. To measure the noise of a criterion, the published set-up runs once more with other "
        "seeds. The noise is the 95th percentile of the resulting changes of the errors. Some "
        "criteria only count values, for example the number of true claims. These criteria have no "
        "noise, so every change counts. An effect is significant if a sign test of the better and "
        "worse comparisons gives a p-value below 5 %. The comparisons of an experiment depend on "
        "each other, so this test is only a rough rule."
    )


_TURNED = """A set-up without jitter also runs with a `host_jitter` of `100us`. A scenario with
`hosts = "vm"` has no `host_jitter`. All hosts of a scenario are of one kind. Therefore hosts with
pauses do not delay packets in other ways. In pam-2025-l4s, Prague 0.6 stores alpha with 24 bits, as
in the earlier set-up with Prague 0.6. Prague 0.7 does not support the options `window`, `pace` and
`min_burst` of other set-ups, so the runs with Prague 0.7 omit these options."""


def _idle(data: Mapping[str, Any]) -> Table:
    """List the experiments in which a mechanism changes no scenario, or not all of them."""
    rows: list[list[Value]] = []
    for mechanism, named in MECHANISMS.items():
        found = {name: entry["mechanisms"].get(mechanism, {}) for name, entry in data.items()}
        none = [name for name, one in found.items() if not one.get("changed")]
        if none:
            rows.append([named.title, ", ".join(none), "all", named.cannot])
        for name, one in found.items():
            if name in none:
                continue
            if kept := one["scenarios"] - one["changed"]:
                why = "tailback rejects the key" if one["rejected"] else named.cannot
                rows.append([named.title, name, f"{kept} of {one['scenarios']}", why])
    columns = [*words("mechanism"), *left("experiments"), *right("scenarios"), *words("why")]
    return Table("idle", "Scenarios that stay as published", columns, rows)


_FIXED = """You cannot switch off the corrections in this table with a key of a scenario. The table
compares the published criteria before and after each correction, with the seeds of the experiments'
pages. `python scripts/mechanisms.py --corrections` reads these criteria from the history of
`goals.csv`. In dualpi2-2022, the correction of the first delayed ACK includes another correction:
the ECN flow beside Reno now uses CUBIC. One correction affects only the kernel engine: it changes
the headers of merged packets. Two corrections are older than the published criteria. The pages of
[imc-bbr-2023](imc-bbr-2023.md) (compressed ACKs) and [l4s-tests-2020](l4s-tests-2020.md) (the
option of Accurate ECN in data segments) describe the effects of these two corrections."""


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
        "This page shows the errors of every criterion with and without each mechanism. [Another "
        f"page]({PAGE}) summarises these errors, and explains how we measured them. A comparison "
        "counts as better or worse if its error changes by more than the noise. The column *by "
        "chance* counts the comparisons whose errors change by more than the noise if only the "
        "seeds change."
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
