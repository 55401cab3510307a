"""Measures what each mechanism of the simulator changes in all reproduced experiments. The script
writes docs/evidence/mechanisms.json and the page that is made from this file.

    python scripts/mechanisms.py --out results/mechanisms
    python scripts/mechanisms.py --out results/mechanisms --jobs 2 --only bbr-bursts
    python scripts/mechanisms.py --corrections

A mechanism is a part of the simulator that was added after results were compared with publications.
Every experiment runs as published, and once more for each mechanism: without the mechanism if the
experiment uses it, and with it otherwise. All runs are in one folder, and results are written after
each experiment, so that the same command resumes after an interruption.

`--corrections` reads the effects of corrections that have no key in a scenario from the history of
the published criteria. `--corrections` needs git and the whole history, and makes no runs.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pages import EVIDENCE, ROOT, mechanisms
from tailback.base.names import unknown
from tailback.base.revision import revision
from tailback.errors import ScenarioError, ScenarioWarning
from tailback.metrics.statistics import nearest_rank
from tailback.running import engines
from tailback.running.batch import Job, run_jobs
from tailback.running.options import RunOptions
from tailback.running.scenarios import load, texts
from tailback.store.results import Results
from tailback_studies import experiments
from tailback_studies.reproduction.experiment import Reproduction, Request, Study
from tailback_studies.reproduction.judges import FILE, Judge, from_csv
from tailback_studies.reproduction.sources import set_value

Scenario = dict[str, Any]

EXPERIMENTS: Mapping[str, tuple[str, ...]] = {
    "abe-2017": (
        *(f"experiment-{n}" for n in (1, 2, 3, 4)),
        "equal-probability",
        "experiment-6",
        "experiment-7",
    ),
    "ccafct-2020": (),
    "dctcp-internet-2014": ("table1",),
    "dualpi2-2022": ("mixed-rtt", "overload"),
    "imc-bbr-2023": (),
    "l4s-tests-2020": ("s1", "s6"),
    "pam-2025-l4s": (),
    "sce-2019": (),
}
"""The reproduced experiments that have criteria, each with the parts that have criteria. An
experiment without parts runs as a whole."""

QUICK = frozenset({"pam-2025-l4s"})
"""The experiments of which only the scenarios of `--quick` run, because they have many scenarios.
In pam-2025-l4s, these are the published rows with a buffer of 2 BDP."""

SEEDS: Mapping[str, int] = {"ccafct-2020": 5}
"""Number of seeds of each scenario, for experiments that need more than one seed. The harm of
ccafct-2020 has an interval, which needs all seeds of the published page."""

NOISE = 0.95
"""The share of the differences between two sets of seeds that counts as noise."""


# --- mechanisms ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mechanism:
    """A part of the simulator that can be turned on and off in a scenario."""

    id: str
    concerns: Callable[[Scenario], bool]
    """Returns whether switching the mechanism can change the results of a scenario."""
    used: Callable[[Scenario], bool]
    """Returns whether a scenario uses the mechanism."""
    turn: Callable[[Scenario, bool], None]
    """Turns the mechanism on or off, in place."""

    def turned(self, scenario: Scenario) -> Scenario | None:
        """Return a copy of a scenario in which the mechanism is switched: off if it was on, and on
        if it was off. Return None if the mechanism cannot change the results of this scenario."""
        if not self.concerns(scenario):
            return None
        out = copy.deepcopy(scenario)
        self.turn(out, not self.used(scenario))
        return out


def flows_of(scenario: Scenario, *names: str) -> list[dict[str, Any]]:
    """Return the flows with these congestion controls. Raise an error if a sweep chooses one of
    these congestion controls. In this case, a change of the flow's table would not reach all
    runs."""
    sweep = scenario.get("sweep", {})
    axes = [sweep, *sweep.get("zip", [])]
    swept = (value for axis in axes for key in axis if key.endswith(".cc") for value in axis[key])
    if any(_name(value) in names for value in swept):
        raise ValueError(f"{scenario['title']}: a sweep chooses one of {', '.join(names)}")
    return [flow for flow in scenario.get("flows", []) if _name(flow.get("cc")) in names]


def _name(cc: Any) -> str:
    return str(cc["name"] if isinstance(cc, Mapping) else cc)


def _always(_scenario: Scenario) -> bool:
    return True


def _value(scenario: Scenario, path: str) -> Any:
    found: Any = scenario
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _requests(scenario: Scenario) -> list[dict[str, Any]]:
    return [source for source in scenario.get("traffic", []) if source["kind"] == "web"]


# Memory. A host's memory of ended connections can affect only connections that begin later.


def _successive(scenario: Scenario) -> bool:
    flows = scenario.get("flows", [])
    ends = any("stop" in flow or "bytes" in flow for flow in flows)
    return bool(_requests(scenario)) or (ends and len(flows) > 1)


_MEMORY = ("metrics_save", "ssthresh_metrics_save")


def _stacks(scenario: Scenario) -> Iterator[dict[str, Any]]:
    for one in (*scenario.get("flows", []), *_requests(scenario)):
        yield one.setdefault("tcp", {})


def _remembers(scenario: Scenario) -> bool:
    every = (*scenario.get("flows", []), *_requests(scenario), scenario)
    return any(one.get("tcp", {}).get(_MEMORY[0]) for one in every)


def _remember(scenario: Scenario, on: bool) -> None:
    for tcp in _stacks(scenario):
        tcp.update(dict.fromkeys(_MEMORY, on))


def _share(scenario: Scenario, on: bool) -> None:
    for source in _requests(scenario):
        source["reuse"] = on
        if not on:
            for key in ("idle", "collect"):
                source.pop(key, None)


# Prague. Version 0.7 of Prague does not have the options that earlier commits of version 0.6 need.

_ONLY_EARLIER = ("window", "pace", "min_burst")


def _prague(scenario: Scenario) -> list[dict[str, Any]]:
    return flows_of(scenario, "prague")


def _is_later(scenario: Scenario) -> bool:
    return any(_value(flow, "cc.version") == "0.7" for flow in _prague(scenario))


def _version(scenario: Scenario, on: bool) -> None:
    for flow in _prague(scenario):
        cc = flow["cc"] if isinstance(flow["cc"], dict) else {"name": flow["cc"]}
        if on:
            kept = {key: value for key, value in cc.items() if key not in _ONLY_EARLIER}
            flow["cc"] = {**kept, "version": "0.7"}
        else:
            flow["cc"] = {**cc, "version": "0.6", "alpha_bits": 24}


# Bursts of BBR. With `path.offloads`, packets of several segments are the bursts.


def _bbr(scenario: Scenario) -> list[dict[str, Any]]:
    return flows_of(scenario, "bbr", "bbr2", "bbr3")


def _has_bursts(scenario: Scenario) -> bool:
    return bool(_value(scenario, "tcp.pacing") == "gso")


def _burst(scenario: Scenario, on: bool) -> None:
    for flow in _bbr(scenario):
        flow.setdefault("tcp", {})["pacing"] = "gso" if on else "auto"


# Accurate ECN.


def _accurate(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the flows whose receiver reports marks by Accurate ECN."""
    prague = _prague(scenario)
    every = _value(scenario, "tcp.ecn_feedback") == "accecn"
    return [
        flow
        for flow in scenario.get("flows", [])
        if flow.get("ecn")
        and (flow in prague or every or _value(flow, "tcp.ecn_feedback") == "accecn")
    ]


