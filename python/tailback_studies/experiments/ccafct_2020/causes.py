"""Lists the set-up, why each value was chosen, and what differs from the publication."""

from __future__ import annotations

#: Each row has an item of the set-up, its value, and the basis of the value.
DECLARED: tuple[tuple[str, str, str], ...] = (
    ("bottleneck", "50 Mbit/s of frames, one bottleneck in each direction", "stated"),
    (
        "shaper",
        'htb with the burst that tc computes (`burst = "tc"`)',
        "stated: the htb class has a rate and a ceiling but no burst",
    ),
    ("queue", "`fq_codel flows 1`, which is one CoDel queue, with tc's default for ECN", "stated"),
    ("round-trip time", "half of it is added in each direction, before the queue", "stated"),
    (
        "requests",
        "times between requests are exponential with a mean of 200 ms; sizes are lognormal, with "
        "a 5th percentile of 64 kB and a 95th percentile of 2 MB; requests arrive for 180 s",
        "stated. The publication makes 900 requests, and its random generator has no seed, so "
        "every run has the same requests. In tailback the requests depend on the seed",
    ),
    (
        "a request",
        "uses an idle connection. If all connections are busy, the client opens a new one; if a "
        "connection becomes idle earlier, the request uses that connection. When a response is "
        "complete, connections without a request are closed",
        "the publication uses Go's HTTP client, and closes idle connections after each response; "
        "in tailback, the ACK that completes the handshake carries the request",
    ),
    ("CUBIC of requests", "without ECN", "stated: `tcp_ecn = 2` on the hosts of the requests"),
    (
        "competitor",
        "one flow with Accurate ECN. It sends in the direction of the responses and starts 20 s "
        "before the requests",
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
        "(time beside the competitor - time alone) / time beside the competitor, for each "
        "statistic and each seed",
        "stated; the publication ran each case once",
    ),
    (
        "offloads",
        "every segment is a packet",
        "the publication leaves offloads on, so packets in its queue contain several segments. "
        "The simulator does not have offloads",
    ),
    (
        "what hosts remember",
        "a host remembers RTT, reordering and ssthresh of a destination for its next connection",
        "Linux before 5.6 does so. The publication does not state its kernel release; in autumn "
        "2020 the L4S team's kernel was based on 5.4",
    ),
)

#: Changes of the set-up after the first comparison. Each row has an item, its old value, its new
#: value and the reason.
CHANGED: tuple[tuple[str, str, str, str], ...] = (
    (
        "data segments of Accurate ECN",
        "1448 bytes of payload; harm within 20 % in 10 of 18 values",
        "1436 bytes, because each segment carries the option",
        "Linux's segments carry it (`tcp_current_mss`)",
    ),
    (
        "connections of requests",
        "each request had its own; harm within 20 % in 9 of 18 values, times in 17 of 27",
        "requests share connections as in Go's HTTP client; alone, this gives 11 and 16",
        "the publication's client does",
    ),
    (
        "remembered destinations",
        "none; with shared connections harm within 20 % in 11 of 18 values, times in 16 of 27",
        "hosts remember ssthresh and RTT; 15 and 18",
        "Linux before 5.6 does",
    ),
)

#: Open questions. Each row has a question, what was tried, the result, and the verdict.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "at 80 ms, harm by CUBIC is too small, and requests alone take too long",
        "each of the two changes by itself (2 seeds)",
        "alone, geometric mean: 708 ms before, 614 ms with shared connections, 698 ms with "
        "remembered destinations too; published 599.9 ms. Harm by CUBIC: 0.05, 0.07 and 0.19; "
        "published 0.338",
        "open. Each of the two changes explains one of the two numbers. Here, a host remembers "
        "the ssthresh of a slow start that ended early, which slows all further requests. In the "
        "source this does not seem to happen",
    ),
    (
        "beside Prague, requests take longer here",
        "each of the two changes by itself (2 seeds, 20 ms)",
        "geometric mean 1434 ms with shared connections, 1846 ms with remembered destinations, "
        "1835 ms with both; published 1394 ms",
        "open. The harm is within 5 % with and without the changes, because it is close to 1",
    ),
)
