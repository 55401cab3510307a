"""Describes a queue of a run's canonical point in the form that iproute2's `tc qdisc show` prints.

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
