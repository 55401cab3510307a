"""Checks the draw of sentences from docs, help texts and comments."""

from __future__ import annotations

import sys

import pytest

import plain
import sentences


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["sentences.py", *words])
    sentences.main()
    return capsys.readouterr().out.splitlines()


def test_a_draw_has_a_third_of_each_kind_and_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = printed(monkeypatch, capsys, "--draw", "10", "--seed", "4")
    assert printed(monkeypatch, capsys, "--draw", "10", "--seed", "4") == draw
    assert printed(monkeypatch, capsys, "--draw", "10", "--seed", "5") != draw
    kinds = [
        "help" if place.startswith("tailback") else "docs" if ".md:" in place else "comments"
        for place in (line.partition(": ")[0] for line in draw)
    ]
    assert kinds == ["docs"] * 4 + ["help"] * 3 + ["comments"] * 3


def test_sentences_of_comments_on_several_lines_are_whole() -> None:
    rust = (
        "/// Returns the size\n/// of a frame.\n/// ```\n/// let size = 5;\n/// ```\nfn size() {}\n"
    )
    assert list(sentences._blocks("a.rs", sentences._rust_comments(rust))) == [
        ("a.rs:1", "Returns the size of a frame.")
    ]
    page = "- One item of a list. A second sentence follows here.\n"
    (paragraph,) = plain.paragraphs(page)
    assert [s for _, s in sentences._split("a.md", paragraph[1])] == [
        "One item of a list.",
        "A second sentence follows here.",
    ]
