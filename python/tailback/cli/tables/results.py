"""The tables at the end of `run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.table import Table

from tailback import store, terminal
from tailback.cli.tables.layout import MAX_ROWS, new_console, print_table, short_names, width_of
from tailback.foreign import line
from tailback.metrics import estimate
from tailback.metrics.parts import programs
from tailback.numbers import with_spread
from tailback.progress import is_quiet

if TYPE_CHECKING:
    from tailback.results import Results, Run


Value = Callable[[Mapping[str, Any]], float | None]

# A source of traffic has some of a flow's quantities only.
FLOW: tuple[tuple[str, Value], ...] = (
    ("Mbit/s", lambda f: f["throughput_mbit"]),
    ("RTT ms", lambda f: f["rtt_ms"]["mean"] if "rtt_ms" in f else None),
    ("p99", lambda f: f["rtt_ms"]["p99"] if "rtt_ms" in f else None),
    ("retrans", lambda f: f.get("retransmits")),
    ("drops", lambda f: f["drops"]),
    ("marks", lambda f: f["marks"]),
)
SCE: tuple[str, Value] = ("SCE", lambda of: of.get("sce_marks"))
DONE: tuple[str, Value] = ("done s", lambda f: f.get("completion_s"))
QUEUE: tuple[tuple[str, Value], ...] = (
    ("queue ms", lambda q: q["delay_ms"]["mean"]),
    ("p99", lambda q: q["delay_ms"]["p99"]),
    ("util.", lambda q: q["utilisation"]),
)
LINK: tuple[tuple[str, Value], ...] = (
    *QUEUE,
    ("drops", lambda q: q["drops"]),
    ("marks", lambda q: q["marks"]),
)

PROGRAM: tuple[tuple[str, Value], ...] = (
    ("Mbit/s", lambda p: p["throughput_mbit"]),
    ("back", lambda p: p["back_mbit"]),
    ("RTT ms", lambda p: p["rtt_ms"]["mean"]),
    ("p99", lambda p: p["rtt_ms"]["p99"]),
    ("drops", lambda p: p["drops"]),
    ("marks", lambda p: p["marks"]),
    ("done s", lambda p: p["completion_s"]),
)

CLASS: tuple[tuple[str, Value], ...] = (
    ("flow Mbit/s", lambda c: c["samples"]["rate_mbit"]["mean"] if c["samples"] else None),
    ("queue ms", lambda c: c["delay_ms"]["mean"]),
    ("p99", lambda c: c["delay_ms"]["p99"]),
    ("drops %", lambda c: _share(c["drops"], c["packets"], c["drops"])),
    ("marks %", lambda c: _share(c["marks"], c["packets"])),
)


def _share(part: int | None, *whole: int | None) -> float | None:
    """Percent of all that is counted."""
    total = sum(n for n in whole if n is not None)
    return 100 * part / total if part is not None and total else None


class Layout(NamedTuple):
    """How wide the tables become."""

    together: bool
    """The only link stands beside the first flow instead of in a table of its own."""
    full_paths: bool
    """`bottleneck.rate` instead of `rate`."""
    one_line: bool
    """An interval stands behind its mean instead of below."""


LAYOUTS = (
    Layout(True, True, True),
    Layout(False, True, True),
    Layout(False, False, True),
    Layout(False, False, False),
)


def show(results: Results) -> None:
    """One row for each point and flow, seeds together, as wide as the terminal allows.

    No number is ever cut: if nothing fits, lines are longer than the terminal.
    """
    groups = results.groups()
    # The link stands beside the first flow, if there is one.
    one_link = all(len(_of(run)["queues"]) == 1 and _senders(_of(run)) for run in results.points)
    console = new_console()
    tables: list[Table] = []
    hidden = 0
    for layout in LAYOUTS:
        if layout.together and not one_link:
            continue
        tables, hidden = _tables(results, groups, layout)
        if all(width_of(table) <= console.width for table in tables):
            break
    for table in tables:
        print_table(table)
    seeds = max((len(group) for group in groups), default=0)
    if seeds > 1:
        console.print(f"mean over {seeds} seeds ± half the 95 % interval (Student's t)")
    if hidden:
        console.print(f"{hidden} more rows; --json has them all")
    for warning in _warnings(results):
        console.print(warning, soft_wrap=True)


FEW = 3
"""So many runs are named by their ids."""


def show_where(results: Results, reused: int, runs: int) -> None:
    """Where the results are, how many were there already, and what can be done with them next.

    On stderr: the output is the table alone.
    """
    if is_quiet():
        return
    ids = list(dict.fromkeys(run.run_id for run in results.points))
    count = f"reused {reused} of {runs} runs" if runs > 1 or reused else "1 run"
    named = f": {', '.join(ids)}" if len(ids) <= FEW else ""
    usual = results.root == store.DEFAULT
    again = "tailback results show" + ("" if usual else f" --out {results.root}")
    terminal.err(f"sweep {results.root / 'sweeps' / results.id}, {count}{named}")
    terminal.err(f"next: tailback report {store.LATEST if usual else results.root}, {again}")


def _warnings(results: Results) -> list[str]:
    """What the kernels of guests warned of, with how many runs, in the order of the runs."""
    counts: dict[str, int] = {}
    for run in results.points if results.engine == "kernel" else ():
        for text in (run.manifest.get("environment") or {}).get("warnings", ()):
            counts[text] = counts.get(text, 0) + 1
    return [f"warning: {n} run{'s' if n > 1 else ''}: {text}" for text, n in counts.items()]


def _tables(
    results: Results, groups: Sequence[Sequence[Run]], layout: Layout
) -> tuple[list[Table], int]:
    """The table of flows, that of links unless they are together, that of classes if there are any,
    and how many rows are not in."""
    paths = list(dict.fromkeys(path for run in results.points for path in run.params))
    completes = any(f["completion_s"] is not None for r in results.points for f in _of(r)["flows"])
    # Of few scenarios, so that a column is there where somebody marks them.
    queues = (q for r in results.points for q in _of(r)["queues"].values())
    sce = (SCE,) if any(q["sce_marks"] for q in queues) else ()
    quantities = (*FLOW, *sce, *((DONE,) if completes else ()))
    of_link = (*LINK, *sce)
    with_jain = any(len(_of(run)["flows"]) > 1 for run in results.points)

    titles = paths if layout.full_paths else short_names(paths, {"flow", "link", "cc", "aqm"})
    requests, more = _requests(groups, paths, titles, layout)
    flows = _table([*titles, "flow", "cc"], quantities, layout)
    flows.title = line(results.title) or None
    links = _table([*titles, "link", "aqm"], of_link, layout)
    if layout.together:
        for name, _ in QUEUE:
            flows.add_column(name, justify="right", no_wrap=True)
    if with_jain:
        last = flows if layout.together else links
        last.add_column("Jain", justify="right", no_wrap=True)

    rows: dict[str, list[list[str]]] = {"flows": [], "links": [], "classes": [], "programs": []}
    results_of = _own(results)
    for group in groups:
        labels = [line(group[0].labels.get(path, "")) for path in paths]
        jain = _over_seeds(group, lambda s: s["jain"], lambda s: s)
        for i, part in enumerate(_senders(_of(group[0]))):
            values = [_over_seeds(group, v, partial(_sender, index=i)) for _, v in quantities]
            cells = [
                *_first(i, labels),
                part["name"],
                part.get("cc", part.get("kind", "")),
                *values,
            ]
            if i == 0 and layout.together:
                cells += [_over_seeds(group, value, lambda s: s["queue"]) for _, value in QUEUE]
            elif layout.together:
                cells += [""] * len(QUEUE)
            if i == 0 and with_jain and layout.together:
                cells.append(jain)
            rows["flows"].append(cells)
        for i, (name, queue) in enumerate(_of(group[0])["queues"].items()):
            values = [_over_seeds(group, v, partial(_link, name=name)) for _, v in of_link]
            cells = [*_first(i, labels), name, queue["aqm"], *values]
            if i == 0 and with_jain:
                cells.append(jain)
            rows["links"].append(cells)
        for i, part in enumerate(programs(_of(group[0]))):
            found = [
                _over_seeds(group, value, partial(_program, index=i))
                for _, value in (*PROGRAM, *results_of)
            ]
            status = _status([programs(_of(run))[i]["status"] for run in group])
            named = [part["name"], part["kind"] or ""]
            rows["programs"].append([*_first(i, labels), *named, *found, status])
        for i, part in enumerate(_of(group[0]).get("classes", ())):
            values = [_over_seeds(group, v, partial(_class, name=part["name"])) for _, v in CLASS]
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
    return [*(table for table, _ in tables), *requests], hidden


def _requests(
    groups: Sequence[Sequence[Run]], paths: Sequence[str], titles: Sequence[str], layout: Layout
) -> tuple[list[Table], int]:
    """A table of the sources that have requests: how long they took, by size."""
    sources = [
        (group, i, part)
        for group in groups
        for i, part in enumerate(_of(group[0])["traffic"])
        if "completions" in part
    ]
    bounds = sorted(
        {bin_["upto_bytes"] for _, _, part in sources for bin_ in part["completions"]["bins"]}
    )
    if not bounds:
        return [], 0
    quantities: list[tuple[str, Value]] = [
        ("requests", lambda part: part["completions"]["started"]),
        ("done", lambda part: part["completions"]["completed"]),
        *((f"{_size(upto)} ms", partial(_mean_ms, upto=upto)) for upto in bounds),
    ]
    table = _table([*titles, "source"], quantities, layout)
    table.title = "mean completion time of requests by size, up to"
    rows = []
    for group, i, part in sources:
        values = [_over_seeds(group, value, partial(_source, index=i)) for _, value in quantities]
        labels = [line(group[0].labels.get(path, "")) for path in paths]
        rows.append([*_first(i, labels), part["name"], *values])
    return [table], _fill(table, rows, layout)


def _source(summary: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    found: Mapping[str, Any] = summary["traffic"][index]
    return found


def _mean_ms(part: Mapping[str, Any], upto: int) -> float | None:
    for bin_ in part["completions"]["bins"]:
        if bin_["upto_bytes"] == upto:
            mean = bin_["completion_s"]["mean"]
            return None if mean is None else 1e3 * mean
    return None


def _size(in_bytes: int) -> str:
    return f"{in_bytes // 1_000_000} MB" if in_bytes >= 1_000_000 else f"{in_bytes // 1_000} kB"


def _table(names: Iterable[str], quantities: Iterable[tuple[str, Value]], layout: Layout) -> Table:
    table = Table(
        title_justify="left", box=None, pad_edge=False, collapse_padding=not layout.one_line
    )
    for name in names:
        table.add_column(name, no_wrap=True)
    for name, _ in quantities:
        table.add_column(_lines(name, layout), justify="right", no_wrap=True)
    return table


def _fill(table: Table, rows: Sequence[Sequence[str]], layout: Layout) -> int:
    """Adds the first rows; returns how many are left."""
    for cells in rows[:MAX_ROWS]:
        table.add_row(*(_lines(cell, layout) if "±" in cell else cell for cell in cells))
    return max(0, len(rows) - MAX_ROWS)


def _lines(text: str, layout: Layout) -> str:
    return text if layout.one_line else text.replace(" ", "\n")


def _of(run: Run) -> Mapping[str, Any]:
    """Its summary, with the flows that are shown."""
    return run.brief[0]


def _senders(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*summary["flows"], *summary["traffic"]]


def _sender(summary: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    """One of `_senders`, without a list of all for each cell."""
    flows: Sequence[Mapping[str, Any]] = summary["flows"]
    traffic: Sequence[Mapping[str, Any]] = summary["traffic"]
    return flows[index] if index < len(flows) else traffic[index - len(flows)]


def _program(summary: Mapping[str, Any], index: int) -> Any:
    return programs(summary)[index]


def _own(results: Results) -> list[tuple[str, Value]]:
    """What the files of programs say, by name."""
    first = (_of(group[0]) for group in results.groups())
    names = dict.fromkeys(n for summary in first for p in programs(summary) for n in p["results"])
    return [(line(name), partial(_result, name=name)) for name in names]


def _result(part: Mapping[str, Any], name: str) -> float | None:
    found: float | None = part["results"].get(name)
    return found


def _status(ended: Sequence[Mapping[str, int | None]]) -> str:
    """Exit status of the sender's and the receiver's side; what ran on to the end has none."""
    sides = [
        ", ".join(dict.fromkeys("\u2013" if s[side] is None else str(s[side]) for s in ended))
        for side in ("sender", "receiver")
    ]
    return " / ".join(sides)


def _link(summary: Mapping[str, Any], name: str) -> Any:
    return summary["queues"][name]


def _class(summary: Mapping[str, Any], name: str) -> Any:
    return next((part for part in summary["classes"] if part["name"] == name), None)


def _first(index: int, labels: list[str]) -> list[str]:
    """A point's labels stand in its first row only."""
    return labels if index == 0 else [""] * len(labels)


def _over_seeds(
    group: Sequence[Run], value: Value, part: Callable[[Mapping[str, Any]], Any]
) -> str:
    parts = [part(_of(run)) for run in group]
    return with_spread(estimate(value(p) if p is not None else None for p in parts))
