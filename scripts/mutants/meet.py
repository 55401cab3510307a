"""Runs the tests on a mutant of the Python modules that compute metrics. The script first runs the
tests of the mutant's file, then all tests.

cosmic-ray runs this script in a copy of the sources, after it has changed a file in the copy.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCES = Path("python/tailback/metrics")

_METRICS = ("tests/test_metrics.py", "tests/test_classes.py", "tests/test_series.py")
_COMPARE = "tests/test_compare.py"

_BY_HAND = "tests/test_statistics.py"

FIRST = {
    "crossing": (
        *(_BY_HAND, "tests/test_experiment_dctcp.py", "-k"),
        "crossing or monotone or middle or test_statistics",
    ),
    "differences": (
        *(_BY_HAND, "tests/test_families.py", _COMPARE, "-k"),
        "student or textbook or spread or flagged or tails or twenty or test_statistics",
    ),
    "margins": (
        *(_BY_HAND, "tests/test_gate.py", "-k"),
        "at_the_bound or textbook or bounds or spread or promised or negative or test_statistics",
    ),
    "statistics": (
        *(_BY_HAND, "tests/test_report.py", _COMPARE, *_METRICS, "-k"),
        "student or textbook or tails or nearest or evidence or survivors or test_statistics",
    ),
    "series": ("tests/test_series.py",),
}
"""Tests that take only seconds, by the name of the file that they test."""

OTHERS = (_BY_HAND, *_METRICS, "-k", "not draw and not refused and not table")

_SLOW = (
    *("table_and", "stored_sweeps", "thresholds_fail", "other_numbers", "ten_seeds", "bad_"),
    *("json_and", "one_run_says", "assertions_hold", "made_as", "seeds_are_added", "exit_status"),
)

ALL = (
    *("tests/test_gate.py", "tests/test_families.py", "tests/test_experiment_dctcp.py"),
    *(*_METRICS, "tests/test_report.py::test_nearest_rank_of_ten_values", _COMPARE, _BY_HAND),
    "tests/test_api.py::test_running_does_not_import_what_it_does_not_need",
    *("-k", " and ".join(f"not {name}" for name in _SLOW)),
)
"""All tests of numbers. Tests of printed text are left out."""


def main(pristine: Path) -> int:
    """Run the tests. Return the exit status of the first tests that fail."""
    changed = [
        path.stem
        for path in sorted(SOURCES.glob("*.py"))
        if path.read_bytes() != (pristine / path.name).read_bytes()
    ]
    stages = [FIRST.get(changed[0], OTHERS)] if changed else []
    for tests in [*stages, ALL]:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        if status := subprocess.run(command).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
