//! Builds the network of a job: namespaces, pairs of devices, and `ip` and `tc` commands.
//!
//! ```text
//! sG data --- dataG mL out --- linkL mM out --- data rG    data of group G over links L and M
//!    ack -------------------------------------- ack        ACKs, no link on the way back
//! ```
//!
//! | namespace | content |
//! |---|---|
//! | `psN`, `prN` | sender and receiver of an entry of programs, with IPv4 and IPv6 (`layout/programs.rs`) |
//! | `sG`, `rG` | senders and receivers of group G: flows that share their stack and route |
//! | `xL` | scheduled marks and drops before link L |
//! | `mL` | link L: the shaper and the queue under test, before its device `out` |
//! | `jL`, `kL`, `lL` | after link L: delay, jitter, loss, serialisation of a wire, slots |
//! | `iLxN` | after `jL`, `kL` and `lL`: impairment N of link L |
//! | `fL` | after link L and its impairments: the point at which routes separate |
//!
//! `ip` reads a device name such as `d` as an abbreviated keyword (`dynamic`). Device names in
//! commands are therefore long, and follow the keyword `dev`.
//!
//! As in the simulator, half of the base RTT is a delay before the first link of the route. The
//! other half of the base RTT is a delay between the receiver and the first link of the return
//! route.

mod programs;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use tailback_engine::impairments::Discipline;
use tailback_engine::plan::{AccEcnOption, FlowPlan, Hosts, LinkPlan, Plan, RatePlan, SlotsPlan};
use tailback_engine::registry::kernel::Shaper;
use tailback_engine::rng::Stream;
use tailback_engine::traffic;
use tailback_engine::units::{Rate, Time};

use super::events;
use super::impairments::{self, ImpairmentNetem};
use super::kits::{Kits, SSTHRESH_METRICS, TXREHASH};
use super::outage;
use super::stage::{Stage, delay_words, slot_words, stages};
use super::tc::Qdisc;
use crate::job::{Batch, Change, Device, Gate, Namespace, Tool, Veth};
use programs::{Addresses, IP_MTU, Pair};

/// Flows or sources with the same two hosts.
pub(super) struct Group {
    key: Hosts,
    /// Whether the receiver also sends packets, such as ACKs.
    responsive: bool,
    pub sender: usize,
    pub receiver: usize,
    pub sender_address: Ipv4Addr,
    pub receiver_address: Ipv4Addr,
}

/// The namespaces of which a link consists.
pub(super) struct LinkNamespaces {
    pub namespace: usize,
    pub schedule: Option<usize>,
    /// Namespace and queue discipline of the wire that loses packets after the queue, if any.
    pub loss: Option<(usize, Discipline)>,
}

/// The network of a job while it is being built.
#[derive(Default)]
pub(super) struct Layout {
    pub namespaces: Vec<Namespace>,
    pub veths: Vec<Veth>,
    /// `ip` commands that set devices up, by namespace.
    up: Vec<Vec<String>>,
    /// `ip` commands that run after all devices are up, by namespace.
    ip: Vec<Vec<String>>,
    tc: Vec<Vec<String>>,
    /// Commands for queues that `tc` does not support, each with its namespace. The agent runs
    /// these commands.
    queues: Vec<(usize, String)>,
    /// Namespaces with a RED queue in adaptive mode.
    adapts: Vec<usize>,
    /// Namespaces whose packets all leave through the device `out`.
    through: Vec<usize>,
    pub changes: Vec<Change>,
    pub groups: Vec<Group>,
    pub of_flow: Vec<usize>,
    pub of_source: Vec<usize>,
    pub links: Vec<LinkNamespaces>,
    /// The hosts of each entry in `[[programs]]`.
    pub programs: Vec<Pair>,
    /// The devices that receive packets from hosts of programs, with their filters.
    pub gates: Vec<Gate>,
}

/// A device: its namespace and its name.
type End = (usize, String);

/// One direction of a group, or of an entry in `[[programs]]`.
struct Route {
    /// Name of the device through which the packets enter their first link.
    entrance: String,
    /// Largest length of an IP packet, in bytes.
    mtu: u32,
    /// The device through which the packets leave their host, if it must be created.
    start: Option<End>,
    links: Vec<u32>,
    end: End,
    destination: Destination,
}

