"""The test cases of draft-ietf-ccwg-bbr-06, appendix A. Each case has a module and a scenario.

To add a case, write its scenario and a module with a constant `CASE`, then add the module's name to
this file.
"""

from __future__ import annotations

from importlib import import_module

from tailback.evaluate.bbr.case import Case

_MODULES = (
    "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09", "a10", "a11",
    "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "a22",
)  # fmt: skip

CASES: tuple[Case, ...] = tuple(import_module(f"{__name__}.{name}").CASE for name in _MODULES)
