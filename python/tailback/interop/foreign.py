"""Reads files of other tools as runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.store.results import Run

if TYPE_CHECKING:
    import polars as pl

Sample = tuple[int, str, str | None, str, float]
"""A sample: time in ns, flow, link, quantity, value."""


class ForeignRun(Run):
    """A run that another tool recorded, without histograms."""

    def histogram(
        self, quantity: str = "delay_ns", *, flow: str | None = None, link: str | None = None
    ) -> pl.DataFrame:
        """Return an empty frame, because other tools record no histograms."""
        import polars as pl

        _ = (quantity, flow, link)
        return pl.DataFrame(schema={"lower": pl.Int64, "width": pl.Int64, "count": pl.Int64})


def series(samples: Sequence[Sample]) -> pl.DataFrame:
    """Return samples as a frame with the columns of a run: time_ns, flow, link, quantity, value."""
    import polars as pl

    schema = {
        "time_ns": pl.Int64,
        "flow": pl.String,
        "link": pl.String,
        "quantity": pl.String,
        "value": pl.Float64,
    }
    return pl.DataFrame(samples, schema=schema, orient="row")
