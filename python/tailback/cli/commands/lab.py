"""`tailback lab`: opens the laboratory in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.help import Command
from tailback.errors import InputError


@click.command(
    cls=Command,
    examples=(
        ("lab", "open the laboratory with the first example"),
        ("lab first.toml", "open a scenario file in the laboratory"),
        ("lab latest --no-browser", "open the latest run's scenario without starting a browser"),
    ),
)
@click.argument("name", metavar="[FILE|RUN]", required=False)
@click.option(
    "--no-browser", is_flag=True, help="Print the address of the page, and do not open a browser."
)
def lab(name: str | None, no_browser: bool) -> int:
    """Open a scenario in a browser page that runs the scenario again after every change.

    RUN is the folder of a run (results/runs/ID), the id of a run, or the beginning of an id. RUN
    can also be `latest` if the latest sweep has only one run. If you name a RUN, the page opens the
    scenario of that run.

    The page contains the simulator, compiled for browsers. The page needs no network connection. A
    run in the page has the same results and the same id as a run of `tailback run`. The page stores
    nothing on this machine. The command serves the page until you press Ctrl-C.
    """
    import webbrowser

    from tailback.interop.lab import page, server

    opened = None if name is None else _opened(name)
    text = page.find().read_text(encoding="utf-8")
    serving = server.Server(page.with_scenario(text, opened).encode())
    terminal.out(serving.address)
    if not no_browser and not webbrowser.open(serving.address):
        terminal.err("no browser could be opened; open the address above in one")
    with serving:
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            return OK
    return OK


def _opened(name: str) -> dict[str, object]:
    """Return the scenario of a file or of a stored run, as the data that the page loads."""
    from tailback.interop.lab import page, stored
    from tailback.store import layout
    from tailback.teaching import lessons

    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return page.load(path)
    if (command := lessons.command_of(name)) is not None:
        raise InputError(f"{name}: neither a scenario file nor a run; run: {command}")
    return page.scenario(stored.text(layout.find_run(name, layout.DEFAULT)), {})
