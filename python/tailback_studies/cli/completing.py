"""Completes names of experiments and queues in a shell."""

from __future__ import annotations

from collections.abc import Iterable

import click

from tailback.cli.completing import completer


def _experiments(_context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback_studies import experiments

    return experiments.listed()


experiment_names = completer(_experiments)
