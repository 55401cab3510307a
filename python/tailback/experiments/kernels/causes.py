"""Why a kernel gives another result than the newest, as far as the sources of both show it."""

from __future__ import annotations

from collections.abc import Mapping

CAUSES: Mapping[tuple[str, str, str], str] = {}
"""By congestion control, queue and kernel."""
