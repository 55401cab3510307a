"""Names that users type."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def unknown(kind: str, name: str, valid: Sequence[str]) -> str:
    """Message about a name that does not exist: what does, and the nearest."""
    near = difflib.get_close_matches(name, valid, n=1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return (
        f'{kind} "{name}" does not exist; expected one of {", ".join(dict.fromkeys(valid))}{hint}'
    )
