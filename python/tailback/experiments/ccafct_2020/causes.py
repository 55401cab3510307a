"""The set-up with the basis of each part, and where it differs from the source."""

from __future__ import annotations

#: What, value here, basis.
DECLARED: tuple[tuple[str, str, str], ...] = (
    ("bottleneck", "50 Mbit/s of frames, an instance in each direction", "stated"),
    (
        "shaper",
        'htb with the burst that tc computes (`burst = "tc"`)',
        "stated: the class has a rate and a ceiling and no burst",
    ),
    ("queue", "`fq_codel flows 1`: one CoDel queue, with ECN as tc has it", "stated"),
    ("round-trip time", "half in each direction, before the queue", "stated"),
    (
        "requests",
        "gaps of 200 ms in the mean, exponential; sizes lognormal between P5 and P95 of 64 kB and "
        "2 MB; as many as come in 180 s",
        "stated; the source counts to 900, and its generator begins with the same state in every "
        "run, so that all its rows have the same requests; here the seed draws others",
    ),
    (
        "a request",
        "a connection of its own: the client connects, data comes with the server's first round",
        "stated: HTTP without reuse; the request itself takes no time here",
    ),
    ("CUBIC of requests", "without ECN", "stated: `tcp_ecn = 2` on their hosts"),
    (
        "competitor",
        "one flow in the direction of the data, 20 s before, with Accurate ECN",
        "stated: `iperf3 -R`, `tcp_ecn = 3` on its hosts",
    ),
    ("Prague, CUBIC", "as in l4s-tests-2020", "the same kernel"),
    (
        "statistics",
        "geometric mean, median and P95 by nearest rank over the requests of a run",
        "stated",
    ),
    ("harm", "(with - alone) / with of each, seed by seed", "stated; the source has one run"),
    (
        "offloads",
        "every segment is a packet",
        "the source leaves them on: on the interfaces of namespaces the queue's packets are then "
        "of several segments; not in the simulator",
    ),
    (
        "remembered ssthresh",
        "none",
        "kernels before 5.6 remember one for each host; the release is not said",
    ),
)

#: What was changed after the comparison: what, before, after, why.
CHANGED: tuple[tuple[str, str, str, str], ...] = ()

#: Question, what was tried, what came out, verdict.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = ()
