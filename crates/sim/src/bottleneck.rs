//! A simulated bottleneck for test harnesses that have their own event loop and clock.

use std::collections::VecDeque;
use std::sync::Arc;

use tailback_engine::endpoint::{Side, UDP_IPV4};
use tailback_engine::network::{Arrival, Dropped, Network};
use tailback_engine::packet::Ecn;
use tailback_engine::units::Time;
use tailback_record::Cause;

use crate::capture::Recording;
use crate::error::Error;
use crate::results::Results;
use crate::simulation::Simulation;

/// A path with real queues, ECN and competing traffic, into which the caller pushes datagrams.
///
/// The scenario must have one entry of `[[programs]]`, to which the datagrams belong. Like packets
/// of flows, datagrams need half of `path.rtt` to reach the first link. By default, `path.rtt` is
/// 20 ms. Every scenario requires the key `duration`, but a bottleneck ignores it.
///
/// Time 0 is the start of the competing traffic, and times must not decrease from call to call. The
/// bottleneck does not store payloads. Instead, it returns the handle of each datagram.
///
/// ```
/// use tailback_sim::{Bottleneck, Ecn, Outcome, Side, Time};
///
/// let mut bottleneck = Bottleneck::from_toml(
///     r#"
///     duration = "1s"
///     [bottleneck]
///     rate = "1Mbit"
///     queue = { aqm = "dualpi2" }
///     [path]
///     rtt = "10ms"
///     [[programs]]
///     name = "mine"
///     "#,
/// )?;
/// // Ten datagrams of 1200 bytes are sent at once. The link needs 10 ms for each at 1 Mbit/s.
/// for handle in 0..10 {
///     bottleneck.push(Time::ZERO, 1200, Ecn::Ect1, handle);
/// }
/// let mut marked = 0;
/// while let Some(time) = bottleneck.next() {
///     while let Some(event) = bottleneck.poll(time) {
///         assert_eq!(event.to, Side::Receiver);
///         assert!(matches!(event.outcome, Outcome::Arrived { .. }));
///         marked += u32::from(event.outcome == Outcome::Arrived { ecn: Ecn::Ce });
///     }
/// }
/// assert_eq!(marked, 9); // all but the first waited for more than DualPI2's step of 1 ms
/// # Ok::<(), tailback_sim::Error>(())
/// ```
pub struct Bottleneck {
    network: Network,
    links: Vec<String>,
    seed: u64,
    events: VecDeque<Event>,
    arrived: Vec<Arrival>,
    dropped: Vec<Dropped>,
    recording: Option<Recording>,
    /// Number of datagrams that were returned as events.
    out: u64,
    /// The simulated time to which the network has advanced.
    now: Time,
}

/// What happened to a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The handle with which the datagram was pushed.
    pub handle: u64,
    /// The side to which the datagram was sent.
    pub to: Side,
    /// When the datagram was pushed.
    pub sent: Time,
    /// When the datagram arrived or was dropped.
    pub at: Time,
    /// Whether the datagram arrived.
    pub outcome: Outcome,
}

/// The outcome of a datagram: it arrived, or a link dropped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The datagram arrived.
    Arrived {
        /// ECN field of the datagram on arrival.
        ecn: Ecn,
    },
    /// A link dropped the datagram.
    Dropped {
        /// Cause of the drop.
        cause: Cause,
        /// Index of the link, in the order of the scenario.
        link: usize,
    },
}

impl Event {
    /// Returns the time from pushing the datagram to its arrival or drop.
    pub fn delay(&self) -> Time {
        self.at.since(self.sent)
    }
}

/// Index of the entry of `[[programs]]` to which the datagrams belong.
const ENTRY: usize = 0;

impl Bottleneck {
    /// Loads a scenario with one entry of `[[programs]]`.
    ///
    /// # Errors
    /// The errors of [`Simulation::from_toml`].
    pub fn from_toml(text: &str) -> Result<Bottleneck, Error> {
        Bottleneck::new(Simulation::from_toml(text)?)
    }

    /// Creates a bottleneck from a loaded scenario, with its seed.
    ///
    /// # Errors
    /// If the scenario does not have exactly one entry of `[[programs]]`.
    pub fn new(simulation: Simulation) -> Result<Bottleneck, Error> {
        let (plan, seed, capture) = simulation.into_parts();
        if plan.program_count() != 1 {
            return Err(Error::Entries(plan.program_count()));
        }
        let mut plan = (*plan).clone();
        // The length of the run is unknown, so the simulator cannot divide the run into intervals
        // for statistics.
        plan.duration = ENDLESS;
        plan.record.statistics = Time::ZERO;
        let links = plan.links.iter().map(|link| link.name.clone()).collect();
        let plan = Arc::new(plan);
        let mut network = Network::new(&plan, seed);
        network.open_entry(ENTRY);
        let recording = Recording::begin(&capture, &plan, &mut network);
        Ok(Bottleneck {
            network,
            links,
            seed,
            events: VecDeque::new(),
            arrived: Vec::new(),
            dropped: Vec::new(),
            recording,
            out: 0,
            now: Time::ZERO,
        })
    }

