"""Runs a scenario, or uses its stored runs, and writes the bundle."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
import shlex
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tailback import __version__, _native
from tailback.base import foreign
from tailback.bundling import contents, crate
from tailback.bundling.contents import AboutBundle
from tailback.errors import InputError
from tailback.running import engines, execution, scenarios
from tailback.running.options import RunOptions
from tailback.store import layout
from tailback.store.results import Results

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The modification time of every file in the archive. This time is fixed, so that equal content
gives equal bytes."""


def bundle(
    scenario: Path | str,
    target: Path | str,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002 (the option has this name)
    options: RunOptions | None = None,
    license: str = crate.NO_LICENSE,  # noqa: A002 (the metadata has this name)
) -> Path:
    """Write a bundle of a scenario file and its results. Execute missing runs first.

    Raises `InputError` if the scenario needs something that a bundle cannot contain: plugins,
    programs, or files outside the scenario's folder.
    """
    values = scenarios.texts(scenarios.table_of(set))
    return write(Path(scenario), Path(target), values, options or RunOptions(), license)


def write(
    scenario: Path,
    target: Path,
    values: Sequence[tuple[str, str]],
    options: RunOptions,
    license_: str,
) -> Path:
    """Write a bundle as `bundle` does, but take the values of `--set` as TOML text."""
    if not target.name.endswith(".zip"):
        raise InputError(f"--to {foreign.line(target)}: expected a name that ends in .zip")
    text = foreign.read(scenario)
    contents.refuse_outside(text, [value for _, value in values])
    runner = engines.get(options.engine)
    loaded = scenarios.load(scenario, values, options.seeds, runner)
    refuse_foreign_code(loaded)
    results = execution.run_loaded([loaded], [runner], options)[0]
    results.require_whole()
    files = dict(_files(scenario, text, loaded, results, values, options))
    about = AboutBundle(
        format=contents.FORMAT,
        title=loaded.title,
        engine=options.engine,
        engine_version=loaded.engine_version,
        set=[list(pair) for pair in values],
        seeds=options.seeds,
        sweep=results.id,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        files={name: contents.sha256(data) for name, data in files.items()},
    )
    files[contents.ABOUT] = (json.dumps(about.to_dict(), indent=1) + "\n").encode()
    sizes = {name: len(data) for name, data in sorted(files.items())}
    files[contents.CRATE] = crate.metadata(about, sizes, _today(), license_)
    with (
        layout.replacing(target) as part,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return target


def refuse_foreign_code(loaded: _native.Scenario) -> None:
    """Raise `InputError` for a scenario with plugins or programs."""
    if loaded.plugins:
        raise InputError(
            "the scenario has plugins, which a bundle cannot contain; remove the key with, or "
            "publish the folder of the plugin"
        )
    if loaded.runs_programs:
        raise InputError(
            "the scenario has programs, which a bundle cannot contain; remove [[programs]]"
        )


def _files(
    scenario: Path,
    text: bytes,
    loaded: _native.Scenario,
    results: Results,
    values: Sequence[tuple[str, str]],
    options: RunOptions,
) -> Iterator[tuple[str, bytes]]:
    yield contents.SCENARIO, text
    for name in sorted(set(loaded.files)):
        if name == contents.SCENARIO:
            raise InputError(
                f"the scenario names a file {name}; rename it, since the scenario has this name in "
                "a bundle"
            )
        yield name, foreign.read(scenario.parent / name)
    yield contents.LOCK, _lock().encode()
    yield contents.COMMANDS, _commands(values, options).encode()
    yield contents.FIGURE, _figure(results)
    index = layout.index_path(results.root, results.id)
    yield f"{contents.RESULTS}/sweeps/{results.id}/{layout.INDEX}", index.read_bytes()
    for run_id in dict.fromkeys(run_id for run in results for run_id in contents.run_ids(run)):
        for path in sorted(layout.run_path(results.root, run_id).iterdir()):
            if path.is_file() and path.name not in contents.LEFT_OUT:
                yield f"{contents.RESULTS}/runs/{run_id}/{path.name}", path.read_bytes()


def _figure(results: Results) -> bytes:
    from tailback.plot import PlotRequest, figure

    return figure(results, PlotRequest()).svg.encode()


def _commands(values: Sequence[tuple[str, str]], options: RunOptions) -> str:
    words = ["tailback", "run", contents.SCENARIO]
    for path, value in values:
        words += ["--set", f"{path}={value}"]
    if options.seeds is not None:
        words += ["--seeds", str(options.seeds)]
    if options.engine != "sim":
        words += ["--engine", options.engine]
    return (
        f"# pip install -r {contents.LOCK}\n{shlex.join(words)}\ntailback plot --out figure.svg\n"
    )


def _lock() -> str:
    """List the versions of this package and of all packages that it depends on."""
    found: dict[str, str] = {}
    waiting = ["tailback"]
    while waiting:
        name = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            own = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found[key] = own.version
        for needed in own.requires or ():
            if "extra ==" not in needed:
                waiting.append(re.split(r"[^\w.-]", needed, maxsplit=1)[0])
    found.setdefault("tailback", __version__)
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items()))


def _today() -> str:
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
