"""Tests the matrix of verdicts that `scripts/league.py` makes."""

from __future__ import annotations

import league
from tailback.evaluate.model import Evaluation, SectionResult, SectionVerdict


def section(number: str, verdict: SectionVerdict, value: float | None) -> SectionResult:
    return SectionResult(
        number, "Title", "RFC", verdict, "share", value, 0.05, None, "a.toml", "what was found"
    )


def subject(name: str, *sections: SectionResult) -> Evaluation:
    return Evaluation("cc", name, "sim", "1", sections)


def test_a_cell_has_the_number_of_what_is_bad_and_a_link() -> None:
    good = subject("reno", section("5.1", "no worse", 0.01), section("5.2", "undecided", 0.05))
    bad = subject("bbr3:draft=06", section("5.1", "worse", 0.5), section("5.2", "pass", 0.0))
    assert list(league.matrix([good, bad])) == [
        "| section | reno | bbr3 06 |",
        "|---|---|---|",
        "| 5.1 Title | [✓](league-numbers.results.json#reno) "
        "| [**worse 0.5**](league-numbers.results.json#bbr3draft06) |",
        "| 5.2 Title | [?](league-numbers.results.json#reno) "
        "| [✓](league-numbers.results.json#bbr3draft06) |",
        "| *fail* | *0* | *0* |",
        "| *worse* | *0* | *1* |",
        "| *undecided* | *1* | *0* |",
    ]
    first, second = league.worst([good, bad])
    assert first == "- **reno**: nothing is worse or fails."
    assert "worse in 5.1 (Title): 0.5, 10 times the bound; what was found." in second
