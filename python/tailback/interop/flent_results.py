"""Presents Flent's data files as results, to compare them with runs of tailback.

Each file counts as one run. The files of a folder count as repetitions of one test. A flow's
throughput is the mean of its samples, weighted by their durations. A flow's srtt is the mean of the
samples of `tcp_rtt`, which are values of the sender's smoothed RTT from `ss`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.errors import InputErrors
from tailback.interop import foreign
from tailback.interop.flent_file import SUFFIX, DataFile, is_named_so, read_all
from tailback.metrics.jain import jain
from tailback.store.results import Results, Run

if TYPE_CHECKING:
    import polars as pl

ENGINE = "flent"
"""The engine name of these results."""

#: Flent's socket statistic, the quantity of a run that corresponds to it, and the factor that
#: converts its unit.
_STATISTICS = (("tcp_cwnd", "cwnd", 1.0), ("tcp_rtt", "srtt_ns", 1e6))


@dataclass(frozen=True)
class FlentRun(foreign.ForeignRun):
    """A data file as a run. Values that the file does not contain are missing."""

    file: DataFile
    warmup_s: float
    """The time to leave out after the load begins, in seconds. This time equals the warm-up of the
    compared runs.
    """

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The fields of a run's summary that can be computed from the file."""
        flows = [self._flow(name) for name in self.file.flows]
        rates = [flow["throughput_mbit"] for flow in flows]
        return {
            "params": self.params,
            "seed": self.seed,
            "run_id": self.run_id,
            "duration_s": self.warmup_s + self._measured(),
            "warmup_s": self.warmup_s,
            "flows": flows,
            "queues": {},
            "traffic": [],
            "jain": jain([rate for rate in rates if rate is not None]),
        }

    def _flow(self, name: str) -> dict[str, Any]:
        since = self.file.origin + self.warmup_s
        # Rounding may put a sample slightly before the end of the warm-up, so tolerate a hundredth
        # of the time between samples.
        samples = [s for s in self.file.throughput(name) if s.begin >= since - self.file.step / 100]
        time = sum(s.end - s.begin for s in samples)
        rtts = [rtt for at, rtt in self.file.statistic(name, "tcp_rtt") if at >= since]
        return {
            "name": name,
            "throughput_mbit": (
                sum(s.mbit * (s.end - s.begin) for s in samples) / time if time else None
            ),
            "srtt_ms_mean": sum(rtts) / len(rtts) if rtts else None,
        }

    def _measured(self) -> float:
        """The time (in seconds) from the end of the warm-up to the last sample."""
        ends = [self.file.throughput(flow)[-1].end for flow in self.file.flows]
        return float(max(0.0, round(max(ends) - self.file.origin - self.warmup_s, 3)))

    def series(self) -> pl.DataFrame:
        """Return the socket statistics as samples: time_ns, flow, link, quantity, value."""
        origin = self.file.origin
        rows = [
            (round((at - origin) * 1e9), flow, None, quantity, value * factor)
            for flow in self.file.flows
            for key, quantity, factor in _STATISTICS
            for at, value in self.file.statistic(flow, key)
            if at >= origin
        ]
        return foreign.series(rows)


@dataclass(frozen=True)
class FlentSource:
    """One Flent data file, or all files of a folder."""

    path: Path
    files: list[DataFile]

    def results(
        self,
        root: Path,
        params: dict[str, float | str],
        labels: dict[str, str],
        warmup_s: float,
    ) -> Results:
        """Return the results, with each file as a run."""
        points: list[Run] = [
            FlentRun(params, labels, i, file.path.name, file.path, file, warmup_s)
            for i, file in enumerate(self.files)
        ]
        bytes_ = hashlib.sha256()
        for file in self.files:
            bytes_.update(bytes.fromhex(file.sha256))
        versions = dict.fromkeys(str(f.metadata.get("FLENT_VERSION") or "?") for f in self.files)
        titles = dict.fromkeys(file.title for file in self.files)
        title = next(iter(titles)) if len(titles) == 1 else ""
        return Results(
            id=f"{self.path.name.removesuffix(SUFFIX)}-{bytes_.hexdigest()[:8]}",
            title=title or self.path.name.removesuffix(SUFFIX),
            engine=ENGINE,
            version=", ".join(versions),
            axes=[],
            points=points,
            root=root,
        )


def is_source(path: Path) -> bool:
    """Return whether a path is a Flent data file, or a folder with such files and without results
    of tailback."""
    if path.is_dir():
        ours = any((path / name).exists() for name in ("index.json", "manifest.json", "sweeps"))
        return not ours and any(map(is_named_so, path.iterdir()))
    return is_named_so(path)


def read_sources(paths: Sequence[Path]) -> list[FlentSource]:
    """Read data files and folders of data files, and report all errors together."""
    groups = [
        sorted(file for file in path.iterdir() if is_named_so(file)) if path.is_dir() else [path]
        for path in paths
    ]
    every = [file for group in groups for file in group]
    files = dict(zip(every, read_all(every), strict=True))
    sources = [
        FlentSource(path, [files[file] for file in group])
        for path, group in zip(paths, groups, strict=True)
    ]
    problems = [problem for source in sources for problem in _strangers(source)]
    if problems:
        raise InputErrors(*problems)
    return sources


def _strangers(source: FlentSource) -> list[str]:
    """Return an error for each file whose test or flows differ from the test and flows of the
    folder's first file."""
    first = source.files[0]
    return [
        f"{file.path}: {file.test} with {', '.join(file.flows)}; expected {first.test} with "
        f"{', '.join(first.flows)} as in {first.path.name}: the files of a folder are replicates "
        "of one set-up"
        for file in source.files[1:]
        if (file.test, file.flows) != (first.test, first.flows)
    ]
