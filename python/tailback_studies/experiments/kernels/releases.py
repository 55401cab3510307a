"""Lists the kernels that are compared."""

from __future__ import annotations

RELEASES = ("6.12", "6.1", "5.10")
"""The kernels to compare with the kernel in use, if they are built."""

BED = "5.10"
"""The kernel that is closest to the kernels of the test beds. Cells of the test beds run on this
kernel and on the kernel in use."""
