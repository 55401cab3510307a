"""Places the numbers of points in a figure so that they do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SIZE = 11
"""Font size, in pixels."""

_DIGIT = 6.5
"""The width of a digit in a font of `SIZE` pixels, in pixels."""

_DOT = 4.5
"""Half of the width of a point, in pixels."""

_AWAY = 10.0
"""Horizontal distance from the middle of a point to the middle of its number, in pixels."""

SIDES = ((1, -1), (-1, -1), (1, 1), (-1, 1))
"""The corners of a point in the order in which to try them. The first corner is at the top
right."""


@dataclass(frozen=True)
class Label:
    """A label with its position."""

    text: str
    x: float
    """Position in pixels from the left."""
    y: float
    """Position in pixels from the top."""


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def place(
    points: Sequence[tuple[str, float, float]], width: float, height: float
) -> list[Label | None]:
    """Return for each point the centre of its label, or None if the label does not fit.

    A point with an empty text gets no label, but no other label may cover the point. The first and
    the last point are labelled first, because they show in which direction the numbers increase.
    """
    dots = [_Box(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for _, x, y in points]
    taken: list[_Box] = []
    labels: list[Label | None] = [None] * len(points)
    named = [i for i, (text, _, _) in enumerate(points) if text]
    for i in sorted(named, key=lambda i: i not in (named[0], named[-1])):
        text, x, y = points[i]
        half = _DIGIT * len(text) / 2
        for right, down in SIDES:
            middle = x + right * (_AWAY - _DIGIT / 2 + half), y + down * 9
            box = _Box(
                middle[0] - half, middle[1] - SIZE / 2, middle[0] + half, middle[1] + SIZE / 2
            )
            inside = box.left >= 0 and box.right <= width and box.top >= 0 and box.bottom <= height
            others = [*taken, *(dot for at, dot in enumerate(dots) if at != i)]
            if inside and not any(box.meets(other) for other in others):
                labels[i] = Label(text, *middle)
                taken.append(box)
                break
    return labels
