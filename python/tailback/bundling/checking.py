"""Runs the scenario of a bundle again, and reports which bytes differ and why. A bundle is
untrusted."""

from __future__ import annotations

import io
import json
import platform
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tailback import _native
from tailback.base import folders, foreign
from tailback.bundling import contents
from tailback.bundling.contents import AboutBundle
from tailback.bundling.writing import refuse_foreign_code
from tailback.errors import InputError
from tailback.running import absence, costs, engines, execution, scenarios
from tailback.running.options import RunOptions
from tailback.store import archive, layout
from tailback.store.results import Results
from tailback.store.run_folder import ACCOUNT, MANIFEST, SUMMARY

MAX_CPU_S = 3600.0
"""The CPU time, in seconds, that repeating a bundle's runs may take, unless the caller allows
more."""

MOST_PATHS = 5
"""The largest number of values of one file that a report of differences lists."""

_OF_VERSION = ("run_id", "engine_version", "version", "files", "baseline")
"""Keys of JSON files with values that depend on the version of the engine."""


@dataclass(frozen=True)
class BundleDifference:
    """A file that differs between the bundle and the repeated run, with the reason for the
    difference.
    """

    file: str
    why: str
    values: list[str] = field(default_factory=list)
    """Differences in JSON: the path of the value, its value in the bundle ("there") and its value
    on this machine ("here")."""


@dataclass(frozen=True)
class CheckedBundle:
    about: AboutBundle
    engine_version: str
    """The version of the engine on this machine, which repeated the runs."""
    files: int
    """The number of files that were checked against their hash."""
    runs: int
    """How many runs were repeated."""
    compared: int
    """The number of files of runs that were compared."""
    damaged: list[str]
    """Names of files with content that does not match their hash."""
    differences: list[BundleDifference]
    version_only: list[str]
    """Names of JSON files that differ only in the engine's version and in ids that depend on this
    version."""

    @property
    def same(self) -> bool:
        """Whether the check passed. The check passes if no file is damaged and all results were
        reproduced."""
        return not self.damaged and not self.differences

    def to_dict(self) -> dict[str, Any]:
        return {
            "same": self.same,
            "title": self.about.title,
            "engine": self.about.engine,
            "version": {"bundle": self.about.engine_version, "here": self.engine_version},
            "platform": {"bundle": self.about.platform, "here": _platform()},
            "files": self.files,
            "runs": self.runs,
            "compared": self.compared,
            "damaged": self.damaged,
            "differences": [asdict(one) for one in self.differences],
            "version_only": self.version_only,
        }


