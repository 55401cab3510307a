"""Lists the kernels that are compared."""

from __future__ import annotations

RELEASES = ("6.12", "6.1", "5.10")
"""The kernels to compare with the kernel in use, if they are built."""

BED = "5.10"
"""The kernel release that is closest to the kernels of the published test beds. The runs of
published experiments use this release and the kernel in use."""
