//! Estimates the number of packets of a run before it begins.

use tailback_engine::plan::{Delack, FlowPlan, LinkPlan, Plan, RatePlan, TrafficPlan};
use tailback_engine::traffic::{Role, Transport, transport};
use tailback_engine::units::{Bytes, Rate, Time};

use crate::response;

/// Frame length of an ACK, in bytes.
const ACK: u64 = 66;

/// Frame length of a full segment, in bytes.
const FRAME: u64 = 1514;

/// Number of iterations. Each iteration computes, for every link, the fraction of packets that pass
/// the link. An iteration uses the fractions of other links from the previous iteration.
const ROUNDS: usize = 4;

/// Number of segments that Linux acknowledges without delay after a duplicate arrives
/// (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: f64 = 16.0;

/// Estimates how many packets pass the links in a run. Each data packet, ACK and duplicate counts
/// once for each link that it passes. The links and policers on a sender's route limit how many
/// packets it sends. Random losses and marks outside queues also limit a sender, if they keep its
/// rate below the rate of its link.
pub fn estimate_packets(plan: &Plan) -> u64 {
    let offers = offers(plan);
    let links: Vec<Passage> = plan.links.iter().map(|of| Passage::of(plan, of)).collect();
    let mut shares = vec![Shares::default(); links.len()];
    for _ in 0..ROUNDS {
        let mut offered = vec![Offered::default(); links.len()];
        for offer in &offers {
            for at in offer.links(plan) {
                let others = offer.links(plan).filter(|other| *other != at);
                let share = others.map(|other| shares[other].of(offer.sender));
                let bytes = offer.packets * offer.frame * share.fold(1.0, f64::min);
                offered[at].add(offer.sender, bytes);
            }
        }
        for ((share, link), offered) in shares.iter_mut().zip(&links).zip(&offered) {
            *share = link.shares(offered);
        }
    }

    let mut passing = vec![Passing::default(); links.len()];
    let mut add = |route: &[u32], packets: f64, frame: f64| {
        let mut copies = 1.0;
        for at in route.iter().map(|at| *at as usize) {
            let (Some(link), Some(passing)) = (links.get(at), passing.get_mut(at)) else {
                continue;
            };
            let packets = packets * copies;
            passing.packets += packets;
            passing.bytes += packets * frame;
            copies *= 1.0 + link.copied;
        }
    };
    for offer in &offers {
        let share = offer.links(plan).map(|at| shares[at].of(offer.sender));
        let share = share.fold(1.0, f64::min);
        // A datagram that a link drops has already passed the links before this link. In contrast,
        // TCP senders reduce their rate to that of the slowest link, so they do not send such
        // segments at all.
        let packets = match offer.sender {
            Sender::Datagrams => offer.packets,
            Sender::Tcp { .. } => offer.packets * share,
        };
        add(offer.route, packets, offer.frame);
        if let Some((back, each)) = offer.back {
            add(back, packets * each, ACK as f64);
        }
    }
    for program in &plan.programs {
        // The amount of data that programs send is unknown, so assume that they fill the links.
        for at in program.route.iter().chain(&program.back) {
            if let Some(link) = links.get(*at as usize) {
                add(&[*at], link.carries / FRAME as f64, FRAME as f64);
            }
        }
    }
    let counts = links.iter().zip(passing).map(|(link, passing)| {
        // Assume that the forwarded packets have the same mean length as all offered packets.
        passing.packets * (link.carries / passing.bytes.max(1.0)).min(1.0)
    });
    libm::round(counts.sum()) as u64
}

/// What limits the number of packets that a sender sends.
#[derive(Clone, Copy, Debug)]
enum Sender {
    /// The sender's own rate limits the number. A sender of this kind sends datagrams without
    /// congestion control.
    Datagrams,
    /// Losses limit the number. If `marks` is true, a policer's marks also limit the number.
    /// `marks` is true if the sender responds to marks. If packets are not ECN-capable, `marks` is
    /// also true, because the policer drops such packets.
    Tcp { marks: bool },
}

/// The packets that a group of senders sends into a route.
struct Offer<'a> {
    sender: Sender,
    route: &'a [u32],
    packets: f64,
    /// Mean frame length of the packets, in bytes.
    frame: f64,
    /// The route of the ACKs, and the mean number of ACKs per segment.
    back: Option<(&'a [u32], f64)>,
}

impl Offer<'_> {
    fn links(&self, plan: &Plan) -> impl Iterator<Item = usize> {
        let route = self.route.iter().map(|at| *at as usize);
        route.filter(move |at| *at < plan.links.len())
    }
}

