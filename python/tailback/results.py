"""What a sweep gave: runs, and frames of their summaries."""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import engines, store
from tailback.errors import DamagedResults, InputError, VersionWarning
from tailback.metrics import gain
from tailback.metrics.naming import flat
from tailback.numbers import short
from tailback.stored import StoredRun

if TYPE_CHECKING:
    import polars as pl

    from tailback.assertions import Assertion


@dataclass(frozen=True)
class Run:
    """One run: a point of a sweep with one seed."""

    params: dict[str, float | str]
    #: The same values as the scenario file has them, e.g. "10Mbit".
    labels: dict[str, str]
    seed: int
    run_id: str
    path: Path
    #: The run of the sweep over which gains are, by its id.
    baseline: str | None = field(default=None, kw_only=True)

    @cached_property
    def stored(self) -> StoredRun:
        """Its folder; what is not as it was written raises `DamagedResults` when it is read."""
        return StoredRun(self.path)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The object that `--json` prints for this point."""
        summary = self.stored.summary
        if summary["seed"] != self.seed:
            raise DamagedResults(f"{self.path}: not the seed that the sweep has here")
        if self.baseline is not None:
            gain.add(summary, self.path.parent / self.baseline)
        return {"params": self.params, **summary}

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Identity: engine and version, seed, the canonical point, what is followed."""
        return self.stored.manifest

    @property
    def timing(self) -> dict[str, Any]:
        """Wall and CPU time of the simulation, host, data packets."""
        return self.stored.timing

    def series(self) -> pl.DataFrame:
        """Samples and events: time_ns, flow, link, quantity, value."""
        return self.stored.series()

    def histogram(
        self, quantity: str = "delay_ns", *, flow: str | None = None, link: str | None = None
    ) -> pl.DataFrame:
        """Buckets of a quantity: lower, width, count.

        `delay_ns` belongs to a link (default: the first), `delay_ns.CLASS` to the link of a class,
        `rtt_ns` to a flow (default: the first).
        """
        import polars as pl

        frame = self.stored.histograms()
        if flow is None and link is None:
            if quantity == "delay_ns":
                link = next(iter(self.summary["queues"]), None)
            elif quantity.startswith("delay_ns."):
                name = quantity.removeprefix("delay_ns.")
                classes = self.summary.get("classes", ())
                link = next((c["link"] for c in classes if c["name"] == name), None)
            else:
                flow = next((f["name"] for f in self.summary["flows"]), None)
        return frame.filter(
            pl.col("quantity") == quantity,
            pl.col("flow").eq_missing(pl.lit(flow)),
            pl.col("link").eq_missing(pl.lit(link)),
        ).select("lower", "width", "count")


@dataclass(frozen=True)
class Results:
    """Results of one scenario; `points` in the order of its sweep."""

    id: str
    title: str
    engine: str
    version: str
    axes: list[list[str]]
    points: list[Run]
    root: Path
    asserts: list[Assertion] = field(default_factory=list)
    #: What is allowed but unusual in the scenario.
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, index: store.Index, root: Path, asserts: Sequence[Assertion] = ()) -> Results:
        """The runs of a sweep that are stored in a folder."""
        return cls(
            id=index.id,
            title=index.title,
            engine=index.engine,
            version=index.engine_version,
            axes=index.axes,
            root=root,
            asserts=list(asserts),
            warnings=index.warnings,
            points=[
                Run(p.params, p.labels, p.seed, p.run_id, path, baseline=p.baseline)
                for p in index.points
                if os.path.lexists(path := store.run_path(root, p.run_id))
            ],
        )

    def require_whole(self) -> None:
        """Reads the summary of every run; raises `DamagedResults` with everything that is wrong."""
        wrong: dict[str, None] = {}
        for run in self.points:
            try:
                _ = run.summary
            except DamagedResults as damage:
                wrong[str(damage)] = None
        if wrong:
            raise DamagedResults("\n".join(wrong))

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.points)

    def __getitem__(self, index: int) -> Run:
        return self.points[index]

    def to_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "engine": self.engine,
            "version": self.version,
            "points": [run.summary for run in self.points],
        }

    def groups(self) -> list[list[Run]]:
        """The runs of each point, its seeds together."""
        groups: dict[tuple[tuple[str, float | str], ...], list[Run]] = {}
        for run in self.points:
            groups.setdefault(tuple(run.params.items()), []).append(run)
        return list(groups.values())

    def frame(self) -> pl.DataFrame:
        """One row for each run and flow: parameters, seed, run_id, and the flow's summary.

        Columns are called as `tailback list metrics` does; counts by cause stay in the JSON.
        """
        return _frame(self, lambda summary: summary["flows"], "flow")

    def queues(self) -> pl.DataFrame:
        """One row for each run and link: parameters, seed, run_id, and the link's summary."""
        return _frame(self, lambda summary: summary["queues"].values(), "link")

    def classes(self) -> pl.DataFrame:
        """One row for each run and class of flows: parameters, seed, run_id, its summary."""
        return _frame(self, lambda summary: summary.get("classes", ()), "class")

    def series(self, run: Run | int) -> pl.DataFrame:
        """Samples and events of a run: time_ns, flow, link, quantity, value."""
        return self._run(run).series()

    def histogram(
        self,
        run: Run | int,
        quantity: str = "delay_ns",
        *,
        flow: str | None = None,
        link: str | None = None,
    ) -> pl.DataFrame:
        """Buckets of a quantity of a run; see `Run.histogram`."""
        return self._run(run).histogram(quantity, flow=flow, link=link)

    def failed_assertions(self) -> list[str]:
        """What the scenario's `[[assert]]` tables found wanting; empty when all hold."""
        return [
            message
            for run in self.points
            for assertion in self.asserts
            for message in assertion.failures(run.summary)
        ]

    def _run(self, run: Run | int) -> Run:
        return self.points[run] if isinstance(run, int) else run

    def __repr__(self) -> str:
        points = len(self.groups())
        return f"<Results {self.title or self.id!r}: {points} points, {len(self)} runs>"

    def _repr_html_(self) -> str:
        """For notebooks: the flows of every run, cut after 50 rows."""
        rows = _rows(self, lambda summary: summary["flows"], "flow")
        columns = _columns(rows)
        cells = "".join(
            "<tr>" + "".join(f"<td>{_cell(row.get(c))}</td>" for c in columns) + "</tr>"
            for row in rows[:50]
        )
        head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
        more = f"<p>… and {len(rows) - 50} more rows</p>" if len(rows) > 50 else ""
        caption = html.escape(self.title or self.id)
        note = html.escape(f"engine {self.engine} {self.version}")
        return (
            f"<table><caption>{caption} ({note})</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>{more}"
        )


