"""Defines the grid of flows, queues, rates and round-trip times, and runs it on both engines."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailback.base.progress import within
from tailback.errors import RunsFailed
from tailback.running import engines, execution, scenarios
from tailback.running.options import RunOptions
from tailback.store.points import point_key
from tailback.store.results import Results, Run

HERE = Path(__file__).parent

SEEDS = 5
"""Number of seeds of every scenario, unless the caller sets another number."""

QUICK_SEEDS = 2

ENGINES = ("sim", "kernel")


@dataclass(frozen=True)
class GridQueue:
    """A queue of the validation, with its scenario file, rates and round-trip times, and the flows
    to run."""

    family: str
    """The group of queues with which the page shows this queue."""
    name: str
    """The queue's name. This is the scenario file's name without the suffix, unless `base` names
    the file."""
    ecn: bool | str
    """Whether the queue marks packets. If it marks packets, all flows negotiate ECN. If `ecn` is
    the name of a congestion control, only flows of that congestion control negotiate ECN."""
    mixes: tuple[tuple[str, ...], ...]
    """The sets of congestion controls that compete in the queue."""
    quick: tuple[tuple[str, ...], ...] = ()
    """The sets of congestion controls that `--quick` runs."""
    hosts: tuple[int, ...] = ()
    """Number of flows of each pair of hosts, or empty if all pairs have the same number of
    flows."""
    base: str = ""
    """The name of the scenario file, if the file belongs to another queue."""
    sets: Mapping[str, object] = field(default_factory=dict)
    """Values that are replaced in the file."""
    fixed: bool = False
    """Whether the file runs unchanged, as a single scenario with its own flows. `mixes` then lists
    the congestion controls of these flows."""

    @property
    def file(self) -> Path:
        return HERE / f"{self.base or self.name}.toml"

    @property
    def point(self) -> tuple[float, float]:
        """The rate (in bit/s) and the round-trip time (in seconds) of a fixed scenario.

        If the rate has steps, this is the rate at the start.
        """
        with self.file.open("rb") as file:
            scenario = tomllib.load(file)
        rate = scenario["bottleneck"]["rate"]
        if not isinstance(rate, str):
            rate = rate["steps"][0][1]
        rtt = scenario["path"]["rtt"]
        return float(rate.removesuffix("Mbit")) * 1e6, float(rtt.removesuffix("ms")) / 1e3


def odd(name: str, *mix: str, quick: bool = False, family: str = "odd scenarios") -> GridQueue:
    """Return a scenario of the folder `odd`. `mix` lists the congestion controls of its flows."""
    return GridQueue(
        *(family, name, False, (mix,)),
        quick=(mix,) if quick else (),
        base=f"odd/{name}",
        fixed=True,
    )


def impaired(kind: str, cc: str = "cubic") -> GridQueue:
    """Return a scenario with an impairment."""
    return odd(f"impaired-{kind}", cc, family="impairments")


def fast(limit: str) -> GridQueue:
    """Return a FIFO with this buffer at high rates."""
    sets = {"bottleneck.queue": {"aqm": "fifo", "limit": limit}}
    return GridQueue("high rates", f"fast-{limit}", False, FAST, base="fast", sets=sets)


ALONE = (("reno",), ("cubic",))
MIXED = (*ALONE, ("reno", "cubic"))
# DCTCP runs in queues that mark packets. DCTCP also runs in one queue that does not mark packets,
# where it behaves like Reno.
EVERY = (*MIXED, ("dctcp",), ("reno", "dctcp"), ("cubic", "dctcp"))
# Flows without ECN that compete with DCTCP. WRED has separate curves for packets with
# and without ECN.
WEIGHTED = (("reno",), ("dctcp",), ("reno", "dctcp"), ("cubic", "dctcp"), ("reno", "reno"))
TWINS = (("reno", "reno"), ("cubic", "cubic"))
# 2, 8 and 64 flows, for fair queues.
FAIR = (("reno", "cubic"), ("cubic",) * 8, ("reno",) * 32 + ("cubic",) * 32)
# Flows for coupled single or dual queues, which mark DCTCP's packets and drop packets of other
# flows.
COUPLED = (
    *ALONE,
    *(("dctcp",), ("reno", "dctcp"), ("cubic", "dctcp")),
    ("cubic",) * 5 + ("dctcp",) * 5,
)

# Turns on the feedback of Accurate ECN, with which a receiver reports the number of marks.
COUNTED: Mapping[str, object] = {"tcp.ecn_feedback": "accecn"}
BBR = (("bbr",), ("cubic", "bbr"))
# Short connections, alone and in competition with a long flow.
BESIDE = ((), ("cubic",))

# Flows for high rates. At these rates, most packets in flight may be lost in one round trip.
FAST = (*ALONE, ("bbr",))
MANY = ("reno",) * 100 + ("cubic",) * 100

QUEUES = (
    GridQueue("FIFO", "fifo", False, (*EVERY, *TWINS), (("cubic",), ("reno", "cubic"))),
    GridQueue("FIFO", "fifo-default", False, ALONE),
    GridQueue("CoDel", "codel", False, MIXED, (("reno",),)),
    GridQueue("CoDel", "codel-ecn", True, (*EVERY, *TWINS), (("cubic",), ("dctcp",), EVERY[-1])),
    GridQueue("PIE", "pie", False, MIXED, (("reno",),)),
    GridQueue("PIE", "pie-ecn", True, EVERY, (("cubic",),)),
    GridQueue("RED", "red", False, MIXED, (("reno",),)),
    GridQueue("RED", "red-ecn", True, EVERY, (("reno", "dctcp"),)),
    GridQueue("WRED", "wred", "dctcp", WEIGHTED, (("reno", "dctcp"),)),
    GridQueue("WRED", "wred-step", "dctcp", WEIGHTED, (("reno", "dctcp"),)),
    GridQueue("step", "step", "dctcp", (("dctcp",), ("dctcp", "dctcp")), (("dctcp",),)),
    GridQueue("PI2", "pi2", False, MIXED, (("reno",),)),
    GridQueue(
        *("PI2", "pi2-coupled", "dctcp", COUPLED[3:5]),
        base="pi2",
        sets={"bottleneck.queue": {"aqm": "pi2", "scalable": "any"}},
    ),
    GridQueue("fair queues", "fq_codel", False, FAIR, FAIR[:1]),
    GridQueue("fair queues", "fq_codel-ecn", True, FAIR, FAIR[1:2]),
    GridQueue("fair queues", "fq_pie", False, FAIR, FAIR[:1]),
    GridQueue("fair queues", "fq_pie-ecn", True, FAIR, FAIR[1:2]),
    GridQueue("fair queues", "cake", True, FAIR, FAIR[1:2]),
    GridQueue("fair queues", "cake-hosts", True, FAIR[1:2], hosts=(1, 7)),
    GridQueue("DualPI2", "dualpi2", "dctcp", COUPLED, (("cubic", "dctcp"),)),
    GridQueue("DualPI2", "dualpi2-ecn", True, ALONE),
    GridQueue("DualPI2", "dualpi2-options", "dctcp", COUPLED[4:]),
    GridQueue("DualPI2", "dualpi2-udp-c", "dctcp", COUPLED[4:]),
    GridQueue("DualPI2", "dualpi2-udp-l", "dctcp", COUPLED[4:], COUPLED[4:5]),
    GridQueue(
        *("Accurate ECN", "codel-accecn", True, (*ALONE, ("dctcp",), EVERY[-1]), (("dctcp",),)),
        base="codel-ecn",
        sets=COUNTED,
    ),
    GridQueue(
        *("Accurate ECN", "dualpi2-accecn", "dctcp", (("dctcp",), EVERY[-1])),
        base="dualpi2",
        sets=COUNTED,
    ),
    GridQueue("BBR", "fifo-bbr", False, (*BBR, ("bbr", "bbr")), BBR[:1], base="fifo"),
    GridQueue("BBR", "codel-bbr", False, BBR, base="codel"),
    GridQueue("BBR", "pie-bbr", False, BBR, base="pie"),
    GridQueue("BBR", "fq_codel-bbr", False, BBR, base="fq_codel"),
    GridQueue("web", "fifo-web", False, BESIDE, BESIDE[:1]),
    GridQueue("web", "codel-web", False, BESIDE),
    GridQueue("web", "pie-web", False, BESIDE),
    GridQueue("web", "fq_codel-web", False, BESIDE),
    *(fast(limit) for limit in ("0.02bdp", "0.1bdp", "1bdp")),
    odd("loss-1", "cubic", quick=True),
    odd("loss-5", "bbr"),
    odd("loss-20", "reno"),
    odd("loss-20-bbr", "bbr"),
    odd("loss-acks", "cubic"),
    odd("rtt-600", "cubic"),
    odd("rtt-600-bbr", "bbr"),
    odd("rate-64k", "cubic"),
    odd("rate-64k-bbr", "bbr"),
    odd("rate-64k-codel", "cubic"),
    odd("flows-200", *MANY),
    odd("flows-200-fq", *MANY),
    odd("reverse", "cubic", "cubic"),
    odd("reverse-bbr", "bbr", "cubic"),
    odd("step-down", "cubic"),
    odd("step-down-bbr", "bbr"),
    odd("step-up", "cubic"),
    odd("delay-jitter", "cubic"),
    odd("delay-jitter-bbr", "bbr"),
    odd("slots", "cubic"),
    odd("slots-bbr", "bbr"),
    odd("wire", "reno", "cubic"),
    odd("accecn-red", "cubic"),
    odd("accecn-loss", "cubic"),
    odd("rwnd-20kb", "cubic"),
    odd("rwnd-64kb", "cubic", quick=True),
    odd("rwnd-3mb", "reno"),
    odd("buffer-3p", "reno", "cubic"),
    odd("buffer-10p-bbr", "bbr", "bbr"),
    odd("bbr-8bdp", "cubic", "bbr"),
    odd("rtts", "cubic", "cubic"),
    odd("delack-off", "reno"),
    odd("mss-500", "cubic"),
    odd("initial-window-1", "reno"),
    odd("udp", "cubic"),
    odd("schedule", "reno", quick=True),
    odd("stop-and-start", "cubic", "reno"),
    odd("dctcp-drops", "dctcp"),
    impaired("loss"),
    impaired("burst-loss"),
    impaired("loss-window"),
    impaired("delay"),
    impaired("jitter"),
    impaired("jitter-reorders"),
    impaired("reorder"),
    impaired("reorder-bbr", "bbr"),
    impaired("duplicate"),
    impaired("outage"),
    impaired("police"),
    impaired("police-mark"),
    impaired("ack-batch"),
    impaired("ack-thin"),
)

SEVERAL = 8
"""Largest number of flows of a fixed scenario that are compared one by one."""

FAMILIES = tuple(dict.fromkeys(queue.family for queue in QUEUES))

QUICK: dict[str, object] = {"duration": "20s", 'sweep."path.rtt"': ["10ms", "40ms"]}
"""The values that `--quick` replaces in every scenario that is not fixed."""


@dataclass(frozen=True)
class GridBatch:
    """The results of a scenario file with one set of flows on both engines. Each sweep point of the
    file counts as a scenario."""

    queue: GridQueue
    mix: tuple[str, ...]
    results: dict[str, Results]
    """The results, by engine."""
    seeds: int
    """Number of seeds of each scenario on each engine."""
    cells: int
    """Number of scenarios that should be measured."""

    def pairs(self) -> list[tuple[list[Run], list[Run]]]:
        """Return the runs of each complete scenario: the runs of the simulator, then the runs of
        the kernel."""
        groups = {
            name: {point_key(r[0]): r for r in results.groups() if len(r) == self.seeds}
            for name, results in self.results.items()
        }
        sim, kernel = (groups[name] for name in ENGINES)
        return [(runs, kernel[params]) for params, runs in sim.items() if params in kernel]


@dataclass(frozen=True)
class GridRuns:
    """The results of all queues, rates and round-trip times."""

    batches: list[GridBatch]
    versions: dict[str, str]
    """Versions of the engines, by name."""
    root: Path
    """Folder of results."""
    failures: list[str]
    """Messages about runs that failed. The scenarios of these runs are not measured."""

    @property
    def cells(self) -> int:
        """Number of scenarios of the validation, including scenarios that were not measured."""
        return sum(batch.cells for batch in self.batches)


def flows(queue: GridQueue, mix: Sequence[str]) -> list[dict[str, object]]:
    """Return the flows of a validation scenario as they are written in a scenario file."""
    made: list[dict[str, object]] = [{"cc": cc, "ecn": queue.ecn in (True, cc)} for cc in mix]
    pairs = [n for n, count in enumerate(queue.hosts) for _ in range(count)]
    for flow, pair in zip(made, pairs, strict=bool(pairs)):
        flow["hosts"] = [f"sender-{pair}", f"receiver-{pair}"]
    return made


def kinds(queue: GridQueue, mix: Sequence[str]) -> list[str]:
    """Return a text for each flow that describes how it differs from the other flows. Flows that
    the scenario does not distinguish have equal texts."""
    if queue.fixed:
        # In fixed scenarios with few flows, each flow has its own round-trip time, direction or
        # start.
        return list(mix) if len(mix) > SEVERAL else [f"{n}" for n in range(len(mix))]
    return [repr(sorted(flow.items(), key=str)) for flow in flows(queue, mix)]


def sets(queue: GridQueue, mix: Sequence[str]) -> dict[str, object]:
    """Return the values to change in the queue's scenario file, so that it runs these flows."""
    if queue.fixed:
        return {}
    return {**queue.sets, **({"flows": flows(queue, mix)} if mix else {})}


