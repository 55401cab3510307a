"""Tests how tailback shows progress. tailback prints lines if stderr is piped, uses a display in a
notebook, and shows nothing if progress is switched off."""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from conftest import SCENARIO
from tailback.base import progress


@pytest.fixture(autouse=True)
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show all progress immediately: unset the variables that switch it off, and set its delay to
    0."""
    monkeypatch.delenv(progress.SHOWN, raising=False)
    monkeypatch.delenv(progress.QUIET, raising=False)
    monkeypatch.setattr(progress, "EVERY_S", -1.0)
    monkeypatch.setattr(progress, "SHARE", 0.0)
    monkeypatch.setattr(progress, "PATIENCE_S", -1.0)


def test_where_it_is_piped_there_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.within("codel, queue 3 of 12"), progress.Progress(40, enabled=None) as bar:
        bar.update(10, 0.25)
    said = capsys.readouterr().err
    assert said.startswith("tailback: codel, queue 3 of 12: 10/40 runs, 25 %, ")
    assert said.endswith(" left\n")


def test_many_short_batches_have_one_clock(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(progress._Lines, "started", None)
    monkeypatch.setattr(progress, "EVERY_S", 5.0)
    for _ in range(20):
        with progress.Progress(2, enabled=None) as bar:
            now += 1
            bar.update(1, 0.5)
            now += 1
            bar.update(2, 1.0)
    # The batch takes 40 seconds with at most two runs at a time, and prints a line every five or
    # six seconds.
    assert len(capsys.readouterr().err.splitlines()) == 8


@pytest.mark.parametrize("variable", [progress.SHOWN, progress.QUIET])
def test_nothing_where_nobody_wants_it(
    variable: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "off")
    for enabled in (None, False):
        with progress.Progress(4, enabled=enabled) as bar:
            bar.update(1, 0.25)
    assert capsys.readouterr().err == ""


def test_runs_say_how_far_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tb.run(SCENARIO, seeds=2, jobs=1, out=tmp_path)
    assert "/2 runs, " in capsys.readouterr().err
    tb.run(SCENARIO, seeds=2, jobs=1, out=tmp_path)
    assert capsys.readouterr().err == "", "nothing is run again"


def test_a_notebook_needs_no_widgets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[Any] = []

    class Handle:
        def update(self, what: object) -> None:
            shown.append(what)

    def display(what: object, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(what)
        return Handle()

    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    inner: Any = types.ModuleType("IPython.display")
    inner.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    with progress.Progress(4, enabled=None) as bar:
        bar.update(1, 0.25)
    first, last = shown
    assert repr(first).startswith("1/4 runs, 25 %, ")
    assert first._repr_html_().startswith('<progress max="1" value="0.2500"></progress> 1/4 runs')
    assert repr(last) == last._repr_html_() == "1/4 runs, 0 s"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (99.4, "99 s"), (99.6, "2 min"), (5900, "98 min"), (12000, "3 h 20 min")],
)
def test_times_as_people_say_them(seconds: float, said: str) -> None:
    assert progress.duration(seconds) == said
