//! Programs in the simulator: entries of `[[programs]]` whose datagrams come from endpoints, or
//! from the caller of the network.
//!
//! A packet has only 64 bytes, so payloads are stored separately ([`Payloads`]). In the packet of a
//! datagram, the field for the sequence number holds the number of the payload. Packets from the
//! receiver's side are datagrams too, but they take the path of ACKs.

mod payloads;

use tailback_record::{
    Cause, Ended, Histogram, LeftFile, Measures, ProgramOutcome, ProgramSampler, ProgramState,
};

use super::Network;
use super::connections::End;
use crate::calendar::Component;
use crate::endpoint::{Endpoint, EndpointFault, FaultKind, Side};
use crate::packet::{Ecn, Packet, flags};
use crate::units::Time;
use payloads::Payloads;

/// The limits on wake-ups and datagrams apply to each interval of this length.
const WINDOW: Time = Time(1_000_000);
/// The largest number of times that an endpoint may be woken within [`WINDOW`], which is once every
/// 20 ns.
const MAX_WAKES: u32 = 50_000;
/// The largest number of datagrams that an endpoint may send within [`WINDOW`].
const MAX_DATAGRAMS: u32 = 200_000;
/// The largest number of payload bytes that an entry may have in the network.
const MAX_PAYLOAD: u64 = 256 << 20;
/// Size of the longest IP datagram, in bytes. Longer datagrams are dropped, as if they had the flag
/// "don't fragment".
const MTU: usize = 1500;
const ETHERNET: usize = 14;

pub(super) struct Endpoints {
    entries: Vec<Entry>,
    payloads: Payloads,
    fault: Option<EndpointFault>,
}

/// An entry of `[[programs]]`, with its endpoints and measurements.
pub(super) struct Entry {
    /// The entry's index in the table of endpoints. The entry's packets carry this number.
    number: u32,
    start: Time,
    stop: Option<Time>,
    sides: [Attached; 2],
    /// Datagrams that have arrived and that the caller of the network has not taken yet. `None` if
    /// endpoints receive the datagrams.
    arrivals: Option<Vec<Arrival>>,
    sampler: Option<ProgramSampler>,
    /// For each value of the ECN field, the number of packets that the sender's side has sent since
    /// the warm-up.
    sent: [u64; 4],
    /// Number of packets from the sender's side that have arrived since the warm-up.
    received: u64,
    /// Number of payload bytes that have arrived at the receiver's side and at the sender's side.
    /// `base` holds the same numbers at the end of the warm-up.
    delivered: [u64; 2],
    base: [u64; 2],
    /// When the first datagram was sent. `last` is the time when the last datagram arrived.
    first: Option<Time>,
    last: Time,
    too_long: u64,
    /// One-way delay of the last datagram that the receiver's side sent.
    back: Option<Time>,
    /// Round-trip times. For each datagram that arrives at the receiver's side after the warm-up,
    /// tailback adds one value. The value is the datagram's one-way delay plus the one-way delay of
    /// the last datagram in the other direction. If both ends answer at once, this sum is the
    /// round-trip time.
    rtt: Histogram,
    /// The values that the endpoints themselves have measured. The values are stored in this field
    /// when the endpoints are detached.
    numbers: Vec<(String, Option<f64>)>,
}

/// The endpoint on one side of an entry, with the counts for its limits.
#[derive(Default)]
struct Attached {
    endpoint: Option<Box<dyn Endpoint>>,
    header: u16,
    done: Option<Time>,
    pace: Pace,
}

/// Counts what an endpoint does within [`WINDOW`].
#[derive(Default)]
struct Pace {
    begun: Time,
    wakes: u32,
    datagrams: u32,
}

impl Pace {
    #[inline]
    fn at(&mut self, now: Time) -> &mut Pace {
        if now.since(self.begun) >= WINDOW {
            *self = Pace {
                begun: now,
                ..Pace::default()
            };
        }
        self
    }

    fn fault(&self) -> Option<FaultKind> {
        if self.wakes > MAX_WAKES {
            return Some(FaultKind::Spins(self.wakes));
        }
        (self.datagrams > MAX_DATAGRAMS).then_some(FaultKind::Floods(self.datagrams))
    }
}

/// A datagram that has arrived, for the caller of [`Network::open_entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The side that received the datagram.
    pub side: Side,
    /// The handle that the caller gave to [`Network::send`].
    pub handle: u64,
    /// When the datagram was sent.
    pub sent: Time,
    /// When the datagram arrived.
    pub at: Time,
    /// The ECN field on arrival.
    pub ecn: Ecn,
}

