//! Collects the rows of a program's series, one per record interval. The agent reads captures some
//! time after the packets were captured. The agent therefore assigns packets to intervals by their
//! capture times, and writes the rows at the end of the run.

use tailback_guest::job::Program;
use tailback_record::{ProgramSampler, ProgramState, Series};

use crate::agent::flow::INFINITE_SSTHRESH;
use crate::agent::tcp::Info;

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: u64,
    n: u64,
}

impl Mean {
    fn add(&mut self, value: u64) {
        self.sum = self.sum.saturating_add(value);
        self.n += 1;
    }

    fn get(self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / self.n as f64)
    }
}

#[derive(Clone, Copy, Default)]
struct Bin {
    /// Payload that arrived at the receiver's host and at the sender's host, in bytes.
    delivered: [u64; 2],
    /// RTTs of data from the sender's host and from the receiver's host.
    rtt: [Mean; 2],
    delay: Mean,
    socket: Option<Socket>,
}

/// The socket information that is recorded.
#[derive(Clone, Copy)]
struct Socket {
    cwnd: u32,
    ssthresh: u32,
    srtt_us: u32,
    in_flight: u32,
}

pub struct Bins {
    /// Length of an interval, in ns. 0 if nothing is recorded.
    interval_ns: u64,
    count: usize,
    bins: Vec<Bin>,
}

impl Bins {
    /// Creates all whole intervals up to the end of the run, or none if the length is 0.
    pub fn new(interval_ns: u64, end_ns: u64) -> Bins {
        Bins {
            interval_ns,
            count: end_ns.checked_div(interval_ns).unwrap_or(0) as usize,
            bins: Vec::new(),
        }
    }

    /// Returns the interval that contains a time, or `None` if nothing is recorded at that time.
    fn at(&mut self, at_ns: u64) -> Option<&mut Bin> {
        let index = at_ns.checked_div(self.interval_ns)? as usize;
        (index < self.count).then(|| crate::agent::queue::at(&mut self.bins, index))
    }

    pub fn deliver(&mut self, back: bool, bytes: u64, at_ns: u64) {
        if let Some(bin) = self.at(at_ns) {
            bin.delivered[usize::from(back)] += bytes;
        }
    }

    pub fn rtt(&mut self, back: bool, rtt_ns: u64, at_ns: u64) {
        if let Some(bin) = self.at(at_ns) {
            bin.rtt[usize::from(back)].add(rtt_ns);
        }
    }

    pub fn delay(&mut self, sojourn_ns: u64, at_ns: u64) {
        if let Some(bin) = self.at(at_ns) {
            bin.delay.add(sojourn_ns);
        }
    }

    pub fn socket(&mut self, info: Info, at_ns: u64) {
        if let Some(bin) = at_ns.checked_sub(1).and_then(|at| self.at(at)) {
            bin.socket = Some(Socket {
                cwnd: info.cwnd,
                ssthresh: info.ssthresh,
                srtt_us: info.srtt_us,
                in_flight: info.in_flight,
            });
        }
    }

    /// Writes the rows of a program, beginning at the program's start. If `back` is true, the rows
    /// contain the round-trip times of the receiver's data, otherwise those of the sender's data.
    pub fn rows(&self, plan: &Program, back: bool, end_ns: u64, series: &mut Series) {
        if self.interval_ns == 0 {
            return;
        }
        let sampler = ProgramSampler::new(series, &plan.name);
        let mut delivered = [0_u64; 2];
        let none = Bin::default();
        for index in 0..self.count {
            let at_ns = (index as u64 + 1) * self.interval_ns;
            let bin = self.bins.get(index).unwrap_or(&none);
            for (sum, bytes) in delivered.iter_mut().zip(bin.delivered) {
                *sum += bytes;
            }
            // As in the series of flows, no sample is taken at the end of the run.
            if at_ns <= plan.start_ns || at_ns >= end_ns {
                continue;
            }
            let socket = bin.socket.filter(|socket| socket.srtt_us > 0);
            let ssthresh = socket.map(|s| s.ssthresh);
            let state = ProgramState {
                delivered_bytes: Some(delivered[0] as f64),
                back_bytes: Some(delivered[1] as f64),
                rtt_ns: bin.rtt[usize::from(back)].get(),
                delay_ns: bin.delay.get(),
                cwnd: socket.map(|s| f64::from(s.cwnd)),
                ssthresh: ssthresh.filter(|s| *s < INFINITE_SSTHRESH).map(f64::from),
                srtt_ns: socket.map(|s| f64::from(s.srtt_us) * 1000.0),
                in_flight: socket.map(|s| f64::from(s.in_flight)),
            };
            sampler.interval(at_ns, &state, series);
        }
    }
}
