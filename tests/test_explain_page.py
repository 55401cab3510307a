"""Checks that docs/how-to/explain.md shows the output of its commands."""

from __future__ import annotations

from pathlib import Path

from pages import explained


def test_the_page_has_what_its_commands_print(tmp_path: Path) -> None:
    page = explained.PAGE.read_text(encoding="utf-8")
    assert explained.filled(page, tmp_path) == page, "run scripts/generate.py --page explain"


def test_the_causes_are_named(tmp_path: Path) -> None:
    """Check that the flow in each scenario of the figure is limited by the cause that the figure
    names."""
    import tailback
    from tailback.explain import explain

    most = {}
    for name, scenario in explained.causes():
        found = explain(tailback.run(scenario, out=tmp_path, progress=False)[0].stored)
        most[name] = found.flows[-1 if "source" in name else 0]["limit"]
    assert most == {
        "a small receive window": "rwnd",
        "BBR, which paces": "pacing",
        "a short run on a fast path": "cwnd",
        "marks of CoDel": "cwnd",
        "slow start into a full buffer": "cwnd",
        "one lost packet": "rwnd",
        "a flight lost whole": "timeout",
        "a link that stands still for a second": "rwnd",
        "a bloated buffer": "cwnd",
        "a rate that falls": "rwnd",
        "small requests (source)": "application",
    }
