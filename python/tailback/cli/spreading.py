"""Adds `--cluster` and `--shard` to every command that runs a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from tailback.base import terminal
from tailback.cli import complaints
from tailback.cli.boundary import FAILED, OK
from tailback.errors import InputError


def spread_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--cluster`, which runs on a Dask cluster, and `--shard`, which runs one part of a
    batch."""

    @click.option(
        "--cluster",
        metavar="ADDRESS",
        help=(
            "Execute the runs on a Dask cluster. ADDRESS is the address of Dask's scheduler "
            "(tcp://HOST:PORT), or the path of Dask's scheduler file."
        ),
    )
    @click.option(
        "--shard",
        "part",
        metavar="I/N|auto[/N]",
        help="Divide the runs into N parts that need about the same CPU time, and execute only "
        "part I. With auto, tailback reads I and N from the environment variables of a job array "
        "(Slurm, AWS Batch or Kubernetes). `tailback merge` combines the results of all parts.",
    )
    @functools.wraps(command)
    def spread(*args: Any, cluster: str | None, part: str | None, **kwargs: Any) -> int:
        if cluster is not None and part is not None:
            raise InputError(
                "--cluster and --shard: a cluster divides the runs itself; expected "
                "only one of them"
            )
        if cluster is not None:
            from tailback.running.cluster import on_cluster

            with on_cluster(cluster):
                return command(*args, **kwargs)
        if part is not None:
            from tailback.running.spread import shard

            try:
                with shard.using(shard.Shard.parse(part)):
                    return command(*args, **kwargs)
            except shard.PartDone as ended:
                return _say(ended.done, bool(kwargs.get("as_json")))
        return command(*args, **kwargs)

    return spread


def _say(done: Any, as_json: bool) -> int:
    if as_json:
        terminal.out_json(done.to_dict())
    else:
        terminal.out(done.text())
    for message in done.failures:
        complaints.error(message)
    return FAILED if done.failures else OK
