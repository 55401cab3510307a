"""Evaluates congestion controls, by RFC 9743."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.errors import InputError
from tailback.evaluate.model import Evaluation, Request


def sections() -> Sequence[tuple[str, str]]:
    """Id and title of every section."""
    return ()


def evaluate(request: Request) -> Evaluation:
    """Run the requested sections."""
    raise InputError(f"evaluate cc {request.name}: it has no sections yet; run: tailback --help")
