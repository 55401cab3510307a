"""`tailback export`: writes a run in another tool's format."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.base import terminal
from tailback.cli.boundary import OK
from tailback.cli.completing import run_ids
from tailback.cli.help import Command
from tailback.errors import InputError


@click.command(
    cls=Command,
    examples=(
        ("export latest --format flent", "write a data file for Flent"),
        (
            "export latest --format pcapng --interface bottleneck.in",
            "write the packets that arrived at one link",
        ),
        ("export latest --format qlog", "write a qlog file for each flow"),
    ),
)
@click.argument("run", shell_complete=run_ids)
@click.option(
    "--format",
    "name",
    required=True,
    metavar="FORMAT",
    help="Format of the file: csv, flent, pcapng, qlog or qlog-0.3.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write [default: the run's id with the file name extension of the format].",
)
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder in which the run is stored [default: results].",
)
@click.option(
    "--interface",
    "interfaces",
    multiple=True,
    metavar="NAME",
    help="Write only the packets of this interface, e.g. bottleneck.in [default: all interfaces]. "
    "Can be repeated.",
)
def export(
    run: str, name: str, out: Path | None, results: Path | None, interfaces: tuple[str, ...]
) -> int:
    """Write a run in another tool's format.

    RUN is the folder of a run (results/runs/ID), the id of a run, or the beginning of an id. RUN
    can also be `latest` if the latest sweep has only one run.

    Format csv: tailback writes the time series to FILE, and the summary of the run to a second file
    in the same folder.

    Format flent: tailback writes a data file that Flent can open and plot. The file contains the
    throughput, the smoothed RTT and the congestion window of each flow. If no queue of the path
    treats flows separately, the file also contains the round-trip time that a ping would measure.
    The scenario must set record.series = "interval" (the default).

    Format pcapng: tailback writes the headers of every packet for Wireshark. The scenario must set
    record.packets = true. The file has three interfaces for each link: NAME.in before its queue,
    NAME.out after its queue, and NAME.drop for dropped packets. A comment at each dropped packet
    gives the cause. If a packet appears at two interfaces, Wireshark treats it as sent twice. To
    analyse TCP, choose one interface, e.g. with --interface bottleneck.in.

    Format qlog: if the run has one flow, tailback writes FILE. If the run has several flows,
    tailback writes a file NAME.FLOW.sqlog for each flow. The files use qlog's current schema. Each
    file contains the sender's windows, RTTs and states. Each file also gives the reasons why slow
    start ended and why the window was reduced. If the scenario sets record.series = "acks", the
    file contains every ACK. If it sets record.events = true, the file contains every drop and mark.
    The format qlog-0.3 is the older JSON format that qvis reads. If a program's QUIC stack wrote a
    qlog file, tailback copies that file unchanged to NAME.PROGRAM.FILE.
    """
    from tailback import interop
    from tailback.store import layout
    from tailback.store.verify import KINDS

    chosen = interop.get(name)
    folder = layout.find_run(run, results if results is not None else layout.DEFAULT)
    target = out if out is not None else Path(f"{folder.resolve().name}{chosen.suffix}")
    stored = folder.resolve().parent.parent
    if any(stored / kind in target.resolve().parents for kind in KINDS):
        raise InputError(
            f"--out {target}: this file would be inside the stored results; name a file in another "
            "folder"
        )
    for path in chosen.export(folder, target, interfaces):
        terminal.out(path)
    return OK
