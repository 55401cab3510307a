"""`tailback reproduce`: a published experiment, run again."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.options import (
    engine_option,
    jobs_option,
    json_option,
    out_option,
    pdf_option,
    quiet_option,
    seeds_option,
    walls_options,
    with_option,
)
from tailback.cli.spreading import spread_options
from tailback_studies.cli.completing import experiment_names


@click.command()
@click.argument("name", shell_complete=experiment_names)
@click.option("--part", "parts", multiple=True, help="Only this figure or table.")
@click.option("--quick", is_flag=True, help="Shorter runs and fewer points: a first look.")
@click.option(
    "--page",
    is_flag=True,
    help="Write its page of docs beside the report, with all that it needs: every part, full "
    "seeds and durations, what the source leaves open.",
)
@pdf_option
@engine_option
@with_option
@seeds_option
@jobs_option
@out_option
@spread_options
@walls_options
@quiet_option
@json_option
def reproduce(
    name: str,
    parts: tuple[str, ...],
    quick: bool,
    page: bool,
    pdf: bool,
    engine: str,
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Run a published experiment, write its report, print how far off it is."""
    from tailback.running import engines
    from tailback.store import layout
    from tailback_studies import experiments
    from tailback_studies.reproduction.experiment import known_parts

    engines.get(engine)
    experiment = experiments.get(name)
    known_parts(parts, experiment.parts)
    from tailback.report import also_pdf

    with also_pdf(pdf):
        result = experiment.run(
            list(parts) or None,
            quick=quick,
            seeds=seeds,
            jobs=jobs,
            out=out if out is not None else layout.DEFAULT,
            progress=None,
            engine=engine,
            page=page,
        )
    if as_json:
        terminal.out_json(result.to_dict())
    else:
        from tailback_studies.cli.tables import reproduction

        reproduction.show(experiment, result)
    return OK