def verify_bundle(
    bundle: Path | str,
    *,
    jobs: int | None = None,
    progress: bool | None = None,
    max_cpu_s: float = MAX_CPU_S,
) -> CheckedBundle:
    """Check the hashes of a bundle, run its scenario again, and compare the results.

    Raises `InputError` if `bundle` is not a bundle, or if its scenario would run code or read files
    outside the bundle.
    """
    path = Path(bundle)
    files = _unpacked(path)
    if contents.ABOUT not in files or contents.SCENARIO not in files:
        raise InputError(
            f"{foreign.line(path)}: not a bundle, because {contents.ABOUT} or {contents.SCENARIO} "
            "is missing; name a file that `tailback bundle` wrote"
        )
    about = AboutBundle.of(foreign.parse_json(files[contents.ABOUT], Path(contents.ABOUT)))
    damaged = [
        name
        for name, wanted in sorted(about.files.items())
        if contents.sha256(files.get(name, b"")) != wanted
    ]
    contents.refuse_outside(files[contents.SCENARIO], [value for _, value in about.set])
    runner = engines.get(about.engine)
    with folders.scratch(Path(tempfile.gettempdir())) as root:
        for name, data in files.items():
            if not name.startswith(f"{contents.RESULTS}/"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(data)
        values = [(key, value) for key, value in about.set]
        loaded = scenarios.load(root / contents.SCENARIO, values, about.seeds, runner)
        refuse_foreign_code(loaded)
        alone = [absence.without(loaded, runner, name) for name in absence.competitors(loaded)]
        _refuse_costly([loaded, *alone], runner, max_cpu_s)
        options = RunOptions.of(jobs=jobs, out=root / "again", progress=progress)
        results = execution.run_loaded([loaded], [runner], options)[0]
        compared, differences, version_only = _compared(
            about, files, results, loaded.engine_version
        )
        runs = len({run_id for run in results for run_id in contents.run_ids(run)})
    return CheckedBundle(
        about,
        loaded.engine_version,
        len(about.files),
        runs,
        compared,
        damaged,
        [one for one in differences if one.file not in damaged],
        version_only,
    )


def _refuse_costly(
    loaded: Sequence[_native.Scenario], runner: engines.Engine, max_cpu_s: float
) -> None:
    points = {point.run_id: point for scenario in loaded for point in scenario.points}
    cost = costs.total((point.packets, runner, runner.memory(point)) for point in points.values())
    if cost.cpu_s > max_cpu_s:
        raise InputError(
            f"running the bundle again takes about {costs.duration_text(cost.cpu_s)} of CPU time; "
            f"set --max-cpu-s {cost.cpu_s:.0f} to allow it"
        )


def _unpacked(path: Path) -> dict[str, bytes]:
    """Unpack a bundle, and return the content of its files by name. Raise `InputError` if there are
    too many files or bytes.
    """
    data = foreign.read(path, limit=contents.MAX_BYTES)
    files: dict[str, bytes] = {}
    left = contents.MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            if len(zipped.infolist()) > contents.MAX_FILES:
                raise InputError(
                    f"{foreign.line(path)}: more than {contents.MAX_FILES} files; "
                    "name a file that `tailback bundle` wrote"
                )
            for entry in zipped.infolist():
                if entry.is_dir():
                    continue
                if not contents.is_inside(entry.filename) or entry.filename in files:
                    raise InputError(
                        f"{foreign.line(path)}: {foreign.quoted(entry.filename)} is not a name of "
                        f"a file in a bundle; name a file that `tailback bundle` wrote"
                    )
                with zipped.open(entry) as file:
                    content = file.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise InputError(
                        f"{foreign.line(path)}: larger than {contents.MAX_BYTES >> 20} MiB when "
                        "unpacked; name a smaller file"
                    )
                files[entry.filename] = content
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
        raise InputError(f"{foreign.line(path)}: not a ZIP file; name a bundle") from None
    return files


def _compared(
    about: AboutBundle, files: Mapping[str, bytes], results: Results, version: str
) -> tuple[int, list[BundleDifference], list[str]]:
    """Compare the files of each run with the files in the bundle, in the order of the sweep. After
    each run, compare its repetitions in which one competitor is absent. tailback
    computes harm from these repetitions.

    Returns the number of compared files, the differences, and the files that differ only in the
    version of tailback that wrote them.
    """
    index_name = f"{contents.RESULTS}/sweeps/{about.sweep}/{layout.INDEX}"
    there = _points(files.get(index_name, b""))
    why = _why(about, version)
    compared = 0
    found: list[BundleDifference] = []
    version_only: list[str] = []
    for at, run_id, where in _repeated(results):
        bundled = there.get(at)
        if bundled is None:
            found.append(BundleDifference(index_name, f"the bundle has no run at {where}"))
            continue
        prefix = f"{contents.RESULTS}/runs/{bundled}/"
        own = {
            name.removeprefix(prefix): data
            for name, data in files.items()
            if name.startswith(prefix)
        }
        here = {
            path.name: path.read_bytes()
            for path in layout.run_path(results.root, run_id).iterdir()
            if path.is_file() and path.name not in contents.LEFT_OUT
        }
        for name in sorted({*own, *here}):
            compared += 1
            if own.get(name) == here.get(name):
                continue
            if name not in own or name not in here:
                missing = "in the bundle" if name not in own else "here"
                found.append(BundleDifference(prefix + name, f"missing {missing}"))
                continue
            values = _values(name, own[name], here[name])
            if values == []:
                version_only.append(prefix + name)
            else:
                found.append(BundleDifference(prefix + name, why, values or []))
    return compared, found, version_only


def _repeated(results: Results) -> Iterator[tuple[str, str, str]]:
    """For each repeated run, yield its key from `_place`, its id, and a description for messages.
    Yield each run once.
    """
    seen: set[str] = set()
    for run in results:
        labels = [*(f"{key} = {value}" for key, value in run.labels.items()), f"seed {run.seed}"]
        own = [(None, run.run_id), *run.without.items()]
        for without, run_id in own:
            if run_id in seen:
                continue
            seen.add(run_id)
            where = ", ".join([*labels, *([] if without is None else [f"without {without}"])])
            yield _place(run.params, run.seed, without), run_id, where


def _place(params: Mapping[str, Any], seed: Any, without: str | None = None) -> str:
    """Return a key that identifies a run in a sweep: its sweep point, its seed, and the name of the
    absent competitor. Only runs that are made to compute harm have an absent competitor.
    """
    return json.dumps([params, seed, without], sort_keys=True)


def _points(index: bytes) -> dict[str, str]:
    """Map the key of each run (see `_place`) in a sweep's stored index to the id of the run."""
    # Skip the hash at the beginning of the file.
    begin = index.find(b"{")
    found = {}
    try:
        document = json.loads(index[begin:]) if begin >= 0 else {}
        for point in document.get("points", ()):
            own = {None: point["run_id"], **point.get("without", {})}
            for without, run_id in own.items():
                found[_place(point["params"], point["seed"], without)] = run_id
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return found


def _values(name: str, there: bytes, here: bytes) -> list[str] | None:
    """List the values of a JSON file that differ between the bundle and the repeated run.
    Leave out values that depend on the engine's version.

    Returns `None` if the file is not one of the known JSON files.
    """
    if name not in (SUMMARY, MANIFEST, ACCOUNT):
        return None
    try:
        both = [json.loads(data[data.find(b"{") :]) for data in (there, here)]
    except ValueError:
        return None
    different = [
        (path, one, other)
        for path, one, other in archive.differences(*both)
        if path.partition(".")[0].partition("[")[0] not in _OF_VERSION
    ]
    said = [f"{path}: {one} there, {other} here" for path, one, other in different[:MOST_PATHS]]
    if len(different) > MOST_PATHS:
        said.append(f"and {len(different) - MOST_PATHS} more values")
    return said


def _why(about: AboutBundle, version: str) -> str:
    if about.engine_version != version:
        return f"the engine is {version} here, and was {about.engine_version}"
    if about.platform != _platform():
        return f"the same engine on {_platform()}, and it was {about.platform}"
    return "the engine and the platform are the same: please report this difference"


def _platform() -> str:
    return f"{platform.system()} {platform.machine()}"
