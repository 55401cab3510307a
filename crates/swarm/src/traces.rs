//! Traces that scenarios of the swarm name: each has a different shape.

/// Names of the traces.
pub const NAMES: &[&str] = &[
    "one", "steady", "bursts", "start", "sparse", "slowing", "rare", "uneven",
];

/// The text of a trace, milliseconds of delivery opportunities; an error for a
/// name that is not in [`NAMES`].
pub fn text(name: &str) -> Result<String, String> {
    let times: Vec<u64> = match name {
        "one" => vec![1],
        "steady" => (0..1000).collect(),
        "bursts" => (0..1000).map(|i| i / 50).collect(),
        "start" => std::iter::repeat_n(0, 100).chain([10]).collect(),
        "sparse" => vec![0, 1_000_000],
        "slowing" => (0..300).map(|i| i * i).collect(),
        "rare" => vec![5, 5, 5, 700_000_000, 1_000_000_000],
        "uneven" => (0..5000).map(|i| i / 7).collect(),
        _ => return Err(format!("there is no trace {name}")),
    };
    Ok(times.iter().map(|time| format!("{time}\n")).collect())
}
