"""What is hoped for."""

from __future__ import annotations

from tailback.experiments.sqrt_1997.points import Point
from tailback.reproduction.goals import CellsWithin

GOALS = (CellsWithin[Point]("window", "mean window", "relative", lambda _: True, 0.15),)
