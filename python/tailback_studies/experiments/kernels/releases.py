"""The kernels that are compared."""

from __future__ import annotations

RELEASES = ("6.12", "6.1", "5.10")
"""What the kernel in use is compared with, where it is built."""

BED = "5.10"
"""The kernel that the test beds are run on beside the one in use: the nearest to theirs."""
