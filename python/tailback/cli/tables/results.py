"""Prints the tables at the end of `run`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.table import Table

from tailback.base import terminal
from tailback.base.foreign import line
from tailback.base.progress import is_quiet
from tailback.cli.tables.layout import MAX_ROWS, new_console, print_table, short_names, width_of
from tailback.metrics import Metric, On, find, harm, pooling
from tailback.metrics.completion import UNFINISHED
from tailback.metrics.estimates import has_spread, with_spread
from tailback.metrics.parts import programs
from tailback.metrics.requests import BINS, of_bin
from tailback.metrics.statistics import Estimate
from tailback.store import layout

if TYPE_CHECKING:
    from tailback.store.results import Results, Run


class TableQuantity(NamedTuple):
    """A column of a table, with its title and the metric that it shows."""

    title: str
    metric: Metric
    scale: float = 1.0


def _of(title: str, name: str, on: On, scale: float = 1.0) -> TableQuantity:
    return TableQuantity(title, find(name, on), scale)


# A summary of a source of traffic contains only some of these quantities.
FLOW: tuple[TableQuantity, ...] = (
    _of("Mbit/s", "throughput_mbit", "flow"),
    _of("RTT ms", "rtt_ms.mean", "flow"),
    _of("RTT p99 ms", "rtt_ms.p99", "flow"),
    _of("retrans", "retransmits", "flow"),
    _of("drops", "drops", "flow"),
    _of("marks", "marks", "flow"),
)
SCE = _of("SCE marks", "sce_marks", "flow")
SCE_OF_LINK = _of("SCE marks", "sce_marks", "link")
DONE = _of("done s", "completion_s", "flow")
FINISHED = "finished"
"""Title of the column that counts the runs in which a transfer finished. The table has this column
only if some transfers did not finish."""
QUEUE: tuple[TableQuantity, ...] = (
    _of("queue ms", "delay_ms.mean", "link"),
    _of("queue p99 ms", "delay_ms.p99", "link"),
    _of("used %", "utilisation", "link", 100.0),
)
LINK: tuple[TableQuantity, ...] = (
    *QUEUE,
    _of("drops", "drops", "link"),
    _of("marks", "marks", "link"),
)

PROGRAM: tuple[TableQuantity, ...] = (
    _of("Mbit/s", "throughput_mbit", "flow"),
    _of("back Mbit/s", "back_mbit", "flow"),
    _of("RTT ms", "rtt_ms.mean", "flow"),
    _of("RTT p99 ms", "rtt_ms.p99", "flow"),
    _of("drops", "drops", "flow"),
    _of("marks", "marks", "flow"),
    _of("done s", "completion_s", "flow"),
)


def _share(part: str, *whole: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return a function that computes the counter `part` as a percentage of the sum of the counters
    `whole`.
    """

    def value(of: Mapping[str, Any]) -> float | None:
        total = sum(n for name in whole if (n := of[name]) is not None)
        return 100 * of[part] / total if of[part] is not None and total else None

    return value


CLASS: tuple[TableQuantity, ...] = (
    _of("flow Mbit/s", "rate_mbit.mean", "class"),
    _of("queue ms", "delay_ms.mean", "class"),
    _of("queue p99 ms", "delay_ms.p99", "class"),
    TableQuantity(
        "drops %",
        Metric("drops_percent", "class", "%", "", _share("drops", "packets", "drops"), most=100.0),
    ),
    TableQuantity(
        "marks %", Metric("marks_percent", "class", "%", "", _share("marks", "packets"), most=100.0)
    ),
)
JAIN = _of("Jain", "jain", "run")

