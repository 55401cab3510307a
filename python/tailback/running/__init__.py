"""Reads scenarios and runs them on the cores of this machine, in shards or on a cluster.

| module | what it does |
|---|---|
| `batch` | defines `run`, `sweep` and `run_many` |
| `scenarios` | reads a scenario for an engine |
| `execution` | executes runs that are not stored yet, on all cores |
| `pool` | provides threads that can be abandoned if a plugin hangs |
| `engines` | contains the engines that run a sweep point |
| `spread`, `cluster` | spread runs over shards and over a Dask cluster |
| `costs` | estimates the cost of runs |
| `virtual_time` | compares virtual time with the clock of the machine |
"""
