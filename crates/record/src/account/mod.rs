//! Records the account of a run, which explains the run's results. For each sender, the account
//! records what the sender waited for, and every reduction of its window. The account also records
//! which flows filled a queue, and when packets were dropped and marked. `tailback explain` reads
//! the account.
//!
//! Every run records this account, so recording must take very little time and memory. The account
//! counts reductions by reason, and lists at most [`LISTED`] reductions per flow. Reductions, drops
//! and marks are recorded from the start of the run. Events during the warm-up and events after the
//! warm-up have separate counters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Cause;
use crate::paged::Paged;

/// Largest number of reductions that are listed per flow. The account counts further reductions,
/// but does not list them.
pub const LISTED: u32 = 1000;

macro_rules! reasons {
    ($(#[$about:meta])* $kind:ident { $($name:ident = $word:literal, $doc:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $kind { $(#[doc = $doc] $name,)* }

        impl $kind {
            /// All variants, in the order of their counters.
            pub const ALL: &[$kind] = &[$($kind::$name,)*];
            /// Number of variants.
            pub const COUNT: usize = $kind::ALL.len();

            /// The name that `account.json` uses.
            pub const fn name(self) -> &'static str {
                match self { $($kind::$name => $word,)* }
            }

            /// What the variant means.
            pub const fn doc(self) -> &'static str {
                match self { $($kind::$name => $doc,)* }
            }
        }
    };
}

reasons! {
    /// What a sender waits for before it can send more. At any time, exactly one variant applies.
    Limit {
        Off = "off", "Not started, or finished.";
        Handshake = "handshake", "The answer to its SYN.";
        Cwnd = "cwnd", "Room in the congestion window.";
        Rwnd = "rwnd", "Room in the receive window.";
        Pacing = "pacing", "The time at which pacing lets the next packet go.";
        Application = "application", "Data from the application: all data so far is sent.";
        Recovery = "recovery", "Repair of lost data, which it sends again.";
        Timeout = "timeout", "A timer: from the last packet sent until a timeout or a probe, with nothing received in between.";
    }
}

reasons! {
    /// Why a window was reduced, or why a reduction was undone.
    Reason {
        Ece = "ece", "CE marks, by ECN-Echo or Accurate ECN.";
        Sce = "sce", "The echo of SCE.";
        Dupthresh = "dupthresh", "A loss: at least three segments behind it were sacked, and there was no reordering so far.";
        Rack = "rack", "A loss found by time on an ACK (RACK).";
        RackTimer = "rack_timer", "A loss found when RACK's timer fired.";
        Probe = "probe", "A loss that a tail loss probe repaired.";
        Timeout = "timeout", "The retransmission timeout.";
        Model = "model", "The congestion control's own model: at least a quarter at once, without a mark or a loss on that ACK.";
        Idle = "idle", "An idle time: the window starts again.";
        UndoDsack = "undo_dsack", "Undone: by the receiver's D-SACK, the retransmitted data had already arrived.";
        UndoOriginal = "undo_original", "Undone: the original arrived, by its timestamp or F-RTO.";
        Unknown = "unknown", "The window is smaller than at the sample before, for an unknown reason.";
    }
}

/// A change of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reduction {
    /// Time in ns in the upper bits, and the reason in the lowest bits. Time and reason share a
    /// field to save memory, because a run may have a hundred thousand flows with dozens of
    /// reductions each.
    at: u64,
    /// The window before the change, in segments.
    pub from: u32,
    /// The window after the change, in segments.
    pub to: u32,
}

/// Number of bits of [`Reduction::at`] that store the reason. The remaining bits of the field can
/// store a time of up to two years.
const REASON_BITS: u32 = 8;

impl Reduction {
    fn new(at_ns: u64, reason: Reason, from: u32, to: u32) -> Reduction {
        let at_ns = at_ns.min(u64::MAX >> REASON_BITS);
        Reduction {
            at: at_ns << REASON_BITS | reason as u64,
            from,
            to,
        }
    }

    /// Returns the time, in ns.
    pub fn at_ns(&self) -> u64 {
        self.at >> REASON_BITS
    }

    /// Returns the reason of the change.
    pub fn reason(&self) -> Reason {
        let reason = self.at & ((1 << REASON_BITS) - 1);
        // The stored number may come from an untrusted guest, so check that it is the number of a
        // reason.
        Reason::ALL
            .get(reason as usize)
            .copied()
            .unwrap_or(Reason::Unknown)
    }
}

