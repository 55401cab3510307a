"""Writes the page about `tailback evaluate`: the sections of RFC 9743 and RFC 7928, the cases of
the BBR draft, and how each is decided."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pages import REFERENCE
from pages.measured import in_full
from tailback.evaluate import cc, queue
from tailback.evaluate.bbr import outside
from tailback.evaluate.bbr.cases import CASES
from tailback.evaluate.criteria import Against, Criterion, HarmTo, TextOnly, Within

PLACE = REFERENCE / "evaluation.md"
SOURCES = "../../python/tailback/evaluate"

HEAD = """\
# The sections that `tailback evaluate` tests

[tailback evaluate](../how-to/evaluate.md) tests a congestion control or a queue against those
sections of RFC 9743 and RFC 7928 that a simulation can check. `--part SECTION` tests only one
section. To run the scenario of a section without the test, use `tailback run FILE`. This command
runs the algorithm that the scenario file names, not the algorithm that you evaluate.

In the tables, the *tested algorithm* is the congestion control or queue that you evaluate. An
*incumbent* is a flow of a standard algorithm, such as CUBIC, that competes with the tested
algorithm. [Harm](measurements.md#comparisons) is the fraction by which a competitor worsens an
incumbent's throughput or delay. Many measures compare the tested algorithm with CUBIC, with FIFO,
or with a second flow of the incumbent's algorithm. To compute such a measure, tailback also runs
the scenario with CUBIC, FIFO or the incumbent's algorithm in place of the tested algorithm.

## RFC 9743: congestion controls

`tailback evaluate cc NAME` tests the sections of this table. RFC 9743 has
[other sections](#sections-to-write-about), which no simulation can test.

| section | question | measured value | scenario |
|---|---|---|---|
"""

PARTS = """
## Tests of congestion controls from other sources

`tailback evaluate cc NAME --part nsperf` runs the five experiments of nsperf, a benchmark in
github.com/google/bbr. `--part L4S` tests the requirements of RFC 9331 for L4S congestion controls.
Without `--part`, tailback runs neither nsperf nor the L4S tests.

| section | question | measured value | scenario |
|---|---|---|---|
"""

QUEUES = """
## RFC 7928: queues

`tailback evaluate queue NAME` tests the sections of this table. The command compares the queue with
a FIFO that holds one bandwidth-delay product.

| section | question | measured value | scenario |
|---|---|---|---|
"""

BATTERY = """
## Tests of queues from other sources

tailback runs the sections of this table only with `--part SECTION`.

| section | question | measured value | scenario |
|---|---|---|---|
"""

BBR = """
## The draft of BBR: test cases

`tailback evaluate bbr NAME` runs the test cases of draft-ietf-ccwg-bbr-06, appendix A. The tested
algorithm can also be [a program](../how-to/evaluate-bbr.md#a-program). For a program, tailback
bases the verdicts on the program's packets and qlog. The verdict on a test case is "not observable"
if neither the packets nor the qlog show whether the program passes.

| case | question | measured value | data used for a program | scenario |
|---|---|---|---|---|
"""

WRITTEN = """
## Sections to write about

No simulation can test the sections of RFC 9743 in this table. The author of a congestion control
has to answer the questions of these sections in writing.

| section | question | what to write | scenario that helps |
|---|---|---|---|
"""

HELP = {
    "7.2": "[a policer](../how-to/cookbook.md#32-put-a-policer-on-the-path)",
    "7.10": "[two paths](../how-to/cookbook.md#41-spread-packets-over-two-paths)",
    "7.11": '`path = { profile = "data-centre" }`, one of the [named paths](paths.md)',
    "8": "[receivers that cheat](../how-to/cookbook.md#43-let-a-receiver-cheat)",
}


def page() -> str:
    """Return the text of the page."""
    written = [
        f"| {one.id} | {one.title} | {one.write} | {HELP.get(one.id, '')} |"
        for one in cc.CRITERIA
        if isinstance(one, TextOnly)
    ]
    tables = [
        HEAD,
        *_decided(cc.CRITERIA, cc.SCENARIOS),
        PARTS,
        *_decided(cc.ASKED, cc.SCENARIOS),
        WRITTEN,
        *written,
        QUEUES,
        *_decided(queue.CRITERIA, queue.SCENARIOS),
        BATTERY,
        *_decided(queue.ASKED, queue.SCENARIOS),
        BBR,
        *(
            f"| {case.id} | {case.title} | {case.measure} | {_of_program(case.id)} | "
            f"[{case.file.name}]({SOURCES}/bbr/cases/{case.file.name}) |"
            for case in CASES
        ),
    ]
    return "\n".join(part.removesuffix("\n") for part in tables) + "\n"


def _of_program(case: str) -> str:
    """Return how a case is decided for a program."""
    if case not in outside.JUDGES:
        return "not observable"
    if case in outside.BY_STATES:
        return "states in the qlog"
    return "packets, and the qlog if the program writes one"


def _decided(criteria: Sequence[Criterion], folder: Path) -> list[str]:
    """Return a row for each section that has scenarios, which are in `folder`."""
    decided = [one for one in criteria if isinstance(one, Within | Against | HarmTo)]
    missing = [one.scenario for one in decided if not (folder / one.scenario).is_file()]
    assert not missing, missing
    place = f"{SOURCES}/{folder.parent.name}/scenarios"
    return [
        f"| {one.id} | {one.title} | {in_full(one.measure)} | "
        f"[{one.scenario}]({place}/{one.scenario}) |"
        for one in decided
    ]
