//! The hosts of programs: a sender's host and a receiver's host for each entry in `[[programs]]`,
//! with IPv4 and IPv6.
//!
//! If an entry has a program on only one of its hosts, the other end of the entry's route may be a
//! host of another entry.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tailback_engine::plan::{Plan, SlotsPlan};
use tailback_engine::rng::Stream;
use tailback_engine::units::Time;

use super::{Destination, Layout, Route};
use crate::job::{Gate, HARDWARE_ADDRESS};
use crate::map::kits::{Kits, TXREHASH};

/// Largest length of an IP packet, in bytes.
pub(super) const IP_MTU: u32 = 1500;

/// IPv4 and IPv6 address of a host.
pub(in crate::map) type Addresses = (Ipv4Addr, Ipv6Addr);

/// The two hosts of an entry in `[[programs]]`.
pub(in crate::map) struct Pair {
    pub hosts: [usize; 2],
    pub addresses: [Addresses; 2],
    /// If one of the two hosts belongs to another entry, identifies this host. The first number is
    /// 0 for the sender's host, or 1 for the receiver's host. The second number is the index of the
    /// other entry.
    shared: Option<(usize, usize)>,
    entry: usize,
}

impl Layout {
    /// Creates the namespaces of the hosts. `controls` contains the congestion control of each
    /// entry in `[[programs]]`.
    pub(super) fn program_hosts(
        &mut self,
        plan: &Plan,
        seed: u64,
        kit: &Kits<'_>,
        controls: &[String],
    ) {
        let mut firsts = Vec::new();
        for member in plan.each_program() {
            if member.place == 0 {
                firsts.push(member.number);
            }
        }
        for member in plan.each_program() {
            let program = member.of;
            let shared = program.shared();
            let shared = shared.map(|(side, entry)| (side, firsts[entry]));
            let [.., high, low] = (member.number as u32 + 1).to_be_bytes();
            let mut hosts = [0; 2];
            let mut addresses = [(Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED); 2];
            for (side, letter) in ["s", "r"].iter().enumerate() {
                if shared.is_some_and(|(shared, _)| shared == side) {
                    continue;
                }
                let name = format!("p{letter}{}", member.number);
                let sysctls = sysctls(program.ecn, &controls[member.group], kit);
                hosts[side] = self.namespace(name, sysctls);
                let net = 3 + side as u8;
                let last = u16::from_be_bytes([high, low]);
                addresses[side] = (
                    Ipv4Addr::new(10, net, high, low),
                    Ipv6Addr::new(0xfd00, net.into(), 0, 0, 0, 0, 0, last),
                );
            }
            self.programs.push(Pair {
                hosts,
                addresses,
                shared,
                entry: member.group,
            });
        }
        // A shared host may belong to a later entry, so wait until all hosts exist.
        for i in 0..self.programs.len() {
            if let Some((side, other)) = self.programs[i].shared {
                self.programs[i].hosts[side] = self.programs[other].hosts[side];
                self.programs[i].addresses[side] = self.programs[other].addresses[side];
            }
        }
        for member in plan.each_program() {
            let (program, number) = (member.of, member.number);
            let half = Time(program.rtt.ns() / 2);
            let delays = [half, program.rtt - half];
            let name = member.name();
            let pair = &self.programs[number];
            let (hosts, addresses, shared) = (pair.hosts, pair.addresses, pair.shared);
            let devices = pair.leaves(number, program.back.is_empty());
            for side in [0, 1] {
                let host = hosts[side];
                let (four, six) = addresses[side];
                let new = shared.is_none_or(|(shared, _)| shared != side);
                if new {
                    // Set addresses before all routes, because a route may use one of these
                    // addresses as its source address.
                    self.up[host].extend([
                        "link set dev lo up".to_owned(),
                        format!("address add {four}/32 dev lo"),
                        format!("address add {six}/128 dev lo nodad"),
                    ]);
                }
                let device = &devices[side];
                if new || *device != DEVICES[side] {
                    if !plan.offloads {
                        self.ip[host].push(format!("link set dev {device} gso_max_segs 1"));
                    }
                    let purpose = ["sender jitter", "receiver jitter"][side];
                    let jittered = plan.host_jitter > Time::ZERO;
                    let seed = jittered.then(|| Stream::new(seed, &name, purpose).bits());
                    let waits = plan.hosts.wait.map(SlotsPlan::of_gaps);
                    let (delay, jitter) = (delays[side], plan.host_jitter);
                    self.host_delay(host, device, delay, jitter, seed, waits.as_ref());
                }
                let (to_four, to_six) = addresses[1 - side];
                if program.dscp > 0 {
                    self.class_of_service(host, device, addresses[1 - side], program.dscp);
                }
                self.ip[host].extend([
                    format!("route add {to_four}/32 dev {device} src {four}"),
                    format!("route add {to_six}/128 dev {device} src {six}"),
                ]);
            }
        }
    }