/// How a connection's first slow start ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowStart {
    /// When slow start ended, in ns.
    pub at_ns: u64,
    /// Why slow start ended: the name of a [`Reason`], [`SlowStart::THRESHOLD`],
    /// [`SlowStart::OWN`], or a name that the congestion control provides.
    pub why: String,
    /// The window at the end of slow start, in segments.
    pub cwnd: u32,
    /// Smoothed RTT at the end of slow start, in ns.
    pub srtt_ns: u64,
    /// The smallest RTT before the end of slow start, in ns.
    pub min_rtt_ns: u64,
    /// Number of segments lost because slow start overshot. The number includes the segments lost
    /// before slow start ended. The number also includes segments that were in flight when slow
    /// start ended and were lost later.
    pub lost: u64,
    /// Whether `lost` is final. The number becomes final when the recovery ends, or when all
    /// segments that were in flight at the end of slow start are acknowledged.
    pub settled: bool,
}

impl SlowStart {
    /// The window reached the initial slow-start threshold of the connection.
    pub const THRESHOLD: &str = "threshold";
    /// The congestion control ended slow start without giving a reason.
    pub const OWN: &str = "own";
}

/// Number of reductions for each reason.
pub type Counts = [u64; Reason::COUNT];
/// Total time that a sender waited for each [`Limit`], in ns.
pub type Times = [u64; Limit::COUNT];

/// What one sender waited for, and why its window shrank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    /// What the sender waits for now.
    pub limit: Limit,
    /// When the sender began to wait for `limit`, or the end of the warm-up, whichever is later.
    since_ns: u64,
    /// How long the sender waited for each limit since the warm-up.
    pub limited_ns: Times,
    /// Number of reductions since the warm-up, by reason.
    pub counts: Counts,
    /// Counters at the end of the warm-up.
    // The fields `before`, `slow_start` and `told` are boxed to save memory, because every flow has
    // an account.
    before: Option<Box<Before>>,
    /// The first reductions, in the order of time.
    pub listed: Vec<Reduction>,
    keep: u32,
    /// The reduction that the congestion control is making in steps.
    #[serde(default)]
    episode: Episode,
    /// How slow start ended. `None` while the sender is in slow start.
    pub slow_start: Option<Box<SlowStart>>,
    /// What Linux's `tcp_info` reports about the same connection.
    pub told: Option<Box<Told>>,
}

/// A reduction that a congestion control spreads over several ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Episode {
    /// No reduction that takes several steps is in progress.
    #[default]
    None,
    /// The current reduction is counted but not listed, because the list is full.
    Counted,
    /// The current reduction is the last entry in the list.
    Listed,
}

/// The counters of an account at the end of the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    limited_ns: Times,
    counts: Counts,
}

/// What Linux's `tcp_info` reports about the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Length of the measured time. The measured time begins at the end of the warm-up or at the
    /// start of the flow, whichever is later.
    pub elapsed_ns: u64,
    /// Time during which data was in flight or waiting to be sent.
    pub busy_ns: u64,
    /// Time during which the receive window limited sending.
    pub rwnd_limited_ns: u64,
    /// Time during which the send buffer limited sending.
    pub sndbuf_limited_ns: u64,
    /// Number of samples at which the sender was in each congestion state: Open, Disorder, CWR,
    /// Recovery, Loss.
    pub states: [u64; 5],
    /// Time between two samples of the sender. 0 if the sender is sampled after every ACK.
    /// Reductions are found by comparing the windows of two samples.
    pub interval_ns: u64,
}

impl Default for Account {
    fn default() -> Account {
        Account {
            limit: Limit::Off,
            since_ns: 0,
            limited_ns: [0; Limit::COUNT],
            counts: [0; Reason::COUNT],
            before: None,
            listed: Vec::new(),
            keep: LISTED,
            episode: Episode::None,
            slow_start: None,
            told: None,
        }
    }
}

impl Account {
    /// Returns an account that counts reductions but does not list them. Traffic sources use such
    /// an account, because they may have many connections.
    pub fn counting() -> Account {
        Account {
            keep: 0,
            ..Account::default()
        }
    }

