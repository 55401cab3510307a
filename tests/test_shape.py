"""Tests that the fast check of JSON, which builds no objects, accepts exactly what the Python check
accepts."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import ROOT
from tailback.base import foreign
from tailback.errors import InputError
from tailback.store import shape
from tailback.store.run_folder import SUMMARY

MIXED = ROOT / "examples/datacentre.toml"
"""An example whose summary groups requests by size. Tests add a class to its flows."""

OTHERS: list[Any] = [
    *(None, True, -1, 0, 1.5, -1.5, 2**64 - 1, 2**64, 1e19, 1.7e19, 1e100, 1e101),
    *("", "0123456789abcdef0123", "0123456789ABCDEF0123", "\ud800", [], [None], {}, {"a": 1}),
]


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the summary of a short run."""
    short = {"duration": "20ms", "warmup": "5ms"}
    out = tmp_path_factory.mktemp("results")
    text = MIXED.read_text("utf-8").replace("count = 8", "count = 2")
    text = text.replace('"requests"\n', '"requests"\nclass = "short"\n')
    results = tailback.run(text, set=short, seeds=1, out=out, progress=False)
    found: dict[str, Any] = json.loads(results[0].stored.read(SUMMARY))
    assert found["classes"]
    assert found["traffic"][0]["completions"]["bins"]
    return found


def taken(data: bytes) -> bool:
    """Return whether Python accepts the JSON of a summary."""
    try:
        found = foreign.parse_json(data, Path("summary.json"))
    except InputError:
        return False
    return shape.fault(found, shape.SUMMARY) is None


def places(part: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value."""
    inner = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in inner:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


def changed(summary: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield copies of the summary with one value changed, missing or added."""
    for place in places(summary):
        for other in (*OTHERS, ...):
            made = copy.deepcopy(summary)
            holder = made
            for key in place[:-1]:
                holder = holder[key]
            if other is not ...:
                holder[place[-1]] = other
            else:
                del holder[place[-1]]
            yield made
    for other in OTHERS:
        yield {**summary, "besides": other}


def test_what_fits_is_what_python_takes(summary: dict[str, Any]) -> None:
    native = shape.native_summary()
    assert native.fits(json.dumps(summary).encode())
    fitting = refused = 0
    for made in changed(summary):
        data = json.dumps(made).encode()
        fits = native.fits(data)
        assert not fits or taken(data), data
        fitting += fits
        refused += not fits
    # Both outcomes (accepted, rejected) must occur often enough.
    assert fitting > 1000
    assert refused > 2000


def test_text_that_is_no_json_of_ours_does_not_fit(summary: dict[str, Any]) -> None:
    native = shape.native_summary()
    good = json.dumps(summary)
    assert native.fits(f" {good}\n".encode())
    deep = "[" * (foreign.MAX_DEPTH - 1) + "]" * (foreign.MAX_DEPTH - 1)
    besides = {
        deep: True,
        f"[{deep}]": False,
        "NaN": False,
        "1e999": False,
        '"\\ud800"': False,
        '"\\ud83d\\ude00"': True,
        '["\\udc00"]': False,
        '{"\\ud800": 1}': False,
        "01": False,
    }
    for text, fits in besides.items():
        data = f'{good[:-1]}, "besides": {text}}}'.encode()
        assert native.fits(data) is fits, text
        assert taken(data) is fits, text
    for data in (
        good[:-1].encode(),
        f"{good} {good}".encode(),
        b"\xef\xbb\xbf" + good.encode(),
        b"",
    ):
        assert not native.fits(data)
        assert not taken(data)
    # If a JSON key occurs twice, the check must not ignore the key's first value.
    assert not native.fits(f'{{"seed": "", {good[1:]}'.encode())


def test_many_values_do_not_fit() -> None:
    small = tailback._native.Shape('{"list": "whole"}', depth=2, values=10)
    assert small.fits(b"[1, 2, 3, 4, 5, 6, 7, 8, 9]")
    assert not small.fits(b"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]")
    with pytest.raises(ValueError, match="shape"):
        tailback._native.Shape('{"heap": "whole"}', depth=2, values=10)
