//! Link traces for generated scenarios. One of these traces lists path conditions with outages
//! instead of delivery opportunities.

/// Names of the traces.
pub const NAMES: &[&str] = &[
    "one", "steady", "bursts", "start", "sparse", "slowing", "rare", "uneven", "changing",
];

/// Returns the text of a trace: the times of delivery opportunities in milliseconds, or path
/// conditions over time. Returns an error for a name that is not in [`NAMES`].
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
        "changing" => {
            let rows = (0..200).map(|i| {
                let rate = [20.0, 0.5, 0.0, 8.25, 100.0][i % 5];
                let (delay, loss) = ((i * i) % 97, (i % 3) as f64 / 100.0);
                format!("{},{rate},{delay},{loss}\n", i as f64 * 0.05)
            });
            let header = "time_s,rate_mbit,delay_ms,loss\n".to_owned();
            return Ok(std::iter::once(header).chain(rows).collect());
        }
        _ => return Err(format!("there is no trace {name}")),
    };
    Ok(times.iter().map(|time| format!("{time}\n")).collect())
}
