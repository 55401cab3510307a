//! TCP as in Linux 7.3 (`net/ipv4/tcp_*.c`). This folder contains the sender, the receiver and
//! their common parts.
//!
//! | file | what |
//! |---|---|
//! | [`sender`] | the sender as a whole, and transmission |
//! | `connect`, `ack`, `timeouts` | how the sender handles a SYN-ACK, an ACK and an expired deadline |
//! | `states` | congestion states: reductions and their undoing (`tcp_fastretrans_alert`) |
//! | [`handshake`], `timer`, `timestamps`, `pacing`, `ecn`, `send_queue` | parts of the sender |
//! | `offloads` | segments that a host combines into larger packets (`path.offloads`) |
//! | `limit`, `slow_start` | data for `explain`: what the sender waits for, and how slow start ended |
//! | `recovery`, `rack`, `prr`, `undo` | parts of loss recovery |
//! | [`scoreboard`], [`rtt`], [`rate`] | sent segments, the round-trip time, and samples of the delivery rate |
//! | [`receiver`] | acknowledgement (quick, delayed, compressed SACKs) and ECN echo |
//! | [`ecn_echo`], `receive_window`, `sack_blocks` | parts of the receiver |
//! | [`accecn`], [`sce`] | Accurate ECN of both ends, and the receiver's echo of SCE |
//! | [`ranges`] | sets of segments |
//! | [`destination`] | values that a host stores from one connection to the next |
//!
//! Known deviations from Linux follow. (docs/evidence/packetdrill.md shows which of the kernel's
//! packetdrill scripts this code passes.)
//! - Sequence numbers count segments. A retransmitted segment has the same boundaries as its first
//!   transmission. Nagle's algorithm, urgent data, the limit of window scaling and the FIN exchange
//!   are not implemented.
//! - The third packet of the handshake is the first data packet.
//! - TCP small queues are not implemented. Without `path.offloads`, pacing spaces single segments
//!   and not bursts, except with `pacing = "gso"` or "fq-gso". An unpaced sender without offloads
//!   never waits until it can send a larger burst (Linux `tcp_tso_should_defer`). With offloads,
//!   see `offloads.rs`.
//! - The receive window is constant, because the receiving application reads data at once. The
//!   sender does not probe a closed window.
//! - SACK is always in use, so loss recovery never needs to count duplicate ACKs.
//! - ACKs of data that was never sent, or was acknowledged long ago, are ignored. (Linux answers
//!   such an ACK with a challenge ACK.)
//! - A connection never gives up. (Linux gives up after 15 timeouts of data or 10 timeouts of a
//!   SYN.) A connection uses ECN even if its SYN is lost. (Linux then connects without ECN.)
//! - If the application limits sending, the window does not decay. (In Linux, the window decays:
//!   `tcp_cwnd_application_limited`.) The window of an idle sender decays. If a server closes late,
//!   the values that its host stores decay, too.
//! - Without timestamps, an ACK has space for four SACK blocks, but here it carries at most three.
//! - If RACK or a timeout marks a tail loss probe as lost, tailback treats the probe as finished.
//!   In this case, Linux keeps outdated state of the probe.
//! - SACKs are compressed with Linux's defaults (`tcp_comp_sack_*`), which a scenario cannot
//!   change. The delay of compressed SACKs is computed from the RTT of the handshake, without
//!   slack.
//! - Only ECN-Echo, and a loss that a probe has repaired, make the sender enter CWR. In Linux,
//!   congestion inside the host also makes the sender enter CWR.

pub mod accecn;
mod ack;
mod connect;
pub mod destination;
mod ecn;
pub mod ecn_echo;
pub mod handshake;
mod limit;
mod offloads;
mod pacing;
mod port;
mod prr;
mod rack;
pub mod ranges;
pub mod rate;
mod receive_window;
pub mod receiver;
mod recovery;
pub mod rtt;
mod sack_blocks;
pub mod sce;
pub mod scoreboard;
mod send_queue;
pub mod sender;
mod slow_start;
mod states;
#[cfg(test)]
mod tests;
mod timeouts;
mod timer;
mod timestamps;
mod undo;

pub use port::Port;
pub use receive_window::growing_segments;