#[derive(Clone, Copy)]
enum Destination {
    /// The address of a flow's host. Routers reach this address through an IP route.
    Routed(Ipv4Addr),
    /// The IPv4 and IPv6 addresses of a program's host. All namespaces on the path to these
    /// addresses forward packets below IP, so that no router generates IPv6 packets.
    Handed(Addresses),
}

/// Where the packets to one destination go after a link: to the next link or to a host.
#[derive(Clone, PartialEq)]
enum Next {
    Link(usize),
    End(End),
}

impl Layout {
    /// Builds the network of a plan that has passed all checks. `queues` contains the queue
    /// discipline of each link, and `controls` the congestion control of each entry in
    /// `[[programs]]`.
    pub fn of(
        plan: &Plan,
        seed: u64,
        queues: &[Qdisc],
        controls: &[String],
        kit: &Kits<'_>,
    ) -> Layout {
        let mut layout = Layout::default();
        layout.group(plan);
        layout.hosts(plan, seed, kit);
        layout.program_hosts(plan, seed, kit, controls);
        let mtu = layout.groups.iter().map(|g| g.key.mtu);
        let mtu = mtu.chain(layout.programs.first().map(|_| IP_MTU)).max();
        let mtu = mtu.unwrap_or(1500);
        layout.middle(plan);
        let mut routes = layout.routes();
        routes.extend(layout.program_routes(plan));
        for route in &routes {
            let first = route.links.first().map(|l| *l as usize);
            let next = first.map_or_else(|| Next::End(route.end.clone()), Next::Link);
            let to = layout.entrance(&next, || route.entrance.clone());
            if let Some(start) = &route.start {
                layout.veth(start.clone(), to, route.mtu);
            }
        }
        for (i, link) in plan.links.iter().enumerate() {
            let impairments = impairments::netems(plan, i, seed);
            let changes = events::of_wire(plan, i);
            layout.behind(
                i,
                link,
                stages(link, seed, changes),
                &impairments,
                &routes,
                mtu,
            );
            layout.shaper(i, link, &queues[i], mtu);
        }
        layout.find_gates(plan);
        layout.hand_on();
        layout.guard();
        layout.changes.sort_by_key(|c| c.at_ns);
        layout
    }

    pub fn setup(&mut self) -> Vec<Batch> {
        let mut setup = Vec::new();
        // Set all devices up first, because a route needs a device that is up.
        for (up, rest) in self.up.iter_mut().zip(&mut self.ip) {
            up.append(rest);
        }
        for (tool, all) in [(Tool::Ip, &mut self.up), (Tool::Tc, &mut self.tc)] {
            for (namespace, lines) in all.iter_mut().enumerate() {
                if !lines.is_empty() {
                    setup.push(Batch {
                        namespace,
                        tool,
                        lines: std::mem::take(lines),
                    });
                }
            }
        }
        setup.extend(self.queues.drain(..).map(|(namespace, line)| Batch {
            namespace,
            tool: Tool::Qdisc,
            lines: vec![line],
        }));
        setup.extend(self.adapts.drain(..).map(|namespace| Batch {
            namespace,
            tool: Tool::Adapt,
            lines: vec!["out".to_owned()],
        }));
        setup
    }

    fn namespace(&mut self, name: String, sysctls: Vec<(&str, &str)>) -> usize {
        let own = |(path, value): (&str, &str)| (path.to_owned(), value.to_owned());
        self.namespaces.push(Namespace {
            name,
            sysctls: sysctls.into_iter().map(own).collect(),
        });
        self.up.push(Vec::new());
        self.ip.push(Vec::new());
        self.tc.push(Vec::new());
        self.namespaces.len() - 1
    }

    fn veth(&mut self, a: (usize, String), b: (usize, String), mtu: u32) {
        for (namespace, name) in [&a, &b] {
            if self.runs_programs(*namespace) {
                // Without a link-local IPv6 address, the device sends no packets by itself.
                self.up[*namespace].push(format!("link set dev {name} addrgenmode none"));
            }
            self.up[*namespace].push(format!("link set dev {name} up"));
        }
        let device = |(namespace, name)| Device { namespace, name };
        self.veths.push(Veth {
            a: device(a),
            b: device(b),
            mtu,
        });
    }

