"""Tests that stored figures are reused, but only if their files are complete."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest

from tailback.figures import drawing, export, kept
from tailback.report.model import Facts, Report, ReportFigure, Section
from tailback.report.write import write

FACTS = Facts(runs=1, seeds=1, duration="1 s simulated", warmup="", engine="sim 0")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tailback" / "figures"


def report(*numbers: int) -> Report:
    charts = {
        f"figure-{n}": alt.Chart(pl.DataFrame({"a": [n]})).mark_point().encode(x="a:Q")
        for n in numbers
    }
    blocks = [ReportFigure(name, name, chart, "", FACTS) for name, chart in charts.items()]
    return Report("t", "Title", "", [], [Section("s", "Section", blocks)])


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.svg")}


def test_a_report_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    add = drawing.Drawing.add

    def counted(self: Any, name: str, text: str) -> None:
        drawn.append(name)
        add(self, name, text)

    monkeypatch.setattr(drawing.Drawing, "add", counted)
    write(report(1, 2), tmp_path / "first", lab=False)
    assert drawn == ["figure-1", "figure-2"]
    write(report(1, 2, 3), tmp_path / "second", lab=False)
    assert drawn == ["figure-1", "figure-2", "figure-3"]
    first, second = files(tmp_path / "first"), files(tmp_path / "second")
    assert first == {name: second[name] for name in first}
    assert second["figures/figure-3.svg"] != second["figures/figure-2.svg"]


def test_a_damaged_file_is_drawn_again(tmp_path: Path, cache: Path) -> None:
    write(report(1), tmp_path / "first", lab=False)
    [file] = cache.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:70], whole.replace(b"<svg", b"<sVg", 1)):
        file.write_bytes(damaged)
        write(report(1), tmp_path / "again", lab=False)
        assert files(tmp_path / "again") == files(tmp_path / "first")
        assert file.read_bytes() == whole


def test_fonts_and_versions_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    kept.put("{}", "<svg/>")
    assert kept.get("{}") == "<svg/>"
    assert kept.get("{ }") is None
    monkeypatch.setattr(kept, "_drawer", lambda: "other fonts")
    assert kept.get("{}") is None


def test_settings_of_fonts_are_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "fonts.conf"
    settings.write_text("<fontconfig/>")
    plain = kept._drawer.__wrapped__()
    monkeypatch.setenv("FONTCONFIG_FILE", str(settings))
    before = kept._drawer.__wrapped__()
    assert before != plain
    os.utime(settings, ns=(0, 0))
    assert kept._drawer.__wrapped__() != before


def test_the_oldest_figures_go(cache: Path) -> None:
    for n in range(8):
        kept.put(str(n), "x" * 1000)
    size = sum(path.stat().st_size for path in cache.iterdir())
    kept.trim(size)
    assert len(list(cache.iterdir())) == 8
    kept.trim(size - 1)
    assert len(list(cache.iterdir())) == 3


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    write(report(1), tmp_path / "first", lab=False)
    assert len(files(tmp_path / "first")) == 1
    assert export.cache_folder() == blocked / "tailback"
