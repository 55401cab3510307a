"""RFC 9743 section 5.2: harm to the loss rate of standard flows."""

from __future__ import annotations

from dataclasses import replace

from tailback.evaluate import measures
from tailback.evaluate.cc import bulk

CRITERION = replace(
    bulk.CRITERION,
    id="5.2.1-loss",
    title="Harm to standard flows: loss",
    source="RFC 9743 sections 5.2 and 5.2.1",
    measure=(
        "increase of the incumbent's loss rate by the tested algorithm, minus the increase by a "
        "second flow of the incumbent's algorithm"
    ),
    value=measures.share_of("incumbent", "drops"),
    better="less",
    absolute=True,
    margin=0.01,
)
