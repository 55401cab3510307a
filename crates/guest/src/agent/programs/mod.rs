//! Runs programs on their own hosts: starts them, waits for them, asks them to end, and stores
//! their output.
//!
//! | file | content |
//! |---|---|
//! | `launch` | start of a program: its namespaces and limits |
//! | `root` | the root folder of a program |
//! | `bare` | the part that every root folder has: memory, devices, packages |
//! | `image` | a root folder made from a container image |
//! | `interop` | the environment of endpoints of the QUIC interop runner |
//! | `ready` | checks whether a server is ready |
//! | `kept` | a program's standard output and error |
//! | `output` | a program's output files |
//!
//! During a run, the agent gets events when a program exits or writes output. Before the run, it
//! checks at fixed intervals whether servers are ready.

mod bare;
mod image;
mod interop;
mod kept;
pub mod launch;
mod output;
mod ready;
mod root;

use tailback_guest::job::{Job, Program, Ready, Side};

use super::io;
use super::setup::Namespaces;
use super::sys::process::Child;
use super::sys::{self, Poll, READABLE, Timer};
use super::token::{self, PROGRAM_EXIT, PROGRAM_OUTPUT, TIMER, token};
use interop::Downloads;
use kept::Kept;

/// The guest's uptime when the first program starts, in ns. The uptime must not be near 0, because
/// programs might then assume that the machine is still booting.
const UPTIME_NS: u64 = 60_000_000_000;

/// Time between two checks of whether a server is ready, in ns.
const LOOK_NS: u64 = 10_000_000;

/// Servers must be ready within this time, in ns.
const READY_NS: u64 = 10_000_000_000;

/// How long a program may take to end after tailback has asked it to end, in ns.
pub const GRACE_NS: u64 = 1_000_000_000;

/// How a program ended, if it ended by itself. A program ended by itself if tailback neither killed
/// the program nor asked it to end.
#[derive(Clone, Copy)]
pub struct End {
    /// Exit status, or 128 plus the number of the signal that ended the program.
    pub status: i32,
    /// Time at which the program ended, in ns.
    pub at_ns: u64,
}

struct Process<'a> {
    /// Index among all processes of the run.
    index: usize,
    program: &'a Program,
    number: usize,
    side: usize,
    runs: &'a Side,
    child: Option<Child>,
    kept: [Kept; 2],
    asked: bool,
    ended: Option<End>,
    /// Time at which the process was started, in ns on the guest's wall clock.
    began_ns: u64,
    /// The client's downloads, if the process was a client of the QUIC interop runner and has
    /// ended.
    downloads: Option<Downloads>,
}

pub struct Programs<'a> {
    processes: Vec<Process<'a>>,
    /// Whether the run is over. If a program ends after the run, tailback has ended the program.
    over: bool,
    happened: Vec<(u64, u32)>,
}

/// The parts of the agent that functions need to start and watch programs.
pub struct With<'w> {
    pub namespaces: &'w Namespaces,
    pub poll: &'w Poll,
    pub timer: &'w Timer,
}

impl<'a> Programs<'a> {
    pub fn open(job: &'a Job) -> Result<Programs<'a>, String> {
        let mut processes = Vec::new();
        for (number, program) in job.programs.iter().enumerate() {
            if program.interop.is_some() {
                interop::make(number)?;
            }
            for (side, runs) in program.sides.iter().enumerate() {
                let Some(runs) = runs else { continue };
                output::make(processes.len())?;
                processes.push(Process {
                    index: processes.len(),
                    program,
                    number,
                    side,
                    runs,
                    child: None,
                    kept: Default::default(),
                    asked: false,
                    ended: None,
                    began_ns: 0,
                    downloads: None,
                });
            }
        }
        if !processes.is_empty() {
            launch::check()?;
        }
        Ok(Programs {
            processes,
            over: false,
            happened: Vec::new(),
        })
    }

    /// Starts the servers one by one. Waits until each server is ready.
    pub fn prepare(&mut self, with: &With<'_>) -> Result<(), String> {
        if self.processes.is_empty() {
            return Ok(());
        }
        self.until(UPTIME_NS.max(sys::monotonic_ns() + LOOK_NS), with)?;
        for index in 0..self.processes.len() {
            let runs = self.processes[index].runs;
            let Some(ready) = &runs.ready else { continue };
            self.launch(index, with)?;
            let began = sys::monotonic_ns();
            loop {
                let process = &self.processes[index];
                if let Some(End { status, .. }) = process.ended {
                    let why = process.unsupported(status);
                    let what = format!("ended with status {status} before it was ready{why}");
                    return Err(process.failed(&what));
                }
                let now = sys::monotonic_ns();
                with.namespaces.enter(process.host())?;
                if ready::holds(ready, &process.kept[0], now - began) {
                    break;
                }
                if now - began > READY_NS {
                    let what = format!("is not ready after 10 s: {}", ready::said(ready));
                    return Err(process.failed(&what));
                }
                let wait = match ready {
                    Ready::After(ns) => (*ns).max(1),
                    _ => LOOK_NS,
                };
                self.until(now + wait, with)?;
            }
        }
        Ok(())
    }

    pub fn start(&mut self, number: usize, with: &With<'_>) -> Result<(), String> {
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            let program = process.program;
            // A random offset can move the start of a program to a time after its stop.
            let over = program.stop_ns.is_some_and(|stop| stop <= program.start_ns);
            if process.number == number && process.runs.ready.is_none() && !over {
                self.launch(index, with)?;
            }
        }
        Ok(())
    }

