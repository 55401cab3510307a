"""Writes docs/evidence/bbr-programs.md: the verdicts of `tailback evaluate bbr` for QUIC stacks.

    python scripts/bbr_programs.py quinn-bbr.json quiche-bbr2.json quinn-cubic.json

The arguments are files with the JSON output of the commands that the page lists. As a control
experiment, the last file has the result of a congestion control other than BBR. Scenario files of
the programs are in scripts/programs. The programs must be built first: `tailback kernel build
--program quinn`, and the same command for quiche.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pages import EVIDENCE
from pages.league import MARKS
from tailback.base.numbers import short
from tailback.evaluate.model import BAD, Evaluation, SectionResult
from tailback.evaluate.text import number

PAGE = EVIDENCE / "bbr-programs.md"

COMMAND = "tailback evaluate bbr program=scripts/programs/{}.toml --engine kernel --seeds 3 --json"

HEAD = """\
# BBR of QUIC stacks

[`tailback evaluate bbr program=FILE`](../how-to/evaluate-bbr.md#a-program) runs the test cases in
the appendix of the BBR draft. This page shows which test cases the stacks quinn and quiche pass.
Packets and qlogs are enough to decide only some of the test cases. The last section lists the
cases that packets and qlogs cannot decide.

Both stacks implement BBR. For comparison, the page also shows the verdicts for quinn's CUBIC. The
verdicts for CUBIC show which test cases detect that a congestion control is not BBR.
`python scripts/bbr_programs.py` writes this page from the output of the commands below. The
commands ran on {date} with the kernel engine and three seeds for each case. A test case fails if it
fails with at least one of the three seeds.

## What stands out
"""

CAUSES = """\
The sources of quinn-proto 0.11.19 and quiche 0.30.0 show these causes of the failures:

- **The stacks implement older versions of BBR.** quinn's BBR follows version 1 as in Google's
  QUICHE, and quiche's BBR follows version 2. The draft describes version 3. Therefore a failure
  shows a difference from the draft, but not necessarily a bug. For example, quiche uses a gain in
  DRAIN that differs from the draft's gain (A.3).
- **quinn begins with PROBE_RTT (A.1, A.12).** quinn's function `is_min_rtt_expired` returns true
  until a PROBE_RTT has taken place. Therefore the first ACK that is not application-limited ends
  STARTUP. Then PROBE_RTT begins, with a window of `0.75` times the estimated BDP.
- **quinn does not pace at BBR's rate (A.17).** quinn's BBR computes a pacing rate and writes it to
  the qlog. But quinn's pacer ignores this rate and sends `1.25` windows per smoothed RTT. Therefore
  only the window limits the rate of quinn. Behind a policer, the window is larger than two BDPs.
- **PROBE_RTT begins every `10 s` (A.10)** in both stacks, as in older versions of BBR. quinn's
  first PROBE_RTT is at the start of the flow, which is too early for case A.10. The run ends before
  the second PROBE_RTT.
- We did not search for the cause of quiche's failure in A.14.
"""

AFTER = """\
✓ means pass, ? means that the tested situation did not occur, and – means that packets and qlogs
cannot decide the case. The number after **fail** is the measured value.
"""


def main() -> None:
    """Read the evaluations and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="JSON of evaluate, in order")
    files = parser.parse_args().files
    found = [evaluation(json.loads(file.read_text("utf-8"))) for file in files]
    PAGE.write_text("\n".join(page(found)) + "\n", encoding="utf-8")


def evaluation(data: dict[str, Any]) -> Evaluation:
    """Read an evaluation from its JSON."""
    sections = tuple(SectionResult.from_dict(one) for one in data["sections"])
    notes = tuple(note for note in data["notes"] if "\n" not in note)
    return Evaluation(
        "bbr", data["subject"], data["engine"], data["version"], sections, notes=notes
    )


def page(found: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield HEAD.format(date=f"{datetime.now(UTC).date():%-d %B %Y}")
    for subject in found[:-1]:
        passed = ", ".join(one.id for one in subject.of("pass")) or "no case"
        yield f"- **{subject.subject}** passes {passed}."
        yield from (
            f"- **{subject.subject}** fails {one.id} ({one.title}). {one.note}"
            for one in subject.of("fail")
        )
    yield "\n" + CAUSES
    yield "## Verdicts\n"
    yield AFTER
    yield "| case | " + " | ".join(one.subject for one in found) + " |"
    yield "|---" * (1 + len(found)) + "|"
    for at, section in enumerate(found[0].sections):
        if any(one.sections[at].verdict != "not observable" for one in found):
            cells = [marked(one.sections[at]) for one in found]
            yield f"| {section.id} {section.title} | " + " | ".join(cells) + " |"
    for one in found:
        yield f"\n## {one.subject}\n"
        yield f"`{COMMAND.format(one.subject)}`, version `{one.version}`\n"
        yield "| case | verdict | measure | value | allowed | what decided |"
        yield "|---|---|---|--:|--:|---|"
        for section in one.sections:
            if section.verdict != "not observable":
                yield (
                    f"| {section.id} | {section.verdict} | {section.measure} | {number(section)} "
                    f"| {section.limit} | {section.note} |"
                )
        yield ""
        yield from (f"- {note}" for note in one.notes)
    yield "\n## Not observable\n"
    by_note: dict[str, list[str]] = {}
    for cases in zip(*(one.sections for one in found), strict=True):
        hidden = [case for case in cases if case.verdict == "not observable"]
        if hidden:
            by_note.setdefault(hidden[0].note, []).append(hidden[0].id)
    yield from (f"- {', '.join(ids)}: {note}" for note, ids in by_note.items())


def marked(section: SectionResult) -> str:
    """Format a verdict. If the verdict is bad, add the measured number."""
    words = MARKS.get(section.verdict, section.verdict)
    if section.verdict not in BAD:
        return words
    return f"**{words}**" if section.value is None else f"**{words} {short(section.value, 2)}**"


if __name__ == "__main__":
    main()