    fn group(&mut self, plan: &Plan) {
        let (pairs, of) = plan.hosts();
        let groups = pairs.into_iter().enumerate().map(|(i, key)| {
            let [.., high, low] = (i as u32 + 1).to_be_bytes();
            Group {
                responsive: key.stack.is_some(),
                key,
                sender: 0,
                receiver: 0,
                sender_address: Ipv4Addr::new(10, 1, high, low),
                receiver_address: Ipv4Addr::new(10, 2, high, low),
            }
        });
        self.groups = groups.collect();
        let (flows, sources) = of.split_at(plan.flow_count());
        self.of_flow = flows.to_vec();
        self.of_source = sources.to_vec();
        for source in plan.each_source() {
            self.groups[self.of_source[source.number]].responsive |=
                traffic::answers(source.of.kind);
        }
    }

    fn hosts(&mut self, plan: &Plan, seed: u64, kit: &Kits<'_>) {
        let buffers = receive_buffers(plan);
        let reusing = plan.each_source();
        let reusing = reusing.filter(|source| traffic::web::reuses(&source.of.options));
        let reusing: Vec<usize> = reusing
            .map(|source| self.of_source[source.number])
            .collect();
        for g in 0..self.groups.len() {
            let key = &self.groups[g].key;
            let mut sysctls = vec![
                ("net/ipv4/conf/all/rp_filter", "0"),
                ("net/ipv4/conf/default/rp_filter", "0"),
                ("net/ipv6/conf/all/disable_ipv6", "1"),
                ("net/ipv6/conf/default/disable_ipv6", "1"),
                // Set a large TTL, because a long route has many routers, and each router
                // decrements the TTL.
                ("net/ipv4/ip_default_ttl", "255"),
            ];
            let (mut there, mut back) = (String::new(), String::new());
            if let Some(stack) = &key.stack {
                let switch = |on| if on { "1" } else { "0" };
                sysctls.extend([
                    (
                        "net/ipv4/tcp_ecn",
                        match stack.accecn {
                            Some(_) => "3",
                            None => switch(stack.ecn),
                        },
                    ),
                    // Keep requesting ECN even if the queue drops a SYN.
                    ("net/ipv4/tcp_ecn_fallback", "0"),
                    ("net/ipv4/tcp_timestamps", switch(stack.timestamps)),
                    (
                        "net/ipv4/tcp_no_metrics_save",
                        switch(!stack.metrics_save[0]),
                    ),
                    // A real router hashes addresses and ports. In the guest, routers see the hash
                    // of the sending socket, because all hosts share one kernel. A timeout must not
                    // change this hash.
                    (TXREHASH.name, "0"),
                    ("net/ipv4/tcp_rmem", &buffers),
                    ("net/ipv4/tcp_wmem", "4096 1048576 67108864"),
                ]);
                sysctls.retain(|(path, _)| *path != TXREHASH.name || kit.has(TXREHASH.since));
                if stack.metrics_save[0] && kit.has(SSTHRESH_METRICS.since) {
                    let off = switch(!stack.metrics_save[1]);
                    sysctls.push((SSTHRESH_METRICS.name, off));
                }
                if reusing.contains(&g) {
                    // A client that closes a connection with a FIN leaves no TIME_WAIT state, so
                    // the client's port is free at once.
                    sysctls.push(("net/ipv4/tcp_max_tw_buckets", "0"));
                }
                if let Some(option) = stack.accecn {
                    sysctls.push((
                        "net/ipv4/tcp_ecn_option",
                        match option {
                            AccEcnOption::Off => "0",
                            AccEcnOption::Minimum => "1",
                            AccEcnOption::Full => "2",
                            AccEcnOption::Persist => "3",
                        },
                    ));
                }
                if stack.initial_cwnd != 10 {
                    there.push_str(&format!(" initcwnd {}", stack.initial_cwnd));
                }
                if stack.min_rto != Time::from_ms(200) {
                    there.push_str(&format!(" rto_min {}ms", stack.min_rto.ns() / 1_000_000));
                }
                if !stack.delack.delays() {
                    back.push_str(" quickack 1");
                }
            }
            let half = Time(key.rtt.ns() / 2);
            let rest = key.rtt - half;
            let name = key.alone.clone();
            let jitter = if name.is_some() {
                plan.host_jitter
            } else {
                Time::ZERO
            };
            let sender = self.namespace(format!("s{g}"), sysctls.clone());
            let receiver = self.namespace(format!("r{g}"), sysctls);
            let group = &mut self.groups[g];
            (group.sender, group.receiver) = (sender, receiver);
            let (responsive, has_tcp) = (group.responsive, group.key.stack.is_some());
            let joins = group.key.stack.as_ref().is_some_and(|stack| stack.joins);
            let (from, to) = (group.sender_address, group.receiver_address);
            for (namespace, address) in [(sender, from), (receiver, to)] {
                self.up[namespace].push("link set dev lo up".to_owned());
                self.ip[namespace].push(format!("address add {address}/32 dev lo"));
            }
            if !plan.offloads && has_tcp && !joins {
                // With `gso_max_segs 1`, TCP sends each segment as a separate packet. Without this
                // limit, TCP combines segments into GSO packets even if the device's offloads are
                // off. The kernel would then split these packets as they leave the device.
                self.ip[sender].push("link set dev data gso_max_segs 1".to_owned());
            }
            self.ip[sender].push(format!("route add {to}/32 dev data src {from}{there}"));
            let seed = |purpose| {
                let name = name.as_ref();
                name.map(|name| Stream::new(seed, name, purpose).bits())
            };
            let waits = plan.hosts.wait.map(SlotsPlan::of_gaps);
            let waits = waits.as_ref();
            self.host_delay(sender, "data", half, jitter, seed("sender jitter"), waits);
            if responsive {
                self.ip[receiver].push(format!("route add {from}/32 dev ack src {to}{back}"));
                let seed = seed("receiver jitter");
                self.host_delay(receiver, "ack", rest, jitter, seed, waits);
            }
        }
    }

