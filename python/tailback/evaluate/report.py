"""Makes the report of an evaluation. The matrix of verdicts comes first, then each section."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tailback.evaluate.drawn import matrix
from tailback.evaluate.model import VERDICTS, Evaluation, SectionResult, SectionVerdict
from tailback.evaluate.text import number
from tailback.report.model import (
    Block,
    Column,
    Facts,
    Listing,
    Mark,
    Report,
    Section,
    Status,
    Table,
    Text,
    Value,
)
from tailback.report.tables import csv_text, left
from tailback.report.text import code, plain

_STATUS: dict[SectionVerdict, Status] = {
    "pass": "pass",
    "no worse": "pass",
    "fail": "miss",
    "worse": "miss",
    "undecided": "info",
    "not observable": "info",
}


def write(evaluation: Evaluation, folder: Path) -> Path:
    """Write the report, and return the path of the report's HTML page."""
    from tailback.report.write import write as write_report

    return write_report(of(evaluation), folder)


def of(evaluation: Evaluation) -> Report:
    counts = {verdict: len(evaluation.of(verdict)) for verdict in VERDICTS}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    files = _scenarios(evaluation)
    sections = [
        Section(
            "verdicts", "Verdicts", [matrix(evaluation), _table(evaluation), *_notes(evaluation)]
        )
    ]
    sections += [_section(evaluation, one, files) for one in evaluation.sections]
    return Report(
        name=f"evaluate-{evaluation.suite}",
        title=f"Evaluation of {evaluation.subject}",
        lead=f"By {_standard(evaluation)}, section by section: {said}.",
        meta=[
            ("subject", evaluation.subject),
            ("suite", evaluation.suite),
            ("options", " ".join(evaluation.flags) or "none"),
        ],
        sections=sections,
        first="matrix",
        files={"verdicts.csv": _csv(evaluation), **files},
        facts=Facts(engine=f"{evaluation.engine} {evaluation.version}"),
    )


def _scenarios(evaluation: Evaluation) -> dict[str, str]:
    if evaluation.texts:
        return dict(sorted(evaluation.texts.items()))
    folder = evaluation.scenarios
    names = sorted({one.scenario for one in evaluation.sections if one.scenario})
    if folder is None:
        return {}
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


_STANDARDS = {"cc": "RFC 9743", "queue": "RFC 7928", "bbr": "the appendix of draft-ietf-ccwg-bbr"}


def _standard(evaluation: Evaluation) -> str:
    """Return the name of the suite's standard. If only sections from other sources were evaluated,
    return the names of these sources.
    """
    own = _STANDARDS[evaluation.suite]
    sources = [re.split(", | sections? ", one.source)[0] for one in evaluation.sections]
    if evaluation.suite == "bbr" or own in sources:
        return own
    return " and ".join(dict.fromkeys(sources))


def _table(evaluation: Evaluation) -> Table:
    columns = [*left("section", "title", "verdict"), *left("measure")]
    columns += [Column("value [95 %]"), Column("allowed")]
    rows: list[list[Value]] = [
        [
            one.id,
            one.title,
            Mark(one.verdict, _STATUS[one.verdict]),
            one.measure or plain(one.note),
            number(one) if one.measure else "",
            one.limit,
        ]
        for one in evaluation.sections
    ]
    return Table("verdicts-table", "Numbers of every section", columns, rows)


def _notes(evaluation: Evaluation) -> list[Block]:
    # Print notes of several lines unchanged, because they have aligned columns or are messages of
    # failed runs.
    return [Listing(note) if "\n" in note else Text(plain(note)) for note in evaluation.notes]


def _section(evaluation: Evaluation, one: SectionResult, files: dict[str, str]) -> Section:
    blocks: list[Block] = [Text(f"**{one.verdict}** ({plain(one.source)}). {plain(one.note)}")]
    if one.blocks is not None:
        blocks += one.blocks()
    if one.scenario in files:
        blocks.append(Text(f"The scenario is beside this page, as {code(one.scenario)}."))
        blocks.append(Listing(files[one.scenario]))
    if one.scenario:
        words = [
            evaluation.suite,
            evaluation.argument or evaluation.subject,
            *evaluation.flags,
            "--part",
            one.id,
        ]
        part = f"tailback evaluate {shlex.join(words)}"
        alone = f"{code(one.command)} runs the tested algorithm's part. " if one.command else ""
        blocks.append(Text(f"{alone}{code(part)} repeats all runs and the verdict."))
    return Section(f"section-{one.id}".replace(".", "-"), f"{one.id} {one.title}", blocks)


def _csv(evaluation: Evaluation) -> str:
    head = ["id", "title", "source", "verdict", "measure", "value", "bound", "low", "high"]
    rows = [
        [
            *(one.id, one.title, one.source, one.verdict, one.measure, one.value, one.bound),
            *(one.ci95 or (None, None)),
        ]
        for one in evaluation.sections
    ]
    return csv_text([head, *rows])
