//! The fair queueing that fq_codel and fq_pie of Linux have in common (RFC 8290 section 4). A table
//! holds flows. Each flow has a FIFO and its own state. Deficit round robin serves the flows. Flows
//! that have just become active are served before all other flows.
//!
//! The code follows sch_fq_codel and sch_fq_pie (Linux 7.3), which use the same algorithm. The
//! kernel hashes addresses and ports with a key that it draws at boot. The kernel computes the
//! bucket from the hash by a multiplication. In tailback, the hash combines three values: the
//! number of the flow, its direction, and a key from the queue's random stream. So if there are n
//! buckets, two flows share a bucket with probability 1/n. The seed of the run decides which flows
//! share a bucket. In tailback the hash of a connection never changes, as in a router. In contrast,
//! on the sender's own host Linux gives a flow a new hash after a timeout. (The sysctl
//! `net.core.txrehash` controls these new hashes. The kernel engine turns it off.)

use super::Backlog;
use super::backlogs::Backlogs;
use super::codel::Source;
use crate::packet::{Packet, flags};
use crate::registry::{Kind, Opt, Value};
use crate::rng::Stream;

pub(super) mod slab;

use slab::{Fifo, Slab};

const NONE: u32 = u32::MAX;

/// The option for the number of buckets.
pub const FLOWS: Opt = Opt {
    name: "flows",
    doc: "Number of queues that flows are hashed into.",
    kind: Kind::Int {
        min: 1,
        max: 65_536,
    },
    default: Some("1024"),
    tc: None,
};

/// The option for the number of bytes that a flow may send per turn.
pub const QUANTUM: Opt = Opt {
    name: "quantum",
    doc: "Bytes that a flow may send in one round of the scheduler; default: the largest frame (1514 bytes).",
    kind: Kind::Int {
        min: 256,
        max: 1 << 20,
    },
    default: None,
    tc: Some("quantum BYTES"),
};

/// How much memory Linux charges for a frame in addition to its bytes (sk_buff, shared info and
/// headroom). This memory counts towards `memory_limit`. In Linux, this amount of memory depends on
/// how the packet was created.
pub const FRAME_MEMORY: u64 = 832;

fn quantum_of(quantum: Option<&Value>, mtu: u32) -> i64 {
    match quantum {
        Some(Value::Int(bytes)) => *bytes,
        _ => i64::from(mtu.clamp(256, 1 << 20)),
    }
}

/// Returns a limit as a number of packets. If no value is set, there is no limit.
pub(super) fn packets(limit: Option<&Value>) -> u64 {
    match limit {
        Some(Value::Packets(n)) => *n,
        _ => u64::MAX,
    }
}

/// The table of flows.
#[derive(Debug)]
pub struct Fair<S> {
    slab: Slab,
    flows: Vec<Flow<S>>,
    /// Backlog of each flow, in bytes.
    backlogs: Backlogs,
    total: Backlog,
    /// Flows that have become active since their last turn.
    new: List,
    /// The active flows that are not in `new`.
    old: List,
    active: usize,
    /// How many bytes a flow gets in each round.
    quantum: i64,
    /// A random key. This key decides which flows share a bucket.
    key: u64,
}

#[derive(Clone, Debug)]
struct Flow<S> {
    fifo: Fifo,
    next: u32,
    active: bool,
    deficit: i64,
    state: S,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// The flow that is to be served now.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Index of the flow.
    pub flow: u32,
    /// Whether the flow is served as a new flow.
    pub new: bool,
}

/// The queue of one flow.
#[derive(Debug)]
pub struct FlowQueue<'a> {
    slab: &'a mut Slab,
    fifo: &'a mut Fifo,
    backlogs: &'a mut Backlogs,
    index: usize,
    total: &'a mut Backlog,
}

impl Source for FlowQueue<'_> {
    #[inline]
    fn pop_to(&mut self, next: &mut Packet) -> bool {
        if !self.slab.pop_to(self.fifo, next) {
            return false;
        }
        self.backlogs.remove(self.index, next.len);
        self.total.bytes -= u64::from(next.len);
        self.total.packets -= 1;
        true
    }

    #[inline]
    fn left(&self) -> u64 {
        self.total.bytes
    }
}

impl FlowQueue<'_> {
    /// Returns how many bytes of this flow are queued.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.backlogs.of(self.index)
    }
}

/// Returns a number that identifies a packet's flow and direction.
#[inline]
pub fn number(packet: &Packet) -> u64 {
    (u64::from(packet.flow) << 1) | u64::from(packet.flags & flags::ACK)
}

/// Returns a hash of the flow and direction of a packet.
#[inline]
pub fn hash(key: u64, packet: &Packet) -> u32 {
    let mut z = key ^ number(packet);
    // Apply the finaliser of SplitMix64.
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 32) as u32
}

