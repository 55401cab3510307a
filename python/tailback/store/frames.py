"""Reads tables of many runs, and defines the types of their columns.

The files are checked one by one, then parsed together.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from tailback.metrics import fields
from tailback.metrics.fields import Field
from tailback.metrics.naming import flat_name
from tailback.store.run_folder import HISTOGRAMS, SERIES, StoredRun

if TYPE_CHECKING:
    import polars as pl

READERS = 4
"""Number of threads that read and hash folders. Reading and hashing release the interpreter's
lock."""

IN_TURN = 8
"""Largest number of items that a thread processes at a time. Passing items to threads one by one
takes longer than opening a folder."""

TOGETHER = 64
"""Number of runs that have their tables in memory at the same time."""

A = TypeVar("A")
B = TypeVar("B")


def each(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """Return `work(item)` for each item, in order. Many items are processed in parallel."""
    if len(items) < READERS:
        return [work(item) for item in items]
    # Importing `concurrent.futures` is slow, and a few runs are read without it.
    from concurrent.futures import ThreadPoolExecutor

    size = min(IN_TURN, -(-len(items) // READERS))
    parts = [items[i : i + size] for i in range(0, len(items), size)]
    with ThreadPoolExecutor(READERS) as pool:
        done = pool.map(lambda part: [work(item) for item in part], parts)
        return [result for part in done for result in part]


def opened(paths: Sequence[Path]) -> list[StoredRun]:
    """Open run folders and check their manifests."""
    return each(StoredRun, paths)


def series(runs: Sequence[StoredRun]) -> pl.DataFrame:
    """Return samples and events of all runs. The column `run` contains the position of the run in
    `runs`."""
    return _tables(runs, SERIES)


def each_series(runs: Sequence[StoredRun], quantity: str) -> Iterator[pl.DataFrame]:
    """Yield the series of one quantity for each run. To limit memory, only `TOGETHER` runs are read
    at a time."""
    for begin in range(0, len(runs), TOGETHER):
        part = runs[begin : begin + TOGETHER]
        whole = only(series(part), quantity, None, None)
        found = whole.partition_by("run", include_key=False, maintain_order=True, as_dict=True)
        nothing = whole.clear().drop("run")
        yield from (found.get((number,), nothing) for number in range(len(part)))


def histograms(runs: Sequence[StoredRun]) -> pl.DataFrame:
    """Return histogram buckets of all runs. The column `run` contains the position of the run in
    `runs`."""
    return _tables(runs, HISTOGRAMS)


def merged(runs: Sequence[StoredRun], quantity: str, *, link: str | None) -> pl.DataFrame:
    """Return a histogram summed over runs, with the columns lower, width, count.

    If `link` is None, use the histogram of the whole run instead of the histogram of a link.
    """
    import polars as pl

    sums: list[pl.DataFrame] = [pl.DataFrame(schema=_schema(HISTOGRAMS))]
    for begin in range(0, len(runs), TOGETHER):
        buckets = _rows(runs[begin : begin + TOGETHER], HISTOGRAMS).filter(
            pl.col("quantity") == quantity,
            pl.col("flow").is_null(),
            pl.col("link").eq_missing(pl.lit(link)),
        )
        sums.append(buckets.group_by("lower", "width").agg(pl.col("count").sum()))
    columns = [frame.select("lower", "width", "count") for frame in sums]
    return pl.concat(columns).group_by("lower", "width").agg(pl.col("count").sum()).sort("lower")


def each_merged(
    groups: Sequence[Sequence[StoredRun]], quantity: str, *, link: str | None
) -> Iterator[pl.DataFrame]:
    """Yield the result of `merged` for each group of runs.

    Several groups are read together, because reading each group separately takes several times as
    long.
    """
    import polars as pl

    by = ["group", "lower", "width"]
    for part in _at_most(groups, TOGETHER):
        runs = [run for group in part for run in group]
        if len(runs) > TOGETHER:
            yield from (merged(group, quantity, link=link) for group in part)
            continue
        found = _tables(runs, HISTOGRAMS).filter(
            pl.col("quantity") == quantity,
            pl.col("flow").is_null(),
            pl.col("link").eq_missing(pl.lit(link)),
        )
        owners = [number for number, group in enumerate(part) for _ in group]
        own = pl.DataFrame({"run": range(len(runs)), "group": owners}).cast(pl.UInt32)
        summed = found.join(own, on="run").group_by(by).agg(pl.col("count").sum()).sort(by)
        frames = summed.partition_by("group", include_key=False, maintain_order=True, as_dict=True)
        nothing = summed.clear().drop("group")
        yield from (frames.get((number,), nothing) for number in range(len(part)))


def _at_most(
    groups: Sequence[Sequence[StoredRun]], runs: int
) -> Iterator[Sequence[Sequence[StoredRun]]]:
    """Split groups into parts. Each part has at most `runs` runs, unless it consists of a single
    larger group.
    """
    part: list[Sequence[StoredRun]] = []
    for group in groups:
        if part and sum(map(len, part)) + len(group) > runs:
            yield part
            part = []
        part.append(group)
    if part:
        yield part


def _tables(runs: Sequence[StoredRun], name: str) -> pl.DataFrame:
    import polars as pl

    if not runs:
        return pl.DataFrame(schema={"run": pl.UInt32, **_schema(name)})
    frame = _rows(runs, name)
    numbers = pl.Series("run", range(len(runs)), dtype=pl.UInt32)
    lengths = pl.Series("rows", [run.rows(name) for run in runs], dtype=pl.UInt32)
    index = pl.select(numbers.repeat_by(lengths).explode()).to_series()
    return frame.select(index.alias("run"), pl.all())


def _rows(runs: Sequence[StoredRun], name: str) -> pl.DataFrame:
    import polars as pl

    data = each(lambda run: run.read(name), runs)
    try:
        files: list[IO[bytes]] = [io.BytesIO(one) for one in data]
        return pl.read_parquet(files)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # Reading all files together failed. Read the files one by one, so that the error names the
        # unreadable file.
        return pl.concat([run.table(name) for run in runs])


def _schema(name: str) -> dict[str, Any]:
    import polars as pl

    where = {"flow": pl.String, "link": pl.String, "quantity": pl.String}
    if name == SERIES:
        return {"time_ns": pl.Int64, **where, "value": pl.Float64}
    return {**where, "lower": pl.Int64, "width": pl.Int64, "count": pl.Int64}


def columns(part: str, *more: str) -> dict[str, Any]:
    """Return the columns of a table of the summary, such as `flows` or `queues`, with their Polars
    types."""
    inside = fields.inside(part, *more)
    return {flat_name(field): type_ for field, type_ in _columns(inside, "")}


def _columns(inside: Sequence[Field], prefix: str) -> Iterator[tuple[str, Any]]:
    import polars as pl

    for field in inside:
        path = f"{prefix}{field.name}"
        match field.kind:
            case "text" | "optional text":
                if path != "name":
                    yield path, pl.String
            case "count" | "optional count":
                yield path, pl.Int64
            case "number" | "optional number":
                yield path, pl.Float64
            case "statistics":
                for word in field.statistics:
                    yield f"{path}.{word}", pl.Int64 if word == "n" else pl.Float64
            case "table":
                yield from _columns(field.fields, f"{path}.")
            # Leave out fields of other kinds, such as counts by cause. Only the JSON output
            # contains these fields.
            case _:
                pass


def only(
    frame: pl.DataFrame,
    quantity: str | Sequence[str] | None,
    flow: str | None,
    link: str | None,
) -> pl.DataFrame:
    """Select the rows that have one of these quantities, this flow or group of flows, and this
    link. None selects all."""
    import polars as pl

    if quantity is not None:
        wanted = [quantity] if isinstance(quantity, str) else list(quantity)
        frame = frame.filter(pl.col("quantity").is_in(wanted))
    if flow is not None:
        group = pl.col("flow").str.replace(r"/\d+$", "")
        frame = frame.filter((pl.col("flow") == flow) | (group == flow))
    return frame if link is None else frame.filter(pl.col("link") == link)
