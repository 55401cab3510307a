"""Checks that texts have no banned phrases and no long sentences."""

from __future__ import annotations

import pytest

import plain


@pytest.mark.parametrize(
    "text",
    [
        "A mark is said to be a loss.",
        "It cannot be told from noise.",
        "The kernel has not the module.",
        "Who polls is warned.",
        "The table stands in the report.",
        "The run goes on where it was.",
    ],
)
def test_banned_phrases_are_found(text: str) -> None:
    assert [finding.line for finding in plain.findings("docs/page.md", f"\n{text}\n")] == [2]
    assert plain.findings("page.py", f'"""{text}"""\n')
    assert plain.findings("page.rs", f"// {text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "It has not changed, and it has not been seen.",
        "A standing queue stands for itself; the clock stands still.",
        "Who is it for?",
        "Set `is said` as you like.",
        "```\nWhat is said is code.\n```",
        "| a | b |\n|---|---|\n| short | cells |",
    ],
)
def test_plain_text_passes(text: str) -> None:
    assert plain.findings("docs/page.md", text) == []


def test_long_sentences_are_found_on_pages_only() -> None:
    text = f"{'One word follows another ' * 9}here."
    (finding,) = plain.findings("docs/page.md", f"Short.\n\n{text}\n")
    assert (finding.line, "a sentence of 37 words" in finding.what) == (3, True)
    assert plain.findings("docs/page.md", text.replace(" another One", " another. One")) == []
    assert plain.findings("page.py", f"# {text}\n") == []


def test_every_text_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    status = plain.main([])
    assert status == 0, capsys.readouterr().out


def test_the_list_names_files_that_exist() -> None:
    names = {path.relative_to(plain.ROOT).as_posix() for path in plain.files()}
    assert sorted(plain.unclean() - names) == []
