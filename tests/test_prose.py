"""Numbers of prose that no table has are found, and names and settings are none."""

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
        "*runs*: 40, 5 seeds per point\n\nAll 40 of them, with 95 % intervals.",
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
    assert str(found[0]).startswith(f"page.md:4: {numbers[0]} stands in no table")
