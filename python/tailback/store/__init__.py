"""Stores results and reads stored results. A folder of results contains runs and sweeps.

| module | what it has |
|---|---|
| `layout` | the paths of runs and sweeps, and how to find them by name |
| `shape` | the schema that JSON must have before it is used |
| `run_folder` | one stored run |
| `results` | the results of a sweep: values, series, figures |
| `frames` | tables of many runs |
| `points` | the keys that distinguish points of a sweep |
| `versions` | versions of engines, and the plugins in them |
| `archive` | lists and deletes stored runs and sweeps |
| `verify`, `agreement`, `marker` | checks that stored files are unchanged |
"""
