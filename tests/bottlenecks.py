"""A bottleneck and flows for tests that run one scenario on both engines."""

from __future__ import annotations

SLOW = """
warmup   = "2s"
start_jitter = "0s"

[bottleneck]
rate = "10Mbit"

[path]
rtt      = "25ms"
offloads = false
"""
"""10 Mbit/s and 25 ms; a `duration` goes in front, a queue and flows behind."""

DCTCP = """
[[flows]]
name = "dctcp"
cc   = "dctcp"
"""

RENO = """
[[flows]]
name = "reno"
cc   = "reno"
"""
