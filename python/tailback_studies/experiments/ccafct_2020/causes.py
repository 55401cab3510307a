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
        "gaps of 200 ms in the mean, exponential; sizes lognormal between P5 and P95 of 64 kB "
        "and 2 MB; as many requests as arrive in 180 s",
        "stated; the source counts to 900, and its generator is not seeded, so all its rows have "
        "the same requests; here each seed draws other requests",
    ),
    (
        "a request",
        "a connection of its own: the client connects, data comes with the server's first round",
        "the source closes idle connections after each request; the request itself takes no time "
        "here",
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
        "kernels before 5.6 remember one for each host; the source does not state its release",
    ),
)

#: Changes after the comparison: what, before, after, why.
CHANGED: tuple[tuple[str, str, str, str], ...] = (
    (
        "data segments of Accurate ECN",
        "1448 bytes of payload; harm within 20 % in 10 of 18 cells",
        "1436 bytes: each carries the option",
        "Linux's do (`tcp_current_mss`)",
    ),
)

#: Question, what was tried, result, verdict.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "alone, requests take longer here the longer the round-trip time is",
        "Linux itself with the offloads that the source left on (`--engine kernel`, 1 seed, "
        "80 ms); CUBIC without `hystart` (1 seed, 80 ms)",
        "geometric mean 708.8 ms on Linux and 708.1 without hystart; 708.5 here (2 seeds)",
        "excluded: TCP of the simulator, offloads, hystart. A mechanism is in the source: its "
        "HTTP client gives a request that is still connecting any connection that falls idle "
        "meanwhile, with its window. This is more frequent the longer connecting takes. Not "
        "tried: requests here only have their own connection",
    ),
    (
        "beside CUBIC, requests take less long here",
        "Linux itself as above; a first ssthresh of the requests as old kernels remember it for a "
        "host (`initial_ssthresh`, 1 seed, 10 ms)",
        "median 251.4 ms on Linux; 302.1 ms with 20 segments, 238.0 with 60",
        "excluded: TCP of the simulator against Linux 7.3, offloads. Open: kernels before 5.6 "
        "remember the ssthresh of a host, an effect of the right size. The source does not state "
        "its release, and the remembered value changes from request to request",
    ),
)
