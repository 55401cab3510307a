"""Damages stored results in many ways, and runs each command on them.

    .venv/bin/python tests/faults/damage.py [--every N] [--json]

No command may print a traceback. `run` must repeat damaged runs and give correct results. Any other
command must give its usual output if it does not need the damaged file. If the command needs the
damaged file, it must end with an error that names the damaged path. `verify` must find all damage.
No command may touch a file outside the folder of results.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from faults import harness
from faults.harness import RUN, Command, Prepared
from tailback import _native

RUN_FILES = (
    "manifest.json",
    "summary.json",
    "account.json",
    "timing.json",
    "series.parquet",
    "histograms.parquet",
    "packets.pcapng",
)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _changed(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def _flip(at: float) -> Callable[[Path], object]:
    def flip(data: bytes) -> bytes:
        place = min(int(at * len(data)), len(data) - 1)
        return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]

    return _changed(flip)


def _instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return a function that replaces a file or folder with the result of `make`."""

    def damage(path: Path) -> None:
        _remove(path)
        make(path)

    return damage


def _as_link(path: Path) -> None:
    """Move a file or folder elsewhere, and leave a link to its new path."""
    work = next(parent for parent in path.parents if parent.name == "work")
    elsewhere = work / f"moved-{path.name}"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


OF_A_FILE: dict[str, Callable[[Path], object]] = {
    "missing": _remove,
    "empty": _changed(lambda _: b""),
    "cut in half": _changed(lambda data: data[: len(data) // 2]),
    "a byte short": _changed(lambda data: data[:-1]),
    "a byte more": _changed(lambda data: data + b"\n"),
    "a bit at the start": _flip(0.0),
    "a bit at a third": _flip(1 / 3),
    "a bit at the end": _flip(1.0),
    "zeros": _changed(lambda data: bytes(len(data))),
    "noise": _changed(lambda data: bytes((i * 2654435761 >> 13) & 255 for i in range(len(data)))),
    "a folder": _instead(Path.mkdir),
    "a link to it": _as_link,
    "a link to nothing": _instead(lambda path: path.symlink_to("nowhere")),
    "a pipe": _instead(lambda path: os.mkfifo(path)),
}


def _sealed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """Return a function that changes a sealed file and renews its seal, as an attacker would."""

    def damage(path: Path) -> None:
        data = json.loads(path.read_bytes())
        del data["sha256"]
        change(data)
        path.write_bytes(_native.seal(json.dumps(data, indent=1)))

    return damage


def _swap(rows: list[dict[str, Any]], key: str) -> None:
    rows[0][key], rows[1][key] = rows[1][key], rows[0][key]


OF_AN_INDEX: dict[str, Callable[[dict[str, Any]], object]] = {
    "the id a path": lambda d: d.update(id="../../victim/Documents"),
    "the id an absolute path": lambda d: d.update(id="/tmp/victim"),
    "the id of another sweep": lambda d: d.update(id="0" * 20),
    "the id a number": lambda d: d.update(id=7),
    "no title": lambda d: d.pop("title"),
    "the title a list": lambda d: d.update(title=["x"]),
    "the engine null": lambda d: d.update(engine=None),
    "axes a text": lambda d: d.update(axes="rate"),
    "points a table": lambda d: d.update(points={}),
    "a point a number": lambda d: d["points"].__setitem__(0, 1),
    "a run a path": lambda d: d["points"][0].update(run_id="../../victim"),
    "a baseline a path": lambda d: d["points"][0].update(baseline="../../../victim"),
    "a seed a text": lambda d: d["points"][0].update(seed="1"),
    "a seed below zero": lambda d: d["points"][0].update(seed=-1),
    "a parameter a list": lambda d: d["points"][0].update(params={"a": [1]}),
    "a label a number": lambda d: d["points"][0].update(labels={"a": 1}),
    "runs that change places": lambda d: _swap(d["points"], "run_id"),
    "a run of another sweep": lambda d: d["points"][0].update(run_id="0" * 20),
    "a baseline of another seed": lambda d: d["points"][0].update(
        baseline=d["points"][1]["run_id"]
    ),
    "another format": lambda d: d.update(format=1),
    "deep": lambda d: d.update(more=json.loads("[" * 90 + "]" * 90)),
}


def _summary(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """Return a function that changes a summary, and its hash in the manifest."""

    def damage(run: Path) -> None:
        summary = json.loads((run / "summary.json").read_bytes())
        change(summary)
        text = json.dumps(summary).encode()
        (run / "summary.json").write_bytes(text)

        def mark(manifest: dict[str, Any]) -> None:
            import hashlib

            entry = {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
            manifest["files"]["summary.json"] = entry

        _sealed(mark)(run / "manifest.json")

    return damage


OF_A_SUMMARY: dict[str, Callable[[dict[str, Any]], object]] = {
    "without flows": lambda d: d.pop("flows"),
    "flows a number": lambda d: d.update(flows=3),
    "a name a number": lambda d: d["flows"][0].update(name=3),
    "throughput a text": lambda d: d["flows"][0].update(throughput_mbit="fast"),
    "drops beyond 64 bits": lambda d: d["flows"][0].update(drops=10**300),
    "of another run": lambda d: d.update(run_id="0" * 20),
    "no delay": lambda d: next(iter(d["queues"].values())).pop("delay_ms"),
}

OF_A_MANIFEST: dict[str, Callable[[dict[str, Any]], object]] = {
    "of another run": lambda d: d.update(run_id="0" * 20),
    "a run id a path": lambda d: d.update(run_id="../../victim"),
    "another format": lambda d: d.update(format=1),
    "no files": lambda d: d.pop("files"),
    "a file a path": lambda d: d["files"].update({"../x": d["files"]["summary.json"]}),
    "more rows": lambda d: d["files"]["series.parquet"].update(rows=10**9),
    "a huge file": lambda d: d["files"]["series.parquet"].update(bytes=10**15),
    "engine a number": lambda d: d.update(engine=1),
}


def _other_run(run: Path) -> None:
    """Replace the contents of a run's folder with the contents of the other run of the sweep."""
    others = [p for p in run.parent.iterdir() if p.name != run.name and not p.name.startswith(".")]
    shutil.rmtree(run)
    shutil.copytree(others[0], run)


def _other_timing(run: Path) -> None:
    """Replace the wall times of a run with the wall times of the other run of the sweep."""
    others = [p for p in run.parent.iterdir() if p.name != run.name and not p.name.startswith(".")]
    shutil.copy(others[0] / "timing.json", run / "timing.json")


OF_A_RUN: dict[str, Callable[[Path], object]] = {
    "times of another run": _other_timing,
    "empty folder": _instead(Path.mkdir),
    "a file": _instead(lambda path: path.write_text("x")),
    "a link to it": _as_link,
    "a link to nothing": _instead(lambda path: path.symlink_to("nowhere")),
    "another run": _other_run,
}


def kinds() -> dict[str, Callable[[Path], object]]:
    """Return a function for every kind of damage, keyed by its name. Each function damages a folder
    of results.
    """
    found: dict[str, Callable[[Path], object]] = {}

    def add(name: str, damage: Callable[[Path], object], place: Callable[[Path], Path]) -> None:
        found[name] = lambda root: damage(place(root))

    for file in RUN_FILES:
        for what, damage in OF_A_FILE.items():
            add(f"{file}: {what}", damage, lambda root, file=file: _a_run(root) / file)  # type: ignore[misc]
    for what, damage in OF_A_FILE.items():
        add(f"index.json: {what}", damage, _index)
    for what, change in OF_AN_INDEX.items():
        add(f"index.json, sealed: {what}", _sealed(change), _index)
    for what, change in OF_A_MANIFEST.items():
        add(
            f"manifest.json, sealed: {what}",
            _sealed(change),
            lambda root: _a_run(root) / "manifest.json",
        )
    for what, change in OF_A_SUMMARY.items():
        add(f"summary.json, sealed: {what}", _summary(change), _a_run)
    for what, damage in OF_A_RUN.items():
        add(f"run: {what}", damage, _a_run)
    add("sweep: a link to it", _as_link, lambda root: _index(root).parent)
    return found


def _a_run(root: Path) -> Path:
    return min(path for path in (root / "runs").iterdir() if not path.name.startswith("."))


def _index(root: Path) -> Path:
    return next(iter((root / "sweeps").glob("*/index.json")))


def _open() -> int:
    """Read the results through the Python API, as a notebook does."""
    import tailback
    from tailback.errors import InputError

    try:
        results = tailback.open_results("results")
        results.to_dict()
        for run in results:
            print(run.manifest["seed"], run.series().height, run.histogram().height)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


COMMANDS = (
    Command("run", RUN, before=[RUN]),
    Command("report", ("report", "results"), before=[RUN]),
    Command("compare", ("verify",), before=[RUN]),
    Command("export", ("export", "RUN", "--format", "csv", "--out", "x.csv"), before=[RUN]),
    Command("verify", ("verify",), before=[RUN]),
    Command("open_results", (), before=[RUN]),
)


def attempt(made: Prepared, kind: str, damage: Callable[[Path], object]) -> list[str]:
    """Run a command on damaged results. Return the errors found."""
    name = made.command.name
    made.fresh()
    victim = made.work / "victim"
    (victim / "Documents").mkdir(parents=True)
    call = _open if name == "open_results" else made.call()
    if name == "compare":
        ids = sorted(p.name for p in (made.work / "results" / "runs").iterdir())
        args = ["compare", *(f"results/runs/{i}" for i in ids), "--no-report"]
        call = lambda: harness.tailback(args)  # noqa: E731
    if name == "export":
        args = made.args()
        call = lambda: harness.tailback(args)  # noqa: E731
    damage(made.work / "results")
    ended = harness.run(call, made.work)
    wrong = []
    if "Traceback" in ended.stderr or "panicked" in ended.stderr:
        wrong.append(f"a traceback: {ended.stderr[-300:]}")
    if ended.status not in (0, 1, 2):
        wrong.append(f"status {ended.status}")
    if not (victim / "Documents").is_dir():
        wrong.append("a folder elsewhere is gone")
    said = any(word in ended.stderr for word in ("results/", "runs/", "sweeps/"))
    if ended.status != 0 and not said:
        wrong.append(f"no path is named: {ended.stderr!r}")
    if name == "run":
        wrong += _after_run(made, kind, ended)
    elif name == "verify":
        if ended.status != 1:
            wrong.append(f"not found: {ended.stdout}")
    elif ended.status == 0 and ended.stdout != made.stdout and not said and kind not in NAMELESS:
        wrong.append("other results without a word")
    return wrong


NAMELESS = ("index.json: missing", "index.json: a link to nothing")
"""Damage after which the sweep seems to be missing. After this damage, commands show the sweep's
runs without a title."""


def _after_run(made: Prepared, kind: str, ended: harness.Ended) -> list[str]:
    refused = {"sweep: a link to it": 2, "index.json: a folder": 1}
    if kind in refused:
        return [] if ended.status == refused[kind] else [f"status {ended.status}: written over"]
    wrong = []
    of_a_run = not kind.startswith(("index.json", "sweep"))
    if ended.status != 0:
        wrong.append(f"status {ended.status}: {ended.stderr}")
    elif ended.stdout != made.stdout:
        wrong.append("other results")
    if of_a_run and "is run again" not in ended.stderr:
        wrong.append("a damaged run was used without a word")
    found = harness.contents(made.work / "results")
    expected = {
        k.removeprefix("results/"): v for k, v in made.reference.items() if k.startswith("results/")
    }
    return wrong + harness.different(expected, found)


def survey(every: int = 1, *, tell: bool = False) -> dict[str, list[str]]:
    """Run each command on every `every`-th kind of damage. Return the errors by "kind |
    command"."""
    harness.preload()
    found: dict[str, list[str]] = {}
    with TemporaryDirectory(prefix="tailback-damage-", dir=harness.MEMORY) as folder:
        for shift, command in enumerate(COMMANDS):
            prepared = _prepare(command, Path(folder))
            # If only every n-th kind of damage is tried, start at a different kind for each
            # command. The commands together then cover all kinds.
            chosen = list(kinds().items())[shift % every :: every]
            for kind, damage in chosen:
                wrong = attempt(prepared, kind, damage)
                found[f"{kind} | {command.name}"] = wrong
                if tell and wrong:
                    print(f"{command.name}, {kind}: {wrong}", flush=True)
    return found


def _prepare(command: Command, folder: Path) -> Prepared:
    """Do what `harness.prepare` does, also for commands that need more than arguments."""
    if command.name == "open_results":
        made = harness.prepare(Command(command.name, ("verify",), command.before), folder)
        made.fresh()
        made.stdout = harness.run(_open, made.work).stdout
        return made
    if command.name == "compare":
        made = harness.prepare(Command(command.name, ("verify",), command.before), folder)
        made.fresh()
        ids = sorted(p.name for p in (made.work / "results" / "runs").iterdir())
        args = ["compare", *(f"results/runs/{i}" for i in ids), "--no-report"]
        ended = harness.run(lambda: harness.tailback(args), made.work)
        assert ended.status == 0, ended
        made.stdout = ended.stdout
        return made
    return harness.prepare(command, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="every N-th kind for each command")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = survey(chosen.every, tell=not chosen.json)
    if chosen.json:
        print(json.dumps(found))
    else:
        bad = sum(bool(wrong) for wrong in found.values())
        print(f"{len(kinds())} kinds, {len(found)} tries, {bad} found")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
