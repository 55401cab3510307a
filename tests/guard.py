"""Checks that a change of the code does not change results. The script hashes the results of a
fixed set of scenarios in the simulator, and the jobs of these scenarios for guests of the kernel
engine.

`python tests/guard.py` prints the differences. `--update` writes the tables. Use `--update` only if
results are meant to change, and mention this in the changelog ("Results changed")."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "guarded"
SCENARIOS = HERE / "scenarios.toml"
OF_KERNEL = HERE / "kernel.toml"
RESULTS = HERE / "hashes.tsv"
JOBS = HERE / "jobs.tsv"


def kit() -> str:
    """Return the features of a kernel that supports everything in the registry, so that the guard
    needs no built kernel.
    """
    from tailback import registry

    qdiscs: dict[str, str | None] = dict.fromkeys(("htb", "netem", "noqueue"))
    qdiscs["fq"] = "/modules/sch_fq.ko"
    for entry in registry.entries("aqm"):
        for kind in entry["kinds"]:
            qdiscs[kind] = None if entry["built_in"] else f"/modules/sch_{kind}.ko"
    # Algorithms that Linux does not have are in the modules listed in `extra`.
    linux = [entry for entry in registry.entries("cc") if entry.get("since")]
    ccs = {
        entry["kernel"]: None if entry["built_in"] else f"/modules/tcp_{entry['kernel']}.ko"
        for entry in linux
    }
    extra = {
        "tbsched": "sch_tbsched",
        "sch_outage": "sch_outage",
        "sch_impair": "sch_police",
        **{name: name for name in registry.stand_ins()},
    }
    shelves = {name: [f"/extra/{name}/{file}.ko"] for name, file in extra.items()}
    return json.dumps({"ccs": ccs, "qdiscs": qdiscs, "extra": shelves})


FILES = ("summary.json", "series.parquet", "histograms.parquet", "packets.pcapng")
"""The files of a run to hash. The contents of these files depend on the scenario alone."""


def scenarios(file: Path = SCENARIOS) -> dict[str, dict[str, Any]]:
    """Return the scenarios of a file by name."""
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    base = tables.pop("base")
    return {
        name: {key: value for key, value in {**base, **own}.items() if value != "none"}
        for name, own in tables.items()
    }


def results(out: Path) -> dict[str, str]:
    """Run all scenarios in the simulator. Return a hash for each run and file."""
    from tailback.base import toml
    from tailback.errors import ScenarioWarning
    from tailback.running.batch import Job, run_many

    made = {}
    paths = []
    for number, (name, scenario) in enumerate(scenarios().items()):
        # The scenarios refer to the trace by a path relative to their own folder.
        path = out / f"{number}.toml"
        path.write_text(toml.dumps(scenario), encoding="utf-8")
        paths.append((name, path))
    for name in ("trace.txt", "sizes.txt"):
        (out / name).write_bytes((HERE / name).read_bytes())
    with warnings.catch_warnings():
        # Some scenarios are unusual on purpose, so their warnings are suppressed.
        warnings.simplefilter("ignore", ScenarioWarning)
        ran = run_many([Job(path) for _, path in paths], out=out / "results", progress=False)
    for (name, _), one in zip(paths, ran, strict=True):
        for number, run in enumerate(one.points):
            hashes = [_hash(run.path / file, run.path.name) for file in FILES]
            label = name if len(one.points) == 1 else f"{name} {number}"
            made[label] = "\t".join(hashes)
    return made


def jobs() -> dict[str, str]:
    """Return a hash of the guest's job for each scenario that the kernel engine accepts."""
    from tailback import _native
    from tailback.base import toml
    from tailback.errors import ScenarioError

    made, told_kit = {}, kit()
    for name, scenario in {**scenarios(), **scenarios(OF_KERNEL)}.items():
        text = toml.dumps(scenario).encode()
        try:
            loaded = _native.load(
                text, name, folder=HERE, engine="kernel", engine_version="guard", kit=told_kit
            )
        except ScenarioError:
            # Skip this scenario, because the kernel engine does not support it.
            made[name] = "refused"
            continue
        told = [loaded.guest_job(index, told_kit) for index in range(len(loaded.points))]
        made[name] = hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]
    return made


def _hash(file: Path, run_id: str) -> str:
    """Hash a file. Leave out the run id in a summary, because the id changes with the engine's
    sources."""
    if not file.exists():
        return "-"
    data = file.read_bytes()
    if file.suffix == ".json":
        data = data.replace(run_id.encode(), b"")
    return hashlib.sha256(data).hexdigest()[:12]


def recorded(table: Path) -> dict[str, str]:
    """Return the rows of a table in the repository, by name."""
    lines = table.read_text(encoding="utf-8").splitlines()[1:]
    return dict(line.split("\t", 1) for line in lines)


def moved(now: dict[str, str], table: Path) -> list[str]:
    """Return the names whose rows differ from a table, with the differing columns."""
    columns = table.read_text(encoding="utf-8").splitlines()[0].split("\t")[1:]
    before = recorded(table)
    out = [f"{name}: is not in {table.name}" for name in now if name not in before]
    out += [f"{name}: is no longer there" for name in before if name not in now]
    for name in now.keys() & before.keys():
        pairs = zip(columns, now[name].split("\t"), before[name].split("\t"), strict=True)
        if which := [column for column, new, old in pairs if new != old]:
            out.append(f"{name}: {', '.join(which)}")
    return sorted(out)


def main() -> int:
    """Run the set of scenarios. Return 1 if a hash changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what is found as the tables")
    update = parser.parse_args().update
    with tempfile.TemporaryDirectory() as folder:
        found = {RESULTS: (FILES, results(Path(folder))), JOBS: (("job",), jobs())}
    status = 0
    for table, (columns, now) in found.items():
        if update:
            rows = ["\t".join(["scenario", *columns]), *(f"{k}\t{v}" for k, v in now.items())]
            table.write_text("\n".join(rows) + "\n", encoding="utf-8")
            continue
        for line in moved(now, table):
            print(line)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
