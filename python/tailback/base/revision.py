"""Finds the git commit or the release of tailback's source code."""

from __future__ import annotations

import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def revision() -> str:
    """Return the commit of the source code, and append `+changes` if files differ from that commit.

    For an installed release, return the release number.
    """
    here = Path(__file__).resolve().parent
    try:
        result = subprocess.run(
            ["git", "-C", here, "describe", "--always", "--abbrev=12", "--dirty=+changes"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return f"release {version('tailback')}"
    return result.stdout.strip()