/// A datagram that did not arrive, for the caller of [`Network::open_entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The side to which the datagram was sent.
    pub side: Side,
    /// The handle that the caller gave to [`Network::send`].
    pub handle: u64,
    /// When the datagram was sent.
    pub sent: Time,
    /// When the datagram was dropped.
    pub at: Time,
    /// Cause of the drop.
    pub cause: Cause,
    /// Index of the link that dropped the datagram.
    pub link: usize,
}

impl From<Side> for End {
    fn from(side: Side) -> End {
        match side {
            Side::Sender => End::Sender,
            Side::Receiver => End::Receiver,
        }
    }
}

impl From<End> for Side {
    fn from(end: End) -> Side {
        match end {
            End::Sender => Side::Sender,
            End::Receiver => Side::Receiver,
        }
    }
}

/// Both ends, in the same order as the elements of the fields `sides`, `delivered` and `base`.
const ENDS: [End; 2] = [End::Sender, End::Receiver];

impl Endpoints {
    pub fn new(entries: Vec<Entry>) -> Endpoints {
        Endpoints {
            entries,
            payloads: Payloads::default(),
            fault: None,
        }
    }

    /// Records that a link has duplicated a packet, so that its payload is used twice.
    pub fn copied(&mut self, packet: &Packet) {
        let first = self.entries.first().map_or(u32::MAX, |entry| entry.number);
        let entry = packet.flow.checked_sub(first).map(|place| place as usize);
        if entry.is_some_and(|place| self.entries[place].arrivals.is_none()) {
            self.payloads.share(packet.seq);
        }
    }

    /// Begins the measurement, at the end of the warm-up.
    pub fn end_warmup(&mut self) {
        for entry in &mut self.entries {
            entry.base = entry.delivered;
        }
    }
}

impl Entry {
    pub fn new(
        number: u32,
        start: Time,
        stop: Option<Time>,
        sampler: Option<ProgramSampler>,
    ) -> Entry {
        Entry {
            number,
            start,
            stop,
            sides: Default::default(),
            arrivals: None,
            sampler,
            sent: [0; 4],
            received: 0,
            delivered: [0; 2],
            base: [0; 2],
            first: None,
            last: Time::ZERO,
            too_long: 0,
            back: None,
            rtt: Histogram::default(),
            numbers: Vec::new(),
        }
    }

    /// Adds the values that the entry's endpoints have measured. Skips a value if `to` already
    /// contains a value with this name. The receiver's side has priority, because it measures the
    /// data that has arrived.
    fn add_numbers(&self, to: &mut Vec<(String, Option<f64>)>) {
        let ends = self.sides.iter().rev();
        let own = ends.filter_map(|side| side.endpoint.as_ref());
        for (name, number) in own.flat_map(|endpoint| endpoint.numbers()) {
            if to.iter().all(|(known, _)| known != name) {
                to.push((name.to_owned(), Some(number)));
            }
        }
    }

    fn take_files(&mut self) -> Vec<LeftFile> {
        let mut files = Vec::new();
        for (attached, side) in self.sides.iter_mut().zip([Side::Sender, Side::Receiver]) {
            let Some(endpoint) = &mut attached.endpoint else {
                continue;
            };
            let own = endpoint.take_files().into_iter();
            files.extend(own.map(|(name, bytes)| LeftFile {
                path: format!("{}/out/{name}", side.name()),
                bytes,
            }));
        }
        files
    }

    fn state(&self) -> ProgramState {
        let sender = self.sides[0].endpoint.as_ref();
        let state = sender.map(|sender| sender.state()).unwrap_or_default();
        ProgramState {
            delivered_bytes: Some(self.delivered[0] as f64),
            back_bytes: Some(self.delivered[1] as f64),
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            srtt_ns: state.srtt.map(|srtt| srtt.ns() as f64),
            in_flight: state.in_flight,
            ..ProgramState::default()
        }
    }

