//! Parses the command line of an endpoint.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const USAGE: &str = "usage: transfer server|client ADDRESS:PORT [--cc NAME] [--no-ecn] \
    [--no-gso] [--no-pacing] [--qlog DIR] [--threads N] [--bytes N] [--seconds S]";

/// The options of the command line.
pub struct Options {
    pub server: bool,
    pub address: SocketAddr,
    pub control: String,
    pub ecn: bool,
    pub gso: bool,
    pub pacing: bool,
    pub qlog: Option<PathBuf>,
    /// Number of worker threads. If this is 0, everything runs on the first thread.
    pub threads: usize,
    /// Number of bytes to request. 0 requests data without end.
    pub bytes: u64,
    pub seconds: Option<Duration>,
}

impl Options {
    /// Parses a command line. The first of `controls` is the default congestion control.
    pub fn read(
        mut words: impl Iterator<Item = String>,
        controls: &[&str],
    ) -> Result<Options, String> {
        let role = words.next().ok_or(USAGE)?;
        let server = match role.as_str() {
            "server" => true,
            "client" => false,
            _ => return Err(USAGE.to_owned()),
        };
        let address = words.next().ok_or(USAGE)?;
        let found = address.to_socket_addrs();
        let mut found = found.map_err(|e| format!("{address}: {e}"))?;
        let mut options = Options {
            server,
            address: found.next().ok_or("no address")?,
            control: controls[0].to_owned(),
            ecn: true,
            gso: true,
            pacing: true,
            qlog: None,
            threads: 0,
            bytes: 0,
            seconds: None,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--no-ecn" => options.ecn = false,
                "--no-gso" => options.gso = false,
                "--no-pacing" => options.pacing = false,
                "--cc" => options.control = value(&word, words.next())?,
                "--qlog" => options.qlog = Some(value::<String>(&word, words.next())?.into()),
                "--threads" => options.threads = value(&word, words.next())?,
                "--bytes" => options.bytes = value(&word, words.next())?,
                "--seconds" => {
                    let seconds: f64 = value(&word, words.next())?;
                    let time = Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())?;
                    options.seconds = Some(time);
                }
                other => return Err(format!("{other}: no such option; {USAGE}")),
            }
        }
        if !controls.contains(&options.control.as_str()) {
            let known = controls.join(", ");
            return Err(format!("--cc {}: expected one of {known}", options.control));
        }
        Ok(options)
    }
}

fn value<T: FromStr>(option: &str, word: Option<String>) -> Result<T, String> {
    let word = word.ok_or_else(|| format!("{option}: a value is missing"))?;
    word.parse()
        .map_err(|_| format!("{option} {word}: not a value for it"))
}
