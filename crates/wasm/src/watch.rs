//! Records the packets at one link. The results are rates, delays, drops and marks over time, and
//! the times at which each packet entered and left the queue.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use tailback_engine::capture::PacketEvent;
use tailback_engine::packet::{Ecn, flags};
use tailback_engine::plan::Plan;
use tailback_engine::units::Time;
use tailback_record::{Cause, Seen};

/// Number of time bins in a run.
const BINS: u64 = 500;

/// Smallest width of a bin.
const LEAST_WIDTH: Time = Time::from_ms(1);

/// Flows and sources that share a colour on the page.
pub struct Group {
    /// The name of the flow or source, or of its entry in the scenario.
    pub name: String,
    /// The congestion control of the flow, or the kind of the source.
    pub what: String,
    /// The indices of the flows and sources of the group. The indices of sources follow the indices
    /// of all flows.
    pub owners: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    packets: u64,
    bytes: u64,
    delay_ns: u64,
    marks: u64,
    drops: u64,
}

struct Waiting {
    came: Time,
    seq: u64,
    ecn: Ecn,
    /// Index of the packet in the columns of [`Stays`], if the packet is recorded in [`Stays`].
    stay: Option<usize>,
}

/// When each packet entered and left the queue. Each field is a column with one entry per packet.
#[derive(Default)]
struct Stays {
    came_s: Vec<f64>,
    /// When the packet left or was dropped. NaN if the packet was still in the queue at the end.
    left_s: Vec<f64>,
    group: Vec<u8>,
    len: Vec<u16>,
    /// 0 for a packet that was forwarded. For a dropped packet, the index of the cause of the drop,
    /// plus 1.
    fate: Vec<u8>,
    /// A sum of bits: 1 for an ACK, 2 for a retransmission, 4 for arrival with CE, 8 for departure
    /// with CE, 16 for an SCE mark.
    flags: Vec<u8>,
}

const RETRANSMITTED: u8 = 2;
const CAME_CE: u8 = 4;
const LEFT_CE: u8 = 8;
const LEFT_SCE: u8 = 16;

/// Records the packets of one link.
pub struct Watch {
    link: u32,
    groups: Vec<Group>,
    /// The group of each flow and source, at the index of the flow or source.
    group_of: Vec<u8>,
    width: Time,
    /// Bins of each group, in the order of time.
    bins: Vec<Vec<Bin>>,
    /// The packets of each flow and source that wait in the queue.
    waiting: Vec<VecDeque<Waiting>>,
    stays: Stays,
    /// Largest number of packets in `stays`.
    most: usize,
    from: Time,
    /// The time at which the limit of `stays` was reached. Packets that arrive later are not added
    /// to `stays`.
    until: Option<Time>,
    end: Time,
}

impl Watch {
    /// Creates a recorder for the packets of a link. The recorder stores when packets entered and
    /// left the queue, for at most `most` packets that leave at `from` or later.
    pub fn new(plan: &Plan, link: usize, groups: Vec<Group>, most: usize, from: Time) -> Watch {
        let owners: Arc<[u32]> = plan.owners();
        let width = Time(plan.duration.ns().div_ceil(BINS)).max(LEAST_WIDTH);
        let bins = plan.duration.ns().div_ceil(width.ns()).max(1) as usize;
        let mut group_of_owner = vec![0_u8; owners.iter().max().map_or(0, |n| *n as usize + 1)];
        for (number, group) in groups.iter().enumerate() {
            for owner in &group.owners {
                if let Some(place) = group_of_owner.get_mut(*owner as usize) {
                    *place = number.min(usize::from(u8::MAX)) as u8;
                }
            }
        }
        Watch {
            link: link as u32,
            bins: vec![vec![Bin::default(); bins]; groups.len().clamp(1, 256)],
            groups,
            group_of: (owners.iter())
                .map(|owner| group_of_owner[*owner as usize])
                .collect(),
            width,
            waiting: owners.iter().map(|_| VecDeque::new()).collect(),
            stays: Stays::default(),
            most,
            from,
            until: None,
            end: plan.duration,
        }
    }

    /// Records an arrival, departure, mark or drop of a packet.
    pub fn see(&mut self, event: &PacketEvent) {
        if event.link != self.link {
            return;
        }
        let packet = &event.packet;
        let number = packet.flow as usize;
        if matches!(event.seen, Seen::Arrived) {
            let stay = (event.time >= self.from).then(|| self.open(event, event.time, packet.ecn));
            self.waiting[number].push_back(Waiting {
                came: event.time,
                seq: packet.seq,
                ecn: packet.ecn,
                stay: stay.flatten(),
            });
            return;
        }
        let queue = &mut self.waiting[number];
        let place = queue
            .iter()
            .position(|w| w.came == packet.stamp && w.seq == packet.seq);
        // A packet that is lost after the queue is no longer in the list of waiting packets.
        let found = place.and_then(|place| queue.remove(place));
        let (came, ecn) = match &found {
            Some(waiting) => (waiting.came, waiting.ecn),
            None => (event.time, packet.ecn),
        };
        self.count(event, came, ecn);
        let stay = match found {
            Some(waiting) if waiting.stay.is_some() => waiting.stay,
            _ if event.time >= self.from => self.open(event, came, ecn),
            _ => None,
        };
        if let Some(stay) = stay {
            self.close(stay, event, ecn);
        }
    }