impl<S: Clone> Fair<S> {
    /// Creates an empty table. `quantum` is the value of the option [`QUANTUM`]. `None` means `mtu`
    /// bytes.
    pub fn new(flows: i64, quantum: Option<&Value>, mtu: u32, state: S, rng: &mut Stream) -> Self {
        let n = flows.clamp(1, 65_536) as usize;
        let flow = Flow {
            fifo: Fifo::default(),
            next: NONE,
            active: false,
            deficit: 0,
            state,
        };
        Fair {
            slab: Slab::default(),
            flows: vec![flow; n],
            backlogs: Backlogs::new(n),
            total: Backlog::default(),
            new: List::EMPTY,
            old: List::EMPTY,
            active: 0,
            quantum: quantum_of(quantum, mtu),
            key: rng.bits(),
        }
    }

    /// Changes how many bytes a flow gets in each round.
    pub fn change_quantum(&mut self, quantum: Option<&Value>, mtu: u32) {
        self.quantum = quantum_of(quantum, mtu);
    }
}

impl<S> Fair<S> {
    /// Returns the flow to which a packet belongs.
    #[inline]
    pub fn flow_of(&self, packet: &Packet) -> u32 {
        let hash = u64::from(hash(self.key, packet));
        ((hash * self.flows.len() as u64) >> 32) as u32
    }

    /// Appends a packet to a flow and makes the flow active.
    #[inline]
    pub fn push(&mut self, flow: u32, packet: Packet) {
        let i = flow as usize;
        self.backlogs.add(i, packet.len);
        self.total.bytes += u64::from(packet.len);
        self.total.packets += 1;
        self.slab.push(&mut self.flows[i].fifo, packet);
        if !self.flows[i].active {
            self.flows[i].active = true;
            self.active += 1;
            self.flows[i].deficit = self.quantum;
            self.new.push(&mut self.flows, flow);
        }
    }

    /// Returns the flow that is to be served. Searches the new flows and then the old flows for a
    /// flow that may still send bytes in its turn. If a flow has used up its bytes, it gets a
    /// quantum and moves to the end of the old flows.
    #[inline]
    pub fn turn(&mut self) -> Option<Turn> {
        loop {
            let new = self.new.first != NONE;
            let list = if new { &mut self.new } else { &mut self.old };
            let flow = list.first;
            let head = self.flows.get_mut(flow as usize)?;
            if head.deficit > 0 {
                return Some(Turn { flow, new });
            }
            head.deficit += self.quantum;
            list.pop(&mut self.flows);
            self.old.push(&mut self.flows, flow);
        }
    }

    /// Charges a packet of this length to the flow whose turn it is.
    #[inline]
    pub fn sent(&mut self, turn: Turn, len: u16) {
        self.flows[turn.flow as usize].deficit -= i64::from(len);
    }

    /// Called if the flow that is to be served has no packets. If the flow is new and there are old
    /// flows, it becomes the last of the old flows. This rule prevents a flow that repeatedly
    /// becomes active from starving the old flows. In all other cases, the flow becomes inactive.
    #[inline]
    pub fn pass(&mut self, turn: Turn) {
        let list = if turn.new {
            &mut self.new
        } else {
            &mut self.old
        };
        list.pop(&mut self.flows);
        if turn.new && self.old.first != NONE {
            self.old.push(&mut self.flows, turn.flow);
        } else {
            self.flows[turn.flow as usize].active = false;
            self.active -= 1;
        }
    }

    /// Returns a flow's state and its queue.
    #[inline]
    pub fn flow(&mut self, flow: u32) -> (&mut S, FlowQueue<'_>) {
        let i = flow as usize;
        let Flow { fifo, state, .. } = &mut self.flows[i];
        let queue = FlowQueue {
            slab: &mut self.slab,
            fifo,
            backlogs: &mut self.backlogs,
            index: i,
            total: &mut self.total,
        };
        (state, queue)
    }

    /// Returns the flow with the largest backlog, and its backlog in bytes. If several flows have
    /// this backlog, returns the first of them.
    pub fn fattest(&mut self) -> (u32, u64) {
        let (flow, bytes) = self.backlogs.longest();
        (flow as u32, bytes)
    }

    /// Returns how many packets and bytes all flows have.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.total
    }

    /// Returns how much memory the kernel would use for all queued packets, in bytes.
    #[inline]
    pub fn memory(&self) -> u64 {
        self.total.bytes + self.total.packets * FRAME_MEMORY
    }

    /// Returns the number of active flows.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Returns how many flows the table has, including inactive flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns whether the table has no flows.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
}

impl List {
    const EMPTY: List = List {
        first: NONE,
        last: NONE,
    };

    #[inline]
    fn push<S>(&mut self, flows: &mut [Flow<S>], flow: u32) {
        flows[flow as usize].next = NONE;
        match flows.get_mut(self.last as usize) {
            Some(last) => last.next = flow,
            None => self.first = flow,
        }
        self.last = flow;
    }

    /// Removes the first flow.
    #[inline]
    fn pop<S>(&mut self, flows: &mut [Flow<S>]) {
        if let Some(first) = flows.get(self.first as usize) {
            self.first = first.next;
            if self.first == NONE {
                self.last = NONE;
            }
        }
    }
}

#[cfg(test)]
mod tests;
