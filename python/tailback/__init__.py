"""tailback: experiments with congestion control and queue management at a bottleneck.

    import tailback

    results = tailback.run("scenario.toml", set={"bottleneck.rate": "10Mbit"}, seeds=3)
    results.frame()        # a Polars frame, one row for each run and flow

    variants = {"base": {}, "slow": {"bottleneck.queue.target": "20ms"}}
    tailback.compare("scenario.toml", variants).frame()

`import tailback` loads neither Polars nor Altair, nor most of tailback's own modules. Each of its
modules is loaded when it is first used, so commands start quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tailback._native import engine_version
from tailback.errors import (
    Cancelled,
    EnginePanic,
    InputError,
    RunsFailed,
    ScenarioError,
    TailbackError,
)

if TYPE_CHECKING:
    from tailback.bundling import bundle, verify_bundle
    from tailback.comparison import Comparison, compare
    from tailback.running.batch import Job, run, run_many, sweep
    from tailback.running.bottleneck import Bottleneck, Delivery
    from tailback.running.cluster import on_cluster
    from tailback.running.scenarios import check
    from tailback.running.spread.merge import merge
    from tailback.store.results import Results, Run, open_results
    from tailback.teaching.grading import grade
    from tailback.tuning import tune

__version__ = engine_version().partition("+")[0]

__all__ = [
    "Bottleneck",
    "Cancelled",
    "Comparison",
    "Delivery",
    "EnginePanic",
    "InputError",
    "Job",
    "Results",
    "Run",
    "RunsFailed",
    "ScenarioError",
    "TailbackError",
    "__version__",
    "bundle",
    "check",
    "compare",
    "engine_version",
    "grade",
    "merge",
    "on_cluster",
    "open_results",
    "run",
    "run_many",
    "sweep",
    "tune",
    "verify_bundle",
]

PLACES = {
    "bundling": ("bundle", "verify_bundle"),
    "comparison": ("Comparison", "compare"),
    "teaching.grading": ("grade",),
    "running.batch": ("Job", "run", "run_many", "sweep"),
    "running.bottleneck": ("Bottleneck", "Delivery"),
    "running.cluster": ("on_cluster",),
    "running.scenarios": ("check",),
    "running.spread.merge": ("merge",),
    "store.results": ("Results", "Run", "open_results"),
    "tuning": ("tune",),
}
"""The public names of each module. A module is loaded when one of its names is first used."""

_MODULES = {name: module for module, names in PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
