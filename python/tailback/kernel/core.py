"""Reserves one core for each guest.

A guest's kernel and the stub process of its programs take turns: at each system call one stops and
the other continues. If they use two cores, each turn wakes the other core, and a guest takes twice
as long.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from tailback.kernel import kit


@contextlib.contextmanager
def reserved() -> Iterator[int | None]:
    """Reserve a core that no other guest of this user gets until the block ends.

    A lock on a file reserves the core, so that several processes can share the machine. Yields
    None, and leaves the choice to the scheduler, if every core has a guest already or the files
    cannot be made.
    """
    cores = sorted(os.sched_getaffinity(0))
    folder = kit.cache() / "cores"
    with contextlib.ExitStack() as stack:
        yield next((core for core in cores if _locked(folder / str(core), stack)), None)


@contextlib.contextmanager
def on(core: int | None) -> Iterator[None]:
    """Keep processes that this thread starts within the block on this core. None allows every
    core."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    # The affinity applies to this thread alone. A process that the thread starts inherits it.
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _locked(path: Path, stack: contextlib.ExitStack) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(path.open("w"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
