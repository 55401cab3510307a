"""Builds the parts of a guest kernel whose sources belong to tailback.

These parts are the launcher, the preloaded library, and kernel modules. One module marks and drops
packets by a schedule, another holds packets back during an outage, and two implement impairments
that netem does not have. The other modules are congestion controls and queue disciplines that are
missing in Linux, or have fewer options there.
"""

from __future__ import annotations

import os
from pathlib import Path

from tailback import registry
from tailback.errors import TailbackError
from tailback.kernel import contents, kit, manifest, modules, process, releases
from tailback.kernel.steps import Steps

FLAGS = {kit.LIBRARY: ("-shared", "-fPIC"), kit.LAUNCHER: ()}
"""Further arguments of gcc for each program."""

QDISC = kit.HERE / "qdisc.h"
"""The header with the common code of the queue disciplines. The build copies this header beside the
sources that include it."""


def names(version: str | None = None) -> tuple[str, ...]:
    """Return the names of tailback's modules that can be built for this version of the kernel."""
    found = [
        name
        for name, since in registry.stand_ins().items()
        if since is None or version is None or releases.numbers(version) >= releases.numbers(since)
    ]
    return (kit.SCHEDULE, kit.OUTAGE, kit.IMPAIR, *found)


def add(folder: Path, *, jobs: int, steps: Steps) -> None:
    """Build the parts that are missing, damaged or older than their sources.

    If a module does not compile for an older kernel, the guest kernel is built without it.
    Scenarios that need the module are then rejected before boot.
    """
    path = folder / kit.MANIFEST
    facts = manifest.read(path, manifest.KIT)
    before = dict(facts["programs"])
    for name, texts in kit.PROGRAMS.items():
        source, target = kit.source_hash(texts), folder / name
        known = {"source": source, "sha256": contents.sha256(target)}
        if before.get(name) == known:
            continue
        steps.step(f"compiling {name}")
        part = target.with_name(f".{name}.{os.getpid()}")
        units = [kit.HERE / text for text in texts if text.endswith(".c")]
        process.run(["gcc", "-O2", "-Wall", "-Wextra", *FLAGS[name], "-o", part, *units])
        part.replace(target)
        facts["programs"][name] = {"source": source, "sha256": contents.sha256(target)}
    if facts["programs"] != before:
        manifest.write(path, facts)
    for name in names(facts["kernel"]):
        steps.step(f"building module {name}")
        try:
            own = kit.HERE / name
            modules.build(folder, name, own, jobs=jobs, headers=_headers(own))
        except TailbackError as error:
            if name == kit.SCHEDULE or releases.of(facts["kernel"]) >= releases.COMPAT:
                raise
            steps.note(f"this guest kernel does not have {name}: {error}")


def _headers(folder: Path) -> list[Path]:
    line = f'#include "{QDISC.name}"'
    included = any(line in text.read_text(encoding="utf-8") for text in folder.glob("*.c"))
    return [QDISC] if included else []
