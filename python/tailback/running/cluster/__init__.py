"""Runs on a Dask cluster: `--cluster ADDRESS`, `tailback.on_cluster(ADDRESS)`.

Dask is imported only if a run is not stored yet.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from tailback.errors import InputError
from tailback.running.spread import place


@contextmanager
def on_cluster(address: str) -> Iterator[None]:
    """Execute the runs of the `with` block on a Dask cluster. Results are stored on this machine.

    `address` is the address of the scheduler, such as `tcp://host:8786`, or a file that `dask
    scheduler --scheduler-file FILE` has written. This machine and the workers need the same version
    of `tailback[dask]`.
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
