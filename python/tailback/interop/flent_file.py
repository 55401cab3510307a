"""Reads and checks Flent's data files, which are gzip-compressed JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from tailback.base import foreign
from tailback.errors import InputError, InputErrors

SUFFIX = ".flent.gz"

VERSION = 4
"""Version of the format that Flent 2 writes."""

REQUIRED = ("NAME", "TITLE", "HOST", "LOCAL_HOST", "LENGTH", "STEP_SIZE")
"""Metadata keys that every data file of Flent has."""

_NUMBERS = ("LENGTH", "STEP_SIZE")

MAX_PROBLEMS = 20
"""The largest number of problems to report for one file."""

MAX_TOGETHER = 256 << 20
"""The size limit in bytes of all compared files when unpacked. The limit applies to the sum of the
sizes, because all files are in memory at the same time."""

MAX_SECONDS = 1e12
"""The largest time in seconds. Sums of larger times would not be exact to a millisecond."""

MAX_SPAN = 1e9
"""The longest time from the start to a sample, in seconds. This time is 31 years, so that a time in
nanoseconds fits into 64 bits.
"""

MAX_VALUE = 1e15
"""The largest value of a sample."""

_WHAT = f"a data file of Flent ({SUFFIX}), gzip-compressed JSON"

_COMPUTED = re.compile(r"\b(avg|sum|fairness|totals)$")
"""Names of series that Flent computes from other series."""


@dataclass(frozen=True)
class Sample:
    """The throughput of a flow between two times."""

    begin: float
    """Start of the interval, in seconds, on the same clock as `end`."""
    end: float
    mbit: float
    """Throughput in the interval, in Mbit/s."""


@dataclass(frozen=True)
class DataFile:
    """A valid Flent data file."""

    path: Path
    metadata: Mapping[str, Any]
    raw: Mapping[str, Sequence[Mapping[str, Any]]]
    size: int
    """Size of the file in bytes."""
    sha256: str
    """SHA-256 of the file."""

    @property
    def test(self) -> str:
        """The name of Flent's test, such as `rrul`."""
        return str(self.metadata["NAME"])

    @property
    def title(self) -> str:
        """The title that the user of Flent gave the test."""
        return str(self.metadata["TITLE"] or "")

    @property
    def step(self) -> float:
        """The time (in seconds) between two samples."""
        return float(self.metadata["STEP_SIZE"])

    @cached_property
    def flows(self) -> list[str]:
        """Names of the series that have the throughput of a TCP flow, uploads first."""
        names = [name for name in self.raw if _is_flow(name) and any(self._samples(name))]
        return sorted(names, key=_order)

    def throughput(self, flow: str) -> list[Sample]:
        return list(self._samples(flow))

    def _samples(self, flow: str) -> Iterator[Sample]:
        """Yield the samples of a flow in order of time. A sample without a duration begins where
        the previous sample ends."""
        last: float | None = None
        for row in self.raw[flow]:
            value = row.get("val")
            if not _is_number(value):
                continue
            end = float(row["t"])
            begin = last if last is not None else end - self.step
            if _is_number(lasted := row.get("dur")):
                begin = end - lasted
            if end > begin:
                last = end
                yield Sample(begin, end, float(value))

    def statistic(self, flow: str, key: str) -> list[tuple[float, float]]:
        """Return the samples of a socket statistic as pairs of time and value: `tcp_rtt` in ms,
        `tcp_cwnd` in segments."""
        return [
            (float(row["t"]), float(row[key])) for row in self.raw[flow] if _is_number(row.get(key))
        ]

    @cached_property
    def origin(self) -> float:
        """The Unix time at which the first flow begins.

        If tailback wrote the file, this time is the start of the run.
        """
        if "TAILBACK" in self.metadata:
            return _seconds(self.metadata["T0"])
        return min(next(self._samples(flow)).begin for flow in self.flows)


def is_named_so(path: Path) -> bool:
    """Return whether a path has the ending of a Flent data file."""
    return path.name.endswith(SUFFIX)


def read_all(paths: Sequence[Path]) -> list[DataFile]:
    """Read data files, and report the errors of all files together."""
    files: list[DataFile] = []
    problems: list[str] = []
    together = 0
    for path in paths:
        try:
            file, unpacked = _read(path)
        except InputError as error:
            problems += map(str, error.problems)
            continue
        together += unpacked
        if together > MAX_TOGETHER:
            limit = f"{MAX_TOGETHER >> 20} MiB"
            problems.append(f"{foreign.line(path)}: more than {limit} together with those before")
            break
        files.append(file)
    if problems:
        raise InputErrors(*problems)
    return files


def read(path: Path) -> DataFile:
    """Read a data file. If the file is invalid, raise an `InputError` with a line for each
    error."""
    return _read(path)[0]


def _read(path: Path) -> tuple[DataFile, int]:
    """Return a data file, and the size in bytes of its unpacked JSON."""
    data, packed, unpacked = _json(path)
    problems = _problems(data)
    if not problems:
        sha256 = hashlib.sha256(packed).hexdigest()
        file = DataFile(path, data["metadata"], data["raw_values"], len(packed), sha256)
        problems = _problems_of(file)
        if not problems:
            return file, unpacked
    more = len(problems) - MAX_PROBLEMS
    if more > 0:
        problems[MAX_PROBLEMS:] = [f"and {more} more"]
    raise InputErrors(*(f"{foreign.line(path)}: {problem}" for problem in problems))