LATENCY: tuple[TableQuantity, ...] = (
    _of("RPM", "rpm", "flow"),
    _of("foreign p99 ms", "foreign_ms.p99", "flow"),
    _of("loaded p99 ms", "loaded_ms.p99", "flow"),
    _of("page ms", "page_load_ms.p50", "flow"),
    _of("page p99 ms", "page_load_ms.p99", "flow"),
    _of("RTT ms", "rtt_ms.p50", "flow"),
    _of("RTT p99 ms", "rtt_ms.p99", "flow"),
    _of("lost", "echoes_lost", "flow"),
    _of("frame ms", "frame_delay_ms.p50", "flow"),
    _of("frame p99 ms", "frame_delay_ms.p99", "flow"),
    _of("late %", "late_share", "flow", 100.0),
    _of("stalls s", "stall_s", "flow"),
    _of("one-way ms", "one_way_delay_ms.p50", "flow"),
    _of("one-way p99 ms", "one_way_delay_ms.p99", "flow"),
)
"""Columns of sources that measure latency. A table omits a column in which no source has a
value."""


class ResultsLayout(NamedTuple):
    """A layout of the tables. Each layout has a different width."""

    together: bool
    """Whether to print the run's only link in the row of the first flow, instead of in a separate
    table."""
    full_paths: bool
    """If true, the names of columns are full paths, such as `bottleneck.rate`. If false, the names
    are short, such as `rate`."""
    one_line: bool
    """Whether an interval is printed on the same line as its mean, instead of below the mean."""


LAYOUTS = (
    ResultsLayout(True, True, True),
    ResultsLayout(False, True, True),
    ResultsLayout(False, False, True),
    ResultsLayout(False, False, False),
)


def show(results: Results) -> None:
    """Print a row for each sweep point and flow, averaged over seeds. Use the layout that fits the
    width of the terminal.

    Numbers are never cut. If no layout fits, lines are longer than the terminal's width. The tables
    have at most `MAX_ROWS` rows each, so they and their notes describe only the first `MAX_ROWS`
    sweep points. A last line counts the rows and sweep points that are left out. The warnings of
    guest kernels come from all runs.
    """
    every = results.groups()
    groups = every[:MAX_ROWS]
    whole = results
    if len(groups) < len(every):
        results = replace(whole, points=[run for group in groups for run in group])
    # If each run has only one link, the row of the first flow may also show the link's numbers.
    summaries = [_of_run(run) for run in results.points]
    one_link = all(
        len(summary["queues"]) == 1 and (summary["flows"] or summary["traffic"])
        for summary in summaries
    )
    console = new_console()
    tables: list[Table] = []
    hidden = 0
    for table_layout in LAYOUTS:
        if table_layout.together and not one_link:
            continue
        tables, hidden = _tables(results, groups, summaries, table_layout)
        if all(width_of(table) <= console.width for table in tables):
            break
    for table in tables:
        print_table(table)
    seeds = max((len(group) for group in groups), default=0)
    if seeds > 1:
        console.print(f"mean over {seeds} seeds ± half the 95 % interval (Student's t)")
        for note in _notes(groups, shown=len(groups) < len(every)):
            console.print(note, soft_wrap=True)
    left_out = [
        f"{count} more {name}s" if count > 1 else f"1 more {name}"
        for count, name in ((hidden, "row"), (len(every) - len(groups), "sweep point"))
        if count
    ]
    if left_out:
        console.print(f"{' and '.join(left_out)}; --json has them all")
    for warning in _warnings(whole):
        console.print(warning, soft_wrap=True)


def _notes(groups: Sequence[Sequence[Run]], *, shown: bool) -> list[str]:
    """Return notes for the user.

    The notes say which means are computed without some seeds, and at which sweep points
    the results do not depend on the seed. `shown` says whether these are only the sweep points that
    the tables show.
    """
    notes = []
    if any(_unfinished(group) for group in groups):
        notes.append(
            "finished: runs in which the transfer finished; >: the mean over all seeds is larger, "
            "since some transfers had not finished"
        )
    alike = sum(_same_in_every_seed(group) for group in groups)
    if alike:
        where = "" if alike == len(groups) else f"at {alike} of {len(groups)} points "
        if shown:
            where = f"at {alike} of the first {len(groups)} points, "
        notes.append(
            f"{where}every seed gave the same numbers, so several runs show no more than one run"
        )
    return notes


def _unfinished(group: Sequence[Run]) -> bool:
    return any(UNFINISHED in flow for run in group for flow in _of_run(run)["flows"])