    fn outcome(&self, name: String, kind: &str, warmup: Time, end: Time) -> ProgramOutcome {
        let done = self.sides.each_ref().map(|side| side.done);
        let over = done[0].zip(done[1]).map(|(a, b)| a.max(b));
        let [delivered, back] = [0, 1].map(|at| self.delivered[at] - self.base[at]);
        let first = self.first.filter(|_| over.is_some());
        let from = self.start.max(warmup);
        // A transfer is complete when its last data arrives, as for a flow.
        let completed = first.map(|_| self.last).or(over);
        let to = [self.stop, completed].into_iter().flatten();
        let to = to.fold(end, Time::min).max(from);
        let mut numbers = vec![("too_long".to_owned(), Some(self.too_long as f64))];
        numbers.extend(self.numbers.iter().cloned());
        self.add_numbers(&mut numbers);
        ProgramOutcome {
            name,
            kind: kind.to_owned(),
            measures: Measures {
                from_ns: from.ns(),
                to_ns: to.ns(),
                sent_packets: self.sent.iter().sum(),
                received_packets: self.received,
                delivered_bytes: delivered,
                back_bytes: back,
                rtt: self.rtt.clone(),
                rtt_estimated: self.rtt.count() > 0,
                ecn_sent: self.sent,
                completion_ns: first.map(|first| self.last.since(first).ns()),
                ..Measures::default()
            },
            ends: done.map(|done| {
                done.map(|at| Ended {
                    status: 0,
                    at_ns: at.ns(),
                })
            }),
            numbers,
            ..ProgramOutcome::default()
        }
    }
}

impl Network {
    /// Attaches endpoints to the sender's and the receiver's side of an entry of `[[programs]]`.
    /// Call this function before the run. An entry without endpoints sends nothing.
    ///
    /// # Panics
    /// Panics if the plan has no such entry.
    pub fn attach(&mut self, entry: usize, sides: [Box<dyn Endpoint>; 2]) {
        let endpoints = self.endpoints.as_mut().expect("a plan with programs");
        let here = &mut endpoints.entries[entry];
        for (side, endpoint) in here.sides.iter_mut().zip(sides) {
            side.header = endpoint.header_bytes();
            side.endpoint = Some(endpoint);
        }
        let first = self.ids.endpoints + 2 * entry as u32;
        self.calendar.schedule(first, here.start);
        self.calendar.schedule(first + 1, here.start);
    }

    /// Removes and returns the endpoints of an entry.
    pub fn detach(&mut self, entry: usize) -> [Option<Box<dyn Endpoint>>; 2] {
        let endpoints = self.endpoints.as_mut();
        let entry = endpoints.and_then(|endpoints| endpoints.entries.get_mut(entry));
        let Some(entry) = entry else {
            return [None, None];
        };
        let mut numbers = std::mem::take(&mut entry.numbers);
        entry.add_numbers(&mut numbers);
        entry.numbers = numbers;
        let [sender, receiver] = &mut entry.sides;
        [sender.endpoint.take(), receiver.endpoint.take()]
    }

    /// Returns the first fault that the network has detected in an endpoint, or `None`. After a
    /// fault, the results are not valid for the scenario.
    pub fn endpoint_fault(&self) -> Option<EndpointFault> {
        self.endpoints.as_ref()?.fault
    }

    /// Opens an entry so that the caller takes the role of its endpoints. From then on, the caller
    /// sends the entry's datagrams ([`Network::send`]) and takes the datagrams that arrive
    /// ([`Network::take_arrivals`]).
    ///
    /// # Panics
    /// Panics if the plan has no such entry.
    pub fn open_entry(&mut self, entry: usize) {
        let endpoints = self.endpoints.as_mut().expect("a plan with programs");
        endpoints.entries[entry].arrivals = Some(Vec::new());
    }

    /// Sends a datagram from a side of an open entry, at the network's current time. `bytes` is the
    /// length of its frame.
    pub fn send(&mut self, entry: usize, side: Side, bytes: u16, ecn: Ecn, handle: u64) {
        let Some(endpoints) = &self.endpoints else {
            return;
        };
        let number = endpoints.entries[entry].number;
        let payload = bytes.saturating_sub(crate::endpoint::UDP_IPV4);
        let mut packet = Packet::new(number, bytes, ecn);
        (packet.seq, packet.payload) = (handle, payload);
        self.enter(entry, side.into(), packet);
    }

    /// Appends to `arrived` the datagrams of an open entry that have arrived, in the order of time.
    /// Appends to `dropped` the datagrams that were dropped, link by link.
    pub fn take_arrivals(
        &mut self,
        entry: usize,
        arrived: &mut Vec<Arrival>,
        dropped: &mut Vec<Dropped>,
    ) {
        self.reclaim(Some((entry, dropped)));
        if let Some(endpoints) = &mut self.endpoints
            && let Some(arrivals) = &mut endpoints.entries[entry].arrivals
        {
            arrived.append(arrivals);
        }
    }

