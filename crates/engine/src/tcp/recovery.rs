//! The state that a sender needs for loss recovery. `rack` finds losses, and `states` responds to
//! them (Linux: the fields of `tcp_sock` that `tcp_input.c` uses).

use super::prr::Prr;
use super::rack::Rack;
use super::undo::Undo;

/// State of the outstanding tail loss probe (RFC 8985 section 7).
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    /// The value of `nxt` just after the probe was sent (Linux `tlp_high_seq`). `None` if no probe
    /// is outstanding.
    pub high_seq: Option<u64>,
    /// Whether the probe was a retransmission and not new data.
    pub retrans: bool,
}

impl Probe {
    pub fn is_retransmission_out(&self) -> bool {
        self.retrans && self.high_seq.is_some()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// Recovery point. The congestion state ends when every segment below this one has been
    /// acknowledged.
    pub high_seq: u64,
    /// Whether F-RTO is checking whether a timeout was spurious (RFC 5682).
    pub frto: bool,
    /// Number of successive timeouts (`icsk_retransmits`).
    pub timeouts: u32,
    pub rack: Rack,
    pub prr: Prr,
    pub undo: Undo,
    pub probe: Probe,
    /// How many segments D-SACKs have reported (`dsack_dups`).
    pub dsacks: u64,
}

impl Recovery {
    /// Creates the state for a connection whose first segment is `first`.
    pub fn new(first: u64) -> Recovery {
        Recovery {
            high_seq: first,
            frto: false,
            timeouts: 0,
            rack: Rack::new(first),
            prr: Prr::default(),
            undo: Undo::default(),
            probe: Probe::default(),
            dsacks: 0,
        }
    }
}