def _problems_of(file: DataFile) -> list[str]:
    """Return the reasons why the samples of a file cannot come from a Flent test."""
    if not file.flows:
        has = ", ".join(map(foreign.quoted, list(file.raw)[:5])) or "none"
        return [
            "no throughput of a TCP flow in raw_values; expected series like "
            f'"TCP upload", "TCP upload::1" or "TCP download BE::1" with samples "t" and '
            f'"val", found {has}'
        ]
    origin = file.origin
    return [
        f"raw_values {foreign.quoted(name)}: a sample {abs(row['t'] - origin):.3g} s from the "
        f"start; expected at most {MAX_SPAN:g} s"
        for name in file.flows
        for row in file.raw[name]
        if abs(row["t"] - origin) > MAX_SPAN
    ]


def _json(path: Path) -> tuple[Any, bytes, int]:
    """Return the parsed JSON, the bytes of the packed file, and the size in bytes of the unpacked
    JSON."""
    packed = foreign.read(path)
    if not packed:
        raise InputError(f"{foreign.line(path)}: empty; expected {_WHAT}")
    try:
        text = foreign.gunzip(packed, path)
        return foreign.parse_json(text, path), packed, len(text)
    except InputError as error:
        raise InputError(f"{error}; expected {_WHAT}") from None


def _problems(data: Any) -> list[str]:
    """Return every reason why the parsed JSON is not a valid data file."""
    if not isinstance(data, dict):
        return [f"a JSON {_kind(data)}; expected an object with version, metadata, raw_values"]
    if "version" not in data and "metadata" not in data:
        return ["not a data file of Flent: neither version nor metadata; expected both"]
    version = _version(data)
    if version is not None:
        return [version]
    problems = []
    metadata = data.get("metadata")
    if isinstance(metadata, dict):
        missing = [key for key in REQUIRED if key not in metadata]
        if missing:
            problems.append(f"metadata lacks {', '.join(missing)}; expected {', '.join(REQUIRED)}")
        problems += _wrong(metadata)
    else:
        problems.append(_expected("metadata", metadata, "an object"))
    for key, kind, what in (
        ("x_values", list, "a list"),
        ("results", dict, "an object"),
        ("raw_values", dict, "an object"),
    ):
        if not isinstance(data.get(key), kind):
            problems.append(_expected(key, data.get(key), what))
    if isinstance(data.get("raw_values"), dict):
        problems += _wrong_series(data["raw_values"])
    return problems


def _version(data: Mapping[str, Any]) -> str | None:
    value = data.get("version")
    version = value
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        version = int(value)
    if version == VERSION and not isinstance(version, bool | float):
        return None
    if not isinstance(version, int) or isinstance(version, bool):
        # Files of format version 1 do not have this key.
        said = "no format version" if value is None else "a format version that is not a number"
        return f"{said}; expected version {VERSION}"
    if version > VERSION:
        return (
            f"format version {version} is newer than what tailback reads; expected version "
            f"{VERSION}, which Flent 2 writes"
        )
    return (
        f"format version {version} is older than what tailback reads; expected version {VERSION}: "
        "Flent 2 converts it when it loads and saves it"
    )


def _wrong(metadata: Mapping[str, Any]) -> list[str]:
    problems = []
    if "NAME" in metadata and not (isinstance(metadata["NAME"], str) and metadata["NAME"]):
        problems.append(_expected("metadata NAME", metadata["NAME"], "the name of a test"))
    if not isinstance(metadata.get("TITLE"), str | None):
        problems.append(_expected("metadata TITLE", metadata["TITLE"], "text"))
    for key in _NUMBERS:
        if key in metadata and not (_is_number(metadata[key]) and 0 < metadata[key] < MAX_SPAN):
            problems.append(_expected(f"metadata {key}", metadata[key], "seconds above 0"))
    if "TAILBACK" in metadata:
        try:
            _seconds(metadata.get("T0"))
        except (TypeError, ValueError, OverflowError):
            problems.append(
                _expected("metadata T0", metadata.get("T0"), 'a time like "1970-01-01T00:00:00.0Z"')
            )
    return problems


def _wrong_series(raw: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, rows in raw.items():
        series = f"raw_values {foreign.quoted(name)}"
        if not isinstance(rows, list):
            problems.append(_expected(series, rows, "a list of samples"))
            continue
        for i, row in enumerate(rows):
            if not isinstance(row, dict) or not _is_number(row.get("t"), MAX_SECONDS):
                problems.append(
                    f'{series}[{i}] is not a sample; expected an object with "t", seconds'
                )
                break
            if any(isinstance(v, int | float) and abs(v) > MAX_VALUE for v in row.values()):
                problems.append(f"{series}[{i}] has a number beyond {MAX_VALUE:g}")
                break
    return problems


def _expected(what: str, value: object, expected: str) -> str:
    if value is None:
        return f"{what} is missing; expected {expected}"
    if isinstance(value, str):
        shown = foreign.quoted(value)
    elif isinstance(value, int | float):
        shown = f"{value:.6g}"
    else:
        shown = f"a JSON {_kind(value)}"
    return f"{what} is {shown}; expected {expected}"


def _kind(value: object) -> str:
    kinds: dict[type, str] = {list: "array", dict: "object", str: "string", bool: "boolean"}
    return "null" if value is None else kinds.get(type(value), "number")


def _is_number(value: object, most: float = MAX_VALUE) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= most


def _is_flow(name: str) -> bool:
    named = re.match(r"TCP (upload|download)\b", name) is not None
    return named and _COMPUTED.search(name) is None


def _order(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts uploads before downloads, and flow 2 before flow 10."""
    # The pattern splits the name so that the parts with an odd index are numbers. A number with
    # more than nine digits becomes several parts.
    parts = re.split(r"([0-9]{1,9})", name)
    order = [(0, int(part), "") if i % 2 else (1, 0, part) for i, part in enumerate(parts)]
    return [(0 if name.startswith("TCP upload") else 1, 0, ""), *order]


def _seconds(text: Any) -> float:
    """Convert a date of Flent's metadata to Unix time."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