    /// Returns how many of an entry's datagrams were put into the network, including copies.
    pub fn datagrams_sent(&self, entry: usize) -> u64 {
        let endpoints = self.endpoints.as_ref();
        let entry = endpoints.and_then(|endpoints| endpoints.entries.get(entry));
        entry.map_or(0, |entry| self.ends[entry.number as usize].entered)
    }

    /// Puts a packet of an entry into its pipe.
    fn enter(&mut self, entry: usize, end: End, mut packet: Packet) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let now = self.now;
        let here = &mut endpoints.entries[entry];
        packet.sent = now;
        packet.flags = flags::DATAGRAM;
        here.first.get_or_insert(now);
        match end {
            End::Sender => here.sent[packet.ecn as usize] += u64::from(now >= self.plan.warmup),
            End::Receiver => packet.flags |= flags::ACK,
        }
        let ends = &mut self.ends[packet.flow as usize];
        ends.entered += 1;
        let access = ends.path.pipes[end as usize];
        self.pipes[access as usize].push(packet, now, access, &mut self.calendar);
    }

    /// Wakes an endpoint whose requested time has come.
    pub(super) fn run_endpoint(&mut self, id: Component) {
        let place = (id - self.ids.endpoints) as usize;
        self.turn(place / 2, ENDS[place % 2], None);
    }

    pub(super) fn receive_datagram(&mut self, entry: usize, end: End, packet: &Packet) {
        let now = self.now;
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let here = &mut endpoints.entries[entry];
        if !here.is_over(now) {
            let at_receiver = end == End::Receiver;
            here.delivered[usize::from(!at_receiver)] += u64::from(packet.payload);
            let took = now.since(packet.sent);
            if !at_receiver {
                here.back = Some(took);
            } else if now >= self.plan.warmup {
                here.received += 1;
                if let Some(back) = here.back {
                    here.rtt.record((took + back).ns());
                }
            }
            if packet.payload > 0 {
                here.last = now;
            }
        }
        if let Some(arrivals) = &mut here.arrivals {
            arrivals.push(Arrival {
                side: end.into(),
                handle: packet.seq,
                sent: packet.sent,
                at: now,
                ecn: packet.ecn,
            });
            return;
        }
        self.turn(entry, end, Some(packet));
    }

    /// Lets an endpoint act. Passes the datagram in `packet` to an endpoint, or wakes the endpoint
    /// if `packet` is `None`. Then sends the datagrams that the endpoint has ready.
    fn turn(&mut self, entry: usize, end: End, packet: Option<&Packet>) {
        let now = self.now;
        let id = self.ids.endpoints + 2 * entry as u32 + end as u32;
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        if endpoints.payloads.is_due() {
            self.reclaim(None);
        }
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let here = &mut endpoints.entries[entry];
        // After an endpoint's fault the run ends soon, and its results are not used.
        let over = here.is_over(now) || endpoints.fault.is_some();
        let side = &mut here.sides[end as usize];
        // While the endpoint acts, it is moved out of its table, because sending a datagram borrows
        // the whole network.
        let endpoint = side.endpoint.take().filter(|_| !over);
        let Some(mut endpoint) = endpoint else {
            if let Some(packet) = packet {
                endpoints.payloads.release(packet.seq);
            }
            return self.calendar.cancel(id);
        };
        let header = side.header;
        match packet {
            None => {
                side.pace.at(now).wakes += 1;
                endpoint.wake(now);
            }
            Some(packet) => {
                endpoint.receive(now, endpoints.payloads.get(packet.seq), packet.ecn);
                endpoints.payloads.release(packet.seq);
            }
        }
        self.transmit(entry, end, header, &mut *endpoint);
        let next = endpoint.next();
        let is_done = endpoint.is_done();
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let side = &mut endpoints.entries[entry].sides[end as usize];
        if is_done {
            side.done.get_or_insert(now);
        }
        let held = endpoints.payloads.bytes();
        let filled = (held > MAX_PAYLOAD).then_some(FaultKind::Fills(held));
        if let Some(kind) = side.pace.fault().or(filled) {
            endpoints.fault.get_or_insert(EndpointFault {
                entry,
                side: end.into(),
                at: now,
                kind,
            });
            return self.calendar.cancel(id);
        }
        side.endpoint = Some(endpoint);
        match next {
            None => self.calendar.cancel(id),
            Some(next) => self.calendar.move_to(id, next.max(now)),
        }
    }

    /// Sends the datagrams that an endpoint has ready now.
    fn transmit(&mut self, entry: usize, end: End, header: u16, endpoint: &mut dyn Endpoint) {
        loop {
            let Some(endpoints) = &mut self.endpoints else {
                return;
            };
            let mut written = endpoints.payloads.take_spare();
            let Some(transmit) = endpoint.transmit(self.now, &mut written) else {
                endpoints.payloads.put_spare(written);
                return;
            };
            let whole = written.len();
            let size = transmit
                .segment_size
                .filter(|size| (1..whole).contains(size));
            let datagrams = size.map_or(1, |size| whole.div_ceil(size)) as u32;
            let pace = endpoints.entries[entry].sides[end as usize]
                .pace
                .at(self.now);
            pace.datagrams = pace.datagrams.saturating_add(datagrams);
            let floods = pace.fault().is_some() || endpoints.payloads.bytes() > MAX_PAYLOAD;
            match size {
                None => self.transmit_one(entry, end, header, transmit.ecn, written),
                Some(size) => {
                    for part in written.chunks(size) {
                        let Some(endpoints) = &mut self.endpoints else {
                            return;
                        };
                        let mut own = endpoints.payloads.take_spare();
                        own.extend_from_slice(part);
                        self.transmit_one(entry, end, header, transmit.ecn, own);
                    }
                    if let Some(endpoints) = &mut self.endpoints {
                        endpoints.payloads.put_spare(written);
                    }
                }
            }
            if floods {
                return;
            }
        }
    }

    /// Sends a datagram, unless it is too long.
    fn transmit_one(&mut self, entry: usize, end: End, header: u16, ecn: Ecn, payload: Vec<u8>) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let here = &mut endpoints.entries[entry];
        let len = payload.len() + usize::from(header);
        if len > MTU + ETHERNET {
            here.too_long += 1;
            return endpoints.payloads.put_spare(payload);
        }
        // Both casts are lossless, because the longest frame has 1514 bytes.
        let mut packet = Packet::new(here.number, len as u16, ecn);
        packet.payload = payload.len() as u16;
        packet.seq = endpoints.payloads.put(payload);
        self.enter(entry, end, packet);
    }

    /// Releases the payloads of the packets that links have dropped. `wanted` names an entry and a
    /// list. The entry's dropped datagrams are appended to the list.
    fn reclaim(&mut self, mut wanted: Option<(usize, &mut Vec<Dropped>)>) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        let first = endpoints.entries.first().map_or(0, |entry| entry.number);
        for (link, here) in self.links.iter_mut().enumerate() {
            for lost in here.sink.take_lost() {
                let entry = (lost.packet.flow - first) as usize;
                if endpoints.entries[entry].arrivals.is_none() {
                    endpoints.payloads.release(lost.packet.seq);
                }
                if let Some((wanted, drops)) = &mut wanted
                    && *wanted == entry
                {
                    let to = match lost.packet.has(flags::ACK) {
                        true => Side::Sender,
                        false => Side::Receiver,
                    };
                    drops.push(Dropped {
                        side: to,
                        handle: lost.packet.seq,
                        sent: lost.packet.sent,
                        at: lost.at,
                        cause: lost.cause,
                        link,
                    });
                }
            }
        }
        endpoints.payloads.reclaimed();
    }

    pub(super) fn sample_endpoints(&mut self) {
        let entries = self.endpoints.iter().flat_map(|all| &all.entries);
        for entry in entries {
            if let Some(sampler) = &entry.sampler {
                sampler.interval(self.now.ns(), &entry.state(), &mut self.series);
            }
        }
    }

    /// Returns the measurements of all entries, and the output files of their endpoints.
    pub(super) fn program_outcomes(&mut self) -> Vec<ProgramOutcome> {
        let entries = self.endpoints.iter_mut().flat_map(|all| &mut all.entries);
        let outcomes = entries.zip(self.plan.each_program()).map(|(entry, plan)| {
            let files = entry.take_files();
            let outcome = entry.outcome(plan.name(), plan.of.kind, self.plan.warmup, self.now);
            ProgramOutcome { files, ..outcome }
        });
        outcomes.collect()
    }
}

impl Entry {
    fn is_over(&self, now: Time) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }
}
