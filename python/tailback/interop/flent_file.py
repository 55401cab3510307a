"""Flent's data files: gzip-compressed JSON, and what has to be in it."""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from tailback.errors import InputError

SUFFIX = ".flent.gz"

VERSION = 4
"""Of the format, as Flent 2 writes it."""

REQUIRED = ("NAME", "TITLE", "HOST", "LOCAL_HOST", "LENGTH", "STEP_SIZE")
"""Metadata that every file of Flent's has."""

_NUMBERS = ("LENGTH", "STEP_SIZE")

_COMPUTED = re.compile(r"\b(avg|sum|fairness|totals)$")
"""Series that Flent computes from others."""


@dataclass(frozen=True)
class Sample:
    """Payload of a flow over a time."""

    begin: float
    """Seconds; of the same clock as `end`."""
    end: float
    mbit: float
    """Mbit/s."""


@dataclass(frozen=True)
class DataFile:
    """A data file that has been read and found whole."""

    path: Path
    metadata: Mapping[str, Any]
    raw: Mapping[str, Sequence[Mapping[str, Any]]]
    size: int
    """Bytes of the file."""

    @property
    def test(self) -> str:
        """Name of Flent's test."""
        return str(self.metadata["NAME"])

    @property
    def title(self) -> str:
        """What its author called it."""
        return str(self.metadata["TITLE"] or "")

    @property
    def step(self) -> float:
        """Distance of samples, seconds."""
        return float(self.metadata["STEP_SIZE"])

    @cached_property
    def flows(self) -> list[str]:
        """Names of the series that have the throughput of a TCP flow, uploads first."""
        names = [name for name, rows in self.raw.items() if _is_flow(name, rows)]
        return sorted(names, key=_order)

    def throughput(self, flow: str) -> list[Sample]:
        """The samples of a flow, in order of time.

        A sample without a duration reaches back to the one before it.
        """
        samples: list[Sample] = []
        for row in self.raw[flow]:
            value = row.get("val")
            if not _is_number(value):
                continue
            end = float(row["t"])
            begin = samples[-1].end if samples else end - self.step
            if _is_number(lasted := row.get("dur")):
                begin = end - lasted
            if end > begin:
                samples.append(Sample(begin, end, float(value)))
        return samples

    def statistic(self, flow: str, key: str) -> list[tuple[float, float]]:
        """Times and values of a socket statistic: `tcp_rtt` in ms, `tcp_cwnd` in segments."""
        return [
            (float(row["t"]), float(row[key])) for row in self.raw[flow] if _is_number(row.get(key))
        ]

    @property
    def origin(self) -> float:
        """When the load began: with the first flow's first sample.

        In a file that tailback wrote it is the start of the run.
        """
        if "TAILBACK" in self.metadata:
            return _seconds(self.metadata["T0"])
        return min(samples[0].begin for flow in self.flows if (samples := self.throughput(flow)))


def is_named_so(path: Path) -> bool:
    """Whether a path is that of a data file, by its ending."""
    return path.name.endswith(SUFFIX)


def read_all(paths: Sequence[Path]) -> list[DataFile]:
    """Reads data files; says what is wrong with any of them at once."""
    files: list[DataFile] = []
    problems: list[str] = []
    for path in paths:
        try:
            files.append(read(path))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return files


def read(path: Path) -> DataFile:
    """Reads a data file; `InputError` has a line for each thing that is wrong with it."""
    data, size = _json(path)
    problems = _problems(data)
    if not problems:
        file = DataFile(path, data["metadata"], data["raw_values"], size)
        if not file.flows:
            has = ", ".join(list(file.raw)[:5]) or "none"
            problems = [
                "no throughput of a TCP flow in raw_values; expected series like "
                f'"TCP upload", "TCP upload::1" or "TCP download BE::1" with samples "t" and '
                f'"val", found {has}'
            ]
        else:
            return file
    raise InputError("\n".join(f"{path}: {problem}" for problem in problems))


