//! Measures programs at their hosts. The addresses of a program's two hosts identify the program's
//! packets, regardless of the packets' protocol. The module counts the packets of each 5-tuple
//! separately.
//!
//! | file | content |
//! |---|---|
//! | `tuple` | a 5-tuple: the data that TCP has delivered, the times of first and last packet, the time that packets waited at links |
//! | `bins` | the rows of the series, by record interval |

mod bins;
#[cfg(test)]
mod tests;
mod tuple;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

use tailback_guest::job::{Job, Program};
use tailback_record::program::MAX_TUPLES;
use tailback_record::{Ended, Measures, ProgramOutcome, Series, TupleOutcome};

use super::diag::Diag;
use super::frame::{self, Frame};
use super::gates::Gates;
use super::queue::{Note, Noted};
use super::ring::{PROGRAM_SNAPLEN, Ring, Which};
use super::setup::Namespaces;
use bins::Bins;
use tuple::{Record, Tuple};

/// Largest number of 5-tuples that are measured separately. A packet of any further 5-tuple is
/// counted as a packet of an earlier 5-tuple.
const MOST_TUPLES: usize = 1 << 16;

/// Total capacity of the capture rings of all hosts, in packets.
const RING_PACKETS: usize = 1 << 17;
/// Smallest and largest capacity of one capture ring, in packets.
const RING_RANGE: (usize, usize) = (1 << 12, 1 << 15);

/// Identifies a 5-tuple. The fields are the program (which determines the addresses), whether the
/// 5-tuple uses IPv6, the protocol, and the ports at the sender's and the receiver's host.
type TupleKey = (u32, bool, u8, [u16; 2]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub program: u32,
    /// Whether the receiver's host sent the packet.
    pub back: bool,
    pub tuple: u32,
}

struct Entry {
    plan: Program,
    /// Start and end of the measured time, in ns.
    measured: (u64, u64),
    /// The records of the 5-tuples, in the order of their first packets. The last record is for all
    /// 5-tuples beyond the limit `MOST_TUPLES`.
    records: Vec<Record>,
    /// Number of 5-tuples, including 5-tuples beyond the limit `MOST_TUPLES`.
    tuples: u64,
    bins: Bins,
    /// The TCP connection that has delivered more of the sender's bytes than any other connection,
    /// and the number of bytes that this connection has delivered.
    busiest: Option<(u32, u64)>,
    diag: Option<Diag>,
}

struct Host {
    namespace: usize,
    ring: Ring,
}

/// The measurements of a run's programs.
pub struct Taps {
    entries: Vec<Entry>,
    /// For each pair of source and destination address: the program to which the pair belongs, and
    /// whether the source is the receiver's host.
    pairs: HashMap<(IpAddr, IpAddr), (u32, bool)>,
    keys: HashMap<TupleKey, u32>,
    tuples: Vec<Tuple>,
    hosts: Vec<Host>,
    notes: Vec<(usize, Note)>,
    warmup_ns: u64,
    /// Whether the run also captures packets at the queues.
    watched: bool,
}

impl Taps {
    /// Creates the state for the programs of a job, or returns `None` without programs.
    /// [`Taps::open`] starts the captures.
    pub fn new(job: &Job) -> Option<Taps> {
        if job.programs.is_empty() {
            return None;
        }
        let mut pairs = HashMap::new();
        for (index, program) in (0..).zip(&job.programs) {
            let (from, to) = (program.sender_addresses, program.receiver_addresses);
            let v4: [IpAddr; 2] = [from.0.into(), to.0.into()];
            let v6: [IpAddr; 2] = [from.1.into(), to.1.into()];
            for [from, to] in [v4, v6] {
                pairs.insert((from, to), (index, false));
                pairs.insert((to, from), (index, true));
            }
        }
        let entries = job.programs.iter().map(|program| {
            let from = program.start_ns.max(job.warmup_ns);
            let to = program.stop_ns.unwrap_or(u64::MAX).min(job.duration_ns);
            let interval = job.record.series.then_some(job.record.interval_ns);
            Entry {
                plan: program.clone(),
                measured: (from, to),
                records: Vec::new(),
                tuples: 0,
                bins: Bins::new(interval.unwrap_or(0), job.duration_ns),
                busiest: None,
                diag: None,
            }
        });
        Some(Taps {
            entries: entries.collect(),
            pairs,
            keys: HashMap::new(),
            tuples: Vec::new(),
            hosts: Vec::new(),
            notes: Vec::new(),
            warmup_ns: job.warmup_ns,
            watched: job.record.captures,
        })
    }

