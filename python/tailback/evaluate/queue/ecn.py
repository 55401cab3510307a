"""RFC 7928 section 4.5 and RFC 3168 section 5: marks instead of drops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tailback.evaluate.model import Request, SectionResult
from tailback.evaluate.queue.placed import QueueWithin
from tailback.evaluate.subject import Subject
from tailback.running.batch import Job
from tailback.store.results import Results, Run


def _dropped_share(run: Run) -> float | None:
    """Return the number of drops divided by the number of the queue's signals, which are drops and
    marks. Drops by overflow are not counted.
    """
    causes = run.summary["queues"]["bottleneck"]["causes"]
    drops = sum(causes.get(cause, 0) for cause in ("aqm", "blue", "overload"))
    marks = sum(causes.get(cause, 0) for cause in ("mark", "step_mark"))
    return drops / (drops + marks) if drops + marks else None


@dataclass(frozen=True, kw_only=True)
class _Marks(QueueWithin):
    """A requirement for queues that drop or mark before they are full.

    A plain FIFO is therefore not tested.
    """

    def jobs(self, folder: Path, subject: Subject, request: Request) -> Mapping[str, Job]:
        return {} if subject.name == "fifo" else super().jobs(folder, subject, request)

    def outcome(
        self, subject: Subject, request: Request, results: Mapping[str, Results]
    ) -> SectionResult:
        if not results:
            return self.unsupported("A FIFO neither marks nor decides to drop.")
        found = super().outcome(subject, request, results)
        if found.value is None:
            return self.unsupported("The queue neither marked nor decided to drop.")
        return found


CRITERION = _Marks(
    id="4.5",
    title="Marks instead of drops",
    source="RFC 7928 section 4.5, RFC 3168 section 5",
    scenario="4.5-ecn.toml",
    quick={"duration": "40s"},
    ecn=True,
    measure="AQM drops of ECN-capable packets, divided by AQM drops plus marks",
    value=_dropped_share,
    bound=0.05,
)