def _json(path: Path) -> tuple[Any, int]:
    """What is in a file, and its size."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a data file of Flent ({SUFFIX})")
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not packed:
        raise InputError(f"{path}: empty; expected a data file of Flent, gzip-compressed JSON")
    try:
        text = gzip.decompress(packed)
    except EOFError:
        raise InputError(
            f"{path}: truncated, the gzip data ends too early; expected a whole data file of Flent"
        ) from None
    except gzip.BadGzipFile as error:
        what = "damaged" if packed[:2] == b"\x1f\x8b" else "not gzip data"
        raise InputError(
            f"{path}: {what} ({error}); expected a data file of Flent, gzip-compressed JSON"
        ) from None
    except zlib.error as error:
        raise InputError(
            f"{path}: damaged ({error}); expected a data file of Flent, gzip-compressed JSON"
        ) from None
    try:
        return json.loads(text), len(packed)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        where = (
            f" at line {error.lineno}, column {error.colno}: {error.msg}"
            if isinstance(error, json.JSONDecodeError)
            else ""
        )
        raise InputError(
            f"{path}: not JSON{where}; expected a data file of Flent, gzip-compressed JSON"
        ) from None


def _problems(data: Any) -> list[str]:
    """What keeps this from being a data file, all of it."""
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
    found = data.get("version")
    version = int(found) if isinstance(found, str) and found.isdigit() else found
    if version == VERSION and not isinstance(version, bool | float):
        return None
    if not isinstance(version, int) or isinstance(version, bool):
        # Files of the first version did not say it.
        said = "no format version" if found is None else f"format version {found!r}"
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
    """Metadata that is there and is not what it should be."""
    problems = []
    if "NAME" in metadata and not (isinstance(metadata["NAME"], str) and metadata["NAME"]):
        problems.append(_expected("metadata NAME", metadata["NAME"], "the name of a test"))
    for key in _NUMBERS:
        if key in metadata and not (_is_number(metadata[key]) and metadata[key] > 0):
            problems.append(_expected(f"metadata {key}", metadata[key], "seconds above 0"))
    if "TAILBACK" in metadata:
        try:
            _seconds(metadata.get("T0"))
        except (TypeError, ValueError):
            problems.append(
                _expected("metadata T0", metadata.get("T0"), 'a time like "1970-01-01T00:00:00.0Z"')
            )
    return problems


def _wrong_series(raw: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, rows in raw.items():
        if not isinstance(rows, list):
            problems.append(_expected(f'raw_values "{name}"', rows, "a list of samples"))
            continue
        for i, row in enumerate(rows):
            if not isinstance(row, dict) or not _is_number(row.get("t")):
                problems.append(
                    f'raw_values "{name}"[{i}] is not a sample; expected an object with "t", '
                    "seconds"
                )
                break
    return problems


def _expected(what: str, found: object, expected: str) -> str:
    if found is None:
        return f"{what} is missing; expected {expected}"
    shown = f" {found!r}" if isinstance(found, str | int | float) else f" a JSON {_kind(found)}"
    return f"{what} is{shown}; expected {expected}"


def _kind(value: object) -> str:
    kinds: dict[type, str] = {list: "array", dict: "object", str: "string", bool: "boolean"}
    return "null" if value is None else kinds.get(type(value), "number")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_flow(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    return (
        re.match(r"TCP (upload|download)\b", name) is not None
        and _COMPUTED.search(name) is None
        and any(_is_number(row.get("val")) for row in rows)
    )


def _order(name: str) -> list[tuple[int, int, str]]:
    """Uploads before downloads, 2 before 10."""
    parts = re.split(r"(\d+)", name)
    order = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
    return [(0 if name.startswith("TCP upload") else 1, 0, ""), *order]


def _seconds(text: Any) -> float:
    """A time of Flent's as Unix time."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