    pub fn stop(&mut self, number: usize) {
        for process in &mut self.processes {
            if process.number == number {
                process.signal(libc::SIGTERM);
            }
        }
    }

    pub fn kill(&mut self, number: usize) {
        for process in &mut self.processes {
            if process.number == number {
                process.signal(libc::SIGKILL);
            }
        }
    }

    pub fn on_event(
        &mut self,
        kind: u64,
        index: usize,
        now: u64,
        poll: &Poll,
    ) -> Result<(), String> {
        match kind {
            PROGRAM_OUTPUT => {
                self.processes[index / 2].kept[index % 2].read();
                Ok(())
            }
            PROGRAM_EXIT => self.on_exit(index, now, poll),
            _ => Ok(()),
        }
    }

    fn on_exit(&mut self, index: usize, now: u64, poll: &Poll) -> Result<(), String> {
        let process = &mut self.processes[index];
        let Some(child) = &process.child else {
            return Ok(());
        };
        let Some(status) = child.ended().map_err(io(&process.program.name))? else {
            return Ok(());
        };
        let _ = poll.remove(child.fd());
        process.child = None;
        for kept in &mut process.kept {
            kept.read();
        }
        if self.over {
            return Ok(());
        }
        process.ended = Some(End { status, at_ns: now });
        process.downloads = process.downloads();
        let process = &self.processes[index];
        let expected = process.program.expect;
        if process.asked {
            return Ok(());
        }
        if status == expected {
            let downloads = process.downloads.as_ref();
            return match downloads.filter(|found| status == 0 && !found.complete()) {
                None => Ok(()),
                Some(found) => Err(process.failed(&format!("ended, but {}", found.said()))),
            };
        }
        // Once all clients have ended, the exit status of a server does not matter.
        let mut clients = self.processes.iter().filter(|p| p.runs.ready.is_none());
        let server = process.runs.ready.is_some();
        if server && clients.clone().next().is_some() && clients.all(|c| c.ended.is_some()) {
            return Ok(());
        }
        // If a server ends before it is ready, [`Programs::prepare`] reports an error.
        if server && now == 0 {
            return Ok(());
        }
        let at = now as f64 / 1e9;
        let why = process.unsupported(status);
        Err(process.failed(&format!(
            "ended with status {status} at {at:.3} s, expected {expected}{why}"
        )))
    }

    pub fn watch(&self, poll: &Poll) -> Result<(), String> {
        let mut processes = self.processes.iter().enumerate();
        processes.try_for_each(|(index, process)| process.watch(index, poll))
    }

