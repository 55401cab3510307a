//! The simulator for a browser, kept as thin as possible: a page gives it a scenario and gets what
//! native runs measure, in the same bytes and under the same run ids.
//!
//! | module | what |
//! |---|---|
//! | `face` | the functions that the page calls |
//! | `lab` | one scenario, one run at a time, and the answers about them |
//! | `watch` | the packets at one link: rates and delays over time, and each packet's stay |
//! | `log` | what happened in a run, in words |
//!
//! The page writes the input of a call to the memory that `lab_take` returns, and reads the answer
//! at `lab_answer`. Answers are JSON or columns of little-endian numbers.

mod face;
mod lab;
mod log;
mod watch;

/// Release and hash of the engine's sources, as in native runs.
const VERSION: &str = env!("TAILBACK_ENGINE_VERSION");
