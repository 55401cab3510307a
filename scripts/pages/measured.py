"""Writes out the measures of the sections of an evaluation."""

from __future__ import annotations

import re

_LEFT_OUT = (
    (r"^(.+?),? minus (\w+)'s(?=$|,)", r"\1 minus \2's \1"),
    (r"^(.+?) with FIFO minus that with", r"\1 with FIFO minus \1 with"),
    (r"^(.+?) minus that with", r"\1 minus \1 with"),
    (r"^(Jain's index) (.+?) minus that of", r"\1 \2 minus \1 of"),
    (
        r"(\w+)'s (\w+) minus the tested algorithm's(?=$|,)",
        r"\1's \2 minus the tested algorithm's \2",
    ),
    (
        r"^harm by the tested algorithm to (.+), minus the harm by (.+)$",
        r"harm that the tested algorithm does to \1, minus the harm that \2 does",
    ),
    (r"^most segments", "largest number of segments"),
    (
        r"^throughputs (.+), the larger divided by the smaller$",
        r"larger of the throughputs \1, divided by the smaller throughput",
    ),
    (r"most data in flight", "largest amount of data in flight"),
    (r", in packet times$", ", in units of the transmission time of one packet"),
    (r"\ba second incumbent\b", "a second flow of the incumbent's algorithm"),
    (r", divided by the larger of the two$", r", divided by the larger of the two values"),
)
"""Patterns of measures that leave out words, and the text with these words."""


def in_full(measure: str) -> str:
    """Write out the words that a measure such as "delay minus FIFO's" leaves out."""
    for pattern, text in _LEFT_OUT:
        measure = re.sub(pattern, text, measure)
    return measure
