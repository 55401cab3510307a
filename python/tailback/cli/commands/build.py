"""`tailback build`: compiles the engine with the user's plugins."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.help import Command
from tailback.cli.options import count_type, for_this_command


@click.command(
    cls=Command,
    examples=(
        ("build --with my-cc", "compile a plugin"),
        ("build --with my-cc --test", "compile a plugin and run its tests"),
    ),
)
@click.option(
    "--with",
    "folders",
    multiple=True,
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Compile the plugin in this folder. `tailback new --crate` creates a plugin. Can be "
    "repeated.",
)
@click.option("--test", "tested", is_flag=True, help="Also run the tests of the plugins.")
@click.option(
    "--jobs",
    type=count_type,
    metavar="N",
    help="Number of compilers to run in parallel [default: the number of cores].",
)
@click.pass_context
def build(context: click.Context, folders: tuple[Path, ...], tested: bool, jobs: int | None) -> int:
    """Compile the engine with your plugins.

    tailback keeps the compiled engine in its cache. `tailback run --with DIR` uses the engine in
    the cache, and compiles the engine only if the cache does not contain it. The key `with` of a
    scenario has the same effect as --with. This command also prints the messages of the compiler,
    and the algorithms that the plugins register.
    """
    from tailback.plugins import copies, workspace
    from tailback.plugins.crate import read_all

    if jobs is not None:
        for_this_command(context, "CARGO_BUILD_JOBS", str(jobs))
    crates = read_all(folders)
    if tested:
        said = workspace.test(crates)
        terminal.out(workspace.diagnostics(crates, said))
    copy = copies.native(folders)
    for crate in crates:
        terminal.out(f"{crate.name} {crate.hash}  {crate.folder}")
    for kind, entries in copies.entries(copy).items():
        for entry in entries:
            terminal.out(f"  {kind} {entry['name']}: {entry['doc']}")
    return OK
