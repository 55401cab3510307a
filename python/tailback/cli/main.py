"""The commands of `tailback`.

Exit status: 0 done, 1 a run failed or an assertion did not hold, 2 bad input,
130 interrupted. With `--json` nothing but the JSON goes to stdout.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from tailback import terminal
from tailback._native import engine_version
from tailback.cli import boundary
from tailback.cli.boundary import FAILED, OK
from tailback.cli.kernel import kernel
from tailback.cli.options import (
    engine_option,
    jobs_option,
    json_option,
    out_option,
    pdf_option,
    read_only_option,
    seeds_option,
    set_option,
    unconfined_option,
)
from tailback.cli.verify import verify
from tailback.errors import InputError, RunsFailed
from tailback.names import unknown

if TYPE_CHECKING:
    from tailback.comparison import Comparison, Threshold
    from tailback.results import Results

LISTS = ("cc", "aqm", "traffic", "metrics", "experiments")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(engine_version(), message="tailback %(version)s")
def cli() -> None:
    """A laboratory for what happens at a bottleneck."""


@cli.command()
@click.argument("file")
@engine_option
@set_option
@seeds_option
@jobs_option
@out_option
@read_only_option
@unconfined_option
@json_option
def run(
    file: str,
    engine: str,
    overrides: tuple[str, ...],
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    read_only: bool,
    as_json: bool,
) -> int:
    """Run a scenario or a sweep; what is stored already is not run again."""
    from tailback import engines, running

    runner = engines.get(engine)
    job = running.load(Path(file), running.overrides(overrides), seeds, runner)
    failures: list[str] = []
    try:
        results = running.run_loaded([job], [runner], jobs=jobs, out=out, read_only=read_only)[0]
    except RunsFailed as failed:
        results, failures = failed.results[0], failed.failures
    if as_json:
        terminal.out_json(results.to_dict())
    elif results.points:
        _print_table(results)
    broken = results.failed_assertions()
    for message in failures:
        terminal.complain(message)
    for message in broken:
        terminal.complain(f"assertion does not hold: {message}")
    return FAILED if failures or broken else OK


@cli.command()
@click.argument("file")
@engine_option
@set_option
@seeds_option
def check(file: str, engine: str, overrides: tuple[str, ...], seeds: int | None) -> int:
    """Validate a scenario; nothing runs."""
    from tailback import engines, running

    scenario = running.load(Path(file), running.overrides(overrides), seeds, engines.get(engine))
    runs = len(scenario.points)
    terminal.out(f"{file}: ok, {runs} run{'s' if runs != 1 else ''}")
    return OK


@cli.command()
@click.argument("name")
@click.option("--part", "parts", multiple=True, help="Only this figure or table.")
@click.option("--quick", is_flag=True, help="Shorter runs and fewer points: a first look.")
@pdf_option
@engine_option
@seeds_option
@jobs_option
@out_option
@unconfined_option
@json_option
def reproduce(
    name: str,
    parts: tuple[str, ...],
    quick: bool,
    pdf: bool,
    engine: str,
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Run a published experiment, write its report, print how far off it is."""
    from tailback import engines, experiments, store

    engines.get(engine)
    experiment = experiments.get(name)
    experiments.known_parts(parts, experiment.parts)
    from tailback.report import also_pdf

    with also_pdf(pdf):
        result = experiment.run(
            list(parts) or None,
            quick=quick,
            seeds=seeds,
            jobs=jobs,
            out=out if out is not None else store.DEFAULT,
            progress=None,
            engine=engine,
        )
    if as_json:
        terminal.out_json(result.to_dict())
    else:
        from tailback.cli import table

        table.show_reproduction(experiment, result)
    return OK


