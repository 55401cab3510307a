"""Fetches Debian packages without installing them. This module runs apt with a separate
configuration.

This configuration has its own sources, lists and cache, and an empty status file. apt still uses
the machine's settings for proxies, credentials and certificates. Root rights are not needed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import shlex
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback.errors import InputError, TailbackError
from tailback.kernel import process
from tailback.kernel.steps import Steps

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
FALLBACK_MIRROR = "http://deb.debian.org/debian"
LISTS_LAST_S = 24 * 3600.0


@dataclass(frozen=True)
class Entry:
    """An entry of the machine's apt sources."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""
    """The keyring in the entry's option `signed-by`. Empty without this option."""


@dataclass(frozen=True)
class Deb:
    """A .deb file in Debian's archive."""

    name: str
    version: str
    file: str
    """Name under which apt saves the file."""
    size: int
    """Size in bytes."""
    sha256: str


def parse_list(text: str) -> list[Entry]:
    """Return the entries for binary packages in a sources.list file, which has an entry per
    line."""
    entries = []
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        match = re.fullmatch(r"deb\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)((?:\s+\S+)*)", line)
        if match is None:
            continue
        options = dict(word.partition("=")[::2] for word in (match[1] or "").split() if "=" in word)
        entries.append(
            Entry(match[2], (match[3],), tuple(match[4].split()), options.get("signed-by", ""))
        )
    return entries


def parse_deb822(text: str) -> list[Entry]:
    """Return the entries for binary packages in a .sources file."""
    entries = []
    # Remove comment lines first, because a comment line does not end a stanza or a field.
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", plain):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line[:1] in (" ", "\t"):
                fields[name] = fields.get(name, "") + " " + line.strip()
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                fields[name] = value.strip()
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").lower() in ("no", "false", "0", "off"):
            continue
        for uri in fields.get("uris", "").split():
            entries.append(
                Entry(
                    uri,
                    tuple(fields.get("suites", "").split()),
                    tuple(fields.get("components", "").split()),
                    fields.get("signed-by", ""),
                )
            )
    return entries


def choose_mirror(entries: Iterable[Entry]) -> str:
    """Return the address of Debian's main archive among the entries, or Debian's public mirror.

    An entry is a candidate if it has a component `main`, is not a security archive, and seems to
    belong to Debian. The best evidence that an entry belongs to Debian is a signature by Debian's
    keyring. The second-best evidence is a host of debian.org. If an entry has no key, a URL path
    that ends in /debian is the weakest evidence. The function chooses the first entry with the best
    evidence.
    """
    best = (3, FALLBACK_MIRROR)
    for entry in entries:
        uri = entry.uri.rstrip("/")
        address = urllib.parse.urlsplit(uri)
        if address.scheme in ("cdrom", "file", "copy") or "main" not in entry.components:
            continue
        if "security" in uri or any("security" in suite for suite in entry.suites):
            continue
        if "debian-archive" in entry.signed_by:
            rank = 0
        elif entry.signed_by:
            continue
        elif (address.hostname or "").endswith("debian.org"):
            rank = 1
        elif address.path.endswith("/debian"):
            rank = 2
        else:
            continue
        best = min(best, (rank, uri), key=lambda pair: pair[0])
    return best[1]


def machine_mirror(etc: Path = Path("/etc/apt")) -> str:
    """Return the mirror that this machine's own apt uses."""
    entries: list[Entry] = []
    parts = etc / "sources.list.d"
    for path in [etc / "sources.list", *sorted(parts.glob("*"))]:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if path.suffix == ".list":
            entries += parse_list(text)
        elif path.suffix == ".sources":
            entries += parse_deb822(text)
    return choose_mirror(entries)


def machine_suite(release: Path = Path("/etc/os-release")) -> str | None:
    """Return Debian's name for the release of this machine, or None if this machine does not run
    Debian."""
    try:
        text = release.read_text(encoding="utf-8")
    except OSError:
        return None
    fields = dict(line.partition("=")[::2] for line in text.splitlines())
    values = {name: "".join(shlex.split(value)) for name, value in fields.items() if value}
    if values.get("ID") != "debian":
        return None
    return values.get("VERSION_CODENAME")


