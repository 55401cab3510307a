"""Lists sections of RFC 7928 that no run of tailback can decide."""

from __future__ import annotations

from tailback.evaluate.criteria import TextOnly


def _section(number: str, title: str, write: str) -> TextOnly:
    return TextOnly(id=number, title=title, source=f"RFC 7928 section {number}", write=write)


CRITERIA = (
    _section("4.3.1", "Tuning", "Write which parameters were tuned for the scenarios, and how."),
    _section("8.3", "Stability", "Write what is known of the stability of the control law."),
    _section("11", "Cost", "Write what the scheme costs in memory and time."),
    _section(
        "12",
        "Deployment",
        "Write which parameters must be configured, and how the defaults behave.",
    ),
)
