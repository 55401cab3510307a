"""tailback: a laboratory for what happens at a bottleneck.

    import tailback

    results = tailback.run("scenario.toml", set={"bottleneck.rate": "10Mbit"}, seeds=3)
    results.frame()        # a Polars frame, one row for each run and flow

    variants = {"base": {}, "slow": {"bottleneck.queue.target": "20ms"}}
    tailback.compare("scenario.toml", variants).frame()

Importing this package loads neither Polars nor Altair: they come with the
first frame and the first figure.
"""

from __future__ import annotations

from tailback._native import engine_version
from tailback.cluster import on_cluster
from tailback.comparison import Comparison, compare
from tailback.errors import (
    Cancelled,
    EnginePanic,
    InputError,
    RunsFailed,
    ScenarioError,
    TailbackError,
)
from tailback.results import Results, Run, open_results
from tailback.running import Job, check, run, run_many, sweep
from tailback.spread.merge import merge
from tailback.tuning import tune

__version__ = engine_version().partition("+")[0]

__all__ = [
    "Cancelled",
    "Comparison",
    "EnginePanic",
    "InputError",
    "Job",
    "Results",
    "Run",
    "RunsFailed",
    "ScenarioError",
    "TailbackError",
    "__version__",
    "check",
    "compare",
    "engine_version",
    "merge",
    "on_cluster",
    "open_results",
    "run",
    "run_many",
    "sweep",
    "tune",
]
