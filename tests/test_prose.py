"""Tests the check that pages with numbers name their source (`pages.prose`)."""

from __future__ import annotations

import pytest

from pages import prose

TABLE = "| a | 12.5 % | 1,360 | `0.25` |\n|---|---:|---:|---|\n"


@pytest.mark.parametrize(
    "text",
    [
        "It is 12.5 % of 1360 cells, 0.25 of them.",
        "Set `limit 1000p`, as RFC 9331 and Linux 7.3 of 2026 have it (Figure 5, Tables 5 and 6).",
        "DualPI2 on IPv4, see [it](https://example.org/8/) and exit status 2.",
        "1. First\n2. Second",
        "```\n40 packets\n```",
        "## 300 seconds",
        "*runs*: 40, 5 seeds per scenario\n\nAll 40 of them, with 95 % intervals.",
        "```console\n$ tailback run first.toml\n47.82\n```\n\nIt carries 47.82 Mbit/s.",
    ],
)
def test_what_a_table_has_and_what_is_a_name_may_stand(text: str) -> None:
    assert prose.loose("page.md", TABLE + text) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("All but 3 of 1,361 cells.", ["3", "1,361"]),
        ("It rises by +40 % (\u22127 at most).", ["+40", "\u22127"]),
        ("Linux 7.3 needs 213.9 packets.", ["213.9"]),
        ("- 10 to 20 ms", ["10", "20"]),
    ],
)
def test_what_no_table_has_is_named_with_its_line(text: str, numbers: list[str]) -> None:
    found = prose.loose("page.md", f"{TABLE}\n{text}\n")
    assert [one.number for one in found] == numbers
    assert {one.line for one in found} == {4}


SOURCED = "`make bench` printed it on 24 November 2026, on a machine with two cores."


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("docs/how-to/page.md", f"It takes 63 ns. {SOURCED}"),
        ("docs/how-to/page.md", "It takes `63 ns`."),
        ("docs/reference/page.md", "It forgets 0.3125 of it."),
        ("docs/evidence/page.md", f"| a |\n|---|\n| 1 |\n\n{SOURCED}"),
        ("docs/evidence/index.md", "Pages."),
        (
            "docs/evidence/page.md",
            "- **command**: tailback validate\n- **revision**: f83aa3d\n- **engine**: sim",
        ),
    ],
)
def test_a_page_that_says_where_its_numbers_come_from(page: str, text: str) -> None:
    assert prose.unsourced(page, text) is None


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [
        ("`make bench`", "the command"),
        ("24 November 2026", "a date or revision"),
        ("a machine with two cores", "the machine or engine"),
    ],
)
def test_what_a_page_does_not_say_is_named(left_out: str, missing: str) -> None:
    text = f"# Page\n\nIt takes 63 ns. {SOURCED.replace(left_out, 'it')}"
    assert str(prose.unsourced("docs/page.md", text)) == (
        f"docs/page.md:3: name where 63 comes from: {missing}"
    )
    evidence = prose.unsourced("docs/evidence/page.md", f"| 1 |\n\n{text[8:].replace('63', 'few')}")
    assert evidence is not None
    assert evidence.missing == (missing,)
