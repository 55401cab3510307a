"""Makes the tables and captions of a reproduction's report, and formats their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailback.metrics.statistics import Estimate
from tailback.report import Facts, Table, Value, rerun
from tailback.report.tables import left, mark, right
from tailback.store.results import Results
from tailback_studies.reproduction.entries import KINDS, Entry, counted
from tailback_studies.reproduction.judges import Judge

NO_OFFLOADS = "every segment is a separate packet, without TSO, GSO and GRO"
"""The difference from the publication that all reproductions of test beds have."""


def facts(
    results: Iterable[Results],
    *,
    warmup: str = "",
    unit: str = "s simulated",
    options: Sequence[str] = (),
    deviations: Sequence[str] = (),
) -> Facts:
    """Return the runs, seeds, duration and engine of these results, for captions."""
    batches = list(results)
    runs = [run for result in batches for run in result]
    return Facts(
        runs=len(runs),
        seeds=len({run.seed for run in runs}),
        duration=span((run.summary["duration_s"] for run in runs), unit),
        warmup=warmup,
        engine=f"{batches[0].engine} {batches[0].version}" if batches else "",
        options=options,
        deviations=deviations,
        reruns=rerun.of((result.title, result) for result in batches),
    )


def head(source: str, facts: Facts, entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return the lines under the title of a report.

    These lines show the source, the engine, and the numbers of runs and values.
    """
    return [
        ("source", source),
        ("engine", facts.engine),
        ("runs", f"{facts.runs}"),
        ("values", counted(entries)),
    ]


def span(values: Iterable[float], unit: str) -> str:
    """Return a text with the smallest and the largest of these numbers. Return an empty text if
    there are no numbers."""
    ordered = sorted(values)
    if not ordered:
        return ""
    low, high = ordered[0], ordered[-1]
    return f"{low:g} {unit}" if low == high else f"{low:g} to {high:g} {unit}"


def goals_table(judges: Iterable[Judge], facts: Facts) -> Table:
    """Show the result of each goal."""
    rows: list[list[Value]] = [
        [
            judge.judge,
            judge.limit,
            judge.cells,
            judge.within,
            judge.within_or_chance,
            size(judge.median, judge.error, ".3g"),
            size(judge.p90, judge.error, ".3g"),
            KINDS[judge.error],
            *blind_columns(judge),
            mark(judge.holds),
        ]
        for judge in judges
    ]
    columns = [
        *left("criterion", "limit"),
        *right("comparisons", "within", "within or chance", "median error", "90th percentile"),
        *left("error is"),
        *right("held out", "median of held-out", "90th percentile of held-out"),
        *left("met"),
    ]
    caption = (
        "A comparison is a published number and the value measured here. The table has the largest "
        "error that each criterion allows. *Within or chance* also counts errors beyond the limit "
        "that chance can explain: in at least 5 % of cases, another run of the simulator would "
        "differ from this one by as much as the published value does (known with five seeds or "
        "more). Such errors still count against the criterion. Held-out values were not used until "
        "the set-up was frozen."
    )
    return Table("goals", "Criteria", columns, rows, caption, facts)


def blind_columns(judge: Judge) -> tuple[int, str | None, str | None]:
    """Return the number of held-out values, and the median and 90th percentile of their errors."""
    return (
        judge.blind,
        size(judge.blind_median, judge.error, ".3g"),
        size(judge.blind_p90, judge.error, ".3g"),
    )


def size(value: float | None, kind: str, digits: str = ".2g") -> str | None:
    """Format the absolute value of an error, in percent unless `kind` is "absolute"."""
    if value is None:
        return None
    return f"{value:{digits}}" if kind == "absolute" else f"{100 * value:.2g} %"


def signed(value: float | None) -> str | None:
    """Format a relative error in percent."""
    return None if value is None else f"{100 * value:+.1f} %"


def with_half(value: Estimate, digits: int) -> str:
    """Format a mean with the half-width of its confidence interval."""
    if value.mean is None:
        return ""
    half = "" if value.half_width is None else f" \u00b1{value.half_width:.{digits}f}"
    return f"{value.mean:.{digits}f}{half}"
