//! Which queue is served: the four schedulers the versions of DualPI2 had.

use super::presets::Scheduling;
use crate::registry::Options;
use crate::units::Time;

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The low-latency queue.
    L,
    /// The classic queue.
    C,
}

/// A scheduler with its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Linux 6.17: weighted round robin by bytes. L is served while the credit is
    /// not positive; what is sent moves it by the other queue's weight, if the
    /// other queue has a packet waiting.
    Credit {
        /// Weight of C, percent.
        wc: i64,
        /// Weight of L, percent.
        wl: i64,
        /// Where it starts: MTU x (wc - wl).
        init: i64,
        /// Credit, bytes x percent.
        credit: i64,
    },
    /// Time-shifted FIFO: L is served while `shift` + (delay of L << `speed`) is
    /// at least the delay of C; and, where `ratio` is not 0, before it has been
    /// served `ratio` times since C was (the first round robin of 2019, counted
    /// whether or not C had a packet).
    Shifted {
        /// Packets of L for one of C; 0: no round robin.
        ratio: u64,
        /// Time shift.
        shift: Time,
        /// Binary logarithm of how much faster L's time runs.
        speed: u32,
        /// Packets of L since the last of C.
        served: u64,
    },
    /// The second round robin of 2019: `wl` packets of L for one of C while both wait.
    Percent {
        /// Packets of L for one of C: 100 over the percentage, rounded down, less 1.
        wl: u64,
        /// Packets of L since the last of C.
        served: u64,
    },
}

impl Scheduler {
    /// From the complete options and the largest frame in bytes.
    pub fn of(options: &Options, mtu: u32) -> Scheduler {
        let wc = options.int("classic_protection");
        match Scheduling::of(options.word("scheduler")) {
            Scheduling::Credit => {
                let init = i64::from(mtu) * (2 * wc - 100);
                Scheduler::Credit {
                    wc,
                    wl: 100 - wc,
                    init,
                    credit: init,
                }
            }
            Scheduling::Percent => Scheduler::Percent {
                wl: 100_i64.checked_div(wc).map_or(u64::MAX, |n| n as u64 - 1),
                served: 0,
            },
            shifted => Scheduler::Shifted {
                ratio: match shifted {
                    Scheduling::Counter => options.int("wrr_ratio").unsigned_abs(),
                    _ => 0,
                },
                shift: options.time("tshift"),
                speed: options.int("tspeed") as u32,
                served: 0,
            },
        }
    }

    /// The queue to serve, by the delays of the heads; `None` when both are
    /// empty, which starts it anew.
    #[inline]
    pub fn pick(&mut self, l: Option<Time>, c: Option<Time>) -> Option<Class> {
        let class = match (l, c) {
            (None, None) => {
                match self {
                    Scheduler::Credit { init, credit, .. } => *credit = *init,
                    Scheduler::Shifted { served, .. } | Scheduler::Percent { served, .. } => {
                        *served = 0;
                    }
                }
                return None;
            }
            (Some(_), None) => Class::L,
            (None, Some(_)) => Class::C,
            (Some(l), Some(c)) => {
                let l_first = match *self {
                    Scheduler::Credit { credit, .. } => credit <= 0,
                    Scheduler::Percent { wl, served } => served < wl,
                    Scheduler::Shifted {
                        ratio,
                        shift,
                        speed,
                        served,
                    } => {
                        let shifted = u128::from(shift.ns()) + (u128::from(l.ns()) << speed);
                        served < ratio || shifted >= u128::from(c.ns())
                    }
                };
                if l_first { Class::L } else { Class::C }
            }
        };
        match (&mut *self, class) {
            (Scheduler::Credit { .. }, _) => {}
            (Scheduler::Shifted { served, .. }, Class::L) => *served = served.saturating_add(1),
            (Scheduler::Percent { served, .. }, Class::L) => {
                *served = served.saturating_add(u64::from(c.is_some()));
            }
            (Scheduler::Shifted { served, .. } | Scheduler::Percent { served, .. }, Class::C) => {
                *served = 0;
            }
        }
        Some(class)
    }

    /// A packet of `class` is sent; `contended`: the other queue had one waiting.
    /// A packet dropped on its way out moves no credit.
    #[inline]
    pub fn sent(&mut self, class: Class, len: u16, contended: bool) {
        if let Scheduler::Credit { wc, wl, credit, .. } = self
            && contended
        {
            *credit += i64::from(len)
                * match class {
                    Class::L => *wc,
                    Class::C => -*wl,
                };
        }
    }

    /// The credit (bytes x percent), or the packets of L since the last of C.
    pub fn gauge(&self) -> f64 {
        match *self {
            Scheduler::Credit { credit, .. } => credit as f64,
            Scheduler::Shifted { served, .. } | Scheduler::Percent { served, .. } => served as f64,
        }
    }
}