    /// Records that the sender waits for `limit` from `at_ns` on.
    pub fn turn(&mut self, limit: Limit, at_ns: u64) {
        self.limited_ns[self.limit as usize] += at_ns.saturating_sub(self.since_ns);
        self.limit = limit;
        self.since_ns = at_ns;
    }

    /// Records that a timer fired at `at_ns`. The sender had waited for this timer since `from_ns`.
    pub fn waited(&mut self, from_ns: u64, at_ns: u64) {
        let limit = self.limit;
        self.turn(Limit::Timeout, from_ns.max(self.since_ns).min(at_ns));
        self.turn(limit, at_ns);
    }

    /// Records a reduction of the window in a single step.
    #[cold]
    pub fn reduced(&mut self, at_ns: u64, reason: Reason, from: u32, to: u32) {
        self.episode = Episode::None;
        self.counts[reason as usize] += 1;
        if self.listed.len() < self.keep as usize {
            self.listed.push(Reduction::new(at_ns, reason, from, to));
        }
    }

    /// Records a step of a reduction that takes several steps. The first step counts as a
    /// reduction. Later steps only lower the final window in the list's last entry. Returns whether
    /// this step is the first.
    #[cold]
    pub fn stepped(&mut self, at_ns: u64, reason: Reason, from: u32, to: u32) -> bool {
        match self.episode {
            Episode::None => {
                let before = self.listed.len();
                self.reduced(at_ns, reason, from, to);
                self.episode = match self.listed.len() > before {
                    true => Episode::Listed,
                    false => Episode::Counted,
                };
                return true;
            }
            Episode::Listed => {
                if let Some(last) = self.listed.last_mut() {
                    last.to = last.to.min(to);
                }
            }
            Episode::Counted => {}
        }
        false
    }

    /// Returns whether a reduction that takes several steps is in progress.
    pub fn is_stepping(&self) -> bool {
        self.episode != Episode::None
    }

    /// Ends a stepwise reduction that is in progress, so that the next step belongs to a new
    /// reduction. The sender calls this function when its congestion state changes.
    #[inline]
    pub fn end_steps(&mut self) {
        self.episode = Episode::None;
    }

    /// Records the end of slow start, unless this account only counts reductions.
    #[cold]
    pub fn left_slow_start(&mut self, end: SlowStart) {
        if self.keep > 0 {
            self.slow_start = Some(Box::new(end));
        }
    }

    /// Ends the warm-up.
    pub fn end_warmup(&mut self, at_ns: u64) {
        self.turn(self.limit, at_ns);
        let before = Before {
            limited_ns: std::mem::take(&mut self.limited_ns),
            counts: std::mem::take(&mut self.counts),
        };
        self.before = (before != Before::default()).then(|| Box::new(before));
    }

    /// Returns how long the sender waited for each limit before the end of the warm-up.
    pub fn before_ns(&self) -> Times {
        self.before
            .as_ref()
            .map_or([0; Limit::COUNT], |b| b.limited_ns)
    }

    /// Returns the number of reductions before the end of the warm-up, by reason.
    pub fn before(&self) -> Counts {
        self.before
            .as_ref()
            .map_or([0; Reason::COUNT], |b| b.counts)
    }

    /// Adds the waiting times and the reductions of another connection of the same source, up to
    /// `at_ns`.
    pub fn add(&mut self, mut other: Account, at_ns: u64) {
        other.turn(Limit::Off, at_ns);
        let add = |own: &mut [u64], more: &[u64]| {
            own.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        };
        add(&mut self.limited_ns, &other.limited_ns);
        add(&mut self.counts, &other.counts);
        if let Some(more) = other.before {
            let before = self.before.get_or_insert_default();
            add(&mut before.limited_ns, &more.limited_ns);
            add(&mut before.counts, &more.counts);
        }
    }
}

/// Length of the windows in which the minimum delay of a queue is measured. If the minimum delay in
/// a window is above 0, the queue is a standing queue.
pub const WINDOW_NS: u64 = 100_000_000;

/// Which flows filled a queue, and when the queue dropped and marked packets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QueueAccount {
    /// How much of the queue each flow or source occupied. Each entry contains the name of the flow
    /// or source, and a sum in byte x s. Each forwarded packet of the flow or source adds the
    /// product of its length and its queue delay to the sum.
    pub held: Vec<(String, f64)>,
    /// The minimum queue delay in each time window.
    pub minima: Minima,
    /// Drops and marks.
    pub events: Timeline,
}

