"""`tailback compare`: compares variants of a scenario, versions over a set of scenarios, or stored
sweeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback import studies
from tailback.base import progress, terminal
from tailback.base.names import unknown
from tailback.cli import complaints
from tailback.cli.boundary import EXCEEDED, FAILED, OK, UNKNOWN
from tailback.cli.help import Command
from tailback.cli.options import Auto, json_option, report_options, run_options
from tailback.errors import InputError

if TYPE_CHECKING:
    from tailback.comparison import Comparison
    from tailback.comparison.gate import Gate
    from tailback.comparison.model import VariantResults
    from tailback.comparison.thresholds import Threshold
    from tailback.running.options import RunOptions


@click.command(
    cls=Command,
    examples=(
        (
            "compare first.toml --variant base --variant short:bottleneck.queue.target=1ms",
            "compare the file with a variant that changes one key",
        ),
        (
            "compare two.toml --without cubic",
            "show the harm that a flow does to the others",
        ),
        (
            "compare main.tailback.json first.toml --fail-if delay_p99_ms:+10%",
            "fail if the delay has grown since the baseline was written",
        ),
    ),
)
@click.argument(
    "sources", nargs=-1, required=True, metavar="[BASELINE] FILE | SET | STORED STORED..."
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME[:KEY=VALUE]",
    help="A variant of FILE in which the key with the path KEY has the value VALUE. Repeat the "
    "option with the same NAME to replace more values. NAME without KEY=VALUE adds a variant that "
    "is the unchanged FILE. The key engine chooses the engine, and the key kernel chooses the "
    "guest kernel. The first variant is the baseline.",
)
@click.option(
    "--without",
    "absent",
    metavar="NAME",
    help="Put a variant before all others, in which this flow or source of traffic sends nothing. "
    "The comparison then shows the harm that NAME does to the other flows, unless --metric names "
    "other metrics.",
)
@click.option(
    "--metric",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="Metric to compare, e.g. link.drops for drops at links [default: throughput, "
    "delay and other common metrics]. `tailback list metrics` lists all metrics. Can be repeated.",
)
@click.option(
    "--fail-if",
    "limits",
    multiple=True,
    metavar="QUANTITY:±N[%]",
    help="Exit with status 3 if a difference exceeds this bound, or with status 4 if there are too "
    "few seeds to decide. Examples: throughput_mbit:-5%, delay_mean_ms:+0.5, or jain:2% for "
    "changes in both directions. The bound delay_mean_ms@NAME:+10% applies only to the link or "
    "flow NAME. Without @NAME, the bound applies to each link or flow separately. Can be repeated.",
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a JUnit XML file with the outcome of each --fail-if, each assertion that does not "
    "hold, and each failed run.",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="NAME",
    help="With SET: run only this part of SET [default: all]. Can be repeated.",
)
@click.option("--quick", is_flag=True, help="With SET: run fewer and shorter scenarios.")
@click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="NAME",
    help="With SET: apply this preset, which changes the scenarios of SET for every variant "
    "[default: none]. The help text of `tailback compare` lists the presets. Can be repeated.",
)
@click.option(
    "--report",
    "report_folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder to write the report to [default: comparisons/ID in the folder of results]. The "
    "folder must not exist yet.",
)
@click.option("--no-report", is_flag=True, help="Do not write a report.")
@report_options
@run_options(auto_seeds=True, read_only=True)
@json_option
def compare(
    sources: tuple[str, ...],
    variants: tuple[str, ...],
    absent: str | None,
    chosen: tuple[str, ...],
    limits: tuple[str, ...],
    junit: Path | None,
    parts: tuple[str, ...],
    quick: bool,
    presets: tuple[str, ...],
    report_folder: Path | None,
    no_report: bool,
    pdf: bool,
    seeds: int | Auto | None,
    options: RunOptions,
    as_json: bool,
) -> int:
    """Compare variants of a scenario, or stored sweeps, and show which differences exceed noise.

    Every variant runs at the same sweep points with the same seeds (10 by default, unless FILE sets
    another number). The table marks a difference from the first variant with a star if the
    difference is more than noise (q-value below 0.05). At most 5 % of the stars are expected to be
    wrong. This share of wrong stars is the false discovery rate.

    SET is the name of a set of scenarios that comes with tailback. The only set is l4s-battery. The
    parts of l4s-battery are 1-1, 1h-1h, 1l-1l, flows, mixed-rtt and overload. The name equal-rtt
    selects the parts 1-1, 1h-1h and 1l-1l. The flows of l4s-battery are called L (scalable) and C
    (classic), and the link is called bottleneck. For example, the variant
    NAME:bottleneck.queue.target=18ms changes the target of the queue in all scenarios of the set.
    The set l4s-battery has three presets. The preset dctcp uses DCTCP instead of Prague for the
    flows L, and sets the queue's key any_ect. The kernel engine always uses the preset dctcp. The
    preset step-2019 sets a step threshold of 6 ms at 4 Mbit/s, of 2 ms at 12 Mbit/s and of 1 ms at
    higher rates. The preset overload-5 runs five flows L and five flows C, instead of one flow of
    each. With SET, tailback also writes the report as PDF.

    STORED is the folder of a sweep (results/sweeps/ID), the id of a sweep, the beginning of its id,
    `latest`, or the folder of a run (results/runs/ID). STORED can also be a Flent data file
    (.flent.gz), or a folder of Flent data files that repeat one experiment. You can also compare a
    qlog file that a sender wrote (.qlog, .sqlog) with a run or with a scenario FILE. The command
    then runs FILE first.

    BASELINE is a file that `tailback baseline` has written (.tailback.json). The command compares
    FILE or STORED with BASELINE.
    """
    from tailback.comparison.thresholds import Threshold
    from tailback.store import layout

    thresholds = [Threshold.parse(text) for text in limits]
    if report_folder is not None and (no_report or report_folder.exists()):
        reason = "and --no-report exclude each other; remove one of them"
        if not no_report:
            reason = "already exists, and nothing is overwritten; name another folder"
        raise InputError(f"--report {report_folder}: {reason}")
    if junit is not None and not junit.absolute().parent.is_dir():
        raise InputError(
            f"--junit {junit}: there is no folder {junit.parent}; name one that exists"
        )
    if isinstance(seeds, Auto) and not thresholds:
        raise InputError(
            "--seeds auto: the result of --fail-if decides how many seeds are enough; expected "
            "--fail-if too"
        )
    # --read-only forbids writing to the folder of results, so write a report only to a folder that
    # the user named.
    no_report = no_report or (options.read_only and report_folder is None)
    asked = _Asked(sources, variants, absent, chosen, parts, presets, quick, options, thresholds)
    run, most = asked.maker(seeds)
    gate: Gate | None = None
    if isinstance(seeds, Auto):
        from tailback.comparison.gate import LAST_LOOK, until_told

        last = seeds.most or LAST_LOOK
        if most is not None and most < last:
            last = most
        outcome, gate = until_told(run, thresholds, last, progress.say)
    else:
        outcome = run(seeds)
        if thresholds:
            from tailback.comparison.gate import hold

            gate = hold(outcome, thresholds)
    # Without --out, or for a set of scenarios, `_report` chooses the folder of the report.
    named = asked.battery is None and options.out != layout.DEFAULT
    where = options.out if named else None
    page = _report(outcome, report_folder, no_report, pdf, where)
    return _say(outcome, gate, page, junit, as_json)


@dataclass(frozen=True)
class _Asked:
    """The command-line arguments that determine what is compared."""

    sources: tuple[str, ...]
    variants: tuple[str, ...]
    absent: str | None
    chosen: tuple[str, ...]
    parts: tuple[str, ...]
    presets: tuple[str, ...]
    quick: bool
    options: RunOptions
    thresholds: list[Threshold]

    @property
    def battery(self) -> str | None:
        return _battery(self.sources)

    def maker(
        self, seeds: int | Auto | None
    ) -> tuple[Callable[[int | None], Comparison], int | None]:
        """Return a function that makes the comparison with a given number of seeds, and the largest
        number of seeds that it accepts."""
        from tailback.comparison import baseline, quantities

        battery = self.battery
        if self.absent is not None and (len(self.sources) > 1 or not _is_scenario(self.sources[0])):
            raise InputError(
                "--without: needs exactly one scenario file; name one file, or remove --without"
            )
        if battery is not None:
            return self._of_battery(battery), None
        if self.parts or self.quick or self.presets:
            raise InputError(
                "--part, --quick and --preset are for sets of scenarios; expected one of "
                f"{', '.join(studies.batteries())}"
            )
        first = Path(self.sources[0])
        base = baseline.read(first) if baseline.is_named_so(first) else None
        chosen = self.chosen
        # Compare every quantity for which `--fail-if` sets a threshold, even without `--metric`.
        limits = [threshold.quantity for threshold in self.thresholds]
        if limits and not (base is not None and not chosen):
            chosen = (*(chosen or quantities.METRICS), *limits)
        if base is not None:
            _refuse_lacking(base, first, (*chosen, *limits))
            if len(self.sources) == 2 and _is_scenario(self.sources[1]):
                return self._of_file(self.sources[1], chosen, base), baseline.most_seeds(base)
        if self.variants or self.absent is not None:
            if len(self.sources) > 1:
                raise InputError(
                    f"{len(self.sources)} scenario files; expected one file with --variant"
                )
            return self._of_file(self.sources[0], chosen, None), None
        if seeds is not None:
            raise InputError("--seeds: stored results have their seeds already; remove --seeds")
        return (lambda _: _compare_stored(self.sources, chosen, self.options)), None

    def _of_battery(self, name: str) -> Callable[[int | None], Comparison]:
        from tailback.comparison import variants

        run = studies.load(studies.batteries()[name])
        return lambda seeds: run(
            name,
            variants.parse(self.variants, self.options.engine),
            replace(self.options, seeds=seeds),
            parts=self.parts,
            presets=self.presets,
            quick=self.quick,
            metrics=(*self.chosen, *(t.quantity for t in self.thresholds)),
        )

    def _of_file(
        self, file: str, chosen: tuple[str, ...], base: VariantResults | None
    ) -> Callable[[int | None], Comparison]:
        from tailback.comparison import run_variants, variants

        texts = self.variants
        if base is not None and not texts:
            stem = Path(file).stem
            texts = (stem if not set(stem) & set("=:") else "now",)
        asked = variants.parse(texts, self.options.engine)
        if self.absent is not None:
            from tailback.comparison.absence import HARM, without

            asked = asked or variants.parse((f"with {self.absent}",), self.options.engine)
            asked.insert(0, without(Path(file), self.absent, self.options.engine))
            chosen = chosen or HARM
        return lambda seeds: run_variants(
            Path(file),
            asked,
            replace(self.options, seeds=seeds),
            metrics=chosen,
            base=base,
        )


def _is_scenario(source: str) -> bool:
    path = Path(source)
    return path.suffix == ".toml" or path.is_file()


def _refuse_lacking(base: VariantResults, file: Path, names: tuple[str, ...]) -> None:
    """Reject `--metric` and `--fail-if` quantities that the baseline file does not have."""
    from tailback.comparison import baseline
    from tailback.comparison.quantities import select

    has = baseline.quantities(base)
    for name in names:
        quantities = [m.of_two.quantity if m.of_two else m for m in select([name])]
        if not any(f"{metric.on}.{metric.path}" in has for metric in quantities):
            raise InputError(
                f"{file}: the baseline does not have {name}; expected one of {', '.join(has)}, or "
                "the file written again with --metric"
            )


def _battery(sources: tuple[str, ...]) -> str | None:
    word = sources[0]
    known = tuple(studies.batteries())
    if len(sources) > 1 or word in known:
        return word if len(sources) == 1 else None
    a_path = Path(word).exists() or Path(word).suffix or "/" in word or os.sep in word
    if not a_path:
        raise InputError(
            f"{word}: no such file or set; {unknown('set', word, known).partition('; ')[2]}"
        )
    return None


def _compare_stored(
    sources: tuple[str, ...], chosen: tuple[str, ...], options: RunOptions
) -> Comparison:
    from tailback.comparison import compare_stored

    if len(sources) < 2:
        from tailback.comparison import baseline
        from tailback.interop.flent_file import is_named_so

        hint = "--variant NAME ..."
        if baseline.is_named_so(Path(sources[0])):
            hint = "FILE after it"
        elif Path(sources[0]).is_dir() or is_named_so(Path(sources[0])):
            hint = "the folder of another sweep or run, or a data file of Flent"
        raise InputError(f"{sources[0]}: nothing to compare it with; expected {hint}")
    from tailback.store import archive

    places = [
        path
        if (path := Path(source)).exists() or path.suffix or len(path.parts) > 1
        # Any other source is the id of a sweep, or the beginning of such an id.
        else archive.find(source, options.out)
        for source in sources
    ]
    return compare_stored(_with_runs(places, options), chosen)


def _with_runs(places: list[Path], options: RunOptions) -> list[Path]:
    """If a source is a qlog file, run each source that is a scenario, and replace it with the
    folder of its sweep."""
    from tailback.interop import qlog_results

    if not any(qlog_results.is_source(place) for place in places):
        return places
    from tailback.running.batch import Job, run_jobs
    from tailback.store import layout

    files = [place for place in places if place.suffix == ".toml"]
    ran = dict(zip(files, run_jobs([Job(file) for file in files], options), strict=True))
    return [
        layout.index_path(ran[place].root, ran[place].id).parent if place in ran else place
        for place in places
    ]


MOST_SAID = 20
"""The largest number of verdicts to print one by one. The JSON has all verdicts."""


def _report(
    outcome: Comparison, folder: Path | None, no_report: bool, pdf: bool, out: Path | None
) -> Path | None:
    if no_report:
        return None
    from tailback.report import also_pdf
    from tailback.store import layout

    target = folder
    if target is None and out is not None:
        target = out / "comparisons" / outcome.id
    try:
        with also_pdf(pdf):
            return outcome.report(target)
    except OSError as error:
        if folder is not None or not layout.is_refused(error):
            raise
        complaints.warn(f"no report is written: {error}")
    return None


def _say(
    outcome: Comparison, gate: Gate | None, page: Path | None, junit: Path | None, as_json: bool
) -> int:
    broken = outcome.failed_assertions()
    if junit is not None:
        from tailback.comparison.junit import write

        write(outcome, gate, broken, junit)
    if as_json:
        terminal.out_json(outcome.to_dict() | ({"gate": gate.to_dict()} if gate else {}))
    else:
        from tailback.cli.tables import comparison

        comparison.show(outcome, page)
        if gate is not None:
            terminal.out(gate.text())
    for message in outcome.failures:
        complaints.error(message)
    for message in broken:
        complaints.error(f"assertion does not hold: {message}")
    if gate is not None:
        open_ = [*gate.of("exceeds"), *gate.of("unknown")]
        for verdict in open_[:MOST_SAID]:
            complaints.error(verdict.text())
        if len(open_) > MOST_SAID:
            terminal.err(f"and {len(open_) - MOST_SAID} more; --json and --junit list all")
    if outcome.failures or broken:
        return FAILED
    if gate is None or gate.answer == "holds":
        return OK
    return EXCEEDED if gate.answer == "exceeds" else UNKNOWN