    /// Sets the DSCP of packets from one host to another, unless the program has set a DSCP.
    fn class_of_service(&mut self, host: usize, device: &str, (four, six): Addresses, dscp: u8) {
        let first = format!("qdisc add dev {device} clsact");
        if !self.tc[host].contains(&first) {
            self.tc[host].push(first);
        }
        let field = dscp << 2;
        let filter = |family: &str, rest: String| {
            format!("filter add dev {device} egress protocol {family} u32 match {rest}")
        };
        self.tc[host].extend([
            filter(
                "ip",
                format!(
                    "ip dst {four}/32 match ip dsfield 0 0xfc \
                     action pedit ex munge ip dsfield set {field} retain 0xfc pipe action csum ip"
                ),
            ),
            filter(
                "ipv6",
                format!(
                    "ip6 dst {six}/128 match ip6 priority 0 0xfc \
                     action pedit ex munge ip6 traffic_class set {field} retain 0xfc"
                ),
            ),
        ]);
    }

    pub(super) fn program_routes(&self, plan: &Plan) -> Vec<Route> {
        let mut routes = Vec::new();
        for (number, pair) in self.programs.iter().enumerate() {
            let program = &plan.programs[pair.entry];
            let leaves = pair.leaves(number, program.back.is_empty());
            let links = [&program.route, &program.back];
            for side in [0, 1] {
                let (from, to) = (pair.hosts[side], pair.hosts[1 - side]);
                let is_shared = |side| pair.shared.is_some_and(|(shared, _)| shared == side);
                let there = leaves[side] == DEVICES[side] && is_shared(side);
                // If several hosts reach a host through the same links, this host receives all
                // their packets through one device.
                let arrives = match links[side].is_empty() && is_shared(1 - side) {
                    true => format!("{}{number}", DEVICES[side]),
                    false => DEVICES[side].to_owned(),
                };
                routes.push(Route {
                    entrance: format!("{}p{number}", DEVICES[side]),
                    mtu: IP_MTU,
                    start: (!there).then(|| (from, leaves[side].clone())),
                    links: links[side].clone(),
                    end: (to, arrives),
                    destination: Destination::Handed(pair.addresses[1 - side]),
                });
            }
        }
        routes
    }

    pub(super) fn runs_programs(&self, namespace: usize) -> bool {
        let mut pairs = self.programs.iter();
        pairs.any(|pair| pair.hosts.contains(&namespace))
    }

    /// Lists the devices that receive packets from hosts of programs, with the address pairs that
    /// they accept. To send packets with these addresses, the host must use the other device of the
    /// veth pair. Without the filter, a packet that leaves its host through another device would
    /// bypass the links.
    pub(super) fn find_gates(&mut self, plan: &Plan) {
        for veth in &self.veths {
            for (from, device) in [(&veth.a, &veth.b), (&veth.b, &veth.a)] {
                let mut host = None;
                let mut pairs = Vec::new();
                for (number, pair) in self.programs.iter().enumerate() {
                    let leaves = pair.leaves(number, plan.programs[pair.entry].back.is_empty());
                    for side in [0, 1] {
                        if pair.hosts[side] != from.namespace {
                            continue;
                        }
                        if pair.shared.is_none_or(|(shared, _)| shared != side) {
                            host = Some((number, side));
                        }
                        if leaves[side] == from.name {
                            let (four, six) = pair.addresses[side];
                            let (to_four, to_six) = pair.addresses[1 - side];
                            pairs.push((four.into(), to_four.into()));
                            pairs.push((six.into(), to_six.into()));
                        }
                    }
                }
                if let Some(host) = host {
                    self.gates.push(Gate {
                        device: device.clone(),
                        host,
                        pairs,
                    });
                }
            }
        }
    }