    /// The largest payload of a datagram, bytes.
    pub const MAX_BYTES: usize = (u16::MAX - UDP_IPV4) as usize;

    /// Returns the names of the links. [`Outcome::Dropped`] contains an index into this list.
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// Returns the time up to which the bottleneck has run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a datagram to the receiver's side, along the route (see [`Bottleneck::send`]).
    ///
    /// # Panics
    /// If [`Bottleneck::send`] would panic.
    #[track_caller]
    pub fn push(&mut self, now: Time, bytes: usize, ecn: Ecn, handle: u64) {
        self.send(now, Side::Sender, bytes, ecn, handle);
    }

    /// Sends a datagram to the sender's side, along the return route (see [`Bottleneck::send`]).
    ///
    /// # Panics
    /// If [`Bottleneck::send`] would panic.
    #[track_caller]
    pub fn push_back(&mut self, now: Time, bytes: usize, ecn: Ecn, handle: u64) {
        self.send(now, Side::Receiver, bytes, ecn, handle);
    }

    /// Sends a datagram from one side to the other. `bytes` is the length of the datagram's
    /// payload. Links also count 42 bytes of headers for each datagram.
    ///
    /// # Panics
    /// If the time decreases, or the datagram has more than [`Bottleneck::MAX_BYTES`].
    #[track_caller]
    pub fn send(&mut self, now: Time, from: Side, bytes: usize, ecn: Ecn, handle: u64) {
        let frame = u16::try_from(bytes + usize::from(UDP_IPV4));
        let frame = frame.unwrap_or_else(|_| panic!("{bytes} bytes do not fit into a datagram"));
        self.advance(now);
        self.network.send(ENTRY, from, frame, ecn, handle);
    }

    /// Returns the next datagram that arrived or was dropped by `now`, in the order of time. Call
    /// this function until it returns `None`.
    ///
    /// # Panics
    /// If the time decreases.
    #[track_caller]
    pub fn poll(&mut self, now: Time) -> Option<Event> {
        self.advance(now);
        self.events.pop_front()
    }

    /// Returns the time of the next poll, which is the earliest time at which a datagram may arrive
    /// or be dropped. Returns `None` if no datagram is in the network.
    pub fn next(&self) -> Option<Time> {
        if let Some(event) = self.events.front() {
            return Some(event.at.max(self.now));
        }
        let inside = self.network.datagrams_sent(ENTRY) > self.out;
        inside.then(|| self.network.next_event().max(self.now))
    }

    /// Returns the measurements of the datagrams, the links and the competing traffic until `now`.
    pub fn finish(mut self, now: Time) -> Results {
        self.advance(now);
        let recorded = self.recording.map(Recording::finish);
        Results::new(
            self.network.finish(),
            self.seed,
            Default::default(),
            recorded,
        )
    }

    /// Returns the packets captured until now as a pcapng file, or `None` if the simulation
    /// captures nothing ([`Simulation::capture`]).
    pub fn pcapng(&self) -> Option<&[u8]> {
        self.recording.as_ref().map(Recording::bytes)
    }

    /// Runs the network up to a given time.
    #[track_caller]
    fn advance(&mut self, now: Time) {
        assert!(now >= self.now, "time goes back from {} to {now}", self.now);
        if now == self.now && self.network.next_event() > now {
            return;
        }
        self.now = now;
        self.network.advance_until(now);
        if let Some(recording) = &mut self.recording {
            recording.take(&mut self.network);
        }
        self.network
            .take_arrivals(ENTRY, &mut self.arrived, &mut self.dropped);
        let known = self.events.len();
        let arrived = self.arrived.drain(..).map(|arrival| Event {
            handle: arrival.handle,
            to: arrival.side,
            sent: arrival.sent,
            at: arrival.at,
            outcome: Outcome::Arrived { ecn: arrival.ecn },
        });
        let dropped = self.dropped.drain(..).map(|drop| Event {
            handle: drop.handle,
            to: drop.side,
            sent: drop.sent,
            at: drop.at,
            outcome: Outcome::Dropped {
                cause: drop.cause,
                link: drop.link,
            },
        });
        self.events.extend(arrived.chain(dropped));
        let new = &mut self.events.make_contiguous()[known..];
        new.sort_by_key(|event| event.at);
        self.out += new.len() as u64;
    }
}

/// The length of the run in the plan. No harness simulates such a long time. The event calendar
/// supports even later times.
const ENDLESS: Time = Time::from_secs(1 << 30);