    /// Records that a packet entered the queue, unless the limit of `stays` is reached.
    fn open(&mut self, event: &PacketEvent, came: Time, ecn: Ecn) -> Option<usize> {
        let stays = &mut self.stays;
        if stays.came_s.len() >= self.most {
            self.until.get_or_insert(event.time);
            return None;
        }
        let packet = &event.packet;
        let mut bits = u8::from(packet.flags & flags::ACK != 0);
        if packet.flags & (flags::RETRANSMIT | flags::ACK) == flags::RETRANSMIT {
            bits |= RETRANSMITTED;
        }
        if ecn == Ecn::Ce {
            bits |= CAME_CE;
        }
        stays.came_s.push(seconds(came));
        stays.left_s.push(f64::NAN);
        stays.group.push(self.group_of[packet.flow as usize]);
        stays.len.push(packet.len);
        stays.fate.push(0);
        stays.flags.push(bits);
        Some(stays.came_s.len() - 1)
    }

    /// Records that a packet left the queue or was dropped.
    fn close(&mut self, stay: usize, event: &PacketEvent, before: Ecn) {
        let stays = &mut self.stays;
        stays.left_s[stay] = seconds(event.time);
        if let Seen::Dropped(cause) = event.seen {
            stays.fate[stay] = cause as u8 + 1;
        }
        if event.packet.ecn == Ecn::Ce {
            stays.flags[stay] |= LEFT_CE;
        } else if event.packet.ecn == Ecn::Ect1 && before == Ecn::Ect0 {
            stays.flags[stay] |= LEFT_SCE;
        }
    }

    fn count(&mut self, event: &PacketEvent, came: Time, before: Ecn) {
        let group = usize::from(self.group_of[event.packet.flow as usize]);
        let at = (event.time.ns() / self.width.ns()) as usize;
        let Some(bin) = self.bins.get_mut(group).and_then(|bins| bins.get_mut(at)) else {
            return;
        };
        bin.marks += u64::from(event.packet.ecn == Ecn::Ce && before != Ecn::Ce);
        if matches!(event.seen, Seen::Dropped(_)) {
            bin.drops += 1;
            return;
        }
        bin.packets += 1;
        bin.bytes += u64::from(event.packet.len);
        bin.delay_ns += event.time.since(came).ns();
    }

    /// Describes the groups, the bins and the columns. Columns 0 to 3 contain a 64-bit float for
    /// each bin, group by group. Columns 4 to 9 are the fields of `Stays`.
    pub fn about(&self) -> Value {
        let groups = self.groups.iter().map(
            |group| json!({ "name": group.name, "what": group.what, "count": group.owners.len() }),
        );
        let causes: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
        json!({
            "groups": groups.collect::<Vec<_>>(),
            "width_s": seconds(self.width),
            "bins": self.bins.first().map_or(0, Vec::len),
            "stays": self.stays.came_s.len(),
            "from_s": seconds(self.from),
            "until_s": seconds(self.until.unwrap_or(self.end)),
            "causes": causes,
            "columns": [
                "throughput_mbit", "delay_ms", "marks", "drops",
                "came_s", "left_s", "group", "len", "fate", "flags",
            ],
        })
    }

    /// Returns a column of little-endian numbers.
    pub fn column(&self, number: u32) -> Vec<u8> {
        let width_s = seconds(self.width);
        let floats = |values: &[f64]| values.iter().copied().flat_map(f64::to_le_bytes).collect();
        let binned = |value: &dyn Fn(&Bin) -> f64| {
            let bins = self.bins.iter().flatten();
            bins.map(value).flat_map(f64::to_le_bytes).collect()
        };
        let stays = &self.stays;
        match number {
            0 => binned(&|bin| bin.bytes as f64 * 8.0 / 1e6 / width_s),
            1 => binned(&|bin| match bin.packets {
                // A bin without packets has no mean.
                0 => f64::NAN,
                packets => bin.delay_ns as f64 / 1e6 / packets as f64,
            }),
            2 => binned(&|bin| bin.marks as f64),
            3 => binned(&|bin| bin.drops as f64),
            4 => floats(&stays.came_s),
            5 => floats(&stays.left_s),
            6 => stays.group.clone(),
            7 => stays
                .len
                .iter()
                .copied()
                .flat_map(u16::to_le_bytes)
                .collect(),
            8 => stays.fate.clone(),
            9 => stays.flags.clone(),
            _ => Vec::new(),
        }
    }
}

fn seconds(time: Time) -> f64 {
    time.ns() as f64 / 1e9
}
