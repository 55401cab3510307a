"""`tailback tune`: searches for values that make some metrics small or large."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.base import terminal
from tailback.cli.boundary import FAILED, OK
from tailback.cli.help import Command
from tailback.cli.options import count_type, json_option, run_options, set_option
from tailback.errors import InputError

if TYPE_CHECKING:
    from tailback.running.options import RunOptions


@click.command(
    cls=Command,
    examples=(
        (
            "tune first.toml --vary bottleneck.queue.target=1ms..30ms --minimise delay_p99_ms",
            "find the value of the queue's target that gives the lowest delay",
        ),
        (
            "tune first.toml --vary bottleneck.queue.target=1ms..30ms --minimise delay_p99_ms "
            "--maximise throughput_mbit",
            "find the trade-off between delay and throughput",
        ),
    ),
)
@click.argument("file")
@click.option(
    "--vary",
    multiple=True,
    metavar="PATH=LO..HI",
    help="Key to vary, with its range (bottleneck.queue.target=1ms..30ms) or its choices (A,B,C). "
    "The search uses a logarithmic scale if the upper end of the range is more than ten times the "
    "lower end. To set the scale, write lin: or log: before the range. Can be repeated.",
)
@click.option(
    "--minimise",
    multiple=True,
    metavar="METRIC[@NAME]",
    help="Metric to minimise. Can be repeated.",
)
@click.option(
    "--maximise",
    multiple=True,
    metavar="METRIC[@NAME]",
    help="Metric to maximise. Can be repeated.",
)
@click.option(
    "--subject-to",
    multiple=True,
    metavar="METRIC>=N",
    help="Bound that the results must meet, written as METRIC>=N (such as jain>=0.9) or METRIC<=N. "
    "Can be repeated.",
)
@click.option(
    "--over",
    multiple=True,
    metavar="PATH=A,B,C",
    help="Run every candidate with each of these values of a key [default: the values in the table "
    "[sweep] of FILE]. Can be repeated.",
)
@click.option(
    "--across",
    default="mean",
    show_default=True,
    metavar="mean|worst",
    help="How to combine the values of a metric at the points that --over sets: mean averages the "
    "values, and worst uses the worst value.",
)
@click.option(
    "--runs",
    type=count_type,
    default=300,
    show_default=True,
    metavar="N",
    help="Total number of runs in the search.",
)
@click.option(
    "--unseen",
    type=count_type,
    metavar="N",
    help="Number of seeds for the final test [default: 10]. The search does not use these seeds. "
    "The final test runs the candidates on the Pareto front and the unchanged FILE.",
)
@click.option(
    "--sampler",
    default="tpe",
    show_default=True,
    metavar="tpe|nsga2|random|qmc",
    help="Optuna sampler that chooses the candidates. The samplers tpe and nsga2 learn from "
    "earlier results; random and qmc do not.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Random seed of the sampler.",
)
@click.option(
    "--batch",
    type=count_type,
    metavar="N",
    help=(
        "Number of candidates that the sampler chooses at once, before it sees their results "
        "[default: 8]. The sampler's choices depend on this number."
    ),
)
@set_option
@run_options(
    seeds_help="Number of seeds in the search, for each candidate at each sweep point [default: 3]."
)
@json_option
def tune(
    file: str,
    vary: tuple[str, ...],
    minimise: tuple[str, ...],
    maximise: tuple[str, ...],
    subject_to: tuple[str, ...],
    over: tuple[str, ...],
    across: str,
    runs: int,
    unseen: int | None,
    sampler: str,
    seed: int,
    batch: int | None,
    overrides: tuple[str, ...],
    options: RunOptions,
    as_json: bool,
) -> int:
    """Search for the values of a scenario's keys that give the best results.

    A candidate is a combination of values of the keys. A goal is a metric to minimise or to
    maximise. With several goals, the result is a Pareto front. A candidate is on the front if no
    other candidate is better in one goal and at least as good in all other goals. At the end
    tailback runs the candidates on the front and the unchanged FILE with seeds that the search did
    not use. The report has a scenario file for each candidate on the front.

    With the same --seed, the result does not depend on --jobs. If a search is killed, the same
    command resumes it.
    """
    from tailback.running import scenarios
    from tailback.tuning import tune_asked
    from tailback.tuning.asked import BATCH, UNSEEN, SearchRequest

    result = tune_asked(
        Path(file),
        SearchRequest(
            vary=_pairs("--vary", vary),
            minimise=minimise,
            maximise=maximise,
            subject_to=subject_to,
            over=_pairs("--over", over),
            runs=runs,
            unseen=UNSEEN if unseen is None else unseen,
            across=across,
            sampler=sampler,
            seed=seed,
            batch=BATCH if batch is None else batch,
        ),
        scenarios.overrides(overrides),
        options,
    )
    if as_json:
        terminal.out_json(result.to_dict())
    else:
        from tailback.cli.tables import tuning

        tuning.show(result)
    return OK if result.front else FAILED


def _pairs(option: str, words: tuple[str, ...]) -> dict[str, str]:
    """Parse texts of the form `PATH=VALUES`. Return the values by path."""
    pairs: dict[str, str] = {}
    for text in words:
        path, equals, what = (part.strip() for part in text.partition("="))
        if not equals or not path:
            raise InputError(f"{option} {text}: expected PATH=WHAT")
        if path in pairs:
            raise InputError(f"{option} {path}: is given twice; remove one of them")
        pairs[path] = what
    return pairs
