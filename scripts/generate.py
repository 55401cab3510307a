"""Writes the pages that need no kernel: the reference from the registries, the page of every
published experiment from its runs, docs/evidence/trust.md from what they and the validation left
there. With `--check` it only says what is not current, and which pages do not say where their
numbers come from (`prose`)."""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pages import (
    DOCS,
    EVIDENCE,
    REFERENCE,
    ROOT,
    explained,
    gallery,
    plots,
    prose,
    reference,
    schema,
    trust,
    tunings,
)
from tailback.base.revision import revision
from tailback.store import layout
from tailback_studies import experiments
from tailback_studies.reproduction import judges


def experiment_pages() -> Iterator[Path]:
    """Writes the page of every experiment that has one, with its goals beside it; what is
    stored already is not run again. The picture of the README is one of their figures."""
    for name in experiments.NAMES:
        experiment = experiments.get(name)
        if experiment.needs_kernel:
            continue
        done = experiment.run(
            None,
            quick=False,
            seeds=None,
            jobs=None,
            out=layout.DEFAULT,
            progress=None,
            engine="sim",
            page=True,
        )
        text = (done.report_dir / f"{name}.md").read_text(encoding="utf-8")
        folder = EVIDENCE / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        drawn = [done.report_dir / "figures" / f"{figure}.svg" for figure in FIGURE.findall(text)]
        for file in (done.report_dir / judges.FILE, *drawn):
            if file.exists():
                shutil.copy(file, folder)
        page = EVIDENCE / f"{name}.md"
        page.write_text(text.replace("](figures/", f"]({name}/"), encoding="utf-8")
        yield page
        if name == PICTURE[0]:
            shutil.copy(done.report_dir / "figures" / PICTURE[1], DOCS / "picture.svg")
            yield DOCS / "picture.svg"


FIGURE = re.compile(r"\]\(figures/([\w.-]+)\.svg\)")
PICTURE = ("dctcp-internet-2014", "fig5.svg")
"""The figure of the README."""


RUNS: Mapping[str, Callable[[Path], None]] = {
    "explain": explained.main,
    "gallery": gallery.main,
    "plot": plots.main,
    "tune": tunings.main,
}
"""Pages that have the output of their own commands; each takes a folder for its results."""


def main() -> None:
    """Writes the pages; with `--check` says which of those that are quick to make are not current,
    and which do not say where their numbers come from."""
    parser = argparse.ArgumentParser(description=__doc__)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="write nothing, say what is not current")
    only.add_argument("--quick", action="store_true", help="what takes no runs")
    only.add_argument("--page", choices=sorted(RUNS), help="run the commands of this page alone")
    asked = parser.parse_args()
    if asked.page is not None:
        with tempfile.TemporaryDirectory() as scratch:
            RUNS[asked.page](Path(scratch))
        return
    made = {
        **reference.pages(),
        REFERENCE / "scenario.schema.json": schema.text(),
    }
    if asked.check:
        check({**made, EVIDENCE / "trust.md": trust.page(EVIDENCE)})
        return
    # What runs now, whatever is committed while it does.
    revision()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in itertools.chain(made, () if asked.quick else experiment_pages()):
        print(path.relative_to(ROOT), flush=True)
    (EVIDENCE / "trust.md").write_text(trust.page(EVIDENCE), encoding="utf-8")


def check(made: Mapping[Path, str]) -> None:
    """Exit status 1 if a page is not as it would be made, or has numbers from nowhere."""
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
