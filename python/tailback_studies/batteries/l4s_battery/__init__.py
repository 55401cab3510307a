"""The scenarios of the published DualPI2 reports: equal RTT, flow combinations, mixed RTT,
overload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tailback_studies.batteries import Part, Preset, Row
from tailback_studies.batteries.l4s_battery import cases

if TYPE_CHECKING:
    from tailback.report import Report
    from tailback_studies.batteries.side_by_side import BatteryComparison

_FOLDER = Path(__file__).parent / "scenarios"


def _files(*names: str) -> tuple[Path, ...]:
    return tuple(_FOLDER / f"{name}.toml" for name in names)


_QUICK: Mapping[str, tuple[object, ...]] = {
    "path.rtt": ("10ms", "100ms"),
    "flows.C.rtt": ("5ms", "20ms", "100ms"),
    "traffic.L-udp.rate": ("50Mbit", "100Mbit", "200Mbit"),
    "traffic.C-udp.rate": ("50Mbit", "100Mbit", "200Mbit"),
}
"""The steps of each axis that a quick run keeps."""
_QUICK_ON_KERNEL: Mapping[str, tuple[object, ...]] = {
    **_QUICK,
    "bottleneck.rate": ("4Mbit", "12Mbit", "40Mbit", "120Mbit"),
    "flows.C.rtt": ("5ms", "100ms"),
    "traffic.L-udp.rate": ("50Mbit", "100Mbit"),
    "traffic.C-udp.rate": ("50Mbit", "100Mbit"),
}
"""The steps of each axis that a quick run on Linux keeps. On Linux, a UDP datagram costs as much
computing time as ten TCP packets, so a quick run on Linux keeps fewer steps."""
_QUICK_FLOWS_ON_KERNEL = ((1, 1), (5, 5), (2, 8), (8, 2))
_QUICK_FLOWS = ((1, 1), (2, 2), (5, 5), (10, 10), (2, 8), (8, 2))


class L4sBattery:
    """The set of scenarios `l4s-battery`."""

    name = "l4s-battery"
    title = "DualPI2 versions over the L4S battery"
    parts: tuple[Part, ...] = (
        Part("1-1", "Equal RTT, 1-1", _files("equal-rtt-1-1"), "equal-rtt"),
        Part("1h-1h", "Equal RTT, 1h-1h", _files("equal-rtt-1h-1h"), "equal-rtt"),
        Part("1l-1l", "Equal RTT, 1l-1l", _files("equal-rtt-1l-1l"), "equal-rtt"),
        Part("flows", "Flow combinations", _files("flows", "flows-L", "flows-C")),
        Part("mixed-rtt", "Mixed RTT", _files("mixed-rtt", "mixed-rtt-L")),
        Part("overload", "Overload", _files("overload-L", "overload-C")),
    )
    presets: Mapping[str, Preset] = {
        preset.name: preset
        for preset in (
            Preset(
                "dctcp",
                "DCTCP instead of Prague, in L by any_ect: what Linux has",
                {
                    "bottleneck.queue.any_ect": True,
                    "flows.L.cc": "dctcp",
                    "traffic.L-web.cc": "dctcp",
                },
            ),
            Preset(
                "step-2019",
                "step threshold of two packets' time, 6 ms at 4 Mbit/s and 2 ms at 12 Mbit/s, 1 ms "
                "elsewhere, as in the reports of 2019",
                only=("equal-rtt",),
                by_row={
                    "bottleneck.rate": {
                        "4Mbit": {"bottleneck.queue.step_thresh": "6ms"},
                        "12Mbit": {"bottleneck.queue.step_thresh": "2ms"},
                        "40Mbit": {"bottleneck.queue.step_thresh": "1ms"},
                        "120Mbit": {"bottleneck.queue.step_thresh": "1ms"},
                        "200Mbit": {"bottleneck.queue.step_thresh": "1ms"},
                    }
                },
            ),
            Preset(
                "overload-5",
                "five flows in each class beside the overload, instead of one",
                {"flows.L.count": 5, "flows.C.count": 5},
                only=("overload",),
            ),
        )
    }
    kernel_preset = "dctcp"
    metrics = (
        "class.delay_ms.mean",
        "class.delay_ms.p99",
        "class.rate_mbit.mean",
        "class.window_bytes.mean",
        "class.utilisation.mean",
        "class.mark_share.mean",
        "class.drop_share.mean",
        *(f"flow.normalised.{name}" for name in cases.SIZES.values()),
        "link.utilisation",
        "run.class_rate_ratio",
        "run.class_window_ratio",
    )
    thresholds = (
        "class.rate_mbit.mean:10%",
        "class.delay_ms.mean:10%",
        "link.utilisation:10%",
    )
    quick: Mapping[str, object] = {"duration": "50s"}
    quick_on_kernel: Mapping[str, object] = {"duration": "20s"}

    def keeps(self, file: str, row: Row, *, on_kernel: bool = False) -> bool:
        """Return whether a quick run includes `row`, the values of one step of a sweep's axis."""
        if file == "flows":
            pairs = _QUICK_FLOWS_ON_KERNEL if on_kernel else _QUICK_FLOWS
            return (row["flows.L.count"], row["flows.C.count"]) in pairs
        kept = _QUICK_ON_KERNEL if on_kernel else _QUICK
        return all(row[path] in steps for path, steps in kept.items() if path in row)

    def case(self, file: str, params: Row) -> str:
        """Return the name of a sweep point of a scenario file."""
        return cases.words(file, params)

    def report(self, made: BatteryComparison) -> Report:
        """Return the report of a comparison."""
        from tailback_studies.batteries.l4s_battery import report

        return report.of(made)


BATTERY = L4sBattery()