def _has_receiver(scenario: Scenario) -> bool:
    return any(_value(flow, "tcp.accecn_receiver") == "l4s-5.15" for flow in _accurate(scenario))


def _receive(scenario: Scenario, on: bool) -> None:
    for flow in _accurate(scenario):
        flow.setdefault("tcp", {})["accecn_receiver"] = "l4s-5.15" if on else "linux"


# Hosts.

JITTER = "100us"


def _jitters(scenario: Scenario) -> bool:
    return bool(scenario.get("host_jitter", "0s") != "0s")


def _jitter(scenario: Scenario, on: bool) -> None:
    scenario["host_jitter"] = JITTER if on else "0s"


def _hold(scenario: Scenario, on: bool) -> None:
    scenario["hosts"] = "vm" if on else "ideal"
    scenario.pop("host_jitter", None)


def _pause(scenario: Scenario, on: bool) -> None:
    scenario["hosts"] = "vm-shared" if on else "ideal"


# The shaper.


def _bottlenecks(scenario: Scenario) -> list[dict[str, Any]]:
    links = scenario.get("links", {})
    return [scenario["bottleneck"]] if "bottleneck" in scenario else [links["tbf"]]


def _shaped(scenario: Scenario) -> bool:
    # Cake is its own shaper, and a link with a schedule of marks has no queue.
    return all(
        "schedule" not in link and _value(link, "queue.aqm") != "cake"
        for link in _bottlenecks(scenario)
    )


