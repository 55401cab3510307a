"""Reads the results of a sweep: its runs, and frames of their summaries."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback import registry
from tailback.base import names
from tailback.base.numbers import short
from tailback.base.python_words import python_words
from tailback.errors import DamagedResults, InputError, VersionWarning
from tailback.metrics import completion, gain, harm, parts, series
from tailback.metrics.naming import flat
from tailback.store import agreement, frames, layout, points
from tailback.store.run_folder import StoredRun

if TYPE_CHECKING:
    import polars as pl

    from tailback.evaluate.model import Evaluation
    from tailback.explain import Explanation
    from tailback.figures.theme import Chart
    from tailback.metrics.assertions import Assertion, BoundVerdict

FEW_FLOWS = 60
"""The largest number of flows of a run in a short view."""


OF_SOURCES = (
    *("one_way_delay_ns", "echo_delay_ns", "frame_delay_ns"),
    *("page_load_ns", "foreign_ns", "loaded_ns"),
)
"""The distributions that only sources of traffic have."""


@dataclass(frozen=True)
class Run:
    """One run of a sweep, at one sweep point and with one seed."""

    params: dict[str, float | str]
    #: The values of `params` as written in the scenario file, e.g. "10Mbit".
    labels: dict[str, str]
    seed: int
    run_id: str
    path: Path
    #: Id of the run with the standard backoff (`beta_ecn` = `beta`), relative to which gains are
    #: computed.
    baseline: str | None = field(default=None, kw_only=True)
    #: The sweep's runs by id. A run looks up its baseline run here, so that each baseline run is
    #: read only once.
    beside: Mapping[str, Run] = field(default_factory=dict, kw_only=True, repr=False, compare=False)
    #: Ids of the runs without a competitor, by the competitor's name. Computing harm needs these
    #: runs.
    without: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    @cached_property
    def stored(self) -> StoredRun:
        """The run's folder. Reading a damaged file of the folder raises `DamagedResults`."""
        return StoredRun(self.path)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run's summary, as `--json` prints it."""
        summary = self.stored.summary
        self._check_seed(summary)
        # Gains can be computed only if the baseline run is stored.
        if self.baseline is not None and (other := self._other(self.baseline)) is not None:
            gain.add(summary, other.summary)
        for competitor, run_id in self.without.items():
            if (alone := self._other(run_id)) is not None:
                harm.add(summary, competitor, alone.summary)
        return {"params": self.params, **summary}

    def _other(self, run_id: str) -> StoredRun | None:
        if run_id in self.beside:
            return self.beside[run_id].stored
        path = self.path.parent / run_id
        return StoredRun(path) if os.path.lexists(path) else None

    @cached_property
    def brief(self) -> tuple[dict[str, Any], int]:
        """Return a summary with at most `FEW_FLOWS` flows. The summary may lack gains.

        Also return the number of omitted flows.
        """
        known = "summary" in self.__dict__ or self.without
        if known and len(self.summary["flows"]) <= FEW_FLOWS:
            return self.summary, 0
        summary, left_out = self.stored.brief(FEW_FLOWS)
        self._check_seed(summary)
        return {"params": self.params, **summary}, left_out

    def _check_seed(self, summary: Mapping[str, Any]) -> None:
        if summary["seed"] != self.seed:
            raise DamagedResults(f"{self.path}: not the seed that the sweep has here")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The description of the run: engine and version, seed, the canonical scenario, recorded
        flows and links."""
        return self.stored.manifest

    @property
    def timing(self) -> dict[str, Any]:
        """The run's wall time, CPU time, host and number of data packets."""
        return self.stored.timing

    def series(self) -> pl.DataFrame:
        """Return samples and events with the columns time_ns, flow, link, quantity, value."""
        return self.stored.series()

    def histogram(
        self, quantity: str = "delay_ns", *, flow: str | None = None, link: str | None = None
    ) -> pl.DataFrame:
        """Return a histogram, with the columns lower, width, count.

        `delay_ns` belongs to a link or a program (default: the first link). `delay_ns.CLASS`
        belongs to the link of that class. `rtt_ns` belongs to a flow, a program or a `ping`
        (default: the first flow). `one_way_delay_ns`, `echo_delay_ns`, `frame_delay_ns`,
        `page_load_ns`, `foreign_ns` and `loaded_ns` belong to a source of traffic (default: the
        first).
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
            elif quantity in OF_SOURCES:
                flow = next((s["name"] for s in self.summary["traffic"]), None)
            else:
                flow = next((f["name"] for f in parts.flows(self.summary)), None)
        return frame.filter(
            pl.col("quantity") == quantity,
            pl.col("flow").eq_missing(pl.lit(flow)),
            pl.col("link").eq_missing(pl.lit(link)),
        ).select("lower", "width", "count")


@dataclass(frozen=True)
class Results:
    """The results of a scenario and its sweep. `points` lists the runs in the order of the
    sweep."""

    id: str
    title: str
    engine: str
    version: str
    axes: list[list[str]]
    points: list[Run]
    root: Path
    asserts: list[Assertion] = field(default_factory=list)
    #: Warnings about allowed but unusual settings of the scenario.
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, index: layout.Index, root: Path, asserts: Sequence[Assertion] = ()) -> Results:
        """Open the runs that a sweep's index names."""
        beside: dict[str, Run] = {}
        # Earlier versions may have stored a sweep point twice, as 20ms and as 0.02s, so keep only
        # the first entry.
        planned: dict[tuple[points.Key, int], layout.PointRef] = {}
        for point in index.points:
            planned.setdefault((points.point_key(point), point.seed), point)
        stored = set(layout.stored(root, (point.run_id for point in planned.values())))
        folder = layout.run_path(root, "")
        runs = [
            Run(
                *(p.params, p.labels, p.seed, p.run_id, folder / p.run_id),
                baseline=p.baseline,
                beside=beside,
                without=p.without,
            )
            for p in planned.values()
            if p.run_id in stored
        ]
        beside.update((run.run_id, run) for run in runs)
        return cls(
            id=index.id,
            title=index.title,
            engine=index.engine,
            version=index.engine_version,
            axes=index.axes,
            root=root,
            asserts=list(asserts),
            warnings=index.warnings,
            points=runs,
        )

    def require_whole(self) -> None:
        """Read the summaries of all runs. Raise one `DamagedResults` with all errors."""
        wrong: dict[str, None] = {}
        unread = [run for run in self.points if "stored" not in vars(run)]
        try:
            for run, stored in zip(unread, frames.opened([r.path for r in unread]), strict=True):
                # Fill the cached property `stored` here, because opening many folders together is
                # faster.
                vars(run)["stored"] = stored
        except DamagedResults:
            # Ignore this damaged run, because the loop below finds all damaged runs.
            pass
        for run in self.points:
            try:
                _ = run.summary
            except DamagedResults as damage:
                wrong[str(damage)] = None
        if wrong:
            raise DamagedResults(*wrong)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.points)

    def __getitem__(self, index: int) -> Run:
        return self.points[index]

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "engine": self.engine,
            "version": self.version,
            "points": [run.summary for run in self.points],
            "assertions": [verdict.to_dict() for verdict in self.verdicts()],
        }

    def groups(self) -> list[list[Run]]:
        """Return the runs grouped by sweep point. A group contains one run for each seed."""
        groups: dict[points.Key, list[Run]] = {}
        for run in self.points:
            groups.setdefault(points.point_key(run), []).append(run)
        return list(groups.values())

    def frame(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a frame with a row for each run and flow: parameters, seed, run_id, and the flow's
        summary.

        Columns have the names of `tailback list metrics`. Only the JSON contains the counts of
        drops and marks by cause. Columns of swept times have the type `Duration`. `columns` selects
        some of the columns.
        """
        import polars as pl

        known = {**frames.columns("flows"), completion.UNFINISHED: pl.Float64}
        whole = _frame(self, lambda summary: summary["flows"], "flow", known)
        if columns is None:
            return whole
        for column in columns:
            if column not in whole.columns:
                raise InputError(names.unknown("column", column, whole.columns))
        return whole.select(columns)

    def queues(self) -> pl.DataFrame:
        """Return a frame with a row for each run and link: parameters, seed, run_id, and the link's
        summary."""
        return _frame(
            self, lambda summary: summary["queues"].values(), "link", frames.columns("queues")
        )

    def classes(self) -> pl.DataFrame:
        """Return a frame with a row for each run and class of flows: parameters, seed, run_id, and
        the class's summary."""
        return _frame(
            self, lambda summary: summary.get("classes", ()), "class", frames.columns("classes")
        )

    def sources(self) -> pl.DataFrame:
        """Return a frame with a row for each run and source of traffic: parameters, seed, run_id,
        and the source's summary.

        See `completions` for the completion times of requests.
        """
        return _frame(self, _sources, "source", frames.columns("traffic"))

    def programs(self) -> pl.DataFrame:
        """Return a frame with a row for each run and program: parameters, seed, run_id, and the
        program's summary.

        Numbers that the program wrote to files are in columns `results_NAME`.
        """
        return _frame(self, _programs, "program", frames.columns("programs"))

    def tuples(self) -> pl.DataFrame:
        """Return a frame with a row for each run, program and 5-tuple.

        Its columns are the parameters, seed, run_id, protocol, sender, receiver, and the same
        measures as in `programs`.
        """
        return _frame(self, _tuples, "program", frames.columns("programs", "tuples"))

    def completions(self) -> pl.DataFrame:
        """Return a frame with a row for each run, source of requests and bin of request sizes.

        Its columns are the parameters, seed, run_id, upto_bytes, n, and statistics of the
        completion time of the requests.
        """
        return _frame(self, _bins, "source", frames.columns("traffic", "completions", "bins"))

    def series(
        self,
        run: Run | int | None = None,
        quantity: str | Sequence[str] | None = None,
        *,
        flow: str | None = None,
        link: str | None = None,
    ) -> pl.DataFrame:
        """Return samples and events, with the columns time_ns, flow, link, quantity, value.

        Without `run`, return the samples and events of all runs, with their parameters, seed and
        run_id as first columns. `quantity`, `flow` and `link` select the rows to return. The flow
        `cubic` also selects cubic/1 and cubic/2.
        """
        if run is not None:
            one = self._run(run).series()
            self._refuse_unknown(one, quantity)
            self._refuse_unknown_part(one, flow, link)
            return frames.only(one, quantity, flow, link)
        whole = frames.series([point.stored for point in self.points])
        self._refuse_unknown(whole, quantity)
        self._refuse_unknown_part(whole, flow, link)
        return self._keyed(frames.only(whole, quantity, flow, link))

    def series_statistics(
        self,
        quantity: str | Sequence[str] | None = None,
        *,
        flow: str | None = None,
        link: str | None = None,
    ) -> pl.DataFrame:
        """Return a frame with time-weighted means and percentiles of recorded series over the
        measured time. The columns are the parameters, seed, run_id, flow, link, quantity, n (number
        of samples), mean, p1, p25, p50, p75, p99, min, max.

        A sample is valid until the next sample. The unweighted mean of the rows of `series()` is
        different, because rows are denser while a window changes.
        """
        import polars as pl

        every = frames.series([point.stored for point in self.points])
        self._refuse_unknown(every, quantity)
        self._refuse_unknown_part(every, flow, link)
        whole = frames.only(every, quantity, flow, link)
        by = ["run", "flow", "link", "quantity"]
        windows = pl.DataFrame(
            [window for number, run in enumerate(self.points) for window in _windows(number, run)],
            schema={
                "run": pl.UInt32,
                "flow": pl.String,
                "link": pl.String,
                "from_ns": pl.Int64,
                "to_ns": pl.Int64,
            },
            orient="row",
        )
        joined = whole.join(windows, on=by[:3], nulls_equal=True, maintain_order="left")
        state = pl.col("quantity").is_in(
            [q for q in whole["quantity"].unique() if series.held(q) == "state"]
        )
        parts_ = [
            series.weighted(joined.filter(state), by, "state"),
            series.weighted(joined.filter(~state), by, "each"),
        ]
        return self._keyed(series.statistics(pl.concat(parts_), by))

    def _refuse_unknown(self, frame: pl.DataFrame, quantity: str | Sequence[str] | None) -> None:
        wanted = [quantity] if isinstance(quantity, str) else list(quantity or ())
        recorded = list(frame["quantity"].unique(maintain_order=True))
        known = {*recorded, *(entry["name"] for entry in registry.entries("series"))}
        known.update(series.EVENTS)
        missing = [name for name in wanted if name not in known and not name.startswith("class.")]
        if not missing:
            return
        # Look in all runs of the sweep, because a run with another algorithm may have recorded this
        # series.
        every = frames.series([point.stored for point in self.points])["quantity"].unique()
        for name in missing:
            if name not in every:
                raise InputError(
                    names.unknown(
                        "series",
                        name,
                        list(dict.fromkeys([*recorded, *every.sort(), *sorted(known)])),
                    )
                )

    def histogram(
        self,
        run: Run | int | None = None,
        quantity: str = "delay_ns",
        *,
        flow: str | None = None,
        link: str | None = None,
    ) -> pl.DataFrame:
        """Return a histogram, with the columns lower, width, count.

        With `run`, return the same as `Run.histogram`. Without `run`, return the histograms of all
        runs, with their parameters, seed, run_id, and flow or link as first columns. Counts of
        equal buckets of several runs can be added.
        """
        if run is not None:
            one = self._run(run)
            self._refuse_unknown_distribution(one.stored.histograms(), quantity, flow, link)
            return one.histogram(quantity, flow=flow, link=link)
        whole = frames.histograms([point.stored for point in self.points])
        self._refuse_unknown_distribution(whole, quantity, flow, link)
        return self._keyed(frames.only(whole, quantity, flow, link))

    def _refuse_unknown_distribution(
        self, frame: pl.DataFrame, quantity: str, flow: str | None, link: str | None
    ) -> None:
        """Raise an error if no run has this distribution, this flow or this link."""
        self._refuse_unknown_part(frame, flow, link)
        if quantity not in frame["quantity"]:
            every = frames.histograms([point.stored for point in self.points])["quantity"]
            known = list(every.unique(maintain_order=True))
            if quantity not in known:
                raise InputError(names.unknown("distribution", quantity, known))

    def plot(
        self,
        x: str | None = None,
        y: str | None = None,
        *,
        color: str | None = None,
        facet: str | Sequence[str] = (),
        kind: str | None = None,
        where: Mapping[str, Any] | None = None,
        without: str | None = None,
        width: str | None = None,
        height: str | None = None,
        font_size: float | None = None,
        x_scale: Literal["auto", "linear", "log", "free"] = "auto",
        y_scale: Literal["auto", "linear", "log", "free"] = "auto",
        style: Literal["paper", "slides"] = "paper",
        title: str = "",
        begin: str | None = None,
        end: str | None = None,
        x_limits: str | None = None,
        y_limits: str | None = None,
        rules: str | Sequence[str] = (),
        laws: str | Sequence[str] = (),
        events: str | Sequence[str] = (),
    ) -> Chart:
        """Draw a figure, and return it as an Altair chart that you can show, change or save.

        Options that you leave out are chosen to suit the sweep. `y` is a metric ("delay_ms.p99"), a
        distribution ("delay_ms", "rtt_ms") or a recorded series ("cwnd"). `x`, `color` and `facet`
        (columns, rows) are swept keys or "flow", "link", "class", "seed". `kind` is "line", "box",
        "cdf", "ccdf", "time", "scatter", "heat" or "bar". `where` selects values of a key.
        `without` is the competitor, for a figure of harm. `width` is the width of the whole figure,
        e.g. "85mm". `font_size` is the size of text at this width, in points [default: 8, or 24 on
        slides]. `begin` and `end` ("2s") limit the time range. `x_limits` and `y_limits` ("0:20ms")
        limit the axes. `rules` ("y=5ms") draws reference lines, and `laws` ("rfc9438") draws the
        predictions of a formula for the measured probability of loss. `events` ("drops", "marks",
        "slow-start-exit", "all") draws a tick at the time of each event of this kind.
        """
        from tailback.plot import plot

        with python_words():
            return plot(
                self,
                x=x,
                y=y,
                color=color,
                facet=facet,
                kind=kind,
                where=where,
                without=without,
                width=width,
                height=height,
                font_size=font_size,
                x_scale=x_scale,
                y_scale=y_scale,
                style=style,
                title=title,
                begin=begin,
                end=end,
                x_limits=x_limits,
                y_limits=y_limits,
                rules=rules,
                laws=laws,
                events=events,
            )

    def explain(self, run: Run | int = 0, *, flow: str | Sequence[str] = ()) -> Explanation:
        """Explain what limited each flow and what filled each queue in a run [default: the first
        run].

        `flow` selects flows. A notebook shows the result as sentences.
        """
        from tailback.explain import explain

        only = (flow,) if isinstance(flow, str) else tuple(flow)
        with python_words():
            return explain(self._run(run).stored, only)

    def report(self) -> Path:
        """Write the report of the sweep, and return the path of its page."""
        from tailback.report.sweep import write_folder

        return write_folder(layout.index_path(self.root, self.id).parent)

    def evaluate(
        self,
        *,
        flow: str | None = None,
        link: str | None = None,
        run: Run | int = 0,
        quick: bool = False,
        worst: bool = False,
        against: str | None = None,
        part: str | Sequence[str] = (),
        seeds: int | None = None,
        jobs: int | None = None,
        plugins: Sequence[Path | str] = (),
    ) -> Evaluation:
        """Evaluate the congestion control of a flow by RFC 9743. With `link`, evaluate the queue of
        a link by RFC 7928.

        The algorithm has the options that it had in `run` [default: the first run]. Without `flow`
        and `link`, the run must have a single flow. The other arguments are the same as in
        `tailback evaluate`. The runs are stored in the folder that contains these results.
        """
        from tailback.evaluate import of_results
        from tailback.evaluate.model import Request
        from tailback.running.options import RunOptions

        options = RunOptions.of(
            seeds=seeds, jobs=jobs, plugins=plugins, engine=self.engine, out=self.root
        )
        parts = (part,) if isinstance(part, str) else tuple(part)
        request = Request("", options, quick=quick, worst=worst, against=against, parts=parts)
        with python_words():
            return of_results.evaluate(self._run(run).manifest, request, flow=flow, link=link)

    def _refuse_unknown_part(self, frame: pl.DataFrame, flow: str | None, link: str | None) -> None:
        for kind, name in (("flow", flow), ("link", link)):
            if name is None:
                continue
            known = dict.fromkeys(part for run in self.points for part in _named(run, kind))
            known.update(dict.fromkeys(frame[kind].drop_nulls().unique(maintain_order=True)))
            if name not in known:
                raise InputError(names.unknown(kind, name, list(known)))

    def _keyed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Replace the column `run` by columns for the parameters, seed and run_id of that run."""
        import polars as pl

        paths = dict.fromkeys(path for point in self.points for path in point.params)
        keys = pl.DataFrame(
            {
                "run": range(len(self.points)),
                **{path: [point.params.get(path) for point in self.points] for path in paths},
                "seed": [point.seed for point in self.points],
                "run_id": [point.run_id for point in self.points],
            },
            schema_overrides={"run": pl.UInt32, "seed": pl.Int64, "run_id": pl.String},
            strict=False,
        )
        keys = keys.with_columns(_durations(self))
        joined = keys.join(frame, on="run", how="inner", maintain_order="right_left")
        return joined.drop("run")

    def failed_assertions(self) -> list[str]:
        """Return a message for each value that violates an `[[assert]]` table. Return an empty list
        if all assertions hold."""
        return [
            message
            for run in self.points
            for assertion in self.asserts
            for message in assertion.failures(run.summary)
        ]

    def verdicts(self) -> list[BoundVerdict]:
        """Return verdicts on each bound of each assertion.

        Each bound has a verdict for each run, and a verdict for the mean over the seeds of
        each sweep point. `seed` is None for a mean.
        """
        return [
            verdict
            for runs in self.groups()
            for assertion in self.asserts
            for verdict in assertion.verdicts([run.summary for run in runs])
        ]

    def _run(self, run: Run | int) -> Run:
        return self.points[run] if isinstance(run, int) else run

    def __repr__(self) -> str:
        points = len(self.groups())
        return f"<Results {self.title or self.id!r}: {points} points, {len(self)} runs>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the flows and programs of all runs, up to 50 rows."""
        # This import is slow, and only notebooks need it.
        import html

        def cell(value: float | str | None) -> str:
            return html.escape(short(value))

        rows = _rows(self, lambda summary: [*summary["flows"], *_programs(summary)], "flow")
        columns = _columns(rows)
        cells = "".join(
            "<tr>" + "".join(f"<td>{cell(row.get(c))}</td>" for c in columns) + "</tr>"
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


Window = tuple[int, str | None, str | None, int, int]
"""A measured time: index of a run, name of a flow or link, begin and end in ns."""


def _windows(number: int, run: Run) -> Iterator[Window]:
    summary = run.summary
    for part in parts.senders(summary):
        yield number, part["name"], None, *series.measured(summary, part)
    for name, queue in summary["queues"].items():
        yield number, None, name, *series.measured(summary, queue)


def open_results(path: Path | str) -> Results:
    """Open the results of a stored sweep. `path` is the folder of a sweep. If `path` is a folder of
    results, its latest sweep is opened."""
    path = Path(path)
    if os.path.lexists(path / layout.INDEX):
        index = layout.read_index(path / layout.INDEX)
        root = _root_of(path, "sweeps")
        _refuse_others(path, index, root)
        _say_version(path, index)
        return Results.of(index, root)
    sweeps = layout.sweeps(path)
    if not sweeps:
        raise InputError(f"{path}: no results; expected a folder that holds sweeps/")
    index = layout.read_index(sweeps[0])
    _refuse_others(sweeps[0].parent, index, path)
    _say_version(sweeps[0].parent, index)
    return Results.of(index, path)


def _refuse_others(path: Path, index: layout.Index, root: Path) -> None:
    """Raise an error if the index does not match its runs, because the results would have wrong
    labels."""
    wrong = agreement.faults(index, root / "runs", agreement.LOOKED_AT)
    if wrong:
        raise DamagedResults(*(f"{path / layout.INDEX}: {text}" for text in wrong))


def _say_version(path: Path, index: layout.Index) -> None:
    """Warn if the installed engine has another version than the results."""
    # Import this module here and not at the top, because `running` imports `store`.
    from tailback.running import engines

    if here := engines.unlike(index.engine, index.engine_version):
        warnings.warn(
            f"{path}: run with {index.engine} {index.engine_version}, and this is {here}",
            VersionWarning,
            stacklevel=3,
        )


def _root_of(folder: Path, kind: str) -> Path:
    """Return the folder of results in which a sweep or run is stored. Links are not resolved."""
    place = Path(os.path.abspath(folder))
    if place.parent.name != kind:
        raise InputError(f"{folder}: not in a folder of results; expected results/{kind}/ID")
    return place.parent.parent


def open_run(path: Path | str) -> Results:
    """Open one stored run by its folder `results/runs/ID`. The results get the title of a sweep
    that contains the run."""
    path = Path(path)
    root = _root_of(path, "runs")
    manifest = StoredRun(path).manifest
    run_id = manifest["run_id"]
    index, point = layout.sweep_of(root, run_id) or (None, None)
    run = Run({}, {}, manifest["seed"], run_id, path)
    title = index.title if index else ""
    if index and point:
        # Add the swept values, which distinguish the run from the other runs of its sweep.
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


def _rows(results: Results, parts_of: Any, name: str) -> list[dict[str, Any]]:
    rows = []
    for run in results.points:
        for part in parts_of(run.summary):
            row: dict[str, Any] = {**run.params, "seed": run.seed, "run_id": run.run_id}
            row[name] = part["name"]
            row.update(flat({k: v for k, v in part.items() if k not in ("name", "causes")}))
            rows.append(row)
    return rows


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _sources(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for source in summary["traffic"]:
        counts = {k: v for k, v in (source.get("completions") or {}).items() if k != "bins"}
        yield {**source, "completions": counts}


def _programs(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for program in parts.programs(summary):
        yield {key: value for key, value in program.items() if key != "tuples"}


def _tuples(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for program in parts.programs(summary):
        for one in program["tuples"]:
            yield {"name": program["name"], **one}


def _bins(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for source in summary["traffic"]:
        for found in (source.get("completions") or {}).get("bins", ()):
            yield {"name": source["name"], **found}


def _frame(results: Results, parts_of: Any, name: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return a frame with a row for each flow, link or other part of the runs. Columns and types do
    not depend on whether there are rows."""
    import polars as pl

    rows = _rows(results, parts_of, name)
    known = {"seed": pl.Int64, "run_id": pl.String, name: pl.String, **columns}
    swept = dict.fromkeys(path for run in results.points for path in run.params)
    durations = _durations(results)
    if not rows:
        texts = {p: isinstance(v, str) for run in results.points for p, v in run.params.items()}
        types = {path: pl.String if texts[path] else pl.Float64 for path in swept}
        return pl.DataFrame(schema={**types, **known}).with_columns(durations)
    # Build the frame by columns, with None for missing values. A column may begin with many nulls,
    # so infer its type from all rows.
    names = dict.fromkeys([*swept, *known, *_columns(rows)])
    data = {column: [row.get(column) for row in rows] for column in names}
    made = pl.DataFrame(data, schema_overrides=known, strict=False, infer_schema_length=None)
    return made.with_columns(durations)


_TIME = re.compile(r"[+-]?[\d._]+(?:e[+-]?\d+)? ?(?:ns|us|ms|s|secs?)", re.IGNORECASE)


def _durations(results: Results) -> list[pl.Expr]:
    import polars as pl

    paths = dict.fromkeys(path for run in results.points for path in run.params)
    times = [
        path
        for path in paths
        if all(
            not isinstance(run.params.get(path), str)
            and _TIME.fullmatch(run.labels.get(path, "0s").strip())
            for run in results.points
        )
    ]
    return [pl.col(path).cast(pl.Int64).cast(pl.Duration("ns")) for path in times]


def _named(run: Run, kind: str) -> list[str]:
    """Return the names of a run's links if `kind` is "link".

    For other kinds, return the names of the run's flows, sources, programs and groups.
    """
    if kind == "link":
        return list(run.summary["queues"])
    found = [part["name"] for part in parts.senders(run.summary)]
    return list(dict.fromkeys([*found, *(re.sub(r"/\d+$", "", name) for name in found)]))
