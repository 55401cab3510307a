"""Reads a stored run, and raises an error if it is damaged.

crates/record checks the sizes and hashes of files, and the columns and rows of tables. This module
checks the structure of the JSON, and converts tables to frames.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import _native
from tailback.base import foreign
from tailback.errors import DamagedResults, InputError
from tailback.metrics import completion
from tailback.store import shape

if TYPE_CHECKING:
    import polars as pl

MANIFEST, SUMMARY, TIMING = "manifest.json", "summary.json", "timing.json"
SERIES, HISTOGRAMS, PACKETS = "series.parquet", "histograms.parquet", "packets.pcapng"
ACCOUNT = "account.json"
FILES = frozenset((MANIFEST, SUMMARY, TIMING, SERIES, HISTOGRAMS, PACKETS, ACCOUNT))
"""The files that a run's folder may have, in addition to the folder of programs' files."""


class StoredRun:
    """The folder of a stored run.

    Every method raises `DamagedResults` if the folder is missing or changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = _native.RunFolder(path)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The description of the run: engine and version, seed, the canonical scenario, recorded
        flows and links."""
        found: dict[str, Any] = foreign.parse_json(
            self._folder.manifest.encode(), self.path / MANIFEST
        )
        return found

    @property
    def follows(self) -> Mapping[str, str]:
        """The documents that the run's algorithms follow, by algorithm."""
        # The compiled code has already checked that this entry contains only strings. See `_rows`
        # for why the manifest is parsed without further checks.
        try:
            found: Mapping[str, str] = json.loads(self._folder.manifest)["follows"]
        except ValueError:
            found = self.manifest["follows"]
        return found

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run's summary, as `--json` prints it, but without parameters."""
        return self._checked(self._folder.read(SUMMARY))

    def _checked(self, data: bytes) -> dict[str, Any]:
        summary: dict[str, Any]
        if shape.native_summary().fits(data):
            summary = json.loads(data)
        else:
            summary = self._json(data, SUMMARY, shape.SUMMARY)
        for key, own in (("run_id", self._folder.run_id), ("seed", self._folder.seed)):
            if summary[key] != own:
                raise DamagedResults(f"{self.path / SUMMARY}: {key} is not that of the run")
        if any(flow["completion_s"] is None for flow in summary["flows"]):
            completion.add(summary, self._transfers())
        return summary

    def _transfers(self) -> Mapping[str, float]:
        try:
            return _transfers(self._folder.canonical)
        except InputError:
            return completion.transfers(self.manifest["canonical"])

    def brief(self, most: int) -> tuple[dict[str, Any], int]:
        """Return the summary with at most this many flows, and the number of omitted flows.

        Parsing the summaries of a hundred thousand flows would take almost a gigabyte of memory.
        """
        data, left_out = self._folder.brief(most)
        return self._checked(data), left_out

    @property
    def timing(self) -> dict[str, Any]:
        """The run's wall and CPU time, the host, and the number of data packets."""
        return self._json(self._folder.timing, TIMING, shape.TIMING)

    def series(self) -> pl.DataFrame:
        """Return samples and events with the columns time_ns, flow, link, quantity, value."""
        return self.table(SERIES)

    def histograms(self) -> pl.DataFrame:
        """Return histogram buckets with the columns flow, link, quantity, lower, width, count."""
        return self.table(HISTOGRAMS)

    def packets(self) -> Path | None:
        """Check the packet capture and return its path, or None if no packets were recorded."""
        if not self._folder.has(PACKETS):
            return None
        self._folder.check(PACKETS)
        return self.path / PACKETS

    def has(self, name: str) -> bool:
        """Return whether the run folder contains this file."""
        return self._folder.has(name)

    def check(self) -> None:
        """Read every file of the run, and raise an error if any is damaged."""
        _ = self.summary, self.timing, self.packets()
        for name in (SERIES, HISTOGRAMS):
            self._folder.read(name)
        if self.has(ACCOUNT):
            self._folder.check(ACCOUNT)

    def _json(self, data: bytes, name: str, wanted: shape.Shape) -> dict[str, Any]:
        value: dict[str, Any] = foreign.parse_json(data, self.path / name)
        where = shape.fault(value, wanted)
        if where is not None:
            raise DamagedResults(f"{self.path / name}: {where} is not valid in this file of a run")
        return value

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raise an error if the file has changed since it was
        written."""
        return self._folder.read(name)

    def rows(self, name: str) -> int:
        """Return the number of rows of a table."""
        return self._rows[name]

    @cached_property
    def _rows(self) -> dict[str, int]:
        # The compiled code has already checked the manifest, including that it states the number of
        # rows of each table. Parsing the manifest without further checks takes half the time, which
        # matters in a report of thousands of runs.
        files = json.loads(self._folder.manifest)["files"]
        return {name: entry["rows"] for name, entry in files.items() if "rows" in entry}

    def table(self, name: str) -> pl.DataFrame:
        """Read a table of the run: `SERIES` or `HISTOGRAMS`."""
        import polars as pl

        data = self.read(name)
        try:
            return pl.read_parquet(io.BytesIO(data))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            line = str(error).partition("\n")[0]
            raise DamagedResults(f"{self.path / name}: cannot be read ({line})") from None


@lru_cache(maxsize=16)
def _transfers(canonical: str) -> Mapping[str, float]:
    """Return the latest possible start (in seconds) of each transfer of a canonical scenario, by
    flow.

    All seeds of a sweep point have the same scenario, so the result is cached.
    """
    return completion.transfers(foreign.parse_json(canonical.encode(), Path(MANIFEST)))