def _same_in_every_seed(group: Sequence[Run]) -> bool:
    """Return whether all seeds of a sweep point gave the same numbers, as rounded in the table."""
    if len(group) < 2:
        return False
    summaries = [_of_run(run) for run in group]
    parts: list[tuple[tuple[TableQuantity, ...], list[Any]]] = [
        (LINK, [[*summary["queues"].values()] for summary in summaries]),
        ((*FLOW, DONE), [_senders(summary) for summary in summaries]),
        (PROGRAM, [[*programs(summary)] for summary in summaries]),
    ]
    for quantities, by_run in parts:
        for same in zip(*by_run, strict=False):
            for quantity in quantities:
                values = [quantity.metric.value(part) for part in same]
                if values[0] is not None and values.count(values[0]) == len(values):
                    # Equal values have no spread, and pooling them would take several times as long
                    # as this test.
                    continue
                readings = [pooling.read(quantity.metric, part) for part in same]
                found = pooling.over_runs(quantity.metric, readings)
                if found.n not in (0, found.of) or has_spread(found):
                    return False
    return True


FEW = 3
"""The largest number of failed runs to list by id."""


def show_where(results: Results, reused: int, runs: int) -> None:
    """Print where the results are, how many runs were already stored, and which commands to use
    next.

    This text goes to stderr, so that stdout contains only the table.
    """
    if is_quiet():
        return
    ids = list(dict.fromkeys(run.run_id for run in results.points))
    count = "1 run" if runs == 1 else f"{runs} runs"
    if reused:
        count += f", {reused if runs > 1 else 'which is'} stored already"
    named = f": {', '.join(ids)}" if len(ids) <= FEW else ""
    usual = results.root == layout.DEFAULT
    terminal.err(f"sweep {results.root / 'sweeps' / results.id}, {count}{named}")
    # A command without the name of a sweep or run uses the latest sweep in the usual folder. If
    # this sweep has only one run, the command uses this run.
    run = "" if len(ids) == 1 else f" {ids[0]}"
    sweep = ""
    if not usual:
        run, sweep = f" {layout.run_path(results.root, ids[0])}", f" {results.root}"
    terminal.err(f"next: tailback explain{run}, tailback plot{sweep}, tailback report{sweep}")


def _warnings(results: Results) -> list[str]:
    """Return the warnings of guest kernels in the order of the runs. Also return the number of runs
    that had each warning.
    """
    counts: dict[str, int] = {}
    for run in results.points if results.engine == "kernel" else ():
        for text in (run.manifest.get("environment") or {}).get("warnings", ()):
            counts[text] = counts.get(text, 0) + 1
    return [f"warning: {n} run{'s' if n > 1 else ''}: {text}" for text, n in counts.items()]


