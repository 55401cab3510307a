"""Defines options that several commands share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tailback.base import progress
from tailback.cli.completing import engine_names


def _unconfine(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Disable the sandbox for all guests that this command runs, in any thread."""
    if wanted:
        from tailback.kernel import confine

        os.environ[confine.VARIABLE] = "1"


_unconfined_option = click.option(
    "--unconfined",
    is_flag=True,
    expose_value=False,
    callback=_unconfine,
    help="Run guests of the kernel engine even if this machine supports neither mount namespaces "
    "nor Landlock. Guests can then access this machine's files.",
)


def _trust(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from tailback.kernel import confine

        os.environ[confine.TRUST] = "1"


_trust_option = click.option(
    "--trust-programs",
    is_flag=True,
    expose_value=False,
    callback=_trust,
    help="Run the programs that a scenario lists in [[programs]], even if this machine supports "
    "only parts of the sandbox.",
)


def walls_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that disable parts of the sandbox for guests."""
    return _unconfined_option(_trust_option(command))


def for_this_command(context: click.Context, variable: str, value: str) -> None:
    """Set an environment variable until the command ends. At the end of the command, the old value
    is restored, because Python code that called the command may continue.
    """
    before = os.environ.get(variable)

    def restore() -> None:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before

    context.call_on_close(restore)
    os.environ[variable] = value


def _compile_in(
    context: click.Context, _parameter: click.Parameter, folders: tuple[str, ...]
) -> None:
    if folders:
        from tailback.plugins import asked

        for_this_command(context, asked.VARIABLE, asked.with_environment(folders))


with_option = click.option(
    "--with",
    "crates",
    multiple=True,
    metavar="DIR",
    type=click.Path(file_okay=False),
    expose_value=False,
    callback=_compile_in,
    help="Folder with the source of a plugin, which tailback compiles into the engine. `tailback "
    "new --crate` creates a plugin. Can be repeated.",
)


def _quieten(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        for_this_command(context, progress.QUIET, "1")


quiet_option = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=_quieten,
    help="Print results, warnings and errors, but no progress.",
)
engine_option = click.option(
    "--engine",
    default="sim",
    show_default=True,
    shell_complete=engine_names,
    metavar="NAME",
    help="Engine to use: sim (the simulator), kernel (Linux in virtual time) or kernel-realtime "
    "(Linux in real time).",
)


@dataclass(frozen=True)
class Auto:
    """The value of `--seeds auto`: add seeds until the verdict is known or a limit is reached."""

    most: int | None = None


class _Count(click.ParamType[Any]):
    """An option type: a whole number of at least 1."""

    name = "count"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        text = str(value)
        if not _is_count(text):
            self.fail(f'wrong value "{text}"; expected a whole number of at least 1', param, ctx)
        return int(text)


class _Seeds(click.ParamType[Any]):
    """An option type: a number of seeds, `auto` or `auto:MAX`."""

    name = "seeds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Auto:
        if isinstance(value, int | Auto):
            return value
        text = str(value)
        if text == "auto":
            return Auto()
        number = text.removeprefix("auto:")
        if not _is_count(number) or (number != text and int(number) < 2):
            expected = "expected a number from 1, auto, or auto:MAX with MAX from 2"
            self.fail(f'wrong value "{text}"; {expected}', param, ctx)
        return int(number) if number == text else Auto(int(number))


def _is_count(text: str) -> bool:
    digits = text.isascii() and text.isdigit() and len(text) < 100
    return digits and int(text) >= 1


count_type = _Count()


def _seeds_option(text: str) -> Callable[..., Any]:
    return click.option("--seeds", type=count_type, metavar="N", help=text)


SEEDS_HELP = (
    "Number of seeds for each sweep point; each seed is one run [default: the number that the "
    "scenario sets, or 1]."
)
seeds_option = _seeds_option(SEEDS_HELP)
_auto_seeds_option = click.option(
    "--seeds",
    type=_Seeds(),
    metavar="N|auto[:MAX]",
    help="Number of seeds for each sweep point; each seed is one run [default: the number that the "
    "scenario sets, or 10]. With auto, tailback starts with 10 seeds and doubles the number of "
    "seeds until the result of --fail-if is clear. The number of seeds never exceeds MAX [default "
    "of MAX: 80].",
)
jobs_option = click.option(
    "--jobs",
    type=count_type,
    metavar="N",
    help="Number of runs to execute in parallel [default: the number of cores].",
)
_cores_option = click.option(
    "--cores",
    type=count_type,
    default=1,
    metavar="N",
    help=(
        "Number of cores that each run of the simulator may use [default: 1]. A run can use "
        "several cores only if its network has links with a delay, because tailback divides the "
        "network at these links. The results do not depend on the number of cores."
    ),
)
out_option = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder in which tailback stores results [default: results].",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
_read_only_option = click.option(
    "--read-only",
    is_flag=True,
    help="Show only results that are already stored. Do not execute runs, and do not write files.",
)
_pdf_option = click.option("--pdf", is_flag=True, help="Also write the report as PDF.")


def _leave_out_lab(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from tailback.report import without_lab

        context.with_resource(without_lab())


_no_lab_option = click.option(
    "--no-lab",
    is_flag=True,
    expose_value=False,
    callback=_leave_out_lab,
    help="Write the report without the laboratory (a page that runs the scenarios again in a "
    "browser) and without links to this page.",
)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the contents of a report."""
    return _pdf_option(_no_lab_option(command))


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change the value of one key of the scenario, e.g. bottleneck.rate=10Mbit. KEY is the "
    "path of the key, with dots between its parts. Can be repeated.",
)


def run_options(
    *,
    engine: bool = True,
    auto_seeds: bool = False,
    seeds_help: str = SEEDS_HELP,
    cores: bool = True,
    spread: bool = True,
    read_only: bool = False,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the options of every command that runs scenarios. The command gets the values of these
    options in its argument `options`, which is a `RunOptions`.

    `engine` adds `--engine`. `auto_seeds` adds `--seeds auto`, and the command then also gets the
    argument `seeds`. `cores` adds `--cores`, `spread` adds `--cluster` and `--shard`, and
    `read_only` adds `--read-only`.
    """

    def add(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def with_options(
            *args: Any,
            jobs: int | None,
            out: Path | None,
            cores: int = 1,
            engine: str = "sim",
            read_only: bool = False,
            **kwargs: Any,
        ) -> int:
            from tailback.running.options import RunOptions

            given = kwargs["seeds"] if auto_seeds else kwargs.pop("seeds")
            chosen = RunOptions.of(
                seeds=None if isinstance(given, Auto) else given,
                jobs=jobs,
                cores=cores,
                out=out,
                engine=engine,
                read_only=read_only,
            )
            return command(*args, options=chosen, **kwargs)

        seeds = _auto_seeds_option if auto_seeds else _seeds_option(seeds_help)
        options = [seeds, jobs_option, *([_cores_option] if cores else ()), out_option]
        if engine:
            options[:0] = [engine_option, with_option]
        if spread:
            from tailback.cli.spreading import spread_options

            options.append(spread_options)
        if read_only:
            options.append(_read_only_option)
        decorated: Callable[..., int] = with_options
        for option in reversed([*options, walls_options, quiet_option]):
            decorated = option(decorated)
        return decorated

    return add
