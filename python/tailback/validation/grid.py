"""The grid of the validation: which flows meet which queues, at which rates and round-trip times,
and its runs on both engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback import engines, running, store
from tailback.errors import RunsFailed
from tailback.results import Results, Run

HERE = Path(__file__).parent

SEEDS = 5
"""Of every cell unless the caller says how many."""

QUICK_SEEDS = 2

ENGINES = ("sim", "kernel")


@dataclass(frozen=True)
class Queue:
    """A scenario file of this folder: a queue at every rate and round-trip time."""

    name: str
    """That of the file, without its ending."""
    ecn: bool | str
    """Whether it marks; its flows then negotiate ECN, or only those of this congestion control."""
    mixes: tuple[tuple[str, ...], ...]
    """The congestion controls that meet in it."""
    quick: tuple[tuple[str, ...], ...] = ()
    """Those of them that `--quick` runs."""
    hosts: tuple[int, ...] = ()
    """How many flows each pair of hosts has, if not all have the same one."""

    @property
    def file(self) -> Path:
        """The scenario."""
        return HERE / f"{self.name}.toml"


ALONE = (("reno",), ("cubic",))
MIXED = (*ALONE, ("reno", "cubic"))
# DCTCP needs a queue that marks; without marks it is Reno, which one queue is enough to see.
EVERY = (*MIXED, ("dctcp",), ("reno", "dctcp"), ("cubic", "dctcp"))
TWINS = (("reno", "reno"), ("cubic", "cubic"))
# 2, 8 and 64 flows where flows are queued fairly.
FAIR = (("reno", "cubic"), ("cubic",) * 8, ("reno",) * 32 + ("cubic",) * 32)
# Both queues of a dual one: DCTCP in L, the others in C.
COUPLED = (
    *ALONE,
    *(("dctcp",), ("reno", "dctcp"), ("cubic", "dctcp")),
    ("cubic",) * 5 + ("dctcp",) * 5,
)

QUEUES = (
    Queue("fifo", False, (*EVERY, *TWINS), (("cubic",), ("reno", "cubic"))),
    Queue("fifo-default", False, ALONE),
    Queue("codel", False, MIXED, (("reno",),)),
    Queue("codel-ecn", True, (*EVERY, *TWINS), (("cubic",), ("dctcp",), ("cubic", "dctcp"))),
    Queue("pie", False, MIXED, (("reno",),)),
    Queue("pie-ecn", True, EVERY, (("cubic",),)),
    Queue("red", False, MIXED, (("reno",),)),
    Queue("red-ecn", True, EVERY, (("reno", "dctcp"),)),
    Queue("fq_codel", False, FAIR, FAIR[:1]),
    Queue("fq_codel-ecn", True, FAIR, FAIR[1:2]),
    Queue("fq_pie", False, FAIR, FAIR[:1]),
    Queue("fq_pie-ecn", True, FAIR, FAIR[1:2]),
    Queue("cake", True, FAIR, FAIR[1:2]),
    Queue("cake-hosts", True, FAIR[1:2], hosts=(1, 7)),
    Queue("dualpi2", "dctcp", COUPLED, (("cubic", "dctcp"),)),
    Queue("dualpi2-ecn", True, ALONE),
    Queue("dualpi2-options", "dctcp", COUPLED[4:]),
    Queue("dualpi2-udp-c", "dctcp", COUPLED[4:]),
    Queue("dualpi2-udp-l", "dctcp", COUPLED[4:], COUPLED[4:5]),
)

QUICK: dict[str, object] = {"duration": "20s", 'sweep."path.rtt"': ["10ms", "40ms"]}
"""What `--quick` replaces in every scenario."""


@dataclass(frozen=True)
class Batch:
    """One scenario file with one set of flows, on both engines: a cell for each point."""

    queue: Queue
    mix: tuple[str, ...]
    results: dict[str, Results]
    """By engine."""

    def pairs(self) -> list[tuple[list[Run], list[Run]]]:
        """The runs of each point, seeds together: simulator, kernel."""
        groups = {
            name: {tuple(runs[0].params.items()): runs for runs in results.groups()}
            for name, results in self.results.items()
        }
        sim, kernel = (groups[name] for name in ENGINES)
        return [(runs, kernel[params]) for params, runs in sim.items() if params in kernel]


@dataclass(frozen=True)
class Ran:
    """The grid, run."""

    batches: list[Batch]
    versions: dict[str, str]
    """Of the engines, by name."""
    root: Path
    """Folder of results."""
    failures: list[str]
    """Runs that failed; the cells rest on the others."""


def flows(queue: Queue, mix: Sequence[str]) -> list[dict[str, object]]:
    """The flows of a cell, as scenarios have them."""
    made: list[dict[str, object]] = [{"cc": cc, "ecn": queue.ecn in (True, cc)} for cc in mix]
    pairs = [n for n, count in enumerate(queue.hosts) for _ in range(count)]
    for flow, pair in zip(made, pairs, strict=bool(pairs)):
        flow["hosts"] = [f"sender-{pair}", f"receiver-{pair}"]
    return made


def run(
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path | None = None,
    progress: bool | None = None,
    only: Sequence[str] = (),
) -> Ran:
    """Runs the grid on both engines; `only` names the queues that are wanted."""
    root = out if out is not None else store.DEFAULT
    runners = {name: engines.get(name) for name in ENGINES}
    plan = [
        (queue, mix)
        for queue in QUEUES
        if not only or queue.name in only
        for mix in (queue.quick if quick else queue.mixes)
    ]
    count = seeds if seeds is not None else QUICK_SEEDS if quick else None
    loaded, who = [], []
    for queue, mix in plan:
        sets: dict[str, object] = {"flows": flows(queue, mix)}
        if quick:
            sets |= QUICK
        texts = running.texts(sets)
        for name in ENGINES:
            loaded.append(running.load(queue.file, texts, count, runners[name]))
            who.append(runners[name])
    failures: list[str] = []
    try:
        results = running.run_loaded(loaded, who, jobs=jobs, out=root, progress=progress)
    except RunsFailed as failed:
        results, failures = failed.results, failed.failures
    batches = [
        Batch(queue, mix, {results[2 * i + k].engine: results[2 * i + k] for k in range(2)})
        for i, (queue, mix) in enumerate(plan)
    ]
    return Ran(batches, {name: runner.version for name, runner in runners.items()}, root, failures)
