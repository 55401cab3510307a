"""Computes the numbers of a figure from the results of runs.

Each dimension has a role: it determines the position (x), the colour (series), or the panel
(column, row). Values with the same position, colour and panel are averaged over seeds. Confidence
intervals show the variation between seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailback.base.foreign import line
from tailback.errors import InputError
from tailback.metrics import Estimate, On, estimate, group_of, pooling, series
from tailback.metrics.pooling import Reading
from tailback.plot.dimensions import SEED, parts, text_at
from tailback.plot.look import EVENTS
from tailback.plot.plan import ROLES, Member, PlotPlan
from tailback.plot.quantities import PlotQuantity, Recorded
from tailback.store import frames

if TYPE_CHECKING:
    import polars as pl

Roles = tuple[str, ...]
"""The text of each role, in the order of `ROLES`."""

NS = 1e9


@dataclass(frozen=True)
class PlotPlace:
    """A flow, link or class of a run, with its value in each role."""

    run: int
    part: str
    """The name of the part in the files of the run."""
    roles: Roles
    known: dict[str, str]
    summary: Any
    """The part's table in the run's summary."""


def places(plan: PlotPlan, quantity: PlotQuantity) -> Iterator[PlotPlace]:
    """Yield every flow, link or class to draw, of every run."""
    wanted = plan.parts[quantity.on]
    for number, member in enumerate(plan.members):
        for known, part in parts(member.run.summary, quantity.on):
            if all(known[name] in texts for name, texts in wanted.items()):
                roles = tuple(_role(plan, role, member, known) for role in ROLES)
                yield PlotPlace(number, part.get("name", ""), roles, known, part)


def _role(plan: PlotPlan, role: str, member: Member, known: dict[str, str]) -> str:
    dimension = plan.roles.get(role)
    if dimension is None or not dimension.name:
        return ""
    return known.get(dimension.name) or text_at(dimension, member.texts)


@dataclass(frozen=True)
class Value:
    """One number that belongs to a flow, link or class in a run."""

    place: PlotPlace
    value: float


def numbers(plan: PlotPlan, quantity: PlotQuantity) -> list[Value]:
    """Return the number of every flow, link or class for which the quantity has a value."""
    return [
        Value(place, reading.value)
        for place, reading in readings(plan, quantity)
        if reading.value is not None
    ]


def readings(plan: PlotPlan, quantity: PlotQuantity) -> list[tuple[PlotPlace, Reading]]:
    """For each flow, link or class of each run, return its value. The value is the metric, or the
    mean of recorded samples.
    """
    sites = list(places(plan, quantity))
    if quantity.metric is not None:
        return [(place, pooling.read(quantity.metric, place.summary)) for place in sites]
    import polars as pl

    cloud = samples(plan, quantity)
    total = pl.col("count").sum()
    means = cloud.group_by("run", "part").agg(
        (((pl.col("lower") + pl.col("upper")) / 2 * pl.col("count")).sum() / total).alias("mean")
    )
    by_part = {(run, part): mean for run, part, mean in means.iter_rows()}
    return [(place, Reading(by_part.get((place.run, place.part)))) for place in sites]


def estimates(plan: PlotPlan, quantity: PlotQuantity) -> dict[Roles, Estimate]:
    """Return means over seeds, with confidence intervals, for each combination of roles. Several
    flows of one run are averaged first.

    Add a note to the plan if some means do not cover all runs.
    """
    runs: dict[Roles, dict[int, list[Reading]]] = {}
    for place, reading in readings(plan, quantity):
        runs.setdefault(place.roles, {}).setdefault(place.run, []).append(reading)
    means = {
        roles: pooled(quantity, [pooling.together(own) for own in by_run.values()])
        for roles, by_run in runs.items()
    }
    say_what_is_missing(plan, quantity, list(means.values()))
    return {roles: mean for roles, mean in means.items() if mean.mean is not None}


def pooled(quantity: PlotQuantity, found: Sequence[Reading]) -> Estimate:
    """Combine the values of runs with different seeds."""
    if quantity.metric is None:
        return estimate(one.value for one in found)
    return pooling.over_runs(quantity.metric, found)


def say_what_is_missing(plan: PlotPlan, quantity: PlotQuantity, means: Sequence[Estimate]) -> None:
    """Add a note to the plan if means are missing or do not cover all seeds."""
    unfinished = [mean for mean in means if mean.at_least is not None]
    if unfinished:
        runs, of = sum(mean.n for mean in unfinished), sum(mean.of for mean in unfinished)
        plan.missing.append(
            f"{quantity.name}: {len(unfinished)} of {len(means)} means are not drawn, since only "
            f"{runs} of {of} transfers finished at these points"
        )
    partial = [mean for mean in means if mean.mean is not None and not mean.whole]
    if partial:
        runs, of = sum(mean.n for mean in partial), sum(mean.of for mean in partial)
        plan.missing.append(
            f"{quantity.name}: {len(partial)} of {len(means)} means are over {runs} runs of {of}, "
            "since the other runs have no value"
        )


def first_link(plan: PlotPlan, place: PlotPlace) -> str | None:
    """Return the first link on the route of a flow or source, or the link of a class."""
    if "link" in place.known:
        return place.known["link"]
    if "class" in place.known:
        found: str | None = place.summary.get("link")
        return found
    canonical = plan.members[place.run].run.manifest["canonical"]
    names = {place.part, group_of(place.part)}
    for kind in ("flows", "traffic", "programs"):
        for planned in canonical.get(kind, ()):
            if planned.get("name") in names and planned.get("route"):
                link: str = canonical["links"][planned["route"][0]]["name"]
                return link
    return None


def samples(plan: PlotPlan, quantity: PlotQuantity) -> pl.DataFrame:
    """Return all values of a quantity, with the columns run, part, the roles, lower, upper, count.

    A distribution has a row for each bucket. A series has a row for each sample in the measured
    time. In the row of a sample, lower = upper, and count is the time for which the sample is
    valid. A metric has a row for each value.
    """
    import polars as pl

    if quantity.metric is not None:
        values = numbers(plan, quantity)
        places_ = [value.place for value in values]
        return _of_places(places_).with_columns(
            pl.Series("lower", [value.value for value in values], dtype=pl.Float64),
            pl.Series("upper", [value.value for value in values], dtype=pl.Float64),
            pl.lit(1, dtype=pl.Int64).alias("count"),
        )
    where = _of_places(list(places(plan, quantity)))
    if quantity.source == "histogram":
        stored = frames.histograms([member.run.stored for member in plan.members])
        scaled = (
            stored.filter(pl.col("quantity") == quantity.stored)
            .with_columns(_part(quantity))
            .select(
                "run",
                "part",
                (pl.col("lower") / quantity.scale).alias("lower"),
                ((pl.col("lower") + pl.col("width")) / quantity.scale).alias("upper"),
                "count",
            )
        )
    else:
        measured = series.weighted(
            over_time(plan, quantity).join(_measured(plan, quantity), on=["run", "part"]),
            ["run", "part"],
            _held(quantity),
        )
        scaled = measured.select(
            "run",
            "part",
            pl.col("value").alias("lower"),
            pl.col("value").alias("upper"),
            pl.col("weight_ns").alias("count"),
        )
    return where.join(scaled, on=["run", "part"], how="inner", maintain_order="left_right")


def events(plan: PlotPlan, kinds: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return the times at which packets were dropped or marked, and at which slow start ended.

    The columns are the roles, time_s and event.

    The second returned value names the kinds of events that the runs did not record. Leave out
    events of flows that the figure does not show.
    """
    import polars as pl

    stored = frames.series([member.run.stored for member in plan.members])
    tables, missing = [], []
    for kind in kinds:
        if EVENTS[kind]:
            rows = stored.filter(pl.col("quantity").str.starts_with(EVENTS[kind]))
            asked = any(
                member.run.manifest["canonical"]["record"].get("events") for member in plan.members
            )
            if rows.is_empty() and not asked:
                missing.append(kind)
        else:
            rows = _slow_start_exits(stored)
        tables.append(rows.with_columns(pl.lit(kind).alias("event")))
    every = pl.concat(tables) if tables else stored.clear().with_columns(event=pl.lit(""))
    sites = list(places(plan, plan.y))
    where = _of_places(sites)
    by = "flow" if plan.y.on == "flow" else "link"
    if by == "link":
        # The end of slow start does not belong to a link, so draw it at the first link.
        links = pl.col("link").fill_null(pl.lit(sites[0].part if sites else ""))
        every = every.with_columns(links)
    found = where.join(
        every.rename({by: "part"}), on=["run", "part"], how="inner", maintain_order="left_right"
    )
    time_s = (pl.col("time_ns") / NS).alias("time_s")
    return found.select(*ROLES[1:], time_s, "event"), missing


