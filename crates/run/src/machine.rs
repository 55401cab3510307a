//! Reads the properties of this machine that are stored in a run folder.

#[cfg(unix)]
mod here {
    use rustix::time::{ClockId, clock_gettime};

    pub fn name() -> String {
        let names = rustix::system::uname();
        names.nodename().to_string_lossy().into_owned()
    }

    pub fn thread_cpu_s() -> f64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }
}

#[cfg(windows)]
mod here {
    pub fn name() -> String {
        std::env::var("COMPUTERNAME").unwrap_or_default()
    }

    pub fn thread_cpu_s() -> f64 {
        cpu_time::ThreadTime::try_now().map_or(0.0, |time| time.as_duration().as_secs_f64())
    }
}

/// Returns the machine's name.
pub fn name() -> String {
    here::name()
}

/// Returns the CPU time of this thread, s.
pub fn thread_cpu_s() -> f64 {
    here::thread_cpu_s()
}