/// Sums of packet length times queue delay. Each sum belongs to a packet number, which identifies a
/// flow or a connection of a source. The unit of the queue delay is 2^`HELD_SHIFT` ns.
#[derive(Clone, Debug, Default)]
pub struct Held(Paged<u64>);

/// log2 of the unit of time of [`Held`], in ns. With this unit of time, sums over weeks fit in 64
/// bits.
const HELD_SHIFT: u32 = 10;

impl Held {
    /// Adds a forwarded packet with its queue delay.
    #[inline]
    pub fn add(&mut self, number: u32, len: u32, delay_ns: u64) {
        let waited = u64::from(len) * (delay_ns >> HELD_SHIFT);
        self.0.change(number, |held| *held += waited);
    }

    /// Prefetches the sum that belongs to a packet number.
    #[inline]
    pub fn fetch(&self, number: u32) {
        self.0.fetch(number);
    }

    /// Returns the sum in byte x s for each flow or source that has sent packets.
    pub fn by_owner(&self, owners: &[u32]) -> Vec<(usize, f64)> {
        let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
        for (number, held) in self.0.iter().filter(|(_, held)| *held > 0) {
            *sums.entry(owners[number] as usize).or_default() += held;
        }
        let second = 1e9 / f64::from(1_u32 << HELD_SHIFT);
        let all = sums.into_iter();
        all.map(|(owner, held)| (owner, held as f64 / second))
            .collect()
    }
}

/// The minimum queue delay in each window of [`WINDOW_NS`] after the warm-up. In a window without
/// packets, the minimum is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minima {
    /// Number of complete time windows.
    pub windows: u64,
    /// Sum of the minimum delays, in ns.
    pub sum_ns: u64,
    /// Number of packets that were forwarded in complete windows.
    packets: u64,
    /// A sum over all windows. Each window adds its minimum delay (in ns), multiplied by the number
    /// of packets in the window.
    weighted_ns: u128,
    /// Number of windows in which no packet was forwarded.
    pub empty: u64,
    end_ns: u64,
    /// Minimum delay so far in the current time window, in ns. [`NONE`] before the window's first
    /// packet.
    least_ns: u64,
}

/// The minimum delay of a window that has no packet yet.
const NONE: u64 = u64::MAX;

impl Minima {
    /// Starts the first window.
    pub fn new(warmup_ns: u64) -> Minima {
        Minima {
            end_ns: warmup_ns + WINDOW_NS,
            least_ns: NONE,
            ..Minima::default()
        }
    }

    /// Records a packet that left the queue. `before` is the number of packets that left the queue
    /// between the end of the warm-up and this packet.
    #[inline]
    pub fn forward(&mut self, delay_ns: u64, at_ns: u64, before: u64) {
        if at_ns >= self.end_ns {
            self.pass(at_ns, before);
        }
        self.least_ns = self.least_ns.min(delay_ns);
    }

    /// Returns the mean of the windows' minimum delays, in ns, weighted by the number of packets in
    /// each window. The weighted mean is the part of the mean queue delay that a standing queue
    /// causes. Returns `None` before the first complete window with packets.
    pub fn of_a_packet_ns(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.weighted_ns as f64 / self.packets as f64)
    }

    /// Completes the time windows that end at or before `at_ns`. `before` is the number of packets
    /// that have left the queue so far.
    #[cold]
    pub fn pass(&mut self, at_ns: u64, before: u64) {
        let over = at_ns
            .checked_sub(self.end_ns)
            .map_or(0, |past| past / WINDOW_NS + 1);
        if over > 0 {
            let least = std::mem::replace(&mut self.least_ns, NONE);
            self.windows += over;
            if least == NONE {
                self.empty += over;
            } else {
                self.empty += over - 1;
                self.sum_ns += least;
                self.weighted_ns += u128::from(least) * u128::from(before - self.packets);
            }
            self.packets = before;
            self.end_ns += over * WINDOW_NS;
        }
    }
}

/// Largest number of bins of a timeline.
const BINS: usize = 64;

