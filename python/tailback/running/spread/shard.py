"""Implements `--shard 2/8`, which divides a batch of runs into parts of about equal cost.

Every process computes the same division without communication. Runs are assigned in the order of
estimated cost, the most expensive first. Each run is assigned to the shard with the lowest cost so
far. Runs that a store already has are assigned, too, so that the division does not depend on the
store.
"""

from __future__ import annotations

import heapq
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tailback.errors import InputError, TailbackError

_WORDS = re.compile(r"(?P<index>\d{1,9}|auto)(?:/(?P<count>\d{1,9}))?", re.ASCII)

EXPECTED = "expected I/N such as 2/8, auto, or auto/N"


@dataclass(frozen=True)
class Shard:
    """One of `count` shards, with `index` from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str, environment: Mapping[str, str] = os.environ) -> Shard:
        """Parse `2/8`.

        With `auto`, take the index and the number of shards from the environment that a
        job array sets. With `auto/8`, take only the index from the environment.
        """
        match = _WORDS.fullmatch(text.strip())
        if match is None or (match["index"] != "auto" and match["count"] is None):
            raise InputError(f"--shard {text}: {EXPECTED}")
        total = int(match["count"]) if match["count"] is not None else None
        if match["index"] == "auto":
            index, found = _by_environment(text, environment)
            if total is not None and found is not None and total != found:
                raise InputError(
                    f"--shard {text}: the array of jobs has {found} parts; use auto/{found}"
                )
            count = total if total is not None else found
            if count is None:
                raise InputError(
                    f"--shard {text}: JOB_COMPLETION_INDEX gives the index but not the number of "
                    f"shards; expected auto/N"
                )
        else:
            index, count = int(match["index"]), total or 0
        if not 1 <= index <= count:
            raise InputError(f"--shard {text}: part {index} of {count}; expected one of 1 to N")
        return cls(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def part(self, costs: Mapping[str, float]) -> list[str]:
        """Return the ids of this shard's runs."""
        return deal(costs, self.count)[self.index - 1]


def _by_environment(text: str, environment: Mapping[str, str]) -> tuple[int, int | None]:
    """Return the shard's index, counted from 1, and the number of shards if an environment variable
    gives it."""

    def number(name: str, default: int | None = None) -> int:
        value = environment.get(name)
        if value is None and default is not None:
            return default
        if value is None or re.fullmatch(r"\d{1,9}", value, re.ASCII) is None:
            raise InputError(f"--shard {text}: {name} is {value!r}; expected a number")
        return int(value)

    if "SLURM_ARRAY_TASK_ID" in environment:
        # Indices can have any start and step: --array=0-7, 1-8 and 10-80:10 all mean eight jobs.
        count = number("SLURM_ARRAY_TASK_COUNT")
        least = number("SLURM_ARRAY_TASK_MIN", 1 if number("SLURM_ARRAY_TASK_ID") else 0)
        step = max(1, number("SLURM_ARRAY_TASK_STEP", 1))
        beyond, rest = divmod(number("SLURM_ARRAY_TASK_ID") - least, step)
        if rest or not 0 <= beyond < count:
            raise InputError(
                f"--shard {text}: job {environment['SLURM_ARRAY_TASK_ID']} of an array with gaps; "
                "expected --array=1-N, or --shard I/N"
            )
        return beyond + 1, count
    if "AWS_BATCH_JOB_ARRAY_INDEX" in environment:
        index = number("AWS_BATCH_JOB_ARRAY_INDEX") + 1
        size = "AWS_BATCH_JOB_ARRAY_SIZE"
        return index, number(size) if size in environment else None
    if "JOB_COMPLETION_INDEX" in environment:
        return number("JOB_COMPLETION_INDEX") + 1, None
    raise InputError(
        f"--shard {text}: none of SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX and "
        f"JOB_COMPLETION_INDEX is set; {EXPECTED}"
    )


def deal(costs: Mapping[str, float], count: int) -> list[list[str]]:
    """Divide runs into this many shards of about equal cost. The division is deterministic, so
    every shard computes the same division."""
    parts: list[list[str]] = [[] for _ in range(count)]
    heap = [(0.0, 0, at) for at in range(count)]
    for run_id in sorted(costs, key=lambda one: (-costs[one], one)):
        cost, runs, at = heapq.heappop(heap)
        parts[at].append(run_id)
        heapq.heappush(heap, (cost + costs[run_id], runs + 1, at))
    return parts


@dataclass(frozen=True)
class Done:
    """The part of a batch that a shard has completed."""

    shard: Shard
    runs: int
    of_runs: int
    share: float
    """The shard's share of the cost of all runs."""
    missing: int
    """Number of runs of the whole batch that this store does not have."""
    root: str
    failures: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return a summary of the finished work, and the next step, on two lines."""
        return (
            f"shard {self.shard}: {self.runs} of {self.of_runs} runs, "
            f"{100 * self.share:.3g} % of the cost; still missing in {self.root}: "
            f"{self.missing}\n"
            "next: when every shard is done, run tailback merge STORE... --into STORE, then the "
            "same command with --out STORE and without --shard"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "shard": self.shard.index,
            "of": self.shard.count,
            "runs": self.runs,
            "of_runs": self.of_runs,
            "cost_share": self.share,
            "missing": self.missing,
            "store": self.root,
            "failures": self.failures,
        }


class PartDone(TailbackError):
    """Raised when a shard is done, but the result also needs the runs of other shards. A finished
    shard is not a failure."""

    def __init__(self, done: Done) -> None:
        super().__init__(done.text())
        self.done = done


_CHOSEN: ContextVar[Shard | None] = ContextVar("shard", default=None)


def chosen() -> Shard | None:
    """Return the shard to run within the current `with` block. None means that all runs are
    executed."""
    return _CHOSEN.get()


@contextmanager
def using(shard: Shard) -> Iterator[None]:
    """Within the `with` block, execute only one shard of each batch.

    If the result of a batch depends on runs of other shards, `PartDone` is raised, which ends the
    block.
    """
    token = _CHOSEN.set(shard)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def share(costs: Mapping[str, float], mine: list[str]) -> float:
    """Return the estimated cost of these runs divided by the cost of all runs."""
    total = math.fsum(costs.values())
    return math.fsum(costs[one] for one in mine) / total if total else 1.0