def run(
    options: RunOptions,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    stored: bool = False,
) -> GridRuns:
    """Run all scenarios of the validation on both engines. `only` names the queues to run. Stored
    runs are reused, so the same command resumes an interrupted validation. If `stored` is true,
    make no new runs."""
    runners = {name: engines.get(name) for name in ENGINES}
    plan = [
        (queue, mix)
        for queue in QUEUES
        if not only or queue.name in only
        for mix in (queue.quick if quick else queue.mixes)
    ]
    count = options.seeds if options.seeds is not None else QUICK_SEEDS if quick else None
    batches: list[GridBatch] = []
    failures: list[str] = []
    # Run queue by queue, so that an interrupted validation has some complete scenarios.
    names = list(dict.fromkeys(queue.name for queue, _ in plan))
    for number, name in enumerate(names, 1):
        pairs = [(queue, mix) for queue, mix in plan if queue.name == name]
        loaded, who = [], []
        for queue, mix in pairs:
            less = QUICK if quick and not queue.fixed else {}
            texts = scenarios.texts(sets(queue, mix) | less)
            for runner in runners.values():
                loaded.append(scenarios.load(queue.file, texts, count, runner))
                who.append(runner)
        try:
            with within(f"{name}, queue {number} of {len(names)}"):
                results = (
                    execution.stored(loaded, options.out)
                    if stored
                    else execution.run_loaded(loaded, who, options)
                )
        except RunsFailed as failed:
            results = failed.results
            failures += failed.failures
        for i, (queue, mix) in enumerate(pairs):
            points = loaded[2 * i].points
            many = len({point.seed for point in points})
            both = {found.engine: found for found in results[2 * i : 2 * i + 2]}
            batches.append(GridBatch(queue, mix, both, many, len(points) // many))
    return GridRuns(
        batches, {name: runner.version for name, runner in runners.items()}, options.out, failures
    )
