//! Code that the QUIC endpoints share: their command line, request and output.
//!
//! ```text
//! transfer server ADDRESS:PORT [--cc NAME] [--no-ecn] [--no-gso] [--no-pacing]
//!     [--qlog DIR]
//! transfer client ADDRESS:PORT [--bytes N] [--seconds S]
//! ```
//!
//! The client opens a stream and writes the number of bytes that it requests, as 8 bytes in big
//! endian. 0 requests data without end. The client prints a line of JSON with the received bytes,
//! the time and the goodput, and also writes it to $OUT/result.json.

mod certificate;
mod options;

use std::error::Error;
use std::future::{Future, pending};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep_until;

pub use certificate::{any_certificate, certificate};
pub use options::Options;

pub type Failure = Box<dyn Error + Send + Sync>;

pub const PROTOCOL: &[u8] = b"tailback";

/// Size of the flow control windows, in bytes. They must not limit the rate: 64 MiB is the BDP of
/// 3.4 Gbit/s at 160 ms.
pub const WINDOW: u32 = 64 << 20;

/// Number of bytes of one read or write.
pub const CHUNK: usize = 1 << 18;

/// Idle timeout, longer than any run.
pub const IDLE: Duration = Duration::from_secs(600);

/// Parses the command line and runs an endpoint until it ends.
pub fn run<F>(controls: &[&str], endpoint: impl FnOnce(Options) -> F) -> ExitCode
where
    F: Future<Output = Result<(), Failure>>,
{
    let options = match Options::read(std::env::args().skip(1), controls) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let mut builder = match options.threads {
        0 => tokio::runtime::Builder::new_current_thread(),
        threads => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    let runtime = builder.enable_all().build().map_err(Failure::from);
    let done = runtime.and_then(|runtime| runtime.block_on(endpoint(options)));
    if let Err(error) = done {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Waits for the signal that tailback sends at the end of a run. The program then exits normally.
pub async fn told_to_end() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => drop(terminate.recv().await),
        Err(_) => pending().await,
    }
}

/// Waits until a client that started at `began` has run for its `--seconds`, or receives a signal.
pub async fn end_of(options: &Options, began: Instant) {
    let time = options.seconds;
    let over = async {
        match time {
            Some(time) => sleep_until((began + time).into()).await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = over => {}
        () = told_to_end() => {}
    }
}

/// Divides the bytes that a client has requested into pieces. The last piece may be shorter.
pub struct Pieces {
    rest: Option<u64>,
}

impl Pieces {
    pub fn of(asked: [u8; 8]) -> Pieces {
        let asked = u64::from_be_bytes(asked);
        Pieces {
            rest: (asked > 0).then_some(asked),
        }
    }
}

impl Iterator for Pieces {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Some(rest) = &mut self.rest else {
            return Some(CHUNK);
        };
        let piece = usize::try_from(*rest).unwrap_or(CHUNK).min(CHUNK);
        *rest -= piece as u64;
        (piece > 0).then_some(piece)
    }
}

/// Prints a client's result. `complete` is true if the server ended the transfer, not the client.
pub fn tell(options: &Options, got: u64, began: Instant, complete: bool) -> Result<(), Failure> {
    let took = began.elapsed().as_secs_f64();
    let goodput = got as f64 * 8.0 / took / 1e6;
    let line = format!(r#"{{"bytes":{got},"goodput_mbit":{goodput},"seconds":{took}}}"#);
    println!("{line}");
    if let Some(folder) = std::env::var_os("OUT") {
        std::fs::write(Path::new(&folder).join("result.json"), line + "\n")?;
    }
    if complete && options.bytes > 0 && got != options.bytes {
        return Err(format!("got {got} of {} bytes", options.bytes).into());
    }
    Ok(())
}