@cli.command()
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
    help="Exit 1 if a flagged difference is beyond it: throughput_mbit:-5%, delay_ms.mean:+0.5, "
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

    STORED is the folder of a sweep, results/sweeps/ID, or of a run,
    results/runs/ID; or a data file of Flent (.flent.gz), or a folder of such
    files: replicates of one set-up.
    """
    from tailback import batteries, comparison

    thresholds = [comparison.Threshold.parse(text) for text in limits]
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
            comparison.parse(variants, engine),
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
        chosen = (*(chosen or comparison.METRICS), *(t.quantity for t in thresholds))
    if variants:
        if len(sources) > 1:
            raise InputError(f"{len(sources)} files; expected one with --variant")
        made = comparison.run_variants(
            Path(sources[0]),
            comparison.parse(variants, engine),
            seeds=seeds,
            chosen=chosen,
            jobs=jobs,
            out=out,
            read_only=read_only,
        )
    else:
        made = _compare_stored(sources, chosen, seeds)
    return _show_comparison(made, thresholds, report_folder, no_report, pdf, as_json, out)


@cli.command()
@click.option("--quick", is_flag=True, help="Fewer cells, seeds and seconds: a first look.")
@click.option("--queue", "queues", multiple=True, metavar="NAME", help="Only cells of this queue.")
@click.option(
    "--write",
    is_flag=True,
    help="Write docs/validation.md (with --queue docs/validation-NAME.md) and its figures too.",
)
@seeds_option
@jobs_option
@out_option
@unconfined_option
@json_option
def validate(
    quick: bool,
    queues: tuple[str, ...],
    write: bool,
    seeds: int | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Compare the simulator with the Linux kernel over a grid of cells.

    Congestion controls alone and in pairs, in every queue that both engines have, at two rates and
    three round-trip times, 5 seeds each; what is stored already is not run again. Exit status 1 if
    a goal does not hold or a run failed.
    """
    from tailback import validation
    from tailback.validation import grid

    known = [queue.name for queue in grid.QUEUES]
    for queue in queues:
        if queue not in known:
            from tailback import names

            raise InputError(names.unknown("queue", queue, known))
    docs = Path("docs")
    if write and not docs.is_dir():
        raise InputError("--write: no folder docs here; run it where the sources are")
    made = validation.validate(quick=quick, seeds=seeds, jobs=jobs, out=out, only=queues)
    if as_json:
        terminal.out_json(made.to_dict())
    from tailback.validation import page

    pages = [page.save(made)]
    if write:
        pages.append(page.save_page(made, docs))
    if not as_json:
        from tailback.cli import validation as shown

        shown.show(made, pages)
    for message in made.ran.failures:
        terminal.complain(message)
    return OK if made.holds and not made.ran.failures else FAILED


@cli.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@pdf_option
def report(folder: Path, pdf: bool) -> int:
    """Write the report of a sweep.

    DIR is a folder of results, of which the latest sweep is taken, or the
    folder of a sweep, results/sweeps/ID.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    from tailback.report import also_pdf
    from tailback.report.sweep import write_folder

    with also_pdf(pdf):
        terminal.out(write_folder(folder))
    return OK


@cli.command()
@click.argument("run")
@click.option("--format", "name", required=True, metavar="FORMAT", help="flent, pcapng or csv.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write [default: the run's id with the format's ending].",
)
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where results are kept [default: results].",
)
@click.option(
    "--interface",
    "interfaces",
    multiple=True,
    metavar="NAME",
    help="Of a capture only the packets seen here, e.g. bottleneck.in. Can be repeated.",
)
def export(
    run: str, name: str, out: Path | None, results: Path | None, interfaces: tuple[str, ...]
) -> int:
    """Write a run in another tool's format.

    RUN is the folder of a run, results/runs/ID, or its id.

    csv: the series in FILE, the summary in a second file beside it.

    flent: a data file that Flent opens and plots, of a run with record.series =
    "interval" (the default): throughput, smoothed RTT and window of each flow;
    where queues keep no flows apart, what a ping would take.

    pcapng: for Wireshark, the headers of every packet of a run with
    record.packets = true, at three interfaces for each link: NAME.in before
    its queue, NAME.out behind it, NAME.drop with the cause as comment.
    Wireshark takes a packet that is seen at two interfaces for one sent twice:
    for its analysis of TCP choose a place, e.g. with --interface bottleneck.in.
    """
    from tailback import interop, store
    from tailback.verify import KINDS

    chosen = interop.get(name)
    folder = store.find_run(run, results if results is not None else store.DEFAULT)
    target = out if out is not None else Path(f"{folder.resolve().name}{chosen.suffix}")
    stored = folder.resolve().parent.parent
    if any(stored / kind in target.resolve().parents for kind in KINDS):
        raise InputError(f"--out {target}: nothing is added to what is stored")
    for path in chosen.export(folder, target, interfaces):
        terminal.out(path)
    return OK


cli.add_command(kernel)
cli.add_command(verify)


@cli.command("list")
@click.argument("what", required=False, type=click.Choice(LISTS))
@click.option("--options", is_flag=True, help="Show the options of each entry too.")
def list_(what: str | None, options: bool) -> int:
    """List what there is to choose from."""
    from tailback.cli import listing

    for kind in (what,) if what else LISTS:
        if what is None:
            terminal.out(f"{kind}:")
        for line in listing.lines(kind, options=options):
            terminal.out(line if what else f"  {line}")
    return OK


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
    sources: tuple[str, ...], chosen: tuple[str, ...], seeds: int | None
) -> Comparison:
    from tailback import comparison

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
    return comparison.compare_stored([Path(source) for source in sources], chosen)


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
        from tailback.cli import comparison

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


def _print_table(results: Results) -> None:
    from tailback.cli import table

    table.show(results)


def main() -> NoReturn:
    """Entry point of the command."""
    sys.exit(boundary.status_of(lambda: cli(standalone_mode=False)))


if __name__ == "__main__":
    main()
