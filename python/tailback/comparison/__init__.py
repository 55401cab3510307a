"""Variants of a scenario, or stored sweeps, side by side: what differs, and by more than noise.

Points are matched by their parameters. The first variant is the baseline; each other one has a
difference to it in every quantity of every flow, source of traffic, link and class of flows, with
an interval, and false discoveries are controlled over all of them together, point by point.

The way: `variants` (what is asked for) or `stored` (what is there) -> `run` -> `judging` (cells and
their differences) and `families` (which of them are flagged) -> `model.Comparison`; `thresholds`
holds it against `--fail-if`.
"""

from tailback.comparison.model import Comparison
from tailback.comparison.run import compare, run_variants
from tailback.comparison.stored import compare_stored
from tailback.comparison.variants import Variant

__all__ = ["Comparison", "Variant", "compare", "compare_stored", "run_variants"]