    /// Delays the packets that leave a host. If packets must wait for slots (`hosts`), a second
    /// netem with the slots is the child of the netem with the delay. The second netem gets packets
    /// when their delay has passed.
    fn host_delay(
        &mut self,
        namespace: usize,
        device: &str,
        delay: Time,
        jitter: Time,
        seed: Option<u64>,
        waits: Option<&SlotsPlan>,
    ) {
        let words = delay_words(delay, jitter, seed);
        let tc = &mut self.tc[namespace];
        if let Some(slots) = waits {
            let slots = slot_words(slots);
            let add = format!("qdisc add dev {device}");
            tc.push(format!("{add} root handle 1: netem limit 1000000 {words}"));
            tc.push(format!("{add} parent 1:1 netem limit 1000000 {slots}"));
        } else if !words.is_empty() {
            tc.push(netem("add", device, &words));
        }
    }

    /// Creates the namespaces of all links. Call this function first, so that commands may refer to
    /// devices in any order.
    fn middle(&mut self, plan: &Plan) {
        for (i, link) in plan.links.iter().enumerate() {
            let schedule = link
                .schedule
                .as_ref()
                .map(|_| self.namespace(format!("x{i}"), quiet()));
            let namespace = self.namespace(format!("m{i}"), quiet());
            self.links.push(LinkNamespaces {
                namespace,
                schedule,
                loss: None,
            });
        }
    }

    fn routes(&self) -> Vec<Route> {
        let mut routes = Vec::new();
        for (i, group) in self.groups.iter().enumerate() {
            // The device through which packets enter the first link. The device's name contains the
            // number of the group.
            routes.push(Route {
                entrance: format!("data{i}"),
                mtu: group.key.mtu,
                start: Some((group.sender, "data".to_owned())),
                links: group.key.route.clone(),
                end: (group.receiver, "data".to_owned()),
                destination: Destination::Routed(group.receiver_address),
            });
            if group.responsive {
                routes.push(Route {
                    entrance: format!("ack{i}"),
                    mtu: group.key.mtu,
                    start: Some((group.receiver, "ack".to_owned())),
                    links: group.key.back.clone(),
                    end: (group.sender, "ack".to_owned()),
                    destination: Destination::Routed(group.sender_address),
                });
            }
        }
        routes
    }

