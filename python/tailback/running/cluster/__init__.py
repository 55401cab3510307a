"""Runs on a Dask cluster: `--cluster ADDRESS`, `tailback.on_cluster(ADDRESS)`.

Dask is loaded only when there is something to run.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from tailback.errors import InputError
from tailback.running.spread import place


@contextmanager
def on_cluster(address: str) -> Iterator[None]:
    """Run everything within this block on a Dask cluster. The results are stored on this machine.

    `address` is the scheduler's address, `tcp://host:8786`, or the file that the scheduler wrote
    (`dask scheduler --scheduler-file FILE`). This needs `tailback[dask]`, in the same version, on
    this machine and on the workers.
    """
    if importlib.util.find_spec("distributed") is None:
        raise InputError(
            "--cluster needs Dask, which is not installed; run: pip install 'tailback[dask]'"
        )
    from tailback.running.cluster.client import Cluster, quiet

    cluster = Cluster(address)
    with quiet():
        try:
            with place.using(cluster):
                yield
        finally:
            cluster.close()
