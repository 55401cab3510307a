"""The kernels that are compared."""

from __future__ import annotations

RELEASES = ("6.12", "6.1", "5.10")
"""The kernels to compare with the one in use, where they are built."""

BED = "5.10"
"""The kernel closest to those of the test beds; they run on it and on the one in use."""
