//! The agent: the first process of the guest.
//!
//! The agent reads `/job/job.json`, runs the job and writes the result to `/results`. The agent
//! prints messages for the host to the console, one per line. The messages begin with `tailback:`.
//! To start a program, the agent starts itself again as a new process, which sets up the program's
//! host.

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