    pub fn open(&mut self, job: &Job, namespaces: &Namespaces) -> io::Result<()> {
        let ends = job.programs.iter().flat_map(|p| [p.sender, p.receiver]);
        let mut hosts: Vec<usize> = ends.collect();
        hosts.sort_unstable();
        hosts.dedup();
        let room = (RING_PACKETS / hosts.len()).clamp(RING_RANGE.0, RING_RANGE.1);
        for namespace in hosts {
            namespaces.enter(namespace).map_err(io::Error::other)?;
            let ring = Ring::new(Which::Both, room, PROGRAM_SNAPLEN, job.offloads)?;
            self.hosts.push(Host { namespace, ring });
        }
        if job.record.series {
            for entry in &mut self.entries {
                namespaces
                    .enter(entry.plan.sender)
                    .map_err(io::Error::other)?;
                entry.diag = Some(Diag::new()?);
            }
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_host(address: IpAddr) -> bool {
        match address {
            IpAddr::V4(v4) => matches!(v4.octets(), [10, 3 | 4, ..]),
            IpAddr::V6(v6) => matches!(v6.segments(), [0xfd00, 3 | 4, ..]),
        }
    }

    pub fn owner(&mut self, frame: &Frame) -> Option<Owner> {
        let &(program, back) = self.pairs.get(&(frame.source, frame.destination))?;
        let ports = match back {
            false => [frame.source_port, frame.port],
            true => [frame.port, frame.source_port],
        };
        let key = (program, frame.source.is_ipv6(), frame.protocol, ports);
        let tuple = match self.keys.get(&key) {
            Some(tuple) => *tuple,
            None => self.meet(key, frame, back),
        };
        Some(Owner {
            program,
            back,
            tuple,
        })
    }

    /// Adds a new 5-tuple, of which `frame` is the first packet.
    fn meet(&mut self, key: TupleKey, frame: &Frame, back: bool) -> u32 {
        let entry = &mut self.entries[key.0 as usize];
        entry.tuples += 1;
        if self.tuples.len() >= MOST_TUPLES {
            // There are too many 5-tuples, so use an existing 5-tuple of the same program and
            // protocol.
            let same = |t: &Tuple| t.program == key.0 && t.protocol == frame.protocol;
            return self.tuples.iter().rposition(same).unwrap_or(0) as u32;
        }
        let record = entry.records.len().min(MAX_TUPLES);
        let ends = match back {
            false => [frame.source, frame.destination],
            true => [frame.destination, frame.source],
        };
        if record == entry.records.len() {
            entry.records.push(Record::default());
        }
        let links = entry.plan.route.len() + entry.plan.back.len();
        let mut tuple = Tuple::new(key.0, record, frame, links);
        tuple.ends = [(ends[0], key.3[0]), (ends[1], key.3[1])];
        self.tuples.push(tuple);
        let number = (self.tuples.len() - 1) as u32;
        self.keys.insert(key, number);
        number
    }

    /// Stores the events of programs' packets at a link, and empties `notes`.
    pub fn note(&mut self, link: usize, notes: &mut Vec<Note>) {
        self.notes.extend(notes.drain(..).map(|note| (link, note)));
    }

    /// Reads everything captured at the hosts. Call this function after the captures at the links
    /// have been read. `origin_ns` is the start of the run on the captures' clock, and `end_ns` is
    /// the end of the run.
    pub fn drain(&mut self, gates: &Gates, origin_ns: u64, end_ns: u64) {
        self.settle();
        let mut hosts = std::mem::take(&mut self.hosts);
        for host in &mut hosts {
            let namespace = host.namespace;
            host.ring.drain(|captured| {
                let Some(frame) = frame::parse(captured.bytes) else {
                    return;
                };
                if !gates.admit(namespace, &captured, &frame) {
                    return;
                }
                let time_ns = captured.time_ns.checked_sub(origin_ns);
                let Some(time_ns) = time_ns.filter(|time| *time < end_ns) else {
                    return;
                };
                if let Some(owner) = self.owner(&frame) {
                    self.seen(namespace, captured.outgoing, time_ns, &frame, owner);
                }
            });
        }
        self.hosts = hosts;
    }

    fn seen(&mut self, host: usize, outgoing: bool, time_ns: u64, frame: &Frame, of: Owner) {
        let entry = &self.entries[of.program as usize];
        let from_sender = [entry.plan.sender, entry.plan.receiver];
        let [from, to] = match of.back {
            false => from_sender,
            true => [from_sender[1], from_sender[0]],
        };
        if outgoing && host == from {
            // A packet is captured after the access delay of its host.
            let sent_ns = time_ns.saturating_sub(entry.plan.access_delay_ns);
            self.sent(sent_ns, frame, of);
        } else if !outgoing && host == to {
            self.arrived(time_ns, frame, of);
        }
    }

    fn sent(&mut self, at_ns: u64, frame: &Frame, of: Owner) {
        let Taps {
            entries, tuples, ..
        } = self;
        let entry = &mut entries[of.program as usize];
        let tuple = &mut tuples[of.tuple as usize];
        let record = &mut entry.records[tuple.record];
        record.span(at_ns, frame.payload > 0);
        if !of.back && at_ns >= self.warmup_ns {
            record.sent[usize::from(frame.ecn & 3)] += 1;
        }
        if !frame.is_tcp() {
            return;
        }
        // An ACK shows which data its host has received in order.
        let bytes = tuple.sent(of.back, frame, at_ns);
        if bytes == 0 {
            return;
        }
        let there = of.back;
        record.deliver(!there, bytes, within(entry.measured, at_ns));
        entry.bins.deliver(!there, bytes, at_ns);
        if there {
            tuple.delivered += bytes;
            let most = entry.busiest.map_or(0, |(_, most)| most);
            if tuple.delivered > most {
                entry.busiest = Some((of.tuple, tuple.delivered));
            }
        }
    }

    fn arrived(&mut self, at_ns: u64, frame: &Frame, of: Owner) {
        let Taps {
            entries, tuples, ..
        } = self;
        let entry = &mut entries[of.program as usize];
        let tuple = &mut tuples[of.tuple as usize];
        let record = &mut entry.records[tuple.record];
        record.span(at_ns, frame.payload > 0);
        let measured = at_ns >= self.warmup_ns;
        if !of.back && measured {
            record.arrived += 1;
        }
        if frame.is_tcp() {
            if let Some(rtt) = tuple.arrived(of.back, frame, at_ns) {
                record.rtt(!of.back, rtt, measured, false);
                entry.bins.rtt(!of.back, rtt, at_ns);
            }
            return;
        }
        let bytes = u64::from(frame.payload);
        record.deliver(of.back, bytes, within(entry.measured, at_ns));
        entry.bins.deliver(of.back, bytes, at_ns);
        // If the packet's route has no link, no link reports the packet, so record the packet's RTT
        // here.
        let [way, _] = entry.plan.ways(of.back);
        if way.is_empty() && self.watched {
            let rtt = entry.plan.base_rtt_ns + tuple.sojourns();
            record.rtt(of.back, rtt, measured, true);
            entry.bins.rtt(of.back, rtt, at_ns);
        }
    }

    /// Applies the events at the links in order of time.
    fn settle(&mut self) {
        let mut notes = std::mem::take(&mut self.notes);
        notes.sort_by_key(|(_, note)| note.at_ns);
        for (link, note) in notes.drain(..) {
            let tuple = &mut self.tuples[note.tuple as usize];
            let entry = &mut self.entries[tuple.program as usize];
            let record = &mut entry.records[tuple.record];
            let measured = note.at_ns >= self.warmup_ns;
            let sojourn = match note.what {
                Noted::Counted(cause) => {
                    if measured {
                        record.counts.add(cause);
                    }
                    continue;
                }
                Noted::Passed(sojourn) => sojourn,
            };
            if !note.back {
                if measured {
                    record.delay.record(sojourn);
                }
                entry.bins.delay(sojourn, note.at_ns);
            }
            let [way, other] = entry.plan.ways(note.back);
            let Some(place) = way.iter().position(|l| *l == link) else {
                continue;
            };
            // In `waited`, the links of the forward direction come first.
            let first = if note.back { other.len() } else { 0 };
            tuple.waited[first + place] = sojourn;
            if !tuple.is_tcp && place + 1 == way.len() {
                let rtt = entry.plan.base_rtt_ns + tuple.sojourns();
                record.rtt(note.back, rtt, measured, true);
                entry.bins.rtt(note.back, rtt, note.at_ns);
            }
        }
        self.notes = notes;
    }

    /// At the end of a record interval, samples the busiest TCP socket of each sender's host.
    pub fn sample(&mut self, now_ns: u64) {
        for entry in &mut self.entries {
            let (Some(diag), Some((tuple, _))) = (&mut entry.diag, entry.busiest) else {
                continue;
            };
            let [local, remote] = self.tuples[tuple as usize].ends;
            if let Some(info) = diag.info(local, remote).ok().flatten() {
                entry.bins.socket(info, now_ns);
            }
        }
    }

    pub fn lost(&self) -> u64 {
        self.hosts.iter().map(|host| host.ring.lost()).sum()
    }

    /// Returns the measurements. Call this function after the captures were read for the last time.
    /// `ends` describes how both sides of each program ended. The caller adds the drops and marks,
    /// because the links count them.
    pub fn finish(
        mut self,
        ends: &[[Option<Ended>; 2]],
        duration_ns: u64,
        series: &mut Series,
    ) -> Vec<ProgramOutcome> {
        self.settle();
        let mut all = Vec::new();
        for (index, entry) in (0..).zip(&self.entries) {
            let ends = ends.get(index as usize).copied().unwrap_or_default();
            let over_ns = over(&entry.plan, ends);
            // Use the RTTs of the receiver's data if the sender's data provided no RTTs.
            let back = entry.records.iter().all(|record| record.has_no_rtt(false));
            let (from_ns, to_ns) = entry.measured;
            let spans = || entry.records.iter().filter_map(|record| record.payload);
            let begun = spans().map(|span| span.0).min();
            let last = spans().map(|span| span.1).max();
            // As for a flow, a transfer is complete when its last data has arrived. The program may
            // end later.
            let completed_ns = over_ns.map(|over| last.unwrap_or(over));
            let to_ns = to_ns.min(completed_ns.unwrap_or(u64::MAX)).max(from_ns);
            let mut measures = Measures {
                from_ns,
                to_ns,
                ..Measures::default()
            };
            let mut tuples = Vec::new();
            let own = self.tuples.iter().filter(|tuple| tuple.program == index);
            let mut first: Vec<Option<&Tuple>> = vec![None; entry.records.len()];
            for tuple in own {
                first[tuple.record].get_or_insert(tuple);
            }
            for (record, tuple) in entry.records.iter().zip(first) {
                let Some(tuple) = tuple else { continue };
                let own = record.measures((from_ns, to_ns), back);
                measures.merge(&own);
                let one = tuple.record < MAX_TUPLES;
                let is_over = over_ns.is_some() || one && tuple.is_closed();
                tuples.push(TupleOutcome {
                    tuples: match one {
                        true => 1,
                        false => entry.tuples - MAX_TUPLES as u64,
                    },
                    protocol: if one { tuple.protocol } else { 0 },
                    sender: tuple.ends[0],
                    receiver: tuple.ends[1],
                    measures: Measures {
                        completion_ns: own.completion_ns.filter(|_| is_over),
                        ..own
                    },
                });
            }
            (measures.from_ns, measures.to_ns) = (from_ns, to_ns);
            measures.counts = Default::default();
            measures.completion_ns = over_ns.and_then(|_| Some(last? - begun?));
            entry.bins.rows(&entry.plan, back, duration_ns, series);
            all.push(ProgramOutcome {
                name: entry.plan.name.clone(),
                kind: entry.plan.kind.clone(),
                measures,
                tuples,
                ends,
                ..ProgramOutcome::default()
            });
        }
        all
    }
}

fn within((from, to): (u64, u64), at_ns: u64) -> bool {
    (from..to).contains(&at_ns)
}

/// Returns when a program has finished its work. A program's work is finished when all sides that
/// are not servers have ended by themselves.
fn over(plan: &Program, ends: [Option<Ended>; 2]) -> Option<u64> {
    let clients = plan.sides.iter().zip(ends).filter(|(side, _)| {
        let side = side.as_ref();
        side.is_some_and(|side| side.ready.is_none())
    });
    let ends: Option<Vec<u64>> = clients.map(|(_, end)| Some(end?.at_ns)).collect();
    ends?.into_iter().max()
}

/// Returns the links on the route of packets in one direction, and the links on the route in the
/// other direction.
trait Ways {
    fn ways(&self, back: bool) -> [&[usize]; 2];
}

impl Ways for Program {
    fn ways(&self, back: bool) -> [&[usize]; 2] {
        match back {
            false => [&self.route, &self.back],
            true => [&self.back, &self.route],
        }
    }
}
