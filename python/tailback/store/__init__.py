"""The folder of results: what was run, and what is read from it.

| module | what |
|---|---|
| `layout` | where runs and sweeps stay; finding them by name |
| `shape` | what JSON has to look like before it is used |
| `run_folder` | one stored run |
| `results` | the results of a sweep: values, series, figures |
| `frames` | tables of many runs |
| `points` | what tells points of a sweep apart |
| `versions` | versions of engines, and the plugins in them |
| `archive` | listing and deleting what is stored |
| `verify`, `agreement`, `marker` | whether stored files are what was written |
"""
