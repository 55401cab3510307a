"""Defines mutants and their outcomes, random samples of mutants, and the copy of the sources in
which they are built."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "target" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")

CAUGHT, TIMEOUT, MISSED, UNVIABLE = "caught", "timeout", "missed", "unviable"


@dataclass
class Mutant:
    """A mutant: one change to the sources."""

    key: str
    """Name of the mutant in cargo-mutants or cosmic-ray."""
    file: str
    row: int
    column: int
    change: str
    line: str
    """The line that the mutant changes, without leading and trailing white space."""
    outcome: str | None = None

    @property
    def rank(self) -> str:
        """The text whose hash decides whether the mutant is drawn: file, change, column and text of
        the line. The line's number is left out, because edits above the line change this number."""
        return f"{self.file} {self.change} {self.column} {self.line}"

    def __str__(self) -> str:
        return f"{self.file}:{self.row}:{self.column}: {self.change}\n    {self.line}"


@dataclass
class Sample:
    """A random sample of a module's mutants, with the outcomes so far."""

    module: str
    seed: int
    all: int
    """Number of mutants of the module, including mutants that were not tried."""
    left_out: int
    """Number of mutants that cannot be tried."""
    mutants: list[Mutant] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether every mutant of the sample has an outcome."""
        return all(mutant.outcome is not None for mutant in self.mutants)

    @property
    def path(self) -> Path:
        """The file that stores the sample between calls."""
        return WORK / f"{self.module}.json"

    def save(self) -> None:
        """Store the sample, with the outcomes so far."""
        WORK.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(asdict(self), indent=1))


def draw(module: str, seed: int, size: int, every: Iterable[Mutant], left_out: int) -> Sample:
    """Draw the mutants with the smallest hashes of the seed and `Mutant.rank`."""
    mutants = list(every)

    def order(mutant: Mutant) -> tuple[bytes, int]:
        # Mutants with equal hashes (the same change of equal lines) are ordered by line number.
        return hashlib.sha256(f"{seed} {mutant.rank}".encode()).digest(), mutant.row

    return Sample(
        module, seed, len(mutants) + left_out, left_out, sorted(mutants, key=order)[:size]
    )


def kept(module: str) -> Sample | None:
    """Return the sample of the last call, or `None` if no sample was stored."""
    path = WORK / f"{module}.json"
    if not path.exists():
        return None
    stored = json.loads(path.read_text())
    mutants = [Mutant(**mutant) for mutant in stored.pop("mutants")]
    return Sample(**stored, mutants=mutants)


def equivalent(mutants: Iterable[Mutant]) -> dict[str, str]:
    """Return the reasons in `equivalent.toml` why mutants do not change the program's behaviour, by
    mutant."""
    entries = tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])
    reasons = {}
    for mutant in mutants:
        own = (mutant.file, mutant.change, mutant.line)
        for entry in entries:
            at = entry.get("column", mutant.column)
            if (entry["file"], entry["change"], entry["line"], at) == (*own, mutant.column):
                reasons[mutant.key] = entry["why"]
    return reasons


def copy_tree(tree: Path, changed: Mapping[str, str] = MappingProxyType({})) -> None:
    """Update a copy of the sources in which some files are changed. Mutants are written into the
    copy, never into the checkout. An unchanged file keeps its modification time.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    # Also copy the compiled extension module, which lies beside the Python sources.
    package = ROOT / "python" / "tailback"
    built = [*package.glob("*.so"), *(package / "kernel").glob("tailback-guest*")]
    names |= {str(path.relative_to(ROOT)) for path in built}
    tree.mkdir(parents=True, exist_ok=True)
    for old in [path for path in tree.rglob("*") if path.is_file() or path.is_symlink()]:
        if str(old.relative_to(tree)) not in names:
            old.unlink()
    for name in sorted(names):
        source, copy = ROOT / name, tree / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            copy.unlink(missing_ok=True)
            copy.symlink_to(source.readlink())
            continue
        wanted = changed[name].encode() if name in changed else source.read_bytes()
        if not copy.exists() or copy.read_bytes() != wanted:
            copy.write_bytes(wanted)
            copy.chmod(source.stat().st_mode)
