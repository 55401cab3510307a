"""Lists the set-up, why each value was chosen, and what differs from the publication."""

from __future__ import annotations

# Each row has an item of the set-up, its value, and the basis of the value.
DECLARED: tuple[tuple[str, str, str], ...] = (
    ("bottleneck", "50 Mbit/s (counting whole frames), one bottleneck in each direction", "stated"),
    (
        "shaper",
        'htb with the burst that tc computes (`burst = "tc"`)',
        "stated: the publication's htb class has a rate and a ceiling but no burst",
    ),
    (
        "queue",
        "`fq_codel flows 1`, which is a single CoDel queue, with tc's default for ECN",
        "stated",
    ),
    ("round-trip time", "half of the delay is added in each direction, before the queue", "stated"),
    (
        "requests",
        "900 requests in each row. The times between requests are exponential with a mean of 200 "
        "ms. Sizes are lognormal, with a 5th percentile of 64 kB and a 95th percentile of 2 MB",
        "the publication's random generator has a fixed seed (`golang.org/x/exp/rand`), so every "
        "row has the same requests. The README explains how to generate them",
    ),
    (
        "rows",
        "one run for each round-trip time: requests alone, then beside CUBIC, then beside Prague. "
        "A competitor stops 10 s after the last request, and the next one starts",
        "stated, and in the order of the published table; in the publication, a row ends with its "
        "last response",
    ),
    (
        "a request",
        "uses an idle connection, or the first that becomes free while it opens a new one. After a "
        "response, and until the next request, connections without a request are closed",
        "Go's HTTP client (`http.Transport`) and `CloseIdleConnections`; "
        "in the simulator, the ACK that completes the handshake carries the request",
    ),
    (
        "when the server closes",
        "at 232, 352, 472 and 592 s: the server's host remembers a connection only then, and only "
        "if the client closed less than 60 s before",
        "the server duplicates the descriptor of each connection, and leaves the copy to the "
        "garbage collector. These are the times of its collections, measured with the same code, "
        "Go 1.15.15 and these requests (232, 352 and 472 s; with Go 1.16.15 and with a longer "
        "round-trip time, up to 5 s later). 60 s: `tcp_fin_timeout`",
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
        "statistic and each seed. Seeds differ only in the starts of flows and requests, by up to "
        "a round-trip time",
        "stated; the publication ran each case once",
    ),
    (
        "spread of a harm",
        "95 % interval over blocks of 50 requests, drawn with replacement, of all seeds",
        "the publication does not give an interval",
    ),
    (
        "offloads",
        "on (`path.offloads`), so packets in the queue contain several segments",
        "the publication leaves them on",
    ),
    (
        "what hosts remember",
        "a host remembers RTT, reordering and ssthresh of a destination for its next connections, "
        "also in later rows",
        "Linux before 5.6 does so, and the hosts of a round-trip time stay up for all of its rows. "
        "The publication does not state its kernel release; in autumn 2020 the L4S team's kernel "
        "was based on 5.4",
    ),
)

# Changes to the set-up after the first comparison. Each row has an item, its old value, its new
# value and the reason.
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
    (
        "the publication's requests",
        "each seed drew other requests; harm within 20 % in 15 of 18 values, times in 18 of 27",
        "the 900 requests of the publication",
        "its random generator has a fixed seed",
    ),
    (
        "one run for all rows",
        "a run for each row",
        "rows follow each other in one run, on hosts that remember",
        "the publication's program does so",
    ),
    (
        "connections that become ready late",
        "stayed idle until the next response",
        "are closed, if no request came since the last response",
        "`CloseIdleConnections` does so until the next request",
    ),
    (
        "when the server closes",
        "at once, so that every response changed what its host remembers",
        "at the garbage collections of the server's program",
        "the server's program closes descriptors only then",
    ),
    (
        "a late FIN",
        "its host stored the window and ssthresh of the last ACK; harm by CUBIC at 80 ms 0.224, "
        "harm within its spread in 9 of 18 values",
        "if the connection was idle for longer than its timeout, the FIN first shrinks the window, "
        "often below ssthresh, and then ssthresh is not stored; 0.108, and 11",
        "Linux does so (`tcp_cwnd_application_limited`); a test found that the engines differed",
    ),
    (
        "offloads",
        "off in the simulator, which did not have them; harm within 20 % in 15 of 18 values and "
        "within its spread in 11, times in 19 of 27",
        "on; 13, 9 and 20",
        "the publication leaves them on. The values fit worse, but both engines agree better: harm "
        "by CUBIC at 10 ms 0.413 instead of 0.438 (Linux 0.416), at 20 ms 0.249 instead of 0.332 "
        "(Linux 0.274)",
    ),
    (
        "the first delayed ACK",
        "some segments later than on Linux, and on Linux some segments too early because of unread "
        "data; harm within 20 % in 13 of 18 values and within its spread in 9, times in 20 of 27",
        "at the same segment on both engines; 13, 8 and 18",
        "a comparison of the ACKs of both engines found the difference",
    ),
    (
        "data on the kernel engine",
        "passed to TCP without a copy, so that packets were seldom full; harm by CUBIC at 10 ms "
        "0.392",
        "copied by TCP, as most applications do; 0.416",
        "a comparison of the sizes of packets on both engines found the difference",
    ),
)

# Open questions. Each row has a question, what was tried, the result, and the verdict.
QUESTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "at 80 ms, harm by CUBIC is too small on both engines, and on Linux at 10 and 20 ms too",
        "servers that close at once, and hosts that remember nothing (2 seeds, Linux)",
        "20 ms: harm 0.362 at once and 0.253 without memory, published 0.355; but alone 277 ms and "
        "241 ms, published 243.0. 80 ms: 0.202 and 0.048, published 0.338; alone 683 and 600 ms, "
        "published 599.9",
        "open. Times alone need hosts that do not remember yet, times beside CUBIC hosts that do. "
        "The order in which the garbage collector closes is not known, and decides which ssthresh "
        "is kept",
    ),
    (
        "beside Prague, requests take longer here",
        "packets of several segments (`path.offloads`), as in the publication",
        "geometric mean at 10 ms 1572 ms, and 1496 ms without; published 1171.3 ms",
        "open. The harm to the geometric mean is within 5 %, because it is close to 1",
    ),
)
