"""Tests that comments do not change the hash of the sources of programs for the guest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tailback.kernel.programs import built
from tailback.kernel.programs.comments import without_comments

SOURCE = """\
//! What it is.
fn first<'a>(x: &'a str, y: &'a str) { // why
    let url = "http://a/*b*/"; /* one /* inside */ another */ let c = '"'; // c
    let raw = r#"a " // stays"#; let d = '\\''; let e = b'/'; let f = '\\u{2f}';
    /// Doc.
    go(url, raw)
}
"""

PLAIN = """
fn first<'a>(x: &'a str, y: &'a str) {
let url = "http://a/*b*/"; let c = '"';
let raw = r#"a " // stays"#; let d = '\\''; let e = b'/'; let f = '\\u{2f}';
go(url, raw)
}
"""


def test_comments_are_removed_and_literals_stay() -> None:
    assert without_comments(SOURCE) == PLAIN
    assert without_comments(PLAIN) == PLAIN
    # In Go, the end of a line ends a statement. The line breaks after comments must therefore stay.
    assert without_comments("return // x\ny") != without_comments("return y")
    assert without_comments("a/* */b") == "a b"
    assert without_comments('"a  b"') != without_comments('"a b"')
    assert without_comments("`a // b`") == "`a // b`"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a copy of the programs' sources for `built` to use."""
    for name in ("rust", "quic-go"):
        shutil.copytree(built.HERE / name, tmp_path / name)
    monkeypatch.setattr(built, "HERE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "file"), [("quinn", "rust/src/quinn.rs"), ("quic-go", "quic-go/main.go")]
)
def test_a_changed_comment_leaves_a_program_valid(folder: Path, name: str, file: str) -> None:
    source = folder / file
    before = built._digest(name, "tool")
    text = source.read_text(encoding="utf-8")
    source.write_text(f"// Another comment.\n{text}\n/* And one more. */\n", encoding="utf-8")
    assert built._digest(name, "tool") == before
    source.write_text(text.replace("{", "{ ;", 1), encoding="utf-8")
    assert built._digest(name, "tool") != before


def test_a_changed_lock_file_makes_it_stale(folder: Path) -> None:
    before = built._digest("quinn", "tool")
    lock = folder / "rust/Cargo.lock"
    lock.write_text(lock.read_text(encoding="utf-8") + "# x\n", encoding="utf-8")
    assert built._digest("quinn", "tool") != before
