"""Defines a bottleneck and flows for tests that run one scenario on both engines."""

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
"""A scenario's link of 10 Mbit/s and RTT of 25 ms. Tests put `duration` before this text, and a
queue and flows after it."""

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
