"""Selects the metrics to compare, which are the requested metrics or the default metrics."""

from __future__ import annotations

from collections.abc import Sequence

from tailback import metrics
from tailback.metrics import Metric

METRICS = (
    "flow.rpm",
    "flow.page_load_ms.p50",
    "flow.one_way_delay_ms.mean",
    "flow.one_way_delay_ms.p99",
    "flow.frame_delay_ms.p99",
    "flow.late_share",
    "flow.stall_s",
    "flow.throughput_mbit",
    "flow.rtt_ms.mean",
    "flow.srtt_ms_mean",
    "flow.completion_s",
    "flow.retransmits",
    "flow.drops",
    "flow.marks",
    "link.delay_ms.mean",
    "link.delay_ms.p99",
    "link.utilisation",
    "link.occupancy_bytes_mean",
    "link.drops",
    "link.marks",
    "class.delay_ms.mean",
    "class.delay_ms.p99",
    "class.rate_mbit.mean",
    "class.window_bytes.mean",
    "class.utilisation.mean",
    "class.mark_share.mean",
    "class.drop_share.mean",
    "run.jain",
    "run.throughput_ratio",
    "run.class_rate_ratio",
    "run.class_window_ratio",
)
"""The metrics that are compared by default."""


TEST_BED = (
    "flow.throughput_mbit",
    "flow.srtt_ms_mean",
    "run.throughput_total_mbit",
    "run.jain",
    "run.throughput_ratio",
)
"""The metrics that are compared by default with Flent data files, which have no other metrics."""


def select(chosen: Sequence[str]) -> list[Metric]:
    """Return the metrics with these names or paths.

    `link.drops` selects only the drops of links.
    """
    by_path: dict[tuple[str, str], Metric] = {}
    for name in chosen or METRICS:
        matches = metrics.offered(name)
        if not matches:
            raise metrics.unknown(name)
        by_path.update({(metric.on, metric.path): metric for metric in matches})
    return list(by_path.values())
