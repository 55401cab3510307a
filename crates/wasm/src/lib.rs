//! Makes the simulator usable in a browser. A web page passes a scenario to the simulator. The
//! results and the run ids equal those of a native run, byte by byte.
//!
//! | module | purpose |
//! |---|---|
//! | `face` | has the functions that the page calls |
//! | `lab` | holds one scenario and one run, and answers queries about them |
//! | `watch` | records the packets at one link: rates and delays over time, and each packet's stay |
//! | `log` | describes the events of a run in words |
//!
//! The page writes the input of a call to the memory at the address that `lab_take` returns. The
//! page reads the answer at the address that `lab_answer` returns. Answers are JSON or columns of
//! little-endian numbers.

mod face;
mod lab;
mod log;
mod watch;

/// Version of the engine: its release and a hash of its sources, as in native runs.
const VERSION: &str = env!("TAILBACK_ENGINE_VERSION");