    /// Ends all programs that still run: asks them to end, waits, and then kills them. `poll` must
    /// contain only descriptors of programs, because the events of other descriptors would be lost.
    /// Virtual time passes only while the agent waits.
    pub fn end(&mut self, with: &With<'_>) -> Result<(), String> {
        self.over = true;
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            let until = sys::monotonic_ns() + GRACE_NS;
            for process in &mut self.processes {
                process.signal(signal);
            }
            while self.processes.iter().any(|p| p.child.is_some()) && sys::monotonic_ns() < until {
                self.wait(until, with)?;
            }
        }
        Ok(())
    }

    /// Returns how the sender's program and the receiver's program of an entry ended. An item is
    /// `None` if the program did not end by itself.
    pub fn ends(&self, number: usize) -> [Option<End>; 2] {
        let mut ends = [None; 2];
        for process in self.processes.iter().filter(|p| p.number == number) {
            ends[process.side] = process.ended;
        }
        ends
    }

    /// Copies the programs' output to the results. Returns warnings about incomplete output.
    pub fn keep(&self) -> Result<Vec<String>, String> {
        let mut warnings = Vec::new();
        for (index, process) in self.processes.iter().enumerate() {
            let cut = output::keep(index, process)?;
            let whose = process.whose();
            warnings.extend(cut.into_iter().map(|what| format!("{whose}: {what}")));
            if process.child.is_some() {
                warnings.push(format!("{whose}: it did not end"));
            }
        }
        Ok(warnings)
    }

    fn launch(&mut self, index: usize, with: &With<'_>) -> Result<(), String> {
        let process = &mut self.processes[index];
        with.namespaces.enter(process.host())?;
        let output = output::place(index);
        let (child, kept) =
            launch::launch(process.number, process.side, &output).map_err(io(&process.whose()))?;
        (process.child, process.kept) = (Some(child), kept);
        process.began_ns = sys::realtime_ns();
        self.processes[index].watch(index, with.poll)
    }

    /// Handles events of programs until a given time of the monotonic clock.
    fn until(&mut self, at_ns: u64, with: &With<'_>) -> Result<(), String> {
        while !self.wait(at_ns, with)? {}
        Ok(())
    }

    /// Waits for events, and handles them. Returns whether the timer expired.
    fn wait(&mut self, at_ns: u64, with: &With<'_>) -> Result<bool, String> {
        with.timer.set(at_ns).map_err(io("timer"))?;
        let mut happened = std::mem::take(&mut self.happened);
        with.poll.wait(&mut happened).map_err(io("epoll"))?;
        let mut over = false;
        for &(token, _) in &happened {
            let (kind, index) = token::parts(token);
            if kind == TIMER {
                with.timer.clear();
                over = true;
            }
            self.on_event(kind, index, 0, with.poll)?;
        }
        self.happened = happened;
        Ok(over)
    }
}

impl Process<'_> {
    fn watch(&self, index: usize, poll: &Poll) -> Result<(), String> {
        let Some(child) = &self.child else {
            return Ok(());
        };
        let add = |fd, kind, index| poll.add(fd, READABLE, token(kind, index));
        for (which, kept) in self.kept.iter().enumerate() {
            if let Some(fd) = kept.fd() {
                add(fd, PROGRAM_OUTPUT, 2 * index + which).map_err(io("epoll"))?;
            }
        }
        add(child.fd(), PROGRAM_EXIT, index).map_err(io("epoll"))
    }

    /// Checks the downloads, if the process is a client of the QUIC interop runner.
    fn downloads(&self) -> Option<Downloads> {
        let interop = self.program.interop.as_ref().filter(|_| self.side == 1)?;
        Some(Downloads::of(self.number, interop))
    }

    /// Explains an exit status with which an endpoint of the interop runner reports that it does
    /// not support the test case.
    fn unsupported(&self, status: i32) -> &'static str {
        match self.program.interop {
            Some(_) if status == 127 => " (the endpoint does not support this test case)",
            _ => "",
        }
    }

    fn host(&self) -> usize {
        [self.program.sender, self.program.receiver][self.side]
    }

    fn side_name(&self) -> &'static str {
        ["sender", "receiver"][self.side]
    }

    fn whose(&self) -> String {
        format!("program {} ({})", self.program.name, self.side_name())
    }

    fn signal(&mut self, signal: libc::c_int) {
        if let Some(child) = &self.child {
            self.asked = true;
            child.signal(signal);
        }
    }

    fn failed(&self, what: &str) -> String {
        let run = self.runs.run.join(" ");
        let whose = self.whose();
        // Interop runner endpoints write their messages to log files.
        let log = self.program.interop.as_ref();
        let (name, said) = match (self.kept[1].last(), self.kept[0].last()) {
            (said, _) if !said.is_empty() => ("stderr".to_owned(), said),
            (_, said) => log
                .and_then(|_| output::last_log(self.index))
                .map(|(name, said)| (format!("/logs/{name}"), said))
                .unwrap_or(("stdout".to_owned(), said)),
        };
        match said.is_empty() {
            true => format!("{whose}: {run}: {what}; it said nothing"),
            false => format!("{whose}: {run}: {what}; {name}:\n{said}"),
        }
    }
}