def _slow_start_exits(stored: pl.DataFrame) -> pl.DataFrame:
    """Find when each flow first has a slow-start threshold, or when a BBR flow leaves STARTUP."""
    import polars as pl

    name, value = pl.col("quantity"), pl.col("value")
    left = stored.filter((name == "ssthresh") | ((name == "mode") & (value > 0)))
    return left.group_by("run", "flow", maintain_order=True).first().select(stored.columns)


def _held(quantity: PlotQuantity) -> series.Held:
    return "growth" if quantity.source == "rate" else series.held(quantity.stored)


def is_state(quantity: PlotQuantity) -> bool:
    """Return whether samples are valid until the next sample."""
    return _held(quantity) == "state"


def ends_s(plan: PlotPlan, quantity: PlotQuantity) -> dict[tuple[int, str], float]:
    """Return the end of the measured time in s, by run and flow or link."""
    return {
        (place.run, place.part): series.measured(
            plan.members[place.run].run.summary, place.summary
        )[1]
        / NS
        for place in places(plan, quantity)
    }


def _measured(plan: PlotPlan, quantity: PlotQuantity) -> pl.DataFrame:
    """Return the measured times, with the columns run, part, from_ns, to_ns."""
    import polars as pl

    found = list(places(plan, quantity))
    windows = [series.measured(plan.members[p.run].run.summary, p.summary) for p in found]
    data = {
        "run": [place.run for place in found],
        "part": [place.part for place in found],
        "from_ns": [begin for begin, _ in windows],
        "to_ns": [end for _, end in windows],
    }
    types = {"run": pl.UInt32, "part": pl.String, "from_ns": pl.Int64, "to_ns": pl.Int64}
    return pl.DataFrame(data, schema=types)


