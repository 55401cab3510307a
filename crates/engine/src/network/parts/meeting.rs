//! Synchronises the parts of a run with a barrier at the end of each window, and exchanges packets
//! between the parts.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tailback_record::series::MAX_ROWS;

use super::Split;
use crate::calendar::order::Key;
use crate::packet::Packet;
use crate::units::Time;

/// Why a part has stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run is over.
    Done,
    /// The caller asked the run to stop.
    Stopped,
    /// Simultaneous events have an ambiguous order, or the run records more rows than [`MAX_ROWS`].
    /// The run must be repeated on one core.
    Whole,
    /// Another part panicked.
    Broken,
}

/// A packet that moves to another part.
pub(super) struct Sent {
    pub packet: Packet,
    pub pipe: u32,
    pub key: Key,
}

/// A waiting part checks this many times whether all other parts have reached the barrier. After
/// these checks, the part yields the processor.
const SPINS: u32 = 1 << 12;

pub(super) const GOES_ON: u8 = 0;
pub(super) const STOPPED: u8 = 1;
pub(super) const UNORDERED: u8 = 2;

/// A barrier and mailboxes for the parts of a run. There are two sets of mailboxes, which are used
/// alternately, because slower parts may still read the mailboxes of the previous window.
pub struct Meeting {
    window: Time,
    arrived: AtomicUsize,
    turn: AtomicUsize,
    broken: AtomicBool,
    halt: [AtomicU8; 2],
    /// When the next event of each part is due. There is one list for each of the two sets. `rows`
    /// is the number of rows that each part has recorded.
    next: [Vec<AtomicU64>; 2],
    rows: [Vec<AtomicU64>; 2],
    /// Packets from each part to each other part.
    sent: [Vec<Mutex<Vec<Sent>>>; 2],
}

impl Meeting {
    /// Creates the barrier and mailboxes for the parts of a split.
    pub fn new(split: &Split) -> Meeting {
        let parts = split.parts;
        let numbers = || (0..parts).map(|_| AtomicU64::new(0)).collect();
        let sent = || (0..parts * parts).map(|_| Mutex::default()).collect();
        Meeting {
            window: split.window,
            arrived: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            halt: [AtomicU8::new(GOES_ON), AtomicU8::new(GOES_ON)],
            next: [numbers(), numbers()],
            rows: [numbers(), numbers()],
            sent: [sent(), sent()],
        }
    }

    /// Tells all other parts that this part has ended early.
    pub fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Returns a guard that stops the other parts if this thread panics.
    pub(super) fn present(&self) -> Present<'_> {
        Present(self)
    }

    pub(super) fn window(&self) -> Time {
        self.window
    }

    pub(super) fn parts(&self) -> usize {
        self.next[0].len()
    }

    /// Publishes the state of this part, and waits until all parts have published theirs. Returns
    /// when the next window begins, or the reason why the run ends.
    pub(super) fn meet(&self, side: usize, own: usize, says: &Says) -> Result<Time, Ended> {
        self.next[side][own].store(says.next.ns(), Ordering::Release);
        self.rows[side][own].store(says.rows as u64, Ordering::Release);
        self.halt[side].fetch_max(says.halt, Ordering::AcqRel);
        if !self.wait() {
            return Err(Ended::Broken);
        }
        match self.halt[side].load(Ordering::Acquire) {
            STOPPED => return Err(Ended::Stopped),
            UNORDERED => return Err(Ended::Whole),
            _ => {}
        }
        let rows: u64 = self.rows[side]
            .iter()
            .map(|rows| rows.load(Ordering::Acquire))
            .sum();
        if rows > MAX_ROWS as u64 {
            return Err(Ended::Whole);
        }
        let next = self.next[side]
            .iter()
            .map(|next| next.load(Ordering::Acquire));
        Ok(next.min().map_or(Time::NEVER, Time))
    }

    /// Waits until all parts have reached the barrier. Returns false if a part has ended early.
    fn wait(&self) -> bool {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parts() {
            self.arrived.store(0, Ordering::Release);
            self.turn.store(turn + 1, Ordering::Release);
            return true;
        }
        let mut spins = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            spins += 1;
            match spins < SPINS {
                true => std::hint::spin_loop(),
                false => std::thread::yield_now(),
            }
        }
        true
    }

    /// Returns the packets that part `from` has sent to part `to`.
    pub(super) fn mail(&self, side: usize, from: usize, to: usize) -> MutexGuard<'_, Vec<Sent>> {
        let mail = self.sent[side][from * self.parts() + to].lock();
        mail.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard that stops the other parts if its thread panics.
pub(super) struct Present<'a>(&'a Meeting);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

pub(super) struct Says {
    /// The earlier of two times: when the part's next event is due, and when the first packet that
    /// the part has sent leaves its pipe.
    pub next: Time,
    /// Number of rows that the part has recorded.
    pub rows: usize,
    /// [`GOES_ON`] if the part continues, or else the reason why it ends.
    pub halt: u8,
}
