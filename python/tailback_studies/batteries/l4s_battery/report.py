"""Makes the report of `l4s-battery`, with differences, the set-up, and figures as in the DualPI2
reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from tailback.comparison.model import Cell, Judged, VariantResults
from tailback.comparison.text import difference_text, percent, with_spread_of
from tailback.metrics import is_of
from tailback.metrics.naming import identifier
from tailback.metrics.statistics import median
from tailback.report.comparison import csv_of, described, facts_of, how_to_read, label_of
from tailback.report.model import Block, Column, Facts, Mark, Report, Section, Table, Text, Value
from tailback.report.tables import left, right
from tailback.report.tc import qdisc
from tailback.report.text import code, plain
from tailback.store.points import Key, point_key
from tailback.store.results import Run
from tailback_studies.batteries.l4s_battery.combinations import combinations
from tailback_studies.batteries.l4s_battery.gather import Gathered
from tailback_studies.batteries.l4s_battery.panels import Panels
from tailback_studies.batteries.l4s_battery.tails import tails
from tailback_studies.batteries.side_by_side import BatteryComparison

CLEAREST = 30
"""Number of differences that are listed one by one."""
EQUAL = {"1-1": ("A.1", "1-1"), "1h-1h": ("A.2", "1h-1h"), "1l-1l": ("A.3", "1l-1l")}


def of(comparison: BatteryComparison) -> Report:
    """Build the report of a comparison of versions."""
    facts = facts_of(comparison)
    gathered = Gathered(comparison)
    titles = {part.name: part.title for part in comparison.parts}
    sections = [
        Section("summary", "What differs beyond noise", _summary(comparison, facts)),
        Section("versions", "Versions", _versions(comparison, facts)),
    ]
    for part, (number, kind) in EQUAL.items():
        if part in titles:
            panels = Panels(gathered, part, "equal", f"eq-{kind}", f"equal RTT, {kind}", facts)
            sections.append(
                Section(
                    f"eq-{kind}",
                    f"{number} Equal RTT, {kind}",
                    [
                        *panels.utilisation(),
                        *panels.delay(),
                        *panels.window(),
                        *panels.marks(),
                        *panels.ratios(),
                        *panels.completions(),
                    ],
                )
            )
    if "flows" in titles:
        sections.append(Section("flows", "A.4 Flow combinations", combinations(gathered, facts)))
    equal = {part: f"equal RTT, {kind}" for part, (_, kind) in EQUAL.items() if part in titles}
    sections.append(Section("tails", "A.5 Queue delay, CCDF", tails(gathered, equal, facts)))
    if "mixed-rtt" in titles:
        mixed = Panels(gathered, "mixed-rtt", "mixed", "mixed", "mixed RTT, 40 Mbit/s", facts)
        sections += [
            Section("mixed-rates", "B.1 Mixed RTT: rates", [*mixed.rate(), *mixed.ratios()]),
            Section("mixed-queue", "B.2 Mixed RTT: queue", [*mixed.delay(), *mixed.marks()]),
        ]
    if "overload" in titles:
        over = Panels(
            gathered, "overload", "overload", "overload", "overload, 100 Mbit/s, 10 ms", facts
        )
        blocks = [*over.delay(), *over.rate(), *over.marks(), *over.utilisation()]
        sections.append(Section("overload", "C.1 Overload", blocks))
    sections.append(Section("how", "How to read it", [Text("\n\n".join(_how(comparison)))]))
    judged = _judged(comparison)
    return Report(
        name=comparison.id,
        title=comparison.title,
        lead=f"{plain(', '.join(v.name for v in comparison.others))} against "
        f"{plain(comparison.baseline.name)}: "
        f"{len(comparison.flagged())} of {judged} differences are more than noise.",
        meta=[
            *(
                (label_of(comparison, variant), described(variant))
                for variant in comparison.variants
            ),
            ("battery", _battery(comparison)),
            ("comparison", comparison.id),
        ],
        sections=[section for section in sections if section.blocks],
        files={"cells.csv": csv_of(comparison)},
    )


def _battery(made: BatteryComparison) -> str:
    quick = ", quick: shorter runs and fewer points" if made.quick else ""
    presets = "".join(f"; {preset.name}: {preset.doc}" for preset in made.presets)
    parts = ", ".join(part.name for part in made.parts)
    return f"{made.battery.name}{quick}; parts {parts}; {len(made.points())} points{presets}"


def _judged(comparison: BatteryComparison) -> int:
    return sum(d.q is not None for cell in comparison.cells for d in cell.differences.values())


# --- what differs ------------------------------------------------------------------------------


def _summary(comparison: BatteryComparison, facts: Facts) -> list[Block]:
    blocks: list[Block] = [Text("\n\n".join(_sentences(comparison)))]
    blocks += [_by_quantity(comparison, variant, facts) for variant in comparison.others]
    flagged = comparison.flagged()
    if flagged:
        blocks.append(_clearest(comparison, flagged, facts))
    if comparison.failures:
        blocks.append(
            Text("\n\n".join(f"**Failed**: {plain(text)}" for text in comparison.failures))
        )
    return blocks


def _sentences(comparison: BatteryComparison) -> list[str]:
    out = []
    for variant in comparison.others:
        differences = [
            (c, d) for c in comparison.cells if (d := c.differences.get(variant.name)) is not None
        ]
        flagged = [(c, d) for c, d in differences if d.flagged]
        told = [d for _, d in differences if d.q is not None]
        if not flagged:
            text = f"of {len(told)} differences none is more than noise"
            same = len(differences) - len(told)
            if same:
                text += f"; {same} values are the same in every run or were measured once"
            out.append(f"**{plain(variant.name)}**: {text}.")
            continue
        groups: dict[tuple[str, str], list[Judged]] = {}
        for c, d in flagged:
            groups.setdefault((c.quantity, c.name), []).append(d)
        most = sorted(groups.items(), key=lambda item: -len(item[1]))[:3]
        words = []
        for (quantity, name), ds in most:
            middle = median([d.relative for d in ds if d.relative is not None])
            where = f" of {plain(name)}" if name else ""
            words.append(
                f"{identifier(quantity)}{where} at {len(ds)} points (median {percent(middle)})"
            )
        out.append(
            f"**{plain(variant.name)}**: {len(flagged)} of {len(told)} differences are more than "
            f"noise; most of them {', '.join(words)}."
        )
    out += [f"{plain(note[0].upper() + note[1:])}." for note in comparison.notes()]
    return out


def _by_quantity(comparison: BatteryComparison, variant: VariantResults, facts: Facts) -> Table:
    """Return a table with a row for each quantity of a class, and a column for each part."""
    groups: dict[tuple[str, str], dict[str, list[Judged]]] = {}
    shown: set[tuple[str, str]] = set()
    for cell in comparison.cells:
        d = cell.differences.get(variant.name)
        if d is not None:
            key = (cell.quantity, cell.name)
            groups.setdefault(key, {}).setdefault(str(cell.params["part"]), []).append(d)
            if not cell.nothing:
                shown.add(key)
    # Order the rows like the metrics of `l4s-battery`. The order in which the quantities occur is
    # not enough, because the first scenarios may not have all of them.
    order = {name.split(".", 1)[1]: i for i, name in enumerate(comparison.battery.metrics)}
    rows: list[list[Value]] = []
    for (quantity, name), by_part in sorted(
        groups.items(), key=lambda item: order.get(item[0][0], len(order))
    ):
        if (quantity, name) not in shown:
            continue
        row: list[Value] = [identifier(quantity), name]
        for part in comparison.parts:
            differences = by_part.get(part.name)
            if not differences:
                row.append(None)
                continue
            flagged = sum(d.flagged for d in differences)
            middle = percent(median([d.relative for d in differences if d.relative is not None]))
            text = f"{flagged}/{len(differences)}, {middle}"
            row.append(Mark(text, "info") if flagged else text)
        rows.append(row)
    columns = [*left("quantity", "of"), *right(*(part.name for part in comparison.parts))]
    caption = (
        "Number of points with a difference beyond noise / number of points; then the median "
        f"difference over all points, in percent of {plain(comparison.baseline.name)}. Cells "
        "with a difference beyond noise have a grey background. Quantities that are 0 everywhere "
        "are left out."
    )
    title = f"{variant.name} against {comparison.baseline.name}, by part"
    number = comparison.others.index(variant) + 1
    return Table(f"by-quantity-{number}", title, columns, rows, caption, facts)


def _clearest(
    comparison: BatteryComparison, flagged: list[tuple[Cell, str, Judged]], facts: Facts
) -> Table:
    def clearness(item: tuple[Cell, str, Judged]) -> tuple[float, float]:
        _, _, d = item
        return (d.q if d.q is not None else 1.0, -abs(d.effect_size or 0.0))

    columns = [
        *left("part", "point", "of", "quantity", "version"),
        *right(comparison.baseline.name, "version’s", "difference", "effect, d", "q"),
    ]
    rows: list[list[Value]] = [
        [
            str(cell.params["part"]),
            str(cell.params["case"]),
            cell.name or cell.kind,
            cell.metric.title,
            variant,
            with_spread_of(cell.values.get(comparison.baseline.name)),
            with_spread_of(cell.values.get(variant)),
            difference_text(d),
            None if d.effect_size is None else f"{d.effect_size:+.1f}",
            None if d.q is None else f"{d.q:.1g}",
        ]
        for cell, variant, d in sorted(flagged, key=clearness)[:CLEAREST]
    ]
    caption = (
        "Sorted by q, then by effect size (Cohen's d of the differences seed by seed). cells.csv "
        "has all differences."
    )
    return Table("clearest", "The clearest differences", columns, rows, caption, facts)


# --- what was run ------------------------------------------------------------------------------


def _versions(comparison: BatteryComparison, facts: Facts) -> list[Block]:
    columns = [Column(word, align="left", words=True) for word in ("version", "what", "value")]
    rows: list[list[Value]] = []
    for variant in comparison.variants:
        runs = list(variant.results)
        items: list[tuple[str, str]] = [
            ("set", plain(", ".join(f"{k} = {v}" for k, v in variant.sets.items()) or "nothing")),
            *_lines("qdisc", runs, lambda run: qdisc(_queue(run))),
            *_lines("L", runs, lambda run: _sender(run, "L")),
            *_lines("C", runs, lambda run: _sender(run, "C")),
            ("engine", plain(f"{variant.engine} {variant.engine_version}")),
            ("kernel", plain(_kernel(variant))),
            ("follows", plain(_follows(runs))),
        ]
        for i, (what, text) in enumerate((w, t) for w, t in items if t):
            name = f"**{plain(variant.name)}**" if i == 0 else ""
            rows.append([name, what, text])
    caption = (
        "Parameters as `tc` prints them, from the stored runs; parameters that only the simulator "
        "has are in brackets. L and C are the senders of the long flows."
    )
    return [Table("versions", "Parameters, engines and hashes", columns, rows, caption, facts)]


def _queue(run: Run) -> Mapping[str, object]:
    queue: Mapping[str, object] = run.manifest["canonical"]["links"][0]["queue"]
    return queue


def _lines(what: str, runs: Iterable[Run], read: Callable[[Run], str]) -> list[tuple[str, str]]:
    """Return a setting of the runs as text.

    If the setting depends on the link rate, return each of its values with the rates.
    """
    links: dict[str, set[float]] = {}
    seen: set[Key] = set()
    for run in runs:
        point = point_key(run)
        if point in seen:
            continue
        seen.add(point)
        text = read(run)
        rate = run.manifest["canonical"]["links"][0]["rate"]
        if text:
            links.setdefault(text, set()).add(rate / 1e6 if isinstance(rate, int) else 0.0)
    if len(links) == 1:
        return [(what, code(next(iter(links))))]
    return [
        (f"{what}, {', '.join(f'{rate:g}' for rate in sorted(rates))} Mbit/s", code(text))
        for text, rates in links.items()
    ]


def _sender(run: Run, name: str) -> str:
    flows = run.manifest["canonical"]["flows"]
    flow = next((f for f in flows if is_of(f["name"], name)), None)
    if flow is None:
        return ""
    cc = flow["cc"]
    options = [f"{key} {_word(value)}" for key, value in cc.get("options", {}).items()]
    return " ".join([cc["name"], *options, "ecn" if flow["ecn"] else "no ecn"])


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _kernel(variant: VariantResults) -> str:
    """Return the guest kernel and the user's modules with their hashes."""
    first = next(iter(variant.results), None)
    environment = first.manifest.get("environment") if first else None
    kit = environment.get("kit") if isinstance(environment, Mapping) else None
    if not kit:
        return variant.kernel or ""
    modules = {found for run in variant.results for found in _modules(run.manifest["canonical"])}
    known = kit.get("extra") or {}
    texts = [
        f"module {name} {str(known[name])[:16]}" if name in known else f"module {name}"
        for name in sorted(modules)
    ]
    kit_name = f"build {variant.kernel or ''} {str(kit.get('hash', ''))[:16]}".replace("  ", " ")
    return ", ".join([f"Linux {kit.get('kernel', '')}", kit_name, *texts])