def _deepen(scenario: Scenario, on: bool) -> None:
    for link in _bottlenecks(scenario):
        link["burst"] = "tc" if on else "0b"


MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism("remembered", _successive, _remembers, _remember),
    Mechanism(
        "connections",
        lambda s: bool(_requests(s)),
        lambda s: any(source.get("reuse") for source in _requests(s)),
        _share,
    ),
    Mechanism("prague-0.7", lambda s: bool(_prague(s)), _is_later, _version),
    Mechanism(
        "bbr-bursts",
        lambda s: bool(_bbr(s)) and not _value(s, "path.offloads"),
        _has_bursts,
        _burst,
    ),
    Mechanism("accecn-receiver", lambda s: bool(_accurate(s)), _has_receiver, _receive),
    Mechanism("host-jitter", _always, _jitters, _jitter),
    Mechanism("vm", _always, lambda s: s.get("hosts") == "vm", _hold),
    Mechanism("pauses", _always, lambda s: s.get("hosts") == "vm-shared", _pause),
    Mechanism(
        "offloads",
        _always,
        lambda s: bool(_value(s, "path.offloads")),
        lambda s, on: set_value(s, "path.offloads", on),
    ),
    Mechanism(
        "shaper-burst",
        _shaped,
        lambda s: any(link.get("burst") == "tc" for link in _bottlenecks(s)),
        _deepen,
    ),
    Mechanism(
        "fq-pacing",
        _always,
        lambda s: _value(s, "tcp.pacing") == "fq-gso",
        lambda s, on: set_value(s, "tcp.pacing", "fq-gso" if on else "auto"),
    ),
)


# --- runs ----------------------------------------------------------------------------------------

Groups = Mapping[str, Sequence[Job]]


def study_of(name: str) -> Study:
    """Return the study of an experiment, without the runs that have no published value."""
    experiment = experiments.get(name)
    if not isinstance(experiment, Reproduction):
        raise TypeError(f"{name} is no reproduction")
    parts = EXPERIMENTS[name]
    request = Request(
        parts or tuple(experiment.parts),
        named=bool(parts),
        quick=name in QUICK,
        seeds=SEEDS.get(name, 1),
        engine="sim",
        published=True,
    )
    return experiment.study(request)


def scenario_of(job: Job) -> Scenario:
    """Return the scenario of a job as a table."""
    if not isinstance(job.scenario, Mapping):
        raise TypeError(f"{job.scenario!r} is no table")
    return dict(job.scenario)


def other_seeds(jobs: Groups, first: int) -> dict[str, list[Job]]:
    """Return the jobs with seeds from `first` on."""
    return {
        name: [replace(job, set={**job.set, "seed": first}) for job in group]
        for name, group in jobs.items()
    }


@dataclass(frozen=True)
class Turned:
    """The jobs of an experiment in which a mechanism is switched on or off."""

    jobs: dict[str, list[Job | None]]
    """None for a job whose results the mechanism cannot change."""
    used: bool
    """Whether the experiment as published uses the mechanism."""
    changed: int
    """Number of scenarios that changed."""
    rejected: int
    """Number of scenarios that stay as published, because tailback rejects them with the mechanism
    switched."""

    @property
    def total(self) -> int:
        """Number of scenarios of the experiment."""
        return sum(map(len, self.jobs.values()))


def turned(jobs: Groups, mechanism: Mechanism) -> Turned:
    """Switch a mechanism on or off in all scenarios of an experiment whose results it can change.
    Raise an error if a change does not reach all runs of a scenario."""
    out: dict[str, list[Job | None]] = {}
    used: set[bool] = set()
    rejected = changed = 0
    for name, group in jobs.items():
        out[name] = []
        for job in group:
            scenario = scenario_of(job)
            new = mechanism.turned(scenario)
            made: Job | None = None
            if new is not None:
                made = replace(job, scenario=new)
                try:
                    ids = run_ids(made)
                except ScenarioError:
                    made = None
                    rejected += 1
                else:
                    if set(ids) & set(run_ids(job)):
                        raise ValueError(f"{mechanism.id} does not reach {scenario['title']}")
                    used.add(mechanism.used(scenario))
                    changed += 1
            out[name].append(made)
    if len(used) > 1:
        raise ValueError(f"{mechanism.id}: only some scenarios of an experiment use it")
    return Turned(out, used == {True}, changed, rejected)


