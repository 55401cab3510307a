"""Formats differences as text."""

from __future__ import annotations

from tailback.metrics import Estimate
from tailback.metrics.differences import Difference
from tailback.metrics.estimates import with_spread
from tailback.metrics.naming import identifier


def with_spread_of(found: Estimate | None) -> str:
    """Return the mean and the half-width of its interval as text, with a dash for a missing
    value."""
    return with_spread(found) if found else "–"


def quantity_text(word: str) -> str:
    """Return the name of a quantity as in `tailback list metrics`, such as `link.delay_mean_ms`."""
    of, dot, path = word.partition(".")
    qualified = dot and of in ("flow", "link", "class", "run")
    return f"{of}.{identifier(path)}" if qualified else identifier(word)


def difference_text(difference: Difference | None) -> str:
    """Return a difference as text: in percent, unless the baseline is 0."""
    if difference is None:
        return "–"
    relative = difference.relative is not None
    value = 100 * difference.relative if difference.relative is not None else difference.absolute
    half = difference.relative_ci95 if relative else difference.ci95
    if value == 0 and half is None:
        return f"0{_of(difference)}"
    if half is not None and relative:
        half *= 100
    decimals = _decimals(half or abs(value))
    text = f"{value:+.{decimals}f}"
    if float(text) == 0:
        text = text.replace("+", "").replace("-", "")
    # The interval has zero width if all runs have the same value, or if no run has a value.
    spread = f" ±{half:.{decimals}f}" if half else ""
    return f"{text}{spread}{' %' if relative else ''}{_of(difference)}"


def _of(difference: Difference) -> str:
    """Return how many seeds contribute to a difference, such as " (3 of 5)".

    If no seed is missing, return an empty text.
    """
    runs = getattr(difference, "runs", None)
    return f" ({difference.n} of {runs})" if runs is not None and difference.n < runs else ""


def percent(share: float | None) -> str:
    """Return a relative difference in percent with its sign, or a dash if the difference is
    missing."""
    if not share:
        return "–" if share is None else "0"
    return f"{100 * share:+.{_decimals(100 * abs(share))}f} %"


def _decimals(size: float) -> int:
    """Return the number of decimals to print for a number of this size."""
    return 0 if size >= 10 else 1 if size >= 1 else 2 if size >= 0.1 else 3
