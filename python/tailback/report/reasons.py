"""Makes two sections that explain the results of runs. One section explains the runs of a sweep. A
second section lists the explanations that differ between the variants of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tailback.comparison.model import Comparison
from tailback.explain import Explanation, explain, words
from tailback.explain.variants import described
from tailback.figures.shares import shares
from tailback.metrics import group_of
from tailback.report.model import Block, Column, Facts, ReportFigure, Section, Table, Text, Value
from tailback.report.tables import left
from tailback.report.tables import words as words_column
from tailback.report.text import plain
from tailback.store.results import Run

MAX_ROWS = 500
MOST_POINTS = 100
"""The largest number of sweep points for which the report explains every sweep point. In a larger
sweep, the report explains only the first and the last sweep point."""
MOST_BARS = 40
MOST_PARTS = 12
MOST_ALIKE = 2
"""The largest number of flows of one group that are explained in words. The queues are explained
after all flows, so an explanation of many similar flows would leave no space for the queues."""
SEEN = 0.005


def of_sweep(groups: Sequence[Sequence[Run]], facts: Facts) -> Section:
    """Explain for the first run of each sweep point what limited each flow and what filled each
    queue."""
    chosen = [group[0] for group in groups]
    if len(chosen) > MOST_POINTS:
        chosen = [chosen[0], chosen[-1]]
    # Read the series only for the two explanations that are printed in full.
    told = {id(run) for run in (chosen[0], chosen[-1])} if chosen else set()
    found = [(run, explain(run.stored, series=id(run) in told)) for run in chosen]
    known = [
        (run, explanation) for run, explanation in found if explanation.flows or explanation.links
    ]
    if not known:
        notes = {note for _, explanation in found for note in explanation.notes}
        return Section("reasons", "Why", [Text(plain(note)) for note in sorted(notes)])
    blocks: list[Block] = []
    for run, explanation in known[:1] + (known[-1:] if len(known) > 1 else []):
        blocks.append(Text(_told(run, explanation)))
    # For a single flow, the sentences above already contain the numbers that the bars show.
    if sum(len(explanation.flows) for _, explanation in known) > 1:
        blocks.append(_bars(known, facts))
    blocks += [_times(known, facts), _queues(known, facts)]
    return Section("reasons", "Why", blocks)


def _told(run: Run, explanation: Explanation) -> str:
    at = ", ".join(f"{key} = {label}" for key, label in run.labels.items())
    paragraphs = [f"Seed {run.seed}{f' at {plain(at)}' if at else ''}, in words:"]
    parts = _few_alike(explanation).parts()[:MOST_PARTS]
    for part in parts:
        paragraphs.append(f"**{plain(part.title)}.** {plain(' '.join(part.sentences))}")
    left_out = len(explanation.parts()) - len(parts)
    if left_out:
        paragraphs.append(f"And {left_out} more: see `tailback explain`.")
    paragraphs += [plain(note) for note in explanation.notes]
    return "\n\n".join(paragraphs)


def _few_alike(explanation: Explanation) -> Explanation:
    """Return the explanation with the first flows of each group, and the pairs of these flows."""
    counts: Counter[str] = Counter()
    flows = []
    for flow in explanation.flows:
        group = group_of(flow["name"])
        counts[group] += 1
        if counts[group] <= MOST_ALIKE:
            flows.append(flow)
    names = {flow["name"] for flow in flows}
    pairs = [pair for pair in explanation.pairs if names.issuperset(pair["flows"])]
    return replace(explanation, flows=flows, pairs=pairs)


def _bars(known: Sequence[tuple[Run, Explanation]], facts: Facts) -> ReportFigure:
    rows = {}
    for run, one in known:
        at = _at(run)
        for flow in one.flows:
            name = f"{flow['name']} ({at})" if at else flow["name"]
            rows[name] = {words.SHORT_LIMITS[k]: v for k, v in flow["shares"].items()}
    cut = f" The first {MOST_BARS} of {len(rows)}." if len(rows) > MOST_BARS else ""
    chart = shares(
        dict(list(rows.items())[:MOST_BARS]),
        parts=list(words.SHORT_LIMITS.values()),
        x_title="share of the flow's time",
        part_title="held back by",
    )
    caption = f"What each flow waited for, first seed of each point.{cut}"
    return ReportFigure("limits-bars", "Where the time of each flow went", chart, caption, facts)


def _at(run: Run) -> str:
    return ", ".join(run.labels.values())


def _times(known: Sequence[tuple[Run, Explanation]], facts: Facts) -> Table:
    flows = [(run, flow) for run, one in known for flow in one.flows][:MAX_ROWS]
    limits = [
        name
        for name in words.LIMITS
        if any(flow["shares"].get(name, 0.0) >= SEEN for _, flow in flows)
    ]
    several = any(run.labels for run, _ in known)
    columns = [
        *left(*(["point"] if several else []), "flow"),
        *(Column(words.SHORT_LIMITS[name], ".1f", unit="%") for name in limits),
        Column("reductions", ".3g", unit="1/s"),
        *words_column("most of them by"),
    ]
    rows: list[list[Value]] = []
    for run, flow in flows:
        groups = flow["reductions"]["groups"]
        after = flow["reductions"]["count"] - flow["reductions"]["before_warmup"]
        row: list[Value] = [_at(run)] if several else []
        row.append(flow["name"])
        row += [100 * flow["shares"].get(name, 0.0) for name in limits]
        row.append(after / flow["time_s"] if flow["time_s"] else None)
        reasons = words.KERNEL_REASONS if flow["told_by_kernel"] else words.REASONS
        row.append(reasons[groups[0]["reason"]] if groups else None)
        rows.append(row)
    caption = "Shares of the measured time in which a flow was held back by each cause."
    return Table("limits", "What held each flow back, in numbers", columns, rows, caption, facts)


def _queues(known: Sequence[tuple[Run, Explanation]], facts: Facts) -> Table:
    links = [(run, link) for run, one in known for link in one.links][:MAX_ROWS]
    several = any(run.labels for run, _ in known)
    columns = [
        *left(*(["point"] if several else []), "link", "queue"),
        Column("mean delay", ".3g", unit="ms"),
        Column("smallest in 100 ms", ".3g", unit="ms"),
        Column("of the mean", ".1f", unit="%"),
        *left("whose bytes"),
    ]
    rows: list[list[Value]] = []
    for run, link in links:
        share = link["standing_share"]
        most = list(link["shares"].items())[:3]
        row: list[Value] = [_at(run)] if several else []
        row += [link["name"], link["queue"], link["delay_mean_ms"], link["standing_ms"]]
        row.append(None if share is None else 100 * share)
        row.append(", ".join(f"{name} {words.percent(value)}" for name, value in most) or None)
        rows.append(row)
    caption = (
        "Smallest in 100 ms: the mean of the smallest delays in each 100 ms. Whose bytes: share of "
        "each flow in the bytes that waited, weighted by their time in the queue."
    )
    return Table("queues", "What made the queues", columns, rows, caption, facts)


def of_comparison(comparison: Comparison, facts: Facts) -> Section:
    """Return the section on explanations that differ between variants."""
    rows: list[list[Value]] = []
    several = len(comparison.points()) > 1
    names = [variant.name for variant in comparison.variants]
    for at in comparison.reasons:
        for reason in at.reasons:
            what, show = described(reason.quantity)
            row: list[Value] = [", ".join(at.labels.values())] if several else []
            row += [reason.name, what.rstrip(":,")]
            for name in names:
                value = show(reason.values[name])
                row.append(f"{value} *" if name in reason.differ else value)
            rows.append(row)
    if not rows:
        return Section("reasons", "Why", [])
    columns = [
        *left(*(["point"] if several else []), "of", "what"),
        *(Column(name) for name in names),
    ]
    caption = (
        "Means over seeds; * if every seed of a variant is beyond every seed of the baseline, by "
        "more than the smallest difference that matters."
    )
    if len(rows) > MAX_ROWS:
        caption += f" The first {MAX_ROWS} of {len(rows)}."
    table = Table("reasons", "Reasons that differ", columns, rows[:MAX_ROWS], caption, facts)
    return Section("reasons", "Why", [table])
