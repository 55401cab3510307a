"""The figures of the reports on DualPI2: one column per version, the baseline first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from tailback.batteries.l4s_battery import cases
from tailback.batteries.l4s_battery.gather import Gathered, Point, View
from tailback.batteries.l4s_battery.measures import normalised_rate, normalised_window, scaled
from tailback.figures.spread import Curve, Drawn, Item, Look, curves, spread
from tailback.figures.theme import CATEGORIES
from tailback.report import Facts, Figure
from tailback.report.text import plain

L, C, GREEN, PINK, SKY, AMBER = CATEGORIES[:6]
CLASSES = {"L": L, "C": C}
OTHERS = 4
"""Versions beside the baseline in one figure; more make another."""

RANKED = "Thin lines from P1 to P99, thick ones from P25 to P75, points at the mean"
STAR = "∗ differs from {base} by more than noise"

Stat = Mapping[str, float]
Values = Callable[[View, Point], Mapping[str, Stat]]
"""Statistics by series, of a version at a point."""
Flags = Callable[[Point, str, str], bool]
"""Whether point, version and series are flagged."""


def figure(
    gathered: Gathered,
    points: Sequence[Point],
    look: Look,
    values: Values,
    flags: Flags,
    *,
    name: str,
    title: str,
    caption: str,
    row: Callable[[Point], str],
    x: Callable[[Point], str],
    xs: Sequence[str],
    colours: Mapping[str, str],
    facts: Facts,
) -> list[Figure]:
    """A figure, or several where there are many versions; none where there is nothing to draw."""
    rows = list(dict.fromkeys(row(point) for point in points))
    known = [text for text in xs if any(x(point) == text for point in points)]

    def draw(columns: Sequence[str]) -> Drawn | None:
        items = [
            Item(row(point), column, x(point), series, stat, flags(point, column, series))
            for point in points
            for column in columns
            for series, stat in values(point.views[column], point).items()
            if "mean" in stat
        ]
        if not items:
            return None
        used = {item.series for item in items}
        shown = {series: colour for series, colour in colours.items() if series in used}
        return spread(items, look, rows=rows, columns=columns, xs=known, colours=shown)

    return _several(gathered, draw, name, title, caption, facts)


def _several(
    gathered: Gathered,
    draw: Callable[[Sequence[str]], Drawn | None],
    name: str,
    title: str,
    caption: str,
    facts: Facts,
) -> list[Figure]:
    base, *others = [variant.name for variant in gathered.made.variants]
    sets = [others[i : i + OTHERS] for i in range(0, len(others), OTHERS)]
    out = []
    for i, chosen in enumerate(sets):
        drawn = draw([base, *chosen])
        if drawn is not None:
            which = f", {', '.join(chosen)}" if len(sets) > 1 else ""
            suffix = f"-{i + 1}" if len(sets) > 1 else ""
            star = STAR.format(base=plain(base))
            out.append(
                Figure(f"{name}{suffix}", f"{title}{which}", drawn, f"{caption}. {star}.", facts)
            )
    return out


# --- quantities --------------------------------------------------------------------------------


def _of_classes(quantity: str, factor: float = 1.0) -> Values:
    return lambda view, _: {
        name: scaled(view.classes[name].get(quantity, {}), factor)
        for name in CLASSES
        if name in view.classes
    }


def _class_flags(gathered: Gathered, *quantities: str) -> Flags:
    return lambda point, variant, series: gathered.flagged(point, variant, series, *quantities)


def _utilisation(view: View, _: Point) -> dict[str, Stat]:
    found: dict[str, Stat] = {
        name: _outer(own.get("utilisation", {})) for name, own in view.classes.items()
    }
    found = {"UDP" if "udp" in name else name: stat for name, stat in found.items()}
    return {"all": _outer(view.utilisation), **found}


def _outer(stat: Stat) -> Stat:
    """P1, mean and P99 in percent."""
    return scaled({rank: stat[rank] for rank in ("p1", "mean", "p99") if rank in stat}, 100)


MARKS = {
    "L marked": L,
    "L dropped": SKY,
    "C marked": AMBER,
    "C dropped": C,
    "UDP marked": "#66c2a5",
    "UDP dropped": GREEN,
}


def _marks(view: View, _: Point) -> dict[str, Stat]:
    found: dict[str, Stat] = {}
    for name, own in view.classes.items():
        short = "UDP" if "udp" in name else name
        for quantity, word in (("mark_share", "marked"), ("drop_share", "dropped")):
            stat = own.get(quantity, {})
            # What never happens is not drawn as a row of zeros.
            if stat.get("mean"):
                found[f"{short} {word}"] = scaled(stat, 100)
    return found


def _mark_flags(gathered: Gathered) -> Flags:
    def flags(point: Point, variant: str, series: str) -> bool:
        short, word = series.split()
        name = f"{point.at.udp_in}-udp" if short == "UDP" else short
        quantity = "mark_share.mean" if word == "marked" else "drop_share.mean"
        return gathered.flagged(point, variant, name, quantity)

    return flags


RATIOS = {"rate ratio": L, "window ratio": PINK}
_RATIO = {"rate ratio": "class_rate_ratio", "window ratio": "class_window_ratio"}


def _ratios(gathered: Gathered) -> Callable[[Point, str], dict[str, Stat]]:
    def values(point: Point, variant: str) -> dict[str, Stat]:
        found: dict[str, Stat] = {}
        for series, quantity in _RATIO.items():
            value = gathered.value(point, variant, "", quantity)
            if value is None or value.mean is None or value.mean <= 0:
                continue
            stat = {"mean": value.mean}
            if value.ci95 is not None and value.ci95[0] > 0:
                stat |= {"p1": value.ci95[0], "p99": value.ci95[1]}
            found[series] = stat
        return found

    return values


# --- figures -----------------------------------------------------------------------------------

DELAY = Look("queue delay, ms", "", "log", floor=0.01)
PERCENT = Look("share, %", "", "log", floor=0.001)
RATIO = Look("ratio L / C", "", "log", rule=1.0)

_Axes = tuple[Callable[[Point], str], Callable[[Point], str], tuple[str, ...], str]
"""Row and place on the x axis of a point, what there is on that axis, its title."""

_AXES: Mapping[str, _Axes] = {
    "equal": (
        lambda p: f"{p.at.link:g} Mbit/s",
        lambda p: f"{p.at.l_rtt:g}",
        ("5", "10", "20", "50", "100"),
        "RTT, ms",
    ),
    "mixed": (
        lambda p: f"L RTT {p.at.l_rtt:g} ms",
        lambda p: "none" if p.at.c_rtt is None else f"{p.at.c_rtt:g}",
        ("none", "5", "10", "20", "50", "100"),
        "RTT of C, ms",
    ),
    "overload": (
        lambda p: f"UDP in {p.at.udp_in}",
        lambda p: f"{p.at.udp:g}",
        ("50", "70", "100", "140", "200"),
        "UDP, Mbit/s",
    ),
}


class Panels:
    """Makes the figures of one part."""

    def __init__(
        self, gathered: Gathered, part: str, axes: str, prefix: str, title: str, facts: Facts
    ) -> None:
        self.gathered = gathered
        self.points = gathered.of(part)
        self.row, self.x, self.xs, self.x_title = _AXES[axes]
        self.prefix, self.title, self.facts = prefix, title, facts
        self.over = axes == "overload"
        self.height = {"equal": 110, "mixed": 120, "overload": 120}[axes]

    def _figure(
        self,
        what: str,
        title: str,
        look: Look,
        values: Values,
        flags: Flags,
        colours: Mapping[str, str],
        caption: str,
    ) -> list[Figure]:
        full = Look(
            look.y_title, self.x_title, look.scale, look.floor, look.zero, look.rule, self.height
        )
        return figure(
            self.gathered,
            self.points,
            full,
            values,
            flags,
            name=f"{self.prefix}-{what}",
            title=f"{title}: {self.title}",
            caption=caption,
            row=self.row,
            x=self.x,
            xs=self.xs,
            colours=colours,
            facts=self.facts,
        )

    def utilisation(self) -> list[Figure]:
        """Of the link, by class."""

        def flags(point: Point, variant: str, series: str) -> bool:
            if series == "all":
                return self.gathered.flagged(point, variant, "bottleneck", "utilisation")
            name = f"{point.at.udp_in}-udp" if series == "UDP" else series
            return self.gathered.flagged(point, variant, name, "utilisation.mean")

        return self._figure(
            "utilisation",
            "Utilisation",
            Look("utilisation, %", "", "log", floor=0.01)
            if self.over
            else Look("utilisation, %", ""),
            _utilisation,
            flags,
            {"all": "#52606d", **CLASSES, "UDP": GREEN},
            "Frame bytes over the link's rate, each second: lines from P1 to P99, points at the "
            "mean; all traffic, and that of each class, short flows included",
        )

    def delay(self) -> list[Figure]:
        """Per packet."""
        return self._figure(
            "delay",
            "Queue delay",
            DELAY,
            _of_classes("delay_ms"),
            _class_flags(self.gathered, "delay_ms.mean", "delay_ms.p99"),
            CLASSES,
            f"Queue delay of each packet, by class. {RANKED}; below 0.01 ms drawn at 0.01 ms",
        )

    def window(self) -> list[Figure]:
        """Rate times delay."""
        return self._figure(
            "window",
            "Window",
            Look("window, kB", "", "log"),
            _of_classes("window_bytes", 1e-3),
            _class_flags(self.gathered, "window_bytes.mean"),
            CLASSES,
            "Window of each long flow, each second: its rate times base RTT and mean queue delay. "
            f"{RANKED}",
        )

    def rate(self) -> list[Figure]:
        """Of the long flows."""
        return self._figure(
            "rate",
            "Rate per flow",
            # Beside UDP little is left.
            Look("Mbit/s", "", "log", floor=0.01) if self.over else Look("Mbit/s", ""),
            _of_classes("rate_mbit"),
            _class_flags(self.gathered, "rate_mbit.mean"),
            CLASSES,
            f"Frame rate of each flow, each second. {RANKED}",
        )

    def marks(self) -> list[Figure]:
        """And drops."""
        return self._figure(
            "marks",
            "Marks and drops",
            PERCENT,
            _marks,
            _mark_flags(self.gathered),
            MARKS,
            "Marks over packets forwarded, drops over packets and drops, each second, in percent. "
            f"{RANKED}; below 0.001 % drawn at 0.001 %; what never happened is not drawn",
        )

    def ratios(self) -> list[Figure]:
        """Of rates and windows."""
        read = _ratios(self.gathered)
        by_view = {id(view): name for p in self.points for name, view in p.views.items()}
        return self._figure(
            "ratios",
            "Rate ratio and window ratio",
            RATIO,
            lambda view, point: read(point, by_view[id(view)]),
            lambda point, variant, series: self.gathered.flagged(
                point, variant, "", _RATIO[series]
            ),
            RATIOS,
            "Mean over the flows of L over that of C; lines are 95 % intervals over seeds",
        )

    def completions(self) -> list[Figure]:
        """Of short flows, at one round-trip time."""
        rtts = [p.at.l_rtt for p in self.points]
        rtt = 10.0 if 10.0 in rtts else next(iter(rtts), None)
        points = [p for p in self.points if p.at.l_rtt == rtt]
        bins = list(
            dict.fromkeys(
                upto
                for p in points
                for view in p.views.values()
                for found in view.completions.values()
                for upto, _ in found
            )
        )
        items = {
            column: [
                Item(
                    self.row(p),
                    column,
                    _size(upto),
                    name.removesuffix("-web"),
                    stat,
                    self.gathered.flagged(p, column, name, f"normalised.{cases.SIZES.get(upto)}"),
                )
                for p in points
                for name, found in p.views[column].completions.items()
                for upto, stat in found
                if "mean" in stat
            ]
            for column in [variant.name for variant in self.gathered.made.variants]
        }
        if not any(items.values()):
            return []
        rows = list(dict.fromkeys(self.row(p) for p in points))
        look = Look("normalised", "size up to, kB", height=self.height)

        def draw(columns: Sequence[str]) -> Drawn:
            own = [item for column in columns for item in items[column]]
            return spread(
                own,
                look,
                rows=rows,
                columns=columns,
                xs=[_size(upto) for upto in sorted(bins)],
                colours=CLASSES,
            )

        caption = (
            "Normalised completion time of short flows by size, (size / link rate + 2 RTT) / "
            f"actual time, 1 at best. {RANKED}"
        )
        return _several(
            self.gathered,
            draw,
            f"{self.prefix}-completions",
            f"Completion of short flows at {rtt:g} ms: {self.title}",
            caption,
            self.facts,
        )


def _size(upto_bytes: int) -> str:
    return f"{upto_bytes / 1000:g}"


EQUAL_SPLITS = tuple(f"{n}-{n}" for n in range(1, 11))
SPLITS = tuple(f"{n}-{10 - n}" for n in range(11))


def combinations(gathered: Gathered, facts: Facts) -> list[Figure]:
    """A.4: normalised rate and window per flow against the combination."""
    points = gathered.of("flows")
    out: list[Figure] = []
    for name, combos, what in (
        ("a4-equal", EQUAL_SPLITS, "as many flows in each class"),
        ("a4-splits", SPLITS, "ten flows"),
    ):
        chosen = [p for p in points if f"{p.at.l_flows}-{p.at.c_flows}" in combos]

        def draw(
            columns: Sequence[str], chosen: Sequence[Point] = chosen, combos: Sequence[str] = combos
        ) -> Drawn | None:
            items = [
                Item(row, column, _combination(p), series, stat, _normal_flag(gathered, p, *key))
                for p in chosen
                for column in columns
                for row, series, stat in normalised(p, column)
                for key in [(column, series, row)]
            ]
            if not items:
                return None
            known = {item.x for item in items}
            return spread(
                items,
                Look("", "flows L-C", rule=1.0, height=140),
                rows=list(_NORMALISED),
                columns=columns,
                xs=[combo for combo in combos if combo in known],
                colours=CLASSES,
            )

        out += _several(
            gathered,
            draw,
            name,
            f"Normalised rate and window per flow, 40 Mbit/s, 10 ms: {what}",
            "Rate of each flow over link / N; its window over C / (n_L / (q_L + RTT_L) + n_C / "
            f"(q_C + RTT_C)), each second. {RANKED}",
            facts,
        )
    return out


_NORMALISED = {"normalised rate": "rate_mbit.mean", "normalised window": "window_bytes.mean"}


def _combination(point: Point) -> str:
    return f"{point.at.l_flows}-{point.at.c_flows}"


def _normal_flag(gathered: Gathered, point: Point, variant: str, series: str, row: str) -> bool:
    return gathered.flagged(point, variant, series, _NORMALISED[row])


def normalised(point: Point, variant: str) -> list[tuple[str, str, dict[str, float]]]:
    """Row, class and statistic of the normalised rate and window."""
    view = point.views[variant]
    total = sum(group.flows for group in view.groups.values())
    out = []
    for name in view.groups:
        own = view.classes[name]
        # Both are proportional to what was measured, so that ranks keep their places.
        rate = normalised_rate(1.0, point.at.link, total)
        window = normalised_window(1.0, point.at.link, view.groups.values())
        for row, quantity, factor in (
            ("normalised rate", "rate_mbit", rate),
            ("normalised window", "window_bytes", window),
        ):
            stat = scaled(own.get(quantity, {}), factor)
            if "mean" in stat:
                out.append((row, name, stat))
    return out


def tails(gathered: Gathered, parts: Mapping[str, str], facts: Facts) -> list[Figure]:
    """A.5: what share of packets waited longer, 120 Mbit/s and 10 ms."""
    chosen = {
        title: point
        for part, title in parts.items()
        for point in gathered.of(part)
        if (point.at.link, point.at.l_rtt) == (120.0, 10.0)
    }
    lines = {
        variant.name: [
            Curve(title, variant.name, name, found)
            for title, point in chosen.items()
            for name in CLASSES
            if (found := ccdf(point.views[variant.name], name))
        ]
        for variant in gathered.made.variants
    }
    if not any(lines.values()):
        return []
    longest = max(x for own in lines.values() for line in own for x, _ in line.points)

    def draw(columns: Sequence[str]) -> Drawn:
        return curves(
            [line for column in columns for line in lines[column]],
            Look("packets, %", "queue delay longer than, ms", "log", floor=1e-4, height=170),
            rows=list(chosen),
            columns=columns,
            colours=CLASSES,
            x_domain=(0.0, longest),
        )

    base, *_ = gathered.made.variants
    made = _several(
        gathered,
        draw,
        "a5-delay",
        "Queue delay at 120 Mbit/s, 10 ms",
        "Share of packets that waited longer (CCDF), seeds together",
        facts,
    )
    # Curves have no stars.
    star = f" {STAR.format(base=plain(base.name))}."
    return [Figure(f.id, f.title, f.chart, f.caption.removesuffix(star), f.facts) for f in made]


def ccdf(view: View, name: str, steps: int = 40) -> list[tuple[float, float]]:
    """Delay in ms and the percentage of packets that waited longer, `steps` points in a decade."""
    frames = [
        run.histogram(f"delay_ns.{name}", link=next(iter(run.summary["queues"])))
        for run in view.runs
    ]
    if not frames:
        return []
    merged = pl.concat(frames).group_by("lower", "width").agg(pl.col("count").sum()).sort("lower")
    total = int(merged["count"].sum())
    if not total:
        return []
    out: list[tuple[float, float]] = []
    left, last = total, None
    for lower, width, count in merged.select("lower", "width", "count").iter_rows():
        left -= count
        if left <= 0:
            break
        share = 100 * left / total
        if last is None or share <= last * 10 ** (-1 / steps):
            out.append(((lower + width) / 1e6, share))
            last = share
    return out
