"""Reads the JSON of an earlier evaluation, to find which verdicts have changed."""

from __future__ import annotations

from pathlib import Path

from tailback.base import foreign
from tailback.errors import InputError
from tailback.evaluate.model import VERDICTS
from tailback.store import shape

_SHAPE = {
    "suite": shape.text,
    "subject": shape.text,
    "sections": [{"id": shape.text, "verdict": shape.text, "value": shape.maybe(shape.number)}],
}


def read(file: Path, suite: str) -> dict[str, tuple[str, float | None]]:
    """Return the verdict and value of each section in a file that `evaluate --json` has written.

    Raises `InputError` if the file does not contain the JSON of an evaluation, or belongs to
    another suite.
    """
    found = foreign.parse_json(foreign.read(file), file)
    where = shape.fault(found, _SHAPE)
    if where is not None:
        raise InputError(
            f"{file}: {where} is not as evaluate --json writes it; name a file of evaluate --json"
        )
    if found["suite"] != suite:
        raise InputError(
            f"{file}: it is of evaluate {found['suite']}; expected one of evaluate {suite}"
        )
    known = [one for one in found["sections"] if one["verdict"] in VERDICTS]
    return {one["id"]: (one["verdict"], one["value"]) for one in known}