def open_results(path: Path | str) -> Results:
    """The results stored in a folder: its latest sweep, or the sweep whose folder it is."""
    path = Path(path)
    if os.path.lexists(path / store.INDEX):
        index = store.read_index(path / store.INDEX)
        _say_version(path, index)
        return Results.of(index, _root_of(path, "sweeps"))
    found = store.sweeps(path)
    if not found:
        raise InputError(f"{path}: no results; expected a folder that holds sweeps/")
    index = store.read_index(found[0])
    _say_version(found[0].parent, index)
    return Results.of(index, path)


def _say_version(path: Path, index: store.Index) -> None:
    """What another version of the engine has made is not taken for what this one would."""
    if here := engines.unlike(index.engine, index.engine_version):
        warnings.warn(
            f"{path}: run with {index.engine} {index.engine_version}, and this is {here}",
            VersionWarning,
            stacklevel=3,
        )


def _root_of(folder: Path, kind: str) -> Path:
    """The folder of results that a sweep or run is in, by where it lies and not by a link."""
    place = Path(os.path.abspath(folder))
    if place.parent.name != kind:
        raise InputError(f"{folder}: not in a folder of results; expected results/{kind}/ID")
    return place.parent.parent


def open_run(path: Path | str) -> Results:
    """A single stored run, by its folder `results/runs/ID`, with the title of a sweep it is of."""
    path = Path(path)
    root = _root_of(path, "runs")
    manifest = StoredRun(path).manifest
    run_id = manifest["run_id"]
    index, point = store.sweep_of(root, run_id) or (None, None)
    run = Run({}, {}, manifest["seed"], run_id, path)
    title = index.title if index else ""
    if index and point:
        # What tells it from the other points of its sweep.
        title = ", ".join([title, *(f"{key} = {value}" for key, value in point.labels.items())])
    return Results(
        id=run_id,
        title=title,
        engine=manifest["engine"],
        version=manifest["engine_version"],
        axes=[],
        points=[run],
        root=root,
    )


def _rows(results: Results, parts: Any, name: str) -> list[dict[str, Any]]:
    rows = []
    for run in results.points:
        for part in parts(run.summary):
            row: dict[str, Any] = {**run.params, "seed": run.seed, "run_id": run.run_id}
            row[name] = part["name"]
            row.update(flat({k: v for k, v in part.items() if k not in ("name", "causes")}))
            rows.append(row)
    return rows


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _frame(results: Results, parts: Any, name: str) -> pl.DataFrame:
    import polars as pl

    rows = _rows(results, parts, name)
    # By column, with None where a row lacks it; inferring from every row,
    # since a column may be null for long before its first number.
    data = {column: [row.get(column) for row in rows] for column in _columns(rows)}
    return pl.DataFrame(data, strict=False, infer_schema_length=None)


def _cell(value: float | str | None) -> str:
    return html.escape(short(value))
