"""Exports a run as two CSV files, one with its series and one with its summary."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.errors import InputError
from tailback.metrics.naming import flat
from tailback.store import layout
from tailback.store.run_folder import StoredRun


@dataclass(frozen=True)
class Csv:
    """Format `csv`. The series has one row for each value (time_s, flow, link, quantity, value)."""

    suffix: str = ".csv"

    def export(self, run: Path, out: Path, interfaces: Sequence[str]) -> list[Path]:
        """Write the series to `out` and the summary to NAME.summary.csv."""
        if interfaces:
            raise InputError("--interface: only for --format pcapng; remove it")
        import polars as pl

        # Write the whole seconds, then the digits of the fraction. A division would give
        # 0.30000000000000004 for 300 ms.
        whole = (pl.col("time_ns") // 10**9).cast(pl.String)
        part = (pl.col("time_ns") % 10**9).cast(pl.String).str.zfill(9)
        time_s = pl.concat_str(whole, part, separator=".").alias("time_s")
        stored = StoredRun(run)
        summary = stored.summary
        series = stored.series().select(time_s, "flow", "link", "quantity", "value")
        beside = out.with_name(f"{out.stem}.summary{out.suffix}")
        with layout.replacing(out) as first, layout.replacing(beside) as second:
            series.write_csv(first)
            with second.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(("kind", "name", "quantity", "value"))
                writer.writerows(_rows(summary))
        return [out, beside]


FORMAT = Csv()

Row = tuple[str, str, str, object]


def _plain(program: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a program's summary without its 5-tuples, which are nested tables."""
    return {key: value for key, value in program.items() if key != "tuples"}


def _rows(summary: Mapping[str, Any]) -> Iterator[Row]:
    parts = [("flow", part["name"], part) for part in summary["flows"]]
    parts += [("link", name, part) for name, part in summary["queues"].items()]
    parts += [("traffic", part["name"], part) for part in summary["traffic"]]
    parts += [("program", part["name"], _plain(part)) for part in summary.get("programs", ())]
    parts += [("class", part["name"], part) for part in summary.get("classes", ())]
    for kind, name, part in parts:
        for quantity, value in flat(part).items():
            if quantity != "name":
                yield kind, name, quantity, value
    for quantity, value in summary.items():
        if not isinstance(value, Mapping | list):
            yield "run", "", quantity, value