def over_time(plan: PlotPlan, quantity: PlotQuantity) -> pl.DataFrame:
    """Return a recorded series sorted by time, with the columns run, part, the roles, time_ns,
    time_s, value."""
    import polars as pl

    stored = frames.series([member.run.stored for member in plan.members])
    rows = (
        stored.filter(pl.col("quantity") == quantity.stored)
        .with_columns(_part(quantity))
        .select(
            "run",
            "part",
            "time_ns",
            (pl.col("time_ns") / NS).alias("time_s"),
            (pl.col("value") / quantity.scale).alias("value"),
        )
    )
    if quantity.source == "drain":
        rows = _drained(plan, rows)
    if quantity.source == "rate":
        over = ["run", "part"]
        growth = pl.col("value").diff().over(over) / pl.col("time_s").diff().over(over)
        rows = rows.with_columns(growth.alias("value")).drop_nulls("value")
    where = _of_places(list(places(plan, quantity)))
    return where.join(rows, on=["run", "part"], how="inner", maintain_order="left_right")


def _drained(plan: PlotPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Convert backlogs (in bytes) to the time (in ms) that the link needs to send them."""
    import polars as pl

    steps: dict[str, list[Any]] = {"run": [], "part": [], "time_ns": [], "rate": []}
    for number, member in enumerate(plan.members):
        for name, begin, rate in _rates(member):
            for column, value in zip(steps, (number, name, begin, rate), strict=True):
                steps[column].append(value)
    types = {"run": pl.UInt32, "part": pl.String, "time_ns": pl.Int64, "rate": pl.Float64}
    rates = pl.DataFrame(steps, schema=types).sort("time_ns")
    joined = rows.sort("time_ns", maintain_order=True).join_asof(
        rates, on="time_ns", by=["run", "part"], check_sortedness=False
    )
    known = joined.filter(pl.col("rate") > 0)
    return known.with_columns(pl.col("value") * 8e3 / pl.col("rate")).drop("rate")


def _rates(member: Member) -> Iterator[tuple[str, int, float]]:
    """For each change of a link's rate, yield the link, the time (ns) and the new rate (bit/s)."""
    for link in member.run.manifest["canonical"]["links"]:
        rate = link["rate"]
        steps = rate.get("steps") if isinstance(rate, dict) else [[0, rate]]
        if steps is None or link.get("slots") is not None:
            raise InputError(
                f'--y: the rate of "{line(link["name"])}" follows a trace, so its backlog '
                "does not give a delay; use --y backlog_bytes"
            )
        for name in (link["name"], f"{link['name']}.back"):
            for begin, value in steps:
                yield name, int(begin), float(value)


def _part(quantity: PlotQuantity) -> pl.Expr:
    import polars as pl

    return pl.col("flow" if quantity.on == "flow" else "link").alias("part")


def _of_places(sites: Sequence[PlotPlace]) -> pl.DataFrame:
    import polars as pl

    data: dict[str, list[Any]] = {
        "run": [place.run for place in sites],
        "part": [place.part for place in sites],
    }
    data |= {role: [place.roles[i] for place in sites] for i, role in enumerate(ROLES)}
    return pl.DataFrame(data, schema={"run": pl.UInt32, **dict.fromkeys([*data][1:], pl.String)})


def recorded(members: Sequence[Member]) -> Recorded:
    """Find which series were recorded, by reading one run of each sweep point. Return the scope of
    each series, and the flows or links that have it.

    Flows of one table (`count`) count as one flow.
    """
    import polars as pl

    points: dict[tuple[str, ...], Member] = {}
    for member in members:
        own = tuple(text for key, text in member.texts.items() if key != SEED)
        points.setdefault(own, member)
    frame = frames.series([member.run.stored for member in points.values()])
    by_name: dict[str, tuple[On, set[str]]] = {}
    rows = frame.select("quantity", "flow", "link").unique(maintain_order=True)
    for name, flow, link in rows.filter(pl.col("quantity").is_not_null()).iter_rows():
        on: On = "flow" if flow is not None else "link"
        by_name.setdefault(name, (on, set()))[1].add(group_of(flow) if flow is not None else link)
    return {name: (on, frozenset(names)) for name, (on, names) in by_name.items()}