    /// Returns the namespace and name of the device through which packets enter a link or a host.
    fn entrance(&self, next: &Next, name: impl FnOnce() -> String) -> (usize, String) {
        match next {
            Next::Link(link) => {
                let link = &self.links[*link];
                (link.schedule.unwrap_or(link.namespace), name())
            }
            Next::End((namespace, device)) => (*namespace, device.clone()),
        }
    }

    /// Builds the network after a link's queue, up to the next links and hosts.
    fn behind(
        &mut self,
        i: usize,
        link: &LinkPlan,
        stages: Vec<Stage>,
        impairments: &[ImpairmentNetem],
        routes: &[Route],
        mtu: u32,
    ) {
        let queue = self.links[i].namespace;
        let mut here = queue;
        for (letter, stage) in ["j", "k", "l"].iter().zip(&stages) {
            let joint = self.namespace(format!("{letter}{i}"), quiet());
            self.veth((here, "out".to_owned()), (joint, "in".to_owned()), mtu);
            self.tc[joint].push(netem("add", "out", &stage.words(None)));
            if stage.loses() {
                self.links[i].loss = Some((joint, Discipline::Netem));
            }
            for (at, words) in stage.timeline(rate_steps(link), &link.name) {
                self.change(at, joint, Tool::Tc, netem("change", "out", &words));
            }
            self.out_by(here);
            here = joint;
        }
        for (place, impairment) in impairments.iter().enumerate() {
            here = self.impaired(here, &format!("i{i}x{place}"), impairment, mtu);
            if impairment.loses {
                self.links[i].loss = Some((here, impairment.discipline));
            }
        }

        let mut nexts: Vec<(Next, Vec<Destination>)> = Vec::new();
        for route in routes {
            let Some(at) = route.links.iter().position(|l| *l as usize == i) else {
                continue;
            };
            let next = match route.links.get(at + 1) {
                Some(link) => Next::Link(*link as usize),
                None => Next::End(route.end.clone()),
            };
            match nexts.iter_mut().find(|n| n.0 == next) {
                Some(found) => found.1.push(route.destination),
                None => nexts.push((next, vec![route.destination])),
            }
        }
        match nexts.as_slice() {
            [] => {
                // No route passes this link. The queue of this link must exist nevertheless,
                // because the agent reads the queue's statistics.
                let end = self.namespace(format!("f{i}"), forwarding());
                self.veth((here, "out".to_owned()), (end, "in".to_owned()), mtu);
                self.out_by(here);
            }
            [(next, _)] => {
                let to = self.entrance(next, || format!("link{i}"));
                self.veth((here, "out".to_owned()), to, mtu);
                self.out_by(here);
            }
            _ => {
                let fork = self.namespace(format!("f{i}"), forwarding());
                self.veth((here, "out".to_owned()), (fork, "in".to_owned()), mtu);
                self.out_by(here);
                for (n, (next, destinations)) in nexts.iter().enumerate() {
                    let to = self.entrance(next, || format!("link{i}"));
                    self.veth((fork, format!("to{n}")), to, mtu);
                    for destination in destinations {
                        match destination {
                            Destination::Routed(address) => {
                                self.ip[fork].push(format!("route add {address}/32 dev to{n}"));
                            }
                            Destination::Handed(addresses) => {
                                self.hand_to(fork, addresses, &format!("to{n}"));
                            }
                        }
                    }
                }
            }
        }
        if let Some(schedule) = self.links[i].schedule {
            self.veth(
                (schedule, "out".to_owned()),
                (queue, "schedule".to_owned()),
                mtu,
            );
            self.out_by(schedule);
            let line = "qdisc add dev out root tbsched".to_owned();
            self.tc[schedule].push(line);
        }
    }

    /// Adds a namespace for an impairment after another namespace. Returns the new namespace.
    fn impaired(
        &mut self,
        behind: usize,
        name: &str,
        impairment: &ImpairmentNetem,
        mtu: u32,
    ) -> usize {
        let joint = self.namespace(name.to_owned(), quiet());
        self.veth((behind, "out".to_owned()), (joint, "in".to_owned()), mtu);
        let mut words = impairment.words.iter();
        let first = words.next().map_or("", |(_, words)| words);
        if impairment.discipline.is_own() {
            let line = |what: &str, words: &str| {
                let kind = impairment.discipline.kind();
                format!("qdisc {what} dev out root handle f: {kind} {words}")
            };
            self.queues.push((joint, line("add", first)));
            for (at, words) in words {
                self.change(*at, joint, Tool::Qdisc, line("change", words));
            }
        } else {
            self.tc[joint].push(netem("add", "out", first));
            for (at, words) in words {
                self.change(*at, joint, Tool::Tc, netem("change", "out", words));
            }
        }
        self.out_by(behind);
        joint
    }