def _tables(
    results: Results,
    groups: Sequence[Sequence[Run]],
    summaries: Sequence[Mapping[str, Any]],
    layout: ResultsLayout,
) -> tuple[list[Table], int]:
    """Return the tables of flows, links and classes, and the number of omitted rows. Links have no
    table if the rows of flows show them.
    """
    paths = list(dict.fromkeys(path for run in results.points for path in run.params))
    flows_ = [flow for summary in summaries for flow in summary["flows"]]
    unfinished = any(UNFINISHED in flow for flow in flows_)
    completes = unfinished or any(flow["completion_s"] is not None for flow in flows_)
    # Few scenarios mark packets with SCE, so show this column only if some packets were marked.
    queues = (queue for summary in summaries for queue in summary["queues"].values())
    sce = any(q["sce_marks"] for q in queues)
    done = (DONE,) if completes else ()
    quantities = (*FLOW, *((SCE,) if sce else ()), *done, *_harms(results))
    of_link = (*LINK, *((SCE_OF_LINK,) if sce else ()))
    with_jain = any(len(summary["flows"]) > 1 for summary in summaries)

    titles = paths if layout.full_paths else short_names(paths, {"flow", "link", "cc", "aqm"})
    requests, more = _requests(groups, paths, titles, layout)
    flows = _table([*titles, "flow", "cc"], quantities, layout)
    if unfinished:
        flows.add_column(FINISHED, justify="right", no_wrap=True)
    flows.title = line(results.title) or None
    links = _table([*titles, "link", "aqm"], of_link, layout)
    if layout.together:
        for quantity in QUEUE:
            flows.add_column(quantity.title, justify="right", no_wrap=True)
    if with_jain:
        last = flows if layout.together else links
        last.add_column("Jain", justify="right", no_wrap=True)

    rows: dict[str, list[list[str]]] = {"flows": [], "links": [], "classes": [], "programs": []}
    results_of = _own(results)
    for group in groups:
        labels = [line(_short(group[0].labels.get(path, ""))) for path in paths]
        for i, part in enumerate(_senders(_of_run(group[0]))):
            if _is_full(rows["flows"]):
                continue
            values = [_over_seeds(group, v, partial(_sender, index=i)) for v in quantities]
            cells = [
                *_first(i, labels),
                part["name"],
                part.get("cc", part.get("kind", "")),
                *values,
            ]
            if unfinished:
                cells.append(_finished(group, partial(_sender, index=i)))
            if i == 0 and layout.together:
                cells += [_over_seeds(group, value, lambda s: s["queue"]) for value in QUEUE]
            elif layout.together:
                cells += [""] * len(QUEUE)
            if i == 0 and with_jain and layout.together:
                cells.append(_over_seeds(group, JAIN, lambda s: s))
            rows["flows"].append(cells)
        # A layout that shows the link in the row of the first flow has no table of links.
        queues_of = {} if layout.together else _of_run(group[0])["queues"]
        for i, (name, queue) in enumerate(queues_of.items()):
            if _is_full(rows["links"]):
                continue
            values = [_over_seeds(group, v, partial(_link, name=name)) for v in of_link]
            cells = [*_first(i, labels), name, queue["aqm"], *values]
            if i == 0 and with_jain:
                cells.append(_over_seeds(group, JAIN, lambda s: s))
            rows["links"].append(cells)
        for i, part in enumerate(programs(_of_run(group[0]))):
            if _is_full(rows["programs"]):
                continue
            texts = [
                _over_seeds(group, value, partial(_program, index=i))
                for value in (*PROGRAM, *results_of)
            ]
            status = _status([programs(_of_run(run))[i]["status"] for run in group])
            named = [part["name"], part["kind"] or ""]
            rows["programs"].append([*_first(i, labels), *named, *texts, status])
        for i, part in enumerate(_of_run(group[0]).get("classes", ())):
            if _is_full(rows["classes"]):
                continue
            values = [_over_seeds(group, v, partial(_class, name=part["name"])) for v in CLASS]
            rows["classes"].append([*_first(i, labels), part["name"], part["link"], *values])

    of_programs = _table([*titles, "program", "kind"], (*PROGRAM, *results_of), layout)
    of_programs.add_column("status", no_wrap=True)
    tables = [(flows, rows["flows"])] if rows["flows"] or not rows["programs"] else []
    if rows["programs"]:
        tables.append((of_programs, rows["programs"]))
        tables[0][0].title = line(results.title) or None
    if not layout.together:
        tables.append((links, rows["links"]))
    if rows["classes"]:
        tables.append((_table([*titles, "class", "link"], CLASS, layout), rows["classes"]))
    hidden = sum(_fill(table, filled, layout) for table, filled in tables)
    hidden += more + sum(group[0].brief[1] for group in groups)
    latency, more = _latency(groups, paths, titles, layout)
    return [*latency, *(table for table, _ in tables), *requests], hidden + more


def _is_full(rows: list[list[str]]) -> bool:
    """Return whether a table has reached its maximum number of rows.

    If the table is full, append an empty row, which is counted as omitted. In a large sweep, it
    would take long to read all seeds of a row that is not shown.
    """
    if len(rows) < MAX_ROWS:
        return False
    rows.append([])
    return True


def _harms(results: Results) -> list[TableQuantity]:
    """Return a column for each competitor whose harm is measured with runs in which the competitor
    is absent. Each column shows how much the competitor harms the throughput of all
    other flows and sources."""
    names = harm.competitors(run.without for run in results.points)
    metric = find("harm.throughput", "flow")
    return [TableQuantity(f"harm by {line(name)}", harm.by(metric, name)) for name in names]


