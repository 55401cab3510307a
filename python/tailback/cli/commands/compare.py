"""`tailback compare`: variants of a scenario, versions over a battery, or stored sweeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback import terminal
from tailback.cli.boundary import FAILED, OK
from tailback.cli.options import (
    engine_option,
    jobs_option,
    json_option,
    out_option,
    pdf_option,
    read_only_option,
    seeds_option,
    unconfined_option,
    with_option,
)
from tailback.errors import InputError
from tailback.names import unknown

if TYPE_CHECKING:
    from tailback.comparison import Comparison
    from tailback.comparison.thresholds import Threshold


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE | BATTERY | STORED STORED...")
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME[:KEY=VALUE]",
    help="A variant of FILE: a value replaced by its path; repeat NAME for more. NAME alone is "
    "the file as it is. Keys engine and kernel choose what runs it. The first is the baseline.",
)
@click.option(
    "--metric",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="Compare this (tailback list metrics); link.drops is that of links only.",
)
@click.option(
    "--fail-if",
    "limits",
    multiple=True,
    metavar="QUANTITY:±N[%]",
    help="Exit 1 if a flagged difference is beyond it: throughput_mbit:-5%, delay_mean_ms:+0.5, "
    "or jain:2% for both ways.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="NAME",
    help="Of a battery only this. Can be repeated.",
)
@click.option("--quick", is_flag=True, help="Of a battery shorter runs and fewer points.")
@click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="NAME",
    help="A reading of a battery, for every variant: see below. Can be repeated.",
)
@click.option(
    "--report",
    "report_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the report here, where nothing may be yet [default: comparisons/ID of the "
    "results].",
)
@click.option("--no-report", is_flag=True, help="Write none.")
@pdf_option
@engine_option
@with_option
@seeds_option
@jobs_option
@out_option
@read_only_option
@unconfined_option
@json_option
def compare(
    sources: tuple[str, ...],
    variants: tuple[str, ...],
    chosen: tuple[str, ...],
    limits: tuple[str, ...],
    parts: tuple[str, ...],
    quick: bool,
    presets: tuple[str, ...],
    report_folder: Path | None,
    no_report: bool,
    pdf: bool,
    engine: str,
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    read_only: bool,
    as_json: bool,
) -> int:
    """Compare variants of a scenario, or stored sweeps, and say what differs beyond noise.

    Every variant runs at the same points with the same seeds (default: 10, unless FILE says how
    many). A difference to the first variant is flagged if its q is below 0.05: the false discovery
    rate over all differences.

    BATTERY is a set of scenarios that go with tailback: l4s-battery, of the
    parts 1-1, 1h-1h, 1l-1l (together equal-rtt), flows, mixed-rtt and overload.
    Flows are called L and C, the link bottleneck: NAME:bottleneck.queue.target=18ms
    is another queue everywhere. Presets: dctcp (DCTCP in L by any_ect, as on
    the kernel engine), step-2019 (step thresholds of 6 and 2 ms at 4 and 12
    Mbit/s), overload-5 (five flows in each class). Its report has a PDF too.

    STORED is the folder of a sweep, results/sweeps/ID, its id or the beginning
    of it, or `latest`; the folder of a run, results/runs/ID; or a data file of
    Flent (.flent.gz), or a folder of such files: replicates of one set-up.
    """
    from tailback import batteries
    from tailback.comparison import quantities, run_variants
    from tailback.comparison import variants as asked_for
    from tailback.comparison.thresholds import Threshold

    thresholds = [Threshold.parse(text) for text in limits]
    if report_folder is not None and (no_report or report_folder.exists()):
        reason = "is there already; nothing is overwritten" if not no_report else "and --no-report"
        raise InputError(f"--report {report_folder}: {reason}")
    # A report that is asked for by its folder is not written to the results.
    no_report = no_report or (read_only and report_folder is None)
    battery = _battery(sources)
    if battery is None and (parts or quick or presets):
        raise InputError(
            "--part, --quick and --preset are for batteries; expected one of "
            f"{', '.join(batteries.NAMES)}"
        )
    made: Comparison
    if battery is not None:
        from tailback.batteries.side_by_side import run_battery

        made = run_battery(
            batteries.get(battery),
            asked_for.parse(variants, engine),
            parts=parts,
            presets=presets,
            quick=quick,
            seeds=seeds,
            chosen=(*chosen, *(t.quantity for t in thresholds)),
            jobs=jobs,
            out=out,
            read_only=read_only,
        )
        return _show_comparison(made, thresholds, report_folder, no_report, pdf, as_json)
    # What is held against a threshold is compared.
    if thresholds:
        chosen = (*(chosen or quantities.METRICS), *(t.quantity for t in thresholds))
    if variants:
        if len(sources) > 1:
            raise InputError(f"{len(sources)} files; expected one with --variant")
        made = run_variants(
            Path(sources[0]),
            asked_for.parse(variants, engine),
            seeds=seeds,
            chosen=chosen,
            jobs=jobs,
            out=out,
            read_only=read_only,
        )
    else:
        made = _compare_stored(sources, chosen, seeds, out)
    return _show_comparison(made, thresholds, report_folder, no_report, pdf, as_json, out)


def _battery(sources: tuple[str, ...]) -> str | None:
    """The battery that is meant: a word that is none of the files here."""
    from tailback import batteries

    word = sources[0]
    if len(sources) > 1 or word in batteries.NAMES:
        return word if len(sources) == 1 else None
    a_path = Path(word).exists() or Path(word).suffix or "/" in word or os.sep in word
    if not a_path:
        raise InputError(f"{word}: no such file, and {unknown('battery', word, batteries.NAMES)}")
    return None


def _compare_stored(
    sources: tuple[str, ...], chosen: tuple[str, ...], seeds: int | None, out: Path | None
) -> Comparison:
    from tailback.comparison import compare_stored

    if len(sources) < 2:
        from tailback.interop.flent_file import is_named_so

        stored = Path(sources[0]).is_dir() or is_named_so(Path(sources[0]))
        hint = (
            "the folder of another sweep or run, or a data file of Flent"
            if stored
            else "--variant NAME ..."
        )
        raise InputError(f"{sources[0]}: nothing to compare it with; expected {hint}")
    if seeds is not None:
        raise InputError("--seeds: stored sweeps have the seeds that they have")
    from tailback import archive, store

    root = out if out is not None else store.DEFAULT
    places = [
        path
        if (path := Path(source)).exists() or path.suffix or len(path.parts) > 1
        # A word is the id of a sweep, or the beginning of it.
        else archive.find(source, root)
        for source in sources
    ]
    return compare_stored(places, chosen)


def _show_comparison(
    made: Comparison,
    thresholds: list[Threshold],
    folder: Path | None,
    no_report: bool,
    pdf: bool,
    as_json: bool,
    out: Path | None = None,
) -> int:
    page = None
    if not no_report:
        from tailback import store
        from tailback.report import also_pdf

        target = folder
        if target is None and out is not None:
            target = out / "comparisons" / made.id

        try:
            with also_pdf(pdf):
                page = made.report(target)
        except OSError as error:
            if folder is not None or not store.is_refused(error):
                raise
            terminal.complain(f"warning: no report is written: {error}")
    if as_json:
        terminal.out_json(made.to_dict())
    else:
        from tailback.cli.tables import comparison

        comparison.show(made, page)
    broken = made.failed_assertions()
    for message in made.failures:
        terminal.complain(message)
    for message in broken:
        terminal.complain(f"assertion does not hold: {message}")
    beyond = [message for threshold in thresholds for message in threshold.passed(made)]
    for message in beyond:
        terminal.complain(message)
    return FAILED if made.failures or broken or beyond else OK
