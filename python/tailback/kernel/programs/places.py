"""Maps files of this machine to paths in a guest that runs programs.

In the workplace of the run, each package root, container image and folder of a scenario becomes a
link, which is called a place. The guest mounts the places read-only under /programs (root.INIT).
Single files are copied into an additional place, because hostfs can mount only folders.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailback.errors import InputError
from tailback.kernel import confine
from tailback.kernel.programs import built
from tailback.kernel.programs.check import Program
from tailback.kernel.programs.roots import Root

FOLDER = "programs"
"""The name of the folder of all places, both in the workplace and in the guest's root."""

COPIES = "files"
"""The name of the place that contains the single files."""

UPTIME_S = 60
"""Seconds from the start of the kernel to time 0 of the run. Without this delay, some programs
would assume that the clock is not set yet, because the machine has just started.
"""


@dataclass(frozen=True)
class Places:
    """The files of all programs of a run."""

    roots: Mapping[str, Root]
    """Package roots. The key of a root is the list of its requested packages, joined by spaces."""
    files: tuple[Path, ...]
    date_s: int
    """The date that the guest's clock shows at time 0, in seconds since 1970."""
    images: tuple[Path, ...] = ()
    """Root file systems that the scenario provides."""

    @classmethod
    def of(cls, programs: Iterable[Program], roots: Mapping[str, Root], date_s: int) -> Places:
        """Collect the files that these programs need."""
        given = tuple(programs)
        asked = sorted({key(program) for program in given})
        files = tuple(sorted({path for program in given for path in program.files}))
        images = {one.path for program in given for one in program.images.values()}
        places = cls({one: roots[one] for one in asked}, files, date_s, tuple(sorted(images)))
        if len(places.links()) > confine.MOST_PLACES:
            raise InputError(
                f"the programs of a run may have {confine.MOST_PLACES} folders and package roots; "
                f"these have {len(places.links())}; split the scenario"
            )
        return places

    def links(self) -> dict[str, Path]:
        """Return the folders that the guest mounts, keyed by the names of their links."""
        roots = {f"root{n}": root.path for n, root in enumerate(self.roots.values())}
        folders = enumerate(path for path in self.files if path.is_dir())
        images = {f"image{n}": path for n, path in enumerate(self.images)}
        return roots | {f"folder{n}": path for n, path in folders} | images

    def copies(self) -> dict[str, Path]:
        """The single files to copy, by their paths among the places."""
        files = enumerate(path for path in self.files if not path.is_dir())
        return {f"{COPIES}/{n}": path for n, path in files}

    def mapping(self) -> str:
        """Return JSON for the guest's first process.

        The JSON contains the path in the guest of each package root, file and container image in
        the scenario.
        """
        roots = {asked: f"/{FOLDER}/root{n}" for n, asked in enumerate(self.roots)}
        given = {**self.links(), **self.copies()}
        paths = {path: f"/{FOLDER}/{name}" for name, path in given.items()}
        files = {built.key(path): paths[path] for path in self.files}
        mapping = {"roots": roots, "files": files}
        if self.images:
            mapping["folders"] = {str(path): paths[path] for path in self.images}
        return json.dumps(mapping)

    def manifest(self) -> dict[str, dict[str, object]]:
        """Return the hash and the packages of each package root, for the manifest of a run."""
        return {
            asked: {"hash": root.identity, "packages": root.packages}
            for asked, root in self.roots.items()
        }

    def make(self, workplace: Path) -> None:
        """Write all places into the workplace of a run, with a list of them for the guest's
        init."""
        top = workplace / FOLDER
        (top / COPIES).mkdir(parents=True)
        for name, path in self.links().items():
            (top / name).symlink_to(path.resolve())
        for name, path in self.copies().items():
            shutil.copy(path, top / name)
        names = "".join(f"{name}\n" for name in (COPIES, *self.links()))
        (workplace / "job/places").write_text(names, encoding="ascii")

    @property
    def start_ns(self) -> int:
        """The time at which the guest's clock starts, in ns since 1970."""
        return (self.date_s - UPTIME_S) * 10**9


def key(program: Program) -> str:
    """Return the key of a program's package root in `Places.roots`."""
    return " ".join(program.packages)