/// Returns the packets that all senders offer, in the order of the scenario file.
fn offers(plan: &Plan) -> Vec<Offer<'_>> {
    let flows = plan.flows.iter().map(|flow| Offer {
        sender: Sender::Tcp {
            marks: !flow.ecn || response::responds_to_marks(flow),
        },
        route: &flow.route,
        packets: segments(plan, flow) as f64 * flow.count as f64,
        frame: f64::from(flow.tcp.mss) + f64::from(flow.tcp.header),
        back: Some((&flow.back, acks(plan, &flow.route, flow.tcp.delack))),
    });
    // The receiver echoes each datagram, and the echo has the same length as the datagram.
    let echoes = plan.traffic.iter().filter_map(|source| {
        let Some(Transport::Datagrams(of)) = transport(source.kind) else {
            return None;
        };
        let echo = of(&source.options).role == Role::Echo;
        echo.then(|| datagrams(plan, source, source.back().unwrap_or_default()))?
    });
    let sources = plan.traffic.iter().filter_map(|source| {
        let active = active(plan, source.start, source.stop);
        match (transport(source.kind), &source.connections) {
            (Some(Transport::Datagrams(_)), _) => datagrams(plan, source, &source.route),
            (Some(Transport::Connections { largest, gap }), Some(connections)) => {
                let requests = active.0 / gap(&source.options).0.max(1);
                let mss = u64::from(connections.tcp.mss);
                let each = largest(&source.options).div_ceil(mss.max(1));
                let most = requests
                    .saturating_mul(each)
                    .min(carried(plan, source, active));
                let delack = connections.tcp.delack;
                Some(Offer {
                    sender: Sender::Tcp { marks: true },
                    route: &source.route,
                    packets: most as f64 * source.count as f64,
                    frame: (mss + u64::from(connections.tcp.header)) as f64,
                    back: Some((&connections.back, acks(plan, &source.route, delack))),
                })
            }
            _ => None,
        }
    });
    flows.chain(sources).chain(echoes).collect()
}

/// Returns the packets that a source of datagrams offers to a route. Returns `None` for other
/// sources.
fn datagrams<'a>(plan: &Plan, source: &TrafficPlan, route: &'a [u32]) -> Option<Offer<'a>> {
    let Some(Transport::Datagrams(of)) = transport(source.kind) else {
        return None;
    };
    let datagrams = of(&source.options);
    let frame = u64::from(datagrams.len);
    let active = active(plan, source.start, source.stop);
    let packets = datagrams.rate.bytes_in(active) / frame.max(1);
    Some(Offer {
        sender: Sender::Datagrams,
        route,
        packets: packets as f64 * source.count as f64,
        frame: frame as f64,
        back: None,
    })
}

/// Bytes that senders offer to a link, grouped by what limits the senders.
#[derive(Clone, Copy, Default)]
struct Offered {
    datagrams: f64,
    tcp: f64,
    /// Bytes of the TCP senders that a policer's marks limit, in addition to losses.
    held_by_marks: f64,
}

impl Offered {
    fn add(&mut self, sender: Sender, bytes: f64) {
        match sender {
            Sender::Datagrams => self.datagrams += bytes,
            Sender::Tcp { marks } => {
                self.tcp += bytes;
                self.held_by_marks += if marks { bytes } else { 0.0 };
            }
        }
    }
}

/// The capacity of a link, the loads above which the link drops or marks packets, and the share of
/// packets that the link duplicates.
struct Passage {
    /// Bytes that the link can carry in the run.
    carries: f64,
    /// Number of TCP bytes above which the link's policers drop packets.
    drops_beyond: f64,
    /// Number of TCP bytes above which the link's policers mark packets.
    marks_beyond: f64,
    /// Mean number of duplicates per packet.
    copied: f64,
}

impl Passage {
    fn of(plan: &Plan, link: &LinkPlan) -> Passage {
        let mut passage = Passage {
            carries: capacity(&link.rate, plan.duration) as f64,
            drops_beyond: f64::INFINITY,
            marks_beyond: f64::INFINITY,
            copied: 0.0,
        };
        let most = |beyond: Option<(Rate, Bytes)>| match beyond {
            Some((rate, burst)) => (rate.bytes_in(plan.duration) + burst.0) as f64,
            None => f64::INFINITY,
        };
        let impairments = response::on_data(link);
        for impairment in impairments.filter(|impairment| impairment.during.0.is_empty()) {
            let of = response::long_run(impairment, true);
            passage.drops_beyond = passage.drops_beyond.min(most(of.drops_beyond));
            passage.marks_beyond = passage.marks_beyond.min(most(of.marks_beyond));
            passage.copied = (1.0 + passage.copied) * (1.0 + of.copied) - 1.0;
        }
        passage
    }

