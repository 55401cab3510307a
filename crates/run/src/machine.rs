//! What a run folder records about the machine.

use rustix::time::{ClockId, clock_gettime};

/// The machine's name.
pub fn name() -> String {
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}

/// CPU time of this thread, s.
pub fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
