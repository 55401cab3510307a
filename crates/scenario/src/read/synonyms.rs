//! Words from the literature, Linux and other simulators that mean a key or a name of tailback.
//! With this list, an error message can suggest the key or name, even if the user's word is spelled
//! differently.

/// For each valid name, the other words that users write for it. A name with a dot is a key of an
/// inner table.
const SYNONYMS: &[(&str, &[&str])] = &[
    // Keys of links and of the path.
    (
        "rate",
        &[
            "bandwidth",
            "bitrate",
            "bw",
            "capacity",
            "data_rate",
            "datarate",
            "link_rate",
            "speed",
            "throughput",
        ],
    ),
    (
        "rtt",
        &[
            "base_rtt",
            "basertt",
            "delay",
            "latency",
            "min_rtt",
            "minrtt",
            "one_way_delay",
            "owd",
            "ping",
            "prop_delay",
            "propagation",
            "propagation_delay",
            "round_trip_time",
        ],
    ),
    ("delay", &["latency"]),
    (
        "queue",
        &[
            "aqm",
            "discipline",
            "qdisc",
            "queue_discipline",
            "scheduler",
        ],
    ),
    (
        "queue.limit",
        &[
            "buf",
            "buffer",
            "buffer_size",
            "buffersize",
            "limit",
            "max_queue",
            "qlen",
            "qsize",
            "queue_length",
            "queue_limit",
            "queue_size",
            "queuesize",
        ],
    ),
    (
        "limit",
        &[
            "buf",
            "buffer",
            "buffer_size",
            "buffersize",
            "qlen",
            "qsize",
            "queue_length",
            "queue_size",
        ],
    ),
    (
        "loss",
        &[
            "drop_rate",
            "error_rate",
            "loss_probability",
            "loss_rate",
            "loss_ratio",
            "packet_loss",
            "plr",
        ],
    ),
    // Keys of flows.
    (
        "cc",
        &[
            "algo",
            "algorithm",
            "ca",
            "cca",
            "congestion",
            "congestion_control",
            "tcp_cc",
        ],
    ),
    (
        "bytes",
        &["data", "file_size", "flow_size", "length", "size"],
    ),
    (
        "count",
        &["copies", "flows", "n", "num", "number", "parallel"],
    ),
    ("start", &["at", "begin", "start_at", "start_time"]),
    (
        "stop",
        &[
            "duration",
            "end",
            "end_time",
            "finish",
            "stop_time",
            "until",
        ],
    ),
    (
        "initial_cwnd",
        &["cwnd", "init_cwnd", "initcwnd", "initial_window", "iw"],
    ),
    ("rwnd", &["receive_window", "rcv_wnd", "rcvwnd", "window"]),
    ("at", &["time", "when"]),
    // Keys at the top.
    (
        "duration",
        &[
            "length",
            "run_time",
            "runtime",
            "sim_time",
            "simtime",
            "simulation_time",
            "time",
        ],
    ),
    ("warmup", &["ramp_up", "settle", "transient"]),
    ("seed", &["random_seed", "rng", "rng_seed"]),
    (
        "seeds",
        &[
            "iterations",
            "repeat",
            "repeats",
            "repetitions",
            "replications",
            "runs",
            "trials",
        ],
    ),
    ("title", &["description", "name"]),
    // Congestion controls.
    ("bbr", &["bbr1", "bbrv1"]),
    ("bbr2", &["bbrv2"]),
    ("bbr3", &["bbrv3"]),
    ("cubic", &["tcp-cubic"]),
    ("dctcp", &["tcp-dctcp"]),
    ("ledbat", &["utp"]),
    ("prague", &["l4s", "tcp-prague"]),
    (
        "reno",
        &[
            "aimd",
            "new-reno",
            "newreno",
            "tcp",
            "tcp-newreno",
            "tcp-reno",
        ],
    ),
    // Queue disciplines.
    ("dualpi2", &["dual-queue", "dualq", "l4s"]),
    (
        "fifo",
        &[
            "bfifo",
            "drop-tail",
            "droptail",
            "none",
            "pfifo",
            "pfifo-fast",
            "tail-drop",
            "taildrop",
        ],
    ),
    // Kinds of traffic.
    ("audio", &["voice", "voip"]),
    ("cbr", &["constant", "udp"]),
    ("web", &["http", "https"]),
];

/// Returns the names that `word` means. Case, dashes and underscores do not matter.
pub(crate) fn meant(word: &str) -> impl Iterator<Item = &'static str> {
    let word = plain(word);
    let names = SYNONYMS.iter();
    names.filter_map(move |(name, words)| words.iter().any(|w| plain(w) == word).then_some(*name))
}

/// Returns whether `word` usually means the delay of one direction, which is half of `rtt`.
pub(crate) fn is_one_way(word: &str) -> bool {
    let words = [
        "delay",
        "latency",
        "one_way_delay",
        "owd",
        "prop_delay",
        "propagation",
        "propagation_delay",
    ];
    words.contains(&plain(word).as_str())
}

fn plain(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_mean_several_names() {
        assert_eq!(meant("Drop-Tail").collect::<Vec<_>>(), ["fifo"]);
        assert_eq!(meant("l4s").collect::<Vec<_>>(), ["prague", "dualpi2"]);
        assert_eq!(meant("latency").collect::<Vec<_>>(), ["rtt", "delay"]);
        assert_eq!(meant("rate").next(), None);
    }
}
