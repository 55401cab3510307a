"""`tailback bundle`: writes a scenario and its results to a file, or verifies such a file."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import FAILED, OK
from tailback.cli.help import Command
from tailback.cli.options import json_option, run_options, set_option
from tailback.running.options import RunOptions


@click.command(
    cls=Command,
    examples=(
        ("bundle first.toml --seeds 5", "run a scenario and write first.zip"),
        ("bundle --verify first.zip", "run a bundle again elsewhere and compare every byte"),
    ),
)
@click.argument("target", metavar="[TARGET]", required=False, type=click.Path(path_type=Path))
@set_option
@click.option(
    "--verify",
    "bundle_",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Repeat the runs of this bundle, and print which bytes of the results differ, and why.",
)
@click.option(
    "--to",
    "zipped",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write [default: the name of TARGET, with the ending .zip].",
)
@click.option(
    "--license",
    "license_",
    metavar="TEXT",
    help="License of the results, which tailback writes into the metadata [default: no license].",
)
@click.option(
    "--max-cpu-s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Maximum CPU time of --verify, in seconds [default: 3600].",
)
@run_options(spread=False)
@json_option
def bundle(
    target: Path | None,
    overrides: tuple[str, ...],
    bundle_: Path | None,
    zipped: Path | None,
    license_: str | None,
    max_cpu_s: float | None,
    options: RunOptions,
    as_json: bool,
) -> int:
    """Write a scenario, its results and the versions of the software to one file, or verify such a
    file.

    TARGET is a scenario file. The command first executes the runs that are not stored yet. The
    bundle contains the scenario, the files that the scenario reads, the results and their hashes, a
    figure, the commands, the versions of the software, and metadata (RO-Crate). With --verify, the
    command checks a bundle and repeats its runs. With --verify, the exit status is 1 if any byte of
    the results differs.

    docs/how-to/bundle.md lists what a bundle contains.
    """
    if (target is None) == (bundle_ is None):
        raise click.UsageError("expected TARGET or --verify FILE; name one of them")
    if bundle_ is not None:
        return _verify(bundle_, options, max_cpu_s, as_json=as_json)
    assert target is not None
    from tailback.bundling import crate, writing
    from tailback.running import scenarios

    out = zipped or Path(f"{target.stem}.zip")
    values = scenarios.overrides(overrides)
    written = writing.write(target, out, values, options, license_ or crate.NO_LICENSE)
    if as_json:
        terminal.out_json({"file": str(written), "bytes": written.stat().st_size})
    else:
        terminal.out(written)
    return OK


def _verify(file: Path, options: RunOptions, max_cpu_s: float | None, *, as_json: bool) -> int:
    from tailback.bundling import checking

    found = checking.verify_bundle(
        file, jobs=options.jobs, max_cpu_s=max_cpu_s or checking.MAX_CPU_S
    )
    if as_json:
        terminal.out_json(found.to_dict())
        return OK if found.same else FAILED
    said = "not the same"
    if found.same:
        said = "every byte is the same"
        if found.version_only:
            said = "the results are the same, and their files name another version of the engine"
    terminal.out(
        f"{file}: {found.files} files checked, {found.runs} runs repeated, {found.compared} of "
        f"their files compared: {said}"
    )
    for name in found.damaged:
        terminal.out(f"{name}: damaged, since its hash differs from the hash in the bundle")
    for one in found.differences:
        terminal.out(f"{one.file}: differs, since {one.why}")
        for value in one.values:
            terminal.out(f"  {value}")
    return OK if found.same else FAILED
