//! The agent: the first process of the guest.
//!
//! It reads `/job/job.json`, runs the job and writes its result to `/results`. It prints its
//! messages on the console, one line each. They begin with `tailback:`, and the host reads these
//! lines. The agent also starts itself again, to set up the host of a program and to be the first
//! process there.

mod agent;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().collect();
    if let [_, word, rest @ ..] = words.as_slice()
        && word == agent::launch::WORD
    {
        return ExitCode::from(agent::launch::be_host(rest) as u8);
    }
    match agent::run() {
        Ok(()) => {}
        Err(error) => println!("tailback: error {}", error.replace('\n', "\\n")),
    }
    agent::power_off()
}