def run_ids(job: Job) -> list[str]:
    """Return the ids of a job's runs. An id depends on everything that can change results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        loaded = load(job.scenario, texts(job.set), job.seeds, engines.get("sim"))
    return [point.run_id for point in loaded.points]


def results_of(jobs: Groups, options: RunOptions) -> dict[str, list[Results]]:
    """Run the jobs that are not stored yet, and return the results in their groups."""
    found = iter(run_jobs([job for group in jobs.values() for job in group], options))
    return {name: [next(found) for _ in group] for name, group in jobs.items()}


def with_changes(
    published: Mapping[str, Sequence[Results]], jobs: Turned, options: RunOptions
) -> dict[str, list[Results]]:
    """Run the changed jobs. For all other jobs, use the results of the published set-up."""
    changed = {n: [job for job in group if job is not None] for n, group in jobs.jobs.items()}
    found = results_of(changed, options)
    out = {}
    for name, group in jobs.jobs.items():
        own = iter(found[name])
        both = zip(group, published[name], strict=True)
        out[name] = [before if job is None else next(own) for job, before in both]
    return out


# --- comparison ----------------------------------------------------------------------------------


def noise(one: Judge, other: Judge) -> float:
    """Return the noise of a criterion's errors: most errors change by at most this much between two
    sets of seeds. A criterion that only counts values has no noise, and each change counts."""
    if one.median is None:
        return 0.0
    gaps = [abs(one.sizes[name] - other.sizes[name]) for name in one.sizes if name in other.sizes]
    return nearest_rank(gaps, NOISE) or 0.0


def counts(having: Judge, lacking: Judge, least: float) -> dict[str, int]:
    """Count three groups of values. With the mechanism, the error is smaller, larger, or the same
    up to the noise."""
    shared = [name for name in having.sizes if name in lacking.sizes]
    gains = [lacking.sizes[name] - having.sizes[name] for name in shared]
    better = sum(gain > least for gain in gains)
    worse = sum(-gain > least for gain in gains)
    return {"better": better, "worse": worse, "same": len(gains) - better - worse}


def compared(
    published: Sequence[Judge], again: Sequence[Judge], other: Sequence[Judge], *, used: bool
) -> Iterator[dict[str, Any]]:
    """Yield the row of each criterion. `again` contains the results with other seeds, and `other`
    the results with the mechanism switched."""
    by_title = ({judge.title: judge for judge in side} for side in (again, other))
    seeds, changed = by_title
    for judge in published:
        if judge.title not in changed:
            continue
        least = noise(judge, seeds[judge.title])
        chance = counts(judge, seeds[judge.title], least)
        having, lacking = (judge, changed[judge.title]) if used else (changed[judge.title], judge)
        yield {
            "criterion": judge.title,
            "error": judge.error,
            "cells": judge.cells,
            "without": _errors(lacking),
            "with": _errors(having),
            **counts(having, lacking, least),
            "noise": _rounded(least),
            "chance": chance["better"] + chance["worse"],
        }


def _errors(judge: Judge) -> dict[str, Any]:
    return {
        "median": _rounded(judge.median),
        "p90": _rounded(judge.p90),
        "within": judge.within,
        "holds": judge.holds,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def measure(name: str, wanted: Iterable[Mechanism], options: RunOptions) -> dict[str, Any]:
    """Return the effects of mechanisms in an experiment."""
    study = study_of(name)
    seeds = SEEDS.get(name, 1)
    own = results_of(study.jobs, options)
    again = results_of(other_seeds(study.jobs, 1 + seeds), options)
    before, noisy = (list(study.findings(found).judges) for found in (own, again))
    [first, *_] = (result for group in own.values() for result in group)
    entry: dict[str, Any] = {"engine": first.version, "seeds": seeds, "mechanisms": {}}
    for mechanism in wanted:
        jobs = turned(study.jobs, mechanism)
        found: dict[str, Any] = {
            "scenarios": jobs.total,
            "changed": jobs.changed,
            "rejected": jobs.rejected,
        }
        if jobs.changed:
            after = study.findings(with_changes(own, jobs, options)).judges
            rows = list(compared(before, noisy, list(after), used=jobs.used))
            found |= {"used": jobs.used, "rows": rows}
        entry["mechanisms"][mechanism.id] = found
    return entry


# --- corrections without a key -------------------------------------------------------------------

CORRECTIONS: tuple[tuple[str, str, str], ...] = (
    ("codel", "pam-2025-l4s", "751c9cd4"),
    ("codel", "ccafct-2020", "8344ef28"),
    ("codel", "l4s-tests-2020", "8344ef28"),
    ("delayed-ack", "abe-2017", "10d2c638"),
    ("delayed-ack", "ccafct-2020", "10d2c638"),
    ("delayed-ack", "dctcp-internet-2014", "10d2c638"),
    ("delayed-ack", "dualpi2-2022", "10d2c638"),
    ("delayed-ack", "imc-bbr-2023", "10d2c638"),
    ("delayed-ack", "l4s-tests-2020", "10d2c638"),
    ("delayed-ack", "sce-2019", "10d2c638"),
    ("iperf", "imc-bbr-2023", "d5a7ca94"),
    ("bbr2", "imc-bbr-2023", "a6ce1069"),
)
"""Corrections with the experiments that they change, and the revision that published the page
again. The preceding revision contains the values without the correction."""


def correction(name: str, experiment: str, after: str) -> dict[str, Any]:
    """Return the criteria of an experiment before and after a correction."""
    path = f"docs/evidence/{experiment}/{FILE}"
    before = _git("log", "-1", "--format=%h", "--abbrev=8", f"{after}^").strip()
    old, new = (from_csv(_git("show", f"{at}:{path}")) for at in (before, after))
    rows = [
        {
            "criterion": now.title,
            "error": now.error,
            "cells": now.cells,
            "without": _errors(was),
            "with": _errors(now),
        }
        # The wording of criteria may differ between the revisions. Their order does not.
        for was, now in zip(old, new, strict=True)
    ]
    return {
        "correction": name,
        "experiment": experiment,
        "source": path,
        "before": before,
        "after": after,
        "rows": rows,
    }


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


# --- command -------------------------------------------------------------------------------------


def main() -> None:
    """Measure the requested mechanisms, and write the data and the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="a mechanism")
    parser.add_argument("--experiment", action="append", metavar="NAME", help="an experiment")
    parser.add_argument("--jobs", type=int, help="runs at the same time")
    parser.add_argument("--out", type=Path, default=Path("results/mechanisms"))
    parser.add_argument(
        "--corrections", action="store_true", help="read corrections from git, without runs"
    )
    asked = parser.parse_args()
    known = {
        "mechanism": ([one.id for one in MECHANISMS], asked.only),
        "experiment": (list(EXPERIMENTS), asked.experiment),
    }
    for kind, (names, chosen) in known.items():
        for name in chosen or ():
            if name not in names:
                parser.error(unknown(kind, name, names))
    if asked.corrections:
        found = [correction(*one) for one in CORRECTIONS]
        _write(mechanisms.CORRECTIONS, found)
    else:
        _measure_all(asked)
    # The pages can be written only if the results of all experiments exist.
    if {*_stored()} == {*EXPERIMENTS}:
        for path, text in mechanisms.pages(EVIDENCE).items():
            path.write_text(text, encoding="utf-8")


