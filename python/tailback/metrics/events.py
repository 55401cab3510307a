"""Counts of drops, marks and retransmissions."""

from tailback.metrics.base import recorded

METRICS = (
    recorded("retransmits", "flow", "packets", "Data packets sent again.", "count"),
    recorded("timeouts", "flow", "", "Retransmission timeouts.", "count"),
    recorded("drops", "flow", "packets", "Drops of a flow's packets at every link.", "count"),
    recorded("marks", "flow", "packets", "CE marks of a flow's packets at every link.", "count"),
    recorded(
        "sce_marks", "flow", "packets", "SCE marks of a flow's packets at every link.", "count"
    ),
    recorded("packets", "link", "packets", "Packets forwarded.", "count"),
    recorded("drops", "link", "packets", "Drops of every cause.", "count"),
    recorded("marks", "link", "packets", "CE marks of every cause.", "count"),
    recorded("sce_marks", "link", "packets", "SCE marks.", "count"),
)
