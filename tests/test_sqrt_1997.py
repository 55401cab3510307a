"""The window of Reno over random loss."""

from __future__ import annotations

from pathlib import Path

from tailback import experiments


def test_windows_are_near_the_formula(tmp_path: Path) -> None:
    experiment = experiments.get("sqrt-1997")
    done = experiment.run((), quick=True, seeds=None, jobs=1, out=tmp_path, progress=False)
    assert [cell["loss"] for cell in done.cells] == [0.001, 0.003, 0.01]
    assert done.summary[-1]["holds"]