    fn out_by(&mut self, namespace: usize) {
        self.through.push(namespace);
    }

    /// Makes namespaces with only one outgoing device forward packets below IP. Forwarding below IP
    /// takes 20 % less time than routing, and does not modify packets.
    ///
    /// When a packet leaves a host, the kernel copies the packet without the reference to its
    /// socket. With the reference, TCP would assume that a segment in a router's queue is still in
    /// the host, and would not retransmit the segment (`skb_still_in_host_queue`).
    fn hand_on(&mut self) {
        let groups = self.groups.iter().flat_map(|g| [g.sender, g.receiver]);
        let programs = self.programs.iter().flat_map(|pair| pair.hosts);
        let hosts: BTreeSet<usize> = groups.chain(programs).collect();
        let is_host = |n| hosts.contains(&n);
        for &namespace in &self.through {
            for veth in &self.veths {
                for (device, other) in [(&veth.a, &veth.b), (&veth.b, &veth.a)] {
                    let name = &device.name;
                    if device.namespace == namespace && name != "out" {
                        let how = if is_host(other.namespace) {
                            "mirror dev out drop"
                        } else {
                            "redirect dev out"
                        };
                        let how = format!("mirred egress {how}");
                        self.tc[namespace].push(format!("qdisc add dev {name} clsact"));
                        match self.gates.iter().find(|gate| gate.device == *device) {
                            Some(gate) => self.tc[namespace].extend(programs::passes(gate, &how)),
                            None => self.tc[namespace].push(format!(
                                "filter add dev {name} ingress protocol all u32 match u32 0 0 \
                                 action {how}"
                            )),
                        }
                    }
                }
            }
        }
    }

    /// Adds the shaper of the device `out`. The queue is a child of the shaper.
    fn shaper(&mut self, i: usize, link: &LinkPlan, queue: &Qdisc, mtu: u32) {
        let namespace = self.links[i].namespace;
        if let Some(shaper) = queue.shaper() {
            return self.own_shaper(namespace, link, queue, shaper);
        }
        let class = |what: &str, rate: Rate| {
            let overhead = match link.overhead {
                0 => String::new(),
                n => format!(" overhead {n}"),
            };
            // Without a burst, a packet leaves at the start of its slot, and the next packet leaves
            // len/rate later. The guest's clock has steps of 256 ns, so packets leave late, and the
            // rate would be too low (by 0.07 % at 100 Mbit/s). The burst is therefore at least the
            // number of bytes that the link sends in 1 us. The rate and the ceiling of the htb
            // class are equal, so both get this burst. There is only one class, so the quantum of
            // the class does not matter.
            let burst = rate.0.div_ceil(8_000_000).max(1).max(link.burst.0);
            format!(
                "class {what} dev out parent 1: classid 1:1 htb rate {0}bit ceil {0}bit burst {burst}b cburst {burst}b quantum {1}{overhead}",
                rate.0,
                mtu + 14,
            )
        };
        let leaf = format!(
            "qdisc add dev out parent 1:1 handle 10: {} {}",
            queue.kind, queue.words
        );
        let leaf = leaf.trim_end().to_owned();
        let has_outage = outage::has(link);
        let htb = if has_outage {
            self.tc[namespace].push(outage::ROOT.to_owned());
            outage::CHILD
        } else {
            "root"
        };
        self.tc[namespace].extend([
            format!("qdisc add dev out {htb} handle 1: htb default 1"),
            class("add", link.rate.nominal()),
        ]);
        if queue.is_text() {
            self.queues.push((namespace, leaf));
        } else {
            self.tc[namespace].push(leaf);
        }
        if queue.adapts {
            self.adapts.push(namespace);
        }
        for change in &queue.changes {
            let words = &change.words;
            let line = format!(
                "qdisc change dev out parent 1:1 handle 10: {} {words}",
                queue.kind
            );
            self.change(change.at, namespace, Tool::Tc, line);
            if queue.adapts {
                self.change(change.at, namespace, Tool::Adapt, "out".to_owned());
            }
        }
        if let RatePlan::Steps(steps) = &link.rate {
            for (at, rate) in steps.iter().skip(1) {
                let closed = *rate == Rate(0);
                if !closed {
                    self.change(*at, namespace, Tool::Tc, class("change", *rate));
                }
                if has_outage {
                    self.change(*at, namespace, Tool::Qdisc, outage::change(closed));
                }
            }
        }
    }

