//! The agent: the first process of the guest.
//!
//! It reads `/job/job.json`, carries it out and leaves its result in
//! `/results`. What it has to say goes to the console, one line each, and
//! begins with `tailback:`; the host reads these lines. Started again by itself, it makes the
//! host of a program and is the first process there.

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