def _modules(canonical: object) -> set[str]:
    """Return the kernel modules that a canonical scenario names."""
    if isinstance(canonical, Mapping):
        own = {canonical["module"]} if isinstance(canonical.get("module"), str) else set()
        return own.union(*map(_modules, canonical.values()))
    if isinstance(canonical, list):
        return set().union(*map(_modules, canonical))
    return set()


def _follows(runs: Iterable[Run]) -> str:
    found: dict[str, None] = {}
    for run in runs:
        found.update(dict.fromkeys(f"{k}: {v}" for k, v in run.manifest["follows"].items()))
    return "; ".join(sorted(found))


def _how(comparison: BatteryComparison) -> list[str]:
    return [
        "Every version ran the same points with the same seeds. Queue delay is measured for each "
        "packet. Rate, window, utilisation, marks and drops are measured in each second, and their "
        "percentiles use nearest ranks. The first 4 s plus 40 times the largest RTT do not count. "
        "A percentile in a figure is the mean over seeds of the percentiles of the runs.",
        *_seeds(comparison),
        *how_to_read(comparison),
    ]


def _seeds(comparison: BatteryComparison) -> list[str]:
    """Describe the rule for the number of seeds.

    Also state how many sweep points have each number of seeds.
    """
    if comparison.rule is None:
        return []
    looks = comparison.rule.looks
    counts = Counter(len(seeds) for seeds in comparison.baseline.seeds.values())
    points = ", ".join(f"{counts[look]} points have {look} seeds" for look in looks)
    thresholds = ", ".join(code(text) for text in comparison.battery.thresholds)
    return [
        f"The results decide the number of seeds of a point. After {_listed(looks)} seeds, each "
        f"difference is tested against the thresholds {thresholds}, as {code('compare --fail-if')} "
        f"tests them. Each test has the level {100 * comparison.rule.level:.3g} %. A point gets no "
        "more seeds after a test in which every difference is beyond its threshold or within it. "
        f"Here, {points}. Because differences are tested up to {len(looks)} times, their p values "
        f"are multiplied by {len(looks)}. Intervals are not corrected."
    ]


def _listed(looks: Sequence[int]) -> str:
    *most, last = map(str, looks)
    return f"{', '.join(most)} and {last}" if most else last
