//! Decides whether L or C sends the next packet. The versions of DualPI2 use four different
//! schedulers; presets.rs lists their sources.

use super::presets::Scheduling;
use crate::packet::Packet;
use crate::registry::{Options, Value};
use crate::units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    L,
    C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Linux 6.17: weighted round robin by bytes. L sends while the credit is 0 or negative. After
    /// each packet, the credit changes if the other queue has packets. The change is the packet's
    /// bytes times the weight of the other queue.
    Credit {
        wc: i64,
        wl: i64,
        /// The credit at the beginning: MTU x (wc - wl).
        init: i64,
        /// The credit, in bytes x percent.
        credit: i64,
    },
    /// Time-shifted FIFO: L sends while `shift` + (delay of L << `speed`) is at least the delay of
    /// C. L also sends while it has sent fewer than `ratio` packets since the last packet of C.
    /// Packets of L are counted even while C is empty. (This is the first of the two round-robin
    /// schedulers of 2019.)
    Shifted {
        /// How many packets L sends for each packet of C. 0 turns round robin off.
        ratio: u64,
        /// Time shift. With `None`, the choice does not depend on delays.
        shift: Option<Time>,
        /// The delay of L is multiplied by 2 to the power of `speed`.
        speed: u32,
        /// How many packets L has sent since the last packet of C.
        served: u64,
    },
    /// The second round-robin scheduler of 2019, which counts bytes. While the credit is 0 or
    /// negative, L sends. The bytes of L are added to the credit, even if C is empty. While the
    /// credit is positive, C sends. The bytes of C times `wl` are subtracted from the credit. If
    /// the queue that should send is empty, the other queue sends, and the credit does not change.
    Percent {
        /// How many bytes L may send for each byte of C. The number is 100 divided by the
        /// percentage, rounded down, minus 1.
        wl: i64,
        /// The credit at the beginning: MTU x (1 - wl).
        init: i64,
        /// Credit, bytes.
        credit: i64,
    },
}

impl Scheduler {
    /// Changes the weights. As in Linux, a change of the weights does not change the credit.
    pub fn change(&mut self, mut to: Scheduler) {
        match (&*self, &mut to) {
            (Scheduler::Credit { credit, .. }, Scheduler::Credit { credit: now, .. })
            | (Scheduler::Percent { credit, .. }, Scheduler::Percent { credit: now, .. }) => {
                *now = *credit;
            }
            (Scheduler::Shifted { served, .. }, Scheduler::Shifted { served: now, .. }) => {
                *now = *served;
            }
            _ => {}
        }
        *self = to;
    }

    /// Creates the scheduler that the options select. `mtu` is the length of the largest frame, in
    /// bytes.
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
            Scheduling::Percent => {
                // At 0 percent, the kernel would divide by zero. In tailback, C waits while L has
                // packets.
                let wl = 100_i64.checked_div(wc).map_or(1 << 32, |n| n - 1);
                let init = i64::from(mtu) * (1 - wl);
                Scheduler::Percent {
                    wl,
                    init,
                    credit: init,
                }
            }
            shifted => Scheduler::Shifted {
                ratio: match shifted {
                    Scheduling::Counter => options.int("wrr_ratio").unsigned_abs(),
                    _ => 0,
                },
                shift: match options.get("tshift") {
                    Some(Value::Time(shift)) => Some(*shift),
                    _ => None,
                },
                speed: match options.get("tspeed") {
                    Some(Value::Int(speed)) => *speed as u32,
                    _ => 0,
                },
                served: 0,
            },
        }
    }

    /// Returns which queue to serve, or `None` if both are empty. `l` and `c` are the packets at
    /// the heads.
    #[inline]
    pub fn pick(&mut self, l: Option<&Packet>, c: Option<&Packet>, now: Time) -> Option<Class> {
        match self {
            Scheduler::Credit { credit, .. } => match (l, c) {
                (Some(_), None) => Some(Class::L),
                (None, Some(_)) => Some(Class::C),
                (Some(_), Some(_)) if *credit <= 0 => Some(Class::L),
                (Some(_), Some(_)) => Some(Class::C),
                (None, None) => None,
            },
            Scheduler::Shifted {
                ratio,
                shift,
                speed,
                served,
            } => {
                let wait = |head: &Packet| u128::from(now.since(head.stamp).ns());
                let class = match (l, c) {
                    (None, None) => return None,
                    (Some(_), None) => Class::L,
                    (None, Some(_)) => Class::C,
                    (Some(_), Some(_)) if *served < *ratio => Class::L,
                    (Some(l), Some(c)) => match shift {
                        Some(shift) if u128::from(shift.ns()) + (wait(l) << *speed) >= wait(c) => {
                            Class::L
                        }
                        _ => Class::C,
                    },
                };
                *served = match class {
                    Class::L => served.saturating_add(1),
                    Class::C => 0,
                };
                Some(class)
            }
            Scheduler::Percent { wl, credit, .. } => match (l, c) {
                (Some(l), _) if *credit <= 0 => {
                    *credit += i64::from(l.len);
                    Some(Class::L)
                }
                (_, Some(_)) if *credit <= 0 => Some(Class::C),
                (_, Some(c)) => {
                    *credit -= i64::from(c.len) * *wl;
                    Some(Class::C)
                }
                (Some(_), None) => Some(Class::L),
                (None, None) => None,
            },
        }
    }

    /// Resets the scheduler. Called if both queues are empty when the link requests a packet.
    pub fn reset(&mut self) {
        match self {
            Scheduler::Credit { init, credit, .. } | Scheduler::Percent { init, credit, .. } => {
                *credit = *init;
            }
            Scheduler::Shifted { served, .. } => *served = 0,
        }
    }

    /// Updates the credit after a packet of `class` has been sent. `contended` means that the other
    /// queue also has a packet. This function is not called for packets that are dropped on
    /// departure.
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

    /// Returns the credit (in bytes x percent, or in bytes), or how many packets L has sent since
    /// the last packet of C.
    pub fn gauge(&self) -> f64 {
        match *self {
            Scheduler::Credit { credit, .. } | Scheduler::Percent { credit, .. } => credit as f64,
            Scheduler::Shifted { served, .. } => served as f64,
        }
    }
}
