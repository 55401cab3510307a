"""Compares variants of a scenario, or stored sweeps, and finds what differs beyond noise.

A point is one combination of swept values. Points are matched by these values. The first variant is
the baseline. Each other variant is compared with the baseline in every quantity of every flow,
source of traffic, link and class of flows. Each difference has an interval. The false discovery
rate is controlled over all differences together. For these tests, the differences at one point form
a family.

Data flow: `variants` (requested variants) or `stored` (stored results) -> `run` -> `judging` (cells
and their differences) and `families` (flags) -> `model.Comparison`. `gate` tests the comparison
against the `thresholds` of `--fail-if`.
"""

from tailback.comparison.model import Comparison
from tailback.comparison.run import compare, run_variants
from tailback.comparison.stored import compare_stored
from tailback.comparison.variants import Variant

__all__ = ["Comparison", "Variant", "compare", "compare_stored", "run_variants"]