    /// Adds filters to the devices in `gates` whose namespaces do not forward below IP. These
    /// namespaces are hosts, namespaces where routes separate, and the far ends of links.
    pub(super) fn guard(&mut self) {
        for gate in &self.gates {
            let (namespace, name) = (gate.device.namespace, &gate.device.name);
            if self.through.contains(&namespace) && name != "out" {
                continue;
            }
            let lines = &mut self.tc[namespace];
            let first = format!("qdisc add dev {name} clsact");
            if !lines.contains(&first) {
                lines.push(first);
            }
            lines.extend(passes(gate, "pass"));
        }
    }

    /// Makes packets for a program's host leave a namespace through a device. `fork` is a namespace
    /// in which routes separate.
    pub(super) fn hand_to(&mut self, fork: usize, (four, six): &Addresses, device: &str) {
        let first = "qdisc add dev in clsact";
        if self.tc[fork].iter().all(|line| line != first) {
            self.tc[fork].push(first.to_owned());
        }
        let filter = |family: &str, matches: String| {
            format!(
                "filter add dev in ingress protocol {family} u32 match {matches} \
                 action mirred egress redirect dev {device}"
            )
        };
        self.tc[fork].extend([
            filter("ip", format!("ip dst {four}/32")),
            filter("ipv6", format!("ip6 dst {six}/128")),
        ]);
    }
}

/// Returns the tc filters of a device. The filters apply `action` to accepted packets and drop all
/// other packets. The filters compare addresses, protocol and hardware address. A packet with a
/// wrong hardware address must be dropped by these filters. The destination would also drop a
/// packet with a wrong hardware address, but the packet would already have used capacity of the
/// links.
pub(super) fn passes(gate: &Gate, action: &str) -> Vec<String> {
    let device = &gate.device.name;
    let [a, b, c, d, e, f] = HARDWARE_ADDRESS;
    let hardware = format!("ether dst {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
    let pass = |(from, to): &(IpAddr, IpAddr)| {
        let (preference, protocol, word, length) = match from {
            IpAddr::V4(_) => (1, "ip", "ip", 32),
            IpAddr::V6(_) => (2, "ipv6", "ip6", 128),
        };
        format!(
            "filter add dev {device} ingress pref {preference} protocol {protocol} u32 \
             match {hardware} match {word} src {from}/{length} match {word} dst {to}/{length} \
             action {action}"
        )
    };
    let mut lines: Vec<String> = gate.pairs.iter().map(pass).collect();
    lines.push(format!(
        "filter add dev {device} ingress pref {} protocol all u32 match u32 0 0 action drop",
        Gate::DROP
    ));
    lines
}

/// Names of the devices through which the sender's host and the receiver's host send.
const DEVICES: [&str; 2] = ["data", "ack"];

impl Pair {
    /// Returns the names of the devices through which the two hosts send their packets. If the
    /// return route has no links, and several entries share the receiver's host, each pair of hosts
    /// has its own wire.
    fn leaves(&self, number: usize, no_way_back: bool) -> [String; 2] {
        let receiver_is_shared = self.shared.is_some_and(|(side, _)| side == 1);
        let ack = match receiver_is_shared && no_way_back {
            true => format!("ack{number}"),
            false => "ack".to_owned(),
        };
        ["data".to_owned(), ack]
    }
}

/// Returns the sysctls of a host. The values are Linux's defaults, unless a default would make runs
/// differ.
fn sysctls<'a>(ecn: bool, control: &'a str, kit: &Kits<'_>) -> Vec<(&'static str, &'a str)> {
    let mut sysctls = vec![
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/default/rp_filter", "0"),
        ("net/ipv6/conf/all/accept_ra", "0"),
        ("net/ipv6/conf/default/accept_ra", "0"),
        ("net/ipv6/conf/all/accept_dad", "0"),
        ("net/ipv6/conf/default/accept_dad", "0"),
        // The value 2, which is Linux's default, means that a host uses ECN only if the other host
        // requests ECN.
        ("net/ipv4/tcp_ecn", if ecn { "1" } else { "2" }),
        ("net/ipv4/tcp_congestion_control", control),
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // These values are Linux's defaults for machines with much memory. tailback sets these
        // values, because Linux's own values would depend on the guest's memory.
        ("net/ipv4/tcp_rmem", "4096 131072 6291456"),
        ("net/ipv4/tcp_wmem", "4096 16384 4194304"),
        ("net/ipv4/ping_group_range", "0 2147483647"),
        (TXREHASH.name, "0"),
    ];
    sysctls.retain(|(path, _)| *path != TXREHASH.name || kit.has(TXREHASH.since));
    sysctls
}
