"""Describes the set-up with the basis of each part, and its differences from the source."""

from __future__ import annotations

#: Item of the set-up, value here, basis.
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
        "stated. The source makes 900 requests, and its generator is not seeded, so all its rows "
        "have the same requests. In tailback each seed draws other requests",
    ),
    (
        "a request",
        "a connection of its own: the client connects, data comes with the server's first round",
        "the source closes idle connections after each request. In tailback the request packet "
        "itself takes no time",
    ),
    ("CUBIC of requests", "without ECN", "stated: `tcp_ecn = 2` on the hosts of the requests"),
    (
        "competitor",
        "one flow in the direction of the data, which starts 20 s earlier, with Accurate ECN",
        "stated: `iperf3 -R`, `tcp_ecn = 3` on the hosts of the competitor",
    ),
    ("Prague, CUBIC", "as in l4s-tests-2020", "the same kernel"),
    (
        "statistics",
        "geometric mean, median and P95 by nearest rank over the requests of a run",
        "stated",
    ),
    (
        "harm",
        "(with - alone) / with, for each statistic, seed by seed",
        "stated; the source has one run",
    ),
    (
        "offloads",
        "every segment is a packet",
        "the source leaves offloads on, so that packets in its queue have several segments. The "
        "simulator does not have offloads",
    ),
    (
        "remembered ssthresh",
        "none",
        "kernels before 5.6 remember an ssthresh for each host; the source does not state its "
        "release",
    ),
)

#: Changes that were made after the comparison: item, before, after, reason.
CHANGED: tuple[tuple[str, str, str, str], ...] = (
    (
        "data segments of Accurate ECN",
        "1448 bytes of payload; harm within 20 % in 10 of 18 cells",
        "1436 bytes, because each segment carries the option",
        "Linux's segments carry it (`tcp_current_mss`)",
    ),
)

#: Open questions: question, what was tried, result, verdict.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "alone, requests take longer than in the source, the more so the longer the round-trip "
        "time is",
        "Linux itself with the offloads that the source left on (`--engine kernel`, 1 seed, "
        "80 ms); CUBIC without `hystart` (1 seed, 80 ms)",
        "geometric mean 708.8 ms on Linux and 708.1 without hystart; 708.5 in the simulator (2 "
        "seeds)",
        "excluded: TCP of the simulator, offloads, hystart. A possible cause is the source's HTTP "
        "client: a request that is still connecting takes any connection that becomes idle "
        "meanwhile, with its large window. This happens more often the longer connecting takes. "
        "Not tried, because in tailback each request has its own connection",
    ),
    (
        "beside CUBIC, requests take less time than in the source",
        "Linux itself as above; an initial ssthresh for the requests, as old kernels remember it "
        "for a host (`initial_ssthresh`, 1 seed, 10 ms)",
        "median 251.4 ms on Linux; 302.1 ms with 20 segments, 238.0 with 60",
        "excluded: TCP of the simulator against Linux 7.3, offloads. Open: kernels before 5.6 "
        "remember the ssthresh of a host, which has an effect of the right size. The source does "
        "not state its release, and the remembered value changes from request to request",
    ),
)