def parse_uris(lines: Iterable[str]) -> list[Deb]:
    """Parse the output of `apt-get --print-uris download`."""
    debs = []
    for line in lines:
        match = re.fullmatch(r"'([^']+)' (\S+) (\d+) SHA256:([0-9a-f]{64})", line.strip())
        if match is None:
            continue
        name, version, _arch = match[2].removesuffix(".deb").split("_")
        debs.append(Deb(name, urllib.parse.unquote(version), match[2], int(match[3]), match[4]))
    return debs


def newest(versions: Iterable[str]) -> str:
    """Return the highest version in Debian's order of versions."""

    def order(left: str, right: str) -> int:
        if left == right:
            return 0
        command = ["dpkg", "--compare-versions", left, "lt", right]
        return -1 if subprocess.run(command, check=False).returncode == 0 else 1

    return max(versions, key=functools.cmp_to_key(order))


class Apt:
    """The packages of some Debian suites, with package lists and downloads in a folder of
    tailback."""

    def __init__(
        self,
        folder: Path,
        suites: Sequence[str],
        *,
        downloads: Path,
        mirror: str | None = None,
    ) -> None:
        self._folder = folder
        self._suites = tuple(suites)
        self._downloads = downloads
        self._mirror = mirror if mirror is not None else machine_mirror()
        self._conf = folder / "apt.conf"

    def sources(self) -> str:
        """Return the text of sources.list."""
        return "".join(
            f"deb [signed-by={KEYRING}] {self._mirror} {suite} main\n" for suite in self._suites
        )

    def conf(self) -> str:
        """Return the text of apt.conf. apt reads this file after the machine's own configuration,
        so this file takes precedence.
        """
        folder = self._folder
        return f"""\
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "-";
Dir::Etc::Preferences "-";
Dir::Etc::PreferencesParts "-";
Dir::State "{folder}/state";
Dir::State::Lists "{folder}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{folder}/cache";
# Containers switch these caches off, and then every query takes seconds.
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
APT::Architecture "amd64";
#clear APT::Architectures;
APT::Architectures {{ "amd64"; }};
# The folder may be closed to apt's own user.
APT::Sandbox::User "root";
# The machine's own hooks must not run.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::Retries "3";
"""

    def update(self, steps: Steps) -> None:
        """Download the lists of packages, unless the existing lists are fresh.

        If apt cannot renew the lists, the old lists are used.
        """
        if not KEYRING.exists():
            raise InputError(f"{KEYRING} is missing; install debian-archive-keyring")
        for name in ("lists/partial", "cache/archives/partial", "state"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        self._downloads.mkdir(parents=True, exist_ok=True)
        self._conf.write_text(self.conf(), encoding="utf-8")
        sources = self._folder / "sources.list"
        stamp = self._folder / "updated"
        same = sources.exists() and sources.read_text(encoding="utf-8") == self.sources()
        if same and stamp.exists() and time.time() - stamp.stat().st_mtime < LISTS_LAST_S:
            return
        sources.write_text(self.sources(), encoding="utf-8")
        steps.step(f"getting the lists of packages ({', '.join(self._suites)})")
        try:
            self._apt("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update")
        except process.CommandFailed as error:
            if not (same and stamp.exists()):
                raise TailbackError(
                    f"no lists of packages from {self._mirror}\n{error}; "
                    "check the network and the sources of apt"
                ) from error
            steps.note(f"the lists of packages could not be renewed from {self._mirror}")
            return
        stamp.touch()

    def names(self, prefix: str) -> list[str]:
        return sorted(self._apt("apt-cache", "pkgnames", prefix))

    def versions(self, name: str) -> list[str]:
        """Return all versions of a package that any of the suites has."""
        rows = [line.split("|") for line in self._apt("apt-cache", "madison", name)]
        return [row[1].strip() for row in rows if len(row) == 3 and row[0].strip() == name]

    def dependencies(self, name: str) -> list[str]:
        """Return a package and all packages that it depends on, directly or indirectly."""
        but = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
        no = [f"--no-{kind}" for kind in but]
        lines = self._apt("apt-cache", "depends", "--recurse", *no, name)
        return sorted({line for line in lines if re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", line)})

    def closure(self, packages: Sequence[str]) -> list[str]:
        """Return these packages and all packages that apt would install with them, each as
        NAME=VERSION.

        apt takes the newest version of each package. If these versions are not compatible with each
        other, this function makes apt prefer the versions of one suite, which are compatible.

        Raises `CommandFailed` for packages that do not exist or are not compatible with each other.
        """
        try:
            lines = self._installation(packages)
        except process.CommandFailed as error:
            lines = self._installation_from_one_suite(packages, error)
        files = [found[1] for line in lines if (found := re.match(r"'[^']+' (\S+\.deb) \d", line))]
        words = [file.removesuffix(".deb").split("_") for file in files]
        return [f"{name}={urllib.parse.unquote(version)}" for name, version, _arch in words]

    def _installation(self, packages: Sequence[str], *options: str) -> list[str]:
        """Return what apt would download to install packages."""
        words = ("-q", "--print-uris", "--yes", "--no-install-recommends", *options)
        return self._apt("apt-get", *words, "install", *packages, at=self._folder)

    def _installation_from_one_suite(
        self, packages: Sequence[str], error: process.CommandFailed
    ) -> list[str]:
        """Return what apt would download if it preferred the packages of a single suite. Try the
        suites in order, and use the first suite with compatible packages. Raises `error` if no
        suite has compatible packages.
        """
        for suite in self._suites:
            with contextlib.suppress(process.CommandFailed):
                return self._installation(packages, "-t", suite)
        raise error

    def locate(self, packages: Sequence[str]) -> list[Deb]:
        """Find the files of packages (each NAME or NAME=VERSION), in the order of the arguments."""
        # apt prints no URI for a file that is already in the download folder, so run apt in a
        # folder without downloads.
        lines = self._apt("apt-get", "-q", "--print-uris", "download", *packages, at=self._folder)
        found = {deb.name: deb for deb in parse_uris(lines)}
        names = [package.partition("=")[0] for package in packages]
        if lost := [name for name in names if name not in found]:
            raise TailbackError(
                f"{self._mirror} does not have {', '.join(lost)}; "
                "choose another mirror in the sources of apt"
            )
        return [found[name] for name in names]

    def fetch(self, debs: Sequence[Deb], steps: Steps) -> list[Path]:
        """Download missing files, and check all files."""
        self._downloads.mkdir(parents=True, exist_ok=True)
        absent = [deb for deb in debs if not self._is_whole(deb)]
        if absent:
            total = sum(deb.size for deb in absent)
            what = absent[0].name if len(absent) == 1 else f"{len(absent)} packages"
            steps.step(f"downloading {what} ({total / 1e6:.0f} MB)", total)
            paths = [self._downloads / deb.file for deb in absent]

            def tick() -> None:
                steps.at(sum(path.stat().st_size for path in paths if path.exists()))

            self._apt(
                "apt-get",
                "-q",
                "download",
                *(f"{deb.name}={deb.version}" for deb in absent),
                on_tick=tick,
            )
            for deb in absent:
                if not self._is_whole(deb):
                    raise TailbackError(
                        f"{deb.file}: the download does not match the archive's list; repeat the "
                        f"command, or choose another mirror in the sources of apt"
                    )
        return [self._downloads / deb.file for deb in debs]

    def _is_whole(self, deb: Deb) -> bool:
        path = self._downloads / deb.file
        if not path.exists() or path.stat().st_size != deb.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == deb.sha256

    def _apt(
        self,
        program: str,
        *args: str,
        at: Path | None = None,
        on_tick: Callable[[], None] | None = None,
    ) -> list[str]:
        return process.run(
            [program, "-c", self._conf, *args], cwd=at or self._downloads, on_tick=on_tick
        )


def unpack(deb: Path, into: Path) -> None:
    """Unpack the files of a package without running its scripts. A symbolic link to a folder in
    `into` stays a link."""
    into.mkdir(parents=True, exist_ok=True)
    # Some packages have files below a link to a folder, such as /bin. dpkg-deb -x would
    # replace such a link with a folder.
    words = "tar -xp --keep-directory-symlink -C"
    script = f'set -o pipefail; dpkg-deb --fsys-tarfile "$1" | {words} "$2"'
    process.run(["bash", "-c", script, "bash", deb, into])


def versions_of(debs: Iterable[Deb]) -> Mapping[str, str]:
    """Return the version of each package by name, sorted by name."""
    return dict(sorted((deb.name, deb.version) for deb in debs))
