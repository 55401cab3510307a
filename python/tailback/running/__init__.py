"""Runs scenarios: reads them, and executes runs by engines, a pool, shards and clusters.

| module | what |
|---|---|
| `batch` | `run`, `sweep`, `run_many` |
| `scenarios` | reads a scenario for an engine |
| `execution` | runs what is not stored yet, on all cores |
| `pool` | threads that can be abandoned if a plugin hangs |
| `engines` | the engines that run a point |
| `spread`, `cluster` | shards of a sweep, a Dask cluster |
| `costs` | the estimated time of runs |
| `virtual_time` | virtual time against the clock of the machine |
"""
