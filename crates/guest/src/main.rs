//! The agent: the first process of the guest.
//!
//! It reads `/job/job.json`, carries it out and leaves its result in
//! `/results`. What it has to say goes to the console, one line each, and
//! begins with `tailback:`; the host reads these lines.

mod agent;

use std::process::ExitCode;

fn main() -> ExitCode {
    match agent::run() {
        Ok(()) => {}
        Err(error) => println!("tailback: error {}", error.replace('\n', "\\n")),
    }
    agent::power_off()
}
