"""Reads a stored run. It returns the unchanged content, or raises an error that describes the
damage.

crates/record checks sizes, hashes, and columns and rows of tables. This module checks the shape of
JSON and makes frames of tables.
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
    """The folder of a run.

    Every method raises `DamagedResults` if the folder is missing or has changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = _native.RunFolder(path)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The identity of the run: engine and version, seed, the canonical point, recorded flows
        and links."""
        found: dict[str, Any] = foreign.parse_json(
            self._folder.manifest.encode(), self.path / MANIFEST
        )
        return found

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The object that `--json` prints for a point, without the point's parameters."""
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

        The summary of a hundred thousand flows would need almost a gigabyte of memory.
        """
        data, left_out = self._folder.brief(most)
        return self._checked(data), left_out

    @property
    def timing(self) -> dict[str, Any]:
        """Wall and CPU time of the simulation, the host, and the number of data packets."""
        return self._json(self._folder.timing, TIMING, shape.TIMING)

    def series(self) -> pl.DataFrame:
        """Return samples and events with the columns time_ns, flow, link, quantity, value."""
        return self.table(SERIES)

    def histograms(self) -> pl.DataFrame:
        """Return buckets with the columns flow, link, quantity, lower, width, count."""
        return self.table(HISTOGRAMS)

    def packets(self) -> Path | None:
        """Return the path of the packet capture after checking it, or None if no packets were
        recorded."""
        if not self._folder.has(PACKETS):
            return None
        self._folder.check(PACKETS)
        return self.path / PACKETS

    def has(self, name: str) -> bool:
        """Return whether the run has a file with this name."""
        return self._folder.has(name)

    def check(self) -> None:
        """Read and check every file of the run."""
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
        """Return the bytes of a file. Raise an error if they have changed."""
        return self._folder.read(name)

    def rows(self, name: str) -> int:
        """Return the number of rows of a table."""
        found: int = self.manifest["files"][name]["rows"]
        return found

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
    """Read the starts of transfers from the JSON of a point. The result is cached, because all
    seeds have the same point."""
    return completion.transfers(foreign.parse_json(canonical.encode(), Path(MANIFEST)))