def _measure_all(asked: argparse.Namespace) -> None:
    wanted = [one for one in MECHANISMS if not asked.only or one.id in asked.only]
    options = RunOptions.of(out=asked.out, jobs=asked.jobs, progress=False)
    # Read the revision before the runs, during which somebody may commit.
    now = {"revision": revision(), "date": f"{datetime.now(UTC):%-d %B %Y}"}
    for name in EXPERIMENTS:
        if asked.experiment and name not in asked.experiment:
            continue
        with warnings.catch_warnings():
            # The publications determine the set-ups, so nobody can act on these warnings.
            warnings.simplefilter("ignore")
            found = measure(name, wanted, options)
        # Read the file after the runs, because another process may measure other experiments.
        stored = _stored()
        old = stored.get(name, {}).get("mechanisms", {})
        order = [one.id for one in MECHANISMS]
        merged = {**old, **found["mechanisms"]}
        found["mechanisms"] = {key: merged[key] for key in order if key in merged}
        stored[name] = {**now, **found}
        _write(mechanisms.DATA, {key: stored[key] for key in EXPERIMENTS if key in stored})
        print(name, flush=True)


def _stored() -> dict[str, Any]:
    file = EVIDENCE / mechanisms.DATA
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _write(name: str, data: Any) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    (EVIDENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
