"""`tailback reproduce`: runs a published experiment again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.help import Command
from tailback.cli.options import json_option, report_options, run_options
from tailback_studies.cli.completing import experiment_names

if TYPE_CHECKING:
    from tailback.running.options import RunOptions


@click.command(
    cls=Command,
    examples=(
        ("reproduce dctcp-internet-2014 --quick", "take a first look at an experiment"),
        ("reproduce sce-2019 --part table-25", "run one table of an experiment"),
    ),
)
@click.argument("name", shell_complete=experiment_names)
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="NAME",
    help="Run only this figure or table of the publication [default: all]. Can be repeated.",
)
@click.option("--quick", is_flag=True, help="Execute fewer and shorter runs, for a first look.")
@click.option(
    "--page",
    is_flag=True,
    help="Write the docs page of the experiment to the folder of the report. With --page, tailback "
    "runs every part of the experiment with all seeds and full durations. If the publication "
    "leaves a detail open, tailback runs every interpretation of the detail.",
)
@click.option(
    "--until-decided",
    is_flag=True,
    help="For experiments that compare versions with each other: add seeds to scenarios whose "
    "differences are undecided. Each scenario first runs with 5 seeds, then with 10, and then with "
    "20. A scenario needs no more seeds if tests show, for each difference in rate, delay or "
    "utilisation, whether this difference exceeds 10 %.",
)
@report_options
@run_options(
    seeds_help="Number of seeds for each scenario [default: the number that the experiment sets]."
)
@json_option
def reproduce(
    name: str,
    parts: tuple[str, ...],
    quick: bool,
    page: bool,
    until_decided: bool,
    pdf: bool,
    options: RunOptions,
    as_json: bool,
) -> int:
    """Run a published experiment, write its report, and print how far the measured values are
    from the published values."""
    from tailback.running import engines
    from tailback_studies import experiments
    from tailback_studies.reproduction.experiment import known_parts

    engines.get(options.engine)
    experiment = experiments.get(name)
    known_parts(parts, experiment.parts)
    from tailback.report import also_pdf

    with also_pdf(pdf):
        # Experiments in other packages may not have the option `until_decided`.
        rule = {"until_decided": True} if until_decided else {}
        result = experiment.run(list(parts) or None, options, quick=quick, page=page, **rule)
    if as_json:
        terminal.out_json(result.to_dict())
    else:
        from tailback_studies.cli.tables import reproduction

        reproduction.show(experiment, result)
    return OK
