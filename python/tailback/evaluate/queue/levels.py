"""RFC 7928 sections 8.2.2 to 8.2.5: levels of congestion."""

from __future__ import annotations

from tailback.evaluate.queue.placed import pair

QUICK = {"duration": "40s"}
FLOWS = {"8.2.2": ("Mild congestion", 12), "8.2.3": ("Medium congestion", 27)}
FLOWS["8.2.4"] = ("Heavy congestion", 38)
"""Title and number of flows of each section. The numbers are 0.036, 0.081 and 0.114 times 330, the
number of packets that the path and the buffer hold."""

CRITERIA = (
    *(
        criterion
        for number, (title, flows) in FLOWS.items()
        for criterion in pair(
            number, title, "8.2-levels.toml", quick=QUICK, fixed={"flows.bulk.count": flows}
        )
    ),
    *pair("8.2.5", "Changing congestion", "8.2.5-changing.toml", quick={}),
)
