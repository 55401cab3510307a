"""Describes a queue of a run's canonical point as iproute2's `tc qdisc show` would print it.

Options that only the simulator has follow in brackets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tailback._native import tc_line


def qdisc(queue: Mapping[str, Any]) -> str:
    """Return the line for a queue, given as `{"name", "options"}`."""
    return tc_line(json.dumps(queue))