    /// Adds a queue that contains its own shaper. A queue with its own shaper is the root qdisc of
    /// the device `out`.
    fn own_shaper(&mut self, namespace: usize, link: &LinkPlan, queue: &Qdisc, shaper: &Shaper) {
        let line = |what: &str, rate: Rate, rest: &[&str]| {
            let start = format!("qdisc {what} dev out root handle 10: {}", queue.kind);
            let words = [start, (shaper.rate)(rate)];
            let words = words.iter().map(String::as_str).chain(rest.iter().copied());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            words.join(" ")
        };
        let overhead = (shaper.overhead)(link.overhead);
        let add = line("add", link.rate.nominal(), &[&overhead, &queue.words]);
        self.tc[namespace].push(add);
        if let RatePlan::Steps(steps) = &link.rate {
            for (at, to) in steps.iter().skip(1) {
                self.change(*at, namespace, Tool::Tc, line("change", *to, &[]));
            }
        }
        for change in &queue.changes {
            let step = rate_steps(link).iter().rfind(|step| step.0 <= change.at);
            let rate = step.map_or_else(|| link.rate.nominal(), |step| step.1);
            let line = line("change", rate, &[&change.words]);
            self.change(change.at, namespace, Tool::Tc, line);
        }
    }

    fn change(&mut self, at: Time, namespace: usize, tool: Tool, line: String) {
        self.changes.push(Change {
            at_ns: at.ns(),
            batch: Batch {
                namespace,
                tool,
                lines: vec![line],
            },
        });
    }
}

/// Returns the steps of a link's rate, or an empty list for a rate without steps.
fn rate_steps(link: &LinkPlan) -> &[(Time, Rate)] {
    match &link.rate {
        RatePlan::Steps(steps) => steps,
        _ => &[],
    }
}

/// Returns the receive buffer sizes of hosts. A buffer is twice as large as the window, because at
/// first Linux uses half of the buffer as the window.
fn receive_buffers(plan: &Plan) -> String {
    const LEAST: u64 = 64 << 20;
    let connections = plan.traffic.iter().filter_map(|t| t.connections.as_ref());
    let stacks = plan.flows.iter().map(|flow| &flow.tcp);
    let windows = stacks
        .chain(connections.map(|c| &c.tcp))
        .map(|tcp| tcp.rwnd.0);
    let buffer = 2 * windows.max().unwrap_or(0);
    let buffer = buffer.clamp(LEAST, i32::MAX as u64);
    format!("4096 {buffer} {buffer}")
}

pub(super) fn mtu_of(flow: &FlowPlan) -> u32 {
    (u32::from(flow.tcp.mss) + u32::from(flow.tcp.header)).saturating_sub(14)
}

/// Returns the sysctls of a namespace that forwards packets below IP.
fn quiet() -> Vec<(&'static str, &'static str)> {
    vec![
        ("net/ipv6/conf/all/disable_ipv6", "1"),
        ("net/ipv6/conf/default/disable_ipv6", "1"),
    ]
}

fn forwarding() -> Vec<(&'static str, &'static str)> {
    vec![
        // Set the sysctl for forwarding first, because it resets other sysctls.
        ("net/ipv4/ip_forward", "1"),
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/default/rp_filter", "0"),
        ("net/ipv6/conf/all/disable_ipv6", "1"),
        ("net/ipv6/conf/default/disable_ipv6", "1"),
    ]
}

fn netem(what: &str, device: &str, words: &str) -> String {
    let line = format!("qdisc {what} dev {device} root netem limit 1000000 {words}");
    line.trim_end().to_owned()
}