    /// Returns the fractions of the offered packets that pass the link and its policers.
    fn shares(&self, offered: &Offered) -> Shares {
        let share = |least: f64, bytes: f64| (least / bytes.max(1.0)).min(1.0);
        let (drops, marks) = (
            share(self.drops_beyond, offered.tcp),
            share(self.marks_beyond, offered.held_by_marks),
        );
        let tcp = (offered.tcp - offered.held_by_marks * (1.0 - marks)) * drops;
        Shares {
            link: share(self.carries, offered.datagrams + tcp),
            drops,
            marks,
        }
    }
}

/// The fractions of the offered packets that pass a link and its policers.
#[derive(Clone, Copy)]
struct Shares {
    link: f64,
    drops: f64,
    marks: f64,
}

impl Default for Shares {
    fn default() -> Shares {
        Shares {
            link: 1.0,
            drops: 1.0,
            marks: 1.0,
        }
    }
}

impl Shares {
    fn of(self, sender: Sender) -> f64 {
        match sender {
            Sender::Datagrams => self.link,
            Sender::Tcp { marks: false } => self.link * self.drops,
            Sender::Tcp { marks: true } => self.link * self.drops * self.marks,
        }
    }
}

/// Packets and bytes that reach a link.
#[derive(Clone, Copy, Default)]
struct Passing {
    packets: f64,
    bytes: f64,
}

/// Returns how many segments a flow can send. The number is limited by the flow's data, window,
/// losses and marks, and by the slowest link.
fn segments(plan: &Plan, flow: &FlowPlan) -> u64 {
    let mss = u64::from(flow.tcp.mss).max(1);
    let active = active(plan, flow.start, flow.stop);
    let bytes = flow.bytes.map_or(u64::MAX, |bytes| bytes.0.div_ceil(mss));
    let written = written_segments(flow, active, mss).unwrap_or(u64::MAX);
    let rtt = plan.rtt_over(flow.rtt, &flow.route, &flow.back);
    let rounds = active.0 as f64 / rtt.0.max(1) as f64;
    let windows = ((rounds + 1.0) * (flow.tcp.rwnd.0 as f64 / mss as f64)) as u64;
    let frame = mss + u64::from(flow.tcp.header);
    let links = flow
        .route
        .iter()
        .filter_map(|at| plan.links.get(*at as usize));
    let slowest = links.map(|link| capacity(&link.rate, active) / frame).min();
    let most = bytes.min(windows).min(written);
    let most = most.min(slowest.unwrap_or_default());
    let responding = response::segments(plan, flow, rtt, rounds, most as f64);
    responding.map_or(most, |segments| most.min(segments as u64))
}

/// Returns how many segments a flow's application writes, or `None` if the application writes
/// without limit.
fn written_segments(flow: &FlowPlan, active: Time, mss: u64) -> Option<u64> {
    if let Some(rate) = flow.rate {
        return Some(rate.bytes_in(active) / mss + 1);
    }
    let chunks = flow.chunks.as_ref()?;
    let gap = chunks.every.or(chunks.think)?.0.max(1);
    let count = (active.0 / gap + 1).min(chunks.count.unwrap_or(u64::MAX));
    Some(count.saturating_mul(chunks.bytes.0.div_ceil(mss)))
}

/// Returns how many segments the slowest link of a source's connections can carry.
fn carried(plan: &Plan, source: &TrafficPlan, active: Time) -> u64 {
    let links = source
        .route
        .iter()
        .filter_map(|at| plan.links.get(*at as usize));
    let slowest = links.map(|link| capacity(&link.rate, active) / FRAME).min();
    slowest.unwrap_or_default()
}

/// Returns the mean number of ACKs per segment. A receiver acknowledges a duplicate without delay,
/// and also some of the following segments.
fn acks(plan: &Plan, route: &[u32], delack: Delack) -> f64 {
    let links = route.iter().filter_map(|at| plan.links.get(*at as usize));
    let arrive = links.map(|link| 1.0 + Passage::of(plan, link).copied);
    let copied = arrive.product::<f64>() - 1.0;
    let at_once = (QUICK_ACKS * copied).min(1.0);
    let delayed = 1.0 / f64::from(delack.segments());
    at_once + (1.0 - at_once) * delayed + copied
}

/// Returns how long a sender sends during the run.
fn active(plan: &Plan, start: Time, stop: Option<Time>) -> Time {
    stop.map_or(plan.duration, |stop| stop.min(plan.duration))
        .since(start)
}

/// Returns how many bytes a link can carry from the start of the run until `time`.
fn capacity(rate: &RatePlan, time: Time) -> u64 {
    rate.capacity_bytes(Time::ZERO, time) as u64
}
