//! A thin wrapper around the simulator for a browser. A page passes a scenario. It gets the same
//! results as a native run, byte by byte, with the same run ids.
//!
//! | module | what |
//! |---|---|
//! | `face` | the functions that the page calls |
//! | `lab` | one scenario, one run at a time, and the answers about them |
//! | `watch` | the packets at one link: rates and delays over time, and each packet's stay |
//! | `log` | the events of a run, in words |
//!
//! The page writes the input of a call to the memory at the address that `lab_take` returns. It
//! reads the answer at the address that `lab_answer` returns. Answers are JSON or columns of
//! little-endian numbers.

mod face;
mod lab;
mod log;
mod watch;

/// Release and hash of the engine's sources, as in native runs.
const VERSION: &str = env!("TAILBACK_ENGINE_VERSION");
