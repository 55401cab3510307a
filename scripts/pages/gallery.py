"""Writes docs/how-to/gallery.md and its figures.

This module runs shipped scenarios in the simulator and copies figures from their reports."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path

import tailback as tb
from pages import HOW_TO
from tailback import examples
from tailback.report import write
from tailback.report.sweep import of

FOLDER = HOW_TO / "gallery"


@dataclass(frozen=True)
class Shown:
    """A scenario, a text about it, and figures of its report."""

    name: str
    says: str
    figures: tuple[str, ...]


SHOWN = (
    Shown(
        "access-link",
        "A router shapes the traffic that it sends to a modem. While the router sends more slowly "
        "than the modem, packets wait in the router and the modem's queue is empty. If the router "
        "sends a little faster than the modem, the upload of a backup fills the modem's queue, "
        "which does not separate flows. Then the downloads lose throughput, too: their ACKs wait "
        "behind packets of the backup.",
        ("link-delay-p99-ms", "flow-throughput-mbit"),
    ),
    Shown(
        "wifi-like",
        "The link sends in bursts. CoDel shortens the queue for all flows. FQ-CoDel gives the "
        "call a queue of its own, so that the call's packets wait only for their turn.",
        ("names", "class-delay"),
    ),
    Shown(
        "datacentre",
        "One port of a switch marks packets when its queue exceeds a threshold. DCTCP keeps the "
        "queue at the threshold; with CUBIC the length of the queue oscillates. A request over "
        "CUBIC begins with a packet that cannot be marked: if the switch drops this packet, the "
        "request waits for a timeout.",
        ("delay", "requests"),
    ),
    Shown(
        "satellite",
        "A long path loses a packet occasionally. CUBIC treats each loss as congestion, and its "
        "window needs minutes to grow back. BBR sends at about the rate at which its data "
        "arrives.",
        ("flow-throughput-mbit",),
    ),
    Shown(
        "cellular",
        "On a drive through a city the rate falls, and packets wait longer in the queue. The "
        "first figure shows a FIFO, and the second figure shows FQ-CoDel.",
        ("time-1", "time-3", "delay"),
    ),
    Shown(
        "sweep",
        "How much buffer does one flow need to fill the link? For Reno, the rule of thumb of one "
        "bandwidth-delay product holds. CUBIC needs less.",
        ("link-utilisation",),
    ),
)

HEAD = """\
# Gallery

This page shows scenarios that come with tailback, and figures of their reports.
`tailback new NAME` prints a scenario, with a comment that says what to look at.
`tailback new --list` lists all scenarios. `scripts/generate.py --page gallery` makes this page.
In a report, click the legend to select curves, and point at a curve to see its values.
The file `cells.csv` of a report contains every number of its figures.
"""


def main(scratch: Path) -> None:
    """Make the figures and the page."""
    FOLDER.mkdir(exist_ok=True)
    page = [HEAD]
    for shown in SHOWN:
        titles = _drawn(shown, scratch / shown.name)
        page += [f"## {examples.title(shown.name)}", "", "```sh"]
        page += [
            f"tailback new {shown.name} > {shown.name}.toml",
            f"tailback run {shown.name}.toml && tailback report",
            "```",
            "",
            *_wrapped(shown.says),
        ]
        for figure in shown.figures:
            title = titles[figure]
            page += ["", f"![{title}](gallery/{shown.name}-{figure}.svg)"]
        page.append("")
    (HOW_TO / "gallery.md").write_text("\n".join(page), encoding="utf-8")


def _drawn(shown: Shown, scratch: Path) -> dict[str, str]:
    """Copy the figures of a scenario into the docs. Return their titles."""
    results = tb.run(examples.text(shown.name), out=scratch / "results")
    report = of(results)
    folder = write(report, scratch / "report").parent
    for figure in shown.figures:
        file = folder / "figures" / f"{figure}.svg"
        shutil.copyfile(file, FOLDER / f"{shown.name}-{figure}.svg")
    return {figure.id: figure.title for figure in report.figures()}


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 78, break_on_hyphens=False)
