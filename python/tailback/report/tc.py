"""A queue's parameters as iproute2's `tc qdisc show` prints them, from a run's canonical point.

Options of the simulator that tc does not have follow in brackets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tailback._native import tc_line


def qdisc(queue: Mapping[str, Any]) -> str:
    """The line of a queue, `{"name", "options"}`."""
    return tc_line(json.dumps(queue))
