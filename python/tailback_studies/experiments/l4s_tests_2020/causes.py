"""Lists the parameters of the set-up with their sources, the published rows that are not run, and
open questions."""

from __future__ import annotations

# Each row contains a parameter of the set-up, its value in our scenarios, and the source of this
# value.
DECLARED: tuple[tuple[str, str, str], ...] = (
    (
        "bottleneck",
        "50 or 10 Mbit/s (counting the bytes of whole frames), one bottleneck in each direction",
        "stated: `qdisc bidir htb RATE`",
    ),
    (
        "shaper",
        'htb with the burst that tc computes (`burst = "tc"`)',
        "stated: the publication's htb class has a rate and a ceiling but no burst",
    ),
    (
        "round-trip times",
        "set for each flow; half of the delay is added in each direction, before the queue",
        "stated: netem runs on the middlebox's ingress, and in S1 a packet's DSCP selects the "
        "delay",
    ),
    (
        "Prague",
        "version 0.6, which carries fractions of a segment over to its next window; without RTT "
        "scaling, and without detection of classic queues or fallback",
        "Prague's older published sources also carry over fractions of a segment. One of these "
        "sources has no RTT scaling. The description of the test bed mentions neither "
        "scaling nor fallback",
    ),
    (
        "CUBIC, Reno",
        "as Linux 7.3 has them",
        "the publication does not state its kernel's release",
    ),
    (
        "ECN",
        'Accurate ECN for every flow (`ecn_feedback = "accecn"`)',
        "stated: `tcp_ecn = 3` at both ends",
    ),
    (
        "noecn",
        "in rows with this word, the classic flow does not use ECN",
        "stated: the middlebox clears the ECN field of this flow's packets before the queue",
    ),
    (
        "dualpi2",
        "Linux's defaults, except that the step threshold applies only if queue L holds more than "
        "one packet (`min_qlen_step = 2`)",
        "in the module's published source, `apply_step` requires `qdisc_qlen(l_queue) > 1` when a "
        "packet arrives",
    ),
    ("pfifo", "`limit 1000` at 50 Mbit/s, `limit 200` at 10 Mbit/s", "stated"),
    ("fq_codel, pie, red", "options of the publication; otherwise tc's defaults", "stated"),
    (
        "value",
        "mean throughput over the measured time",
        "the publication takes the mean of `tcpi_delivery_rate`, sampled every 50 ms, without "
        "zeros. tailback does not record this rate, which is measured over the last round trip",
    ),
    (
        "measured time",
        "S1: from 119 to 179 s of 180; S6: from 19 to 59 s of 60",
        "the publication's program: from 61 s (S6: 41 s) to 1 s before the last sample",
    ),
    ("start", "within one round-trip time of each other", "inferred: Flent starts both at once"),
    ("offloads", "every segment is a packet", "stated: sg, tso, gso, gro off"),
    ("ping", "none", "Flent's ping beside S1 and S6 has only 20 packets a second"),
)

# Published rows that are not reproduced. Each entry has a description, the number of
# rows, and the reason.
NOT_RUN: tuple[tuple[str, int | None, str], ...] = (
    (
        "S1 through cnq_codel_af",
        48,
        "neither Linux nor the simulator has this queue discipline of the SCE authors",
    ),
    (
        "S5, S7 and S8, which test tunnels, the ECN counters of one flow, and a Prague flow that "
        "starts first",
        None,
        "the publication has only plots and counters",
    ),
)

# Parameters changed after the first comparison with published values. Each row contains a
# parameter, its old value, its new value, and the reason.
CHANGED: tuple[tuple[str, str, str, str], ...] = (
    (
        "data segments of Accurate ECN",
        "1448 bytes of payload; S1 median 1.4 %, 90th percentile 6.7 %",
        "1436 bytes, because each segment carries the option",
        "Linux's segments carry it (`tcp_current_mss`)",
    ),
)

# Open questions: differences without a known cause. Each row contains the question, what was
# tried, the result, and the conclusion.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "beside Prague at a FIFO, CUBIC gets more in the simulator than in the publication",
        "jitter of the hosts (the table of readings); joined segments: Reno beside CUBIC on Linux, "
        "50 Mbit/s, 20 ms, `pfifo limit 1000`, from 29 to 119 s, 3 seeds, with `path.offloads` off "
        "and on",
        "jitter changes little; Reno gets 7.4 \u00b1 1.2 Mbit/s with offloads off "
        "(8.1 \u00b1 4.9 in the simulator) and 17.2 \u00b1 9.6 with offloads on",
        "excluded: lock-step. Bursts would have an effect in this direction: a sender's TCP makes "
        "bursts even without offloads, and a full FIFO drops several packets of a burst. The "
        "simulator sends single segments. Open: how much of the difference bursts explain",
    ),
    (
        "in S6 the classic flow gets more in the simulator than in the publication",
        "the readings; DCTCP in Prague's place on Linux and in the simulator, `fq_codel flows 1`, "
        "S6's times, 4 seeds",
        "no reading removes the difference; ratios on Linux and in the simulator: CUBIC with ECN "
        "32.0 \u00b1 3.5 and 31.2 \u00b1 1.0, without 41.5 \u00b1 4.2 and 36.8 \u00b1 5.0, "
        "Reno with ECN 25.9 \u00b1 2.0 and 26.0 \u00b1 0.2, without 31.7 \u00b1 4.3 and "
        "33.1 \u00b1 3.0; with "
        "`path.offloads` the ratios fall to 9.0 to 12.3 on Linux, away from the publication",
        "excluded: queue, shaper, classic flow; open: how the publication's Prague of autumn 2020 "
        "differed",
    ),
)
