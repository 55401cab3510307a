"""Estimates how much the harm of a run varies by chance. The publication reports only one run. The
requests of a run depend on each other, because they share a queue and the memory of a host.
Therefore this module draws blocks of consecutive requests, with replacement. Each drawn block is
used for both rows from which harm is computed. The draws of all seeds are pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Number of requests in a block. A block lasts about 10 s.
BLOCK = 50
# Number of draws for each seed.
DRAWS = 400


def interval(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], statistic: str
) -> tuple[float, float] | None:
    """Return the 95 % interval of the harm to a statistic.

    Each pair has the completion times of one seed, alone and beside a competitor, in the order of
    the requests. Return None if a request of one row is missing in the other."""
    import numpy as np

    harms = []
    draw = np.random.default_rng(1)
    for alone, beside in pairs:
        blocks = len(alone) // BLOCK
        if len(alone) != len(beside) or blocks < 2:
            return None
        chosen = draw.integers(blocks, size=(DRAWS, blocks))
        own, other = (
            np.asarray(times[: blocks * BLOCK]).reshape(blocks, BLOCK)[chosen].reshape(DRAWS, -1)
            for times in (alone, beside)
        )
        harms.append(1 - _statistic(own, statistic) / _statistic(other, statistic))
    if not harms:
        return None
    low, high = np.quantile(np.concatenate(harms), (0.025, 0.975))
    return float(low), float(high)


def _statistic(times: Any, statistic: str) -> Any:
    """Return the statistic of each row, as `points.statistics` computes it."""
    import numpy as np

    if statistic == "geomean":
        return np.exp(np.log(times).mean(axis=1))
    share = {"median": 0.5, "p95": 0.95}[statistic]
    place = int(np.ceil(share * times.shape[1])) - 1
    return np.partition(times, place, axis=1)[:, place]
