"""Writes the pages that do not need a kernel. These pages are the reference, the page of each
published experiment, docs/evidence/trust.md, the league and the effects of mechanisms.

With `--check`, the script only prints which pages are outdated, and which pages state numbers
without their source (see `pages.prose`)."""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pages import (
    EVIDENCE,
    REFERENCE,
    ROOT,
    exhibits,
    explained,
    gallery,
    grid,
    league,
    mechanisms,
    plots,
    prose,
    reference,
    schema,
    trust,
    tunings,
)
from tailback.base import folders
from tailback.base.revision import revision
from tailback.running.options import RunOptions
from tailback_studies import experiments
from tailback_studies.reproduction import judges, published


def experiment_pages() -> Iterator[Path]:
    """Write the page of every experiment that has a page, with its goals in a file beside it. Runs
    that are already stored are reused.
    """
    for name in experiments.NAMES:
        experiment = experiments.get(name)
        if experiment.needs_kernel:
            continue
        done = experiment.run(None, RunOptions(), page=True)
        yield publish(done.report_dir, name)


def publish(report: Path, name: str) -> Path:
    """Copy the page of a report, its goals and its figures into docs. Return the page."""
    text = (report / f"{name}.md").read_text(encoding="utf-8")
    folder = EVIDENCE / name
    folders.remove(folder, inside=EVIDENCE)
    drawn = [report / "figures" / f"{figure}.svg" for figure in FIGURE.findall(text)]
    for file in (report / judges.FILE, *drawn):
        if file.exists():
            folder.mkdir(exist_ok=True)
            shutil.copy(file, folder)
    goals = folder / judges.FILE
    judged = judges.from_csv(goals.read_text(encoding="utf-8")) if goals.exists() else []
    return published.write(text.replace("](figures/", f"]({name}/"), name, judged, EVIDENCE)


FIGURE = re.compile(r"\]\(figures/([\w.-]+)\.svg\)")


RUNS: Mapping[str, Callable[[Path], None]] = {
    "explain": explained.main,
    "gallery": gallery.main,
    "plot": plots.main,
    "tune": tunings.main,
}
"""Functions that make pages with the output of their own commands. The argument of each function is
a folder for the results."""


def main() -> None:
    """Write the pages. With `--check`, print outdated pages and pages that have numbers without a
    source. With `--check`, the script does not find out whether pages that need runs are
    outdated."""
    parser = argparse.ArgumentParser(description=__doc__)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="write nothing, say what is not current")
    only.add_argument("--quick", action="store_true", help="what takes no runs")
    only.add_argument(
        "--publish",
        nargs=2,
        metavar=("REPORT", "NAME"),
        help="put into docs what `tailback reproduce NAME --page` wrote into the folder REPORT",
    )
    only.add_argument("--page", choices=sorted(RUNS), help="run the commands of this page alone")
    asked = parser.parse_args()
    if asked.publish is not None:
        report, name = asked.publish
        publish(Path(report), name)
        return
    if asked.page is not None:
        with tempfile.TemporaryDirectory() as scratch:
            RUNS[asked.page](Path(scratch))
        return
    made = {
        **reference.pages(),
        REFERENCE / "scenario.schema.json": schema.text(),
        exhibits.FILE: exhibits.text(),
        grid.FILE: grid.text(),
    }
    if asked.check:
        check({**made, **from_results()})
        return
    # Read the revision before the runs, during which somebody may commit.
    revision()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in itertools.chain(made, () if asked.quick else experiment_pages()):
        print(path.relative_to(ROOT), flush=True)
    for path, text in from_results().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def from_results() -> dict[Path, str]:
    """Return the pages that are made from stored results, by path."""
    made = (published, trust, league, mechanisms)
    return {path: text for module in made for path, text in module.pages(EVIDENCE).items()}


def check(made: Mapping[Path, str]) -> None:
    """Exit with an error if a page is outdated or has numbers without a source."""
    stale = [p.name for p, text in made.items() if not p.exists() or p.read_text() != text]
    unsourced = prose.check(ROOT)
    for page in unsourced:
        print(page)
    if stale:
        print(f"not current, run `scripts/generate.py --quick`: {', '.join(stale)}")
    if stale or unsourced:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