def _sources(
    groups: Sequence[Sequence[Run]], shown: Callable[[Mapping[str, Any]], bool]
) -> list[tuple[Sequence[Run], int, Mapping[str, Any]]]:
    """Return a tuple for each source of traffic that a table shows. The tuple contains the runs of
    the sweep point, the index of the source in a run, and the source's summary.
    """
    return [
        (group, i, part)
        for group in groups
        for i, part in enumerate(_of_run(group[0])["traffic"])
        if shown(part)
    ]


def _latency(
    groups: Sequence[Sequence[Run]],
    paths: Sequence[str],
    titles: Sequence[str],
    layout: ResultsLayout,
) -> tuple[list[Table], int]:
    """Return the table of the sources that measure latency."""
    sources = _sources(
        groups,
        lambda part: any(quantity.metric.value(part) is not None for quantity in LATENCY),
    )
    quantities = [
        quantity
        for quantity in LATENCY
        if any(quantity.metric.value(part) is not None for *_, part in sources)
    ]
    if not quantities:
        return [], 0
    table = _table([*titles, "source", "kind"], quantities, layout)
    table.title = "latency (median and 99th percentile)"
    return [table], _fill(table, _rows(sources, paths, quantities, ("name", "kind")), layout)


def _requests(
    groups: Sequence[Sequence[Run]],
    paths: Sequence[str],
    titles: Sequence[str],
    layout: ResultsLayout,
) -> tuple[list[Table], int]:
    """Return a table with a row for each source that has requests. The table shows the completion
    times by size of request.
    """
    sources = _sources(groups, lambda part: "completions" in part)
    bounds = sorted(
        {bin_["upto_bytes"] for _, _, part in sources for bin_ in part["completions"]["bins"]}
    )
    if not bounds:
        return [], 0
    quantities: list[TableQuantity] = [
        _of("requests", "requests", "flow"),
        _of("done", "requests_completed", "flow"),
        *(_of_bin(upto) for upto in bounds),
    ]
    table = _table([*titles, "source"], quantities, layout)
    table.title = "mean completion time of requests by size, up to"
    return [table], _fill(table, _rows(sources, paths, quantities, ("name",)), layout)


def _rows(
    sources: Sequence[tuple[Sequence[Run], int, Mapping[str, Any]]],
    paths: Sequence[str],
    quantities: Sequence[TableQuantity],
    named: Sequence[str],
) -> list[list[str]]:
    """Return a row of labels and values for each source. The first row of a sweep point
    begins with the labels of the sweep point.
    """
    rows: list[list[str]] = []
    last: Sequence[Run] | None = None
    for group, i, part in sources:
        if _is_full(rows):
            continue
        values = [_over_seeds(group, value, partial(_source, index=i)) for value in quantities]
        labels = [line(_short(group[0].labels.get(path, ""))) for path in paths]
        first = _first(int(group is last), labels)
        rows.append([*first, *(part[name] for name in named), *values])
        last = group
    return rows


