"""Compares variants of a scenario, or stored sweeps, and finds differences that exceed noise.

A sweep point is one combination of swept values. Every variant has the same sweep points. The first
variant is the baseline. Every quantity of every flow, source of traffic, link and class of flows is
compared between the baseline and each other variant. Each difference has a confidence interval. The
false discovery rate is controlled over all differences together. To control the false discovery
rate, all differences at one sweep point are treated as a family of tests.

`variants` parses requested variants, and `run` runs them. `stored` reads stored results. `judging`
then computes the compared quantities and their differences. (A compared quantity is one metric of
one object at one sweep point, for all variants.) `families` flags differences, and
`model.Comparison` contains the result. `gate` tests the differences against the `thresholds` of
`--fail-if`.
"""

from tailback.comparison.model import Comparison
from tailback.comparison.run import compare, run_variants
from tailback.comparison.stored import compare_stored
from tailback.comparison.variants import Variant

__all__ = ["Comparison", "Variant", "compare", "compare_stored", "run_variants"]