/// Drops and marks by cause over the whole run, in at most `BINS` bins. If a run needs more bins,
/// the timeline merges pairs of bins and doubles the width of a bin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timeline {
    /// Width of a bin, in ns.
    pub width_ns: u64,
    /// Number of events in each bin, by cause.
    pub bins: Vec<[u64; Cause::COUNT]>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            width_ns: WINDOW_NS,
            bins: Vec::new(),
        }
    }
}

impl Timeline {
    /// Counts an event.
    #[inline]
    pub fn add(&mut self, cause: Cause, at_ns: u64) {
        let bin = (at_ns / self.width_ns) as usize;
        match self.bins.get_mut(bin) {
            Some(counts) => counts[cause as usize] += 1,
            None => self.widen(cause, at_ns),
        }
    }

    #[cold]
    fn widen(&mut self, cause: Cause, at_ns: u64) {
        let mut bin = at_ns / self.width_ns;
        while bin >= BINS as u64 {
            self.width_ns *= 2;
            bin /= 2;
            let halved = self.bins.chunks(2).map(|pair| {
                let mut sum = pair[0];
                let more = pair.get(1).into_iter().flatten();
                sum.iter_mut().zip(more).for_each(|(a, b)| *a += b);
                sum
            });
            self.bins = halved.collect();
        }
        self.bins.resize(bin as usize + 1, [0; Cause::COUNT]);
        self.bins[bin as usize][cause as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_takes_the_time_since_the_last_packet() {
        let mut account = Account::default();
        account.turn(Limit::Cwnd, 100);
        account.waited(150, 400);
        account.turn(Limit::Recovery, 400);
        // The sender sent no segments after 400 ns, so the time since 400 ns counts as waiting for
        // the timer.
        account.waited(10, 500);
        account.end_warmup(600);
        account.turn(Limit::Off, 650);
        let of = |times: &Times, limit: Limit| times[limit as usize];
        assert_eq!(of(&account.before_ns(), Limit::Cwnd), 50);
        assert_eq!(of(&account.before_ns(), Limit::Timeout), 350);
        assert_eq!(of(&account.before_ns(), Limit::Recovery), 100);
        assert_eq!(of(&account.limited_ns, Limit::Recovery), 50);
        let whole: u64 = account.before_ns().iter().chain(&account.limited_ns).sum();
        assert_eq!(whole, 650);
    }

    #[test]
    fn all_are_counted_and_the_first_listed() {
        let mut account = Account::default();
        for at in 0..u64::from(LISTED) + 10 {
            account.reduced(at, Reason::Ece, 10, 7);
        }
        assert_eq!(account.counts[Reason::Ece as usize], 1010);
        assert_eq!(account.listed.len(), 1000);
        let mut source = Account::counting();
        source.reduced(1, Reason::Timeout, 10, 1);
        source.add(account, 2000);
        assert_eq!(
            (source.counts[Reason::Ece as usize], source.listed.len()),
            (1010, 0)
        );
    }

    #[test]
    fn a_window_without_packets_is_empty() {
        let mut minima = Minima::new(1_000_000_000);
        let at = |ms: u64| ms * 1_000_000;
        for (before, (delay, ms)) in (0..).zip([(5, 1000), (3, 1099), (7, 1100), (9, 1350)]) {
            minima.forward(delay, at(ms), before);
        }
        minima.pass(at(1_400), 4);
        // The minimum delays of the windows are 3, 7, 0 (the empty window) and 9.
        assert_eq!((minima.windows, minima.sum_ns, minima.empty), (4, 19, 1));
        // The first window has two packets.
        assert_eq!(
            minima.of_a_packet_ns(),
            Some(f64::from(3 + 3 + 7 + 9) / 4.0)
        );
        minima.pass(at(1_450), 4);
        assert_eq!(minima.windows, 4, "an incomplete one does not count");
    }

    #[test]
    fn a_reduction_has_its_time_and_reason_in_one_number() {
        for reason in Reason::ALL {
            let reduction = Reduction::new(123_456_789_012, *reason, 30, 21);
            assert_eq!(reduction.at_ns(), 123_456_789_012);
            assert_eq!(reduction.reason(), *reason);
            assert_eq!((reduction.from, reduction.to), (30, 21));
        }
        // If a time is too large for the field, the field contains the largest time that fits.
        let late = Reduction::new(u64::MAX, Reason::Ece, 2, 1);
        assert_eq!((late.at_ns(), late.reason()), (u64::MAX >> 8, Reason::Ece));
        // An untrusted guest may send any number, even a number that does not stand for a reason.
        let at = 5 << 8 | 255;
        let unknown = Reduction { at, ..late };
        assert_eq!((unknown.at_ns(), unknown.reason()), (5, Reason::Unknown));
    }

    #[test]
    fn what_a_queue_held_is_summed_by_owner() {
        let mut held = Held::default();
        // Packet numbers 0 and 2 belong to the same source. For each of the two numbers, 1000 bytes
        // waited for 2^20 ns.
        held.add(0, 1_000, 1 << 20);
        held.add(2, 1_000, 1 << 20);
        held.add(1, 500, 1 << 30);
        held.add(3, 500, 1 << 9);
        let owned = held.by_owner(&[7, 4, 7, 9]);
        let owners: Vec<usize> = owned.iter().map(|(owner, _)| *owner).collect();
        assert_eq!(owners, [4, 7], "less than a unit of time does not count");
        let second = |ns: u64| ns as f64 / 1e9;
        assert!((owned[0].1 - 500.0 * second(1 << 30)).abs() < 1e-9);
        assert!((owned[1].1 - 2_000.0 * second(1 << 20)).abs() < 1e-9);
    }

    #[test]
    fn what_connections_had_before_the_warm_up_is_added() {
        let mut source = Account::counting();
        for connection in 1..=2_u64 {
            let mut account = Account::default();
            account.turn(Limit::Cwnd, 0);
            account.reduced(5, Reason::Timeout, 10, 1);
            account.end_warmup(10 * connection);
            account.reduced(40, Reason::Ece, 4, 2);
            account.reduced(41, Reason::Ece, 2, 1);
            source.add(account, 100);
        }
        assert_eq!(source.before_ns()[Limit::Cwnd as usize], 10 + 20);
        assert_eq!(source.before()[Reason::Timeout as usize], 2);
        assert_eq!(source.limited_ns[Limit::Cwnd as usize], 90 + 80);
        assert_eq!(source.counts[Reason::Ece as usize], 4);
        assert_eq!(source.counts[Reason::Timeout as usize], 0);
        // If there were no events during the warm-up, the account stores no separate counters for
        // the warm-up.
        let mut idle = Account::default();
        idle.end_warmup(0);
        assert_eq!(idle.before, None);
        assert_eq!(idle.before(), [0; Reason::COUNT]);
    }

    #[test]
    fn the_end_of_slow_start_is_kept_of_a_flow_and_not_of_a_source() {
        let end = SlowStart {
            at_ns: 7,
            why: SlowStart::OWN.to_owned(),
            cwnd: 20,
            srtt_ns: 3,
            min_rtt_ns: 2,
            lost: 1,
            settled: true,
        };
        let mut flow = Account::default();
        flow.left_slow_start(end.clone());
        assert_eq!(flow.slow_start.as_deref(), Some(&end));
        let mut source = Account::counting();
        source.left_slow_start(end);
        assert_eq!(source.slow_start, None);
    }

    #[test]
    fn windows_that_never_had_a_packet_are_empty() {
        let mut minima = Minima::new(0);
        minima.pass(WINDOW_NS - 1, 0);
        assert_eq!((minima.windows, minima.empty), (0, 0));
        minima.pass(3 * WINDOW_NS, 0);
        assert_eq!(minima.of_a_packet_ns(), None);
        assert_eq!((minima.windows, minima.empty, minima.sum_ns), (3, 3, 0));
        minima.forward(9, 3 * WINDOW_NS, 0);
        minima.forward(4, 3 * WINDOW_NS + 1, 1);
        minima.pass(4 * WINDOW_NS, 2);
        assert_eq!((minima.windows, minima.empty, minima.sum_ns), (4, 3, 4));
    }

    #[test]
    fn bins_widen_and_lose_nothing() {
        let mut timeline = Timeline::default();
        for tenth in 0..1000 {
            timeline.add(Cause::Mark, tenth * 100_000_000);
        }
        assert_eq!(timeline.width_ns, 1_600_000_000);
        assert!(timeline.bins.len() <= BINS);
        let marks = timeline.bins.iter().map(|bin| bin[Cause::Mark as usize]);
        assert_eq!(marks.sum::<u64>(), 1000);
        assert_eq!(timeline.bins[0][Cause::Mark as usize], 16);
    }
}
