"""Utilisation of a link."""

from tailback.metrics.base import recorded

METRICS = (recorded("utilisation", "link", "", "Frame bytes sent over rate x time.", "bytes"),)
