"""Counts of drops, marks and retransmissions."""

from tailback.metrics.base import recorded

METRICS = (
    recorded("retransmits", "flow", "packets", "Data packets sent again."),
    recorded("timeouts", "flow", "", "Retransmission timeouts."),
    recorded("drops", "flow", "packets", "Drops of a flow's packets at every link."),
    recorded("marks", "flow", "packets", "CE marks of a flow's packets at every link."),
    recorded("sce_marks", "flow", "packets", "SCE marks of a flow's packets at every link."),
    recorded("packets", "link", "packets", "Packets forwarded."),
    recorded("drops", "link", "packets", "Drops of every cause."),
    recorded("marks", "link", "packets", "CE marks of every cause."),
    recorded("sce_marks", "link", "packets", "SCE marks."),
)
