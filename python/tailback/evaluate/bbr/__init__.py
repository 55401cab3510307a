"""Evaluates BBR by the test cases in the appendix of BBR's Internet-Draft.

| module | what it has |
|---|---|
| `cases` | a module and a scenario for each case |
| `case` | the classes that define a case |
| `trace` | the recorded state of a sender |
| `subject` | the congestion control that is evaluated, with options |
| `running` | runs the cases |
"""

from __future__ import annotations

from collections.abc import Sequence

from tailback.evaluate.model import Evaluation, Request


def sections() -> Sequence[tuple[str, str]]:
    from tailback.evaluate.bbr.cases import CASES

    return [(case.id, case.title) for case in CASES]


def evaluate(request: Request) -> Evaluation:
    from tailback.evaluate.bbr.judging import judged

    return judged(request)
