"""Draws the figures of one part of `l4s-battery`, one for each quantity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tailback.figures.spread import Drawn, Item, Look, spread
from tailback.report import Facts, ReportFigure
from tailback_studies.batteries.l4s_battery import cases
from tailback_studies.batteries.l4s_battery.drawing import (
    AMBER,
    CLASSES,
    GREEN,
    PINK,
    RANKED,
    SKY,
    C,
    Flags,
    L,
    Stat,
    Values,
    figure,
    several,
)
from tailback_studies.batteries.l4s_battery.gather import BatteryPoint, Gathered, View
from tailback_studies.batteries.l4s_battery.measures import scaled


def _of_classes(quantity: str, factor: float = 1.0) -> Values:
    return lambda view, _: {
        name: scaled(view.classes[name].get(quantity, {}), factor)
        for name in CLASSES
        if name in view.classes
    }


def _class_flags(gathered: Gathered, *quantities: str) -> Flags:
    return lambda point, variant, series: gathered.flagged(point, variant, series, *quantities)


def _utilisation(view: View, _: BatteryPoint) -> dict[str, Stat]:
    found: dict[str, Stat] = {
        name: _outer(own.get("utilisation", {})) for name, own in view.classes.items()
    }
    found = {"UDP" if "udp" in name else name: stat for name, stat in found.items()}
    return {"all": _outer(view.utilisation), **found}


def _outer(stat: Stat) -> Stat:
    return scaled({rank: stat[rank] for rank in ("p1", "mean", "p99") if rank in stat}, 100)


MARKS = {
    "L marked": L,
    "L dropped": SKY,
    "C marked": AMBER,
    "C dropped": C,
    "UDP marked": "#66c2a5",
    "UDP dropped": GREEN,
}


def _marks(view: View, _: BatteryPoint) -> dict[str, Stat]:
    shares: dict[str, Stat] = {}
    for name, own in view.classes.items():
        short = "UDP" if "udp" in name else name
        for quantity, word in (("mark_share", "marked"), ("drop_share", "dropped")):
            stat = own.get(quantity, {})
            # Do not draw rows of zeros for events that never happen.
            if stat.get("mean"):
                shares[f"{short} {word}"] = scaled(stat, 100)
    return shares


def _mark_flags(gathered: Gathered) -> Flags:
    def flags(point: BatteryPoint, variant: str, series: str) -> bool:
        short, word = series.split()
        name = f"{point.at.udp_in}-udp" if short == "UDP" else short
        quantity = "mark_share.mean" if word == "marked" else "drop_share.mean"
        return gathered.flagged(point, variant, name, quantity)

    return flags


RATIOS = {"rate ratio": L, "window ratio": PINK}


_RATIO = {"rate ratio": "class_rate_ratio", "window ratio": "class_window_ratio"}


def _ratios(gathered: Gathered) -> Callable[[BatteryPoint, str], dict[str, Stat]]:
    def values(point: BatteryPoint, variant: str) -> dict[str, Stat]:
        ratios: dict[str, Stat] = {}
        for series, quantity in _RATIO.items():
            value = gathered.value(point, variant, "", quantity)
            if value is None or value.mean is None or value.mean <= 0:
                continue
            stat = {"mean": value.mean}
            if value.ci95 is not None and value.ci95[0] > 0:
                stat |= {"p1": value.ci95[0], "p99": value.ci95[1]}
            ratios[series] = stat
        return ratios

    return values


DELAY = Look("queue delay, ms", "", "log", floor=0.01)


PERCENT = Look("share, %", "", "log", floor=0.001)


RATIO = Look("ratio L / C", "", "log", rule=1.0)


_Axes = tuple[Callable[[BatteryPoint], str], Callable[[BatteryPoint], str], tuple[str, ...], str]
"""The first function returns the row of a sweep point, and the second returns the position of the
sweep point on the x axis. The other entries are the ticks and the title of the x axis."""


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
    """Makes the figures of one part of the set."""

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
    ) -> list[ReportFigure]:
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

    def utilisation(self) -> list[ReportFigure]:
        """Return the figures of the link's utilisation, by all traffic and by each class."""

        def flags(point: BatteryPoint, variant: str, series: str) -> bool:
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
            "mean; for all traffic, and for each class with its short flows",
        )

    def delay(self) -> list[ReportFigure]:
        """Return the figures of the queue delay of packets."""
        return self._figure(
            "delay",
            "Queue delay",
            DELAY,
            _of_classes("delay_ms"),
            _class_flags(self.gathered, "delay_ms.mean", "delay_ms.p99"),
            CLASSES,
            f"Queue delay of each packet, by class. {RANKED}; delays below 0.01 ms are drawn there",
        )

    def window(self) -> list[ReportFigure]:
        """Return the figures of the windows of long flows, computed as rate times delay."""
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

    def rate(self) -> list[ReportFigure]:
        """Return the figures of the rates of long flows."""
        return self._figure(
            "rate",
            "Rate per flow",
            # UDP traffic leaves TCP flows little throughput, which only a logarithmic scale makes
            # visible.
            Look("Mbit/s", "", "log", floor=0.01) if self.over else Look("Mbit/s", ""),
            _of_classes("rate_mbit"),
            _class_flags(self.gathered, "rate_mbit.mean"),
            CLASSES,
            f"Frame rate of each flow, each second. {RANKED}",
        )

    def marks(self) -> list[ReportFigure]:
        """Return the figures of the shares of marked and dropped packets."""
        return self._figure(
            "marks",
            "Marks and drops",
            PERCENT,
            _marks,
            _mark_flags(self.gathered),
            MARKS,
            "Marks over packets forwarded, drops over packets and drops, each second, in percent. "
            f"{RANKED}; values below 0.001 % are drawn at 0.001 %, and values of 0 are not drawn",
        )

    def ratios(self) -> list[ReportFigure]:
        """Return the figures of the ratios of rates and of windows."""
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

    def completions(self) -> list[ReportFigure]:
        """Return the figures of the completion times of short flows, at one round-trip time."""
        rtts = [p.at.l_rtt for p in self.points]
        rtt = 10.0 if 10.0 in rtts else next(iter(rtts), None)
        points = [p for p in self.points if p.at.l_rtt == rtt]
        bins = list(
            dict.fromkeys(
                upto
                for p in points
                for view in p.views.values()
                for by_size in view.completions.values()
                for upto, _ in by_size
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
                for name, by_size in p.views[column].completions.items()
                for upto, stat in by_size
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
        return several(
            self.gathered,
            draw,
            f"{self.prefix}-completions",
            f"Completion of short flows at {rtt:g} ms: {self.title}",
            caption,
            self.facts,
        )


def _size(upto_bytes: int) -> str:
    return f"{upto_bytes / 1000:g}"
