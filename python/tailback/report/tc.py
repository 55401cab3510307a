"""Describes a run's queue like iproute2's `tc qdisc show`.

Options that only the simulator has are added in brackets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tailback._native import tc_line


def qdisc(queue: Mapping[str, Any]) -> str:
    """Return the line for a queue, which is a table with `name` and `options`."""
    return tc_line(json.dumps(queue))