def _source(summary: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    found: Mapping[str, Any] = summary["traffic"][index]
    return found


def _of_bin(upto_bytes: int) -> TableQuantity:
    """Return the column that shows the mean completion time (in ms) of requests up to this size."""
    title = f"{_size(upto_bytes)} ms"
    name = next((name for name, bound in BINS if bound == upto_bytes), None)
    if name is not None:
        return _of(title, f"completion_s.{name}", "flow", 1e3)
    # A summary that another version of tailback wrote may have different bins.
    read = of_bin(upto_bytes, "completion_s.mean")
    return TableQuantity(title, Metric("completion_s", "flow", "s", "", read, "requests"), 1e3)


def _size(in_bytes: int) -> str:
    return f"{in_bytes // 1_000_000} MB" if in_bytes >= 1_000_000 else f"{in_bytes // 1_000} kB"


def _table(
    names: Iterable[str], quantities: Iterable[TableQuantity], layout: ResultsLayout
) -> Table:
    table = Table(
        title_justify="left", box=None, pad_edge=False, collapse_padding=not layout.one_line
    )
    for name in names:
        table.add_column(name, no_wrap=True)
    for quantity in quantities:
        table.add_column(_lines(quantity.title, layout), justify="right", no_wrap=True)
    return table


def _fill(table: Table, rows: Sequence[Sequence[str]], layout: ResultsLayout) -> int:
    """Add at most `MAX_ROWS` rows. Return the number of omitted rows."""
    for cells in rows[:MAX_ROWS]:
        table.add_row(*(cell if layout.one_line else _BREAK.sub("\n", cell) for cell in cells))
    return max(0, len(rows) - MAX_ROWS)


_BREAK = re.compile(r"(?<=\d) (?=[±−(])")
"""Matches the places where a table cell may have a line break: before the interval, or before the
count of runs."""


def _lines(text: str, layout: ResultsLayout) -> str:
    return text if layout.one_line else text.replace(" ", "\n")


def _of_run(run: Run) -> Mapping[str, Any]:
    return run.brief[0]


def _senders(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*summary["flows"], *summary["traffic"]]


def _sender(summary: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    """Return the flow or source with this index, without building the list of `_senders`."""
    flows: Sequence[Mapping[str, Any]] = summary["flows"]
    traffic: Sequence[Mapping[str, Any]] = summary["traffic"]
    return flows[index] if index < len(flows) else traffic[index - len(flows)]


def _program(summary: Mapping[str, Any], index: int) -> Any:
    return programs(summary)[index]


def _own(results: Results) -> list[TableQuantity]:
    """Return a column for each number that programs wrote to their result files."""
    groups = results.groups()
    first = (_of_run(group[0]) for group in groups)
    names = dict.fromkeys(n for summary in first for p in programs(summary) for n in p["results"])
    for name in FAULTS:
        if name in names and not any(_has(run, name) for group in groups for run in group):
            del names[name]
    return [_of(line(name), f"results.{name}", "flow") for name in names]


FAULTS = ("too_long", "qlog_records_lost")
"""Counters of errors in stacks. A column with only zeros is left out."""


def _has(run: Run, counter: str) -> bool:
    """Return whether this counter is above 0 for any program."""
    return any(program["results"].get(counter) for program in programs(_of_run(run)))


def _status(ended: Sequence[Mapping[str, int | None]]) -> str:
    """Return the exit status of the program on the sender's and on the receiver's side. A program
    that ran until the end of the run has no status."""
    sides = [
        ", ".join(dict.fromkeys("\u2013" if s[side] is None else str(s[side]) for s in ended))
        for side in ("sender", "receiver")
    ]
    return " / ".join(sides)


def _link(summary: Mapping[str, Any], name: str) -> Any:
    return summary["queues"][name]


def _class(summary: Mapping[str, Any], name: str) -> Any:
    return next((part for part in summary["classes"] if part["name"] == name), None)


def _short(label: str) -> str:
    """Return a swept value as the table shows it. Inline tables are shortened, as in figures."""
    if not label.startswith("{"):
        return label
    # Import `tailback.plot` only here, because most commands do not need it, and the import is
    # slow.
    from tailback.plot import words

    return words.value(label)


def _first(index: int, labels: list[str]) -> list[str]:
    """Return a sweep point's labels for its first row, and empty cells for its other rows."""
    return labels if index == 0 else [""] * len(labels)


Part = Callable[[Mapping[str, Any]], Any]
"""Returns the part of a run's summary that a row of a table shows."""


def _estimate(group: Sequence[Run], quantity: TableQuantity, part: Part) -> Estimate:
    readings = [pooling.read(quantity.metric, part(_of_run(run))) for run in group]
    return pooling.over_runs(quantity.metric, readings).scaled(quantity.scale)


def _over_seeds(group: Sequence[Run], quantity: TableQuantity, part: Part) -> str:
    counted = quantity.metric.at_least is None
    return with_spread(_estimate(group, quantity, part), counted=counted)


def _finished(group: Sequence[Run], part: Part) -> str:
    """Return the number of runs in which a transfer finished, as text. Return an empty text for a
    flow that is not a transfer of a given size."""
    found = _estimate(group, DONE, part)
    if found.n == 0 and found.at_least is None:
        return ""
    return f"{found.n} of {found.of}"
