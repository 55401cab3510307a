"""Makes the report that `tailback compare` writes."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from tailback.comparison.matching import matched
from tailback.comparison.model import MEASURED, Cell, Comparison, VariantResults
from tailback.comparison.text import difference_text, percent, quantity_text, with_spread_of
from tailback.figures.cdf import cdf, cumulative
from tailback.figures.differences import differences
from tailback.figures.time_series import thin, time_series
from tailback.metrics import parts
from tailback.metrics.differences import FALSE_DISCOVERY
from tailback.metrics.estimates import mean_text
from tailback.report import reasons, rerun
from tailback.report.model import Facts, Mark, Report, ReportFigure, Section, Table, Text, Value
from tailback.report.tables import left, right
from tailback.report.text import plain
from tailback.store.results import Run

MAX_TABLE_ROWS = 500

MAX_PLACES = 60
"""The largest number of rows of dots in one figure."""

MAX_POINTS = 4
"""The largest number of sweep points of a comparison for which to draw traces."""

MAX_PANELS = 5
"""The largest number of flows whose window is drawn at one sweep point."""

MAX_VARIANTS = 7
"""The largest number of curves that can be distinguished in one figure."""

MAX_SAMPLES = 2400
"""The largest number of rows of data in a panel of traces."""

Block = Text | ReportFigure | Table


def of(comparison: Comparison) -> Report:
    """Build the report of a comparison."""
    facts = facts_of(comparison)
    several = len(comparison.points()) > 1
    flagged = len(comparison.flagged())
    judged = sum(d.q is not None for cell in comparison.cells for d in cell.differences.values())
    sections = [
        Section(
            "summary", "Over all sweep points", [_summary(comparison, facts)] if several else []
        ),
        Section("cells", "Every quantity", [_cells(comparison, facts)]),
        reasons.of_comparison(comparison, facts),
        Section("differences", "Differences", _figures(comparison, facts)),
        Section("traces", "Over each other", _traces(comparison, facts)),
        Section("how", "How to read it", [Text("\n\n".join(how_to_read(comparison)))]),
    ]
    others = ", ".join(plain(variant.name) for variant in comparison.others)
    return Report(
        name=comparison.id,
        title=comparison.title,
        lead=f"{others} against {plain(comparison.baseline.name)}: {flagged} of {judged} "
        "differences are more than noise.",
        meta=[
            *(
                (label_of(comparison, variant), described(variant))
                for variant in comparison.variants
            ),
            ("comparison", comparison.id),
        ],
        sections=[section for section in sections if section.blocks],
        files={"cells.csv": csv_of(comparison)},
    )


def label_of(comparison: Comparison, variant: VariantResults) -> str:
    return f"{variant.name} (baseline)" if variant is comparison.baseline else variant.name


def described(variant: VariantResults) -> str:
    if variant.engine in MEASURED:
        files = ", ".join(run.run_id for run in variant.results)
        if variant.engine == "qlog":
            return f"measured: qlog file {files}"
        return f"measured: data of Flent {variant.engine_version}; {files}"
    if variant.kept is not None:
        return f"kept in {variant.results.id}; engine {variant.engine} {variant.engine_version}"
    sets = ", ".join(f"{path} = {value}" for path, value in variant.sets.items())
    kernel = f", kernel {variant.kernel}" if variant.kernel else ""
    engine = f"engine {variant.engine} {variant.engine_version}{kernel}"
    return f"{sets or 'the file as it is'}; {engine}; sweep {variant.results.id}"


def facts_of(comparison: Comparison) -> Facts:
    runs = [run for variant in comparison.variants for run in variant.results]
    durations = sorted({run.summary["duration_s"] for run in runs})
    warmups = sorted({run.summary["warmup_s"] for run in runs})
    versions = dict.fromkeys(f"{v.engine} {v.engine_version}" for v in comparison.variants)
    seeds = {len(s) for v in comparison.variants for s in v.seeds.values()}
    simulated = "" if any(v.engine in MEASURED for v in comparison.variants) else " simulated"
    return Facts(
        runs=len(runs),
        seeds=max(seeds, default=0),
        fewest_seeds=min(seeds) if len(seeds) > 1 else 0,
        duration=", ".join(f"{d:g} s{simulated}" for d in durations),
        warmup=", ".join(f"{w:g} s" for w in warmups if w),
        engine=", ".join(versions),
        reruns=rerun.of((variant.name, variant.results) for variant in comparison.variants),
    )


def how_to_read(comparison: Comparison) -> list[str]:
    percentage = f"{100 * FALSE_DISCOVERY:g} %"
    return [
        "Values are means over seeds ± half the 95 % interval (Student's t). Differences are those "
        f"of the means to {plain(comparison.baseline.name)}, in percent of it where it is not 0, "
        "with their own 95 % interval; for runs with the same seeds this interval comes from the "
        "differences seed by seed.",
        f"A difference is marked as more than noise if its q is below {FALSE_DISCOVERY:g}: of all "
        f"marked differences, at most {percentage} are expected to be false. The quantities of "
        "one sweep point come from the same runs and move together. A first test for each sweep "
        "point therefore decides whether anything differs there (Benjamini and Yekutieli). Over "
        "all sweep points it uses Benjamini and Hochberg's method. A second test decides which "
        "quantities differ "
        "(Benjamini and Bogomolov 2014). "
        "The tests are paired or Welch's t. They do not show how much a difference matters. A "
        "difference that is the same for every seed has no interval; its p is that of the sign "
        "test, or of the permutation test for unpaired runs.",
        *(f"{plain(note[0].upper() + note[1:])}." for note in comparison.notes()),
    ]


def _summary(comparison: Comparison, facts: Facts) -> Table:
    columns = [
        *left("quantity", "variant"),
        *right("values", "flagged", "median difference", "90 % within"),
    ]
    rows: list[list[Value]] = [
        [
            quantity_text(row["quantity"]),
            row["variant"],
            row["cells"],
            row["flagged"],
            percent(row["median_rel_difference"]),
            percent(row["p90_rel_difference"]).replace("+", "±"),
        ]
        for row in comparison.summary()
    ]
    return Table("summary-table", "By quantity", columns, rows, "", facts)


def _cells(comparison: Comparison, facts: Facts) -> Table:
    shown = _changed_first([cell for cell in comparison.cells if not cell.nothing])
    paths = list(dict.fromkeys(path for cell in comparison.cells for path in cell.labels))
    columns = [
        *left(*paths, "of", "quantity"),
        *right(
            *(variant.name for variant in comparison.variants),
            *(f"{variant.name} − {comparison.baseline.name}" for variant in comparison.others),
        ),
    ]
    rows: list[list[Value]] = []
    for cell in shown[:MAX_TABLE_ROWS]:
        row: list[Value] = [cell.labels.get(path, "") for path in paths]
        row += [cell.name or cell.kind, cell.metric.title]
        row += [with_spread_of(cell.values.get(variant.name)) for variant in comparison.variants]
        for variant in comparison.others:
            difference = cell.differences.get(variant.name)
            text = difference_text(difference)
            row.append(Mark(text, "info") if difference and difference.flagged else text)
        rows.append(row)
    caption = "Differences on a grey background are more than noise; these rows are first."
    if len(shown) < len(comparison.cells):
        caption += (
            f" {len(comparison.cells) - len(shown)} rows that are 0 in every variant are left out."
        )
    if len(shown) > MAX_TABLE_ROWS:
        caption += f" The first {MAX_TABLE_ROWS} of {len(shown)} rows; cells.csv has all."
    return Table("cells-table", "Every sweep point, flow and link", columns, rows, caption, facts)


def _figures(comparison: Comparison, facts: Facts) -> list[Block]:
    quantities: dict[tuple[str, str], list[Cell]] = {}
    for cell in comparison.cells:
        if any(d.absolute for d in cell.differences.values()):
            quantities.setdefault((cell.metric.on, cell.quantity), []).append(cell)
    ordered = sorted(quantities.values(), key=lambda cells: not any(map(_is_changed, cells)))
    return [_dots(comparison, cells, facts) for cells in ordered]


def _is_changed(cell: Cell) -> bool:
    """Return whether at least one difference in the compared quantity is flagged as more than
    noise.
    """
    return any(d.flagged for d in cell.differences.values())


def _changed_first(cells: Sequence[Cell]) -> list[Cell]:
    points = list(dict.fromkeys(tuple(cell.labels.items()) for cell in cells))
    place = {point: i for i, point in enumerate(points)}
    return sorted(
        cells, key=lambda cell: (place[tuple(cell.labels.items())], not _is_changed(cell))
    )


def _dots(comparison: Comparison, cells: Sequence[Cell], facts: Facts) -> ReportFigure:
    """Draw the differences of one metric as dots."""
    metric = cells[0].metric
    relative = all(d.relative is not None for cell in cells for d in cell.differences.values())
    drawn = list(cells)
    baseline = plain(comparison.baseline.name)
    caption = f"{metric.doc} Dots are differences to {baseline}, bars 95 % intervals; "
    unit = f", {metric.unit}" if metric.unit else ""
    caption += (
        f"a filled dot is more than noise. At the right: the variant against the baseline{unit}."
    )
    if len(cells) > MAX_PLACES:
        drawn = sorted(cells, key=_largest, reverse=True)[:MAX_PLACES]
        kept = {id(cell) for cell in drawn}
        drawn = [cell for cell in cells if id(cell) in kept]
        caption += f" The {MAX_PLACES} largest of {len(cells)}."
    rows: list[dict[str, Any]] = []
    for cell in drawn:
        for variant, d in cell.differences.items():
            value = 100 * d.relative if relative and d.relative is not None else d.absolute
            half = d.relative_ci95 if relative else d.ci95
            if half is not None and relative:
                half *= 100
            rows.append(
                {
                    "place": _place(cell),
                    "variant": variant,
                    "value": value,
                    "low": None if half is None else value - half,
                    "high": None if half is None else value + half,
                    "flagged": d.flagged,
                    "says": _values_of(cell, variant, comparison.baseline.name),
                }
            )
    schema = {
        "place": pl.String,
        "variant": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "flagged": pl.Boolean,
        "says": pl.String,
    }
    unit = "%" if relative else metric.unit or "absolute"
    chart = differences(
        pl.DataFrame(rows, schema=schema),
        order=[_place(cell) for cell in drawn],
        variants=[variant.name for variant in comparison.others],
        baseline=comparison.baseline.name,
        x_title=f"{metric.name}: difference to {comparison.baseline.name}, {unit}",
    )
    name = f"{metric.on}-{metric.path}".replace(".", "-").replace("_", "-")
    return ReportFigure(name, f"{metric.name} of every {metric.on}", chart, caption, facts)


def _largest(cell: Cell) -> float:
    return max((abs(d.effect_size or 0.0) for d in cell.differences.values()), default=0.0)


def _values_of(cell: Cell, variant: str, baseline: str) -> str:
    """Format the means of the variant and of the baseline."""
    found = (cell.values.get(name) for name in (variant, baseline))
    return " against ".join(mean_text(value) if value else "\u2013" for value in found)


def _place(cell: Cell) -> str:
    return ", ".join([*cell.labels.values(), cell.name or cell.kind])


def _traces(comparison: Comparison, facts: Facts) -> list[Block]:
    points = comparison.points()
    if len(points) > MAX_POINTS:
        return []
    blocks: list[Block] = []
    for i, (_, groups) in enumerate(points):
        if not all(groups):
            continue
        labels = ", ".join(f"{path} = {label}" for path, label in groups[0][0].labels.items())
        blocks += _traces_of_point(
            comparison, groups, f"-{i + 1}" if len(points) > 1 else "", labels, facts
        )
    return blocks


def _traces_of_point(
    comparison: Comparison, groups: Sequence[Sequence[Run]], suffix: str, labels: str, facts: Facts
) -> list[Block]:
    names = [variant.name for variant in comparison.variants[:MAX_VARIANTS]]
    groups = groups[:MAX_VARIANTS]
    cut = f" The first {MAX_VARIANTS} variants." if len(comparison.variants) > MAX_VARIANTS else ""
    seeds = [run.seed for run in groups[0]]
    seed = next((s for s in seeds if all(any(r.seed == s for r in g) for g in groups)), None)
    runs = [next((r for r in group if r.seed == seed), group[0]) for group in groups]
    series = [run.series() for run in runs]
    at = f" at {labels}" if labels else ""
    plain_at = f" at {plain(labels)}" if labels else ""
    charts = []
    rules = set()
    for what, column, called, scale in _panels(runs):
        frames = [
            frame.filter(pl.col("quantity") == what, pl.col(column) == part).select(
                (pl.col("time_ns") / 1e9).alias("time_s"),
                pl.lit(name).alias("variant"),
                pl.col("value") * scale,
            )
            for frame, name, part in zip(series, names, called, strict=True)
            if part is not None
        ]
        frame = pl.concat(frames)
        if frame.is_empty():
            continue
        drawn, rule = thin(frame, by=["variant"], limit=MAX_SAMPLES)
        if rule:
            rules.add(rule)
        title = "cwnd, segments" if what == "cwnd" else "backlog, kB"
        charts.append(
            time_series(
                drawn,
                y_title=title,
                order=names,
                series="variant",
                series_title="variant",
                height=130,
            ).properties(title=next(part for part in called if part is not None))
        )
    blocks: list[Block] = []
    which = f"seed {seed}" if seed is not None else "the first seed of each"
    if charts:
        chart = alt.vconcat(*charts, spacing=16).resolve_scale(x="shared", color="shared")
        notes = "".join(f"; {rule}" for rule in sorted(rules))
        caption = f"Congestion windows and queues over time{plain_at}, {which}{notes}.{cut}"
        blocks.append(ReportFigure(f"traces{suffix}", f"Traces{at}", chart, caption, facts))
    curves = {
        name: curve
        for name, group in zip(names, groups, strict=True)
        if (curve := _delays(group)) is not None
    }
    if curves:
        chart = cdf(curves, x_title="queue delay, ms", series_title="variant")
        caption = (
            f"Share of packets that waited no longer{plain_at}, first link, seeds together.{cut}"
        )
        blocks.append(ReportFigure(f"delay{suffix}", f"Queue delay{at}", chart, caption, facts))
    return blocks


def _panels(runs: Sequence[Run]) -> list[tuple[str, str, list[str | None], float]]:
    """Choose the panels.

    A panel is a tuple of four items: the quantity, the kind ("flow" or "link"), the object's name
    in each variant, and the factor that converts values to the figure's unit.
    """
    flows = _called([[f["name"] for f in parts.flows(run.summary)] for run in runs])
    links = _called([[*run.summary["queues"]] for run in runs])
    return [
        *(("cwnd", "flow", names, 1.0) for names in flows),
        *(("backlog_bytes", "link", names, 1e-3) for names in links),
    ]


def _called(named: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """Return the names of the first few flows or links, in each variant."""
    return [
        [
            names[at] if at is not None else None
            for names, at in zip(named, match.places, strict=True)
        ]
        for match in itertools.islice(matched(named), MAX_PANELS)
    ]


def _delays(group: Sequence[Run]) -> pl.DataFrame | None:
    buckets = pl.concat([run.histogram("delay_ns") for run in group])
    merged = buckets.group_by("lower", "width").agg(pl.col("count").sum()).sort("lower")
    if merged.is_empty():
        return None
    upper = (merged["lower"] + merged["width"]) / 1e6
    return cumulative((merged["lower"] / 1e6).to_list(), upper.to_list(), merged["count"].to_list())


def csv_of(comparison: Comparison) -> str:
    """Return CSV with a row for each compared quantity and variant. Numbers have all digits, and
    missing values are empty."""
    rows = comparison.rows()
    out = io.StringIO()
    columns = list(dict.fromkeys(column for row in rows for column in row))
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
